# key: the keys of lines, as they are compared.
load ../common

@test "each line's key is printed, in order, and nothing is remembered" {
	printf 'b,x,1\na,y,2\nb,z,3\n' >in
	bloomdedup key -t, -k 1,3 in >out
	printf 'b,1\na,2\nb,3\n' | cmp - out
	bloomdedup key <in | cmp - in
	bloomdedup key -w 1 - <in >out
	printf 'b\na\nb\n' | cmp - out
	printf '' | bloomdedup key >out
	[ ! -s out ]
	# the last line without its end, and two files
	printf b >two
	bloomdedup key -i in two >out
	printf 'b,x,1\na,y,2\nb,z,3\nb\n' | cmp - out
}

@test "two lines are the same if their keys are" {
	printf '%s\n' 'http://www.a/b/?c=1' 'HTTPS://a/b?&c=1' 'http://a/b' >in
	bloomdedup key --url=form,scheme,www,slash in >out
	printf '%s\n' //a/b?c=1 //a/b?c=1 //a/b | cmp - out
	bloomdedup --url=form,scheme,www,slash in | cmp - <(sed 2d in)
}

@test "with -f keys are those of the filter, which stays as it is" {
	bloomdedup create -n 100 --csv -k 2 -i seen
	cp seen before
	printf 'a,"X""y"\n' >in
	bloomdedup key -f seen in >out
	echo 'x"y' | cmp - out
	bloomdedup key -f seen -k 2 in | cmp - out
	cmp seen before
	chmod a-w seen
	bloomdedup key -f seen in | cmp - out
	fails 2 'made with --key=2, which contradicts --key=1' \
		bloomdedup key -f seen -k 1 in
	fails 2 'it is the filter' bloomdedup key -f seen seen
	fails 3 'none: No such file' bloomdedup key -f none in
	[ ! -e none ]
	fails 3 'not a bloomdedup filter' bloomdedup key -f in out
	# the keys of all parts: each line has one
	bloomdedup create -n 100 --part=1/2 part
	seq 100 | bloomdedup key -f part | cmp - <(seq 100)
}

@test "keys of several values are in quotes, and whole lines of JSON marked" {
	printf 'a,b\n"c,d",\n,"e ""f"""\n' | bloomdedup key --csv -k 1,2 >out
	printf '"a","b"\n"c,d"\n,"e ""f"""\n' | cmp - out
	printf '%s\n' '{"a":"\u0062","c":[1, 2]}' 'foo' '{"a":1}' |
		bloomdedup key --json=/a --json=/c >out 2>err
	printf '"b","[1,2]"\n\xfffoo\n\xff{"a":1}\n' | cmp - out
	grep -q 'line 2 is not JSON' err
	grep -q 'line 3 lacks a value' err
}

@test "-z: lines and keys end in NUL" {
	printf 'b\na\0c\0' | bloomdedup key -z -w 2 >out
	printf 'b\n\0c\0' | cmp - out
}

@test "the header of a file with named columns has no key" {
	printf 'n,u\n1,x\n' >one
	printf 'u,m\ny,2\n' >two
	bloomdedup key --csv --header -k u one two >out
	printf 'x\ny\n' | cmp - out
	run -3 --separate-stderr bloomdedup key --csv --header -k n one two
	[ "$output" = 1 ]
	[[ $stderr == *"two: its header has no column 'n'"* ]]
}

@test "a key with a line end in it takes several lines, which is said" {
	printf '1,a\n2,"b\nc"\n3,"d\ne"\n' >in
	bloomdedup key --csv -k 2 in >out 2>err
	printf 'a\nb\nc\nd\ne\n' | cmp - out
	echo 'bloomdedup: 2 keys contain the end of a line, and are printed on several lines; the first is that of record 2 of in' |
		cmp - err
	printf '1\n{"a":"\\n"}\n' >in
	bloomdedup key --json=/a in 2>err >out
	grep -qx 'bloomdedup: in: the key of line 2 contains the end of a line, and is printed on several lines' err
	printf '2,"b\nc"\0' | bloomdedup key -z --csv -k 2 >out 2>err
	printf 'b\nc\0' | cmp - out
	[ ! -s err ]
}

@test "lines without the key are counted, and --strict-keys stops before them" {
	printf 'http://A\nfoo\nhttp://b\n' >in
	bloomdedup key --url in >out 2>err
	printf 'http://a/\nfoo\nhttp://b/\n' | cmp - out
	echo 'bloomdedup: in: line 2 is not a URL, and was compared whole' |
		cmp - err
	run -3 --separate-stderr bloomdedup key --url --strict-keys in
	[ "$output" = http://a/ ]
	[ "$stderr" = 'bloomdedup: in: line 2 is not a URL, which --strict-keys does not allow' ]
	# none of the lines has one: printed as they are, but an error
	run -3 --separate-stderr bloomdedup key --json=/a <<<'{"b":1}'
	[ "$output" = $'\xff{"b":1}' ]
	echo "$stderr" >err
	grep -qF 'no line has a value at /a (--json)' err
	fails 2 '--strict-keys is for' bloomdedup key --strict-keys in
}

@test "several threads print the same, also of long and compressed input" {
	seq -f 'http://a/x?b=%.0f&a' 60000 >in
	bloomdedup key --url=form in >want
	[ "$(wc -l <want)" -eq 60000 ]
	for threads in 2 4; do
		bloomdedup key --url=form -j "$threads" in | cmp - want
	done
	gzip <in | bloomdedup key --url=form | cmp - want
	head -c 3000000 /dev/zero | tr '\0' x >long
	echo >>long
	bloomdedup key -s 1 long | cmp - <(tail -c +2 long)
}

@test "keys are printed as lines come, and up to a signal" {
	mkfifo in
	"$BLOOMDEDUP" key -i <in >out 2>err 3>&- &
	run=$!
	exec 9>in
	echo A >&9
	until_true grep -qx a out
	kill -TERM "$run"
	exec 9>&-
	wait "$run" || [ $? -eq 143 ]
	seq 100000 | bloomdedup key 2>err | head -n 1 >out
	echo 1 | cmp - out
	[ ! -s err ]
}

@test "what key doesn't take is refused, and a file called key is a file" {
	fails 2 '--append' bloomdedup key --append
	fails 2 '-n' bloomdedup key -n 100
	fails 2 '--keep-empty' bloomdedup key --keep-empty
	fails 3 'nowhere: No such file' bloomdedup key nowhere
	[ "$(bloomdedup key nowhere - 2>/dev/null <<<x)" = x ] || [ $? -eq 1 ]
	echo x >key
	[ "$(bloomdedup ./key)" = x ]
	if [ -w /dev/full ]; then
		fails 3 'No space' sh -c '"$0" key "$1" >/dev/full' \
			"$BLOOMDEDUP" key
	fi
	echo x >in
	fails 2 in sh -c '"$0" key in >>in' "$BLOOMDEDUP"
}
