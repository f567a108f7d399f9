# How often a filter in Redis takes a new line for a seen one.
load ../common
load servers

# within NAME RATE PROBES: of so many lines that are not in the filter, no more
# are found than the rate allows (and four standard deviations).
within() {
	local found
	found=$(seq -f 'other %.0f' 1 "$3" |
		bloomdedup check -f "$URL/$1" | wc -l) || true
	echo "$1 ($kind): $found of $3 at $2" | tee -a "${RATES:-rates}"
	awk -v found="$found" -v want="$(awk "BEGIN { print $2 * $3 }")" \
		'BEGIN { exit !(found <= want + 4 * sqrt(want) + 1) }'
}

# keeps N RATE PROBES: at capacity and, if it grows, at ten times it
keeps() {
	local name=n$1
	bloomdedup create --force -n "$1" -p "$2" "$URL/$name" 2>notes
	seq 1 "$(printf %.0f "$1")" | bloomdedup add -f "$URL/$name"
	within "$name" "$2" "$3" || return 1
	[ "$kind" = bloom ] || return 0
	seq 1 "$(printf %.0f "${1}0")" |
		bloomdedup add -f "$URL/$name" 2>notes
	within "$name" "$2" "$3"
}

@test "the rate is kept, at the capacity and after growth to ten times" {
	for kind in $KINDS; do
		start
		for n in 1000 100000; do
			keeps "$n" 1e-3 "$(short_or_long 100000 10000000)"
		done
	done
	every_kind
}

@test "the rate of 1e-6, too, with ten million lines" {
	is_slow || skip "long form only"
	for kind in $KINDS; do
		start
		for n in 1000 100000 10000000; do
			keeps "$n" 1e-6 20000000
		done
		keeps 10000000 1e-3 10000000
	done
	every_kind
}
