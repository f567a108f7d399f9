# What was dropped can be seen: -d, --duplicates, and -q for scripts.
load ../common

# half_repeated COUNT SEED: lines of which about half are repeated.
half_repeated() {
	perl -e 'srand $ARGV[1]; for (1 .. $ARGV[0]) {
		my $i = int rand $ARGV[0] / 2;
		print $i, "x" x ($i % 40), "\n" }' "$@"
}

# model_repeated: the lines that were there before.
model_repeated() {
	perl -ne 'chomp; print "$_\n" if $seen{$_}++' "$@"
}

@test "-d prints the repeated lines instead of the new ones" {
	printf 'a\nb\na\na\nb\nc\n' | bloomdedup -d >out
	printf 'a\na\nb\n' | cmp - out
	printf 'a\nb\na\na\nb\nc\n' | bloomdedup --repeated -f filter >out
	printf 'a\na\nb\n' | cmp - out
	printf 'c\nd\n' | bloomdedup -d -f filter >out
	echo c | cmp - out
	printf 'c\nd\ne\n' | bloomdedup -f filter >out
	echo e | cmp - out
}

@test "-d and the default together are the input, on random lines" {
	half_repeated 50000 1 >in
	bloomdedup in >new
	bloomdedup -d in >repeated
	model in | cmp - new
	model_repeated in | cmp - repeated
	sort in >want
	sort new repeated | cmp want -
	[ -s repeated ]
}

@test "the same over two runs, with a filter that grows" {
	half_repeated 20000 2 >in
	head -n 8000 in >first
	tail -n +8001 in >second
	bloomdedup -f one -n 1000 -p 1e-9 first >new 2>err
	bloomdedup -f one second >>new 2>err
	bloomdedup -d -f two -n 1000 -p 1e-9 first >repeated 2>err
	bloomdedup -d -f two second >>repeated 2>err
	model in | cmp - new
	model_repeated in | cmp - repeated
}

@test "--duplicates writes the repeated lines beside the new ones" {
	half_repeated 50000 3 >in
	bloomdedup --duplicates=repeated in >new
	model in | cmp - new
	model_repeated in | cmp - repeated
	"$HELPER" pieces 1 <in | bloomdedup --duplicates=repeated >new
	model in | cmp - new
	model_repeated in | cmp - repeated
}

@test "--duplicates writes whole lines, as they came, with every key and -z" {
	printf 'A,1\nb,1\r\na,2\n a,"3\n4"\n' >in
	bloomdedup --csv --trim -i -k1 --duplicates=repeated in >new
	printf 'A,1\nb,1\r\n' | cmp - new
	printf 'a,2\n a,"3\n4"\n' | cmp - repeated
	printf 'a\nb\0a\nb\0c' | bloomdedup -z --duplicates=repeated >new
	printf 'a\nb\0c\0' | cmp - new
	printf 'a\nb\0' | cmp - repeated
}

@test "long repeated lines are written whole" {
	perl -e 'for my $n (65534 .. 65538, 200000, 600000) {
		print "x" x $n, "\n" for 1 .. 3; print "short\n" }' >in
	bloomdedup --duplicates=repeated in >new
	model in | cmp - new
	model_repeated in | cmp - repeated
}

@test "--duplicates with -d and with -q" {
	printf 'a\nb\na\n' | bloomdedup -d --duplicates=repeated >out
	echo a | cmp - out
	echo a | cmp - repeated
	printf 'a\nb\na\n' | bloomdedup -q --duplicates=repeated >out
	[ ! -s out ]
	echo a | cmp - repeated
}

@test "--duplicates replaces what was in the file" {
	echo old >repeated
	printf 'a\na\nb\n' | bloomdedup --duplicates=repeated >out
	echo a | cmp - repeated
	printf 'a\nb\n' | bloomdedup --duplicates=repeated >out
	[ ! -s repeated ]
}

@test "--duplicates may be a pipe or /dev/stderr" {
	printf 'a\na\nb\n' | bloomdedup --duplicates=/dev/stderr >out 2>err
	printf 'a\nb\n' | cmp - out
	echo a | cmp - err
	printf 'a\na\nb\n' | bloomdedup -q --duplicates=/dev/stdout | cat >out
	echo a | cmp - out
}

