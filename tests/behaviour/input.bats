# What comes in: plain files, gzip by its content, and all that can be wrong
# with them.
load ../common

# broken_file FILE: read among others, it is reported by name, the others are
# done, and the exit status is 3.
broken_file() {
	local status=0
	printf '1\n' >before
	printf '2\n' >after
	bloomdedup before "$1" after >out 2>err || status=$?
	[ "$status" -eq 3 ]
	printf '1\n2\n' | cmp - out
	[ "$(wc -l <err)" -eq 1 ]
	grep -q '^bloomdedup: ' err
	grep -qF "$1: $2" err
}

@test "a missing file among several: nothing is read or remembered" {
	seq 3 >in
	fails 3 'missing: No such file or directory' bloomdedup -f seen in missing
	fails 3 'missing: No such' bloomdedup add -f seen missing in
	fails 3 'missing: No such' bloomdedup --csv in in missing -
	fails 3 'missing: No such' bloomdedup partition --parts=2 in missing
	[ ! -e seen ]
	bloomdedup add -f seen in
	fails 3 'missing: No such' bloomdedup check -f seen in missing
	fails 3 'missing: No such' bloomdedup key -k 1 in missing >out
	[ ! -s out ]
	fails 3 'in/missing: Not a directory' bloomdedup in in/missing
	# - is standard input, and one that goes away later is reported
	bloomdedup - <in | cmp in -
	mkfifo pipe
	"$BLOOMDEDUP" - in <pipe >out 2>err &
	exec 4>pipe
	echo first >&4
	until_true test -s out
	rm in
	exec 4>&-
	status=0
	wait $! || status=$?
	[ "$status" -eq 3 ]
	is_message err 'in: No such file'
}

@test "a directory among several" {
	mkdir directory
	broken_file directory 'Is a directory'
}

@test "a file that may not be read among several" {
	become_nobody
	bloomdedup() {
		"${as_nobody[@]}" ./program "$@"
	}
	echo secret >unreadable
	chmod 0 unreadable
	broken_file unreadable 'Permission denied'
}

@test "file names are shown with control bytes as escapes" {
	name=$(printf 'a\nb\033[2J\001')
	fails 3 'a\x0ab\x1b[2J\x01: No such file' bloomdedup "$name"
}

@test "only a missing file: exit status 3, and no output" {
	fails 3 missing bloomdedup missing
	fails 3 missing bloomdedup -q missing
	fails 3 missing bloomdedup add -f seen missing
}

@test "what was read beside a broken file is remembered" {
	echo a >good
	mkdir broken
	run -3 bloomdedup -f seen broken good
	bloomdedup -f seen good >out
	[ ! -s out ]
}

@test "no input at all" {
	: >empty
	bloomdedup empty >out
	[ ! -s out ]
	bloomdedup </dev/null >out
	[ ! -s out ]
	bloomdedup empty - empty <empty >out
	[ ! -s out ]
	bloomdedup -z empty >out
	[ ! -s out ]
}

@test "closed standard input is an error" {
	status=0
	bloomdedup <&- >out 2>err || status=$?
	[ "$status" -eq 3 ]
	grep -q '^bloomdedup: standard input: ' err
	[ ! -s out ]
	# and not one of the files that are opened meanwhile
	bloomdedup create seen
	cp seen before
	status=0
	bloomdedup -f seen - <&- >out 2>err || status=$?
	[ "$status" -eq 3 ]
	cmp seen before
}

@test "an input that doesn't wait is waited for" {
	mkfifo in
	(sleep 0.2; echo a; sleep 0.2; echo b) >in 3>&- &
	# the writer's end is open before it is read, and the reader's flags are
	# those that perl set
	perl -e 'use Fcntl; open(STDIN, "<", "in") or die;
		fcntl(STDIN, F_SETFL, O_NONBLOCK) or die; exec @ARGV' \
		"$BLOOMDEDUP" >out
	printf 'a\nb\n' | cmp - out
}

# --- gzip

