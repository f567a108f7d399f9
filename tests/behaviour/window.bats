# --window: lines are forgotten on purpose, by time or by new lines. The model
# that says what must be printed is window.py; the clock is faketime's.
load ../common

windows() {
	BLOOMDEDUP=$BLOOMDEDUP python3 "$ROOT/tests/behaviour/window.py" \
		-s "${BLOOMDEDUP_SEED:-1}" "$@"
}

# --- the promise, against the model

@test "by lines: known for the window, and no longer than five quarters" {
	windows lines "$(short_or_long 20000 1000000)"
}

@test "by lines it is the same with --sync, and with four threads" {
	windows lines 5000 --sync
	rm seen
	windows lines 5000 -j 4
}

@test "by lines it is the same whatever is done when a filter is full" {
	windows lines 5000 --on-full=warn
	rm seen
	windows lines 5000 --on-full=fail
}

@test "by time: known for the window, and no longer than five quarters" {
	needs_faketime
	windows time "$(short_or_long 20000 1000000)"
}

@test "by time it is the same with --sync, --atomic and --to-command" {
	needs_faketime
	local options
	for options in --sync --atomic --to-command=cat; do
		rm -f seen
		windows time "$(short_or_long 700 2000)" $options
	done
}

@test "by time and by lines it is the same with --shared" {
	needs_faketime
	windows time "$(short_or_long 1000 2000)" --shared
	rm seen
	windows lines 5000 --shared
}

@test "a run that waits forgets what is over meanwhile" {
	needs_faketime
	needs_proc
	windows pipe "$(short_or_long 60 300)"
}

@test "runs that share a filter and wait" {
	needs_faketime
	needs_proc
	windows pipes "$(short_or_long 80 300)"
}

@test "a run that shares a filter marks in the newest generation" {
	needs_faketime
	needs_proc
	windows stalled
}

# --- the clock

@test "a clock that goes back by a day or by a year: ages stay" {
	needs_faketime
	local back
	for back in 2027-01-31 2026-02-01; do
		rm -f seen
		echo a | at "2027-02-01 12:00:00" -f seen --window=8h -n 100
		echo a | at "$back 12:00:00" -f seen >out 2>err
		[ ! -s out ]
		grep -q 'the clock went back by' err
		[ "$(wc -l <err)" -eq 1 ]
		echo b | at "$back 12:30:00" -f seen >out 2>err
		[ ! -s err ]
		# the window later at least, and a quarter twice at most
		printf 'a\nb\n' | at "$back 19:59:59" -f seen >out
		[ ! -s out ]
		printf 'a\nb\n' | at "$(date -u -d "$back +1 day" +%F) 00:30:00" \
			-f seen | cmp - <(printf 'a\nb\n')
	done
}

@test "a run in 1970 forgets nothing, and a new window there is refused" {
	needs_faketime
	printf 'a\nb\n' | at "2026-06-01 12:00:00" -f seen --window=30d -n 100
	for options in '' --atomic --sync --shared; do
		printf 'a\nb\n' | at "1970-01-01 00:10:00" -f seen $options \
			>out 2>err
		[ ! -s out ]
		is_message err 'seen: the clock is before 2026, so it is wrong: no line is forgotten'
	done
	echo c | at "1970-01-02 00:00:00" -f seen 2>err | cmp - <(echo c)
	echo c | at "1970-01-01 00:00:30" -f seen 2>err | cmp - /dev/null
	printf 'a\nb\nc\n' | at "2026-06-20 12:00:00" -f seen 2>err >out
	[ ! -s out ]
	[ ! -s err ]
	printf 'a\nb\nc\n' | at "2026-06-30 12:00:00" check -f seen |
		cmp - <(printf 'a\nb\nc\n')
	printf 'a\nb\n' | at "2026-07-20 12:00:00" -f seen |
		cmp - <(printf 'a\nb\n')
	for command in '-f new' 'create new'; do
		run -3 --separate-stderr at "1970-01-01 00:10:00" $command \
			--window=30d </dev/null
		[[ $stderr == *'it is before 2026'* ]]
		[ ! -e new ]
	done
	# a window of lines needs no clock
	echo a | at "1970-01-01 00:10:00" -f lines --window=100
}

