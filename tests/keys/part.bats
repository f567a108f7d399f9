# --part: only the lines of one part of the keys.
load ../common

# by_part N OPTION...: what each part prints of `in`, sorted into one file.
by_part() {
	local n=$1 i
	shift
	for ((i = 1; i <= n; i++)); do
		bloomdedup --part="$i/$n" "$@" in >"part-$i" || return 1
	done
	cat part-* | sort >parts
	rm part-*
}

@test "each new line is in one part, and in the order of the input" {
	{ "$HELPER" lines 20000 1; "$HELPER" lines 20000 1; } >in
	bloomdedup in | sort >whole
	for n in 1 2 7 16; do
		untraced by_part $n
		cmp whole parts
	done
	# the order, with which some of the lines stay of each chunk
	bloomdedup --part=2/3 in >ours
	bloomdedup in | grep -Fxf ours | cmp - ours
	for threads in 2 5; do
		bloomdedup -j $threads --part=2/3 in | cmp - ours
	done
}

@test "the parts are those of the second reader" {
	{
		echo
		for ((i = 1; i < 600; i += i < 260 ? 1 : 17)); do
			printf '%*s\n' $i $i
		done
	} >in
	python3 "$ROOT/tests/format/reader.py" --parts 5 <in >numbers
	for i in 1 2 3 4 5; do
		paste -d '|' numbers in | sed -n "s/^$i|//p" >want
		bloomdedup --part=$i/5 in | cmp want -
	done
}

@test "the parts are about equal" {
	"$HELPER" lines 160000 3 >in
	for i in 1 5 16; do
		n=$(bloomdedup --part=$i/16 in | wc -l)
		# five deviations from 10,000
		[ "$n" -gt 9500 ]
		[ "$n" -lt 10500 ]
	done
}

@test "the key has a part, whatever else is in the line" {
	seq 3000 | sed 's/.*/&,&,A&/' >in
	bloomdedup --part=1/4 -t, -k2 in >ours
	seq 3000 | bloomdedup --part=1/4 | sed 's/.*/&,&,A&/' | cmp - ours
	sed 's/^/x/; s/A/b/' in | bloomdedup --part=1/4 -t, -k2 |
		sed 's/^x//; s/b/A/' | cmp - ours
	bloomdedup --part=1/4 -t, -k3 -i in >ours
	tr A a <in | bloomdedup --part=1/4 -t, -k3 -i | tr a A | cmp - ours
	bloomdedup --part=1/4 -t, -k3 in >others
	run ! cmp -s ours others
}

@test "NUL, CSV and headers, JSON, URLs, gzip and long lines" {
	seq 500 | tr '\n' '\0' >in
	for i in 1 2; do
		bloomdedup -z --part=$i/2 in >part-$i
		[ "$(tr -dc '\0' <part-$i | wc -c)" -gt 200 ]
	done
	cat part-1 part-2 | sort -z | cmp - <(sort -z in)
	rm part-?
	{
		echo name,text
		seq 500 | sed 's/.*/&,"a,""\
b&"/'
	} >in
	for i in 1 2; do
		bloomdedup --csv --header -k text --part=$i/2 in >part-$i
		[ "$(head -n 1 part-$i)" = name,text ]
	done
	{ echo name,text; tail -qn +2 part-1 part-2 | paste -d '|' - - |
		sort -n | tr '|' '\n'; } | cmp - in
	rm part-?
	seq 1000 | sed 's/.*/{"a":&,"b":"x"}/' | gzip >in
	untraced by_part 3 --json=/a
	zcat in | sort | cmp - parts
	seq 1000 | sed 's|.*|HTTP://example.com:80/&|' >in
	untraced by_part 3 --url
	sort in | cmp - parts
	tr H h <in | bloomdedup --part=1/3 >plain
	bloomdedup --part=1/3 --url in >normal
	run ! cmp -s plain normal
	{ seq 100; printf '%0300000d\n' 1; seq 100 200
	printf 'no newline'; } >in
	untraced by_part 2
	bloomdedup in | sort | cmp - parts
}

