# The section of `run` on other programs that drop repeated lines. Each takes turns
# with bloomdedup, and its output is compared with awk's. A program is looked for
# in the variable with its name in capitals (QSV=/opt/qsv/qsvlite), then in PATH.
#
# shellcheck shell=bash
# Commands are text that is evaluated later:
# shellcheck disable=SC2016,SC2154

rm -rf programs
mkdir programs || exit 1
PATH=$PWD/programs:$PATH
for name in anew bloom datamash dedupe duplicut gawk huniq mawk mmuniq qsv rling \
	runiq xan; do
	variable=${name^^}
	if [ -n "${!variable-}" ]; then
		ln -s "$(command -v "${!variable}")" "programs/$name" || exit 1
	fi
done
for init in bloom_init2 bloom_init; do
	[ -e programs/libbloom ] ||
		$CC -O2 -Werror=implicit-function-declaration \
			-DBLOOM_INIT=$init -o programs/libbloom \
			"$here/libbloom.c" -lbloom -lm 2>/dev/null
done
${CXX:-c++} -O3 -march=native -o programs/boost-bloom "$here/boost-bloom.cc" \
	2>/dev/null

# version PROGRAM: its number, if it tells one
version() {
	{ "$1" --version || "$1" -W version; } </dev/null 2>&1 |
		grep -oE '[0-9]+(\.[0-9]+)+' | head -n 1
}

# missing REFERENCE OUTPUT: how many of the reference's lines the output lacks;
# fails if it has one that isn't there or comes in another order.
missing() {
	awk -v reference="$1" '{
		while ((more = (getline line < reference)) > 0 && line != $0)
			n++
		if (more <= 0)
			exit failed = 1
	} END {
		while ((getline line < reference) > 0)
			n++
		print n + 0
		exit failed
	}' "$2"
}

# compared OUTPUT: with the lines of awk, each the first time, in order
compared() {
	local lines
	if cmp -s "$in.awk" "$1"; then
		echo the same
	elif lines=$(missing "$in.awk" "$1"); then
		echo "missing: $lines"
	else
		[ -e "$in.sorted" ] || sort "$in.awk" >"$in.sorted"
		sort "$1" | comm -3 "$in.sorted" - | awk '
			/^\t/ { more++; next }
			{ less++ }
			END {
				printf "another order"
				if (less || more)
					printf ", missing: %d, more: %d",
						less, more
				print ""
			}'
	fi
}

# timed COMMAND: sets `seconds` and `peak`, in kilobytes; `out` is what it wrote
timed() {
	local TIMEFORMAT=%R
	rm -f out
	seconds=$({ time /usr/bin/time -o peak -f %M \
		bash -o pipefail -c "$1" 2>errors; } 2>&1)
	local status=$?
	read -r peak < <(tail -n 1 peak)
	return $status
}

# turns NAME ROUNDS COMMAND OURS: it and ours take turns; sets `result` to the
# median of its seconds and of the ratios, as two cells, and `memory`
turns() {
	local round ours all='' ratios=''
	result='- | -'
	[ -n "$3" ] || return
	for ((round = 0; round < $2 && round < BENCH_ROUNDS; round++)); do
		restore e1.bloom
		timed "$4"
		ours=$seconds
		restore e1.bloom
		if ! timed "$3"; then
			echo "$1: $(head -n 1 errors)" >&2
			result='failed | -'
			return
		fi
		all+=" $seconds"
		ratios+=" $(awk -v a="$seconds" -v b="$ours" \
			'BEGIN { printf "%.2f", a / b }')"
		[ "$peak" -le "$memory" ] || memory=$peak
	done
	result="$(median "$all") | $(median "$ratios")"
}

# neighbour NAME PROGRAM ROUNDS REMEMBERS COMMAND [FROM-FILE]: one row. COMMAND
# is a filter, or empty if it is none; FROM-FILE reads $in and writes `out`.
neighbour() {
	local memory=0 result seconds peak file same
	if ! has "$2"; then
		absent+=", $1"
		return
	fi
	turns "$1" "$3" "${6:-$5 <\$in >out}" "$FILTERED \$in >out"
	file=$result
	same=$(compared out)
	turns "$1" "$3" "${5:+cat \$in | $5 | cat >/dev/null}" \
		"cat \$in | $FILTERED | cat >/dev/null"
	version=$(version "$2")
	say "| $1 | ${version:--} | $4 | $file | $result |" \
		"$((memory * 1024 / 1000000)) | $same |"
}

# boost ROUNDS: the operations of the two filters alone, on lines hashed before
boost() {
	local n round
	say
	say '| lines | filter | MB | error rate | added, M/s | looked up, M/s |'
	say '|---|---|---|---|---|---|'
	for n in "$N" $((10 * N)); do
		for ((round = 0; round < $1; round++)); do
			"$BLOOMDEDUP" try "$n" 1e-6 --measure --json |
				tr -d ',:{}"' | awk -v n="$n" '{
					for (i = 1; i < NF; i++)
						v[$i] = $(i + 1)
					print n, "bloomdedup", v["bytes"],
						v["error_rate_measured"],
						v["adds_per_second"],
						v["lookups_per_second"]
				}'
			boost-bloom "$n"
		done
	done | awk '
		{
			row = $1 " | " $2
			if (!(row in count))
				order[++rows] = row
			count[row]++
			bytes[row] = $3
			rate[row] += $4
			if ($5 > added[row])
				added[row] = $5
			if ($6 > found[row])
				found[row] = $6
		}
		END {
			for (i = 1; i <= rows; i++) {
				row = order[i]
				printf "| %s | %.1f | %.2g | %.1f | %.1f |\n",
					row, bytes[row] / 1e6,
					rate[row] / count[row],
					added[row] / 1e6, found[row] / 1e6
			}
		}' | while IFS= read -r line; do
		say "$line"
	done
}

