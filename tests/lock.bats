# Several runs on one filter: one after the other.
load common

# hold: a run on the filter `seen` that reads a pipe, descriptor 7, and so
# keeps the lock until let_go; its process is $holder.
hold() {
	mkfifo in
	"$BLOOMDEDUP" -f seen <in >held 2>held.err 3>&- &
	holder=$!
	exec 7>in
	echo held >&7
	until_true has_bytes 5 held
}

let_go() {
	exec 7>&-
	wait "$holder"
}

@test "--lock-timeout=0 ends at once with 75 and names who holds the lock" {
	hold
	echo more >more
	fails 75 "process $holder (" bloomdedup -f seen --lock-timeout=0 more
	fails 75 "seen: " bloomdedup add -f seen --lock-timeout=0 more
	fails 75 "seen: " bloomdedup create --force --lock-timeout=0 seen
	fails 75 "(--lock-timeout)" bloomdedup add -f seen --lock-timeout=0.05 more
	let_go
	bloomdedup -f seen --lock-timeout=0 more >out
	cmp more out
}

@test "another run waits, says so, and goes on when the first one ends" {
	hold
	printf 'held\nmore\n' >more
	"$BLOOMDEDUP" -f seen more >out 2>err 3>&- 7>&- &
	second=$!
	until_true grep -q "^bloomdedup: seen: waiting for process $holder " err
	[ ! -s out ]
	kill -0 $second
	echo later >&7
	until_true has_bytes 11 held
	let_go
	wait $second
	echo more | cmp - out
	[ "$(wc -l <err)" -eq 1 ]
}

@test "a run that waits less than a second says nothing" {
	echo held >line
	echo more >more
	for i in 1 2 3 4 5; do
		bloomdedup -f seen line >/dev/null &
		bloomdedup -f seen more >/dev/null 2>err
		wait $!
	done
	[ ! -s err ]
}

@test "check and info work while a run holds the lock" {
	hold
	echo held >line
	bloomdedup check -f seen line >out
	cmp line out
	bloomdedup check -q -f seen line
	bloomdedup info seen >out
	grep -q "process $holder (" out
	bloomdedup info --json seen >out
	let_go
	bloomdedup info seen >out
	run ! grep -q process out
}

@test "the lock is free after kill -9" {
	hold
	kill -KILL "$holder"
	wait "$holder" || true
	exec 7>&-
	echo more | bloomdedup -f seen --lock-timeout=0 >out
	echo more | cmp - out
}

@test "the lock isn't inherited by what the shell starts" {
	mkfifo in
	"$BLOOMDEDUP" -f seen <in >held 3>&- &
	exec 7>in
	exec 7>&-
	wait $!
	echo more | bloomdedup -f seen --lock-timeout=0
}

@test "two runs in one pipeline on one filter: an end and a message" {
	seq 1 1000000 >in # more than the pipes hold
	"$HELPER" defaults bash -c '"$1" -f seen --lock-timeout=0.2 in 2>err1 |
		cat | "$1" -f seen --lock-timeout=0.2 >out 2>err2
		echo "${PIPESTATUS[*]}" >statuses' bash "$BLOOMDEDUP"
	# one of them has the lock; the other gives up
	grep -q 75 statuses
	cat err1 err2 >err
	grep -q '^bloomdedup: seen: in use by ' err
}

@test "eight runs at once on one new filter: each line comes out once" {
	"$HELPER" lines 20000 >in
	for i in 1 2 3 4 5 6 7 8; do
		tail -n +$((i * 1000)) in >part.$i
		head -n $((i * 1000)) in >>part.$i
		"$BLOOMDEDUP" -f seen -n 1000 -p 1e-12 part.$i >out.$i 2>err.$i 3>&- &
		pids[i]=$!
	done
	for i in 1 2 3 4 5 6 7 8; do
		wait "${pids[i]}"
	done
	cat out.* | sort >got
	sort in | cmp - got
	no_leftovers
}

@test "two runs at once make one filter between them" {
	echo a >in
	for ((i = 0; i < 30; i++)); do
		rm -f seen
		"$BLOOMDEDUP" -f seen in >one 3>&- &
		"$BLOOMDEDUP" -f seen in >two 3>&-
		wait $!
		cat one two | cmp in -
	done
	no_leftovers
}

@test "create beside create: one makes it, the other one says it's there" {
	for ((i = 0; i < 20; i++)); do
		rm -f seen
		status=0 other=0
		"$BLOOMDEDUP" create -n 1000 seen 2>/dev/null 3>&- &
		"$BLOOMDEDUP" create -n 1000 seen 2>/dev/null || status=$?
		wait $! || other=$?
		[ $((status + other)) -eq 3 ]
	done
	no_leftovers
}

@test "a filter that is replaced while a run waits for it: the new one is used" {
	hold
	echo more >more
	"$BLOOMDEDUP" -f seen more >out 2>err 3>&- 7>&- &
	second=$!
	until_true grep -q waiting err
	bloomdedup create other
	mv other seen
	let_go
	wait $second
	cmp more out
	bloomdedup -f seen more >out
	[ ! -s out ]
	echo held | bloomdedup -f seen >out
	echo held | cmp - out
}

@test "a filter that is removed while a run waits for it is made anew" {
	hold
	echo more >more
	"$BLOOMDEDUP" -f seen more >out 2>err 3>&- 7>&- &
	second=$!
	until_true grep -q waiting err
	rm seen
	let_go
	wait $second
	cmp more out
	bloomdedup check -f seen more >out
	cmp more out
}

@test "check and info beside a run that makes the filter grow never fail" {
	"$HELPER" lines 300000 >in
	echo none >line
	for ((i = 0; i < 3; i++)); do
		rm -f seen
		bloomdedup create -n 1 -p 0.001 seen
		"$BLOOMDEDUP" -f seen in >out 3>&- &
		pid=$!
		while kill -0 $pid 2>/dev/null; do
			bloomdedup info --json seen >info
			status=0
			bloomdedup check -q -f seen line 2>err || status=$?
			cat err
			[ "$status" -le 1 ]
		done
		wait $pid
	done
}

@test "info that was opened before the filter grew and reads on after it" {
	skip_if_sanitized # its leak checker does not work under strace
	command -v strace >/dev/null || skip "needs strace"
	"$HELPER" lines 1000 >in
	for read in 1 2 3; do
		rm -f seen
		bloomdedup create -n 10 seen
		strace -qq -o trace -P seen -e trace=pread64 \
			-e inject=pread64:delay_enter=1500000:when=$read \
			"$BLOOMDEDUP" info seen >out 2>err 3>&- &
		pid=$!
		sleep 0.5
		bloomdedup add -f seen in 2>/dev/null
		wait $pid || {
			cat err
			return 1
		}
		# reads that are not of the file would delay nothing
		grep -q DELAYED trace || skip "may not trace"
	done
}
