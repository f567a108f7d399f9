# Marks that are held back (--atomic, --sync) are found again in memory: that
# adds next to nothing to the share of new lines that is taken for seen, and the
# sum stays below p, also in a filter that doesn't grow.
load ../common

# lost MODE FILTER N SEED: how many of N new lines a run with --atomic or --sync
# takes for seen.
lost() {
	many_lines "$3" "$4" >input
	bloomdedup "$1" -f "$2" --overwrite -o output input 2>/dev/null
	echo $(($3 - $(wc -l <output)))
}

# at_most LOST N P: below N P, but for 4 standard deviations of chance.
at_most() {
	echo "lost $1 of $2, allowed a share of $3"
	awk -v lost="$1" -v n="$2" -v p="$3" \
		'BEGIN { exit lost > n * p + 4 * sqrt(n * p) }' </dev/null
}

# So many are found again before the memory for it is made larger (--atomic), or
# all is marked (--sync).
ATOMIC=65536
SYNC=380000

@test "what is held back loses at most a share of 0.0025 p" {
	for growth in grow warn; do
		# empty, and far too large: what is lost is lost in memory
		for p in 0.5 0.1; do
			rm -f seen
			bloomdedup create -n 4e7 -p $p --on-full=$growth seen
			at_most "$(lost --atomic seen $ATOMIC 1)" $ATOMIC \
				"$(awk "BEGIN { print 0.0025 * $p }")"
			rm seen
			bloomdedup create -n 4e7 -p $p --on-full=$growth seen
			at_most "$(lost --sync seen $SYNC 1)" $SYNC \
				"$(awk "BEGIN { print 0.0025 * $p }")"
		done
	done
}

@test "a full filter that doesn't grow leaves that share" {
	many_lines 1000000 1 >input
	for p in 0.5 0.1 1e-2; do
		for growth in warn fail; do
			rm -f seen
			bloomdedup create -n 1e6 -p $p --on-full=$growth seen
			# by its shape, not by chance: its layer's rate
			bloomdedup add -f seen input 2>/dev/null || [ $? -eq 4 ]
			holds 'now < p' p=$p now="$(figure error_rate_now seen)"
		done
	done
}

@test "below p in sum, until a filter that doesn't grow is full" {
	n=400000
	[ -z "${BLOOMDEDUP_SLOW-}" ] || n=4000000
	for mode in --atomic --sync; do
		for p in 0.1 1e-2; do
			rm -f seen
			bloomdedup create -n $n -p $p --on-full=fail seen
			at_most "$(lost $mode seen $n 1)" $n $p
			# and with all that it has room for in it
			rm -f seen
			bloomdedup create -n $n -p $p --on-full=warn seen
			many_lines $n 1 | bloomdedup add -f seen
			now=$(figure error_rate_now seen)
			at_most "$(lost $mode seen $ATOMIC 2)" $ATOMIC \
				"$(awk "BEGIN { print $now + 0.0025 * $p }")"
		done
	done
}
