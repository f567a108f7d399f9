# --csv: fields and records by RFC 4180; python's csv module is the model.
load ../common

# random_csv COUNT SEED END: records of random fields, some of them quoted,
# with quotes, separators and line ends in them; END is what ends a record.
random_csv() {
	python3 - "$@" <<'PYTHON'
import random, sys
count, seed = int(sys.argv[1]), int(sys.argv[2])
end = sys.argv[3].encode().decode("unicode_escape")
random.seed(seed)
out = []
for _ in range(count):
    fields = []
    for n in random.choices((0, 1, 1, 2, 3), k=random.randint(1, 4)):
        value = "".join(random.choices('ab,"\n', k=n))
        if set(value) & set(',"\n') or random.random() < 0.3:
            value = '"' + value.replace('"', '""') + '"'
        fields.append(value)
    if fields == [""]:
        fields = ["a"]
    out.append(",".join(fields) + end)
sys.stdout.write("".join(out))
PYTHON
}

# csv_model FILE FIELDS...: FILE's records, as they stand there, whose FIELDS
# (0-based, with commas) are new, are in the file `want.FIELDS`.
csv_model() {
	python3 - "$@" <<'PYTHON'
import csv, sys
csv.field_size_limit(1 << 30)
wanted = [([int(i) for i in fields.split(",")], set(),
           open("want." + fields, "w", newline="\n"))
          for fields in sys.argv[2:]]
raw = []
def lines():
    for line in open(sys.argv[1], newline="\n"):
        raw.append(line)
        yield line
for record in csv.reader(lines()):
    text = "".join(raw)
    for fields, seen, out in wanted:
        key = tuple(record[i] if i < len(record) else "" for i in fields)
        if key not in seen:
            out.write(text)
            seen.add(key)
    raw.clear()
PYTHON
}

@test "quoted and plain fields with the same value are the same" {
	printf 'a,1\n"a",2\nb,3\n"b",4\n"a""b",5\na"b,6\n' |
		bloomdedup --csv -k1 >out
	printf 'a,1\nb,3\n"a""b",5\n' | cmp - out
	printf '"",1\n,2\n' | bloomdedup --csv -k1 >out
	printf '"",1\n' | cmp - out
	printf 'x,"",1\nx,,1\nx\n' | bloomdedup --csv -k 1,2 >out
	printf 'x,"",1\n' | cmp - out
}

@test "separators and quotes in quoted fields are data" {
	printf '"a,b",c\n"a","b,c"\na,"b,c"\n"a""","b"\n"a","""b"\n' >in
	sed 3d in >want
	bloomdedup --csv -k 1,2 in >out
	cmp want out
	bloomdedup --csv -k 1- in >out
	cmp want out
}

@test "records with line breaks in them are printed whole" {
	printf '1,"two\nlines",x\n2,one,x\n3,"two\nlines",y\n' >in
	printf '1,"two\nlines",x\n2,one,x\n' >want
	bloomdedup --csv -k2 in >out
	cmp want out
	bloomdedup --csv -d -k2 in >out
	printf '3,"two\nlines",y\n' | cmp - out
	bloomdedup --csv -k2 --stats=json in 2>stats >/dev/null
	grep -q '"read": 3, "new": 2,' stats
}

@test "random records: as python's csv has it" {
	local fields keys
	random_csv 30000 1 '\n' >in
	csv_model in 0 1 0,1 0,2 1,2,3
	while read -r fields keys; do
		bloomdedup --csv -k "$keys" in >out
		cmp "want.$fields" out
		[ -s out ]
		[ "$(wc -c <out)" -lt "$(wc -c <in)" ]
	done <<-'END'
		0 1
		1 2
		0,1 1,2
		0,2 3,1
		1,2,3 2-
	END
}

@test "random records in random pieces, and from gzip" {
	random_csv 40000 2 '\n' >in
	[ "$(wc -c <in)" -gt 300000 ]
	csv_model in 1,2
	"$HELPER" pieces 3 <in | bloomdedup --csv -k 2,3 >out
	cmp want.1,2 out
	gzip -c in >in.gz
	bloomdedup --csv -k 2,3 in.gz >out
	cmp want.1,2 out
	"$HELPER" pieces 4 <in.gz | bloomdedup --csv -k 2,3 >out
	cmp want.1,2 out
}

@test "input that comes byte by byte" {
	random_csv 300 3 '\n' >in
	csv_model in 0,1
	perl -e '$| = 1; $/ = \1; print while <>' in |
		bloomdedup --csv -k 1,2 >out
	cmp want.0,1 out
}

