# A filter that doesn't grow and is full: what it says, by what it is.
load ../common

# full: a filter `seen` for 100 lines with 100,000, all of whose bits are set.
full() {
	seq 100000 |
		bloomdedup -f seen -n 100 -p 1e-3 --on-full=warn -q 2>err
	grep -q '^bloomdedup: seen: holds more than the ' err
}

# warned FILE: one line, with the rate.
warned() {
	[ "$(wc -l <"$1")" -eq 1 ]
	grep -q '^bloomdedup: seen: holds more than .* error rate is now about 1 instead of 0.001: that share of new lines is dropped$' "$1"
}

@test "a run that marks nothing any more says why nothing comes out" {
	full
	seq 500001 600000 | bloomdedup -f seen >out 2>err
	[ ! -s out ]
	warned err
}

@test "no warning while the error rate is kept, whatever was planned" {
	seq 1200 | bloomdedup -f seen -n 1000 -p 1e-3 --on-full=warn -q 2>err
	[ ! -s err ]
	seq 10 | bloomdedup -f window --window=1d -n 4 -p 1e-12 \
		--on-full=warn -q 2>err
	[ ! -s err ]
	seq 1000000 1100000 | bloomdedup -f seen -q 2>err
	grep -q 'more than the 1,000 lines .* is now about [^ ]* instead of 0.001: that share of new lines is dropped$' err
	[ "$(wc -l <err)" -eq 1 ]
}

@test "check, add, -d and -q say it, too" {
	full
	seq 500001 600000 >in
	bloomdedup check -f seen in 2>err | cmp - in
	warned err
	bloomdedup check -v -f seen in >out 2>err || [ $? -eq 1 ]
	[ ! -s out ]
	warned err
	bloomdedup add -f seen in 2>err
	warned err
	bloomdedup -d -f seen in 2>err | cmp - in
	warned err
	bloomdedup -q -f seen in 2>err || [ $? -eq 1 ]
	warned err
	for option in --atomic --shared; do
		bloomdedup $option -f seen in >out 2>err
		[ ! -s out ]
		warned err
	done
	bloomdedup --sync -o out -f seen in 2>err
	warned err
}

@test "how many lines were dropped can't be told" {
	full
	seq 500001 600000 | bloomdedup -f seen --stats 2>err
	grep -qE '^expected dropped +unknown$' err
	seq 500001 600000 | bloomdedup -f seen --stats=json 2>err
	grep -q '"expected_dropped": null' err
}

@test "after kill -9 it is known to be overfilled" {
	mkfifo pipe
	"$BLOOMDEDUP" -f seen -n 100 -p 1e-3 --on-full=warn <pipe >out 2>err \
		3>&- 7>&- &
	exec 7>pipe
	seq 100000 >&7
	echo last-a >&7
	until_true test -s out
	sleep 1
	kill -9 $!
	wait $! || :
	exec 7>&-
	seq 500001 600000 | bloomdedup -f seen >out 2>err
	warned err
}

@test "info and merge of filters whose bits are all set" {
	bloomdedup create -n 100 -p 1e-3 --on-full=warn seen
	bloomdedup create --like=seen other
	bloomdedup create --like=seen empty
	for filter in seen other; do
		"$HELPER" poke $filter 12288 "$(printf 'ff%.0s' $(seq 4096))"
	done
	bloomdedup info seen >out
	grep -q 'error rate *1 now' out
	grep -q 'remembers *every line$' out
	grep -q 'layer 1 *\[#*\] all bits are set, made for 100 lines, ' out
	run ! grep -E '000 (lines|%)' out
	bloomdedup info --json seen >out
	python3 - out <<-'END'
		import json, sys
		figures = json.load(open(sys.argv[1]))
		assert figures['error_rate_now'] == 1, figures
		assert 0 < figures['lines'] < 2 ** 64, figures
	END
	bloomdedup merge -o both seen other empty 2>err >out
	grep -q '^both: 3 filters, every line in . layers*; error rate now 1$' \
		out
	seq 1000 | bloomdedup check -f both 2>err | cmp - <(seq 1000)
	bloomdedup info --json both >out
	python3 -c 'import json, sys
figures = json.load(open("out"))
assert 0 < figures["lines"] < 2 ** 64 and figures["error_rate_now"] == 1'
	# and a run that finds them so
	seq 1000 | bloomdedup -f both --stats=json >out 2>err
	[ ! -s out ]
	bloomdedup info --verify both >/dev/null
}

@test "info says how much room is left, though it may be overfilled" {
	bloomdedup create -n 100 --on-full=warn seen
	bloomdedup info --json seen | grep -q '"room": 100,'
	seq 30 | bloomdedup -f seen -q
	bloomdedup info --json seen | grep -q '"room": 70,'
	seq 150 | bloomdedup -f seen -q 2>/dev/null
	bloomdedup info --json seen | grep -q '"room": 0,'
}
