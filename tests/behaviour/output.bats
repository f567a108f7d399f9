# Where lines go, and what is remembered when they can't go there.
load ../common

# lost_nothing IN FIRST: FIRST is what came out of the run that failed. A
# second run on the filter prints all other lines; what came out whole before
# doesn't come again.
lost_nothing() {
	local in=$1 first=$2
	bloomdedup -f seen "$in" >second
	# only whole lines count; a torn one comes again
	if [ -s "$first" ] && [ -n "$(tail -c 1 "$first")" ]; then
		sed '$d' "$first" >whole
	else
		cp "$first" whole
	fi
	cat whole second | cmp "$in" -
}

@test "-o makes the file, and --overwrite cuts off what was in it" {
	printf 'a\nb\na\n' | bloomdedup -o file >out
	[ ! -s out ]
	printf 'a\nb\n' | cmp - file
	echo c | bloomdedup --output=file --overwrite
	echo c | cmp - file
	bloomdedup -o file --overwrite </dev/null
	[ -f file ]
	[ ! -s file ]
	echo c | bloomdedup -f seen
	printf 'c\nd\n' | bloomdedup check -f seen -o file
	echo c | cmp - file
}

@test "-o a file that has no name any more: it is written, and none is made" {
	printf 'a\na\n' >in
	for atomic in '' --atomic; do
		exec 7<>gone
		rm gone
		bloomdedup $atomic -o /dev/fd/7 in
		echo a | cmp - /dev/fd/7
		exec 7>&-
		ls >names
		run ! grep gone names
		# also an input: it stays
		cp in gone
		exec 7<>gone
		rm gone
		fails 2 'also an input' bloomdedup $atomic -o /dev/fd/7 \
			/dev/fd/7
		cmp in /dev/fd/7
		exec 7>&-
	done
}

@test "--sync where lines go into a pipe is refused, and no filter is made" {
	echo a >in
	status=0
	bloomdedup --sync -f seen in 2>err | cat >out ||
		status=${PIPESTATUS[0]}
	[ "$(cat err)" = "bloomdedup: --sync: standard output is not a file, \
and cannot be synced; write to a file with -o FILE" ]
	[ ! -s out ]
	mkfifo pipe
	fails 2 '--sync: pipe is not a file' bloomdedup --sync -f seen -o pipe in
	null_device
	fails 2 '--sync: null is not a file' \
		bloomdedup --sync -f seen -o null in
	[ ! -e seen ]
}

@test "-o with -q, which prints nothing, is refused" {
	printf 'a\na\n' >in
	fails 2 '--output' bloomdedup -f seen -q -o out in
	[ ! -e seen ]
	bloomdedup create seen
	fails 2 '--output' bloomdedup check -f seen -q -o out in
	[ ! -e out ]
	bloomdedup -f seen -q --duplicates=out in
	echo a | cmp - out
}

@test "-o a file that is an input is refused, and the file is as it was" {
	printf 'a\na\n' >file
	cp file copy
	ln file hard
	ln -s file soft
	for name in file ./file hard soft; do
		fails 2 file bloomdedup -o $name file
		fails 2 'the output is also an input' bloomdedup -o $name file
		cmp copy file
		fails 2 'also an input' bloomdedup -o file copy $name
		cmp copy file
	done
	fails 2 '--duplicates: file: the output is also an input' \
		bloomdedup --duplicates=file file
	cmp copy file
	status=0
	bloomdedup -o file <file 2>err || status=$?
	[ "$status" -eq 2 ]
	grep -q 'also an input' err
	cmp copy file
	status=0
	cat file | bloomdedup -o file - file 2>err || status=$?
	[ "$status" -eq 2 ]
	cmp copy file
}

@test "standard output that is an input is refused" {
	printf 'a\na\n' >file
	cp file copy
	status=0
	bloomdedup file >>file 2>err || status=$?
	[ "$status" -eq 2 ]
	[ "$(wc -l <err)" -eq 1 ]
	grep -q '^bloomdedup: file: .*also an input' err
	cmp copy file
	status=0
	bloomdedup <file >>file 2>err || status=$?
	[ "$status" -eq 2 ]
	grep -q 'standard input' err
	cmp copy file
	status=0
	bloomdedup -f seen - file <file 1<>file 2>err || status=$?
	[ "$status" -eq 2 ]
	cmp copy file
}

