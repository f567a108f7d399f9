# --to-command: lines are remembered when their reader has dealt with them.
load ../all-or-nothing

@test "the command gets the new lines; then they are remembered" {
	prepare
	bloomdedup -f seen --to-command='cat >got' in >out 2>err
	cmp new got
	[ ! -s out ]
	[ ! -s err ]
	all_remembered
	bloomdedup -f seen --to-command='cat >got' in
	[ -f got ]
	[ ! -s got ]
}

@test "what the command prints is on standard output" {
	prepare
	bloomdedup -f seen --to-command='tr a-z A-Z' in >out
	printf 'A\nB\n' | cmp - out
}

@test "its exit status is passed on, and nothing is remembered" {
	prepare
	# more than the pipe holds: it breaks
	"$HELPER" lines 20000 >many
	for status in 1 2 3 4 42 75 126 127 255; do
		fails $status "exit status $status" bloomdedup -f seen \
			--to-command="cat >/dev/null; exit $status" in
		nothing_remembered
		fails $status "exit status $status" bloomdedup -f seen \
			--to-command="exit $status" in many
		nothing_remembered
	done
}

@test "its death by signal n is 128+n, and nothing is remembered" {
	prepare
	for name in TERM KILL INT HUP SEGV PIPE; do
		number=$(kill -l $name)
		# a shell in the background ignores SIGINT, and passes that on
		fails $((128 + number)) "signal $number" "$HELPER" defaults \
			"$BLOOMDEDUP" -f seen \
			--to-command="cat >/dev/null; kill -$name \$\$" in
		nothing_remembered
	done
}

@test "a missing command: 127, and nothing is remembered" {
	prepare
	status=0
	bloomdedup -f seen --to-command=./not-there in >out 2>err || status=$?
	[ "$status" -eq 127 ]
	nothing_remembered
	: >not-executable
	status=0
	bloomdedup -f seen --to-command=./not-executable in 2>err ||
		status=$?
	[ "$status" -eq 126 ]
	nothing_remembered
	status=0
	bloomdedup -f seen --to-command='syntax (' in 2>err || status=$?
	[ "$status" -ne 0 ]
	nothing_remembered
}

@test "no shell: a message, and nothing is remembered" {
	skip_if_emulated "a shell script in front of it"
	prepare
	unshare --mount true 2>/dev/null || skip "needs the right to mount"
	rm -rf empty && : >empty
	chmod -x empty
	shell=$(readlink -f /bin/sh)
	# shellcheck disable=SC2016
	unshare --mount bash -c '
		mount --bind empty "$1" || exit 99
		"$2" -f seen --to-command=cat in >out 2>err
	' bash "$shell" "$BLOOMDEDUP" || status=$?
	[ "$status" -ne 99 ] || skip "needs the right to mount"
	[ "$status" -eq 127 ]
	[ ! -s out ]
	[ "$(wc -l <err)" -eq 1 ]
	grep -q '^bloomdedup: --to-command: ' err
	nothing_remembered
}

@test "a command that stops reading early has failed, whatever it says" {
	prepare
	# true may end before the first line is written, or after
	fails 3 '--to-command: ' bloomdedup -f seen --to-command=true in
	nothing_remembered
	fails 3 'before it had read everything' \
		bloomdedup -f seen --to-command='sleep 0.2; true' in
	nothing_remembered
	fails 3 'before it had read everything' bloomdedup -f seen \
		--to-command='sleep 0.2; dd bs=2 count=1 of=got 2>err' in
	echo a | cmp - got
	nothing_remembered
	# where the pipe is full
	seq 1 200000 >many
	for command in true 'head -n 1 >got' 'head -c 70000 >got'; do
		status=0
		bloomdedup -f seen --to-command="$command" in many \
			>out 2>err || status=$?
		[ "$status" -eq 3 ]
		grep -q '^bloomdedup: --to-command: ' err
		run ! grep -qv '^bloomdedup: --to-command: ' err
		nothing_remembered
	done
	# and where it fails for a reason of its own: that one is told
	fails 7 'exit status 7' bloomdedup -f seen \
		--to-command='head -n 1 >got; exit 7' in many
	nothing_remembered
}

