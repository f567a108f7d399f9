# -j: any number of threads does the same, and few lines need none.
load ../common

# same_filters A B: their layers have the same bits; when each was made is not
# the same.
same_filters() {
	cmp <(tail -c +12289 "$1") <(tail -c +12289 "$2")
}

# same_with_any OPTION...: output and filter are those of one thread, with
# every number of them.
same_with_any() {
	local n
	bloomdedup create -n 20000 -p 0.1 "${FILTER_OPTIONS[@]}" empty
	for n in 1 2 3 7 16; do
		cp empty "seen$n"
		bloomdedup -j "$n" -f "seen$n" "$@" >"out$n"
		[ -s "out$n" ]
		cmp out1 "out$n"
		same_filters seen1 "seen$n"
	done
}

# Many lines, half of them twice, so many that each of 16 threads gets some; at
# this error rate many are dropped by mistake, and which ones they are must not
# depend on the threads.
setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	"$HELPER" lines 40000 1 >a
	"$HELPER" lines 40000 2 >b
	cat a b a >in
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	FILTER_OPTIONS=()
	ln "$BATS_FILE_TMPDIR"/{a,b,in} .
}

@test "the output and the filter are the same with any number of threads" {
	same_with_any in
}

# How much a read gives differs, and so which lines are dropped by mistake.
@test "the same from a pipe" {
	bloomdedup -j 1 -p 1e-9 in >want
	for n in 1 2 5; do
		cat in | bloomdedup -j "$n" -p 1e-9 >out
		cmp want out
		"$HELPER" pieces 1 <in | bloomdedup -j "$n" -p 1e-9 >out
		cmp want out
	done
}

@test "the same with -d, --sync, --atomic, and in private memory" {
	same_with_any -d in
	for n in 1 4; do
		cp empty "seen$n"
		bloomdedup -j "$n" --sync -f "seen$n" in >"out$n"
		cp empty "atomic$n"
		bloomdedup -j "$n" --atomic -f "atomic$n" in >"atomic.out$n"
		cp empty "private$n"
		BLOOMDEDUP_PRIVATE=1,100000 bloomdedup -j "$n" \
			-f "private$n" in >"private.out$n"
	done
	cmp out1 out4
	same_filters seen1 seen4
	cmp atomic.out1 atomic.out4
	same_filters atomic1 atomic4
	cmp private.out1 private.out4
	same_filters private1 private4
}

# What is held back while another batch is hashed; in the long form it outgrows
# its memory.
@test "the same with --atomic and many new lines" {
	local n
	n=$(short_or_long 100000 500000)
	"$HELPER" lines "$n" 5 >many
	head -n $((n / 5)) many >some
	bloomdedup create -n $((n * 4 / 3)) -p 1e-9 known
	bloomdedup add -f known some
	tail -n +$((n / 5 + 1)) many >want
	for n in 1 2 4 16; do
		cp known seen
		bloomdedup -j "$n" --atomic -f seen -o out many many
		cmp want out
		bloomdedup check -v -f seen many >out || true
		[ ! -s out ]
	done
}

@test "two readers of one open file share its lines" {
	# The number at both ends: the start of one line with the end of another
	# is no line of the input, which would be dropped as a repeat.
	rm in
	awk 'BEGIN { for (i = 0; i < 70000; i++)
		printf "%06d line %06d\n", i, i }' >in
	for round in 1 2 3; do
		{
			"$BLOOMDEDUP" -j 2 >one &
			"$BLOOMDEDUP" -j 2 >two
			wait
		} <in
		# one read may end within a line, another one goes on there
		cat one two | tr -dc '0-9' | wc -c >digits
		[ "$(cat digits)" -eq "$(tr -dc '0-9' <in | wc -c)" ]
	done
}

@test "files that don't say how long they are" {
	needs_proc
	bloomdedup -j 2 /proc/version >out
	cmp /proc/version out
}

@test "the same with keys, CSV, and lines that end in NUL" {
	FILTER_OPTIONS=(-k 1 -t 1)
	same_with_any in
	FILTER_OPTIONS=(-i -s 2 -w 9)
	rm empty
	same_with_any in
	tr '\n' '\0' <in >in0
	FILTER_OPTIONS=(-z)
	rm empty
	same_with_any in0
	sed 's/^\(.*\)$/"\1","a""b"/' in >csv
	FILTER_OPTIONS=(--csv -k 2,1)
	rm empty
	same_with_any csv
}

