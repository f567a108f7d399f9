# --tee=FILE: the new lines are added to FILE before they are printed, so that
# there is a list that people can read beside the filter.
load ../common

@test "--tee adds the new lines to a list, and prints them" {
	printf 'a\nb\na\n' | bloomdedup -f seen --tee=list >out
	printf 'a\nb\n' | tee want | cmp - out
	cmp want list
	printf 'b\nc\n' | bloomdedup -f seen --tee=list >out
	echo c | cmp - out
	printf 'a\nb\nc\n' | cmp - list
}

@test "a line is in the list before it is printed" {
	mkfifo pipe printed
	"$BLOOMDEDUP" -f seen --tee=list <pipe >printed 3>&- &
	pid=$!
	exec 7>pipe 8<printed
	for line in one two three; do
		echo $line >&7
		read -r got <&8
		[ "$got" = $line ]
		[ "$(tail -n 1 list)" = $line ]
	done
	exec 7>&-
	wait $pid
}

@test "-q adds to the list, prints nothing, and says whether a line was new" {
	printf 'a\nb\n' | bloomdedup -f seen -q --tee=list >out
	[ ! -s out ]
	printf 'a\nb\n' | cmp - list
	status=0
	printf 'a\n' | bloomdedup -f seen -q --tee=list >out || status=$?
	[ $status -eq 1 ]
	printf 'a\nb\n' | cmp - list
}

@test "with -o, --append, --overwrite and --duplicates, each file has its own" {
	printf 'a\nb\na\n' | bloomdedup -f seen --tee=list -o out --duplicates=dup
	printf 'a\nb\n' | cmp - list
	cmp list out
	echo a | cmp - dup
	printf 'c\na\n' | bloomdedup -f seen --tee=list -o out --append \
		--duplicates=dup
	printf 'a\nb\nc\n' | cmp - list
	cmp list out
	printf 'a\na\n' | cmp - dup
	printf 'd\na\n' | bloomdedup -f seen --tee=list -o out --overwrite
	printf 'a\nb\nc\nd\n' | cmp - list
	echo d | cmp - out
}

@test "without a filter yet, a list that has lines is refused, and filled in by the command that is named" {
	printf 'Id,n\na b,1\nA B,2\n' >in
	options='--csv --header -k Id -i -n 1e5 -p 1e-9 --window=30d'
	bloomdedup -f seen $options --tee=list in >out
	printf 'Id,n\na b,1\n' | cmp - list
	rm seen
	cp list before
	fails 2 'list is not empty, and seen does not exist yet' \
		bloomdedup -f seen $options --tee=list in
	bloomdedup -f seen $options --tee=list in >out 2>err || true
	[ ! -e seen ]
	cmp before list
	command=$(sed -n 's/.*: to fill it with these lines first, bloomdedup //p' err)
	bloomdedup $command
	# the same options, so that this run agrees with the filter
	bloomdedup -f seen $options --tee=list in >out
	printf 'Id,n\n' | cmp - out
	cmp before list
	for figure in capacity error_rate; do
		bloomdedup create $options other --force
		[ "$(figure $figure seen)" = "$(figure $figure other)" ]
	done
	# -z, too
	printf 'x\0y\0' | bloomdedup -z -f nuls --tee=nul-list >out
	rm nuls
	bloomdedup -z -f nuls --tee=nul-list <nul-list 2>err >out || true
	bloomdedup -z -f nuls --tee=nul-list </dev/null 2>err >out || true
	command=$(sed -n 's/.*: to fill it with these lines first, bloomdedup //p' err)
	bloomdedup $command
	printf 'y\0z\0x\0' | bloomdedup -f nuls --tee=nul-list >out
	printf 'z\0' | cmp - out
}

@test "a filter that is there and remembers nothing goes on, and so does an empty list" {
	bloomdedup create seen
	echo a >list
	echo b | bloomdedup -f seen --tee=list >out
	echo b | cmp - out
	printf 'a\nb\n' | cmp - list
	: >empty
	echo a | bloomdedup -f new --tee=empty >out
	echo a | cmp - empty
}

@test "a list that is another file of the run, or none, is refused, and nothing is read" {
	echo a >in
	fails 2 'name a file' bloomdedup -f seen --tee=- in
	fails 2 'seen: the output is the filter' bloomdedup -f seen --tee=seen in
	fails 2 "the filter's journal" bloomdedup -f seen --tee=seen.journal in
	fails 2 'in: the output is also an input' bloomdedup -f seen --tee=in in
	fails 2 'different file from the output' \
		bloomdedup -f seen --tee=x -o ./x in
	fails 2 'different file from that of --duplicates' \
		bloomdedup -f seen --tee=x --duplicates=./x in
	: >x
	status=0
	bloomdedup -f seen --tee=x in >>x 2>err || status=$?
	[ $status -eq 2 ]
	is_message err 'different file from the output'
	fails 2 'cannot be combined with --repeated' \
		bloomdedup -d -f seen --tee=x in
	fails 2 'cannot be combined with --mark' \
		bloomdedup --mark -f seen --tee=x in
	fails 2 '--tee needs --filter' bloomdedup --tee=x in
	fails 2 'not an option of bloomdedup check' \
		bloomdedup check -f seen --tee=x in
	fails 3 "$(reason ENOENT)" bloomdedup -f seen --tee=nowhere/x in
	[ ! -e seen ]
	[ ! -s x ]
}