@test "gzip is inflated whatever the name" {
	seq 1 1000 >plain
	for name in data data.gz data.txt; do
		gzip -c plain >$name
		bloomdedup $name >out
		cmp plain out
		bloomdedup <$name >out
		cmp plain out
		gzip -c plain | bloomdedup >out
		cmp plain out
		rm $name
	done
	# a plain file with gzip's name is plain
	cp plain plain.gz
	bloomdedup plain.gz >out
	cmp plain out
}

@test "gzip with a name, a comment, extra bytes and a header checksum" {
	# flags 0x1e: header CRC, extra, name, comment
	perl -e 'use strict; my $h = "\x1f\x8b\x08\x1e" . "\0" x 4 . "\0\3" .
		"\3\0abc" . "name\0" . "comment\0";
		my $crc = 0xffffffff;
		for my $byte (unpack("C*", $h)) {
			$crc ^= $byte;
			$crc = $crc & 1 ? $crc >> 1 ^ 0xedb88320 : $crc >> 1
				for 1 .. 8;
		}
		print $h, pack("v", ($crc ^ 0xffffffff) & 0xffff)' >head
	seq 1 100 >plain
	gzip -nc plain | tail -c +11 | cat head - >in
	bloomdedup in >out
	cmp plain out
}

@test "several gzip members in a row, an empty one among them, in any pieces" {
	{
		seq 1 5000 | gzip
		: | gzip
		seq 4000 9000 | gzip -1
		printf 'no newline' | gzip
		printf ' at the end of a member' | gzip
	} >in
	{
		seq 1 9000
		echo 'no newline at the end of a member'
	} >want
	bloomdedup in >out
	cmp want out
	for seed in 1 2 3 4 5; do
		"$HELPER" pieces $seed <in | bloomdedup >out
		cmp want out
	done
}

@test "a thousand members, most of them of one byte or none" {
	for ((i = 0; i < 10; i++)); do
		printf x | gzip
		: | gzip
		printf '\n' | gzip
		: | gzip
	done >ten
	for ((i = 0; i < 25; i++)); do
		cat ten
	done >in
	bloomdedup in >out
	echo x | cmp - out
}

@test "an empty gzip file has no lines" {
	: | gzip >in
	bloomdedup in >out
	[ ! -s out ]
	cat in in in >more
	bloomdedup more >out
	[ ! -s out ]
}

@test "zeros behind gzip data are padding" {
	seq 1 100 >plain
	for zeros in 1 2 3 4 5 511 1000000; do
		{ gzip -c plain; head -c $zeros /dev/zero; } >in
		bloomdedup in >out
		cmp plain out
	done
}

@test "gzip and plain files side by side" {
	seq 1 10 | gzip >one
	seq 5 15 >two
	seq 10 20 | gzip | bloomdedup one two - one >out
	seq 1 20 | cmp - out
}

@test "input that begins like gzip and is too short for it is plain" {
	for text in '\x1f' '\x1f\x8b' '\x1f\x8b\x08' '\x1f\x8b\x07\0rest' \
		'\x1f\x8b\x08\x20rest' '\x1f\x8b\x08\xffrest' \
		'\x1f\x8b\x08\x80' '\x1fx' '\x1f\x8c\x08\0' x; do
		printf "$text" >in
		{ cat in; echo; } >want
		bloomdedup in >out
		cmp want out
		"$HELPER" pieces 3 <in | bloomdedup >out
		cmp want out
	done
	printf '\n' | bloomdedup >out
	echo | cmp - out
	printf '\0' | bloomdedup >out
	printf '\0\n' | cmp - out
}

@test "the beginning of gzip's bytes that arrive one by one" {
	seq 1 1000 | gzip >in
	{
		for i in 0 1 2 3 4; do
			tail -c +$((i + 1)) in | head -c 1
			sleep 0.05
		done
		tail -c +6 in
	} | bloomdedup >out
	seq 1 1000 | cmp - out
}