@test "a refused output leaves nothing remembered" {
	printf 'a\n' >file
	run -2 bloomdedup -f seen -o file file
	bloomdedup -f seen file >out
	cmp file out
}

@test "output into the filter itself is refused" {
	printf 'a\n' | bloomdedup -f seen >/dev/null
	cp seen copy
	ln -s seen soft
	status=0
	echo b | bloomdedup -f seen >>seen 2>err || status=$?
	[ "$status" -eq 2 ]
	grep -q '^bloomdedup: seen: ' err
	cmp copy seen
	echo b >in
	fails 2 'the filter' bloomdedup -f seen -o seen in
	fails 2 'the filter' bloomdedup -f seen -o soft in
	fails 2 'the filter' bloomdedup -f soft -o seen in
	fails 2 'the filter' bloomdedup check -f seen -o seen in
	cmp copy seen
}

@test "terminals and devices may be both" {
	bloomdedup /dev/null >/dev/null
	bloomdedup </dev/null >/dev/null
	null_device
	echo a | bloomdedup -o null
	[ -c null ]
}

@test "an output that can't be looked at is an error, and is not replaced" {
	needs_strace
	null_device
	echo a >in
	status=0
	strace -qq -o trace -P null -e inject=newfstatat,stat,statx:error=EIO:when=2+ \
		"$BLOOMDEDUP" --atomic -f seen -o null in 2>err || status=$?
	[ "$status" -eq 3 ]
	grep -q "^bloomdedup: null: $(reason EIO)$" err
	[ "$(stat -c %t,%T null)" = 1,3 ]
}

@test "a full device: a message, status 3, and nothing is remembered" {
	"$HELPER" lines 1000 >in
	status=0
	bloomdedup -f seen in >/dev/full 2>err || status=$?
	[ "$status" -eq 3 ]
	[ "$(wc -l <err)" -eq 1 ]
	grep -q '^bloomdedup: standard output: No space left' err
	fails 3 '/dev/full: No space left' bloomdedup -f seen -o /dev/full in
	: >nothing
	lost_nothing in nothing
	run -3 bash -c '"$1" </dev/null check -f seen in >/dev/full' \
		bash "$BLOOMDEDUP"
}

@test "a full device under what is not lines" {
	echo a | bloomdedup -f seen >/dev/null
	for command in --help --version 'info seen' 'info --json seen' \
		'create --help'; do
		status=0
		# shellcheck disable=SC2086
		bloomdedup $command >/dev/full 2>err || status=$?
		[ "$status" -eq 3 ]
		grep -q '^bloomdedup: standard output: ' err
		status=0
		# shellcheck disable=SC2086
		bloomdedup $command >&- 2>err || status=$?
		[ "$status" -eq 3 ]
		# a reader that is gone
		status=0
		# shellcheck disable=SC2086
		"$HELPER" defaults perl -e 'pipe R, W; close R;
			open STDOUT, ">&W"; exec @ARGV' \
			"$BLOOMDEDUP" $command 2>err || status=$?
		[ "$status" -eq 141 ]
		[ ! -s err ]
	done
}

@test "closed standard output: a message, status 3, nothing is remembered" {
	"$HELPER" lines 1000 >in
	status=0
	bloomdedup -f seen in >&- 2>err || status=$?
	[ "$status" -eq 3 ]
	[ "$(wc -l <err)" -eq 1 ]
	grep -q '^bloomdedup: standard output: ' err
	: >nothing
	lost_nothing in nothing
	# the filter's descriptor did not become the output
	bloomdedup info seen >out
	# all three closed
	status=0
	bloomdedup -f seen in <&- >&- 2>&- || status=$?
	[ "$status" -eq 0 ] || [ "$status" -eq 3 ]
	bloomdedup info seen >out
}

@test "closed standard output is no matter where nothing is printed" {
	echo a >in
	bloomdedup add -f seen in >&-
	bloomdedup check -q -f seen in >&-
	echo b >in
	bloomdedup -q -f seen in >&-
}