@test "--dry-run prints what is new, and writes nothing" {
	echo a | bloomdedup -f seen --tee=list >out
	printf 'a\nb\n' | bloomdedup -f seen --dry-run --tee=list >out
	echo b | cmp - out
	echo a | cmp - list
	printf 'a\nb\n' | bloomdedup -f seen --dry-run --tee=other >out
	[ ! -e other ]
}

@test "--sync: the list must be a file, and is on the disk before its lines are remembered" {
	needs_strace
	mkfifo pipe
	fails 2 'pipe is not a file' \
		bloomdedup -f seen --sync --tee=pipe -o out /dev/null
	seq 10 >in
	strace -qq -y -o trace -e trace=pwrite64,write,fsync,fdatasync,msync \
		"$BLOOMDEDUP" -f seen --sync --tee=list -o out in
	cmp in list
	cmp in out
	written=$(grep -n 'write(.*/list>' trace | tail -n 1 | cut -d: -f1)
	synced=$(grep -n 'fsync(.*/list>' trace | tail -n 1 | cut -d: -f1)
	[ "$written" -lt "$synced" ]
	# nothing of the filter's bits is written before
	marked=$(grep -nE '(pwrite64|msync|fsync|fdatasync)\(.*' trace |
		grep -v '/list>\|/out>' | tail -n 1 | cut -d: -f1)
	[ -z "$marked" ] || [ "$synced" -lt "$marked" ]
	printf '11\n' | bloomdedup -f seen --sync -q --tee=list
	seq 11 | cmp - list
}

@test "--to-command: the list gets the lines if the command takes them" {
	seq 5 >in
	status=0
	bloomdedup -f seen --tee=list --to-command 'cat >got; exit 7' in 2>err ||
		status=$?
	[ $status -eq 7 ]
	cmp in got
	[ ! -e list ]
	bloomdedup -f seen --tee=list --to-command 'cat >got' in
	cmp in got
	cmp in list
	bloomdedup -f seen --tee=list --to-command 'cat >got' in
	[ ! -s got ]
	cmp in list
}

@test "--atomic adds to all files in the end, and replaces none" {
	printf 'a\na\n' | bloomdedup -f seen --atomic --tee=list -o out \
		--duplicates=dup
	echo a | cmp - list
	echo a | cmp - out
	echo a | cmp - dup
	echo b >in
	fails 2 'out is not empty, and --atomic with --tee adds' \
		bloomdedup -f seen --atomic --tee=list -o out in
	fails 2 'cannot be combined with --overwrite' \
		bloomdedup -f seen --atomic --tee=list -o out --overwrite in
	fails 2 'out: the output is also an input' \
		bloomdedup -f seen --atomic --tee=list -o out out
	echo a | cmp - list
	bloomdedup -f seen --atomic --tee=list -o out --append --duplicates=dup \
		in in
	printf 'a\nb\n' | cmp - list
	cmp list out
	printf 'a\nb\n' | cmp - dup
	# a run that fails adds nothing
	status=0
	echo c | bloomdedup -f seen --atomic --tee=list - . >out 2>err ||
		status=$?
	[ $status -eq 3 ]
	printf 'a\nb\n' | cmp - list
	echo c | bloomdedup -f seen --atomic --tee=list >out
	echo c | cmp - out
	printf 'a\nb\nc\n' | cmp - list
}

@test "--shared: several runs add to one list" {
	bloomdedup create seen
	for i in 0 1 2; do
		seq $((i * 1000 + 1)) $((i * 1000 + 1000)) >in.$i
		"$BLOOMDEDUP" -f seen --shared --tee=list in.$i >out.$i 3>&- &
	done
	wait
	sort -n list | cmp - <(seq 3000)
	cat out.? | sort -n | cmp - <(seq 3000)
}

@test "--header, --csv and -z: the list is a file of the same kind" {
	printf 'id,text\n1,"a\nb"\n2,c\n1,d\n' >in
	bloomdedup --csv --header -k id -f seen --tee=list in >out
	printf 'id,text\n1,"a\nb"\n2,c\n' | cmp - list
	cmp list out
	printf 'id,text\n3,e\n' >in
	bloomdedup -f seen --tee=list in >out
	printf 'id,text\n1,"a\nb"\n2,c\n3,e\n' | cmp - list
	cmp in out
	rm list
	printf 'id,text\n4,f\n' | bloomdedup -f seen -q --tee=list
	printf 'id,text\n4,f\n' | cmp - list
	printf 'id,text\n5,g\n' | bloomdedup -f seen --atomic -q --tee=list
	printf 'id,text\n4,f\n5,g\n' | cmp - list
	# another header there: nothing is printed
	printf 'id,mail\n4,f\n' >other
	status=0
	printf 'id,text\n6,h\n' | bloomdedup -f seen --tee=other >out 2>err ||
		status=$?
	[ $status -eq 3 ]
	[ ! -s out ]
	printf 'id,mail\n4,f\n' | cmp - other
	printf 'a\0b\0a\0' | bloomdedup -z -f nuls --tee=nul-list >out
	printf 'a\0b\0' | cmp - nul-list
}

@test "large input with several threads: the list is what is printed" {
	many_lines 300000 1 >in
	cat in in | bloomdedup -j3 -f seen --tee=list >out
	cmp in out
	cmp in list
}

@test "a list that is a pipe gets the lines, too" {
	mkfifo pipe
	cat pipe >got &
	printf 'a\nb\na\n' | bloomdedup -f seen --tee=pipe >out
	wait
	printf 'a\nb\n' | cmp - got
	cmp out got
}