@test "--no-decompress takes the bytes as they are" {
	seq 1 1000 | gzip >in
	model in >want
	for option in --no-decompress --no-gunzip; do
		bloomdedup $option in >out
		cmp want out
	done
	bloomdedup add --no-decompress -f seen in
	bloomdedup check --no-decompress -f seen in >out
	{ cat in; echo; } >want
	[ "$(wc -c <out)" -ge "$(wc -c <in)" ]
	head -c "$(wc -c <in)" out | cmp - in
}

# compressed PROGRAM: the file `in`, as that program compresses `plain`.
compressed() {
	needs "$1"
	"$1" -c <plain >in
}

@test "compressed in a way that isn't understood: the message says what to do" {
	for program in bzip2 xz lz4; do
		for text in '' 'one\ntwo\n'; do
			printf "$text" >plain
			compressed $program
			echo other >other
			status=0
			bloomdedup -f seen in other >out 2>err || status=$?
			[ "$status" -eq 3 ]
			is_message err "in: it is compressed: pipe it through '$program -dc'"
			grep -q -- '--no-decompress$' err
			echo other | cmp - out
			fails 3 "standard input: it is compressed: pipe it through '$program" \
				bloomdedup < <("$HELPER" pieces 3 <in)
			rm seen
			bloomdedup --no-decompress in >out
			model in | cmp - out
			# what the message says
			$program -dc in | bloomdedup >out
			cmp plain out
		done
	done
}

@test "what only begins like a compressed file is plain" {
	for text in B BZ BZh BZh9 BZh91AY BZhA1AY\&SY 'BZh 1AY&SY' \
		'\xfd7zXZ' '\xfd7zXZ\1' '\x04"M' '\x04"M\x19' '\x28\xb5\x2f' \
		'\x50\x2a\x4d' '\x4f\x2a\x4d\x18' '\x28\xb5\x2f\xfc'; do
		printf "$text" >in
		{ cat in; echo; } >want
		bloomdedup in >out
		cmp want out
		"$HELPER" pieces 3 <in | bloomdedup >out
		cmp want out
	done
}

@test "the lines of gzip are the lines of the plain file" {
	"$HELPER" lines 20000 >plain
	gzip -c plain >packed
	bloomdedup add -f seen packed
	bloomdedup -f seen plain >out
	[ ! -s out ]
	bloomdedup -z add -f zeros plain
	bloomdedup -z -f zeros packed >out
	[ ! -s out ]
}

@test "truncated gzip: the lines before the damage come, then status 3" {
	"$HELPER" lines 30000 >plain
	gzip -c plain >whole
	size=$(wc -c <whole)
	for cut in 5 10 11 18 100 1000 $((size / 2)) $((size - 9)) \
		$((size - 8)) $((size - 1)); do
		head -c $cut whole >in
		gzip -dc in >known 2>/dev/null || true
		grep -c '' known >lines || true
		status=0
		bloomdedup in >out 2>err || status=$?
		[ "$status" -eq 3 ]
		[ "$(wc -l <err)" -eq 1 ]
		grep -q '^bloomdedup: in: .*too early' err
		# whole lines, from the beginning, and nearly all there are
		head -n "$(wc -l <out)" plain | cmp - out
		[ "$(wc -c <out)" -ge $(($(wc -c <known) - 100000)) ]
	done
	# all but the last bytes of the checksum: all lines are there
	[ "$(wc -l <out)" -eq 30000 ]
}

@test "half a line before the damage is not a line" {
	printf 'whole\nha' | gzip -c | head -c -8 >in
	status=0
	bloomdedup in >out 2>err || status=$?
	[ "$status" -eq 3 ]
	echo whole | cmp - out
}

@test "damaged gzip: a message, status 3, and no line that isn't in it" {
	"$HELPER" lines 30000 >plain
	gzip -nc plain >whole
	size=$(wc -c <whole)
	for at in 12 100 5000 $((size / 2)) $((size - 8)) $((size - 1)); do
		cp whole in
		"$HELPER" flip in $at 2
		status=0
		bloomdedup in plain >out 2>err || status=$?
		[ "$status" -eq 3 ]
		[ "$(wc -l <err)" -eq 1 ]
		grep -q '^bloomdedup: in: ' err
		# the file behind it was read to its end
		tail -n 1 plain >last
		grep -qxFf last out
	done
	# wrong sums alone: every line is there, once
	cmp plain out
}

