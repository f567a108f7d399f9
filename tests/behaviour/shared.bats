# --shared: several runs on one filter, none of which loses a line.
load ../common

processes=16
factor=$(short_or_long 1 20)

# divide: the lines of `in` in parts that overlap by a half: each line is in
# two of them.
divide() {
	local i
	rm -f half.*
	split -a 2 -d -l $(($(wc -l <in) / processes)) in half.
	local halves=(half.*)
	for ((i = 0; i < processes; i++)); do
		cat "${halves[i]}" "${halves[(i + 1) % processes]}" >part.$i
	done
}

# all_at_once ARGUMENT...: a run for each part, all at once.
all_at_once() {
	local i pids=()
	for ((i = 0; i < processes; i++)); do
		"$BLOOMDEDUP" --shared -f seen "$@" part.$i >out.$i \
			2>err.$i 3>&- &
		pids[i]=$!
	done
	for ((i = 0; i < processes; i++)); do
		if ! wait "${pids[i]}"; then
			cat err.$i
			return 1
		fi
	done
}

# nothing_lost: each line of `in` is in one of the outputs at least.
nothing_lost() {
	sort in >want
	cat out.* | sort -u | cmp want -
	bloomdedup check -f seen in | cmp in -
}

# Counters and bits say the same, within a few percent of what is in the
# filter: LINES lines, of which REPEATS were marked by two runs, in a filter of
# one layer for CAPACITY. What killed runs had claimed counts, too.
counters_agree() {
	local lines=$1 capacity=$2 repeats=${3:-0} room
	room=$(figure room seen)
	estimate=$(figure lines seen)
	echo "room $room, about $estimate lines, of $lines for $capacity"
	[ $((capacity - room)) -ge $((lines - lines / 25)) ]
	[ $((capacity - room)) -le $((lines + repeats + lines / 8)) ]
	[ "$estimate" -ge $((lines - lines / 50)) ]
	[ "$estimate" -le $((lines + lines / 50)) ]
}

@test "one run with --shared does what it does without" {
	"$HELPER" lines 20000 >in
	cat in in | bloomdedup --shared -f seen -n 100 -p 1e-12 >out
	cmp in out
	bloomdedup --shared -f seen in >out
	[ ! -s out ]
	bloomdedup -f seen in >out
	[ ! -s out ]
	bloomdedup add --shared -f other in
	bloomdedup check -f other in | cmp in -
	no_leftovers
}

@test "many runs at once: no line is lost, and repeats are few" {
	"$HELPER" lines $((40000 * factor)) >in
	divide
	# room for all of them twice: how often it happens depends on the machine
	bloomdedup create -n $((90000 * factor)) -p 1e-12 seen
	all_at_once
	nothing_lost
	# a line comes out twice only where two runs had it in the same moment
	repeats=$(($(cat out.* | wc -l) - $(wc -l <in)))
	echo "# $repeats of $(wc -l <in) lines were in two outputs" >&3
	[ "$repeats" -ge 0 ]
	[ "$repeats" -le "$(wc -l <in)" ]
	counters_agree $((40000 * factor)) $((90000 * factor)) $repeats
	# a later run finds all of them
	cat in | bloomdedup --shared -f seen >out
	[ ! -s out ]
}

@test "the same lines in all runs, over and over" {
	"$HELPER" lines 5000 >in
	for ((i = 0; i < processes; i++)); do
		cat in in in >part.$i
	done
	bloomdedup create -n 10000 -p 1e-12 seen
	all_at_once
	nothing_lost
	for ((i = 0; i < processes; i++)); do
		sort out.$i | uniq -d >twice
		[ ! -s twice ]
	done
}

@test "all make the filter at once, and all grow it at once" {
	"$HELPER" lines $((30000 * factor)) >in
	divide
	bloomdedup -n 100 -p 1e-12 -f alone in >out
	layers=$(layers alone)
	for ((round = 0; round < 3; round++)); do
		rm -f seen
		all_at_once -n 100 -p 1e-12
		nothing_lost
		no_leftovers
		bloomdedup info seen | grep -q "^  layer $layers"
		# not many more layers than one run makes
		more="^  layer $((layers + 4))"
		run ! grep -q "$more" <(bloomdedup info seen)
		estimate=$(figure lines seen)
		# a line that came out twice may be in two layers
		most=$(cat out.* | wc -l)
		[ "$estimate" -ge $((29000 * factor)) ]
		[ "$estimate" -le $((most + most / 20)) ]
	done
}

