# Large gzip input, which is inflated while the lines before it are worked on:
# no byte, message or line's moment tells that it is.
load ../common

# Made once for all tests: see large.
setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	{
		"$HELPER" lines 60000 1
		head -c 700000 /dev/zero | tr '\0' x
		echo
		"$HELPER" lines 60000 2
		head -c 300000 /dev/zero | tr '\0' y
		echo
		"$HELPER" lines 60000 3
	} >plain
	gzip -1 -c plain >packed
	chmod a-w plain packed
}

# large: the file `plain`, some long lines among short ones, and it as
# `packed`; much more than is read or inflated at once.
large() {
	ln "$BATS_FILE_TMPDIR"/{plain,packed} .
}

# same_alone FILE...: with one processor and with all of them, output, messages
# and exit status are the same; they are in `out`, `err` and $status.
same_alone() {
	local by_one=0
	status=0
	bloomdedup "$@" >out 2>err || status=$?
	if command -v taskset >/dev/null; then
		alone "$BLOOMDEDUP" "$@" >out1 2>err1 || by_one=$?
		cmp out out1
		cmp err err1
		[ "$status" -eq "$by_one" ]
	fi
}

@test "a large gzip file: the lines of the plain file" {
	large
	bloomdedup plain >want
	bloomdedup packed >out
	cmp want out
	bloomdedup <packed >out
	cmp want out
	cat packed | bloomdedup >out
	cmp want out
	bloomdedup -f seen packed >out
	cmp want out
	bloomdedup -f seen plain >out
	[ ! -s out ]
	"$HELPER" pieces 1 <packed | bloomdedup >out
	cmp want out
}

@test "records of CSV that are cut anywhere by what is inflated at once" {
	perl -e 'for my $i (1 .. 40000) {
		print "$i,\"", "a\n\"\"" x ($i % 20), "\",end\r\n" }' >plain
	gzip -1 -c plain >packed
	bloomdedup --csv -k 1,2 plain >want
	[ "$(wc -l <want)" -gt 40000 ]
	same_alone --csv -k 1,2 packed
	cmp want out
}

# trickle FIRST STEP: gzip to standard output, first FIRST lines at once, then
# a hundred, each flushed as log writers do, STEP bytes at a time. None is
# written before `out` has all lines before it; 1 if that never happens.
trickle() {
	python3 - "$@" <<'END'
import os, sys, time, zlib

first, step = map(int, sys.argv[1:])
pack = zlib.compressobj(1, zlib.DEFLATED, 31)
wanted = 0

def send(text):
    global wanted
    data = pack.compress(text) + pack.flush(zlib.Z_SYNC_FLUSH)
    wanted += len(text)
    while data:
        data = data[os.write(1, data[:step or len(data)]):]
    for i in range(60000):
        if os.path.getsize("out") >= wanted:
            return
        time.sleep(0.001)
    sys.exit("line %r did not come out" % text[-30:])

if first:
    send(b"".join(b"first line %d\n" % (i * 7919) for i in range(first)))
for i in range(100):
    send(b"line %d\n" % i)
os.write(1, pack.flush())
END
}

@test "gzip that trickles in comes out line by line" {
	mkfifo in
	for first in 0 3 100000; do
		for step in 0 1; do
			[ $first -lt 100000 ] || step=$((step * 4096))
			: >out
			bloomdedup <in >out 3>&- &
			trickle $first $step >in
			wait $!
			[ "$(wc -l <out)" -eq $((first + 100)) ]
		done
	done
}

# Many times the same: thousands of lines are in a few bits that were read.
@test "lines of which nothing more is to be read come out at once" {
	mkfifo in
	for n in 52428 52429 104857 104858 1000000; do
		: >out
		bloomdedup -d <in >out 3>&- &
		python3 -c '
import os, sys, time, zlib
n = int(sys.argv[1])
pack = zlib.compressobj(9, zlib.DEFLATED, 31)
os.write(1, pack.compress(b"same\n" * n) + pack.flush(zlib.Z_SYNC_FLUSH))
for i in range(6000):
    if os.path.getsize("out") == 5 * (n - 1):
        break
    time.sleep(0.01)
else:
    sys.exit("%d bytes came out" % os.path.getsize("out"))
os.write(1, pack.flush())' $n >in
		wait $!
		[ "$(wc -l <out)" -eq $((n - 1)) ]
	done
}

@test "truncated at any place: what is whole comes out, a message, status 3" {
	large
	size=$(wc -c <packed)
	for cut in 100000 262143 262144 262145 524288 $((size / 2)) \
		$((size - 9)) $((size - 8)) $((size - 1)); do
		head -c $cut packed >in
		gzip -dc in >known 2>/dev/null || true
		same_alone in
		[ "$status" -eq 3 ]
		[ "$(wc -l <err)" -eq 1 ]
		grep -q '^bloomdedup: in: .*too early' err
		head -n "$(wc -l <out)" plain | cmp - out
		# what gzip gives before it gives up, but for a line cut off
		[ "$(wc -c <out)" -ge $(($(wc -c <known) - 700000)) ]
	done
	cmp plain out
}

@test "damaged in the middle: what was right comes out, a message, status 3" {
	large
	size=$(wc -c <packed)
	echo 'the next file' >next
	for at in 100000 262100 262144 $((size / 2)) $((size - 100000)); do
		cat packed >in
		"$HELPER" poke in $at "$(printf 'ff%.0s' {1..64})"
		{ head -c $at packed | gzip -dc 2>/dev/null || true; } >right
		sed '$d' right >want
		[ "$(wc -l <want)" -gt 1000 ]
		same_alone in next
		[ "$status" -eq 3 ]
		[ "$(wc -l <err)" -eq 1 ]
		grep -q '^bloomdedup: in: .*damaged' err
		head -c "$(wc -c <want)" out | cmp - want
		tail -n 1 out | cmp - next
	done
	# the sum or the length at the end alone: all lines are there
	for at in $((size - 5)) $((size - 1)); do
		cat packed >in
		"$HELPER" flip in $at 3
		same_alone in
		[ "$status" -eq 3 ]
		grep -q '^bloomdedup: in: .*damaged' err
		cmp plain out
	done
}

