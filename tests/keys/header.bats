# --csv --header: columns by name. Python's csv module is the model.
load ../common

@test "columns are found by name, in each file anew" {
	printf 'id,name\n1,a\n2,b\n' >one.csv
	printf 'name,x,id\nb,-,7\nc,-,8\n' >two.csv
	bloomdedup -f name --csv --header -k name one.csv | cmp - one.csv
	bloomdedup -f name two.csv | cmp - <(printf 'name,x,id\nc,-,8\n')
	bloomdedup check -f name two.csv | cmp - two.csv
	# two columns, in the order of the list and not of the file
	printf 'name,id\na,1\nb,3\n' >three.csv
	bloomdedup add -f two --csv --header -k id,name one.csv
	bloomdedup -f two three.csv | cmp - <(printf 'name,id\nb,3\n')
	# a name and a number: field 1 is another one here
	bloomdedup add -f number --csv --header -k 1,name one.csv
	bloomdedup -f number three.csv | cmp - three.csv
	# numbers alone are numbers, as without names
	bloomdedup --csv --header -k 2 one.csv one.csv | cmp - one.csv
	bloomdedup --csv --header -k 1- one.csv one.csv | cmp - one.csv
}

@test "names may be quoted, in the list and in the file" {
	printf '\xef\xbb\xbf"a,b",2,"c""d","2-4"\r\n1,2,3,4\r\n1,2,3,5\r\n1,2,4,4\r\n' >in
	bloomdedup --csv --header -k '"a,b"' in | wc -l | grep -qx 2
	bloomdedup --csv --header -k 'c"d' in | wc -l | grep -qx 3
	bloomdedup --csv --header -k '"c""d"' in | wc -l | grep -qx 3
	bloomdedup --csv --header -k '"2-4"' in | wc -l | grep -qx 3
	bloomdedup --csv --header -k '"2"' in | wc -l | grep -qx 2
	printf 'x;y\n1;2\n3;2\n' |
		bloomdedup --csv --header -t ';' -k y | wc -l | grep -qx 2
	printf '"a\nb",c\n1,"2\n"\n3,"2\n"\n' |
		bloomdedup --csv --header -k c >out
	printf '"a\nb",c\n1,"2\n"\n' | cmp - out
}

@test "a quote that is not closed in the list, and a name given twice" {
	local list
	printf 'name,id\na,1\n' >in.csv
	for list in '"name' 'id,"name' 'name,name' 'name,id,"name"'; do
		fails 2 "'$list' is not allowed" \
			bloomdedup --csv --header -k "$list" in.csv
	done
	fails 2 "'name' is not allowed" \
		bloomdedup --csv --header -k name -k name in.csv
	# in quotes, a quote is two
	printf 'a"b,id\na,1\n' | bloomdedup --csv --header -k '"a""b"' |
		cmp - <(printf 'a"b,id\na,1\n')
}

@test "a name that a file lacks, or has twice, fails that file alone" {
	printf 'id,name\n1,a\n' >one.csv
	printf 'id,Name\n2,b\n' >other.csv
	printf 'name,name\n3,c\n' >twice.csv
	printf 'id,name\n4,d\n' >last.csv
	run -3 --separate-stderr bloomdedup --csv --header -k name other.csv \
		one.csv twice.csv last.csv
	[ "$output" = $'id,name\n1,a\n4,d' ]
	[[ ${stderr_lines[0]} == "bloomdedup: other.csv: its header has no column 'name'; its columns are: "* ]]
	[ "${stderr_lines[1]}" = "bloomdedup: twice.csv: its header has more than one column 'name': give its number" ]
	[ "${#stderr_lines[@]}" -eq 2 ]
}

