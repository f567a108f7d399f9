# Signals: what was written is remembered, what was not comes again.
load ../common

# interrupted NAME: this signal in the middle of a line on a pipe.
interrupted() {
	local name=$1
	rm -f seen
	start_on_pipe -f seen
	printf 'a\nb\nhalf' >&7
	until_true has_bytes 4 out
	dies_of "$name"
	[ ! -s err ]
	printf 'a\nb\n' | cmp - out
	printf 'b\nhalf\na\nc\n' | bloomdedup -f seen >again
	printf 'half\nc\n' | cmp - again
	no_leftovers
}

@test "SIGINT while reading: what was written is remembered; dies of it" {
	interrupted INT
}

@test "SIGTERM while reading: what was written is remembered; dies of it" {
	interrupted TERM
}

@test "SIGHUP while reading: what was written is remembered; dies of it" {
	interrupted HUP
}

@test "death is by the signal itself, and not an exit status that looks so" {
	for name in INT TERM HUP; do
		rm -f seen in
		mkfifo in
		perl -e '
			my $name = shift;
			my $pid = fork();
			if ($pid == 0) {
				$SIG{$_} = "DEFAULT" for qw(INT TERM HUP);
				exec @ARGV;
			}
			open(my $in, ">", "in") or die;
			select(undef, undef, undef, 0.05) until -e "seen";
			select(undef, undef, undef, 0.3);
			kill($name, $pid);
			waitpid($pid, 0);
			print $? & 127, "\n";
		' $name bash -c 'exec "$1" -f seen <in 2>err' \
			bash "$BLOOMDEDUP" >died
		[ "$(cat died)" -eq "$(kill -l $name)" ]
	done
}

@test "a signal that is ignored from the start stays ignored" {
	mkfifo in
	(
		trap '' HUP INT
		exec "$BLOOMDEDUP" -f seen <in >out 2>err 3>&-
	) &
	pid=$!
	exec 7>in
	echo a >&7
	until_true has_bytes 2 out
	kill -HUP $pid
	kill -INT $pid
	echo b >&7
	until_true has_bytes 4 out
	ends_with 0
	printf 'a\nb\n' | cmp - out
}

# all_came: `first`, the output of a run that was stopped, and that of another
# run are the lines of `in`; a torn line of the first comes again.
all_came() {
	[ -s first ]
	if [ -n "$(tail -c 1 first)" ]; then
		sed '$d' first >whole
	else
		cp first whole
	fi
	bloomdedup -f seen in >second
	cat whole second | cmp in -
}

# stalled_output [COMMAND...]: a run, started by COMMAND, that has filled its pipe
# and gets SIGTERM.
stalled_output() {
	"$HELPER" lines 200000 >in
	mkfifo pipe
	"$HELPER" defaults "$@" "$BLOOMDEDUP" -f seen in >pipe 2>err 3>&- &
	pid=$!
	exec 8<pipe
	# it writes until the pipe is full, and then waits
	until_idle $pid
	sleep 0.3
	dies_of TERM
	cat <&8 >first
	exec 8<&-
	all_came
}

@test "a stalled output: SIGTERM ends the run, whole lines are remembered" {
	stalled_output
}

@test "a stalled output that doesn't wait ends by SIGTERM, too" {
	stalled_output "$HELPER" nonblock
}

@test "a second signal kills at once" {
	start_on_pipe -f seen
	echo a >&7
	until_true has_bytes 2 out
	kill -STOP "$pid"
	kill -TERM "$pid"
	kill -INT "$pid"
	kill -CONT "$pid"
	status=0
	wait "$pid" || status=$?
	exec 7>&-
	[ "$status" -eq 143 ] || [ "$status" -eq 130 ]
	bloomdedup info seen >/dev/null
}

@test "while waiting for an input to be opened" {
	mkfifo in
	"$HELPER" defaults "$BLOOMDEDUP" -f seen in >out 2>err 3>&- &
	pid=$!
	until_true test -e seen
	sleep 0.2
	dies_of TERM
	[ ! -s err ]
}

