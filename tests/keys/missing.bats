# Lines without the key: fields that are not there, empty keys.
load ../common

# ends_with TEXT COMMAND...: the last line on standard error is this.
ends_with() {
	local text=$1
	shift
	"$@" >out 2>err
	if [ "$(tail -n 1 err)" != "bloomdedup: $text" ]; then
		cat err
		return 1
	fi
}

@test "lines without the field are counted at the end" {
	{ echo 0,x; seq 1000; } >in
	ends_with '1,000 lines have no field 2 and count as one; the first is line 2 of in' \
		bloomdedup -t, -k 2 in
	[ "$(wc -l <out)" -eq 2 ]
	printf 'a b\nc\n' >two
	ends_with 'two: line 2 has no field 2, so its key is empty' \
		bloomdedup -k 2 two
	printf 'a b\n\n \nc\n' >blank
	ends_with '3 lines have no field 2 and count as one; the first is line 2 of blank' \
		bloomdedup -k 2 blank
	ends_with '1,000 lines have none of the fields 2,5 and count as one; the first is line 2 of in' \
		bloomdedup -t, -k 2,5 in
	ends_with '1,000 lines have none of the fields 2- and count as one; the first is line 2 of in' \
		bloomdedup -t, -k 2- in
	ends_with '1,000 lines have no field 2 and count as one; the first is line 2 of standard input' \
		bloomdedup -t, -k 2 <in
	# each of several threads counts
	for threads in 1 4; do
		{ echo 1,2,3,4,5,6,7; "$HELPER" lines 200000; } | ends_with \
			'200,000 lines have no field 7 and count as one; the first is line 2 of standard input' \
			bloomdedup -t, -k 7 -j $threads
	done
}

@test "records without the field are counted, as with the wrong separator" {
	printf 'a;b\n1,2\n3;4\n' >in
	ends_with '2 records have no field 2 and count as one; the first is record 1 of in' \
		bloomdedup --csv -k 2 in
	printf 'id,mail,name\n1\n2,x\n"3"\n' >short
	ends_with '2 records have no column mail and count as one; the first is record 2 of short' \
		bloomdedup --csv --header -k mail short
	printf 'id,mail,name\n4,,n\n' >long
	ends_with '3 records have none of the columns name,3 and count as one; the first is record 2 of short' \
		bloomdedup --csv --header -k name,3 long short
	ends_with '2 records have none of the fields 2-3 and count as one; the first is record 2 of short' \
		bloomdedup --csv -k 2-3 short
}

@test "an empty field is a field" {
	printf 'a,\nb,\n,\n' >in
	for options in '-t, -k2' '--csv -k2' '-t, -k1,2' '--csv -k 2,7'; do
		# shellcheck disable=SC2086
		bloomdedup $options in >out 2>err
		[ ! -s err ]
	done
	# nor is a field missing of which nothing is compared
	printf 'a b\n\ta b c\n' | bloomdedup -k 2 -s 5 >out 2>err
	[ ! -s err ]
	printf ' \n a\r\n' >in
	bloomdedup --trim -k 1 in >out 2>err
	is_message err 'line 1 has no field 1'
	# and a line that lacks some of its fields is compared by the others
	printf 'a\nb\n' >in
	bloomdedup -t, -k 1,2 in 2>err | cmp in -
	[ ! -s err ]
	: >in
	bloomdedup -k 2 in 2>err
	[ ! -s err ]
	printf '\n' >in
	bloomdedup -t, -k 1 in >out 2>err
	[ ! -s err ]
}

@test "a line without the field is no URL either, and reported once" {
	printf 'a\nb\nc http://h/\n' >in
	bloomdedup --url -k 2 in >out 2>err
	is_message err '2 lines have no field 2 and count as one'
}

@test "figures have the lines without the field" {
	printf 'a,b\nc\nd\n' >in
	bloomdedup -t, -k2 --stats=json in 2>err >out
	[ "$(json_value missing <err)" -eq 2 ]
	bloomdedup -t, -k2 --stats in 2>err >out
	grep -q '^missing  *2$' err
	bloomdedup --stats in 2>err >out
	run ! grep -q '^missing' err
}

@test "--strict-keys fails at the first line without the field" {
	printf 'a,b\nc,\nd\ne,f\n' >in
	run -3 bloomdedup -f seen -t, -k 2 --strict-keys in
	[ "${lines[0]}" = a,b ]
	[ "${lines[1]}" = c, ]
	[ "${lines[2]}" = 'bloomdedup: in: line 3 has no field 2, which --strict-keys does not allow' ]
	bloomdedup check -f seen in 2>err | head -n 2 | cmp - <(head -n 2 in)
	fails 3 'in: record 3 has no field 2, which' \
		bloomdedup --csv -k 2 -q --strict-keys in
	run -3 bloomdedup check -f seen --strict-keys in
	fails 2 '--strict-keys is for --json, --url, --csv and -k' \
		bloomdedup --strict-keys in
}