@test "the header is printed once, and never remembered" {
	printf 'id,name\n1,a\n1,a\n' >in
	bloomdedup -f seen --csv --header -k id --duplicates=dropped in in >out
	printf 'id,name\n1,a\n' | cmp - out
	printf '1,a\n1,a\n1,a\n' | cmp - dropped
	# it opens each output, even if nothing is new
	bloomdedup -f seen in | cmp - <(echo id,name)
	bloomdedup check -f seen in | cmp - in
	bloomdedup -d -f seen in >out
	printf '1,a\n1,a\n' | cmp - out
	bloomdedup --stats=json -f seen in 2>&1 >out | grep -q '"read": 2, "new": 0'
	run -1 --separate-stderr bloomdedup -q -f seen in
	[ -z "$output" ]
	# but not where it continues a file
	printf 'id,name\n5,e\n' >more
	bloomdedup -f seen more >>all
	bloomdedup -f seen in more <(printf 'id,name\n6,f\n') >>all
	printf 'id,name\n5,e\n6,f\n' | cmp - all
	bloomdedup -f seen /dev/null >out
	[ ! -s out ]
}

@test "the filter keeps names as names" {
	printf 'id,a b\n1,x\n' >in
	bloomdedup create -n 100 --csv --header -k '"a b",001,"7"' seen
	bloomdedup info seen | grep -qF -e "--key='a b,1,\"7\"'"
	bloomdedup create -n 100 --csv --header -k $'a\nb' other
	bloomdedup info other | grep -qF -e "--key='a\x0ab'"
	fails 2 "made with --key='a b,1,\"7\"', which contradicts --key=id" \
		bloomdedup -f seen -k id in
	fails 2 'contradicts --key=1' bloomdedup -f seen -k 1 in
	bloomdedup create -n 100 --csv -k1 plain
	fails 2 'made without --header, which contradicts --header' \
		bloomdedup -f plain --header in
	fails 2 'made with --key=1, which contradicts --key=id' \
		bloomdedup -f plain -k id in
	fails 2 '--header is for --csv' bloomdedup --header in
	fails 2 '--header names of columns' bloomdedup --csv -k id in
	bloomdedup --csv --header -k id -k 'a b' in >out
	bloomdedup --csv --header -k 'id,a b' in | cmp - out
	for list in '' 0 a,0 a,- '"id' 'id,"a b' id,id 'id,"id"' 2,id,2; do
		fails 2 --key bloomdedup --csv --header -k "$list" in
	done
}

@test "random tables: the same lines as by Python, with any number of threads" {
	python3 - <<-'PYTHON'
		import csv, random
		random.seed(8)
		seen, want = set(), None
		for name in ("a.csv", "b.csv", "c.csv"):
		    columns = ["id", "na,me", 'q"', "", "x"]
		    random.shuffle(columns)
		    with open(name, "w", newline="") as file:
		        writer = csv.writer(file, lineterminator="\n",
		            quoting=csv.QUOTE_NONNUMERIC if name == "b.csv" else
		            csv.QUOTE_MINIMAL)
		        writer.writerow(columns)
		        for _ in range(20000):
		            writer.writerow([random.choice(("", "a", 'b"', "c\n",
		                "d,", str(random.randrange(50)))) for _ in columns])
		    raw = []
		    def lines():
		        for line in open(name, newline="\n"):
		            raw.append(line)
		            yield line
		    for number, row in enumerate(csv.reader(lines())):
		        text = "".join(raw)
		        raw.clear()
		        key = tuple(row[columns.index(c)] for c in ('q"', "id", "na,me"))
		        if number == 0:
		            want = open("want-" + name, "w", newline="")
		            want.write(text)
		        elif key not in seen:
		            seen.add(key)
		            want.write(text)
	PYTHON
	for threads in 1 3; do
		rm -f seen
		for name in a b c; do
			bloomdedup -f seen -j "$threads" --csv --header \
				-k 'q",id,"na,me"' $name.csv |
				cmp - want-$name.csv
		done
	done
}

@test "the second reader finds the same columns" {
	python3 - >in <<-'PYTHON'
		import random
		random.seed(9)
		print('\ufeffid,"na,me",x\r')
		for _ in range(2000):
		    print(",".join(random.choice(("", "a", "A", '"a,"', '"a""\n"', "b"))
		        for _ in range(random.randint(1, 4))) + random.choice(("", "\r")))
	PYTHON
	head -n 40 in >some
	while read -r options; do
		# shellcheck disable=SC2086 # words
		bloomdedup create -n 1000 --force --csv --header $options seen
		bloomdedup add -f seen some
		bloomdedup check -f seen in | tail -n +2 >ours
		python3 "$ROOT/tests/format/reader.py" seen <in >theirs
		cmp ours theirs
	done <<-'END'
		-k id
		-k x,id
		-k "na,me",1,x -s 1 -w 2 -i
		-k 2
		-k x,2 --trim
	END
}