@test "a filter keeps its part" {
	seq 1000 >in
	bloomdedup -f seen --part=2/3 in >ours
	seq 1001 2000 | bloomdedup -f seen >more
	{ cat in; seq 1001 2000; } | bloomdedup --part=2/3 |
		cmp - <(cat ours more)
	fails 2 "made with --part=2/3, which contradicts --part=1/3" \
		bloomdedup -f seen --part=1/3 in
	fails 2 "contradicts" bloomdedup add -f seen --part=2/4 in
	fails 2 "contradicts" bloomdedup check -f seen --part=3/3 in
	bloomdedup -f whole in >out
	fails 2 "made without --part, which contradicts --part=1/3" \
		bloomdedup -f whole --part=1/3 in
	bloomdedup info seen | grep -q 'part=2/3$'
	bloomdedup create --part=2/3 made
	bloomdedup -f made in | cmp - ours
}

@test "lines of other parts are not in -d, --duplicates, -v or the status" {
	seq 100 | sed 'p' >in
	bloomdedup --part=1/2 in >ours
	bloomdedup --part=1/2 -d in | cmp - ours
	bloomdedup --part=1/2 --duplicates=again -o new in
	cmp ours new
	cmp ours again
	bloomdedup add -f seen --part=1/2 in
	bloomdedup --part=2/2 in >others
	run -1 bloomdedup -f seen -q others
	run -1 bloomdedup check -f seen others
	bloomdedup check -f seen in | uniq | cmp - ours
	run -1 bloomdedup check -v -f seen others
	[ -z "$output" ]
	seq 101 200 | bloomdedup check -v -f seen >new
	seq 101 200 | bloomdedup --part=1/2 | cmp - new
}

@test "figures count lines of other parts by themselves" {
	seq 1000 >in
	bloomdedup --part=1/4 --stats=json in 2>err >out
	ours=$(wc -l <out)
	[ "$(json_value read <err)" -eq "$ours" ]
	[ "$(json_value new <err)" -eq "$ours" ]
	[ "$(json_value other_parts <err)" -eq $((1000 - ours)) ]
	[ "$(json_value bytes_in <err)" -eq "$(wc -c <in)" ]
	bloomdedup --part=1/4 --stats in 2>err >out
	grep -qE "^other parts +$((1000 - ours))$" err
	bloomdedup --stats in 2>err >out
	run ! grep -q "^other parts" err
	bloomdedup --stats=json in 2>err >out
	[ "$(json_value other_parts <err)" -eq 0 ]
}

@test "--strict-part stops at a line of another part, and names it" {
	seq 1000 >in
	bloomdedup --part=1/2 in >ours
	bloomdedup --part=1/2 --strict-part ours | cmp - ours
	sed '300r /dev/stdin' ours <<<"$(bloomdedup --part=2/2 in | head -n 1)" \
		>mixed
	for options in "" "-j 3"; do
		status=0
		# shellcheck disable=SC2086 # several words
		bloomdedup --part=1/2 --strict-part $options mixed \
			>out 2>err || status=$?
		[ $status -eq 3 ]
		is_message err "mixed: line 301 is not of part 1 of 2"
		head -n 300 ours | cmp - out
	done
	rm out
	bloomdedup add -f seen --part=1/2 ours
	run -3 bloomdedup check -f seen --strict-part mixed
	run -3 bloomdedup add -f seen --strict-part mixed
	run -3 bloomdedup -f seen --dry-run --strict-part mixed
	fails 2 "--strict-part is for --part" bloomdedup --strict-part in
	status=0
	bloomdedup -f all-or-none --part=1/2 --strict-part --atomic -o out \
		mixed 2>err || status=$?
	[ $status -eq 3 ]
	[ ! -e out ]
	run -1 bloomdedup check -f all-or-none in
}

