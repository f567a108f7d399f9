# The main job: lines that were never seen before go out, in order.
load ../common

@test "new lines go out once and in order" {
	printf 'b\na\nb\nc\na\n' | bloomdedup >out
	printf 'b\na\nc\n' | cmp - out
}

@test "a second run prints nothing of what the first one saw" {
	printf 'a\nb\n' | bloomdedup -f seen >out
	printf 'a\nb\n' | cmp - out
	printf 'b\nc\na\n' | bloomdedup -f seen >out
	printf 'c\n' | cmp - out
	printf 'b\nc\na\n' | bloomdedup -f seen >out
	[ ! -s out ]
}

@test "without -f nothing is remembered and no file is made" {
	mkdir empty
	cd empty
	printf 'a\n' | "$BLOOMDEDUP" >../out
	printf 'a\n' | "$BLOOMDEDUP" >>../out
	printf 'a\na\n' | cmp - ../out
	[ -z "$(ls -A)" ]
}

@test "a filter that was copied elsewhere knows the same lines" {
	"$HELPER" lines 5000 >lines
	bloomdedup -f seen <lines >out
	cmp lines out
	mkdir elsewhere
	cp seen elsewhere/other
	rm seen
	bloomdedup -f elsewhere/other <lines >out
	[ ! -s out ]
	echo new | bloomdedup -f elsewhere/other >out
	echo new | cmp - out
}

@test "NULs, carriage returns, blanks and bytes above 127 are part of a line" {
	printf 'a\0b\na\0c\na\0b\na\r\na\na \n a\n\xff\xfe\n\xff\n\0\n\0\0\n\0\n' >in
	printf 'a\0b\na\0c\na\r\na\na \n a\n\xff\xfe\n\xff\n\0\n\0\0\n' >want
	bloomdedup -f seen <in >out
	cmp want out
	bloomdedup -f seen <in >out
	[ ! -s out ]
}

@test "the empty line is a line" {
	printf '\n\na\n\n' | bloomdedup >out
	printf '\na\n' | cmp - out
	printf '\n' | bloomdedup >out
	printf '\n' | cmp - out
}

@test "a last line without a newline gets one" {
	printf 'a\nb' | bloomdedup >out
	printf 'a\nb\n' | cmp - out
	printf 'x' | bloomdedup -f seen >out
	printf 'x\n' | cmp - out
	printf 'x\n' | bloomdedup -f seen >out
	[ ! -s out ]
}

@test "the end of each file ends its last line" {
	printf 'a\nb' >one
	printf 'b' >two
	printf 'c\na' >three
	: >four
	bloomdedup one two four three one >out
	printf 'a\nb\nc\n' | cmp - out
}

@test "files and standard input, in the order of the operands" {
	printf '1\n2\n' >one
	printf '3\n1\n' >two
	printf '2\n4' | bloomdedup one - two >out
	printf '1\n2\n4\n3\n' | cmp - out
	# standard input has an end only once
	printf '5\n5\n' | bloomdedup - one - >out
	printf '5\n1\n2\n' | cmp - out
}

@test "-z: records end in NUL and hold newlines" {
	printf 'a\nb\0c\0a\nb\0\0\0a\0d' >in
	printf 'a\nb\0c\0\0a\0d\0' >want
	bloomdedup -z <in >out
	cmp want out
	bloomdedup -z -f seen <in >out
	cmp want out
	bloomdedup -z -f seen <in >out
	[ ! -s out ]
	# the filter knows how its records end
	printf 'e\0a\nb\0' | bloomdedup -f seen >out
	printf 'e\0' | cmp - out
	mkdir files
	touch files/one "files/t
wo"
	find files -type f -print0 | sort -z >in
	bloomdedup -z <in >out
	cmp in out
}

@test "lines of a mebibyte differ in their last byte" {
	head -c 1048575 /dev/zero | tr '\0' x >long
	for c in a b a c b; do
		cat long
		echo $c
	done >in
	model in >want
	[ "$(wc -c <want)" -eq $((3 * 1048577)) ]
	bloomdedup -f seen <in >out
	cmp want out
	"$HELPER" pieces 7 <in | bloomdedup -f seen >out
	[ ! -s out ]
}