@test "the header of a file that fails is not printed" {
	printf 'id,name\n1,a\n' >good
	printf 'x,y\n1,2\n' >bad
	mkdir directory
	mkfifo fifo
	{ fails 3 "no column 'name'" bloomdedup --csv --header -k name -o out \
		bad -; } <good
	cmp good out
	rm out
	bloomdedup --csv --header -k name -o out bad directory good 2>err &&
		false
	cmp good out
	rm out
	cat good >fifo &
	fails 3 "no column 'name'" bloomdedup --csv --header -k name -o out \
		bad fifo
	cmp good out
}

@test "a name that is in no column: the message lists the columns" {
	printf 'id,"e, mail"\r\n1,a\r\n' >in
	fails 3 "in: its header has no column 'mail'; its columns are: id,\"e, mail\"" \
		bloomdedup --csv --header -k mail in
	printf '\xef\xbb\xbfid;mail\n1;a\n' >in
	fails 3 "in: its header has no column 'mail', but one with semicolons: 'id;mail'; try -t ';'" \
		bloomdedup --csv --header -k mail in
	bloomdedup --csv --header -k mail -t ';' in | cmp in -
	printf 'id\tmail\n' >in
	fails 3 "but one with tabs: 'id\\x09mail'; try -t '\\t'" \
		bloomdedup --csv --header -k mail in
	# a message is a line, and not a page
	seq -s, 1 5000 >in
	fails 3 "in: its header has no column 'mail'; its columns are: 1,2,3," \
		bloomdedup --csv --header -k mail in
	[ "$(wc -c <fails.err)" -lt 600 ]
}

@test "files with other columns than the first one are not printed under its header" {
	printf 'id,mail\n1,a\n' >one
	printf 'mail,id\nb,2\n' >two
	printf '"id","mail"\r\n3,c\r\n' >same
	printf 'id,mail,age\n4,d,9\n' >more
	for other in two more; do
		for command in '' 'partition --parts=1 -o %d.csv'; do
			fails 3 "$other: its columns are '$(head -n 1 $other)', but those of one are 'id,mail'" \
				bloomdedup $command --csv --header -k mail one \
				same $other
		done
	done
	for threads in 1 4; do
		bloomdedup --csv --header -k mail one same -j $threads 2>err |
			cmp - <(printf 'id,mail\n1,a\n3,c\r\n')
		[ ! -s err ]
		bloomdedup partition --parts=1 -o %d.csv --csv --header -k mail \
			one same -j $threads
		cmp 1.csv <(printf 'id,mail\n1,a\n3,c\r\n')
	done
	# nothing is mixed where nothing is printed
	bloomdedup add -f seen --csv --header -k mail one two 2>err
	[ ! -s err ]
	bloomdedup -q --csv --header -k mail one two 2>err
	[ ! -s err ]
}

@test "records are not added under a header with other columns" {
	printf 'mail,name\na@x,Ann\n' >jan.csv
	printf 'name,mail\nBob,b@x\n' >feb.csv
	printf '\xef\xbb\xbf"mail",name\r\nc@x,Cid\r\n' >mar.csv
	for how in '-o out.csv --append' '-o out.csv --append --atomic' \
		'>>out.csv'; do
		rm -f seen out.csv
		name=out.csv
		[[ $how == -* ]] || name='standard output'
		eval "bloomdedup -f seen --csv --header -k mail $how jan.csv"
		status=0
		eval "bloomdedup -f seen $how feb.csv 2>err" || status=$?
		[ $status -eq 3 ]
		is_message err "feb.csv: its columns are 'name,mail', but those of $name are 'mail,name'"
		cmp jan.csv out.csv
		run -1 bloomdedup check -f seen feb.csv
		eval "bloomdedup -f seen $how mar.csv"
		cat jan.csv <(tail -n 1 mar.csv) | cmp - out.csv
		# what can't be read is not compared, and -d prints no header
		bloomdedup -d -f seen feb.csv feb.csv | cmp - <(tail -n 1 feb.csv)
	done
}