# checked: ours prints what awk does, but for a share of 1e-6 (and chance: four
# standard deviations), and afterwards knows all lines
checked() {
	local lost
	restore e1.bloom
	eval "$FILTERED \$in" >out
	if ! lost=$(missing "$in.awk" out) || ! awk -v lost="$lost" \
		-v n="$(wc -l <"$in.awk")" 'BEGIN {
			exit !(lost <= n * 1e-6 + 4 * sqrt(n * 1e-6) + 1) }'
	then
		say "**bloomdedup prints other lines than awk ($lost missing)**"
		failed=1
	fi
	if ! eval "$FILTERED -d \$in" | cmp -s - "$in"; then
		say "**bloomdedup -d does not print every line**"
		failed=1
	fi
}

section_neighbours() {
	local absent=''
	export in=urls-$N BLOOMDEDUP
	input "$in" ./generate urls "$N" $((N * 7 / 10)) 1
	filter e1.bloom -n "$N" -p 1e-6
	[ -e "$in.awk" ] || awk '!seen[$0]++' "$in" >"$in.awk"
	say
	say "### $N URLs, seven tenths of them distinct, beside other programs"
	say
	say '| program | version | remembers | from a file, seconds |' \
		'times bloomdedup | through pipes, seconds |' \
		'times bloomdedup | memory, MB | output |'
	say '|---|---|---|---|---|---|---|---|---|'
	neighbour bloomdedup "$BLOOMDEDUP" 99 'Bloom filter, in a file' \
		"$FILTERED" "$FILTERED \$in >out"
	neighbour 'bloomdedup, two threads' "$BLOOMDEDUP" 99 \
		'Bloom filter, in a file' "${FILTERED/-j 1/-j 2}" \
		"${FILTERED/-j 1/-j 2} \$in >out"
	neighbour 'bloomdedup, a new filter' "$BLOOMDEDUP" 99 \
		'Bloom filter, in a file' \
		"{ rm now.bloom; $FILTERED -n $N; }" \
		"rm now.bloom; $FILTERED -n $N \$in >out"
	neighbour mmuniq mmuniq 99 '64-bit hashes, in memory' mmuniq
	neighbour "mmuniq -n $N" mmuniq 99 '64-bit hashes, in memory' \
		"mmuniq -n $N"
	neighbour huniq huniq 3 '64-bit hashes, in memory' huniq
	neighbour "preprocess's dedupe" dedupe 3 '64-bit hashes, in memory' \
		dedupe
	neighbour 'libbloom and getline, 1e-6' libbloom 2 \
		'Bloom filter, in memory' "libbloom $N 1e-6"
	neighbour 'libbloom and getline, 1e-3' libbloom 2 \
		'Bloom filter, in memory' "libbloom $N 1e-3"
	neighbour 'runiq' runiq 2 '64-bit hashes, in memory' 'runiq -'
	neighbour 'runiq -f compact' runiq 2 'Bloom filter, in memory' \
		'runiq -f compact -'
	neighbour duplicut duplicut 2 'lines, in memory' '' \
		'duplicut $in -o out >&2'
	neighbour rling rling 2 'lines, in memory' 'rling stdin stdout' \
		'rling $in out'
	neighbour 'xan dedup' xan 1 'lines, in memory' \
		"xan dedup -n -d '\\t'"
	neighbour 'qsv extdedup' qsv 1 'lines, in memory and on disk' \
		'qsv extdedup' 'qsv extdedup $in out'
	neighbour anew anew 1 'lines, in a text file and in memory' \
		'{ rm -f anew.txt; anew anew.txt; }'
	neighbour 'DCSO bloom: check, then insert' bloom 1 \
		'Bloom filter, in a file; prints known lines only' '' \
		"bloom create -p 1e-6 -n $N dcso.bloom &&
		bloom check dcso.bloom <\$in >out &&
		bloom insert dcso.bloom <\$in"
	neighbour "mawk '!seen[\$0]++'" mawk 1 'lines, in memory' \
		"mawk '!seen[\$0]++'"
	neighbour "gawk '!seen[\$0]++'" gawk 1 'lines, in memory' \
		"gawk '!seen[\$0]++'"
	neighbour 'sort -u' sort 1 'lines, in memory and on disk' 'sort -u'
	neighbour 'datamash rmdup' datamash 1 'lines, in memory' \
		'datamash rmdup 1'
	if [ -n "$absent" ]; then
		say
		say "Not installed: ${absent#, }."
	fi
	checked
	if has boost-bloom; then
		boost 2
	fi
	rm -f out peak now.bloom anew.txt dcso.bloom
}