@test "runs that are killed at random moments: nothing is lost" {
	"$HELPER" lines $((40000 * factor)) >in
	divide
	bloomdedup create -n 100 -p 1e-12 seen
	for ((i = 0; i < processes; i++)); do
		: >out.$i
		(
			for ((j = 0; j < 4; j++)); do
				"$HELPER" kill-after $((RANDOM * 3)) \
					"$BLOOMDEDUP" --shared -f seen \
					part.$i >>out.$i 2>>err.$i || true
			done
			"$BLOOMDEDUP" --shared -f seen part.$i \
				>>out.$i 2>>err.$i
		) 3>&- &
		pids[i]=$!
	done
	for ((i = 0; i < processes; i++)); do
		wait "${pids[i]}" || {
			cat err.$i
			false
		}
	done
	# torn lines are one a kill at most, each on a line of its own
	sort in >want
	cat out.* | sort -u >got
	comm -23 want got >lost
	[ ! -s lost ]
	comm -13 want got >torn
	[ "$(wc -l <torn)" -le $((4 * processes)) ]
	bloomdedup check -f seen in | cmp in -
	bloomdedup -f seen in >out
	[ ! -s out ]
	# to make a filter larger can take more than a second; then the lock is
	# a process's, or has no owner at the moment that one is looked for
	grep -hv 'its last line is torn\|passed the\|waiting for \(process\|another run\)' \
		err.* >others || true
	cat others
	[ ! -s others ]
}

@test "runs that mark in the same moment don't fill a layer beyond its room" {
	needs_strace
	bloomdedup create -n 1000 -p 1e-6 seen
	# all of them see room for 1000, and then take half a second to write
	for ((i = 0; i < 6; i++)); do
		"$HELPER" lines 1000 $i >part.$i
		strace -qq -o trace.$i -e trace=write \
			-e inject=write:delay_enter=500000:when=1 \
			"$BLOOMDEDUP" --shared -f seen part.$i \
			>out.$i 2>err.$i 3>&- &
		pids[i]=$!
	done
	for ((i = 0; i < 6; i++)); do
		wait "${pids[i]}"
	done
	grep -q DELAYED trace.0
	cat part.* >in
	"$HELPER" lines 20000 99 >others
	status=0
	bloomdedup check -f seen others >mistakes || status=$?
	bloomdedup info --json seen
	# at 1e-6, one of 20,000 is a chance of a fiftieth; three of a million
	[ "$(wc -l <mistakes)" -le 2 ]
}

@test "what killed runs marked is counted in the end" {
	local rounds
	rounds=$(short_or_long 40 100)
	"$HELPER" lines 10000 >in
	bloomdedup create -n 10000 -p 1e-12 seen
	# each marks 70 lines and more and is killed: a hundredth of the
	# capacity is told at a time, and no run counted these
	mkfifo pipe
	for ((i = 0; i < rounds; i++)); do
		"$BLOOMDEDUP" --shared -f seen <pipe >out 3>&- &
		pid=$!
		exec 7>pipe
		sed -n "$((i * 75 + 1)),$(((i + 1) * 75))p" in >part
		cat part >&7
		size=$(stat -c %s part)
		until_true has_bytes "$size" out
		# it reads again, so it has marked
		until_idle $pid
		{
			kill -KILL $pid
			wait $pid || true
		} 2>/dev/null
		exec 7>&-
		# one that ends well says that no run marks any more
		echo "new $i" | bloomdedup add --shared -f seen
	done
	counters_agree $((76 * rounds)) 10000
}

@test "an exclusive run waits for those that share, and they for it" {
	mkfifo pipe
	"$BLOOMDEDUP" --shared -f seen <pipe >out 3>&- &
	sharing=$!
	exec 7>pipe
	echo a >&7
	until_true has_bytes 2 out
	echo b >line
	fails 75 'in use by' bloomdedup -f seen --lock-timeout=0 line
	fails 75 'in use by' bloomdedup --atomic -f seen --lock-timeout=0 line
	fails 75 'in use by' bloomdedup create --force --lock-timeout=0 seen
	bloomdedup --shared -f seen --lock-timeout=0 line >out2
	cmp line out2
	"$BLOOMDEDUP" -f seen line >out3 2>err3 3>&- 7>&- &
	exclusive=$!
	until_true grep -q waiting err3
	exec 7>&-
	wait $sharing
	wait $exclusive
	[ ! -s out3 ]
	# the other way round
	"$BLOOMDEDUP" -f seen <pipe >out 3>&- &
	exclusive=$!
	exec 7>pipe
	echo c >&7
	until_true has_bytes 2 out
	fails 75 'in use by' bloomdedup --shared -f seen --lock-timeout=0 line
	exec 7>&-
	wait $exclusive
	bloomdedup --shared -f seen --lock-timeout=0 line >out2
	[ ! -s out2 ]
}