@test "while waiting for the lock" {
	start_on_pipe -f seen
	echo a >&7
	until_true has_bytes 2 out
	echo b >more
	"$HELPER" defaults "$BLOOMDEDUP" -f seen more >out2 2>err2 3>&- 7>&- &
	second=$!
	until_true grep -q waiting err2
	kill -TERM $second
	status=0
	wait $second || status=$?
	[ "$status" -eq 143 ]
	[ ! -s out2 ]
	ends_with 0
}

@test "SIGUSR1 while reading doesn't disturb" {
	start_on_pipe -f seen
	printf 'a\n' >&7
	until_true has_bytes 2 out
	kill -USR1 "$pid"
	printf 'b\n' >&7
	until_true has_bytes 4 out
	kill -USR1 "$pid"
	ends_with 0
	printf 'a\nb\n' | cmp - out
}

@test "reads of the input that a signal interrupts are made again" {
	needs_strace
	"$HELPER" lines 50000 >in
	gzip <in >in.gz
	for input in in in.gz; do
		rm -f seen
		strace -f -qq -o trace -P $input -e trace=read \
			-e inject=read:error=EINTR:when=1+2 \
			"$BLOOMDEDUP" -f seen $input >out 2>err || {
			cat err
			return 1
		}
		[ "$(grep -c INJECTED trace)" -ge 2 ]
		cmp in out
	done
}

@test "kill -9 while reading a pipe: what was written is remembered" {
	start_on_pipe -f seen
	printf 'a\nb\n' >&7
	until_true has_bytes 4 out
	# it reads again, so it has marked
	until_idle $pid
	sleep 0.2
	dies_of KILL
	printf 'a\nb\nc\n' | bloomdedup -f seen >again
	printf 'c\n' | cmp - again
}

@test "kill -9 in the middle, many times: every line comes out" {
	"$HELPER" lines 400000 >in
	: >all
	for ((i = 1; i <= 12; i++)); do
		rm -f pipe
		mkfifo pipe
		# held open: one may be killed before the other has opened it
		exec 7<>pipe
		"$HELPER" pieces $i <in >pipe 3>&- 7>&- &
		writer=$!
		"$BLOOMDEDUP" -f seen -n 5000 -p 1e-12 <pipe >>all 2>>err \
			3>&- 7>&- &
		pid=$!
		sleep 0.0$((i * 7 % 90 + 10))
		kill -KILL $pid 2>/dev/null || true
		wait $pid 2>/dev/null || true
		exec 7>&-
		wait $writer 2>/dev/null || true
	done
	bloomdedup -f seen -n 5000 -p 1e-12 in >>all
	sort in >want
	sort -u all >got
	comm -23 want got >lost
	[ ! -s lost ]
	# what is not a line of the input is a torn one, one a kill at most
	comm -13 want got >torn
	[ "$(wc -l <torn)" -le 12 ]
	bloomdedup -f seen in >out
	[ ! -s out ]
}

@test "after kill -9 the counters are taken from the bits" {
	bloomdedup create -n 20000 seen
	start_on_pipe -f seen
	"$HELPER" lines 15000 >&7
	"$HELPER" lines 15000 | wc -c >size
	until_true has_bytes "$(cat size)" out
	until_idle $pid
	sleep 0.2
	dies_of KILL
	room=$(figure room seen)
	[ "$room" -ge 4500 ]
	[ "$room" -le 5500 ]
	# so it grows where it should
	"$HELPER" lines 10000 1 | bloomdedup -f seen >out
	bloomdedup info --json seen | grep -q '"layers": \[{.*}, {.*}\]'
}

@test "after kill -9 and the loss of a slot, too" {
	bloomdedup create -n 20000 seen
	start_on_pipe -f seen
	"$HELPER" lines 15000 >&7
	"$HELPER" lines 15000 | wc -c >size
	until_true has_bytes "$(cat size)" out
	until_idle $pid
	sleep 0.2
	dies_of KILL
	# of the two slots, the one that says that no run marks is the older
	for slot in 1 2; do
		at=$((slot * 4096))
		flag=$(od -An -tu4 -j $((at + 44)) -N 4 seen)
		if [ "$flag" -eq 0 ]; then
			"$HELPER" flip seen $((at + 100)) 0
		fi
	done
	echo new | bloomdedup -f seen >out
	echo new | cmp - out
	room=$(figure room seen)
	[ "$room" -ge 4500 ]
	[ "$room" -le 5500 ]
}

