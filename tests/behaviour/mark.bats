# --mark: every line is printed, with a word in front that says whether it is
# new.
load ../common

# marked FIRST SECOND: what --mark must print, by a model too simple to be wrong.
marked() {
	perl -ne 'chomp; print $seen{$_}++ ? "seen" : "new", "\t$_\n"' "$@"
}

@test "every line in order, new or seen, within a run and across runs" {
	{ "$HELPER" lines 20000; "$HELPER" lines 30000; seq 100; } >in
	marked in >want
	bloomdedup --mark in >out
	cmp want out
	bloomdedup --mark <in | cmp want -
	bloomdedup --mark -j2 in >out
	cmp want out
	head -n 35000 in >one
	tail -n +35001 in >two
	bloomdedup -f seen --mark one >out
	bloomdedup -f seen --mark two >>out
	cmp want out
}

@test "each line is printed when it arrives" {
	start_on_pipe --mark
	printf 'a\nb\n' >&7
	until_true has_bytes 12 out
	printf 'a\n' >&7
	until_true has_bytes 19 out
	ends_with 0
	printf 'new\ta\nnew\tb\nseen\ta\n' | cmp - out
}

@test "lines of any bytes and length, also -z" {
	{
		printf 'one\0two\n\0\0one\0'
		head -c 300000 /dev/zero | tr '\0' x
		printf '\0\0last'
	} >in
	bloomdedup -z --mark in >out
	{
		printf 'new\tone\0new\ttwo\n\0new\t\0seen\tone\0new\t'
		head -c 300000 /dev/zero | tr '\0' x
		printf '\0seen\t\0new\tlast\0'
	} | cmp - out
	# lines around the sizes that are copied at once
	for n in 1 120 127 128 129 131060 131068 131072 131077 262144; do
		perl -e '$n = shift; for $i (1 .. 3) {
			print chr(96 + $i) x $n, "\n" x 2 }' $n
	done >in
	marked in >want
	bloomdedup --mark in >out
	cmp want out
}

@test "the mark is that of the key, the line is whole" {
	cat >in <<-'END'
		{"id": 1, "text": "a"}
		{"text": "b", "id": 2}
		{"text": "a", "id": 3}
	END
	bloomdedup --mark --json=/text in | cut -f1 >out
	printf '%s\n' new new seen | cmp - out
	bloomdedup --mark --json=/text in | cut -f2- | cmp in -
	printf 'http://example.org/\nHTTP://Example.org:80\n' >in
	bloomdedup --mark --url in | cut -f1 >out
	printf '%s\n' new seen | cmp - out
	printf '1 a\n2 a\n' | bloomdedup --mark -k 2 >out
	printf 'new\t1 a\nseen\t2 a\n' | cmp - out
}

@test "with --part, lines of other parts are passed over" {
	"$HELPER" lines 1000 >one
	cat one one >in
	bloomdedup --part=2/3 one >mine
	[ -s mine ]
	cat mine mine >both
	marked both >want
	bloomdedup --part=2/3 --mark in >out
	cmp want out
}

@test "check: in and out, and nothing is remembered" {
	printf 'a\nb\n' | bloomdedup add -f seen
	cp seen copy
	printf 'a\nc\nc\nb\n' | bloomdedup check -f seen --mark -o out
	printf 'in\ta\nout\tc\nout\tc\nin\tb\n' | cmp - out
	cmp seen copy
	# the status is that of check without the option
	status=0
	echo c | bloomdedup check -f seen --mark >out || status=$?
	[ "$status" -eq 1 ]
	printf 'out\tc\n' | cmp - out
}

@test "with -o, --append, --atomic, --sync, --to-command and --dry-run" {
	"$HELPER" lines 5000 >one
	{ tail -n 100 one; "$HELPER" lines 6000; } >two
	cat one two >in
	marked in >want
	marked one >first
	for options in '' --atomic --sync; do
		# shellcheck disable=SC2086 # no word, or one
		bloomdedup -f seen --mark $options -o out one
		cmp first out
		bloomdedup -f seen --mark --dry-run two | cat first - |
			cmp want -
		# shellcheck disable=SC2086
		bloomdedup -f seen --mark $options -o out --append two
		cmp want out
		all_known in
		rm seen out
	done
	bloomdedup -f seen --mark --to-command='cat >out' in
	cmp want out
	rm seen
	# the command fails: nothing is remembered
	run -7 bloomdedup -f seen --mark --to-command='cat >out; exit 7' in
	bloomdedup -f seen --mark in >out
	cmp want out
}

@test "a write that fails: new lines that were printed are remembered" {
	"$HELPER" lines 1000 1 >one
	"$HELPER" lines 1000 2 | paste -d '\n' - one >two
	for limit in 32 33 45 60; do
		rm -f seen out
		bloomdedup add -f seen -n 2000 -p 1e-9 one
		[ "$(stat -c %s seen)" -le 32000 ]
		status=0
		(
			ulimit -f $limit
			exec "$BLOOMDEDUP" -f seen --mark -o out two
		) 2>err || status=$?
		[ "$status" -eq 3 ]
		has_bytes $((limit * 1024 - 100)) out
		[ -z "$(tail -c 1 out)" ]
		n=$(wc -l <out)
		[ "$n" -gt 20 ]
		head -n "$n" two >printed
		tail -n +$((n + 1)) two >rest
		cat one printed >known
		all_known known
		bloomdedup check -v -f seen rest >new || true
		perl -ne 'BEGIN { open F, "one"; $seen{$_} = 1 while <F> }
			print unless $seen{$_}' rest | cmp - new
	done
}

@test "what cannot be marked is refused in words" {
	fails 2 '--mark cannot be combined with --quiet: it prints every line' \
		bloomdedup --mark -q
	fails 2 '--repeated' bloomdedup --mark -d
	fails 2 '--duplicates' bloomdedup --mark --duplicates=x
	fails 2 '--csv: the mark would become part of a field' \
		bloomdedup --mark --csv
	printf 'a,b\n' | bloomdedup add -f table --csv -k1
	fails 2 '--mark cannot be used for a filter of --csv' \
		bloomdedup -f table --mark
	fails 2 '--mark cannot be used for a filter of --csv' \
		bloomdedup check -f table --mark
	fails 2 '--invert' bloomdedup check -f table --mark -v
	fails 2 '--quiet' bloomdedup check -f table --mark -q
	fails 2 '--mark' bloomdedup add -f table --mark
}