@test "a file whose name is - is not taken for standard input" {
	printf 'id,x\n9,9\n' >./-
	printf 'mail,name\na@x,Ann\n' >jan.csv
	printf 'mail,name\nb@x,Bob\n' >feb.csv
	bloomdedup -f seen --csv --header -k mail - feb.csv <jan.csv >out
	cat jan.csv <(tail -n 1 feb.csv) | cmp - out
}

@test "a header that comes again in a stream is left out, and told" {
	printf 'name,mail\na,x\nb,y\n' >1.csv
	printf '\xef\xbb\xbf"name",mail\r\nc,x\r\nd,z\r\n' >2.csv
	printf 'name,mail\n' >3.csv
	printf 'mail,name\nname,mail2\nname\nname,"mail"\n"name,mail"\ne,w' >4.csv
	cat 1.csv 2.csv 3.csv 3.csv 1.csv 4.csv >in
	for threads in 1 3; do
		bloomdedup -j $threads --csv --header -k mail --stats=json <in >out 2>err
		printf '%s\n' name,mail a,x b,y d,z mail,name name,mail2 name |
			sed 's/d,z/d,z\r/' | cat - <(printf 'e,w\n') | cmp - out
		grep -qF '5 records are the header again, and were left out; the first is record 4 of standard input' err
		[ "$(json_value read <err)" -eq 11 ]
		[ "$(json_value bytes_in <err)" -eq $(($(wc -c <in) + 1)) ]
	done
	bloomdedup key --csv --header -k mail in 2>err | head -n 4 |
		cmp - <(printf '%s\n' x y x z)
	grep -qF 'the first is record 4 of in' err
	bloomdedup partition --parts=2 --csv --header -k mail -o 'part-%d' in 2>err
	[ "$(cat part-1 part-2 | grep -c '^name,mail')" -eq 3 ] # and mail2
	# a line after it has the right number
	printf '1,a\n' >>in
	printf 'name,mail\n"a"x,1\n' >>in
	bloomdedup --csv --header -k mail in 2>&1 >out |
		grep -qF "in: record $(grep -c '' in) has text after"
	run -3 --separate-stderr bloomdedup --csv --header -k mail --strict-keys in
	[ "$output" = $'name,mail\na,x\nb,y' ]
	[ "$stderr" = 'bloomdedup: in: record 4 is the header again, which --strict-keys does not allow' ]
	# a list of one column: it may be data
	printf 'mail\na\nmail\nb\n' | bloomdedup --csv --header -k mail >out 2>err
	printf 'mail\na\nmail\nb\n' | cmp - out
	[ ! -s err ]
	# without --header, it is data
	bloomdedup --csv -k 2 1.csv 3.csv >out 2>err
	cmp out 1.csv
	[ ! -s err ]
	# with parts, each has all but the headers
	cat 1.csv 3.csv 1.csv >in
	for part in 1 2; do
		bloomdedup --csv --header -k mail --part=$part/2 in 2>err
		grep -qF '2 records are the header again' err
	done | sort | uniq -c | grep -c ' 1 [ab],' | grep -qx 2
}

@test "headers that come again, at any place, with any batches" {
	python3 - >in <<-'PYTHON'
		import random
		random.seed(4)
		print("id,id2")
		for i in range(30000):
		    print("id,id2" if random.random() < .01 else
		          "id%d,%d" % (i, i) if i % 3 else "%d,x" % i)
	PYTHON
	grep -vx id,id2 in | cat <(echo id,id2) - >want
	for options in '' '-j 3' '--window=1h -f hour' '--part=1/1'; do
		bloomdedup $options --csv --header -k id in 2>err | cmp want -
		grep -qF " records are the header again" err
	done
}