# members END...: for each, in.END: two large gzip members, of which the first
# has END bytes, one without a line, and one more; their plain form is in `plain`.
members() {
	python3 - "$@" <<'END'
import sys, zlib

def body(text, level):
    pack = zlib.compressobj(level, zlib.DEFLATED, -15)
    return (pack.compress(text) + pack.flush() +
            zlib.crc32(text).to_bytes(4, "little") +
            len(text).to_bytes(4, "little"))

def member(body, nbytes=0):
    """as gzip, of so many bytes: a name of that length is in the header"""
    head = b"\x1f\x8b\x08\x08\0\0\0\0\0\3"
    name = nbytes - len(head) - len(body) - 1
    return head + b"n" * max(name, 0) + b"\0" + body

def lines(n, seed):
    return b"".join(b"%d line %d\n" % (seed, i * 7919) for i in range(n))

texts = [lines(40000, 1), lines(40000, 2), b"", lines(100, 3)]
with open("plain", "wb") as out:
    out.write(b"".join(texts))
first = body(texts[0], 1)
others = b"".join(member(body(text, 6)) for text in texts[1:])
for end in sys.argv[1:]:
    with open("in." + end, "wb") as out:
        out.write(member(first, int(end)) + others)
END
}

@test "members that end where a read ends, or a byte or some beside it" {
	local ends=(524276 524280 524284 {524286..524290} 524295)
	members "${ends[@]}"
	for end in "${ends[@]}"; do
		[ "$(od -An -tx1 -j "$end" -N 2 "in.$end")" = ' 1f 8b' ]
		same_alone "in.$end"
		[ "$status" -eq 0 ]
		cmp plain out
	done
}

@test "members that end where a piece of what is inflated ends" {
	"$HELPER" lines 40000 >lines
	for nbytes in 262143 262144 262145 524287 524288 524289 1048576; do
		head -c $nbytes lines >one
		gzip -c one >packed
		cat packed packed packed >in
		cat one one one >plain
		model plain >want
		same_alone in
		[ "$status" -eq 0 ]
		cmp want out
	done
}

@test "thousands of small members, in any pieces" {
	for ((i = 0; i < 100; i++)); do
		seq $((i * 100)) $((i * 100 + 150)) | gzip -1
	done >hundred
	for ((i = 0; i < 40; i++)); do
		cat hundred
	done >in
	seq 0 10050 >want
	same_alone in
	cmp want out
	"$HELPER" pieces 5 <hundred | bloomdedup >out
	cmp want out
}

@test "padding and garbage behind large gzip data" {
	large
	{ cat packed; head -c 600000 /dev/zero; } >in
	same_alone in
	[ "$status" -eq 0 ]
	cmp plain out
	{ cat packed; head -c 600000 /dev/zero; echo garbage; } >in
	same_alone in
	[ "$status" -eq 3 ]
	[ "$(wc -l <err)" -eq 1 ]
	grep -q '^bloomdedup: in: .*not gzip follows' err
	cmp plain out
}

@test "many gzip files in a row, with others among them" {
	large
	head -c 400000 packed >short
	seq 1 10 | gzip >small
	seq 5 20 >text
	: | gzip >empty
	files=()
	mkdir directory
	for ((i = 0; i < 3; i++)); do
		files+=(small packed text directory empty short packed small)
	done
	same_alone "${files[@]}"
	[ "$status" -eq 3 ]
	[ "$(grep -c 'directory: Is a directory' err)" -eq 3 ]
	[ "$(grep -c 'short: .*too early' err)" -eq 3 ]
	[ "$(wc -l <err)" -eq 6 ]
	{ seq 1 10; cat plain; seq 11 20; } | cmp - out
}

@test "a signal while it inflates: what was written is remembered" {
	"$HELPER" lines 200000 >plain
	gzip -1 -c plain >packed
	for bytes in 1 100000 1500000 5000000; do
		rm -f seen
		start_on_pipe -f seen
		cat packed >&7 2>/dev/null 3>&- &
		feeder=$!
		until_true has_bytes $bytes out
		kill -TERM $pid
		status=0
		wait $pid || status=$?
		# it has nobody to write to
		wait $feeder || true
		exec 7>&-
		[ "$status" -eq 143 ]
		[ ! -s err ]
		bloomdedup -f seen packed >rest
		cat out rest | cmp plain -
		no_leftovers
	done
}

@test "a read that fails: what came before comes out, then the reason" {
	needs_strace
	large
	echo 'the next file' >next
	status=0
	strace -qq -o trace -P "$PWD/packed" -e trace=read \
		-e inject=read:error=EIO:when=3 "$BLOOMDEDUP" -j1 packed next \
		>out 2>err || status=$?
	grep -q INJECTED trace
	[ "$status" -eq 3 ]
	[ "$(wc -l <err)" -eq 1 ]
	grep -q "^bloomdedup: packed: $(reason EIO)" err
	# so many bytes were read before
	got=$(awk '/INJECTED/ { exit } { sum += $NF } END { print sum }' trace)
	[ "$got" -gt 300000 ]
	head -c "$got" packed | gzip -dc 2>/dev/null >right || true
	sed '$d' right >want
	[ "$(wc -l <want)" -gt 1000 ]
	head -c "$(wc -c <want)" out | cmp - want
	tail -n 1 out | cmp - next
}
