# How large the input is, is guessed for a new filter; that guess is never a
# reason to fail.
load ../common

# seeked FILE OFFSET COMMAND...: with the file as its standard input, read up to
# there.
seeked() {
	perl -e '
		my ($file, $offset) = splice(@ARGV, 0, 2);
		open(STDIN, "<", $file) or die;
		sysseek(STDIN, $offset, 0);
		exec @ARGV;
	' "$@"
}

@test "a file that is shorter than where it is read from" {
	printf 'a\nb\n' >in
	for offset in 4 5 100 4294967296; do
		rm -f seen
		seeked in $offset "$BLOOMDEDUP" >out
		[ ! -s out ]
		seeked in $offset "$BLOOMDEDUP" -f seen >out
		[ ! -s out ]
		bloomdedup info seen >/dev/null
	done
}

@test "a file of /proc, whose size is 0, from any place in it" {
	[ -r /proc/self/status ] || skip "no /proc"
	for offset in 0 1 10 100; do
		rm -f seen
		seeked /proc/self/limits $offset "$BLOOMDEDUP" -f seen >out
		[ -s out ]
		rm -f seen
		exec 8</proc/self/limits
		head -c $((offset + 1)) <&8 >/dev/null
		bloomdedup -f seen <&8 >out
		exec 8<&-
		bloomdedup info seen >/dev/null
		seeked /proc/self/limits $offset "$BLOOMDEDUP" >out
		[ -s out ]
	done
}

@test "files that are larger than any filter is for" {
	truncate -s 8E in 2>/dev/null || truncate -s 8T in 2>/dev/null ||
		skip "no such large files"
	yes | head -c 4096 | dd of=in conv=notrunc status=none
	for filter in '' '-f seen'; do
		for inputs in in 'in in in'; do
			rm -f seen out err
			"$BLOOMDEDUP" $filter $inputs >out 2>err 3>&- &
			until_true test -s out -o -s err
			# it would read a hole without end
			kill -9 $! 2>/dev/null
			wait $! || :
			cat err
			[ "$(head -n 1 out)" = y ]
			[ ! -s err ]
		done
	done
}