@test "a reader that goes away: death by SIGPIPE, as other filters" {
	seq 1 1000000 >in
	"$HELPER" defaults bash -c '"$1" -f seen -p 1e-12 in 2>err | head -n 1 >out
		exit "${PIPESTATUS[0]}"' bash "$BLOOMDEDUP" || status=$?
	[ "$status" -eq 141 ]
	[ ! -s err ]
	echo 1 | cmp - out
	# what never went into the pipe was not remembered
	bloomdedup -f seen in >second
	tail -n 900000 in >last
	tail -n 900000 second | cmp last -
}

@test "a reader that goes away where SIGPIPE is ignored: message and status 3" {
	seq 1 1000000 >in
	status=0
	bash -c 'trap "" PIPE; "$1" -f seen -p 1e-12 in 2>err | head -n 1 >out
		exit "${PIPESTATUS[0]}"' bash "$BLOOMDEDUP" || status=$?
	[ "$status" -eq 3 ]
	[ "$(wc -l <err)" -eq 1 ]
	grep -q '^bloomdedup: standard output: Broken pipe' err
	bloomdedup -f seen in >second
	tail -n 900000 in >last
	tail -n 900000 second | cmp last -
}

@test "a limit on the file's size: what went out is remembered, no more" {
	"$HELPER" lines 100000 >in
	# the filter is made without the limit, which is more than its slots need
	bloomdedup create seen
	for blocks in 13 100 333; do
		(
			ulimit -f $blocks
			status=0
			"$BLOOMDEDUP" -f seen in >first 2>err || status=$?
			[ "$status" -eq 3 ]
		)
		# whole lines, as many as there is room for
		[ "$(wc -c <first)" -gt $((blocks * 1024 - 1000)) ]
		[ -z "$(tail -c 1 first)" ]
		[ "$(wc -l <err)" -eq 1 ]
		grep -q '^bloomdedup: standard output: File too large' err
		lost_nothing in first
		bloomdedup create --force seen
	done
}

@test "a limit that falls on the end of a line: that line is remembered" {
	# 16 bytes a line, so 64 of them are a block
	seq -f 'https://%07.0f' 5000 >in
	bloomdedup create seen
	(
		ulimit -f 13
		status=0
		"$BLOOMDEDUP" -f seen in >first 2>err || status=$?
		[ "$status" -eq 3 ]
	)
	head -n $((13 * 64)) in | cmp - first
	# none comes again, and none is left out
	bloomdedup -f seen in >again
	cat first again | cmp in -
}

@test "a full disk in the middle of a batch: what went out is remembered" {
	small_disk 64k
	"$HELPER" lines 5000 >in
	status=0
	bloomdedup -f seen in -o disk/first 2>err || status=$?
	cp disk/first first
	umount disk
	[ "$status" -eq 3 ]
	[ "$(wc -l <err)" -eq 1 ]
	grep -q '^bloomdedup: disk/first: No space left' err
	[ -s first ]
	lost_nothing in first
}

@test "records that end in NUL, cut off in the middle" {
	"$HELPER" lines 20000 | tr '\n' '\0' >in
	bloomdedup create -z seen
	(
		ulimit -f 100
		status=0
		"$BLOOMDEDUP" -z -f seen in >first 2>err || status=$?
		[ "$status" -eq 3 ]
	)
	bloomdedup -z -f seen in >second
	perl -0 -ne 'print if /\0\z/' first >whole
	cat whole second | cmp in -
}

@test "an output that doesn't wait is waited for" {
	"$HELPER" lines 200000 >in
	mkfifo pipe
	"$HELPER" nonblock "$BLOOMDEDUP" -f seen in >pipe 2>err 3>&- &
	pid=$!
	exec 8<pipe
	sleep 0.3
	"$HELPER" pieces 9 <&8 >out
	exec 8<&-
	wait $pid
	cmp in out
	[ ! -s err ]
}

# --- a torn last line