@test "where the first lines all lack the field, nothing is printed" {
	printf 'u1\tx\nu2\ty\n' >in
	for how in '' '-f seen' '-f seen --mark' '-f seen --atomic -o out' \
		'-q -f seen' '-j 3'; do
		# shellcheck disable=SC2086
		fails 3 "in: none of the first 2 lines has field 2, with fields between ','; see -t" \
			bloomdedup -t, -k 2 $how in
		[ ! -e seen ] && [ ! -s out ]
		rm -f out
	done
	fails 3 "in: none of the first 2 lines has any of the fields 3-5,7, with fields between tabs; see -t" \
		bloomdedup add -f seen -t '\t' -k 3-5,7 in
	bloomdedup -f seen -t '\t' -k 2 in | cmp in -
	printf 'a\n' >one
	fails 3 'one: the first line does not have field 2, with fields between tabs; see -t' \
		bloomdedup check -f seen -v one
	fails 3 'the first line does not have field 2' bloomdedup -f seen one
	[ "$(figure lines seen)" -eq 2 ]
	# a column that no record reaches: the header isn't printed either
	printf 'id,mail\n1\n2\n' >in
	fails 3 "in: none of the first 2 records has column mail, with fields between ','; see -t" \
		bloomdedup --csv --header -k mail in
	# the same with any number of threads, however long the input is
	{ seq 1100; seq 100000 | sed 's/$/,x/'; } >in
	for threads in 1 4; do
		fails 3 'none of the first 1024 lines has field 2' \
			bloomdedup -t, -k 2 -j $threads in
	done
	sed -i '1024s/$/,y/' in
	bloomdedup -t, -k 2 in 2>err | cmp - <(printf '1\n1024,y\n1,x\n')
}

@test "a stream may begin with lines that lack the field" {
	mkfifo pipe
	"$BLOOMDEDUP" -f seen -k 2 <pipe >out 2>err &
	exec 4>pipe
	echo comment >&4
	until_true test -s out
	printf 'a b\nc b\n' >&4
	exec 4>&-
	wait $!
	printf 'comment\na b\n' | cmp - out
	is_message err 'standard input: line 1 has no field 2, so its key is empty'
	# but if none has it, that is said at the end
	rm seen out
	"$BLOOMDEDUP" -f seen -k 2 <pipe >out 2>err &
	exec 4>pipe
	echo comment >&4
	until_true test -s out
	echo another >&4
	exec 4>&-
	status=0
	wait $! || status=$?
	[ "$status" -eq 3 ]
	echo comment | cmp - out
	is_message err 'no line has field 2, with fields between blanks; see -t'
	[ ! -e seen ]
}

@test "a run that reads no key leaves no filter that it made" {
	printf 'id,mail\n1,a@x\n' >in
	fails 3 "no column 'Mail'" bloomdedup -f seen --csv --header -k Mail in
	[ ! -e seen ]
	bloomdedup -f seen --csv --header -k mail in | cmp in -
	printf 'id\n1\n' >other
	# it was there before, or holds lines
	fails 3 "no column 'mail'" bloomdedup -f seen other
	[ "$(figure lines seen)" -eq 1 ]
	printf '{"a":1}\n' >in
	run -3 bloomdedup -f json --json=/b in
	[ ! -e json ]
	run -2 bloomdedup -f json --strict-keys in
	[ ! -e json ]
	run -3 bloomdedup -f json -o nowhere/out in
	[ ! -e json ]
	fails 3 'is not JSON' bloomdedup -f json --json=/b --strict-keys other
	[ ! -e json ]
	bloomdedup create --json=/b json
	run -3 bloomdedup -f json in
	[ "$(figure lines json)" -eq 0 ]
	# all was read, and it is empty
	bloomdedup -f empty -k 2 /dev/null
	[ "$(figure lines empty)" -eq 0 ]
}

@test "a filter that holds nothing yet: the contradiction says remove" {
	bloomdedup create -k 2 seen
	fails 2 'contradicts --key=1: leave the option out, or remove the filter, which is still empty: bloomdedup remove seen' \
		bloomdedup -f seen -k 1 /dev/null
	fails 2 'contradicts --error-rate=0.1: leave the option out, or remove the filter, which' \
		bloomdedup add -f seen -p 0.1 /dev/null
	echo a b | bloomdedup add -f seen
	fails 2 'contradicts --key=1: leave the option out, or use another filter' \
		bloomdedup -f seen -k 1 /dev/null
}

# Empty keys.