@test "records that are longer than a read" {
	python3 - >in <<'PYTHON'
import random
random.seed(4)
for i in range(60):
    text = "".join(random.choices(('x' * 40, '""', ',', '\n'),
                                  k=random.choice((3, 9000, 20000))))
    print('"%s",%d,"%s"' % (text, i % 40, text))
PYTHON
	[ "$(wc -c <in)" -gt 3000000 ]
	csv_model in 0 1
	bloomdedup --csv -k2 in >out
	cmp want.1 out
	"$HELPER" pieces 5 <in | bloomdedup --csv -k2 >out
	cmp want.1 out
	bloomdedup --csv -k1 in >out
	cmp want.0 out
}

@test "records end at every distance from the end of a read" {
	local shift
	python3 -c '
for i in range(20000):
    print("\"a\n%d\",\"\"\"\",b" % (i % 15000))' >body
	for shift in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
		{
			printf '%*s\n' "$shift" '' | tr ' ' x
			cat body
		} >in
		{
			head -n1 in
			head -n30000 body
		} >want
		bloomdedup --csv -k1 in >out
		cmp want out
	done
}

@test "CR LF ends a record, as RFC 4180 has it" {
	printf 'x,a\r\ny,"a"\r\nz,b\r\n' | bloomdedup --csv -k2 >out
	printf 'x,a\r\nz,b\r\n' | cmp - out
	random_csv 5000 5 '\r\n' >in
	csv_model in 1
	bloomdedup --csv -k2 in >out
	cmp want.1 out
}

@test "--strip-cr makes CR LF and LF the same" {
	printf 'x,a\r\ny,"a"\nz,"a"\r\nw,a\n' |
		bloomdedup --csv --strip-cr -k2 >out
	printf 'x,a\r\n' | cmp - out
}

@test "a quote inside of a plain field is an ordinary byte" {
	printf 'a"b,1\na"b",2\na"\n"b",3\n"b,""\n",4\n "q\nr",5\n' >in
	bloomdedup --csv -k1 in >out
	cmp in out
	printf '5" nails,x\n5" nails,y\n6" nails,"x"\n' | bloomdedup --csv -k1 >out
	printf '5" nails,x\n6" nails,"x"\n' | cmp - out
}

@test "what follows a closing quote makes a difference" {
	printf '"a"b\n"a"c\n"a"\n' >in
	bloomdedup --csv -k1 in >out
	cmp in out
	bloomdedup --csv -k 1,2 in >out
	cmp in out
}

@test "a quote that is never closed: all up to the end of the file is one record" {
	printf 'a,1\n"b,2\nc,3\n' >in
	bloomdedup --csv -k1 in >out
	cmp in out
	bloomdedup --csv -k1 -f filter in >out
	bloomdedup -f filter out >again
	[ ! -s again ]
	printf '"' | bloomdedup --csv -k1 >out
	printf '"\n' | cmp - out
	printf 'a,"b\nc' | bloomdedup --csv -k2 >out
	printf 'a,"b\nc\n' | cmp - out
}

@test "the file after one with a quote that is never closed begins anew" {
	printf 'a,1\n"b,2\nc,3\n' >in
	python3 -c '
for i in range(60000):
    print("\"d\n%d\",a\nb" % i)' >next
	[ "$(wc -c <next)" -gt 600000 ]
	bloomdedup --csv -k1 next >want
	[ "$(wc -l <want)" -eq 120001 ]
	bloomdedup --csv -k1 in next >out
	cat in want | cmp - out
}

@test "a huge record of quotes, never closed" {
	perl -e 'print "\"", "x\"\"\n" x 1000000, "y"' >in
	bloomdedup --csv -k1 in >out
	{
		cat in
		echo
	} | cmp - out
}

@test "a last record without an end gets one" {
	printf 'a,1\n"b\nc",2' | bloomdedup --csv -k1 >out
	printf 'a,1\n"b\nc",2\n' | cmp - out
	printf 'a,1\n"b",2\n"b"' | bloomdedup --csv -k1 >out
	printf 'a,1\n"b",2\n' | cmp - out
}

@test "--csv with another separator" {
	printf '"a;1";x\na;y\n"a;1";z\na;w\n' | bloomdedup --csv -t';' -k1 >out
	printf '"a;1";x\na;y\n' | cmp - out
	printf 'a\t"1\t2"\nb\t"1\t2"\n' | bloomdedup --csv -t '\t' -k2 >out
	printf 'a\t"1\t2"\n' | cmp - out
	fails 2 --field-separator bloomdedup --csv -k1 -t '"'
}