@test "a clock that goes back by less than a quarter: nothing is forgotten" {
	needs_faketime
	echo a | at "2026-02-01 12:10:00" -f seen --window=8h -n 100
	echo a | at "2026-02-01 11:50:00" -f seen >out 2>err
	[ ! -s out ]
	echo b | at "2026-02-01 11:50:00" -f seen >out
	printf 'a\nb\n' | at "2026-02-01 20:09:59" -f seen >out
	[ ! -s out ]
}

@test "a clock that was a year ahead and came back" {
	needs_faketime
	echo a | at "2026-02-01 12:00:00" -f seen --window=8h -n 100
	# a clock that is set ahead forgets what it skips
	echo a | at "2027-02-01 12:00:00" -f seen | cmp - <(echo a)
	echo a | at "2026-02-01 12:05:00" -f seen >out 2>err
	[ ! -s out ]
	grep -q 'the clock went back by 31' err
	echo a | at "2026-02-01 20:00:00" -f seen >out
	[ ! -s out ]
	echo a | at "2026-02-02 00:30:00" -f seen | cmp - <(echo a)
}

@test "a clock that is years ahead just while lines are marked" {
	needs_faketime
	needs_proc
	windows ahead
}

@test "a run without a new line makes no line stay longer" {
	needs_faketime
	local options
	for options in '' --sync --atomic --shared --to-command=cat; do
		rm -f seen
		echo a | at "2026-02-01 12:00:00" -f seen --window=8h -n 100
		# shellcheck disable=SC2086 # no option, or one
		at "2026-02-01 19:00:00" -f seen $options </dev/null
		# shellcheck disable=SC2086
		echo a | at "2026-02-01 19:59:59" -f seen $options >out
		[ ! -s out ]
		echo a | at "2026-02-01 22:00:00" -f seen | cmp - <(echo a)
	done
}

@test "summer time is nothing to a window" {
	needs_faketime
	local zone=CET-1CEST,M3.5.0,M10.5.0/3
	echo a | TZ=$zone faketime -f "2026-03-29 01:59:00" \
		"$BLOOMDEDUP" -f seen --window=2h -n 100
	# two hours later on the wall is one hour
	echo a | TZ=$zone faketime -f "2026-03-29 04:01:00" \
		"$BLOOMDEDUP" -f seen >out 2>err
	[ ! -s out ] && [ ! -s err ]
}

# --- the file

# in_parts RATE WINDOW PARTS ADD: the lines of `in` pass through the filter, each
# of the parts by the function ADD, which gets its name and options. The file
# keeps to the size that it is said to have, $bound, and knows the last window.
in_parts() {
	local bound part
	bound=$(told -p "$1" --window="$2")
	split -n "l/$3" in part.
	for part in part.*; do
		"$4" "$part" -p "$1" --window="$2"
		[ "$(stat -c %s seen)" -le "$bound" ]
	done
	[ "$(stat -c %s seen)" -eq "$bound" ]
	bloomdedup check -f seen <(tail -n "$2" in) | cmp - <(tail -n "$2" in)
}

@test "the file is never larger than size --window says, in many windows" {
	add() {
		bloomdedup add -f seen "$@"
	}
	"$HELPER" lines "$(short_or_long 100000 400000)" >in
	in_parts 1e-6 4000 "$(short_or_long 5 20)" add
	[ "$(figure lines seen)" -le 5100 ]
}

@test "by time, the file is no larger while quarters get their share" {
	needs_faketime
	local bound i
	bound=$(told -n 4000 -p 1e-6 --window=40d)
	for ((i = 0; i < 40; i++)); do
		seq $((i * 1000)) $((i * 1000 + 999)) | at "$(date -u +%F -d \
			"2026-01-01 +$((10 * i)) days") 12:00:00" \
			add -f seen -n 4000 -p 1e-6 --window=40d
		[ "$(stat -c %s seen)" -le "$bound" ]
	done
	[ "$(stat -c %s seen)" -eq "$bound" ]
}

