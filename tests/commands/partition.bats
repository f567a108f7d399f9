# partition: lines, sorted out by the part that their keys are in.
load ../common

# parts_of OPTION...: what a run with each --part of 4 prints of `in`, as
# partition prints it: one part after the other, with its number.
parts_of() {
	local i
	for i in 1 2 3 4; do
		bloomdedup --part=$i/4 "$@" in | sed "s/^/$i	/"
	done
}

@test "each line has the number of its part in front, in the order of the input" {
	"$HELPER" lines 5000 4 >in
	bloomdedup partition --parts=4 in >out
	cut -f 2- out | cmp - in
	sort -s -n -k 1,1 out | cmp - <(parts_of)
	bloomdedup partition --parts=1 in | cut -f 1 | sort -u >numbers
	[ "$(cat numbers)" = 1 ]
	seq 200000 | bloomdedup partition --parts=4096 | cut -f 1 | sort -nu |
		cmp - <(seq 4096)
	# any number of threads prints the same
	"$HELPER" lines 100000 7 >many
	bloomdedup partition --parts=9 many >out-1
	bloomdedup partition --parts=9 -j 3 many | cmp - out-1
	bloomdedup partition --parts=9 -j 3 -o %d many
	for i in 1 2 3 4 5 6 7 8 9; do
		sed -n "s/^$i	//p" out-1 | cmp - "$i"
	done
	# repeated lines are repeated: it remembers nothing
	cat in in | bloomdedup partition --parts=4 | cmp - <(cat out out)
}

@test "each part in a file of its own, unchanged and in order" {
	"$HELPER" lines 20000 5 >in
	echo old >part-3.txt
	bloomdedup partition --parts=4 -o 'part-%d.txt' in >out
	[ ! -s out ]
	for i in 1 2 3 4; do
		bloomdedup --part=$i/4 in | cmp - part-$i.txt
	done
	[ "$(ls part-* | wc -l)" -eq 4 ]
	# parts without lines are files, too
	seq 3 | bloomdedup partition --parts=300 -o 'few-%d'
	[ "$(ls few-* | wc -l)" -eq 300 ]
	[ "$(cat few-* | wc -l)" -eq 3 ]
	mkdir directory
	seq 3 | bloomdedup partition --parts=2 -o 'directory/%%s-%d-%s%'
	[ "$(cat directory/%%s-1-%s% directory/%%s-2-%s% | wc -l)" -eq 3 ]
}

@test "the numbers are those of the second reader, for lines of any bytes" {
	perl -e 'srand 3; for (1 .. 3000) {
		print join("", map { chr((11 + int rand 255) % 256) }
			1 .. int rand(rand() < 0.1 ? 700 : 40)), "\n" }' >in
	python3 "$ROOT/tests/format/reader.py" --parts 1000 <in >want
	LC_ALL=C sed 's/\x00//g' in | cmp -s - in || echo "has NUL bytes"
	bloomdedup partition --parts=1000 in | LC_ALL=C sed 's/	.*//' |
		LC_ALL=C grep -axE '[0-9]+' | cmp - want
}

@test "key options decide on the part, and filters of parts agree" {
	seq 2000 | sed 's|.*|HTTP://example.com:80/&?utm_x=&,x&|' >in
	bloomdedup partition --parts=4 --url -k 1 -t, --url-ignore='utm_*' in \
		>out
	cut -f 2- out | cmp - in
	for i in 1 2 3 4; do
		sed -n "s/^$i	//p" out >part
		[ -s part ]
		bloomdedup -f "$i" --strict-part --part=$i/4 --url -k 1 -t, \
			--url-ignore='utm_*' part | cmp - part
		bloomdedup check -f "$i" in | cmp - part
	done
	seq 100 | sed 's/.*/{"a":&}/' >in
	bloomdedup partition --parts=4 --json=/a in >out
	seq 100 | bloomdedup partition --parts=4 | sed 's/	\(.*\)/	{"a":\1}/' |
		cmp - out
}

@test "lines that end in NUL" {
	seq 100 | tr '\n' '\0' >in
	bloomdedup partition -z --parts=3 in >out
	seq 100 | bloomdedup partition --parts=3 | tr '\n' '\0' | cmp - out
	printf 'a\nb\0' | bloomdedup partition -z --parts=1 |
		cmp - <(printf '1\ta\nb\0')
}

@test "records of CSV with newlines go to files, with the header" {
	{
		echo name,text
		seq 300 | sed 's/.*/&,"a,""\
b&"/'
	} >in
	fails 2 "--header needs --output" \
		bloomdedup partition --csv --header -k text --parts=3 in
	status=0
	bloomdedup partition --csv --parts=3 in >out 2>err || status=$?
	[ $status -eq 3 ]
	is_message err "in: record 2 has a newline in it: write each part to a"
	is_message err "-o 'part-%d.csv'"
	[ "$(cut -f 2- out)" = name,text ]
	bloomdedup partition --csv --header -k text --parts=3 -o '%d.csv' in in
	for i in 1 2 3; do
		bloomdedup --csv --header -k text --part=$i/3 in in >part
		[ "$(head -n 1 $i.csv)" = name,text ]
		bloomdedup --csv --header -k text $i.csv | cmp - part
		[ $(($(wc -l <$i.csv) - 1)) -eq $((2 * ($(wc -l <part) - 1))) ]
	done
	# a newline is no end with -z
	printf 'a,"b\nc"\0' | bloomdedup partition --csv -z --parts=1 |
		cmp - <(printf '1\ta,"b\nc"\0')
}