@test "a torn last line in a file that is appended to is ended" {
	printf 'whole\ntor' >new
	printf 'a\nb\n' | bloomdedup -f seen >>new 2>err
	printf 'whole\ntor\na\nb\n' | cmp - new
	[ "$(wc -l <err)" -eq 1 ]
	grep -q '^bloomdedup: standard output: ' err
	# a whole one is left alone
	printf 'c\n' | bloomdedup -f seen >>new 2>err
	printf 'whole\ntor\na\nb\nc\n' | cmp - new
	[ ! -s err ]
	# and an empty file
	: >new
	printf 'd\n' | bloomdedup -f seen >>new 2>err
	printf 'd\n' | cmp - new
	[ ! -s err ]
}

@test "with -z a torn record is one that doesn't end in NUL" {
	printf 'whole\0torn\n' >new
	printf 'a\0' | bloomdedup -z -f seen >>new 2>err
	printf 'whole\0torn\n\0a\0' | cmp - new
	[ -s err ]
	printf 'b\0' | bloomdedup -f seen >>new 2>err
	printf 'whole\0torn\n\0a\0b\0' | cmp - new
	[ ! -s err ]
}

@test "without >>, or where nothing is printed: no newline" {
	printf 'torn' >new
	echo a | bloomdedup -f seen 1<>new 2>err
	printf 'a\nrn' | cmp - new
	[ ! -s err ]
	printf 'tor' >new
	echo b | bloomdedup add -f seen >>new 2>err
	printf 'tor' | cmp - new
	echo c | bloomdedup -q -f seen >>new 2>err
	printf 'tor' | cmp - new
}

# refused ERROR COMMAND...: refused, before anything was made or read.
refused() {
	local text=$1
	shift
	fails 2 "$text" "$@"
	[ ! -e seen ]
	[ "$(ls -A)" = "$before" ]
}

@test "the output can't be the duplicates, by whatever name" {
	printf 'a\na\n' >in
	mkdir directory
	ln -s . here
	ln -s out link
	before=$(printf '%s\n' directory fails.err fails.out here in link |
		sort)
	: >fails.err
	: >fails.out
	for atomic in '' --atomic; do
		for name in out ./out "$PWD/out" here/out directory/../out link; do
			refused 'different file from the output' bloomdedup \
				-f seen $atomic -o out --duplicates="$name" in
			refused 'different file from the output' bloomdedup \
				-f seen $atomic -o "$name" --duplicates=out in
		done
	done
	# one that is there, and is standard output
	for atomic in '' --atomic; do
		echo old >out
		ln -f out hard
		for name in out here/out hard; do
			status=0
			bloomdedup -f seen $atomic --duplicates=$name in \
				>>out 2>err || status=$?
			[ "$status" -eq 2 ]
			grep -q 'different file from the output' err
			echo old | cmp - out
			[ ! -e seen ]
		done
		rm out hard
	done
	bloomdedup -f seen --atomic -o out --duplicates=directory/out in
	echo a | cmp - out
	cmp out directory/out
}

@test "--duplicates=- is standard output, where the lines go elsewhere" {
	printf 'a\nb\na\na\n' >in
	bloomdedup -q --duplicates=- in >out
	printf 'a\na\n' | cmp - out
	bloomdedup -o new --duplicates=- in >out
	printf 'a\na\n' | cmp - out
	printf 'a\nb\n' | cmp - new
	bloomdedup --to-command='cat >read' --duplicates=- in >out
	printf 'a\na\n' | cmp - out
	printf 'a\nb\n' | cmp - read
	bloomdedup --atomic -f seen -o new --overwrite --duplicates=- in >>out
	printf 'a\na\na\na\n' | cmp - out
	fails 2 '--duplicates=-' bloomdedup --duplicates=- in
	fails 2 '--duplicates=-' bloomdedup -d --duplicates=- in
	# the same file by another name
	rm new
	status=0
	bloomdedup -o new --duplicates=- in >>new 2>err || status=$?
	[ "$status" -eq 2 ]
	grep -q 'different file from the output' err
	[ ! -e - ]
	bloomdedup --duplicates=./- in >out
	printf 'a\na\n' | cmp - ./-
	run -3 sh -c '"$1" -q --duplicates=- in >/dev/full' sh "$BLOOMDEDUP"
	[ "$output" = 'bloomdedup: standard output: No space left on device' ]
}

