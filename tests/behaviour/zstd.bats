# Input that is compressed with zstd. What it shares with gzip (pieces, padding,
# threads) is tested in more ways in gzip.bats.
load ../common

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	[[ $BATS_TEST_DESCRIPTION == *"a build without"* ]] || needs_zstd
}

# blocks ARGUMENT...: a frame of uncompressed blocks, to standard output: one
# for each argument, without compression. `bad` is a block of no known type,
# `stop` ends the output there, and `wait:FILE:N` waits until FILE has N bytes.
blocks() {
	python3 - "$@" <<'END'
import os, sys, time

def put(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()

def block(kind, text, last=0):
    put((last | kind << 1 | len(text) << 3).to_bytes(3, "little") + text)

put(b"\x28\xb5\x2f\xfd\x00\x58") # a window of 2 MiB, no checksum
for word in sys.argv[1:]:
    if word == "stop":
        sys.exit()
    elif word == "bad":
        block(3, b"xx")
    elif word.startswith("wait:"):
        _, name, nbytes = word.split(":")
        for i in range(60000):
            if os.path.getsize(name) >= int(nbytes):
                break
            time.sleep(0.001)
        else:
            sys.exit("%s has no %s bytes" % (name, nbytes))
    else:
        block(0, word.encode())
block(0, b"", 1)
END
}

# skippable TEXT: a frame that is skipped.
skippable() {
	printf '\x53\x2a\x4d\x18'
	perl -e 'print pack("V", length $ARGV[0]), $ARGV[0]' "$1"
}

@test "zstd is decompressed whatever the name and the level, from files and pipes" {
	"$HELPER" lines 10000 >plain
	for level in --fast=5 -1 -19 '-3 --no-check' '--ultra -22'; do
		# shellcheck disable=SC2086 # several words
		zstd -q $level -c plain >in.txt
		bloomdedup in.txt >out
		cmp plain out
		bloomdedup -j2 <in.txt >out
		cmp plain out
		"$HELPER" pieces 2 <in.txt | bloomdedup >out
		cmp plain out
	done
	bloomdedup add -f seen in.txt
	bloomdedup -f seen plain >out
	[ ! -s out ]
	bloomdedup --no-decompress in.txt >out
	model in.txt | cmp - out
}

@test "several frames, empty ones and skippable ones among them, in any pieces" {
	{
		skippable first
		seq 1 5000 | zstd -q
		: | zstd -q
		skippable ''
		seq 4000 9000 | zstd -q -9
		printf 'no newline' | zstd -q
		skippable "$(head -c 100000 /dev/zero | tr '\0' x)"
		printf ' at the end of a frame' | zstd -q
		skippable last
	} >in
	{
		seq 1 9000
		echo 'no newline at the end of a frame'
	} >want
	bloomdedup in >out
	cmp want out
	for seed in 1 2 3 4 5; do
		"$HELPER" pieces $seed <in | bloomdedup >out
		cmp want out
	done
	echo | zstd -q >newline
	for ((i = 0; i < 300; i++)); do
		cat in newline
	done >many
	bloomdedup -j2 many >out
	cmp want out
}

@test "an empty zstd file, and one of skippable frames, have no lines" {
	: | zstd -q >in
	bloomdedup in >out
	[ ! -s out ]
	skippable text >in
	bloomdedup in in >out
	[ ! -s out ]
}

@test "zstd, gzip and plain files side by side, some of them broken" {
	seq 1 10 | zstd -q >one
	seq 10 20 | gzip >two
	seq 20 30 >three
	head -c -6 one >short
	bloomdedup one two three >out
	seq 1 30 | cmp - out
	run -3 bloomdedup short two short three
	bloomdedup short two one three >out 2>err || true
	[ "$(wc -l <out)" -eq 30 ]
	is_message err 'short: the zstd data ends too early'
}

@test "lines of zstd that trickle in come out block by block" {
	mkfifo in
	for threads in 1 2; do
		: >out
		bloomdedup -j $threads <in >out 3>&- &
		blocks $'one\n' wait:out:4 $'two\nthr' wait:out:8 $'ee\n' \
			wait:out:14 '' $'four\n' wait:out:19 >in
		wait $!
		printf '%s\n' one two three four | cmp - out
	done
}

@test "cut short anywhere: what is whole comes out, a message, status 3" {
	"$HELPER" lines 60000 >plain
	zstd -q -c plain >whole
	size=$(wc -c <whole)
	for cut in 4 5 6 9 100 70000 $((size / 2)) $((size - 5)) \
		$((size - 4)) $((size - 1)); do
		head -c $cut whole >in
		zstd -qdc in >known 2>/dev/null || true
		grep -c '' known >lines || true
		status=0
		bloomdedup in >out 2>err || status=$?
		[ "$status" -eq 3 ]
		is_message err 'in: the zstd data ends too early'
		head -n "$(wc -l <out)" plain | cmp - out
		[ "$(wc -l <out)" -ge $(($(wc -l <known) - 1)) ]
	done
	# all but a byte of the checksum: all lines are there
	cmp plain out
	# less than zstd's four bytes is no zstd
	head -c 3 whole | bloomdedup --no-decompress >out
	head -c 3 whole | bloomdedup | cmp - out
}

@test "damaged: each block before the damage comes out, a message, status 3" {
	echo 'the next file' >next
	# the damage is in what follows a block, in the head of the next one
	for n in 1 2 7; do
		blocks $(seq -f 'word%g' $n) $'\n' $'line\n' bad $'more\n' >in
		{ seq -s '' -f 'word%g' $n; echo line; cat next; } >want
		status=0
		bloomdedup in next >out 2>err || status=$?
		[ "$status" -eq 3 ]
		is_message err 'in: the zstd data is damaged'
		cmp want out
	done
	# in the data, and in the checksum
	"$HELPER" lines 60000 >plain
	zstd -q -c plain >whole
	size=$(wc -c <whole)
	for at in 3000 100000 $((size / 2)) $((size - 1)); do
		cp whole in
		"$HELPER" poke in $at "$(printf 'a5%.0s' {1..16})" 2>/dev/null ||
			"$HELPER" flip in $at 3
		zstd -qdc in >known 2>/dev/null || true
		status=0
		bloomdedup in next >out 2>err || status=$?
		[ "$status" -eq 3 ]
		is_message err 'in: the zstd data is damaged'
		tail -n 1 out | cmp - next
		sed '$d' out >lines
		[ "$(wc -l <lines)" -ge $(($(wc -l <known) - 1)) ]
	done
	cmp plain lines
}

@test "zeros behind zstd data are padding, something else is left out" {
	seq 1 100 >plain
	for zeros in 1 3 4 1000000; do
		{ zstd -qc plain; head -c $zeros /dev/zero; } >in
		bloomdedup in >out
		cmp plain out
	done
	for rest in x '\0\0x' '\x28\xb5\x2f' '\x28\xb5\x2f\xfe1234' \
		'\x1f\x8b\x08\x00'; do
		{ zstd -qc plain; printf "$rest"; } >in
		status=0
		bloomdedup in >out 2>err || status=$?
		[ "$status" -eq 3 ]
		cmp plain out
		is_message err 'in: something that is not zstd follows'
	done
}

@test "a window of 128 MiB is decompressed, for a larger one there is a command" {
	seq 1 1000 >plain
	zstd -q --long=27 <plain >in
	zstd -lv in | grep -q '128 MiB'
	bloomdedup in >out
	cmp plain out
	zstd -q --long=28 <plain >in
	fails 3 "in: its zstd window is larger than 128 MiB; use 'zstd -dc --long=31 FILE |'" \
		bloomdedup in
	zstd -qdc --long=31 in | bloomdedup >out
	cmp plain out
}

@test "what repeats lines that are 100 MB before it" {
	"$HELPER" lines 100000 1 >once
	{ cat once; yes "$(printf '%01000d' 0)" | head -c 100100000
	cat once; } | zstd -q --long=27 -1 >in
	# the second time, they take no space
	[ "$(stat -c %s in)" -lt $(($(zstd -qc -1 once | wc -c) * 3 / 2)) ]
	{ cat once; printf '%01000d\n' 0; } >want
	bloomdedup in | cmp - want
	bloomdedup -j2 <in | cmp - want
}

@test "a dictionary that is missing: the message has the command" {
	for ((i = 0; i < 2000; i++)); do
		echo "{\"name\": \"person $i\", \"id\": $((i * 7919))}"
	done >samples
	zstd -q --train -B40 samples -o dictionary
	head -n 1 samples >sample
	zstd -q -D dictionary sample -o in
	fails 3 "zstd -dc -D DICTIONARY FILE |" bloomdedup in
	zstd -qdc -D dictionary in | bloomdedup | cmp - sample
}

@test "one long line that is all the same stays within its memory" {
	skip_if_sanitized
	{ head -c 33554432 /dev/zero; echo; } | zstd -q >in
	# a window of 2 MiB, twice
	"$HELPER" peak $(((32 + 8 + 5) * 1024 + 15625)) "$BLOOMDEDUP" in >out
	[ "$(wc -c <out)" -eq 33554433 ]
}

@test "a large file: the filter is planned for it" {
	"$HELPER" lines 1500000 >in
	zstd -q in
	bloomdedup -f seen -q in.zst
	capacity=$(figure capacity seen)
	[ "$capacity" -ge 1200000 ]
	[ "$capacity" -le 2500000 ]
}

@test "--atomic and --sync: a damaged file is not remembered, a whole one is" {
	"$HELPER" lines 5000 >in
	zstd -q in
	head -c -20 in.zst >cut.zst
	fails 3 cut.zst bloomdedup --atomic -f seen -o file cut.zst
	[ ! -e file ]
	bloomdedup --atomic -f seen -o file in.zst
	cmp in file
	rm seen
	bloomdedup --sync --overwrite -f seen -o file in.zst
	cmp in file
	all_known in
}
