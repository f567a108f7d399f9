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
	seq 1000 >in
	ends_with '1,000 lines have no field 2 and count as one; the first is line 1 of in' \
		bloomdedup -t, -k 2 in
	[ "$(wc -l <out)" -eq 1 ]
	printf 'a b\nc\n' >two
	ends_with 'two: line 2 has no field 2, so its key is empty' \
		bloomdedup -k 2 two
	printf 'a b\n\n \nc\n' >blank
	ends_with '3 lines have no field 2 and count as one; the first is line 2 of blank' \
		bloomdedup -k 2 blank
	ends_with '1,000 lines have none of the fields 3,5 and count as one; the first is line 1 of in' \
		bloomdedup -t, -k 3,5 in
	ends_with '1,000 lines have none of the fields 2- and count as one; the first is line 1 of in' \
		bloomdedup -k 2- in
	ends_with '1,000 lines have no field 2 and count as one; the first is line 1 of standard input' \
		bloomdedup -t, -k 2 <in
	# each of several threads counts
	for threads in 1 4; do
		"$HELPER" lines 200000 | ends_with \
			'200,000 lines have no field 7 and count as one; the first is line 1 of standard input' \
			bloomdedup -t, -k 7 -j $threads
	done
}

@test "records without the field are counted, as with the wrong separator" {
	printf 'a;b\n1;2\n3;4\n' >in
	ends_with '3 records have no field 2 and count as one; the first is record 1 of in' \
		bloomdedup --csv -k 2 in
	printf 'id,mail,name\n1\n2,x\n"3"\n' >short
	ends_with '2 records have no column mail and count as one; the first is record 2 of short' \
		bloomdedup --csv --header -k mail short
	ends_with '3 records have none of the columns name,3 and count as one; the first is record 2 of short' \
		bloomdedup --csv --header -k name,3 short
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
	printf ' \n a\r\n' | bloomdedup --trim -k 1 >out 2>err
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
	printf 'a\nb\n' >in
	bloomdedup --url -k 2 in >out 2>err
	is_message err '2 lines have no field 2 and count as one'
}

@test "figures have the lines without the field" {
	printf 'a,b\nc\nd\n' >in
	bloomdedup -t, -k2 --stats=json in 2>err >out
	[ "$(json_value missing <err)" -eq 2 ]
	bloomdedup -t, -k2 --stats in 2>err >out
	grep -q '^without the field  *2$' err
	bloomdedup --stats in 2>err >out
	run ! grep -q '^without' err
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
	fails 2 '--strict-keys is for --json, --url and -k' \
		bloomdedup --strict-keys in
}
