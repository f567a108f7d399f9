# Honest figures: the share of new lines that is taken for seen is what `info`
# states, and below p, in filters that are fresh, full, grown or overfull.
#
# The hash's secret is set to a fixed one, so that each run is the same one.
load ../common

# How many are looked up; a million lines, or fewer in a short run.
few=$(short_or_long 100000 300000)
many=$(short_or_long 300000 1000000)

setup_file() {
	SECRET=$(perl -e 'printf "%02x", $_ * 167 % 256 ^ 90 for 1 .. 192')
	export SECRET
}

# fixed FILTER: give an empty filter a secret that is always the same.
fixed() {
	[ ${#SECRET} -eq 384 ]
	"$HELPER" poke "$1" 128 "$SECRET"
	"$HELPER" fix-crc "$1"
}

# looks_up N FILTER P: of N lines that the filter never saw it takes as many
# for seen as `info` states, within 4 standard deviations, and less than P.
# $now is what it states.
looks_up() {
	local found info
	info=$("$BLOOMDEDUP" info --json "$2")
	[[ $info =~ \"error_rate_now\":\ ([^,]+), ]]
	now=${BASH_REMATCH[1]}
	found=$(many_lines "$1" 99 | bloomdedup check -f "$2" | wc -l)
	holds 'found <= n * p && (found - n * now) ^ 2 <= 16 * n * now + 1' \
		found="$found" n="$1" p="$3" now="$now"
}

# fill N FILTER: lines 1 to N go in and are all found again; `info`
# estimates their number within 1 %.
fill() {
	"$HELPER" lines "$1" 1 >input
	bloomdedup add -f "$2" input
	bloomdedup check -f "$2" input | cmp - input
	[ -z "$(bloomdedup check -v -f "$2" input)" ]
	holds '(lines - n) ^ 2 <= (n / 100) ^ 2' lines="$(figure lines "$2")" \
		n="$1"
}

# full N P LOOKUPS: a filter for N lines with N lines has the rate that the
# first layer is made for, 0.75 P, and keeps it.
full() {
	bloomdedup create -n "$1" -p "$2" filter
	fixed filter
	fill "$1" filter
	[ "$(layers filter)" -eq 1 ]
	looks_up "$3" filter "$2"
	holds 'now <= 0.78 * p && now >= 0.69 * p' p="$2" now="$now"
}

@test "a full filter at an error rate of 1e-2" {
	full $many 1e-2 $many
}

@test "a full filter at an error rate of 1e-3" {
	full $many 1e-3 $((2 * many))
}

@test "a full filter at an error rate of 1e-4" {
	full $many 1e-4 $(short_or_long 1000000 10000000)
}

@test "a full filter at an error rate of 1e-5" {
	full $many 1e-5 $(short_or_long 3000000 20000000)
}

@test "a million lines at the default rate: next to none is lost" {
	bloomdedup create -n 1e6 filter
	fixed filter
	fill 1000000 filter
	looks_up $(short_or_long 12000000 60000000) filter 1e-6
	holds 'now <= 0.78e-6 && now >= 0.6e-6' now="$now"
}

@test "half full is far better than full" {
	bloomdedup create -n 1e6 -p 1e-2 filter
	fixed filter
	fill 500000 filter
	looks_up $many filter 0.0006
}

@test "a filter for one line" {
	for p in 1e-2 1e-6 0.5; do
		bloomdedup create -n 1 -p "$p" "filter$p"
		fixed "filter$p"
		fill 1 "filter$p"
		looks_up $few "filter$p" "$p"
	done
}

@test "a filter for a hundred lines" {
	for p in 1e-2 1e-6 0.5; do
		bloomdedup create -n 100 -p "$p" "filter$p"
		fixed "filter$p"
		fill 100 "filter$p"
		looks_up $few "filter$p" "$p"
	done
}

@test "a filter for ten thousand lines" {
	for p in 1e-1 1e-2 1e-3; do
		bloomdedup create -n 10000 -p "$p" "filter$p"
		fixed "filter$p"
		fill 10000 "filter$p"
		looks_up $many "filter$p" "$p"
	done
}

@test "a given number of hash functions keeps the rate too" {
	for k in 1 3 7 13 24 64; do
		bloomdedup create -n 20000 -p 1e-2 --hashes=$k filter$k
		fixed filter$k
		fill 20000 filter$k
		looks_up $few filter$k 1e-2
	done
}

@test "a filter of a given size keeps the rate that it was promised" {
	bloomdedup size -n 100000 -m 150K --json >told
	p=$(json_value error_rate <told)
	bloomdedup create -n 100000 -m 150K filter
	fixed filter
	fill 100000 filter
	looks_up $((2 * many)) filter "$p"
	holds 'now >= 0.69 * p' now="$now" p="$p"
}

@test "grown to a hundred times as many lines" {
	local first
	first=$(short_or_long 2000 10000)
	bloomdedup create -n $first -p 1e-3 filter
	fixed filter
	fill $((100 * first)) filter
	[ "$(layers filter)" -eq 7 ]
	looks_up $((3 * many)) filter 1e-3
}

@test "grown from a hundred lines to ten thousand at once" {
	bloomdedup create -n 100 -p 1e-2 filter
	fixed filter
	fill 10000 filter
	[ "$(layers filter)" -lt 6 ]
	looks_up $many filter 1e-2
}

@test "grown from one line, one line at a time" {
	local count
	count=$(short_or_long 100 200)
	bloomdedup create -n 1 -p 1e-2 filter
	fixed filter
	"$HELPER" lines $count 1 | split -l 1 -a 3 - line.
	printf '%s\n' line.* | xargs -n 1 "$BLOOMDEDUP" add -f filter
	fill $count filter
	looks_up $many filter 1e-2
}

@test "at every moment while it grows: new lines are lost below the rate" {
	bloomdedup create -n 1000 -p 1e-2 filter
	fixed filter
	local count
	count=$(short_or_long 100000 500000)
	"$HELPER" lines $count 1 >input
	bloomdedup -f filter input >new
	holds 'new < n && new >= 0.99 * n' new="$(wc -l <new)" n=$count
	awk -v count=$count '
		BEGIN { getline new <"new" }
		$0 == new { getline new <"new"; next }
		{ lost[int((NR - 1) / (count / 10))]++ }
		END {
			for (i = 0; i < 10; i++)
				if (lost[i] > 0.01 * count / 10)
					exit 1
		}' input
}

# window P LEAST OPTION...: a window of 80,000 lines that moves on for 280,000
# keeps the rate at every moment, and comes to LEAST of it when all is full.
window() {
	local p=$1 least=$2 rates=() lookups i
	shift 2
	lookups=$(short_or_long 40000 1000000)
	bloomdedup create -p "$p" --window=80000 "$@" filter
	fixed filter
	"$HELPER" lines 280000 1 >input
	split -l 10000 input part.
	for i in part.*; do
		bloomdedup add -f filter "$i"
		looks_up "$lookups" filter "$p"
		rates+=("$now")
	done
	holds 'most >= least * p' least="$least" p="$p" \
		most="$(printf '%s\n' "${rates[@]}" | sort -g | tail -n 1)"
}

@test "a window of lines, at every moment: below the rate" {
	window 1e-2 0.45
	rm filter
	window 1e-2 0.45 --on-full=fail
}

@test "a window of time whose generations are full, or grew" {
	needs_faketime
	local share more day
	for share in 20000 50000; do
		more=$((share == 50000 ? 8000 : 0))
		rm -f filter
		at "2026-01-01 12:00:00" create -n 80000 -p 1e-2 --window=4d \
			filter
		fixed filter
		for day in 1 2 3 4 5 6; do
			"$HELPER" lines $((share + more * day)) $day |
				at "2026-01-0$day 12:00:00" add -f filter
		done
		at "2026-01-06 12:00:00" info --json filter >json
		now=$(json_value error_rate_now <json)
		found=$(many_lines 300000 99 |
			at "2026-01-06 12:00:00" check -f filter | wc -l)
		holds 'found <= n * p' found="$found" n=300000 p=1e-2
		holds '(found - n * now) ^ 2 <= 16 * n * now + 1' \
			found="$found" n=300000 now="$now"
		holds 'now >= 0.4 * p' now="$now" p=1e-2
	done
	[ "$(grep -o '"fill"' json | wc -l)" -gt 5 ]
}

@test "overfilled with --on-full=warn: the rate rises, and info says how far" {
	bloomdedup create -n 1e5 -p 1e-2 --on-full=warn filter
	fixed filter
	"$HELPER" lines 200000 1 >input
	bloomdedup add -f filter input 2>warning
	grep -q '^bloomdedup: ' warning
	bloomdedup check -f filter input | cmp - input
	[ "$(layers filter)" -eq 1 ]
	# what was taken for seen by mistake was never counted
	holds 'lines > 0.95 * n && lines <= 1.01 * n' n=200000 \
		lines="$(figure lines filter)"
	looks_up 500000 filter 0.5
	holds 'now > 0.05' now="$now"
}

@test "a filter that doesn't grow uses all of its rate" {
	bloomdedup create -n 2e5 -p 1e-3 --on-full=fail filter
	fixed filter
	fill 200000 filter
	looks_up $((2 * many)) filter 1.04e-3
	holds 'now <= 1.04e-3 && now >= 0.92e-3' now="$now"
}

@test "merged: the union has the rate that info states" {
	bloomdedup create -n 50000 -p 1e-3 one
	fixed one
	bloomdedup create --like=one two
	"$HELPER" lines 120000 1 >input
	head -n 50000 input | bloomdedup add -f one
	tail -n 70000 input | bloomdedup add -f two
	bloomdedup merge -o both one two 2>warning
	grep -q '^bloomdedup: .*above the 0.001' warning
	bloomdedup check -f both input | cmp - input
	holds '(lines - n) ^ 2 <= (n / 100) ^ 2' n=120000 \
		lines="$(figure lines both)"
	# two full filters in one: above p, as the merge says in its warning
	looks_up $((2 * many)) both 2e-3
}

@test "merged: half of the lines each, below p" {
	bloomdedup create -n 50000 -p 1e-3 one
	fixed one
	bloomdedup create --like=one two
	"$HELPER" lines 50000 1 >input
	head -n 25000 input | bloomdedup add -f one
	tail -n 25000 input | bloomdedup add -f two
	bloomdedup merge -o both one two
	bloomdedup check -f both input | cmp - input
	looks_up $((2 * many)) both 1e-3
}

@test "six layers, and two such filters merged" {
	bloomdedup create -n 2000 -p 1e-3 one
	fixed one
	bloomdedup create --like=one two
	fill 100000 one
	[ "$(layers one)" -eq 6 ]
	looks_up $((3 * many)) one 1e-3
	"$HELPER" lines 100000 2 | bloomdedup add -f two
	[ "$(layers two)" -eq 6 ]
	bloomdedup merge -o both one two 2>warning
	bloomdedup check -f both input | cmp - input
	# each of them has its own rate; half empty layers are joined
	looks_up $((3 * many)) both 2e-3
}

@test "recovered: lines of a journal, in the first layer and in a later one" {
	bloomdedup create -n 50000 -p 1e-3 filter
	fixed filter
	"$HELPER" lines 50000 1 >input
	"$HELPER" journal filter <input
	bloomdedup add -f filter /dev/null 2>notice
	grep -q '^bloomdedup: filter: finishing' notice
	[ ! -e filter.journal ]
	bloomdedup check -f filter input | cmp - input
	looks_up $((3 * many)) filter 1e-3
	# grown by half of the second layer, and a journal for the rest
	"$HELPER" lines 50000 2 >more
	bloomdedup add -f filter more
	[ "$(layers filter)" -eq 2 ]
	"$HELPER" lines 45000 3 >rest
	"$HELPER" journal filter 1 <rest
	bloomdedup add -f filter /dev/null 2>notice
	grep -q '^bloomdedup: filter: finishing' notice
	cat input more rest >all
	bloomdedup check -f filter all | cmp - all
	holds '(lines - n) ^ 2 <= (n / 100) ^ 2' n=145000 \
		lines="$(figure lines filter)"
	looks_up $((3 * many)) filter 1e-3
}

@test "recovered: a run that was killed, and another one that goes on" {
	bloomdedup create -n 50000 -p 1e-3 filter
	fixed filter
	"$HELPER" lines 150000 1 >input
	mkfifo pipe
	"$BLOOMDEDUP" -f filter <pipe >out 3>&- &
	pid=$!
	exec 7>pipe
	head -n 100000 input >&7
	# it has written most of them, and waits for more
	until_true has_bytes 2000000 out
	until_idle $pid
	kill -KILL $pid
	wait $pid 2>/dev/null || true
	exec 7>&-
	bloomdedup -f filter input >>out
	bloomdedup check -f filter input | cmp - input
	looks_up $((3 * many)) filter 1e-3
}

# never_missed FILTER FILE...: look-ups of lines that are in it.
never_missed() {
	local status=0 filter=$1
	shift
	bloomdedup check -v -f "$filter" "$@" >missed || status=$?
	[ "$status" -eq 1 ]
	[ ! -s missed ]
	echo "# $filter: $(($# * n)) look-ups" >&3
}

@test "a billion look-ups of lines that were remembered, and none is missed" {
	local n files=() i
	n=$(short_or_long 200000 1000000)
	"$HELPER" lines $n 1 >lines
	for ((i = 0; i < $(short_or_long 1 250); i++)); do
		files+=(lines)
	done
	bloomdedup create -n $n fresh
	bloomdedup create -n $n -p 0.1 --hash=siphash siphash
	bloomdedup create -n $((n / 50)) -p 1e-3 grown
	bloomdedup create --like=fresh one
	bloomdedup create --like=fresh two
	for filter in fresh siphash grown; do
		bloomdedup add -f $filter lines
	done
	[ "$(layers grown)" -ge 6 ]
	head -n $((n / 2)) lines | bloomdedup add -f one
	tail -n $((n / 2)) lines | bloomdedup add --shared -f two
	bloomdedup merge -o merged one two
	for filter in fresh siphash grown merged; do
		never_missed $filter "${files[@]}"
	done
}

@test "an empty filter finds nothing" {
	bloomdedup create -n 1000 filter
	[ "$(figure error_rate_now filter)" = 0 ]
	[ "$(figure lines filter)" = 0 ]
	run -1 bloomdedup check -q -f filter <<<"a line"
}

@test "a filter whose bits are all set finds everything" {
	bloomdedup create -m 212992 -p 1e-3 --on-full=warn filter
	perl -e 'print "\xff" x 200704' |
		dd of=filter bs=4096 seek=3 conv=notrunc status=none
	[ "$(stat -c %s filter)" -eq 212992 ]
	bloomdedup info --json filter | grep -q '"error_rate_now": 1,'
	bloomdedup check -f filter <<<"a line" | grep -qx 'a line'
}