@test "--duplicates refuses an input, the filter and the output" {
	printf 'a\nb\na\n' >in
	cp in before
	fails 2 in bloomdedup --duplicates=in in
	cmp before in
	ln -s in link
	fails 2 in bloomdedup --duplicates=link in
	cmp before in
	fails 2 'standard input' bloomdedup --duplicates=in <in
	cmp before in
	echo x | bloomdedup -f filter >out
	cp filter filter.before
	fails 2 filter bloomdedup -f filter --duplicates=filter in
	cmp filter.before filter
	ln filter hard
	fails 2 filter bloomdedup -f filter --duplicates=hard in
	cmp filter.before filter
}

@test "--duplicates refuses the file that -o names" {
	printf 'a\nb\na\n' >in
	fails 2 same bloomdedup -o same --duplicates=same in
	fails 2 same bloomdedup -o ./same --duplicates=same in
	echo keep >kept
	fails 2 kept bloomdedup -o kept --duplicates=kept in
	echo keep | cmp - kept
}

@test "--duplicates refuses the file that is standard output" {
	printf 'a\nb\na\n' >in
	local status=0
	bloomdedup --duplicates=out in >out 2>err || status=$?
	[ "$status" -eq 2 ]
	grep -q '^bloomdedup: .*out' err
}

@test "where --duplicates is refused nothing is cut off and nothing remembered" {
	printf 'a\nb\na\n' >in
	echo keep >kept
	fails 2 in bloomdedup -o kept --duplicates=in in
	echo keep | cmp - kept
	fails 3 'none/such' bloomdedup -o kept --overwrite \
		--duplicates=none/such in
	echo keep | cmp - kept
	bloomdedup create filter
	fails 2 in bloomdedup -f filter --duplicates=in in
	bloomdedup -f filter in >out
	printf 'a\nb\n' | cmp - out
}

@test "what can't be written to --duplicates is an error, and no line is lost" {
	[ -c /dev/full ] || skip "no /dev/full"
	printf 'a\nb\na\n' >in
	fails 3 /dev/full bloomdedup -f filter --duplicates=/dev/full in
	bloomdedup -f filter in >out
	printf 'a\nb\n' | cmp - out
}

@test "an empty name and --duplicates for other commands are refused" {
	fails 2 --duplicates bloomdedup --duplicates= in
	fails 2 --duplicates bloomdedup add -f filter --duplicates=x in
	fails 2 --duplicates bloomdedup check -f filter --duplicates=x in
	fails 2 --repeated bloomdedup add -f filter -d in
}

# quiet STATUS COMMAND...: that exit status, and not a byte.
quiet() {
	local want=$1 status=0
	shift
	"$@" >quiet.out 2>&1 || status=$?
	[ "$status" -eq "$want" ]
	[ ! -s quiet.out ]
}

@test "-q says by its exit status whether anything was new" {
	printf 'a\nb\na\n' >in
	quiet 0 bloomdedup -q in
	quiet 0 bloomdedup -q -f filter in
	quiet 1 bloomdedup -q -f filter in
	printf 'b\nc\n' >next
	quiet 0 bloomdedup -q -f filter next
	quiet 1 bloomdedup -q -f filter next in
	quiet 1 bloomdedup -q </dev/null
	quiet 0 bloomdedup add -q -f other in
	quiet 1 bloomdedup add -q -f other in
	quiet 0 bloomdedup add -f other in
}

@test "check -q says whether any is in" {
	printf 'a\n' | bloomdedup add -f filter
	printf 'x\na\n' >in
	quiet 0 bloomdedup check -q -f filter in
	echo x >in
	quiet 1 bloomdedup check -q -f filter in
	quiet 0 bloomdedup check -q -v -f filter in
	quiet 1 bloomdedup check -q -f filter in
}

@test "-q reads all of its input and remembers it" {
	seq 20000 >in
	quiet 0 bloomdedup -q -f filter in
	bloomdedup -f filter in >out
	[ ! -s out ]
}

@test "-q with a file that fails is a failure" {
	echo a >in
	fails 3 nowhere bloomdedup -q -f filter in nowhere
	fails 3 nowhere bloomdedup -q -f filter in nowhere
}