@test "--csv with -z: records end in NUL, and lines in fields need no quotes" {
	printf 'a,"1\0002"\0b,"1\0002"\0c\nd,e\0f,"e"\0' |
		bloomdedup --csv -z -k2 >out
	printf 'a,"1\0002"\0c\nd,e\0' | cmp - out
}

@test "--csv without -k compares whole records" {
	printf 'a,"1\n2"\na,"1\n3"\na,"1\n2"\n' | bloomdedup --csv >out
	printf 'a,"1\n2"\na,"1\n3"\n' | cmp - out
}

@test "-s, -w, -i and --trim work on the value of the field" {
	printf 'x,"Abc"\ny,aBd\nz,"ab"\nw,"""b"\n' |
		bloomdedup --csv -k2 -w2 -i >out
	printf 'x,"Abc"\nw,"""b"\n' | cmp - out
	printf 'x,"abc"\ny,qbc\n' | bloomdedup --csv -k2 -s1 >out
	printf 'x,"abc"\n' | cmp - out
	printf '  "a",1\n"a",2\n' | bloomdedup --csv --trim -k1 >out
	printf '  "a",1\n' | cmp - out
}

@test "the filter keeps --csv in mind" {
	printf 'a,"1\n2"\n' | bloomdedup -f filter --csv -k2 >/dev/null
	printf 'b,"1\n2"\nc,"1\n3"\n' | bloomdedup -f filter >out
	printf 'c,"1\n3"\n' | cmp - out
	printf 'b,"1\n2"\nc,"1\n4"\n' | bloomdedup check -f filter >out
	printf 'b,"1\n2"\n' | cmp - out
	bloomdedup -f filter --csv -t, -k2 </dev/null
	fails 2 --field-separator bloomdedup -f filter -t';' </dev/null
}

@test "a record comes out at once, not before its quote is closed" {
	mkfifo pipe
	bloomdedup --csv -k1 <pipe >out &
	exec 7>pipe
	printf 'a,1\n"b\n' >&7
	until_true has_bytes 4 out
	printf 'c",2\n' >&7
	until_true has_bytes 11 out
	exec 7>&-
	wait $!
	printf 'a,1\n"b\nc",2\n' | cmp - out
}

@test "-s and -w with several fields count what the fields say, no quotes" {
	printf 'abc,1\nxbd,2\n' >in
	bloomdedup --csv -k1,2 -w1 in | cmp - in
	printf 'abc,1\nabd,2\n"abx",3\nay,1\n' |
		bloomdedup --csv -k1,2 -w2 >out
	printf 'abc,1\nay,1\n' | cmp - out
	# the comma between two fields counts, quotes don't
	printf 'ab,"1""x",8\n"yb","1""y",9\nab,"1x",8\n' |
		bloomdedup --csv -k1,2 -s1 -w4 >out
	printf 'ab,"1""x",8\nab,"1x",8\n' | cmp - out
	printf '"a""",b\n"c""",b\n"a"x,b\n' |
		bloomdedup --csv -k1-2 -s1 >out
	printf '"a""",b\n"a"x,b\n' | cmp - out
}

@test "a filter of 0.1.0 that counted quotes is refused, with the reason" {
	bloomdedup create -n 100 --csv -k1,2 -w3 -s1 seen
	bloomdedup info seen | grep -q -- '--skip-chars=1 --check-chars=3'
	cp seen old
	text=$'key=1-2\nfield-separator=2c\ncsv\nskip-chars=1\ncheck-chars=3\n'
	"$HELPER" poke old 84 "$(printf %02x ${#text})"
	"$HELPER" poke old 320 "$(printf %s "$text" | od -An -v -tx1 |
		tr -d ' \n')"
	"$HELPER" fix-crc old
	echo ab,abc >in
	fails 3 'old: made by bloomdedup 0.1.0 with --csv' bloomdedup -f old in
	fails 3 'make a new filter' bloomdedup check -f old in
	fails 3 'old: made by bloomdedup 0.1.0' bloomdedup create --like=old new
	# what the options say is told in their words
	fails 2 'made with --skip-chars=1, which contradicts --skip-chars=2' \
		bloomdedup -f seen -s2 in
	bloomdedup -f seen -s1 -w3 /dev/null
}