# long_line BYTES KIBIBYTES: the line comes out, and again it does not, in so
# much memory. VmPeak would count what is only reserved; VmHWM is what is used.
long_line() {
	{ head -c "$1" /dev/zero | tr '\0' x; echo; } |
		"$HELPER" peak "$2" "$BLOOMDEDUP" -f seen >out
	[ "$(wc -c <out)" -eq $(($1 + 1)) ]
	[ "$(tr -d x <out | wc -c)" -eq 1 ]
	{ head -c "$1" /dev/zero | tr '\0' x; echo; echo short; } |
		"$HELPER" peak "$2" "$BLOOMDEDUP" -f seen >out
	echo short | cmp - out
}

@test "a line of 64 MiB, in its own size and 16 MB of memory beside the filter" {
	skip_if_sanitized
	# the default filter has less than 8 MiB
	long_line $((64 << 20)) $(((64 + 8) * 1024 + 15625))
}

@test "a line of a gibibyte" {
	is_slow || skip "long form only: two gigabytes"
	long_line $((1 << 30)) $(((1024 + 8) * 1024 + 15625))
}

@test "a line that arrives alone leaves alone" {
	mkfifo in out
	"$BLOOMDEDUP" -f seen <in >out 3>&- &
	exec 7>in 8<out
	for line in first second '' third; do
		printf '%s\n' "$line" >&7
		read -r -t 60 got <&8
		[ "$got" = "$line" ]
	done
	# half a line waits for its other half
	printf 'fou' >&7
	echo "rth" >&7
	read -r -t 60 got <&8
	[ "$got" = fourth ]
	# -z, too, and the one that was seen doesn't hold up the next
	printf 'first\nfifth\n' >&7
	read -r -t 60 got <&8
	[ "$got" = fifth ]
	exec 7>&-
	wait $!
	exec 8<&-
}

@test "a line from gzip that is flushed leaves at once" {
	mkfifo in out
	"$BLOOMDEDUP" <in >out 3>&- &
	exec 7>in 8<out
	{ echo one | gzip; } >&7
	read -r -t 60 got <&8
	[ "$got" = one ]
	{ echo two | gzip; } >&7
	read -r -t 60 got <&8
	[ "$got" = two ]
	exec 7>&-
	wait $!
	exec 8<&-
}

# many_lines N: repeats near and far, NULs, empty ones, long ones.
many_lines() {
	perl -e '
		srand(42);
		for my $i (1 .. shift) {
			my $r = int(rand(100));
			if ($r < 60) { print "https://example.org/", $i, "\n" }
			elsif ($r < 80) { print "https://example.org/",
			    1 + int(rand($i)), "\n" }
			elsif ($r < 90) { print "near ", int($i / 10), "\n" }
			elsif ($r < 95) { print "\0" x int(rand(20)), "\n" }
			elsif ($r < 99) { print pack("n", rand(65536)) =~
			    s/\n/ /gr, "\r\n" }
			elsif ($i % 97 == 0) { print "long" x int(rand(20000)),
			    int(rand(3)), "\n" }
			else { print "\n" }
		}
		print "no newline at the end"' "$1"
}

# A quarter of a million in the short form.
@test "a million lines: the output is the naive model's, in any pieces" {
	# at the default rate a mistake is likely once in hundreds of runs
	many_lines "$(short_or_long 250000 1000000)" >in
	model in >want
	bloomdedup -p 1e-12 <in >out
	cmp want out
	"$HELPER" pieces 1 <in | bloomdedup -p 1e-12 -f seen >out
	cmp want out
	"$HELPER" pieces 2 <in | bloomdedup -f seen >out
	[ ! -s out ]
	bloomdedup -f seen in >out
	[ ! -s out ]
	bloomdedup check -v -f seen in >out || [ $? -eq 1 ]
	[ ! -s out ]
}

@test "many short lines in one read, more than a batch holds" {
	seq 1 200000 | tee in | bloomdedup >out
	cmp in out
	# all the same, all empty
	head -c 1000000 /dev/zero | tr '\0' '\n' | bloomdedup >out
	echo | cmp - out
}