@test "the same dropped lines go to --duplicates" {
	same_with_any --duplicates=dropped1 in
	cp empty seen2
	bloomdedup -j 2 -f seen2 --duplicates=dropped2 in >out
	cp empty seen1
	bloomdedup -j 1 -f seen1 --duplicates=dropped1 in >out
	[ -s dropped1 ]
	cmp dropped1 dropped2
}

@test "check finds the same with any number of threads" {
	bloomdedup add -f seen -n 20000 -p 0.1 a
	bloomdedup check -j 1 -f seen in >want
	for n in 2 3 16; do
		bloomdedup check -j "$n" -f seen in >out
		cmp want out
	done
	bloomdedup add -j 3 -f seen b
	bloomdedup check -j 2 -f seen in >out
	cmp in out
}

@test "long lines among short ones, and much that is new" {
	{
		cat a
		head -c 700000 /dev/zero | tr '\0' x
		echo
		cat b
	} >long
	bloomdedup -j 1 -p 1e-9 long >want
	cmp long want
	for n in 2 4; do
		bloomdedup -j "$n" -p 1e-9 long >out
		cmp want out
	done
}

@test "a file of any length is read whole, from where it stands" {
	for size in 131071 131072 131073 262143 262144 262145 393217 524288 \
		1000000; do
		head -c "$size" in >part
		bloomdedup -j 2 -p 1e-9 part >out
		head -c "$size" in | bloomdedup -j 1 -p 1e-9 >want
		cmp want out
	done
	{
		dd bs=1000 count=1 of=begin 2>/dev/null
		bloomdedup -j 2 -p 1e-9 >out
		wc -c >left
	} <in
	tail -c +1001 in | bloomdedup -j 1 -p 1e-9 >want
	cmp want out
	[ "$(cat left)" -eq 0 ]
}

# threads_of PID: how many it has, without the one of an emulator
threads_of() {
	local n
	n=$(ls "/proc/$1/task" | wc -l)
	[ -z "${UNDER_EMULATOR-}" ] || n=$((n - 1))
	echo "$n"
}

@test "many lines have as many threads as -j says" {
	"$HELPER" lines 200000 9 >many # more than a pipe holds
	for n in 1 2 4; do
		rm -f pipe
		mkfifo pipe
		"$BLOOMDEDUP" -j "$n" many >pipe &
		exec 7<pipe
		head -c 1 <&7 >/dev/null
		for ((i = 0; i < 1000; i++)); do
			[ "$(threads_of $!)" -lt "$n" ] || break
			sleep 0.01
		done
		# the thread sanitizer has one of its own
		[ "$(threads_of $!)" -ge "$n" ]
		[ "$(threads_of $!)" -lt $((2 * n)) ]
		cat <&7 >/dev/null
		wait $!
		exec 7<&-
	done
}

# threads_in FILE: how many worked, as --stats=json says in it.
threads_in() {
	sed -n 's/.*"threads": \([0-9]*\),.*/\1/p' "$1"
}

# used N COMMAND...: how many threads work where there are N processors.
used() {
	local n=$1
	shift
	"${PRELOADED[@]}" "PROCESSORS=$n" "$BLOOMDEDUP" --stats=json "$@" \
		2>err >"${to:-/dev/null}" || return 1
	[ -e fired ] || [ "$n" -eq 0 ]
	rm -f fired
	threads_in err
}