@test "a byte order mark doesn't hide the first quoted field" {
	printf '\xef\xbb\xbf"a,b",1\n"a,b",2\na,3\n' |
		bloomdedup --csv -k1 >out
	printf '\xef\xbb\xbf"a,b",1\na,3\n' | cmp - out
	printf '\xef\xbb\xbf"a\nb",1\n"a\nb",2\n' |
		bloomdedup --csv -k1 >out
	printf '\xef\xbb\xbf"a\nb",1\n' | cmp - out
	# elsewhere, and without fields, it is data
	printf 'a,\xef\xbb\xbfb\na,b\n' >in
	bloomdedup --csv -k2 in | cmp - in
	printf '\xef\xbb\xbfa\na\n' >in
	bloomdedup --csv in | cmp - in
}

@test "a quote that is never closed is told, with its record and line" {
	printf 'a,b\n"c\nc",d\nx,y"\ne,"f\ng,h\ni,j\n' >open.csv
	bloomdedup --csv -k1 open.csv >out 2>err
	cmp open.csv out
	echo 'bloomdedup: open.csv: the quote that opens in record 4 (line 5) is never closed: everything from there to the end of the file is one record' |
		cmp - err
	# each file by itself, and none that is closed
	printf '"a\n","b"\n"""\n"\n' >closed.csv
	bloomdedup --csv -k1 closed.csv open.csv closed.csv >out 2>err
	[ "$(cat err)" = "$(bloomdedup --csv open.csv 2>&1 >/dev/null)" ]
	printf '"' | bloomdedup --csv -k1 2>err >out
	grep -q 'standard input: the quote that opens in record 1 (line 1)' err
	# lines have no quotes
	bloomdedup -k1 -t, open.csv 2>err >out
	[ ! -s err ]
	# far behind much data, in blocks of any length
	{ seq 100000 | sed 's/.*/&,"x ""&"/'; printf 'a,"b\nc\n'; } >large
	bloomdedup --csv -k1 large 2>err >out
	grep -q 'record 100001 (line 100001)' err
}

@test "--max-record is a bound for any size and however the input arrives" {
	printf 'aa,1\n"b\nb",2\ncc,"3\n"\nd,0123456789\ne,5\n' >in
	head -c 21 in >before
	local message='bloomdedup: %s: record 4 (line 6) is larger than the 10 bytes that --max-record allows'
	slow() {
		perl -e '$| = 1; $/ = \$ARGV[0]; while (<STDIN>) {
			print; select(undef, undef, undef, 0.01) }' "$1" <in
	}
	run -3 --separate-stderr bloomdedup --csv --max-record=10 in
	[ "$output"$'\n' = "$(cat before)"$'\n' ]
	# shellcheck disable=SC2059
	[ "$stderr" = "$(printf "$message" in)" ]
	for n in 1 3 18 100; do
		run -3 --separate-stderr bloomdedup --csv --max-record=10 \
			< <(slow $n)
		[ "$output" = "$(cat before)" ]
		# shellcheck disable=SC2059
		[ "$stderr" = "$(printf "$message" 'standard input')" ]
	done
	# just as large, with any end of the line; and at the end of the input
	printf '"1234\r\n6",\na,34567890\n' >fits
	bloomdedup --csv --max-record=10 fits | cmp fits -
	printf 'a\n%s' 12345678901 >in
	run -3 bloomdedup --csv --max-record=10 in
	[ "${lines[0]}" = a ]
	[[ ${lines[1]} = *'record 2 (line 2)'* ]]
	# the next file is read
	run -3 bloomdedup -q --csv --max-record=10 in
	run -3 --separate-stderr bloomdedup --csv --max-record=10 in before
	[ "$output" = a$'\n'"$(cat before)" ]
}

@test "--max-record bounds what a record takes, and says where it begins" {
	{ printf 'a,1\nb,"2\n'; yes 'c,3' | head -c 3000000; } >open.csv
	printf 'd,4\n' >other.csv
	run -3 --separate-stderr bloomdedup --csv -k1 --max-record=1M \
		open.csv other.csv
	[ "$output" = $'a,1\nd,4' ]
	[ "$stderr" = 'bloomdedup: open.csv: the quote that opens in record 2 (line 2) is not closed within 1.0 MiB, which --max-record allows' ]
	{ printf 'a,1\n'; yes b | head -c 3000000 | tr -d '\n'; echo; } >long.csv
	run -3 --separate-stderr bloomdedup --csv -k1 --max-record=1M long.csv
	[ "$output" = a,1 ]
	[ "$stderr" = 'bloomdedup: long.csv: record 2 (line 2) is larger than the 1.0 MiB that --max-record allows' ]
	# what is as large but many records passes, and lines do
	yes '"a,b",c' | head -c 3000000 >many.csv
	bloomdedup --csv -k1 --max-record=1M many.csv >/dev/null
	fails 2 '--max-record is for --csv' \
		bloomdedup --max-record=1M -k1 long.csv
	fails 2 --max-record bloomdedup --csv --max-record=0 many.csv
}