@test "something else behind gzip data: left out, with a message" {
	seq 1 100 >plain
	for rest in x garbage '\0\0x' '\x1f\x8b' '\x1f\x8b\x08' \
		'\x1f\x8b\x08\xff12345678'; do
		{ gzip -c plain; printf "$rest"; } >in
		status=0
		bloomdedup in >out 2>err || status=$?
		[ "$status" -eq 3 ]
		cmp plain out
		[ "$(wc -l <err)" -eq 1 ]
		grep -q '^bloomdedup: in: ' err
	done
	# a second member that is damaged
	{ gzip -c plain; gzip -c plain | head -c 15; } >in
	run -3 bloomdedup in
}

@test "gzip of one long line that is all the same stays within its memory" {
	skip_if_sanitized
	# 32 MiB out of 32 KiB
	{ head -c 33554432 /dev/zero; echo; } | gzip >in
	"$HELPER" peak $(((32 + 8) * 1024 + 15625)) "$BLOOMDEDUP" in >out
	[ "$(wc -c <out)" -eq 33554433 ]
}

# --- how large the filter is made

@test "a large file of short lines needs no more memory than there is" {
	skip_if_sanitized
	skip_if_emulated "memory of its own"
	# 40 million lines, all empty: what the size suggests is only a hint
	head -c 40000000 /dev/zero | tr '\0' '\n' >in
	(
		ulimit -v 100000
		"$BLOOMDEDUP" in >out
	)
	echo | cmp - out
}

# reads: size and last digits of the address of each read of standard input
reads() {
	sed -n 's/.*read(0, 0x[0-9a-f]*\([0-9a-f][0-9a-f]\), 0x\([0-9a-f]*\)) .*/\2 \1/p' \
		trace
}

@test "how much is read at once depends on how long lines are" {
	needs_strace
	skip_if_emulated "calls of its own"
	# a page ends within a line
	seq 10000000 10300000 >in
	strace -f -qq -o trace -e trace=read -e raw=read \
		"$BLOOMDEDUP" -p 1e-12 <in >out
	cmp in out
	# short ones by the page
	[ "$(reads | grep -c '^1000 ')" -gt 500 ]
	# to addresses that the system copies to fast
	reads | grep -v ' [048c]0$' >slow || true
	cat slow
	[ ! -s slow ]
	# all that a pipe has, or its writer would wait more often
	cat in | strace -f -qq -o trace -e trace=read -e raw=read \
		"$BLOOMDEDUP" -p 1e-12 >out
	cmp in out
	[ "$(reads | cut -d' ' -f1 | sort -u)" = 20000 ]
	# and so for long lines
	seq 10000 | awk '{ printf "%01000d\n", $1 }' >in
	strace -f -qq -o trace -e trace=read -e raw=read \
		"$BLOOMDEDUP" -p 1e-12 <in >out
	cmp in out
	[ "$(reads | cut -d' ' -f1 | sort -u)" = 20000 ]
}

@test "a large file: the filter is planned for it" {
	seq 2000000 3499999 >in
	bloomdedup -f seen -q in
	bloomdedup info --json seen >info
	grep -q '"layers": \[{[^}]*}\]' info
	gzip -1 in
	bloomdedup -f packed -q in.gz
	capacity=$(figure capacity seen)
	[ "$capacity" -ge 1500000 ]
	[ "$capacity" -le 1800000 ]
	capacity=$(figure capacity packed)
	[ "$capacity" -ge 1200000 ]
	[ "$capacity" -le 2500000 ]
}

# --- odd ends, and errors in the middle

@test "one byte, with and without a filter, whatever it is" {
	for byte in a '\0' '\n' '\r' '\x1f' '\xff'; do
		rm -f seen
		printf "$byte" >in
		printf "$byte" >want
		[ "$byte" = '\n' ] || echo >>want
		bloomdedup in >out
		cmp want out
		bloomdedup -f seen <in >out
		cmp want out
		bloomdedup -f seen in >out
		[ ! -s out ]
	done
}