@test "where files have no holes, the space of what is over is used again" {
	needs_strace
	add_without_holes() {
		strace -qq -f -o trace -e trace=fallocate \
			-e inject=fallocate:error=EOPNOTSUPP \
			"$BLOOMDEDUP" add -f seen "$@"
		# 20000 lines are 40 turns: to clear, and to give back
		[ "$(grep -c 'PUNCH_HOLE.*INJECTED' trace)" -ge 40 ]
		[ "$(($(du -k seen | cut -f 1) * 1024))" -le $((bound + 65536)) ]
	}
	"$HELPER" lines "$(short_or_long 40000 200000)" >in
	in_parts 1e-12 2000 "$(short_or_long 2 10)" add_without_holes
	# what was there before has not come back to life
	run -1 bloomdedup check -f seen <(head -n -2500 in)
	[ -z "$output" ]
}

@test "what is over gives its space back" {
	needs_faketime
	fallocate -l 1M hole 2>/dev/null && fallocate -p -l 1M hole 2>/dev/null &&
		[ "$(du -k hole | cut -f 1)" -lt 500 ] ||
		skip "needs a file system with holes"
	seq 1000 | at "2026-01-01 00:00:00" add -f seen -n 4e6 --window=4d
	seq 1000 | at "2026-01-02 00:00:00" add -f seen
	seq 1000 | at "2026-01-03 00:00:00" add -f seen
	local full
	full=$(du -k seen | cut -f 1)
	echo a | at "2026-02-01 00:00:00" add -f seen
	[ "$(du -k seen | cut -f 1)" -lt $((full / 2)) ]
}

@test "a generation that gets more than its share grows, and goes as a whole" {
	needs_faketime
	seq 5000 >in
	at "2026-01-01 00:00:00" -f seen -n 400 --window=4d in | cmp - in
	[ "$(layers seen)" -gt 3 ]
	at "2026-01-05 00:00:00" check -f seen in >out
	cmp in out
	at "2026-01-06 00:00:00" -f seen in | cmp - in
	at "2026-01-06 00:00:00" check -f seen in | cmp - in
}

@test "--max-size holds" {
	needs_faketime
	seq 5000 >in
	run -4 at "2026-01-01 00:00:00" add -f seen -n 400 --window=4d \
		--max-size=40k in
	[ "$(stat -c %s seen)" -le 40960 ]
}

@test "the header has the feature bit, and other ones are refused" {
	bloomdedup create --window=400 seen
	[ "$(od -An -tu4 -j16 -N4 seen | tr -d ' ')" -eq 1 ]
	[ "$(od -An -tu4 -j88 -N4 seen | tr -d ' ')" -eq 2 ]
	[ "$(od -An -tu8 -j96 -N8 seen | tr -d ' ')" -eq 400 ]
	[ "$(head -c 4104 seen | tail -c 8)" = bdwindow ]
	bloomdedup create plain -n 100
	[ "$(od -An -tu4 -j16 -N4 plain | tr -d ' ')" -eq 0 ]
	"$HELPER" poke seen 16 03000000
	"$HELPER" fix-crc seen
	fails 3 'made by a newer version' bloomdedup check -f seen /dev/null
}

# --- commands that only look

@test "check and info leave out what is over, though the file has it" {
	needs_faketime
	echo old | at "2026-01-01 00:00:00" add -f seen --window=4d -n 100
	echo new | at "2026-01-03 12:00:00" add -f seen
	cp seen before
	chmod 400 seen
	printf 'old\nnew\n' >both
	at "2026-01-05 23:59:59" check -f seen both | cmp - both
	at "2026-01-06 00:00:00" check -f seen both | cmp - <(echo new)
	at "2026-01-06 00:00:00" info --json seen >json
	grep -q '"lines": 1,' json
	grep -qE '"generations": \[\{[^}]*\}\]' json
	run -1 at "2027-01-01 00:00:00" check -f seen both
	[ -z "$output" ]
	at "2027-01-01 00:00:00" info --json seen >json
	grep -q '"lines": 0,' json
	at "2027-01-01 00:00:00" info seen | grep -q 'about 0 lines'
	cmp seen before
}

@test "info names generations, and when they are over" {
	needs_faketime
	echo a | at "2026-01-01 12:00:00" add -f seen --window=4d -n 100
	echo b | at "2026-01-02 12:00:00" add -f seen
	at "2026-01-02 12:00:00" info seen >out
	grep -qE 'window +4d$' out
	grep -q '1 lines, forgotten at 2026-01-06 00:00:00 UTC$' out
	grep -q '1 lines, forgotten at 2026-01-07 00:00:00 UTC, the newest$' out
}

# --- one window for one filter

