# Several runs on one filter: one after the other.
load ../common

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

# let_go_in_vain: its filter is gone, and all that it remembers.
let_go_in_vain() {
	local status=0
	let_go || status=$?
	[ "$status" -eq 3 ]
}

@test "--lock-timeout=0 ends at once with 75 and names the holder of the lock" {
	hold
	echo more >more
	fails 75 "process $holder" bloomdedup -f seen --lock-timeout=0 more
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
	until_true grep -q "^bloomdedup: seen: waiting for process $holder\$" err
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

@test "two runs in one pipeline: little enough for the pipes is no trouble" {
	seq 1 1000 >in
	"$HELPER" defaults timeout 50 bash -c '"$1" -f seen --lock-timeout=3 in \
		2>err1 | cat | "$1" -f seen --lock-timeout=3 >out 2>err2
		echo "${PIPESTATUS[*]}" >statuses' bash "$BLOOMDEDUP"
	# If the first one has the lock first, it has marked what it printed when
	# the second one has it. Otherwise the two wait for each other until the
	# timeout.
	cat statuses err1 err2
	if [ "$(cat statuses)" = "0 0 0" ]; then
		[ ! -s out ]
		[ ! -s err1 ]
		[ ! -s err2 ]
	else
		[ "$(cat statuses)" = "75 0 0" ]
		[ ! -s out ]
		grep -q '^bloomdedup: seen: in use by ' err1
	fi
	bloomdedup -f seen in >>out
}

@test "two runs in one pipeline, the last one first: the other one gives up" {
	seq 1 1000 >in
	mkfifo pipe
	"$BLOOMDEDUP" -f seen <pipe >out 2>err 3>&- &
	last=$!
	exec 7>pipe
	echo first >&7
	until_true has_bytes 6 out
	status=0
	timeout 50 "$BLOOMDEDUP" -f seen --lock-timeout=0.5 in 2>err1 >&7 ||
		status=$?
	[ "$status" -eq 75 ]
	grep -q "^bloomdedup: seen: in use by process $last" err1
	exec 7>&-
	wait $last
	echo first | cmp - out
}

@test "two runs with --shared in one pipeline: they end, and no line is lost" {
	seq 1 300000 >in
	"$HELPER" defaults timeout 50 bash -c '"$1" --shared -f seen in 2>err1 |
		tee between | "$1" --shared -f seen >out 2>err2
		echo "${PIPESTATUS[*]}" >statuses' bash "$BLOOMDEDUP"
	[ "$(cat statuses)" = "0 0 0" ]
	cmp in between
	# What comes through was on its way while the first one marked it.
	[ -z "$(sort in | comm -13 - <(sort out))" ]
	bloomdedup check -f seen in | cmp in -
}

# rotated: `in` in so many parts as there are runs, each of which is all of it
# and begins elsewhere.
rotated() {
	local i lines
	lines=$(wc -l <in)
	for ((i = 1; i <= runs; i++)); do
		tail -n +$((i * lines / runs + 1)) in >part.$i
		head -n $((i * lines / runs)) in >>part.$i
	done
}

@test "sixteen runs at once on one new filter: each line comes out once" {
	runs=16
	"$HELPER" lines "$(short_or_long 10000 200000)" >in
	rotated
	for ((i = 1; i <= runs; i++)); do
		"$BLOOMDEDUP" -f seen -n 1000 -p 1e-12 --lock-timeout=1e6 part.$i \
			>out.$i 2>err.$i 3>&- &
		pids[i]=$!
	done
	for ((i = 1; i <= runs; i++)); do
		wait "${pids[i]}"
	done
	cat out.* | sort >got
	sort in | cmp - got
	no_leftovers
}

# until_done N: run part N again and again, until it ends by itself when enough
# runs have been killed (the file `enough`).
until_done() {
	local status=137
	while [ $status -eq 137 ] || [ ! -e enough ]; do
		status=0
		"$BLOOMDEDUP" -f seen --lock-timeout=1e6 part.$1 >>out.$1 \
			2>>err.$1 || status=$?
		# as the shell says it
		echo $status >>statuses.$1
	done
	return $status
}

has_stopped() { # PROCESS
	grep -q '^State:.T' "/proc/$1/status" 2>/dev/null
}

has_stopped_or_is_over() { # PROCESS
	! grep -q '^State:.[^TZ]' "/proc/$1/status" 2>/dev/null
}

# accounted KILLS: each line of `in` is in the outputs, once, but for a batch a
# kill; what is no line is the beginning of one, one a kill.
accounted() {
	cat out.* | perl -e '
		my ($kills) = @ARGV;
		my (%count, @torn, $repeats);
		open(my $in, "<", "in") or die;
		while (<$in>) { $count{$_} = 0; }
		while (<STDIN>) {
			if (exists $count{$_}) { $repeats += $count{$_}++ > 0; }
			else { push @torn, $_; }
		}
		my $lost = grep { $_ == 0 } values %count;
		printf "%d lost, %d repeats, %d torn, %d kills\n", $lost,
			$repeats, scalar(@torn), $kills;
		for my $torn (@torn) {
			chomp $torn;
			grep { substr($_, 0, length $torn) eq $torn }
				keys %count or die "glued: $torn\n";
		}
		exit($lost > 0 || @torn > $kills || $repeats > 1024 * $kills);
	' "$1"
}

@test "the holder of the lock is killed, again and again: no line is lost" {
	skip_if_sanitized # what it says when it is killed is not ours
	needs_proc
	runs=16 wanted=$(short_or_long 10 200) kills=0 misses=0
	# all of one length
	seq -f 'https://example.org/%010.0f' \
		"$(short_or_long 200000 1000000)" >in
	rotated
	bloomdedup create -n 1000 -p 1e-12 seen
	for ((i = 1; i <= runs; i++)); do
		: >out.$i
		until_done $i 3>&- 2>/dev/null &
	done
	while [ $kills -lt $wanted ] && [ $misses -lt 2000 ]; do
		# a descriptor of this very file is locked by that process
		holder=$(bloomdedup info seen | sed -n 's/.*process \([0-9]*\) .*/\1/p')
		# It may have ended since: what has stopped is there to be killed.
		if [ -n "$holder" ] && kill -STOP "$holder" 2>/dev/null &&
			until_true has_stopped_or_is_over "$holder" &&
			has_stopped "$holder"; then
			kill -KILL "$holder"
			kills=$((kills + 1))
		else
			misses=$((misses + 1))
		fi
		sleep 0.0$((RANDOM % 40 + 10))
	done
	touch enough
	wait # by number, the shell may have forgotten those that ended long ago
	run ! grep -vxh -e 0 -e 137 statuses.*
	killed=$(cat statuses.* | grep -cx 137)
	echo "$killed killed of $kills; $wanted wanted"
	[ "$killed" -eq "$wanted" ]
	accounted "$killed"
	bloomdedup -f seen in >out
	[ ! -s out ]
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
	let_go_in_vain
	wait $second
	cmp more out
	bloomdedup -f seen more >out
	[ ! -s out ]
	echo held | bloomdedup -f seen >out
	echo held | cmp - out
}

@test "a filter that is replaced while several wait: each line once, in the new one" {
	hold
	echo more >more
	for ((i = 0; i < 8; i++)); do
		shared=
		[ $((i % 2)) -eq 0 ] || shared=--shared
		# shellcheck disable=SC2086
		"$BLOOMDEDUP" $shared -f seen more >out.$i 2>err.$i 3>&- 7>&- &
		pids[i]=$!
	done
	for ((i = 0; i < 8; i++)); do
		until_true grep -q waiting err.$i
	done
	bloomdedup create -n 77 other
	mv other seen
	let_go_in_vain
	for ((i = 0; i < 8; i++)); do
		wait "${pids[i]}"
	done
	# those that share may print it each, the others once in all
	cat out.1 out.3 out.5 out.7 >shared.out
	cat out.0 out.2 out.4 out.6 >alone.out
	sort -u shared.out alone.out | cmp more -
	[ "$(wc -l <alone.out)" -le 1 ]
	bloomdedup info --json seen | grep -q '"capacity": 77'
	bloomdedup check -f seen more | cmp more -
}

@test "a filter that is removed while a run waits for it is made anew" {
	hold
	echo more >more
	"$BLOOMDEDUP" -f seen more >out 2>err 3>&- 7>&- &
	second=$!
	until_true grep -q waiting err
	rm seen
	let_go_in_vain
	wait $second
	cmp more out
	bloomdedup check -f seen more >out
	cmp more out
}

@test "check and info beside a run that makes the filter grow never fail" {
	"$HELPER" lines "$(short_or_long 150000 300000)" >in
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
	needs_strace
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
		# reads of other files would delay nothing
		grep -q DELAYED trace
	done
}

@test "a name that never leads to the file that was opened ends the wait" {
	needs_preload
	bloomdedup create -n 1000 seen
	fails 75 'seen: other processes keep replacing it' \
		timeout 60 "${PRELOADED[@]}" MOVED=1 "$BLOOMDEDUP" -f seen \
		/dev/null
	[ -e fired ]
}

# goes_away COMMAND...: a run remembers a line, the command is run, and then the
# run gets another line, and more input if it goes on. It prints that line, unless
# it has noticed before.
goes_away() {
	rm -f seen other
	seq 10 | bloomdedup -q -f seen
	start_on_pipe -f seen "${options[@]}"
	echo a >&7
	until_true grep -q '^a$' out
	"$@"
	(echo b >&7) 2>/dev/null || is_over
	until_true has_printed_or_is_over
}

has_printed_or_is_over() {
	grep -q '^b$' out || is_over
}

is_over() {
	! grep -q '^State:.[^Z]' "/proc/$pid/status" 2>/dev/null
}

@test "a filter that is removed or replaced while a run uses it is an error" {
	local options
	for options in '' --shared --sync; do
		# shellcheck disable=SC2206 # no option, or one
		options=($options)
		goes_away rm seen
		ends_with 3
		[ "$(wc -l <err)" -eq 1 ]
		grep -q '^bloomdedup: seen: the filter was removed or replaced' err
		seq 20 | bloomdedup -q -f new
		goes_away mv new seen
		ends_with 3
		grep -q '^bloomdedup: seen: the filter was removed or replaced' err
	done
}

@test "a run ends when it notices that its filter is gone, without waiting" {
	goes_away rm seen
	until_true is_over
	ends_with 3
}

@test "a filter gone before the last line, and one that has only moved" {
	seq 10 | bloomdedup -q -f seen
	start_on_pipe -f seen
	echo a >&7
	until_true grep -q '^a$' out
	rm seen
	ends_with 3
	goes_away mv seen other
	ends_with 0
	[ ! -s err ]
	printf 'a\nb\n' | bloomdedup -f other >out
	[ ! -s out ]
}

@test "a filter that is removed while it is only read is no error" {
	seq 10 | bloomdedup -q -f seen
	start_on_pipe check -f seen
	echo 1 >&7
	until_true grep -q '^1$' out
	rm seen
	echo 2 >&7
	until_true grep -q '^2$' out
	ends_with 0
}

@test "a filter that has lost its name is used through /dev/fd" {
	seq 10 | bloomdedup -q -f seen
	exec 7<>seen
	rm seen
	seq 5 15 | bloomdedup -f /dev/fd/7 --lock-timeout=0 >out
	seq 11 15 | cmp - out
	seq 5 15 | bloomdedup -f /dev/fd/7 --lock-timeout=0 >out
	[ ! -s out ]
	exec 7>&-
}