@test "--keep-empty prints every line whose key is empty" {
	cat >in <<-'END'
		1,ann@x
		2,
		3,ann@x
		4,
		5
		6,bob@x
		7,
	END
	sed 3d in >expected
	bloomdedup -f seen -t, -k 2 --keep-empty in >out 2>err
	cmp expected out
	is_message err 'in: line 5 has no field 2'
	# the filter keeps it, and never remembers such a line
	bloomdedup -f seen in >out 2>err
	grep -v @ in | cmp - out
	[ "$(figure lines seen)" -eq 2 ]
	bloomdedup info seen | grep -q 'key .* --keep-empty'
	run -1 bloomdedup check -f seen <(grep -v @ in)
	bloomdedup check -v -f seen in 2>err | cmp <(grep -v @ in) -
	bloomdedup check -f seen in 2>err | cmp <(grep @ in) -
	bloomdedup -d -f seen in 2>err | cmp <(grep @ in) -
	bloomdedup -q -f seen in 2>err
	run -1 bloomdedup -q -f seen <(grep @ in)
	# what becomes of several lines without the field
	printf 'a,b\nc\nd\ne\n' | bloomdedup -t, -k 2 --keep-empty >out 2>err
	[ "$(wc -l <out)" -eq 4 ]
	is_message err '3 lines have no field 2, so their keys are empty, and each counts as new; the first is line 2 of standard input'
	# and where they all lack it, they are all wanted
	seq 3 | bloomdedup -t, -k 2 --keep-empty 2>err | cmp - <(seq 3)
	fails 2 'made without --keep-empty, which contradicts --keep-empty' \
		other_filter --keep-empty
	fails 3 'line 5 has no field 2, which --strict-keys' \
		bloomdedup -q -f seen --strict-keys in
}

other_filter() {
	bloomdedup create -t, -k 2 other
	bloomdedup -f other "$@" in
}

@test "--keep-empty with everything that handles batches" {
	# empty keys in any pattern, repeats of others among them
	"$HELPER" lines 60000 | awk '{
		mail = NR % 3 == 0 ? "" : NR % 5 == 0 ? "again" : $0
		print NR "," mail
	}' >in
	awk -F, '$2 == "" || !seen[$2]++' in >expected
	awk -F, '$2 != "" && seen[$2]++' in >dropped
	for options in '' '-j 4' --atomic --sync --shared '-n 100'; do
		rm -f seen
		# shellcheck disable=SC2086
		bloomdedup -f seen -t, -k 2 --keep-empty $options \
			--duplicates=again in >out 2>err
		cmp expected out
		cmp dropped again
		bloomdedup -f seen -j 3 in 2>err | cmp <(grep ',$' in) -
	done
	bloomdedup -t, -k 2 --keep-empty in | cmp expected -
	# a filter that is full: what was printed is what was remembered
	rm seen
	run -4 bloomdedup -f seen -t, -k 2 --keep-empty --on-full=fail \
		-n 1000 -o part in
	[ "$(grep -vc ',$' part)" -eq 1000 ]
	cmp part <(head -n "$(wc -l <part)" expected)
	run -1 bloomdedup check -v -f seen <(grep -v ',$' part)
}

@test "--keep-empty: empty lines, values and records" {
	printf 'a\n\n\na\n' | bloomdedup --keep-empty >out
	printf 'a\n\n\n' | cmp - out
	printf ' \n\t\n' >in
	bloomdedup --trim --keep-empty in | cmp in -
	printf '{"m":""}\n{"m":"x"}\n{"m":""}\n{"m":"x"}\n' >in
	bloomdedup --json=/m --keep-empty in | cmp <(head -n 3 in) -
	printf 'id,a,b\n1,,\n2,,""\n3,x,\n4,x,\n' >in
	bloomdedup --csv --header -k b,a --keep-empty in |
		cmp <(head -n 4 in) -
	bloomdedup --csv --header -k a --keep-empty in | cmp <(head -n 4 in) -
	printf 'a\0\0\0' >in
	bloomdedup -z --keep-empty in | cmp in -
}