@test "text after a closing quote is told, and refused with --strict-keys" {
	printf 'id,text,url\n1,"say \\"a, b\\"",u1\n2,"say \\"c, b\\"",u2\n3,x,u1\n' >in
	bloomdedup --csv --header -k url in >out 2>err
	echo 'bloomdedup: 2 records have text after a closing quote; the first is record 2 of in: '"'a'; --csv=backslash takes \\\" for a quote" |
		cmp - err
	bloomdedup --csv --header -k url --stats=json in 2>&1 >out |
		grep -q '"stray_quotes": 2[,}]'
	# quotes that pair up over lines
	printf '1,"abc,x\n2,def,y\n3,"ghi,z\n4,"a"\r\n5,"a""b"\n' >pairs
	bloomdedup --csv -k1 pairs 2>err >out
	echo "bloomdedup: pairs: record 1 has text after a closing quote: 'ghi'" |
		cmp - err
	bloomdedup --csv pairs 2>&1 >out | cmp - err
	bloomdedup key --csv -k1 pairs 2>&1 >out | cmp - err
	bloomdedup partition --parts=2 --csv -k1 -o 'part-%d' pairs 2>&1 | cmp - err
	# any other bytes, all of which are on one line
	printf '"a"\0\r\33b"c\n"a"%s\n' "$(printf %070d 1)" |
		bloomdedup --csv >out 2>err
	echo "bloomdedup: 2 records have text after a closing quote; the first is record 1 of standard input: '\\x00\\x0d\\x1bb'" |
		cmp - err
	# with --strict-keys, the records before it only
	run -3 --separate-stderr bloomdedup --csv --header -k url --strict-keys -f seen in
	[ "$output" = id,text,url ]
	[ "$stderr" = 'bloomdedup: in: record 2 has text after a closing quote, which --strict-keys does not allow' ]
	printf 'a\n"b" \n' >in
	run -3 --separate-stderr bloomdedup --csv --strict-keys -f seen in
	[ "$output" = a ]
	run -1 bloomdedup check -f seen <<<'"b" '
}

@test "text after a closing quote is found wherever it is" {
	# the quote at each place in words of 64 bytes, and a model by bytes
	python3 - >in <<-'PYTHON'
		import random
		random.seed(3)
		for n in range(3000):
		    text = "".join(random.choices('aa",\r', k=random.choice((3, 9, 70))))
		    print("x" * (n % 67) + ("," if n % 3 else "") + text.replace("\n", ""),
		          end="\n")
	PYTHON
	python3 - >want <<-'PYTHON'
		data, state, strays, here = open("in", newline="").read(), "start", 0, 0
		for i, c in enumerate(data):
		    if state == "closing" and c not in '",\n' and data[i:i + 2] != "\r\n":
		        here = 1
		    if state == "quoted":
		        state = "closing" if c == '"' else "quoted"
		    elif c == '"' and state in ("start", "closing"):
		        state = "quoted"
		    elif c in ",\n":
		        state = "start"
		        if c == "\n":
		            strays, here = strays + here, 0
		    else:
		        state = "plain"
		print(strays + (here and state != "start"))
	PYTHON
	[ "$(cat want)" -gt 100 ]
	for set in avx512 avx2 plain; do
		for threads in 1 3; do
			BLOOMDEDUP_INSTRUCTIONS=$set bloomdedup -j $threads --csv -k2 \
				--stats=json in 2>err >out
			[ "$(json_value stray_quotes <err)" -eq "$(cat want)" ]
		done
	done
}