@test "CR LF: the CR is a part of the line, and with --strip-cr it isn't one" {
	printf 'a\r\nb\na\nb\r\na\r\n\r\n\r' >in
	printf 'a\r\nb\na\nb\r\n\r\n' >want
	bloomdedup in >out
	cmp want out
	printf 'a\r\nb\n\r\n' >want
	bloomdedup --strip-cr in >out
	cmp want out
}

@test "an error in the middle of a file: its lines until there, the others" {
	# -j1: it traces the thread that begins
	needs_strace
	"$HELPER" lines 60000 >in
	gzip -c in >in.gz
	echo other >other
	for file in in in.gz; do
		rm -f seen
		status=0
		strace -qq -o trace -P $file -e trace=read \
			-e inject=read:error=EIO:when=3 \
			"$BLOOMDEDUP" -j1 -f seen $file other >first 2>err ||
			status=$?
		grep -q INJECTED trace
		[ "$status" -eq 3 ]
		grep -v '^strace: ' err >said
		[ "$(wc -l <said)" -eq 1 ]
		grep -q "^bloomdedup: $file: $(reason EIO)" said
		# whole lines from the beginning, and all of the other file
		[ "$(tail -n 1 first)" = other ]
		sed -i '$d' first
		[ -s first ]
		head -n "$(wc -l <first)" in | cmp - first
		[ "$(wc -l <first)" -lt 60000 ]
		# the rest comes when it can be read
		bloomdedup -f seen $file >second
		cat first second | cmp in -
	done
	# and with --atomic nothing happened
	rm -f seen
	status=0
	strace -qq -o trace -P in -e trace=read \
		-e inject=read:error=EIO:when=3 \
		"$BLOOMDEDUP" -j1 --atomic -f seen -o file in \
		2>err || status=$?
	grep -q INJECTED trace
	[ "$status" -eq 3 ]
	[ ! -e file ]
	bloomdedup -f seen in | cmp in -
}

@test "--files0-from: the files are those of a list" {
	printf '1\n2\n' >one
	printf '2\n3\n' >$'two\nlines'
	printf 'one\0two\nlines\0' >list
	bloomdedup --files0-from=list >out
	printf '1\n2\n3\n' | cmp - out
	# the last NUL may be missing
	printf 'two\nlines\0one' | bloomdedup --files0-from=- >out
	printf '2\n3\n1\n' | cmp - out
	bloomdedup add -f seen --files0-from=list
	bloomdedup check -f seen --files0-from=list >out
	printf '1\n2\n2\n3\n' | cmp - out
	# "-" in a file is standard input
	printf 'one\0-' >list
	echo 4 | bloomdedup --files0-from=list >out
	printf '1\n2\n4\n' | cmp - out
	# many names, longer than a buffer
	perl -e 'print "./" x 500, "one\0" for 1 .. 500' |
		bloomdedup --files0-from=- >out
	cmp one out
}

@test "--files0-from: no name is nothing to read, not standard input" {
	: >empty
	echo a | bloomdedup --files0-from=empty >out
	[ ! -s out ]
	bloomdedup --files0-from=/dev/null -f seen --stats=json 2>out </dev/null
	grep -q '"read": 0' out
}

@test "--files0-from: what is wrong with the list" {
	echo 1 >one
	printf 'one\0missing\0one' >list
	status=0
	bloomdedup --files0-from=list >out 2>err || status=$?
	[ "$status" -eq 3 ]
	cmp one out
	grep -q '^bloomdedup: missing: No such file' err
	printf 'one\0\0one\0' >list
	fails 3 'list: record 2 is an empty file name' \
		bloomdedup -f seen --files0-from=list
	printf '\0' >list
	fails 3 'list: record 1 is an empty' bloomdedup --files0-from=list
	fails 3 'standard input: record 1 is an empty' \
		bloomdedup --files0-from=- <list
	printf 'one\0-\0' >list
	fails 3 'standard input: record 2 is -' \
		bloomdedup --files0-from=- <list
	fails 3 'none: No such file' bloomdedup --files0-from=none
	fails 3 '.: Is a directory' bloomdedup --files0-from=.
	fails 2 "unexpected operand 'one'" bloomdedup --files0-from=list one
	fails 2 "unexpected operand '-'" bloomdedup --files0-from=list -
	[ ! -e seen ]
	# the filter in a list is the filter
	echo x | bloomdedup add -f seen
	printf 'one\0seen\0' >list
	fails 2 'seen: it is the filter' \
		bloomdedup -f seen --files0-from=list
}