@test "the window is the filter's: inherited, and never another one" {
	bloomdedup create --window=1000 lines
	bloomdedup create --window=30d -n 100 days
	bloomdedup create -n 100 plain
	echo a | bloomdedup -f lines >out
	echo a | bloomdedup -f lines --window=1e3 >out
	echo a | bloomdedup -f days --window=720h >out
	fails 2 contradicts bloomdedup -f lines --window=2000 /dev/null
	fails 2 contradicts bloomdedup -f lines --window=1000s /dev/null
	fails 2 contradicts bloomdedup -f days --window=31d /dev/null
	fails 2 contradicts bloomdedup -f plain --window=30d /dev/null
	bloomdedup create --like=days other
	bloomdedup info other | grep -qE 'window +30d$'
	fails 2 --window bloomdedup create --window=10x wrong
	fails 2 --window bloomdedup create --window=0 wrong
	fails 2 --capacity bloomdedup create --window=1000 -n 2000 wrong
	[ ! -e wrong ]
}

@test "three runs share a filter: each line at least once" {
	local i pids=()
	"$HELPER" lines 30000 >in
	bloomdedup create --window=4000 -p 1e-12 seen
	for i in 1 2 3; do
		split -n "l/$i/3" in >part.$i
		cat part.$i in >in.$i
		bloomdedup --shared -f seen in.$i >out.$i 2>err.$i 3>&- &
		pids[i]=$!
	done
	for i in 1 2 3; do
		wait "${pids[i]}"
	done
	sort in >want
	cat out.* | sort -u | cmp want -
	bloomdedup info seen >out
}

@test "--to-command and --atomic by lines: one generation may be larger" {
	seq 3000 >in
	bloomdedup -f seen --window=1000 --to-command='cat >got' in
	cmp in got
	bloomdedup check -f seen in | cmp - in
	# and it is full: the next ones begin anew
	seq 3001 4000 | bloomdedup -f seen --atomic | cmp - <(seq 3001 4000)
	bloomdedup check -f seen <(seq 3001 4000) | cmp - <(seq 3001 4000)
	seq 4001 4600 | bloomdedup add -f seen
	seq 4601 5200 | bloomdedup add -f seen
	run -1 bloomdedup check -f seen in
}

# has_lines N FILE
has_lines() {
	[ "$(wc -l <"$2")" -eq "$1" ]
}

@test "a run that was killed counts anew, and forgets nothing too early" {
	local round
	bloomdedup create --window=2000 seen
	: >all
	for ((round = 0; round < $(times 6 40); round++)); do
		start_on_pipe -f seen
		seq $((round * 700)) $((round * 700 + 699)) >&7
		until_true has_lines 700 out
		until_idle "$pid"
		dies_of KILL
		cat out >>all
		bloomdedup -f seen <(tail -n 2000 all) >out
		[ ! -s out ]
	done
}

# --- merge

@test "windows by time are merged generation by generation" {
	needs_faketime
	local i
	at "2026-01-01 12:00:00" create --window=4d -n 4000 \
		-p 1e-12 a
	at "2026-01-01 12:00:00" create --like=a b
	for i in 0 1 2 3 4 5; do
		seq $((i * 1000)) 2 $((i * 1000 + 999)) >odd.$i
		seq $((i * 1000 + 1)) 2 $((i * 1000 + 999)) >even.$i
		at "2026-01-0$((i + 1)) 12:00:00" add -f a odd.$i
		[ $i -eq 2 ] || at "2026-01-0$((i + 1)) 12:00:00" \
			add -f b even.$i
	done
	at "2026-01-06 12:00:00" merge -o both a b >out 2>err
	[ ! -s err ]
	seq 0 5999 >all
	for i in 06 07 08 09 10 11 12; do
		at "2026-01-$i 12:00:00" check -f a all >out ||
			[ ! -s out ]
		at "2026-01-$i 12:00:00" check -f b all >>out || true
		sort -n out >want
		at "2026-01-$i 12:00:00" check -f both all | cmp - want
	done
	[ ! -s want ]
	# and it goes on
	at "2026-01-08 12:00:00" -f both all | cmp - \
		<(cat odd.0 even.0 odd.1 even.1 odd.2 <(seq 2001 2 2999) \
		| sort -n)
}