@test "a command that reads nothing at all is told as such" {
	prepare
	seq 1000000 >many
	for lines in in many; do
		for command in : 'exit 0' 'exec <&-'; do
			fails 3 'ended before it had read everything' \
				bloomdedup -f seen --to-command="$command" $lines
		done
	done
	nothing_remembered
}

# As some daemons start what they start.
@test "SIGCHLD that is ignored from the start" {
	needs perl
	prepare
	perl -e '$SIG{CHLD} = "IGNORE"; exec @ARGV or die' "$BLOOMDEDUP" \
		-f seen --to-command='cat >got; sh -c "exit 3"; echo $? >got2' in
	cmp new got
	[ "$(cat got2)" -eq 3 ]
	all_remembered
}

@test "nothing new: the command is run all the same, with no input" {
	prepare
	echo old >known
	bloomdedup -f seen --to-command='wc -c >got' known
	[ "$(cat got)" -eq 0 ]
	bloomdedup -f seen --to-command='wc -c >got; exit 0' </dev/null
	# true has read all that there is
	bloomdedup -f seen --to-command=true known
	fails 5 'exit status 5' bloomdedup -f seen --to-command='exit 5' known
}

@test "a million lines go through; the command ends before they are remembered" {
	"$HELPER" lines 1000000 >in
	bloomdedup -f seen -n 1e6 -p 1e-12 --to-command='cat >got
		sleep 0.2
		cp seen.journal journal' in
	cmp in got
	[ ! -e seen.journal ]
	# beside its first frame the journal had digests, and no bit was set
	has_bytes 15000000 journal
	bloomdedup check -f seen in >known
	cmp in known
	bloomdedup -f seen --to-command='cat >got' in
	[ ! -s got ]
}

@test "while the command runs, no line of the run is remembered" {
	prepare
	bloomdedup -f seen --to-command="cat >got
		\"$BLOOMDEDUP\" check -v -f seen in >unknown" in
	printf 'a\nb\na\n' | cmp - unknown
	all_remembered
}

@test "a slow command is waited for" {
	prepare
	"$HELPER" lines 20000 >>in
	bloomdedup -f seen \
		--to-command="sleep 0.3; \"$HELPER\" pieces 5 >got" in
	[ "$(wc -l <got)" -eq 20002 ]
	all_remembered
}

