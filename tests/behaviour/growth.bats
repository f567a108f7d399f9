# Beyond the capacity that a filter was made for.
load ../common

# remembers IN: every line is in the filter, and a second run prints nothing.
remembers() {
	bloomdedup check -f seen "$1" >found
	cmp "$1" found
	bloomdedup -f seen "$1" >again
	[ ! -s again ]
	status=0
	bloomdedup check -v -f seen "$1" >again || status=$?
	[ "$status" -eq 1 ]
	[ ! -s again ]
}

@test "made for 100 lines, 10,000 come in one batch" {
	"$HELPER" lines 10000 >in
	bloomdedup -n 100 -p 1e-12 -f seen in >out
	cmp in out
	[ "$(layers seen)" -eq 5 ]
	remembers in
	[ "$(layers seen)" -eq 5 ]
	# and without a file
	bloomdedup -n 100 -p 1e-12 in in >out
	cmp in out
}

@test "made for one line, lines come one by one" {
	"$HELPER" lines 200 >in
	split -l 1 -a 3 in line.
	printf '%s\n' line.* | xargs -n 1 "$BLOOMDEDUP" -n 1 -f seen >out
	cmp in out
	[ "$(layers seen)" -eq 2 ]
	remembers in
}

@test "made for 10,000 lines, many times as many come" {
	many=$(short_or_long 300000 1000000)
	"$HELPER" lines $many >in
	bloomdedup -n 1e4 -f seen in >out
	# at most a share of 1e-6 is dropped: of a million one line, expected;
	# 12 would be a chance in a billion
	diff in out >missing || [ $? -eq 1 ]
	[ "$(grep -c '^<' missing)" -le 12 ]
	run ! grep '^>' missing
	[ "$(layers seen)" -eq $(short_or_long 5 7) ]
	remembers in
}

@test "grown in many runs, the rate stays below what was asked for" {
	for ((i = 0; i < 10; i++)); do
		"$HELPER" lines 10000 $i | bloomdedup add -n 1000 -p 0.01 -f seen
	done
	for ((i = 0; i < 10; i++)); do
		"$HELPER" lines 10000 $i >in
		bloomdedup check -f seen in >out
		cmp in out
	done
	# 100,000 others: less than 1000 are expected; six deviations above
	"$HELPER" lines 100000 77 >in
	status=0
	bloomdedup check -f seen in >out || status=$?
	[ "$(wc -l <out)" -lt 1190 ]
	[ "$(wc -l <out)" -gt 10 ]
	lines=$(figure lines seen)
	[ "$lines" -gt 97000 ]
	[ "$lines" -lt 103000 ]
}

@test "--on-full=fail: exactly as many lines as planned, then status 4" {
	"$HELPER" lines 10000 >in
	for capacity in 1 100 4095 4096 4097 9999; do
		rm -f seen
		status=0
		cat in in | bloomdedup -n $capacity --on-full=fail -f seen \
			>out 2>err || status=$?
		[ "$status" -eq 4 ]
		[ "$(wc -l <err)" -eq 1 ]
		grep -q '^bloomdedup: seen: ' err
		head -n $capacity in | cmp - out
		# these are known, and can be filtered for ever
		bloomdedup -f seen out >again
		[ ! -s again ]
		fails 4 seen bloomdedup -f seen in
		bloomdedup check -f seen in >again || true
		head -n $capacity in >first
		head -n $capacity again | cmp first -
	done
	[ "$(layers seen)" -eq 1 ]
}

@test "--on-full=fail: exactly as many lines as planned are no error" {
	"$HELPER" lines 5000 >in
	cat in in | bloomdedup -n 5000 -p 1e-12 --on-full=fail -f seen >out
	cmp in out
	cat in in | bloomdedup -n 5000 -p 1e-12 --on-full=fail >out
	cmp in out
	fails 4 'other' bloomdedup add -n 4999 --on-full=fail -f other in
	status=0
	bloomdedup -n 4999 -p 1e-12 --on-full=fail in >out 2>err || status=$?
	[ "$status" -eq 4 ]
	[ "$(wc -l <err)" -eq 1 ]
	head -n 4999 in | cmp - out
}

@test "--on-full=warn: every line, one layer, a warning, status 0" {
	"$HELPER" lines 1500 >in
	bloomdedup -n 1000 --on-full=warn -f seen in >out 2>err
	[ "$(wc -l <err)" -eq 1 ]
	grep -q '^bloomdedup: seen: .*1,\?000' err
	[ "$(wc -l <out)" -ge 1480 ]
	[ "$(layers seen)" -eq 1 ]
	bloomdedup check -f seen in >found
	cmp in found
	bloomdedup -f seen in >again 2>err
	[ ! -s again ]
	# the first thousand are no reason to warn
	"$HELPER" lines 1000 | bloomdedup -n 1000 --on-full=warn -f other \
		>out 2>err
	[ ! -s err ]
	"$HELPER" lines 1500 | bloomdedup -f other >out 2>err
	[ "$(wc -l <err)" -eq 1 ]
}