@test "what one run marks, another sees; layers that one adds, too" {
	bloomdedup create -n 100 -p 1e-12 seen
	mkfifo one two
	"$BLOOMDEDUP" --shared -f seen <one >out1 2>err1 3>&- &
	first=$!
	exec 7>one
	"$BLOOMDEDUP" --shared -f seen <two >out2 2>err2 3>&- 7>&- &
	second=$!
	exec 8>two
	"$HELPER" lines 5000 >in
	echo a >&7
	echo b >&8
	until_true has_bytes 2 out1
	until_true has_bytes 2 out2
	cat in >&7
	until_true has_bytes $(($(stat -c %s in) + 2)) out1
	# it reads again, so it has marked
	until_idle $first
	sleep 0.2
	printf 'a\nnew\n' >&8
	cat in >&8
	echo end >&8
	until_true has_bytes 10 out2
	exec 7>&- 8>&-
	wait $first
	wait $second
	printf 'b\nnew\nend\n' | cmp - out2
}

@test "check, info and merge beside runs that share" {
	"$HELPER" lines $((100000 * factor)) >in
	divide
	bloomdedup create -n 1000 -p 1e-12 seen
	all_at_once &
	running=$!
	head -n 10 in >few
	while kill -0 $running 2>/dev/null; do
		bloomdedup info --json seen >info
		status=0
		bloomdedup check -f seen few >found || status=$?
		[ "$status" -le 1 ]
		bloomdedup merge --force -o copy seen >/dev/null
		bloomdedup info copy >/dev/null
	done
	wait $running
	nothing_lost
}

@test "a filter that may not grow: as many as planned, and a batch a run" {
	"$HELPER" lines 30000 >in
	divide
	bloomdedup create -n 10000 --on-full=fail -p 1e-12 seen
	for ((i = 0; i < processes; i++)); do
		"$BLOOMDEDUP" --shared -f seen part.$i >out.$i 2>err.$i 3>&- &
		pids[i]=$!
	done
	full=0
	for ((i = 0; i < processes; i++)); do
		status=0
		wait "${pids[i]}" || status=$?
		if [ "$status" -ne 0 ]; then
			[ "$status" -eq 4 ]
			[ "$(grep -vc 'waiting for \(process\|another run\)' \
				err.$i)" -eq 1 ]
			full=$((full + 1))
		fi
		cat out.$i >>all
	done
	[ "$full" -ge 1 ]
	sort -u all >got
	comm -13 <(sort in) got >strange
	[ ! -s strange ]
	# what went out is remembered
	bloomdedup check -f seen got | cmp got -
	# a line that two of them marked was counted twice
	[ "$(wc -l <got)" -ge 4500 ]
	[ "$(wc -l <got)" -le $((10000 + processes * 1024)) ]
}

@test "SIGTERM in one of them: what it printed is remembered, others go on" {
	bloomdedup create -n 1000 seen
	mkfifo one two
	"$HELPER" defaults "$BLOOMDEDUP" --shared -f seen <one >out1 2>err1 3>&- &
	first=$!
	exec 7>one
	"$BLOOMDEDUP" --shared -f seen <two >out2 2>err2 3>&- 7>&- &
	second=$!
	exec 8>two
	echo a >&7
	echo b >&8
	until_true has_bytes 2 out1
	until_true has_bytes 2 out2
	kill -TERM $first
	status=0
	wait $first || status=$?
	[ "$status" -eq 143 ]
	printf 'a\nc\n' >&8
	until_true has_bytes 4 out2
	exec 7>&- 8>&-
	wait $second
	printf 'b\nc\n' | cmp - out2
	[ "$(figure room seen)" -eq 997 ]
}

# hold_table: a process that has the lock on the table of layers until it is
# killed; as one that was stopped at the wrong moment.
hold_table() {
	needs python3
	python3 -c '
import fcntl, sys, time
f = open(sys.argv[1], "r+b")
fcntl.lockf(f, fcntl.LOCK_EX, 8192, 4096)
print("locked", flush=True)
time.sleep(600)' seen >holds 7>&- &
	holder=$!
	until_true grep -q locked holds
}

@test "a run that is stopped while it has the table: the others say so" {
	echo a | bloomdedup -f seen
	echo b >in
	hold_table
	fails 75 "seen: in use by process $holder" \
		bloomdedup --shared --lock-timeout=0 -f seen in
	"$BLOOMDEDUP" --shared -f seen in >out 2>err &
	pid=$!
	until_true grep -q "seen: waiting for process $holder" err
	kill $holder
	wait $pid
	echo b | cmp - out
	[ "$(wc -l <err)" -eq 1 ]
}