# backslashed COUNT SEED: a table as Python writes it with backslashes, and in
# the files want.N its records that are new by the fields N.
backslashed() {
	python3 - "$@" <<'PYTHON'
import csv, io, random, sys
random.seed(int(sys.argv[2]))
seen = {(0,): set(), (1,): set(), (0, 2): set()}
wanted = {key: [] for key in seen}
out = open("in", "w", newline="")
for _ in range(int(sys.argv[1])):
    record = ["".join(random.choices('ab,"\\\n\r', k=random.choice((0, 1, 1, 2, 3))))
              for _ in range(3)]
    text = io.StringIO()
    csv.writer(text, escapechar="\\", doublequote=False, lineterminator="\n",
               quoting=random.choice((csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC))
               ).writerow(record)
    # Python's own reader is the oracle
    [again] = csv.reader(io.StringIO(text.getvalue(), newline=""),
                         escapechar="\\", doublequote=False)
    assert again == record
    out.write(text.getvalue())
    for fields in seen:
        key = tuple(record[i] for i in fields)
        if key not in seen[fields]:
            wanted[fields].append(text.getvalue())
        seen[fields].add(key)
for fields in wanted:
    with open("want." + ",".join(str(i + 1) for i in fields), "w", newline="") as file:
        file.write("".join(wanted[fields]))
PYTHON
}

@test "--csv=backslash: tables as Python writes them with backslashes" {
	backslashed "$(short_or_long 3000 100000)" 1
	for fields in 1 2 1,3; do
		bloomdedup --csv=backslash -k "$fields" in 2>err | cmp - want.$fields
		[ ! -s err ]
		bloomdedup --csv=backslash -j 3 -k "$fields" in | cmp - want.$fields
		bloomdedup create -n 100 --csv=backslash -k "$fields" f.$fields
		bloomdedup key -f f.$fields in >ours 2>err
		python3 -S "$ROOT/tests/format/reader.py" --keys f.$fields <in | cmp - ours
	done
	# a record that comes byte by byte ends where it does
	head -n 40 in >few
	bloomdedup --csv=backslash few >want
	while IFS= read -r -n 1 -d '' byte; do printf %s "$byte"; done <few |
		bloomdedup --csv=backslash | cmp want -
}

@test "--csv=backslash: in quotes only, and other pairs stay two bytes" {
	printf '%s\n' '"a\"b",1' '"a""b",2' '"a\\",3' 'a\,4' '"a\nb",5' '"a\\nb",6' \
		'a\nb,7' 'x\",8' '"x\\"",9",1' '"\"","\,"' '"""",2' >in
	bloomdedup --csv=backslash -k1 in 2>err >out
	sed -e 2d -e 4d -e 6,7d -e 11d in | cmp - out
	[ ! -s err ]
	# several fields, names in the header, URLs and bytes
	printf '"a\\"b",c\n"x\\y",1\nx\\y,"1"\n"x\\"y",1\n"x""y",1\n' >in
	bloomdedup --csv=backslash --header -k 'c,"a""b"' in | cmp - <(sed 3d in | sed 4d)
	printf '"http://a/?\\"",1\nhttp://A/?%%22,1\n' >in
	bloomdedup --csv=backslash --url -k 1,2 in | cmp - <(head -n 1 in)
	printf '"ab\\"cd",1\n"ab""cx",2\n' >in
	bloomdedup --csv=backslash -k1 -s1 -w3 in | cmp - <(head -n 1 in)
	bloomdedup --csv=backslash -k1,2 -s1 -w3 in | cmp - <(head -n 1 in)
	# a quote that is never closed, and a backslash at the end
	printf 'a\n"b\\"\nc\\' | bloomdedup --csv=backslash >out 2>err
	printf 'a\n"b\\"\nc\\\n' | cmp - out
	grep -q 'the quote that opens in record 2 (line 2) is never closed' err
}

@test "--csv=backslash is a part of the recipe" {
	bloomdedup create -n 100 --csv=backslash -k1 seen
	bloomdedup info seen | grep -qF -- '--csv=backslash'
	printf '"a\\"b",1\n"a""b",2\n' | bloomdedup -f seen >out
	printf '"a\\"b",1\n' | cmp - out
	fails 2 'made with --csv=backslash, which contradicts --csv:' \
		bloomdedup -f seen --csv
	bloomdedup create -n 100 --csv -k1 plain
	fails 2 'made with --csv, which contradicts --csv=backslash:' \
		bloomdedup -f plain --csv=backslash
	fails 2 'other keys' bloomdedup merge -o both seen plain || true
	fails 2 "--csv: 'slash'" bloomdedup --csv=slash
	fails 2 'differ from the backslash' bloomdedup --csv=backslash -t '\'
	bloomdedup partition --parts=3 --csv=backslash -k1 <<<'"a\"b"' | cut -f 1 >one
	bloomdedup partition --parts=3 --csv=backslash -k1 <<<'"a""b"' | cut -f 1 | cmp one -
}
