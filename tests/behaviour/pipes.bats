# Pipes: how much of what is remembered a reader can take with it, and gzip
# that comes through one.
load ../common

# pipe_sizes COMMAND...: run it with a pipe of 64 KiB as standard output, whose
# size is printed when the command has ended. It gets our standard input.
pipe_sizes() {
	perl -e '
		pipe(my $reader, my $writer);
		my $pid = fork();
		if ($pid == 0) {
			close($reader);
			open(STDOUT, ">&", $writer);
			exec @ARGV;
		}
		waitpid($pid, 0);
		print fcntl($writer, 1032, 0), "\n"; # F_GETPIPE_SZ
	' "$@"
}

@test "with a filter file the output pipe stays as it is" {
	skip_if_emulated "pipes of its own"
	echo a >in
	plain=$(pipe_sizes true)
	[ "$(pipe_sizes "$BLOOMDEDUP" -f seen in)" -eq "$plain" ]
	[ "$(pipe_sizes "$BLOOMDEDUP" --atomic -f seen in)" -eq "$plain" ]
	[ "$(pipe_sizes "$BLOOMDEDUP" -d -f seen in)" -eq "$plain" ]
	[ "$(pipe_sizes "$BLOOMDEDUP" -o /dev/stdout -f seen in)" -eq "$plain" ]
	[ "$(pipe_sizes "$BLOOMDEDUP" -j 4 --shared -f new in)" -eq "$plain" ]
}

@test "without one it is made wider" {
	skip_if_emulated "pipes of its own"
	echo a >in
	[ "$(pipe_sizes "$BLOOMDEDUP" in)" -gt "$(pipe_sizes true)" ]
}

@test "a reader that dies takes no more with it than a pipe and a batch" {
	"$HELPER" lines 300000 1 >in
	for threads in 1 4; do
		rm -f seen
		"$BLOOMDEDUP" -j $threads -f seen in 2>err |
			head -c 100000 >first || :
		bloomdedup -f seen in >second
		# torn at the end by head
		sed '$d' first >whole
		cat whole second | sort -u >out
		lost=$(sort in | comm -23 - out | wc -c)
		[ "$lost" -le $((65536 + 1024 * 64)) ]
	done
}

# writes: how often the filter was written to, in the trace.
writes() {
	grep -cE '^[0-9 ]*p?write(64)?\([0-9]+<[^>]*/seen>' trace
}

# Sixty times as many bytes are inflated as are read: most of the time the pipe
# is empty, and the input does not pause.
@test "gzip from a pipe: the filter is written as often as for the file" {
	needs_strace
	needs taskset
	skip_if_emulated "calls of its own"
	perl -e 'print "x" x 200, "$_\n" for 1 .. 60000' >in
	gzip -9 <in >in.gz
	# read at once
	[ "$(wc -c <in.gz)" -lt $((256 * 1024)) ]
	bloomdedup create -n 1000000 empty
	for threads in alone env; do
		cp empty seen
		BLOOMDEDUP_PRIVATE=0 $threads strace -f -y -qq -o trace \
			-e trace=write,pwrite64 "$BLOOMDEDUP" -f seen in.gz >out
		cmp in out
		file=$(writes)
		cp empty seen
		mkfifo pipe
		BLOOMDEDUP_PRIVATE=0 $threads strace -f -y -qq -o trace \
			-e trace=write,pwrite64 "$BLOOMDEDUP" -f seen \
			<pipe >out 3>&- 7>&- &
		exec 7>pipe
		cat in.gz >&7
		until_true cmp -s in out
		exec 7>&-
		wait $!
		pipe=$(writes)
		rm pipe
		echo "writes: $file of a file, $pipe of a pipe"
		[ "$pipe" -le $((3 * file + 50)) ]
	done
}

@test "lines of gzip that come one by one don't wait for more" {
	mkfifo pipe
	for threads in 1 4; do
		for private in 0 1e12; do
			rm -f seen
			BLOOMDEDUP_PRIVATE=${private/1e12/1000000000000} \
				"$BLOOMDEDUP" -j $threads -f seen <pipe >out \
				3>&- 7>&- &
			exec 7>pipe
			for i in 1 2 3 4 5; do
				echo "line $i" | gzip >&7
				until_true has_bytes $((7 * i)) out
			done
			exec 7>&-
			wait $!
		done
	done
}