@test "--trim-fields ignores blanks around each field and value" {
	printf 'id,mail\n1, ann@x\n2,ann@x\n3,"ann@x "\n4,\tann@x\n' >in
	bloomdedup --csv --header -k mail --trim-fields in |
		cmp <(head -n 2 in) -
	bloomdedup --csv -k 2 --trim-fields in | cmp <(head -n 2 in) -
	bloomdedup -f seen -t, -k 2 --trim-fields in |
		cmp <(sed -n '1,2p;4p' in) -
	bloomdedup info seen | grep -q 'key .* --trim-fields'
	# several fields, each of them
	printf 'a ,b,x\n a, b,y\na,b ,z\na,c\n a\n' >in
	for options in '-t, -k 1,2' '-t, -k 1-2' '--csv -k 1,2' '-t, -k -2'; do
		# shellcheck disable=SC2086
		bloomdedup --trim-fields $options in |
			cmp <(sed -n '1p;4,5p' in) -
	done
	printf 'a, ,\na\n , ,b\n,,b\n' >in
	bloomdedup --trim-fields -t, -k 1,2 in 2>err | cmp <(sed -n '1p;3p' in) -
	bloomdedup --trim-fields -t, -k 1-3 in | cmp <(sed -n '1p;3p' in) -
	printf 'a b\r\na b\n' >in
	bloomdedup --trim-fields -k 1,2 in | cmp <(head -n 1 in) -
	bloomdedup --trim-fields -k 2 in | cmp <(head -n 1 in) -
	printf '%s\n' '{"a":" x","b":1}' '{"a":"x ","b":1}' \
		'{"a":"x y","b":1}' >in
	bloomdedup --json=/a --trim-fields in | cmp <(sed 2d in) -
	bloomdedup --json=/a --json=/b --trim-fields in | cmp <(sed 2d in) -
	printf '1, http://a.example/%%61\n2,http://A.example/a\n' >in
	bloomdedup --csv -k 2 --trim-fields --url in | cmp <(head -n 1 in) -
	bloomdedup --csv -k 2 --trim-fields -w 3 -i in | cmp <(head -n 1 in) -
	# what has only blanks is empty
	printf '1, \n2,\n3,x\n' >in
	bloomdedup --csv -k 2 --trim-fields --keep-empty in | cmp in -
	fails 2 '--trim-fields is for fields: name them with --key or --json' \
		bloomdedup --trim-fields in
	fails 2 '--trim-fields is for fields' bloomdedup --csv --trim-fields in
}

# told TEXT COMMAND...: COMMAND reads lines that are only followed by others once
# it has said TEXT about them.
told() {
	rm -f pipe
	mkfifo pipe
	"${@:2}" <pipe >out 2>err &
	reader=$!
	exec 9>pipe
	cat lines >&9
	until_true grep -qF -- "$1" err
	cat lines >&9
	exec 9>&-
	wait "$reader"
}

@test "what is wrong with lines is told while the run goes on" {
	printf 'a b\na b\n' >lines
	told 'lines have no field 5' bloomdedup -k 5 || true
	# once, and with all numbers at the end
	[ "$(grep -c 'no field 5' err)" -le 2 ]
	printf 'a b c\na b\n' >lines
	bloomdedup create -n 100 -k 3 seen
	told 'line 2 has no field 3' bloomdedup -f seen
	echo 'bloomdedup: 2 lines have no field 3 and count as one; the first is line 2 of standard input' |
		cmp - <(tail -n 1 err)
	[ "$(wc -l <err)" -eq 2 ]
	printf '{"msg":1}\nx\n{"a":1}\n{"msg":null}\n' >lines
	told 'line 2 is not JSON' bloomdedup --json=/msg
	[ "$(wc -l <err)" -eq 6 ]
	grep -qF '2 lines have null where --json names a value' err
	printf 'http://a\nfoo\n' >lines
	told 'line 2 is not a URL' bloomdedup --url --window=1h -f hour
	told 'line 2 is not a URL' bloomdedup key --url
	told 'line 2 is not a URL' bloomdedup partition --parts=2 --url
	told 'line 2 is not a URL' bloomdedup check -f hour
	printf '1,a\n2,"a"b\n' >lines
	told 'record 2 has text after a closing quote' bloomdedup --csv -j 2
}

@test "and where the input never pauses for a second" {
	mkfifo pipe
	for command in '' partition; do
		: >err
		# shellcheck disable=SC2086 # no word, or one
		bloomdedup $command -k 2 ${command:+--parts=2} <pipe >out 2>err &
		exec 9>pipe
		echo a b >&9
		one_more_is_told() {
			echo a >&9
			grep -q 'no field 2' err
		}
		until_true one_more_is_told
		exec 9>&-
		wait $!
	done
}

@test "or after 10,000 such lines, without a pause" {
	for threads in 1 3; do
		{
			seq -f 'http://a/%.0f' 5000
			seq 30000
			until_true grep -q 'are not URLs' err
			seq 30001 40000
		} | bloomdedup -j $threads --url >out 2>err
		[ "$(wc -l <err)" -eq 2 ]
		grep -qF '40,000 lines are not URLs' err
		[ "$(wc -l <out)" -eq 45000 ]
	done
	# not again, if there is nothing to add
	{
		seq 20000
		until_true grep -q 'are not URLs' err
	} | bloomdedup --url >out 2>err
	[ "$(wc -l <err)" -le 2 ]
}