@test "a run that ends writes nothing after it may have lost its lock" {
	skip_if_emulated "calls of its own"
	needs_strace
	bloomdedup create seen
	mkfifo pipe
	"$BLOOMDEDUP" --shared -f seen <pipe >other 2>err2 3>&- &
	exec 7>pipe
	echo a >&7
	until_true has_bytes 2 other
	echo b | strace -qq -o trace -e trace=flock,pwrite64 \
		"$BLOOMDEDUP" --shared -f seen >out 2>err
	exec 7>&-
	wait $!
	grep -q '^pwrite64' trace
	tail -n 1 trace | grep '^flock(.*LOCK_EX|LOCK_NB) *= -1 EAGAIN'
	# the last one of all says that nobody marks any more
	echo c | strace -qq -o trace -e trace=flock,pwrite64 \
		"$BLOOMDEDUP" --shared -f seen >out 2>err
	tail -n 1 trace | grep '^pwrite64'
}

@test "SIGTERM while another one has the table: an end" {
	echo a | bloomdedup -f seen
	echo b >in
	hold_table
	"$BLOOMDEDUP" --shared -f seen in >out 2>err &
	pid=$!
	until_true grep -q "seen: waiting for" err
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	kill $holder
	[ "$status" -eq 143 ]
	[ ! -s out ]
}

@test "a damaged table is healed, and one that is worse is refused" {
	"$HELPER" lines 100 >in
	bloomdedup add -n 1000 -f seen in
	"$HELPER" flip seen 4200 1
	bloomdedup --shared -f seen in >out
	[ ! -s out ]
	"$HELPER" flip seen 8300 1
	bloomdedup -f seen in >out
	[ ! -s out ]
	"$HELPER" flip seen 4200 1
	"$HELPER" flip seen 8300 1
	fails 3 seen bloomdedup --shared -f seen in
}

@test "it cannot be combined with --sync, --atomic, --to-command, or no filter" {
	echo a >in
	fails 2 --shared bloomdedup --shared --sync -f seen -o out in
	fails 2 --shared bloomdedup --shared --atomic -f seen in
	fails 2 --shared bloomdedup --shared --to-command=cat -f seen in
	fails 2 --shared bloomdedup --shared in
	fails 2 shared bloomdedup check --shared -f seen in
	[ ! -e seen ]
	[ ! -e out ]
}

@test "what others marked before a run marks for the first time is counted" {
	needs_strace
	skip_if_emulated "calls of its own"
	bloomdedup create -n 100 seen
	echo a >in
	# after its first look for lines, it is held up where it locks the table
	strace -f -qq -o trace -P "$PWD/seen" -e trace=fcntl,fcntl64 \
		-e inject=fcntl,fcntl64:delay_enter=4000000:when=5 "$BLOOMDEDUP" \
		--shared -f seen in >out 2>err 3>&- &
	run=$!
	until_true test -e out
	sleep 1
	seq 90 | bloomdedup --shared -f seen -q
	wait $run
	grep -q DELAYED trace
	[ "$(cat out)" = a ]
	bloomdedup info --json seen | grep -q '"room": 9,'
}

# slot_flags FILTER: the flags of its newest slot
slot_flags() {
	local slot
	for slot in 4096 8192; do
		od --endian=little -An -t u8 -j $((slot + 8)) -N 8 "$1" | tr '\n' ' '
		od --endian=little -An -t u4 -j $((slot + 44)) -N 4 "$1"
	done | sort -n | tail -n 1 | awk '{ print $2 }'
}

@test "the locks and flags of a run that shares its filter are those of bloomdedup(5)" {
	needs python3
	bloomdedup create -n 1000 f
	mkfifo in
	bloomdedup --shared -f f in >out 3>&- &
	run=$!
	exec 9>in
	echo a >&9
	until_true [ -s out ]
	echo b | bloomdedup --shared -f f | cmp - <(echo b)
	[ "$(slot_flags f)" -eq 1 ]
	python3 - <<-'PYTHON'
		import fcntl, struct
		file = open("f", "r+b")
		def locked(start, length, kind):
		    # who would be in the way of this lock?
		    asked = struct.pack("hhqqi4x", kind, 0, start, length, 0)
		    return struct.unpack("hhqqi4x", fcntl.fcntl(file, fcntl.F_GETLK,
		        asked))[0]
		assert locked(12289, 1, fcntl.F_WRLCK) == fcntl.F_RDLCK
		assert locked(4096, 8192, fcntl.F_WRLCK) == fcntl.F_UNLCK
		try:
		    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
		    raise SystemExit("nobody has the lock")
		except BlockingIOError:
		    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
	PYTHON
	exec 9>&-
	wait $run
	[ "$(slot_flags f)" -eq 0 ]
}