@test "the output can't be the filter's journal" {
	printf 'a\na\n' >in
	ln -s . here
	for atomic in '' --atomic; do
		for name in seen.journal here/seen.journal; do
			fails 2 "journal, seen.journal" bloomdedup -f seen \
				$atomic -o $name in
			fails 2 "journal, seen.journal" bloomdedup -f seen \
				$atomic --duplicates=$name in
		done
		status=0
		bloomdedup -f seen $atomic in >seen.journal 2>err || status=$?
		[ "$status" -eq 2 ]
		grep -q "journal, seen.journal" err
		rm seen.journal
		[ ! -e seen ]
	done
	bloomdedup -f seen in >out
	bloomdedup -f here/seen -o other.journal in
	# a link to the filter: its journal stands beside the file
	mkdir directory
	ln -s ../seen directory/name
	fails 2 "journal, directory/name.journal" bloomdedup -f directory/name \
		-o seen.journal in
	bloomdedup -f directory/name -o directory/name.journal in
}

@test "-o with a filter that remembers lines: append, or overwrite" {
	seq 10 | bloomdedup -f seen -o out
	cp out before
	seq 20 >in
	fails 2 'out is not empty, and seen remembers about 10 lines: --append adds the new ones, and --overwrite replaces it by them' \
		bloomdedup -f seen -o out in
	fails 2 'out is not empty' bloomdedup -f seen --atomic -o out in
	cmp before out
	bloomdedup check -f seen in | cmp before -
	bloomdedup -f seen --append -o out in
	cmp in out
	seq 21 25 | bloomdedup -f seen --overwrite -o out
	seq 21 25 | cmp - out
	# neither is needed where nothing can be lost
	: >out
	seq 31 | bloomdedup -f seen -o out
	seq 26 31 | cmp - out
	bloomdedup -f seen -o /dev/null in
	seq 40 | bloomdedup -f seen -o /dev/stdout | cat >piped
	seq 32 40 | cmp - piped
	fails 2 '--append needs --output' bloomdedup -f seen --append in
	fails 2 '--append cannot be combined with --overwrite' \
		bloomdedup -f seen --append --overwrite -o out in
}

@test "-o never replaces results by accident: a filter that is missing or empty" {
	local how
	seq 10 | bloomdedup -f seen -o list
	cp list before
	seq 20 >in
	# its name is mistyped, or somebody deleted it
	for how in '' --atomic --sync -d --on-full=fail; do
		# shellcheck disable=SC2086 # no word, or one
		fails 2 'list is not empty, and seen.blom does not exist yet: --append adds all lines of this run, even those that are there, and --overwrite replaces it' \
			bloomdedup -f seen.blom $how -o list --duplicates=again in
		[ ! -e seen.blom ]
		[ ! -e again ]
	done
	# it came back empty
	bloomdedup create empty
	for how in '' --atomic; do
		# shellcheck disable=SC2086
		fails 2 'list is not empty, and empty remembers nothing: --append adds all lines' \
			bloomdedup -f empty $how -o list in
	done
	cmp before list
	bloomdedup check -v -f empty in | cmp in -
	# nothing was read
	{
		fails 2 'list is not empty' bloomdedup -f seen.blom -o list
		cmp in -
	} <in
	# it does not stand behind a link
	ln -s list link
	fails 2 'link is not empty' bloomdedup -f seen.blom -o link in
	cmp before list
}

@test "-o never replaces results by accident: without a filter" {
	seq 10 >list
	cp list before
	seq 20 >in
	fails 2 'list is not empty: --append adds the lines to it, --overwrite replaces it at once, and --atomic replaces it when the run has succeeded' \
		bloomdedup -o list in
	cmp before list
	# shellcheck disable=SC2002 # as people write it
	cat list | fails 2 'list is not empty' bloomdedup -o list
	cmp before list
	bloomdedup --atomic -o list in
	cmp in list
	bloomdedup --append -o list before
	cat in before | cmp - list
	bloomdedup --overwrite -o list before
	cmp before list
	# a check replaces it
	bloomdedup create filter
	echo new | bloomdedup add -f filter
	echo new | bloomdedup check -f filter -o list
	echo new | cmp - list
}