@test "long lines, no last newline, gzip, and several files" {
	printf '%0300000d\n' 1 >in
	printf 'a\n\n%01000000d\nno newline' 2 >>in
	bloomdedup partition --parts=4 in >out
	{ cat in; echo; } | cmp - <(cut -f 2- out)
	bloomdedup partition --parts=4 -o '%d' in
	cat 1 2 3 4 | sort | cmp - <({ cat in; echo; } | sort)
	gzip -c in >in.gz
	bloomdedup partition --parts=4 in.gz | cmp - out
	bloomdedup partition --parts=4 in.gz - in <in | cmp - <(cat out out out)
	printf 'in\0in.gz\0' | bloomdedup partition --parts=4 --files0-from=- |
		cmp - <(cat out out)
	bloomdedup partition --parts=4 -o - in | cmp - out
}

@test "names without one %d are refused, before anything is made" {
	for name in part '%d-%d' '%s' '% d' '%5d' 'a%D'; do
		fails 2 "need one %d" bloomdedup partition --parts=3 \
			-o "$name" /dev/null
	done
	fails 2 "partition needs the number of parts" bloomdedup partition
	for n in 0 4097 x; do
		fails 2 "from 1 to 4096" bloomdedup partition --parts=$n
	done
	fails 2 "--atomic needs --output" bloomdedup partition --parts=3 --atomic
	run ! compgen -G 'part*'
	for option in -f -n --part=1/2 --stats -d; do
		run -2 bloomdedup partition --parts=2 $option
	done
}

@test "an input is no output, and a failed one leaves the old files" {
	seq 100 >2
	echo old >1
	fails 2 "2: the output is also an input" \
		bloomdedup partition --parts=3 -o '%d' 2
	[ "$(cat 1)" = old ]
	[ ! -e 3 ]
	mkdir 3
	run -3 bloomdedup partition --parts=3 -o '%d' <<<line
	[ "$(cat 1)" = old ]
	[ "$(wc -l <2)" -eq 100 ]
}

@test "--atomic: no file gets its name before all are complete" {
	seq 1000 >in
	for i in 1 2 3; do echo old >part-$i; done
	rm -f pipe
	mkfifo pipe
	"$BLOOMDEDUP" partition --atomic --parts=3 -o 'part-%d' <pipe 2>err 3>&- &
	pid=$!
	exec 7>pipe
	cat in >&7
	[ "$(sort -u part-1 part-2 part-3)" = old ]
	exec 7>&-
	wait $pid
	cat part-? | sort -n | cmp - in
	no_leftovers
	# a missing input, and one that is a signal's
	for i in 1 2 3; do echo old >part-$i; done
	run -3 bloomdedup partition --atomic --parts=3 -o 'part-%d' in missing
	[ "$(sort -u part-1 part-2 part-3)" = old ]
	"$BLOOMDEDUP" partition --atomic --parts=3 -o 'part-%d' <pipe 2>err 3>&- &
	pid=$!
	exec 7>pipe
	cat in >&7
	until_idle $pid
	dies_of TERM
	[ "$(sort -u part-1 part-2 part-3)" = old ]
	no_leftovers
	# an input may be one of the files
	cp in part-2
	bloomdedup partition --atomic --parts=3 -o 'part-%d' part-2
	cat part-? | sort -n | cmp - in
}

@test "a crash between the names is repaired by another run" {
	needs_strace
	seq 1000 >in
	for i in 1 2 3; do echo old >part-$i; done
	strace -f -qq -o trace -e inject=rename,renameat,renameat2:signal=KILL:when=2 \
		"$BLOOMDEDUP" partition --atomic --parts=3 -o 'part-%d' in || true
	[ "$(cat part-3)" = old ]
	run ! grep -q old part-1
	bloomdedup partition --atomic --parts=3 -o 'part-%d' in
	cat part-? | sort -n | cmp - in
}

@test "as many descriptors as are allowed, else an error before all" {
	seq 5000 >in
	(
		ulimit -Sn 64
		bloomdedup partition --parts=500 -o 'p%d' in
	)
	[ "$(cat p* | wc -l)" -eq 5000 ]
	rm p*
	(
		ulimit -n 64
		fails 2 "are allowed (ulimit -n)" bloomdedup partition \
			--parts=500 -o 'p%d' in
	)
	run ! compgen -G 'p*'
}

@test "a line that arrives is written when input pauses" {
	rm -f pipe
	mkfifo pipe
	"$BLOOMDEDUP" partition --parts=1 <pipe >out 2>err 3>&- &
	pid=$!
	exec 7>pipe
	echo first >&7
	until_true grep -qx '1	first' out
	exec 7>&-
	wait $pid
	"$BLOOMDEDUP" partition --parts=2 -o 'p%d' <pipe 2>err 3>&- &
	pid=$!
	exec 7>pipe
	echo second >&7
	until_true grep -qxh second p1 p2
	exec 7>&-
	wait $pid
}

@test "write errors, and lines without the key" {
	small_disk 1M
	"$HELPER" lines 100000 1 >in
	run -3 bloomdedup partition --parts=3 -o 'disk/%d' in
	[[ $output == *"No space left"* ]]
	status=0
	bloomdedup partition --parts=3 in >/dev/full 2>err || status=$?
	[ $status -eq 3 ]
	is_message err "No space left"
	printf '{"a":1}\nnot JSON\n{"a":2}\n' >in
	bloomdedup partition --parts=2 --json=/a in >out 2>err
	[ "$(wc -l <out)" -eq 3 ]
	is_message err "in: line 2 is not JSON"
	status=0
	bloomdedup partition --parts=2 --strict-keys --json=/a in >out 2>err ||
		status=$?
	[ $status -eq 3 ]
	[ "$(wc -l <out)" -eq 1 ]
	is_message err "line 2 is not JSON, which --strict-keys"
}