# ctrl_c OPTION...: a run on a terminal reads 1,000 lines, of which 600 are new,
# the last one among them, prints to `out` (by >>out, or REDIRECT), which is empty
# or, with ABSENT, not there before, and is then stopped as by Ctrl-C.
ctrl_c() {
	cat >stopped <<-'END'
		exec 4>/dev/null 3< <(seq 400; seq 600
			until [ "$(cat out 2>&4 | wc -l)" -ge WANTED ]; do sleep 0.05; done
			kill -INT $$
			while kill -0 $$ 2>/dev/null; do sleep 0.05; done)
		eval "exec \"\$@\" <&3 4>&- ${REDIRECT->>out}"
	END
	sed -i "s/WANTED/${WANTED:-600}/" stopped
	[ -n "${ABSENT-}" ] || : >out
	on_terminal "bash stopped $BLOOMDEDUP $*; true"
	tr -d '\r' <terminal >said
}

@test "Ctrl-C where the same command would take what was new for seen" {
	local advice='with --atomic, a run that stops remembers nothing'
	bloomdedup create mark
	WANTED=1000 ctrl_c -f mark --mark
	is_message said "stopped after 1,000 lines: 600 new ones are printed and remembered; the same command would mark these as seen; $advice"
	bloomdedup create repeated
	WANTED=400 ctrl_c -f repeated -d
	is_message said "stopped after 1,000 lines: 600 new ones are remembered; the same command would print these as repeated; $advice"
	bloomdedup create duplicates
	ctrl_c -f duplicates --duplicates=again
	is_message said "stopped after 1,000 lines: 600 new ones are printed and remembered; the same command would take these for duplicates; $advice"
	rm mark
	bloomdedup create mark
	WANTED=1000 ctrl_c -f mark --mark --atomic
	is_message said 'none of them is remembered'
}

@test "Ctrl-C on a terminal says what was printed and remembered" {
	bloomdedup create seen
	ctrl_c -f seen
	is_message said 'stopped after 1,000 lines: 600 new ones are printed and remembered; the same command goes on from there'
	seq 600 | cmp - out
	seq 600 | bloomdedup check -f seen | cmp out -
	# as promised, the same command goes on
	seq 700 | bloomdedup -f seen >>out
	seq 700 | cmp - out
	rm seen
	bloomdedup create seen
	ctrl_c -f seen --atomic
	is_message said 'stopped after 1,000 lines: none of them is remembered'
	# the same command would replace what was printed: with -o it is
	# refused, and with > nobody can refuse it
	rm seen
	bloomdedup create seen
	REDIRECT='' ctrl_c -f seen -o out --overwrite
	is_message said 'remembered; to go on from there, repeat the command with --append'
	seq 700 | bloomdedup -f seen -o out --append
	seq 700 | cmp - out
	rm seen
	bloomdedup create seen
	REDIRECT='>out' ctrl_c -f seen
	is_message said 'remembered; to go on from there, repeat the command with >>'
	rm seen
	bloomdedup create seen
	REDIRECT='' ctrl_c -f seen -o out --append
	is_message said 'remembered; the same command goes on from there'
	rm seen
	bloomdedup create seen
	REDIRECT='>out' ctrl_c -f seen -o /dev/stdout --overwrite
	is_message said 'remembered; to go on from there, repeat the command with >>'
	# a file that is not there yet
	rm seen out
	bloomdedup create seen
	ABSENT=yes REDIRECT='' ctrl_c -f seen -o out --append
	is_message said 'remembered; the same command goes on from there'
	rm seen out
	bloomdedup create seen
	ABSENT=yes REDIRECT='' ctrl_c -f seen -o out
	is_message said 'remembered; to go on from there, repeat the command with --append'
	# the reader of a pipe may replace what it has written
	rm seen
	bloomdedup create seen
	REDIRECT='> >(cat >out)' ctrl_c -f seen
	is_message said 'remembered; the same command leaves these lines out'
	# not where nothing is remembered, and not in a log
	ctrl_c
	[ ! -s said ]
	rm seen
	ctrl_c -f seen '2>err'
	[ ! -s err ]
}
