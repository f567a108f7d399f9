# Whatever a run waits for, it hears signals, and it ends when it has to.
load ../common

# from=FILE to=FILE err=FILE start [ARGUMENT]...: a run with the signals as they
# are by default; $pid. It opens the files, which may be FIFOs; what an earlier run
# left in them is gone before it begins.
start() {
	[ ! -f "${to-}" ] || : >"$to"
	[ ! -f "${err-}" ] || : >"$err"
	"$HELPER" defaults "$BLOOMDEDUP" "$@" <"${from:-/dev/null}" \
		>"${to:-/dev/null}" 2>"${err:-other.err}" 3>&- 7>&- 8>&- &
	pid=$!
}

# waits: the run sleeps until something comes. It is looked at many times.
waits() {
	local i
	for i in 1 2 3 4 5; do
		until_true grep -q '^State:.S' "/proc/$pid/status"
		sleep 0.05
	done
}

# dies_of NAME: the signal ends the run.
dies_of() {
	local status=0
	waits
	kill -"$1" "$pid"
	until_true is_gone
	wait "$pid" || status=$?
	if [ "$status" -ne $((128 + $(kill -l "$1"))) ]; then
		echo "exit status $status after $1"
		return 1
	fi
}

is_gone() {
	! grep -q '^State:.[^Z]' "/proc/$pid/status" 2>/dev/null
}

# ends: by itself, with status $1.
ends() {
	local status=0
	until_true is_gone
	wait "$pid" || status=$?
	[ "$status" -eq "$1" ]
}

# idle: the run takes no time of a processor.
idle() {
	local before after
	waits
	before=$(awk '{ print $14 + $15 }' "/proc/$pid/stat")
	sleep 1
	after=$(awk '{ print $14 + $15 }' "/proc/$pid/stat")
	[ $((after - before)) -le 10 ]
}

teardown() {
	if [ -n "${pid-}" ] && ! is_gone; then
		kill -9 "$pid"
	fi
}

@test "an alarm that was set before it was started ends it" {
	mkfifo in
	for threads in 1 4; do
		perl -e 'alarm 1; exec @ARGV' "$BLOOMDEDUP" -j $threads \
			<in >out 3>&- &
		pid=$!
		exec 7>in
		echo a >&7
		ends $((128 + 14))
		exec 7>&-
		[ "$(cat out)" = a ]
	done
}

@test "a pipe without input" {
	mkfifo in
	for threads in 1 4; do
		for name in TERM INT HUP; do
			from=in to=out start -j $threads -f seen
			exec 7>in
			dies_of $name
			exec 7>&-
		done
	done
}

@test "half a line on a pipe" {
	mkfifo in
	for threads in 1 4; do
		from=in to=out start -j $threads -f seen
		exec 7>in
		printf 'a\nb' >&7
		until_true has_bytes 2 out
		dies_of TERM
		exec 7>&-
		[ "$(cat out)" = a ]
		rm seen
	done
}

@test "a FIFO without a writer" {
	mkfifo in
	for threads in 1 4; do
		for name in TERM INT; do
			to=out start -j $threads -f seen in
			dies_of $name
		done
	done
}

@test "a pipe that is full" {
	"$HELPER" lines 50000 >in
	mkfifo out
	for threads in 1 4; do
		for name in TERM INT; do
			rm -f seen
			to=out start -j $threads -f seen in
			exec 7<out
			dies_of $name
			exec 7<&-
		done
	done
}

# cannot_write THREADS PERL: the status of a run that gets SIGTERM after a second,
# as a shell has it, or 99 if it goes on for a minute. PERL opens $in and $out
# first: nothing is read from $in, and $out is where the run prints.
cannot_write() {
	perl -e '
		use POSIX;
		use Socket;
		my ($threads, $program) = @ARGV;
		my ($in, $out);
		'"$2"'
		my $pid = fork();
		if ($pid == 0) {
			$SIG{TERM} = "DEFAULT";
			open(STDOUT, ">&", $out) or POSIX::_exit(77);
			exec $program, "-j", $threads, "in";
		}
		sleep 1;
		kill "TERM", $pid;
		my $gone = 0;
		for (1 .. 600) {
			$gone = waitpid($pid, WNOHANG);
			last if $gone;
			select(undef, undef, undef, 0.1);
		}
		kill "KILL", $pid unless $gone;
		exit($gone ? ($? & 127) + 128 : 99);
	' "$1" "$BLOOMDEDUP"
}

@test "a terminal that was stopped" {
	"$HELPER" lines 50000 >in
	for threads in 1 4; do
		status=0
		cannot_write $threads '
			open($in, "+<", "/dev/ptmx") or exit 77;
			my $unlock = pack("i", 0);
			ioctl($in, 0x40045431, $unlock) or exit 77;
			my $n = pack("i", 0);
			ioctl($in, 0x80045430, $n) or exit 77;
			open($out, ">", "/dev/pts/" . unpack("i", $n)) or
				exit 77;
		' || status=$?
		[ "$status" -ne 77 ] || skip "no terminals"
		[ "$status" -eq $((128 + 15)) ]
	done
}

@test "a socket whose other end doesn't read" {
	"$HELPER" lines 500000 >in
	for threads in 1 4; do
		status=0
		cannot_write $threads '
			socketpair($in, $out, AF_UNIX, SOCK_STREAM, 0);
		' || status=$?
		[ "$status" -eq $((128 + 15)) ]
	done
}

@test "a FIFO for the output that nobody reads" {
	mkfifo out
	echo a >in
	for option in -o --duplicates=; do
		for name in TERM INT HUP; do
			to=other start -j 1 -f seen ${option%=} out in
			dies_of $name
		done
	done
	no_leftovers
	# nothing was printed, so nothing is remembered
	[ "$(bloomdedup -f seen in)" = a ]
}