@test "windows that differ, and windows of lines, are not merged" {
	bloomdedup create --window=4d -n 100 a
	cp a b
	"$HELPER" poke b 96 01
	"$HELPER" fix-crc b
	fails 2 'window is 345600 s' bloomdedup merge -o out.filter a b
	bloomdedup create --window=400 lines
	bloomdedup create --like=lines lines2
	fails 2 'which of them came first' \
		bloomdedup merge -o out.filter lines lines2
	bloomdedup merge -o copy lines >out
	bloomdedup info copy | grep -qE 'window +400 new lines'
	[ ! -e out.filter ]
}

# --- a filter with a window stays readable

@test "a window that can't grow, since the file may not, stays as it was" {
	seq 3000 >in
	for options in --window=1d "--window=1d --atomic"; do
		rm -f seen
		# shellcheck disable=SC2086 # several options
		(ulimit -f 20; bloomdedup -f seen -n 4 $options in) >out 2>err ||
			grep 'File too large' err
		run ! grep 'cut short' err
		bloomdedup info seen
		bloomdedup -f seen in >rest
		cat out rest | sort -nu | cmp - in
	done
}

@test "a signal or a full disk just when a window grows" {
	needs_strace
	local mode fault
	seq 3000 >in
	seq 4 | bloomdedup add -f small --window=1d -n 4
	for mode in '' --sync --atomic --shared; do
		for fault in signal=TERM error=ENOSPC; do
			cp small seen
			rm -f seen.journal
			# shellcheck disable=SC2086 # no option, or one
			strace -qq -o trace -e trace=fallocate \
				-e inject=fallocate:$fault:when=1 \
				"$BLOOMDEDUP" -f seen $mode in >out 2>err || true
			grep -qE 'INJECTED|SIGTERM' trace
			run ! grep 'cut short' err
			bloomdedup -f seen in >rest 2>err
			sort -n out rest | uniq | cmp - <(seq 5 3000)
		done
	done
}

@test "a late mark, then a clock that is a little back" {
	needs_faketime
	(seq 10; sleep 1.5) | faketime -f '@2026-01-05 00:01:00 x1200' \
		"$BLOOMDEDUP" -f seen --window=1h --sync -o out
	for time in '2026-01-05 00:29:59' '2026-01-05 00:30:01' \
		'2026-01-05 00:31:01' '2025-01-05 00:00:00' \
		'2025-01-05 00:29:00' '2025-01-05 00:46:00'; do
		seq 20 | at "$time" -f seen >out 2>err
	done
	[ "$(wc -l <out)" -eq 0 ]
	bloomdedup info seen
}

@test "many more lines than planned for take few layers" {
	needs_faketime
	local i
	for i in {1..8}; do
		seq $((i * 16383)) $((i * 16383 + 16382)) |
			bloomdedup -f lines --window=4 --atomic -q
		[ "$(layers lines)" -le 12 ]
	done
	for i in {1..9}; do
		seq $((i * 163830)) $((i * 163830 + 163829)) |
			at "2026-01-0$i 12:00:00" -f days --window=4d -n 40 -q
	done
	[ "$(layers days)" -le 16 ]
	seq 1000000 | bloomdedup -f atomic -n 4 --atomic -q
	[ "$(layers atomic)" -eq 2 ]
}

@test "a window within --max-size turns for ever" {
	needs_faketime
	local day
	for day in 01 02 03 04 05 06 07 08 09 10 15 20 21; do
		echo "line $day" | at "2026-01-$day 12:00:00" -f seen \
			--window=4d -n 1000 --max-size=32K
	done >out 2>err
	run ! grep 'no room' err
	[ "$(wc -l <out)" -eq 13 ]
	[ "$(wc -c <seen)" -le 32768 ]
}

@test "--max-size holds for a window when it is made" {
	fails 2 '--max-size=10.0 KiB is too small: the filter needs' \
		bloomdedup -f seen --window=1d -n 1e6 --max-size=10K
	[ ! -e seen ]
	seq 5 | bloomdedup -f seen --window=1d --max-size=100K -q
	[ "$(wc -c <seen)" -le 102400 ]
}