@test "--on-full of one run alone, on a filter that grows" {
	bloomdedup create -n 1000 -p 1e-9 seen
	"$HELPER" lines 1500 >in
	status=0
	bloomdedup -f seen --on-full=fail in >out 2>err || status=$?
	[ "$status" -eq 4 ]
	head -n 1000 in | cmp - out
	bloomdedup -f seen in >>out
	cmp in out
	remembers in
}

@test "--max-size: as large as allowed and not a byte larger, then status 4" {
	"$HELPER" lines 100000 >in
	bloomdedup create -n 1000 -p 1e-12 seen
	status=0
	bloomdedup -f seen --max-size=64K in >out 2>err || status=$?
	[ "$status" -eq 4 ]
	# beside a word about growth, one about its end
	grep -q '^bloomdedup: seen: full: its next layer would make it .* more than the 64.0 KiB of --max-size' err
	run ! grep -qv '^bloomdedup: seen: ' err
	[ "$(stat -c %s seen)" -le 65536 ]
	[ "$(wc -l <out)" -ge 3000 ]
	head -n "$(wc -l <out)" in | cmp - out
	# nothing is lost: without the limit the rest comes
	bloomdedup -f seen in >>out
	cmp in out
	remembers in
}

@test "--max-size bounds what is made without -n, and refuses what -n needs" {
	echo a | bloomdedup -f seen --max-size=100K >out
	[ "$(stat -c %s seen)" -le 102400 ]
	fails 2 '--max-size' bloomdedup -f other -n 1e6 --max-size=100K
	fails 2 'not an option of bloomdedup create, but of bloomdedup and add' \
		bloomdedup create -n 1e6 --max-size=100K other
	fails 2 '' bloomdedup -f other --max-size=1
	[ ! -e other ]
	no_leftovers
}

@test "no room on the disk to grow: nothing is lost, nothing is printed twice" {
	small_disk 200k
	"$HELPER" lines 100000 >in
	bloomdedup create -n 1000 -p 1e-12 disk/seen
	status=0
	bloomdedup -f disk/seen in >out 2>err || status=$?
	cp disk/seen seen
	left=$(find disk -mindepth 1 | wc -l)
	umount disk
	[ "$status" -eq 3 ]
	[ "$left" -eq 1 ]
	[ "$(grep -c '^bloomdedup: disk/seen: No space left' err)" -eq 1 ]
	run ! grep -qv '^bloomdedup: disk/seen: ' err
	[ -s out ]
	head -n "$(wc -l <out)" in | cmp - out
	bloomdedup -f seen in >>out
	cmp in out
	remembers in
}

@test "a layer's room on the disk is its own, though the disk becomes full" {
	"$HELPER" lines 35000 >in
	# a run that shares the filter does not write a layer's pages in advance
	for mode in '' --shared; do
		small_disk 4M
		bloomdedup create -n 20000 -p 1e-12 disk/seen
		start_on_pipe ${mode:+"$mode"} -f disk/seen
		before=$(stat -c %s disk/seen)
		# ten lines in the second layer, which has room for 40,000; it
		# isn't looked at, since to read a page of a tmpfs can allocate it
		head -n 20010 in >&7
		until_true has_bytes "$(head -n 20010 in | wc -c)" out
		[ "$(stat -c %s disk/seen)" -gt $((2 * before)) ]
		run ! dd if=/dev/zero of=disk/rest bs=4k
		tail -n +20011 in >&7
		ends_with 0
		cmp in out
		[ "$(layers disk/seen)" -eq 2 ]
		cp disk/seen seen
		umount disk
		remembers in
	done
}

# answers EXPECTED...: give the lines to the check that reads the pipe, one
# after the other, and wait for what it says to each.
answers() {
	local expected number
	for expected; do
		echo "${expected#*$'\t'}" >&7
		number=$(($(wc -l <asked) + 1))
		echo "$expected" >>asked
		until_true lines_are "$number"
	done
	cmp out asked
}

lines_are() {
	[ "$(wc -l <out)" -eq "$1" ]
}

@test "a check that goes on for long follows a filter that grows" {
	seq 100 | bloomdedup add -n 100 -f f
	: >asked
	start_on_pipe check --mark -f f
	answers $'in\t1' $'out\t5000'
	seq 101 9000 | bloomdedup add -f f
	answers $'in\t5000' $'in\t9000' $'out\t9001' $'in\t1'
	seq 9001 40000 | bloomdedup add --shared -f f
	answers $'in\t9001' $'in\t40000' $'out\t40001'
	ends_with 0
}

@test "a check that goes on for long follows a window" {
	bloomdedup create --window=40 f
	: >asked
	start_on_pipe check --mark -f f
	answers $'out\t1'
	seq 40 | bloomdedup add -f f
	answers $'in\t1' $'in\t40' $'out\t41'
	seq 41 100 | bloomdedup add -f f
	answers $'out\t1' $'out\t40' $'in\t61' $'in\t100'
	seq 101 2000 | bloomdedup add -f f
	answers $'out\t100' $'in\t2000' $'out\t2001'
	ends_with 0
}