@test "a FIFO for the output that is read later" {
	mkfifo out
	"$HELPER" lines 50000 >in
	start -f seen -o out in
	waits
	# there are no figures yet, and no reason to end
	kill -USR1 "$pid"
	waits
	cmp in out
	ends 0
	[ -p out ]
}

@test "the lock of another run" {
	mkfifo in
	echo b >more
	"$BLOOMDEDUP" -f seen <in >out 3>&- &
	holder=$!
	exec 7>in
	echo a >&7
	until_true has_bytes 2 out
	for threads in 1 4; do
		for name in TERM INT; do
			to=other start -j $threads -f seen more
			dies_of $name
		done
	done
	exec 7>&-
	wait $holder
}

@test "SIGUSR1 is answered while it waits for input or output" {
	mkfifo in out
	for threads in 1 4; do
		from=in err=err to=first start -j $threads
		exec 7>in
		echo a >&7
		until_true has_bytes 2 first
		kill -USR1 "$pid"
		until_true grep -q '1 lines read, 1 new' err
		idle
		dies_of TERM
		exec 7>&-
		"$HELPER" lines 50000 >many
		err=err to=out start -j $threads many
		exec 7<out
		waits
		kill -USR1 "$pid"
		until_true grep -q 'lines read' err
		idle
		dies_of TERM
		exec 7<&-
	done
}

@test "after thousands of SIGUSR1 it waits as before" {
	mkfifo in
	for threads in 1 4; do
		from=in err=err to=out start -j $threads
		exec 7>in
		waits
		perl -e 'my $pid = shift; for (1 .. 5000) {
			kill "USR1", $pid;
			select(undef, undef, undef, 1e-5) if $_ % 10 == 0;
		}' "$pid"
		echo a >&7
		until_true has_bytes 2 out
		idle
		exec 7>&-
		ends 0
	done
}

@test "input and output that don't wait" {
	cat >nonblocking.pl <<-'END'
		use Fcntl;
		for my $file (*STDIN, *STDOUT) {
			fcntl($file, F_SETFL, fcntl($file, F_GETFL, 0) |
			    O_NONBLOCK);
		}
		$SIG{$_} = "DEFAULT" for qw(INT TERM);
		exec @ARGV;
	END
	mkfifo in out
	"$HELPER" lines 50000 >lines
	for threads in 1 4; do
		for name in TERM INT; do
			perl nonblocking.pl "$BLOOMDEDUP" -j $threads \
				<in >first 3>&- &
			pid=$!
			exec 7>in
			echo a >&7
			until_true has_bytes 2 first
			idle
			dies_of $name
			exec 7>&-
			perl nonblocking.pl "$BLOOMDEDUP" -j $threads lines \
				>out 3>&- &
			pid=$!
			exec 7<out
			idle
			dies_of $name
			exec 7<&-
		done
	done
}

@test "with standard descriptors closed" {
	mkfifo in
	for threads in 1 4; do
		"$HELPER" defaults "$BLOOMDEDUP" -j $threads -f seen -o out in \
			<&- >&- 2>&- 3>&- &
		pid=$!
		exec 7>in
		echo a >&7
		until_true has_bytes 2 out
		dies_of TERM
		exec 7>&-
		[ "$(cat out)" = a ]
		rm seen out
		"$HELPER" defaults "$BLOOMDEDUP" -j $threads in \
			<&- >out 2>&- 3>&- &
		pid=$!
		exec 7>in
		echo a >&7
		until_true has_bytes 2 out
		dies_of TERM
		exec 7>&-
		"$HELPER" defaults "$BLOOMDEDUP" -j $threads \
			<&- >out 2>err 3>&- &
		pid=$!
		ends 3
		grep -q '^bloomdedup: standard input: ' err
	done
}

# half_fed THREADS: a run whose input is a pipe that stays open, with more than
# is read at once and half a line in it. Prints how it ended. Its output is
# /dev/full or, if $2 says so, a pipe without a reader.
half_fed() {
	perl -e '
		use POSIX;
		my ($threads, $program, $to) = @ARGV;
		pipe(my $in, my $feed);
		fcntl($in, 1031, 1 << 20) or exit 77; # F_SETPIPE_SZ
		syswrite($feed, "0123456789\n" x 11900 . "x" x 500) == 131400
		    or exit 77;
		pipe(my $reader, my $broken);
		close($reader);
		my $pid = fork();
		if ($pid == 0) {
			close($feed);
			open(STDIN, "<&", $in);
			$to eq "pipe" ? open(STDOUT, ">&", $broken) :
			    open(STDOUT, ">", "/dev/full");
			$SIG{PIPE} = "DEFAULT";
			exec $program, "-j", $threads;
		}
		for (1 .. 300) {
			if (waitpid($pid, WNOHANG)) {
				printf "%d %d\n", $? >> 8, $? & 127;
				exit 0;
			}
			select(undef, undef, undef, 0.1);
		}
		kill "KILL", $pid;
		print "it waits for ever\n";
	' "$1" "$BLOOMDEDUP" "$2" 2>err
}

@test "a write that fails ends the run, though input may come" {
	[ -w /dev/full ] || skip "no /dev/full"
	for threads in 1 2 4 4 4 4; do
		[ "$(half_fed $threads full)" = "3 0" ]
		grep -q 'No space left' err
	done
}

@test "a reader that is gone ends the run, though input may come" {
	for threads in 1 2 4 4 4 4; do
		[ "$(half_fed $threads pipe)" = "0 13" ]
	done
}