@test "-f seen *: the filter is not an input, by whatever name" {
	printf 'a\n' | bloomdedup add -f seen
	printf 'b\n' >text
	cp seen copy
	ln -s seen link
	ln seen hard
	for name in seen ./seen link hard "$PWD/seen"; do
		for command in '' add check; do
			# shellcheck disable=SC2086 # no word, or one
			fails 2 "$name: it is the filter (-f seen)" \
				bloomdedup $command -f seen text "$name" text
		done
	done
	fails 2 'standard input: it is the filter' \
		bloomdedup -f seen text - <seen
	fails 2 'seen: it is the filter (-f link)' bloomdedup -f link seen
	cmp copy seen
	fails 3 'new: No such file' bloomdedup -f new new
}

@test "a filter among several files is named, and not read as lines" {
	printf 'a\n' | bloomdedup add -f other
	broken_file other 'a filter, which cannot be read as lines'
	fails 3 'standard input: a filter, which cannot be read' bloomdedup <other
	fails 3 'standard input: a filter, which cannot be read' \
		bloomdedup --no-decompress < <(cat other)
	# what only begins so is text
	head -c 11 other >head
	bloomdedup head >out
	[ -s out ]
}

@test "names from a standard input that does not block are waited for" {
	seq 5 >in
	cat >nonblocking.py <<-'END'
		import os, sys
		os.set_blocking(0, False)
		os.execv(sys.argv[1], sys.argv[1:])
	END
	mkfifo names
	python3 nonblocking.py "$BLOOMDEDUP" --files0-from=- \
		<names >out 2>err 3>&- &
	pid=$!
	exec 7>names
	# by its arguments: an emulator or valgrind is what is executed
	runs_or_ended() {
		local words
		words=$(tr '\0' ' ' <"/proc/$pid/cmdline") || return 0
		[[ $words == *files0-from* && $words != *nonblocking* ]] ||
			! kill -0 "$pid"
	}
	until_true runs_or_ended
	until_idle "$pid"
	printf 'in\0' >&7
	ends_with 0
	cmp in out
}

@test "UTF-16 is told, however it is read" {
	local options text='id,url\r\n1,http://a\r\n2,http://b\r\n' encoding
	for encoding in UTF-16LE UTF-16BE UTF-16; do
		# shellcheck disable=SC2059 # a format
		printf "$text" | iconv -f UTF-8 -t $encoding >in
		for options in '' '-k 1 -t,' --json=/a --url '--csv -k 1' \
			'--csv --header -k id'; do
			# shellcheck disable=SC2086 # words
			bloomdedup $options in >out 2>err || [ $? -eq 3 ]
			grep -qF 'in: it looks like UTF-16, which is not read as text: use iconv -f UTF-16 -t UTF-8' err
		done
		# the message about columns is one line of all names
		grep -aqF "columns are: " err
		grep -aqF 'i\x00d\x00,' err
		[ "$(LC_ALL=C tr -d '\12\40-\377' <err | wc -c)" -eq 0 ]
		iconv -f $encoding -t UTF-8 in | bloomdedup --csv --header -k id \
			>out 2>err
		[ ! -s err ]
	done
	# other bytes with NULs are not
	printf 'a\0b\0c\0d\0' | bloomdedup -z >out 2>err
	printf '\0\0\0\0\n' | bloomdedup >out 2>>err
	printf 'a\0b\0cd\n' | bloomdedup >out 2>>err
	printf 'a\0\n\0b\n' | bloomdedup >out 2>>err
	[ ! -s err ]
}