@test "signals are in the command as they are by default" {
	prepare
	needs_proc
	cat >look <<-'END'
		cat >/dev/null
		grep -E '^Sig(Ign|Blk|Cgt):' /proc/self/status >signals
	END
	"$HELPER" defaults "$BLOOMDEDUP" -f seen --to-command='sh ./look' in
	# but 32 and 33, which are the C library's own, and which make ignores
	ignored=$(sed -n 's/^SigIgn:\t//p' signals)
	[ $((16#$ignored & ~(3 << 31))) -eq 0 ]
	[ "$(sed -n 's/^SigBlk:\t0*//p' signals)" = '' ]
	# SIGPIPE, 13, and SIGXFSZ, 25, also where they are ignored outside
	(
		trap '' PIPE XFSZ
		"$BLOOMDEDUP" -f seen --to-command='sh ./look' /dev/null
	)
	ignored=$(sed -n 's/^SigIgn:\t//p' signals)
	[ $((16#$ignored & (1 << 12 | 1 << 24))) -eq 0 ]
	# so a pipeline in it ends as everywhere
	timeout 20 "$BLOOMDEDUP" -f seen \
		--to-command='cat >/dev/null; yes | head -n 1 >got' /dev/null
	echo y | cmp - got
}

@test "the command reads the lines, and nothing else of ours is open in it" {
	prepare
	needs_proc
	bloomdedup -f seen --to-command='readlink /proc/self/fd/0 >zero
		for fd in /proc/self/fd/*; do readlink "$fd"; done >open
		cat >got' in 3>&-
	grep -q '^pipe:' zero
	run ! grep -E '/(seen|in|seen\.journal|\.bloomdedup.*)$' open
	cmp new got
}

@test "standard input is the input, not the command's" {
	prepare
	bloomdedup -f seen --to-command='cat >got' <in
	cmp new got
	all_remembered
}

@test "an input that can't be read: the command succeeds, nothing is remembered" {
	prepare
	mkdir directory
	fails 3 'directory: Is a directory' bloomdedup -f seen \
		--to-command='cat >got' in directory
	nothing_remembered
}

@test "SIGTERM: the command sees the end, nothing is remembered" {
	prepare
	mkfifo pipe
	"$HELPER" defaults "$BLOOMDEDUP" -f seen --to-command='cat >got' \
		<pipe >out 2>err 3>&- &
	pid=$!
	exec 7>pipe
	cat in >&7
	until_true has_bytes 4 got
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	exec 7>&-
	[ "$status" -eq 143 ]
	nothing_remembered
}

@test "kill -9 of the run: nothing is remembered" {
	prepare
	mkfifo pipe
	"$BLOOMDEDUP" -f seen --to-command='cat >got' <pipe >out 2>err 3>&- &
	pid=$!
	exec 7>pipe
	cat in >&7
	until_true has_bytes 4 got
	kill -KILL $pid
	wait $pid 2>/dev/null || true
	exec 7>&-
	bloomdedup add -f seen /dev/null
	nothing_remembered
	bloomdedup -f seen --to-command='cat >got' in
	cmp new got
	all_remembered
}

@test "without a filter file, too" {
	printf 'a\na\nb\n' | bloomdedup --to-command='cat >got'
	printf 'a\nb\n' | cmp - got
	printf 'a\n' >line
	fails 9 'status 9' bloomdedup --to-command='cat >got; exit 9' line
}

@test "-d, -z and --duplicates beside it" {
	prepare
	bloomdedup -d -f seen --to-command='cat >got' in
	printf 'old\na\n' | cmp - got
	all_remembered
	printf 'x\ny\0z\0' >records
	bloomdedup -z -f other --to-command="tr '\\0' '|' >got" records
	printf 'x\ny|z|' | cmp - got
	rm seen
	bloomdedup -f seen --duplicates=dup --to-command='cat >got' in
	printf 'old\na\nb\n' | cmp - got
	echo a | cmp - dup
	echo c >>in
	fails 6 'status 6' bloomdedup -f seen --duplicates=dup \
		--to-command='cat >got; exit 6' in
	echo a | cmp - dup
}

@test "it cannot be combined with -o, -q, --shared or --sync" {
	echo a >in
	fails 2 to-command bloomdedup -f seen --to-command=cat -o out in
	fails 2 to-command bloomdedup -f seen --to-command=cat -q in
	fails 2 to-command bloomdedup -f seen --to-command=cat --shared in
	fails 2 to-command bloomdedup -f seen --to-command=cat --sync in
	[ ! -e seen ]
}

@test "a crawler: pages count as seen when all were fetched" {
	cat >fetch-and-log <<-'END'
		#!/bin/sh
		for url; do
			[ ! -e broken ] || case $url in *7) exit 1 ;; esac
			echo "$url" >>fetched
		done
	END
	chmod +x fetch-and-log
	for ((i = 1; i <= 200; i++)); do
		echo "https://example.org/?q=$i%20'&\"x"
	done >urls.txt
	crawl() {
		bloomdedup -f seen.bloom \
			--to-command "xargs -r -d '\n' -n 50 ./fetch-and-log" \
			urls.txt
	}
	sed 's/20.*$/7/' urls.txt | head -n 3 >>urls.txt
	: >broken
	status=0
	crawl 2>err || status=$?
	[ "$status" -eq 123 ]
	grep -q 'exit status 123' err
	rm broken fetched
	crawl
	cmp urls.txt fetched
	crawl
	cmp urls.txt fetched
	echo https://example.org/new >>urls.txt
	crawl
	cmp urls.txt fetched
}
