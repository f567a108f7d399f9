# An adversary that knows everything but the secret chooses the lines, a million
# of them (BLOOMDEDUP_SLOW; else fifty thousand, for a filter as much smaller):
# the error rate after them is at most a tenth above the one after other lines.
load ../common

ADVERSARY=$BUILD/adversary
lines=50000 probes=1000000
if is_slow; then
	lines=1000000 probes=4000000
fi

# The lines that nobody saw.
setup_file() {
	many_lines $probes 99 >"$BATS_FILE_TMPDIR/unseen"
}

# mistakes FILTER: how many of them it takes for seen.
mistakes() {
	bloomdedup check -f "$1" "$BATS_FILE_TMPDIR/unseen" | wc -l
}

# usual_mistakes HASH: an empty filter `empty`; and in $usual how many mistakes it
# makes after any lines.
usual_mistakes() {
	bloomdedup create --hash="$1" -n $lines -p 1e-2 empty
	cp empty filter
	"$HELPER" lines $lines 7 | bloomdedup add -f filter
	usual=$(mistakes filter)
	echo "$1: $usual of $probes after any lines"
	# else nothing can be told
	[ "$usual" -gt $((probes / 200)) ]
	[ "$usual" -lt $((probes / 100)) ]
}

# after AIM GUESS: $found is how many it makes after lines that were chosen.
after() {
	"$ADVERSARY" "$1" "$2" $lines empty >chosen
	[ "$(LC_ALL=C sort -u chosen | wc -l)" -eq $lines ]
	cp empty filter
	bloomdedup add -f filter chosen
	found=$(mistakes filter)
	echo "$1, $2: $found, usual $usual"
}

# in_vain HASH: whatever he aims at and believes the secret to be.
in_vain() {
	usual_mistakes "$1"
	for aim in bits pages; do
		for guess in zero default; do
			after $aim $guess
			[ $((found * 10)) -le $((usual * 11)) ]
		done
	done
}

# by_knowledge HASH: with the secret, the same lines do harm. So the tests
# above can see.
by_knowledge() {
	usual_mistakes "$1"
	for aim in bits pages; do
		after $aim known
		[ "$found" -ge $((usual * 3)) ]
	done
}

@test "chosen lines do not raise the error rate: XXH3" {
	in_vain xxh3
}

@test "chosen lines do not raise the error rate: SipHash" {
	in_vain siphash
}

@test "with the secret an adversary can spoil a filter: XXH3" {
	by_knowledge xxh3
}

@test "with the secret an adversary can spoil a filter: SipHash" {
	by_knowledge siphash
}

@test "a secret that was given away spoils the filters that have it" {
	head -c 192 /dev/zero >secret
	for hash in xxh3 siphash; do
		rm -f empty
		bloomdedup create --hash=$hash --secret-file=secret \
			-n $lines -p 1e-2 empty
		cp empty filter
		"$HELPER" lines $lines 7 | bloomdedup add -f filter
		usual=$(mistakes filter)
		after pages zero
		[ "$found" -ge $((usual * 3)) ]
	done
}

# watches HASH: he sees which of his lines don't come out, and makes his next
# ones of those, in ten rounds.
watches() {
	local round some=$((lines / 10))
	usual_mistakes "$1"
	cp empty filter
	"$HELPER" lines $some 5 >round
	cp round sent
	for ((round = 1; round <= 10; round++)); do
		bloomdedup -f filter --duplicates=dropped round >new
		cat dropped >>all_dropped
		[ $round -lt 10 ] || break
		# variants of what was dropped, or of what came out last
		{
			[ -s all_dropped ] && cat all_dropped || cat new
		} | perl -e '
			my ($some, $round) = @ARGV;
			chomp(my @from = <STDIN>);
			for my $i (0 .. $some - 1) {
				my $from = $from[$i % @from];
				my $n = int($i / @from);
				print $n % 2 ? "$from$round.$n\n"
					: "$round.$n$from\n";
			}' $some $round >round
		cat round >>sent
	done
	[ "$(LC_ALL=C sort -u sent | wc -l)" -eq $lines ]
	[ -s all_dropped ]
	found=$(mistakes filter)
	echo "$(wc -l <all_dropped) dropped; $found, usual $usual"
	[ $((found * 10)) -le $((usual * 11)) ]
}

@test "watching what is dropped does not help an adversary: XXH3" {
	watches xxh3
}

@test "watching what is dropped does not help an adversary: SipHash" {
	watches siphash
}