@test "--atomic replaces an input, if the filter remembers nothing" {
	printf '%s\n' a b a >list
	bloomdedup --atomic -f seen -o list list
	printf '%s\n' a b | cmp - list
	# now it would be empty
	fails 2 'list is not empty, and seen remembers about 2 lines: --overwrite replaces it by its lines that are not among them' \
		bloomdedup --atomic -f seen -o list list
	printf '%s\n' a b | cmp - list
	printf '%s\n' a b b >list
	bloomdedup create empty
	bloomdedup --atomic -f empty -o list <list
	printf '%s\n' a b | cmp - list
	bloomdedup --atomic --overwrite -f seen -o list list
	[ ! -s list ]
}

@test "an output that is an input: what to do instead" {
	local status
	printf '%s\n' a b a >list
	cp list before
	fails 2 'list: the output is also an input; --atomic -o list list replaces it by its distinct lines' \
		bloomdedup -o list list
	fails 2 '--atomic -o list list' bloomdedup --overwrite -o list list
	# a line that is added is not a line of the input
	for how in '' --atomic --sync '-f seen' '-f seen --atomic'; do
		# shellcheck disable=SC2086 # any number of words
		fails 2 'list: the output is also an input' \
			bloomdedup $how --append -o list list
		status=0
		# shellcheck disable=SC2086,SC2094
		bloomdedup $how <list >>list 2>err || status=$?
		[ $status -eq 2 ]
		is_message err 'the output is also an input'
	done
	[ ! -e seen ]
	cmp before list
	status=0
	# shellcheck disable=SC2094
	bloomdedup <list >list 2>err || status=$?
	[ $status -eq 2 ]
	is_message err '--atomic -o FILE FILE replaces a file by its distinct lines'
}

@test "<list >list: the shell has emptied it, and the message says so" {
	local how status advice='replaces a file by its distinct lines'
	for how in '' '-f seen' '-f seen --atomic'; do
		echo a >list
		status=0
		# shellcheck disable=SC2086,SC2094
		bloomdedup $how <list >list 2>err || status=$?
		[ $status -eq 2 ]
		is_message err 'the output is also an input, and is empty now: the shell empties a file behind > before it starts the command'
		# with a filter, that would leave out what it remembers
		if [ -z "$how" ]; then
			grep -q -- "$advice" err
		else
			run ! grep -q -- "$advice" err
		fi
		[ ! -e seen ]
	done
	# whoever adds to a file has not emptied it
	status=0
	# shellcheck disable=SC2094
	bloomdedup -f seen <list >>list 2>err || status=$?
	[ $status -eq 2 ]
	run ! grep -q 'empty now' err
}

@test "--append mends a torn line, with --atomic and --sync, too" {
	local options
	for options in '' --atomic --sync; do
		rm -f seen out
		seq 3 | bloomdedup -f seen -o out
		printf 4 >>out
		# shellcheck disable=SC2086 # no word, or one
		seq 5 | bloomdedup -f seen --append $options -o out 2>err
		grep -q "its last line is torn ('4')" err
		seq 5 | cmp - <(sed '4d' out)
	done
}

@test "--append --atomic: all lines of the run are added, or none" {
	seq 1000 | bloomdedup -f seen -o out --duplicates=seen-before
	cp out before
	fails 3 'No such file' bloomdedup -f seen --append --atomic -o out \
		<(seq 2000) nowhere
	cmp before out
	seq 500 2000 | bloomdedup -f seen --append --atomic -o out \
		--duplicates=seen-before
	seq 2000 | cmp - out
	seq 500 1000 | cmp - seen-before
	printf 'id,name\n1,a\n' | bloomdedup -f csv --csv --header -k id \
		--overwrite -o out
	printf 'id,name\n2,b\n' |
		bloomdedup -f csv --append --atomic -o out
	printf 'id,name\n1,a\n2,b\n' | cmp - out
}

@test "-o - is standard output" {
	seq 3 | bloomdedup -o - >out
	seq 3 | cmp - out
	[ ! -e ./- ]
}