@test "without -j, large input has a thread for each processor, up to four" {
	needs_preload
	"$HELPER" lines 100000 9 >many
	for n in 1 2 3 4 9; do
		want=$((n < 4 ? n : 4))
		[ "$(used "$n" many)" -eq $want ]
		[ "$(to=out used "$n" many)" -eq $want ]
		bloomdedup -j 1 many | cmp - out
		[ "$(used "$n" -q many)" -eq $want ]
		# many inputs may be large together
		[ "$(used "$n" in in in)" -eq $want ]
	done
	# another program has the processor at the other end of a pipe
	for n in 1 2 3 4 5 9; do
		one_less=$((n < 5 ? n - 1 : 4)) two_less=$((n < 6 ? n - 2 : 4))
		[ "$(cat many | used "$n")" -eq $((one_less > 1 ? one_less : 1)) ]
		mkfifo pipe
		cat pipe >out &
		[ "$(to=pipe used "$n" many)" -eq \
			$((one_less > 1 ? one_less : 1)) ]
		cat pipe >out &
		[ "$(cat many | to=pipe used "$n")" -eq \
			$((two_less > 1 ? two_less : 1)) ]
		rm pipe
	done
	# what is given counts, wherever it runs
	for n in 1 3 16; do
		[ "$(cat many | used 2 -j "$n")" -eq "$n" ]
	done
}

@test "without -j, a group with a share of the processors counts" {
	needs_preload
	grep -q ^0:: /proc/self/cgroup || skip "needs groups of version 2"
	"$HELPER" lines 100000 9 >many
	export CPU_MAX=$PWD/share
	while read -r want share; do
		echo "$share" >share
		echo "$share: $want"
		[ "$(used 3 many)" -eq "$want" ]
	done <<-'END'
		1 100000 100000
		1 50000 100000
		1 1000 100000
		2 100001 100000
		2 200000 100000
		3 900000 100000
		3 max 100000
	END
}

@test "without -j, small input and lines that come one by one have one thread" {
	needs_preload
	needs python3
	"$HELPER" lines 5000 9 >few
	[ "$(stat -c %s few)" -lt 262144 ]
	"${PRELOADED[@]}" PROCESSORS=4 "$BLOOMDEDUP" --stats=json few \
		2>err >out
	[ "$(threads_in err)" -eq 1 ]
	[ ! -e fired ] # nobody asked how many there are
	# as many bytes as large input has, each line after the answer to the last
	python3 - "${PRELOADED[@]}" PROCESSORS=4 "$BLOOMDEDUP" --stats=json \
		2>err <<-'PYTHON'
		import subprocess, sys
		run = subprocess.Popen(sys.argv[1:], bufsize=0,
		    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
		for i in range(3000):
		    line = b"%0200d\n" % i
		    run.stdin.write(line)
		    assert run.stdout.read(len(line)) == line
		run.stdin.close()
		sys.exit(run.wait())
	PYTHON
	[ "$(threads_in err)" -eq 1 ]
}

@test "a signal is heard while threads wait for input or output" {
	! grep -q __tsan_init "$BLOOMDEDUP" ||
		skip "the thread sanitizer may hold a signal back for ever"
	mkfifo pipe
	for n in 1 4; do
		"$BLOOMDEDUP" -j "$n" <pipe >out &
		exec 7>pipe
		until_true test -e "/proc/$!/exe"
		sleep 0.1
		kill -TERM $!
		status=0
		wait $! || status=$?
		[ "$status" -eq 143 ]
		exec 7>&-
		"$BLOOMDEDUP" -j "$n" in in in >pipe &
		exec 7<pipe
		head -c 1 <&7 >/dev/null
		sleep 0.1
		kill -TERM $!
		status=0
		wait $! || status=$?
		[ "$status" -eq 143 ]
		exec 7<&-
	done
}

@test "a number of threads that can't be is refused" {
	for n in 0 17 -1 x '' 1.5; do
		fails 2 'threads from 1 to 16' bloomdedup -j "$n" a
		fails 2 'threads from 1 to 16' bloomdedup "--threads=$n" a
	done
	fails 2 --threads bloomdedup create -j 2 seen
}

@test "where no thread can be had it goes on without" {
	skip_if_emulated "threads of its own"
	! grep -qE '__(asan|tsan)_init' "$BLOOMDEDUP" ||
		skip "the sanitizers need threads"
	needs_strace
	bloomdedup in >want
	strace -qq -o trace -e trace=clone,clone3 \
		-e inject=clone,clone3:error=EAGAIN \
		"$BLOOMDEDUP" -j 4 in >out 2>err
	grep -q INJECTED trace
	[ ! -s err ]
	cmp want out
}