@test "a message names the line of the file, though others were passed over" {
	seq 1000 | sed 's|.*|http://example.com/&|' >in
	ours=$(bloomdedup --url --part=1/2 --stats=json 2>&1 >/dev/null \
		<<<"not a URL" | json_value read)
	sed -i '700s/.*/not a URL/' in
	bloomdedup --url --part=$((ours ? 1 : 2))/2 in 2>err >out
	is_message err "in: line 700 is not a URL"
	bloomdedup --url --part=$((ours ? 2 : 1))/2 in 2>err >out
	[ ! -s err ]
	status=0
	bloomdedup --url --strict-keys --part=$((ours ? 1 : 2))/2 in \
		2>err >out || status=$?
	[ $status -eq 3 ]
	is_message err "line 700"
}

@test "different parts are not merged, and --like makes another part" {
	seq 1000 >in
	bloomdedup add -f one -n 1000 --part=1/2 in
	bloomdedup create --like=one --part=2/2 two
	bloomdedup add -f two in
	fails 2 "part=1/2" bloomdedup merge -o both one two
	[ ! -e both ]
	bloomdedup create --like=one again
	seq 1001 2000 | bloomdedup add -f again
	bloomdedup merge -o both one again
	bloomdedup check -f both in | wc -l >n
	[ "$(cat n)" -eq "$(bloomdedup --part=1/2 in | wc -l)" ]
	bloomdedup info both | grep -q 'part=1/2'
}

@test "a capacity that is guessed is that of the part" {
	seq 20000000 20700000 | sed 's/$/ and some more text/' >in
	bloomdedup -f half -n 7e5 --part=1/2 -q in
	cat in in in in in in >six
	bloomdedup -f whole -q six
	bloomdedup -f part --part=1/2 -q six
	[ "$(figure capacity whole)" -gt $((2 * $(figure capacity part) - 300000)) ]
	[ "$(figure capacity whole)" -lt $((2 * $(figure capacity part) + 300000)) ]
}

@test "a run that was stopped goes on, and a full filter says where" {
	seq 3000 >in
	bloomdedup create -n 100 --on-full=fail --part=1/3 seen
	run -4 bloomdedup -f seen in
	bloomdedup --part=1/3 in | head -n 100 | cmp - <(
		bloomdedup check -f seen in)
}

@test "what is no part is refused" {
	for part in 0/2 3/2 2 /2 2/ 1/4097 a/b 1/2/3; do
		fails 2 "give a part and the number of parts" \
			bloomdedup --part=$part /dev/null
	done
	fails 2 "--part" bloomdedup --part=1/2 --part=2/2 /dev/null
}

@test "serve doesn't answer for a part of the keys" {
	needs_serve
	needs socat
	mkdir directory
	bloomdedup create --part=1/2 directory/a.bloom
	bloomdedup create directory/b.bloom
	"$BLOOMDEDUP" serve -d directory -l unix:socket 2>err 3>&- &
	pid=$!
	until_true test -S socket
	printf 'get a|x\r\nadd b|x 0 0 1\r\n1\r\nquit\r\n' |
		socat - UNIX-CONNECT:socket >out
	kill $pid
	wait $pid || true
	grep -q '^CLIENT_ERROR .*one part of the keys (--part)' out
	grep -q '^STORED' out
}

@test "--part: an output that is an input is refused, with --atomic, too" {
	seq 20 >in
	cp in before
	fails 2 'in: the output is also an input' \
		bloomdedup --atomic --part=1/4 -o in in
	bloomdedup create --part=1/4 part
	fails 2 'in: the output is also an input' \
		bloomdedup -f part --atomic -o in in
	fails 2 'in: the output is also an input' \
		bloomdedup --atomic --part=1/4 --duplicates in -o out in
	cmp before in
}