@test "where there is no place for the next part, the current one goes on" {
	needs_faketime
	local day
	at "2026-01-01 12:00:00" create --window=4d -n 4e5 seen
	seq 1 1000 | at "2026-01-01 12:00:00" -f seen >out
	size=$(wc -c <seen)
	for day in 02 03 04; do
		seq 1 1000 | "$HELPER" pieces 1 |
			at "2026-01-$day 12:00:00" -f seen \
				--max-size="$size" >>out 2>err
		# once, whatever comes in
		[ "$(wc -l <err)" -eq 1 ]
		grep 'no room for the next quarter of the window' err
	done
	[ "$(wc -l <out)" -eq 1000 ]
	[ "$(wc -c <seen)" -eq "$size" ]
	# and later it is the past
	seq 1 1000 | at "2026-01-20 12:00:00" -f seen >again
	[ "$(wc -l <again)" -eq 1000 ]
}

@test "a next part that finds no place in its size is begun as planned" {
	needs_faketime
	at "2026-01-01 12:00:00" create --window=4d -n 4e5 seen
	planned=$(($(wc -c <seen) - 12288))
	seq 500000 | at "2026-01-01 12:00:00" -f seen -q 2>err
	[ "$(layers seen)" -gt 1 ]
	size=$(wc -c <seen)
	echo new | at "2026-01-02 12:00:00" -f seen \
		--max-size=$((size + planned)) >out 2>err
	echo new | cmp - out
	run ! grep 'no room' err
	at "2026-01-02 12:00:00" info --json seen |
		grep -q '"generations": \[{.*}, {.*}\]'
}

@test "what is remembered after a pause makes nothing else stay longer" {
	needs_faketime
	local command begin
	for command in '' 'cat; unset LD_PRELOAD; sleep 0.5'; do
		rm -f seen
		at "2026-01-05 00:01:00" create --window=1h seen
		echo old | at "2026-01-05 00:01:00" add -f seen
		# half a second is five hours
		(echo new; sleep 0.5) | faketime -f '@2026-01-05 00:02:00 x36000' \
			"$BLOOMDEDUP" -f seen \
			"${command:+--to-command=}${command:---atomic}" >out
		echo new | cmp - out
		begin=$(bloomdedup info --json seen |
			sed 's/.*"begin": \([0-9]*\), "over".*/\1/')
		printf 'old\nnew\n' | at "$(date -u -d "@$begin" '+%F %T')" \
			check -f seen >known
		echo new | cmp - known
	done
}

@test "a window of lines isn't full, whatever a run does at once" {
	seq 600 >in
	bloomdedup -f fail --window=1000 --on-full=fail --atomic in >out
	cmp in out
	bloomdedup -f warn --window=1000 --on-full=warn --atomic in 2>err >out
	cmp in out
	[ ! -s err ]
}

@test "a journal of a generation that is over does not count" {
	needs_faketime
	local kind
	seq 100 >in
	for kind in check merge; do
		rm -f seen* out
		at "2026-01-01 12:00:00" create -n 1000 --window=4d seen
		"$HELPER" journal seen <in
		if [ $kind = check ]; then
			at "2026-01-02 12:00:00" check -f seen in | cmp in -
			at "2026-01-20 12:00:00" check -f seen in >out ||
				[ $? -eq 1 ]
			[ ! -s out ]
			continue
		fi
		at "2026-01-20 12:00:00" merge -o out seen >text
		at "2026-01-20 12:00:00" check -f out in >found ||
			[ $? -eq 1 ]
		[ ! -s found ]
	done
	# beside one that is not over, whose layer has another place then
	rm -f seen* out
	at "2026-01-01 12:00:00" create -n 1000 --window=4d seen
	echo first | at "2026-01-01 12:00:00" add -f seen
	echo second | at "2026-01-04 12:00:00" add -f seen
	"$HELPER" journal seen 1 <in
	at "2026-01-07 12:00:00" check -f seen in | cmp in -
}

@test "a window of lines may be written with a unit, as other counts" {
	bloomdedup create --window=10k -n 10k seen
	bloomdedup info --json seen | grep -qF '"window_lines": 10000,'
	bloomdedup -f seen --window=1e4 /dev/null
	# m are minutes, M are millions
	bloomdedup create --window=2M lines
	bloomdedup info --json lines | grep -qF '"window_lines": 2000000,'
	bloomdedup create --window=2m minutes
	bloomdedup info --json minutes | grep -qF '"window_seconds": 120,'
	fails 2 '--window' bloomdedup create --window=3 other
	fails 2 '--window' bloomdedup create --window=1.5x other
}
