# Files of many megabytes, while others read, write or cut them.
load ../common

# All with -p 1e-12: one line in millions that is missing would be a failure.

# Five megabytes of lines, of which a fifth repeats: much more than pipes and
# threads hold.
large_file() {
	{ seq 1 500000; seq 350000 650000; } >in
	seq 1 650000 >want
}

# pipe_is_full: would a writer have to wait?
pipe_is_full() {
	python3 -S -c '
import os, select, sys
end = os.open("pipe", os.O_WRONLY | os.O_NONBLOCK)
sys.exit(select.select([], [end], [], 0)[1] != [])'
}

# waits_for_reader ARGUMENT...: start a run whose output, the pipe `pipe`,
# nobody reads from descriptor 8 yet. It is process $pid, and sleeps: not before
# its first line, as it may in an emulator.
waits_for_reader() {
	needs python3
	rm -f pipe
	mkfifo pipe
	"$BLOOMDEDUP" -p 1e-12 "$@" >pipe 2>err 3>&- &
	pid=$!
	exec 8<pipe
	until_true pipe_is_full
	until_idle "$pid"
}

# reads_on: read the rest of the output to `out`, and expect success.
reads_on() {
	cat <&8 >out
	exec 8<&-
	wait "$pid"
	[ ! -s err ]
}

@test "two runs that read one standard input share its lines" {
	large_file
	{
		"$BLOOMDEDUP" -p 1e-12 >out
		wc -c >left
	} <in
	cmp want out
	[ "$(cat left)" -eq 0 ]
	{
		"$BLOOMDEDUP" -p 1e-12 >out &
		"$BLOOMDEDUP" -p 1e-12 >other
		wait $!
	} <in
	[ "$(cat out other | wc -l)" -lt 1000000 ]
}

@test "the output of a file is that of a pipe, however long its lines" {
	{
		seq 1 100000
		head -c 100000 /dev/zero | tr '\0' a
		echo
		head -c 1500000 /dev/zero | tr '\0' b
		echo
		seq 75000 125000
		head -c 700000 /dev/zero | tr '\0' c
		echo
		seq 1 75000
		head -c 2500000 /dev/zero | tr '\0' b
		printf '\nand an end'
	} >in
	awk '!seen[$0]++' in >want
	awk 'seen[$0]++' in >repeated
	{ cat repeated in; echo; } >repeated-twice
	tail -c +2000000 in >part
	awk '!seen[$0]++' part >want-part
	for threads in 1 3; do
		bloomdedup -p 1e-12 -j $threads in >out
		cmp want out
		bloomdedup -p 1e-12 -j $threads -d in >out
		cmp repeated out
		bloomdedup -p 1e-12 -j $threads --duplicates=again in in >out
		cmp want out
		cmp repeated-twice again
		bloomdedup -p 1e-12 -j $threads <in >out
		cmp want out
		{
			head -c 1999999 >/dev/null
			bloomdedup -p 1e-12 -j $threads
		} <in >out
		cmp want-part out
	done
}

@test "records of several lines, in a large file" {
	seq 1 150000 | awk '{
		print $1 % 100000 ",\"a\nb,\"\"" $1 % 3 "\"\"\n\""
	} END { print "1,\"never closed\nto the end" }' >in
	cat in | bloomdedup -p 1e-12 --csv -k 1 - >want 2>said || status=$?
	bloomdedup -p 1e-12 --csv -k 1 in >out 2>err || [ $? -eq "$status" ]
	cmp want out
	sed 's/standard input/in/' said | cmp - err
	# one that is too large, in the middle
	{
		seq 1 300000
		echo '"'
		seq 1 200000
	} >in
	status=0
	bloomdedup -p 1e-12 --csv --max-record=1M in >out 2>err || status=$?
	[ "$status" -eq 3 ]
	grep -q 'in: the quote that opens in record 300001' err
	seq 1 300000 | cmp - out
}

@test "whoever appends to the file doesn't wait, and those lines come, too" {
	for threads in 1 4; do
		large_file
		waits_for_reader -j $threads in
		timeout 30 sh -c 'echo appended >>in'
		echo appended >>want
		reads_on
		cmp want out
	done
}

@test "a file that is cut short meanwhile: its lines until there" {
	for threads in 1 4; do
		large_file
		waits_for_reader -j $threads in
		timeout 30 sh -c ': >in'
		reads_on
		# the last line may be torn, and then gets its end
		size=$(($(wc -c <out) - 1))
		[ "$size" -gt 100000 ]
		[ "$size" -lt "$(wc -c <want)" ]
		cmp -n "$size" want out
	done
}

@test "opening the file in another program is never affected" {
	needs python3
	large_file
	waits_for_reader in
	python3 -c 'import os
os.open("in", os.O_WRONLY | os.O_NONBLOCK)'
	reads_on
	cmp want out
}

@test "a file needs a few megabytes, however large it is" {
	skip_if_sanitized
	! is_sanitized || skip "the sanitizer takes more memory"
	skip_if_emulated "memory of its own"
	seq 1000000 5000000 >in
	for threads in 1 4; do
		rm -f seen
		bloomdedup create -n 100000 --on-full=warn seen
		"$HELPER" peak 15625 "$BLOOMDEDUP" -j $threads -f seen in \
			>/dev/null 2>&1
	done
	{
		seq 1000000
		head -c 32000000 /dev/zero | tr '\0' x
		echo
		seq 1000000
	} >in
	"$HELPER" peak $((31250 + 15625)) "$BLOOMDEDUP" -f seen in >/dev/null
}
