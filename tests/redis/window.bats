# --window for filters on a server. The model is the one of files
# (behaviour/window.py). The clients' clock is faketime's, or real where it is
# the server's that counts: keys expire by it.
load ../common
load servers
load running

windows() {
	FILTER=$URL/$1 BLOOMDEDUP=$BLOOMDEDUP \
		python3 "$ROOT/tests/behaviour/window.py" \
		-s "${BLOOMDEDUP_SEED:-1}" "${@:2}"
}

# at TIME ARGUMENT...: as in common.bash, but pauses take real time.
at() {
	local when=$1
	shift
	TZ=UTC DONT_FAKE_MONOTONIC=1 LD_PRELOAD=$FAKETIME_LIBRARY \
		FAKETIME=$when "$BLOOMDEDUP" "$@"
}

# keys PATTERN: those of the server
keys() {
	cli --scan --pattern "bloomdedup:$1" | sort
}

# times_to_live PATTERN: of each such key, "SECONDS KEY"
times_to_live() {
	keys "$1" >names
	sed 's/^/ttl "/; s/$/"/' names | cli | paste -d ' ' - names
}

# live_between LEAST MOST PATTERN: there are such keys, and each will live for
# so many seconds
live_between() {
	times_to_live "$3" | awk -v least="$1" -v most="$2" '
		$1 < least || $1 > most { print "lives too short or long:", $0
			wrong = 1 }
		END { exit wrong || NR == 0 }'
}

# all_expire: all keys but header and table will, or have just done it (-2)
all_expire() {
	times_to_live '*' | awk '
		($2 ~ /:(header|table)$/) != ($1 == -1) { print; wrong = 1 }
		END { exit wrong }'
}

# has_keys N: the server, all filters together
has_keys() {
	[ "$(cli dbsize)" -eq "$1" ]
}

# no_chunk: of any filter
no_chunk() {
	[ -z "$(keys '*:L*')" ]
}

# generations LOCATION TIME: how many are alive
generations() {
	at "$2" info --json "$1" | grep -o '"begin"' | wc -l
}

# changes NAME: how often the table was published
changes() {
	cli getrange "bloomdedup:{$1}:table" 8 15 | head -c 8 |
		od -An -tu8 | tr -d ' '
}

# --- the promise, against the model

@test "known for the window, and no longer than five quarters" {
	needs_faketime
	start
	windows seen time "$(short_or_long 6000 100000)"
	all_expire
}

@test "the same with --claim, and whatever is done when a filter is full" {
	needs_faketime
	start
	windows a time "$(short_or_long 700 5000)" --claim --on-full=fail
	windows b time "$(short_or_long 700 5000)" --on-full=warn
}

@test "the same on a cluster" {
	needs_faketime
	start_cluster
	windows seen time "$(short_or_long 1200 10000)"
}

@test "runs that wait, one or two, forget what is over meanwhile" {
	needs_faketime
	needs_proc
	start
	windows a pipe "$(short_or_long 40 200)"
	windows b pipes "$(short_or_long 40 200)"
	windows c pipes "$(short_or_long 60 200)" --claim
}

@test "two whose clocks differ by less than a quarter" {
	needs_faketime
	needs_proc
	start
	windows a skewed "$(short_or_long 50 200)"
	windows b skewed "$(short_or_long 50 200)" --claim
}

@test "a run that could not write marks in the newest generation" {
	needs_faketime
	needs_proc
	start
	windows seen stalled
}

# --- several at once

@test "eight turn at once: one generation is begun, and nothing is lost" {
	needs_faketime
	start
	local i pids=() round before
	at "2026-01-01 00:00:00" create --window=4d -n 4e5 "$URL/seen"
	for round in 2 3 4; do
		before=$(changes seen)
		pids=()
		for i in 1 2 3 4 5 6 7 8; do
			seq "$round$i"00001 "$round$i"03000 >in.$round.$i
			at "2026-01-0$round 00:00:00" -f "$URL/seen" \
				in.$round.$i >out.$i 2>err.$i 3>&- &
			pids[i]=$!
		done
		for i in 1 2 3 4 5 6 7 8; do
			wait "${pids[i]}"
			cmp in.$round.$i out.$i
		done
		[ "$(changes seen)" -eq $((before + 1)) ]
		[ "$(generations "$URL/seen" "2026-01-0$round 00:00:00")" \
			-eq "$round" ]
		# one layer more, with all lines, and nothing left from a race
		[ "$(keys '{seen}:lines:*' | wc -l)" -eq "$round" ]
	done
	cat in.* | at "2026-01-04 23:59:59" check -v -f "$URL/seen" >missing ||
		[ $? -eq 1 ]
	[ ! -s missing ]
	all_expire
}

# before_turn SECONDS: wait until the next multiple of them is 2 s away
before_turn() {
	while [ $(($(date +%s) % $1)) -ne $(($1 - 2)) ]; do
		sleep 0.1
	done
}

@test "four claim the same lines through a turn: each is printed once" {
	start
	local i round clients
	for round in '-n 1e6' '-n 2000' '-n 1e6 --on-full=fail'; do
		cli flushall
		# shellcheck disable=SC2086
		bloomdedup create --window=24s $round "$URL/seen"
		before_turn 6
		clients=()
		for i in 1 2 3 4; do
			seq 20000 | shuf >in$i
			while read -r -N 2000 part || [ -n "$part" ]; do
				printf '%s' "$part"
				sleep 0.05
			done <in$i | "$BLOOMDEDUP" --claim -f "$URL/seen" \
				>out$i 2>err$i 3>&- &
			clients+=($!)
		done
		all_end "${clients[@]}"
		sort -n out? | cmp - <(seq 20000)
		[ "$(changes seen)" -ge 2 ]
		all_expire
	done
}

# At its probe the run's clock, and its table, were those of the day before.
@test "a claim that arrives after a turn of another is made again" {
	needs_faketime
	start
	at "2026-01-01 12:00:00" create --window=4d -n 4000 "$URL/seen"
	start_proxy --delay 500
	mkfifo in.fifo
	at "2026-01-01 23:59:59" --claim -f "redis://127.0.0.1:$PROXY/seen" \
		<in.fifo >out 2>err 3>&- &
	RUN=$!
	exec 9>in.fifo
	say first
	# it asks at 0.5 s, and claims at 1.5 s
	echo both >&9
	sleep 1
	at "2026-01-02 00:00:00" --claim -f "$URL/seen" <<<both |
		cmp - <(echo both)
	say last
	end
	cmp out <(printf 'first\nlast\n')
	at "2026-01-02 00:00:00" check -f "$URL/seen" <<<last
	stop_proxy
}

@test "a turn that is slower than another's keeps what that one added" {
	needs_faketime
	start
	at "2026-01-01 12:00:00" create --window=4d -n 4000 -p 1e-12 "$URL/seen"
	at "2026-01-01 12:00:00" add -f "$URL/seen" <<<known
	start_proxy --delay 200
	at "2026-01-02 12:00:00" -f "redis://127.0.0.1:$PROXY/seen" >out \
		2>err 3>&- <<<known &
	RUN=$!
	# it makes its layer; counter, closing and WATCH take 0.4 s each
	new_layer() {
		keys '*:L62:*' | grep -q .
	}
	until_true new_layer
	seq 6000 | at "2026-01-02 12:00:00" add -f "$URL/seen"
	wait "$RUN"
	[ ! -s out ]
	seq 6000 | at "2026-01-02 12:00:00" check -v -f "$URL/seen" >missing ||
		[ $? -eq 1 ]
	[ ! -s missing ]
	[ "$(generations "$URL/seen" "2026-01-02 12:00:00")" -eq 2 ]
	all_expire
	stop_proxy
}

# --- keys expire

@test "keys live until a quarter after their generation is over" {
	needs_faketime
	start
	local day=86400
	some_secret
	# at 06:00 of the first day: 4.75 days, and a day
	at "2026-01-01 06:00:00" create --window=4d -n 4000 -p 1e-12 \
		"$URL/seen"
	live_between $((575 * day / 100 - 9)) $((575 * day / 100)) '*:L*'
	live_between $((575 * day / 100 - 9)) $((575 * day / 100)) '*:lines:*'
	# a few marks (BITFIELD), later marks in chunks (BITOP), and growth
	seq 5 | at "2026-01-01 12:00:00" add -f "$URL/seen"
	seq 900 | at "2026-01-01 18:00:00" add -f "$URL/seen"
	live_between $((525 * day / 100 - 9)) $((525 * day / 100)) '*:L*'
	seq 901 3000 | at "2026-01-01 18:00:00" add -f "$URL/seen"
	[ "$(keys '{seen}:lines:*' | wc -l)" -gt 1 ]
	live_between $((525 * day / 100 - 9)) $((525 * day / 100)) '*:lines:6*'
	all_expire
	# claims, of both kinds
	seq 4001 4005 | at "2026-01-01 20:00:00" --claim -f "$URL/seen" >out
	seq 5001 5500 | at "2026-01-01 20:00:00" --claim -f "$URL/seen" >out
	all_expire
	# a turn leaves what was made before as it is
	keys '*:L*' >before
	seq 6001 6900 | at "2026-01-02 12:00:00" add -f "$URL/seen"
	keys '*:L*' | comm -13 before - >new
	[ -s new ]
	while read -r key; do
		live_between $((55 * day / 10 - 9)) $((55 * day / 10)) \
			"${key#bloomdedup:}"
	done <new
	all_expire
}

@test "keys of what is over go away, and their absence is no damage" {
	start
	bloomdedup create --window=8s -n 4000 "$URL/seen"
	seq 900 | bloomdedup add -f "$URL/seen"
	run ! no_chunk
	sleep 8
	until_true has_keys 2
	run -1 bloomdedup check -f "$URL/seen" <<<1
	bloomdedup info "$URL/seen" | grep -q 'about 0 lines'
	bloomdedup merge -o down.bloom "$URL/seen"
	seq 900 | bloomdedup -f "$URL/seen" | cmp - <(seq 900)
	seq 900 | bloomdedup -f "$URL/seen" >out
	[ ! -s out ]
	all_expire
}

@test "a run that waits while its generations go away" {
	start
	bloomdedup create --window=4s -n 4000 "$URL/seen"
	begin
	say 1
	sleep 4
	until_true no_chunk
	say 2
	sleep 1
	say 3
	end
	bloomdedup check -f "$URL/seen" <<<3
	all_expire
}

# held LINES: a run prints so many lines of 200 characters into a pipe that is
# read only when their generation is gone from the server.
held() {
	local chunks
	perl -e 'printf "%200d\n", $_ for 1 .. $ARGV[0]' "$1" >in
	rm -f out.fifo
	mkfifo out.fifo
	bloomdedup create --force --window=8s -n 4000 "$URL/seen"
	chunks=$(keys '*:L*')
	"$BLOOMDEDUP" -f "$URL/seen" in >out.fifo 2>err 3>&- &
	RUN=$!
	exec 8<out.fifo
	sleep 8
	until_true no_chunk
	cmp in <(cat <&8)
	exec 8<&-
	wait "$RUN"
	bloomdedup check -v -f "$URL/seen" in >missing || [ $? -eq 1 ]
	[ ! -s missing ]
	# nothing was made again under the old names
	run ! grep -F "$chunks" <(keys '*:L*')
	all_expire
}

@test "a run whose lines wait in a pipe until the chunks are gone" {
	start
	held 2000
}

@test "a chunk that is missing in a generation that is alive is damage" {
	needs_faketime
	start
	at "2026-01-01 00:00:00" create --window=4d -n 4000 "$URL/seen"
	seq 900 | at "2026-01-01 00:00:00" add -f "$URL/seen"
	seq 1 | at "2026-01-02 00:00:00" add -f "$URL/seen"
	chunk=$(keys '*:L0:*')
	cli del "$chunk"
	fails 3 "$chunk is missing" at "2026-01-05 23:59:59" check \
		-f "$URL/seen" <<<x
	fails 3 "$chunk is missing" at "2026-01-05 23:59:59" \
		-f "$URL/seen" <<<x
	at "2026-01-06 00:00:00" -f "$URL/seen" <<<x | cmp - <(echo x)
}

# --- failures

# cut_turn DIRECTION BYTES [OPTION]...: a filter with lines of one quarter, and
# a proxy that cuts the connection of a run in the next one after so many bytes
cut_turn() {
	local direction=$1 at=$2
	shift 2
	cli flushall >flushed
	at "2026-01-01 12:00:00" create --window=4d -n 8000 -p 1e-12 "$URL/seen"
	at "2026-01-01 12:00:00" add -f "$URL/seen" old
	start_proxy "--cut-$direction" "$at" "$@"
}

# Table, chunks, closing, counters, EXEC and marks of a turn are within these.
places() {
	{
		printf '%s\n' 1 30 8300 8400 8500 8700 9000 60000 120000
		seq 8600 400 20000
		[ "$1" = received ] || seq 100 100 6000
	} | sort -nu | some "$(short_or_long 20 1)"
}

@test "a connection that is cut at any point of a turn loses nothing" {
	needs_faketime
	start
	local direction at
	seq 1 1000 >old
	seq 1 4000 >in
	for direction in sent received; do
		for at in $(places "$direction"); do
			cut_turn "$direction" "$at"
			at "2026-01-02 12:00:00" \
				-f "redis://127.0.0.1:$PROXY/seen" in >out \
				2>notes || [ "$at" -lt 400 ]
			stop_proxy
			[ -s out ] || continue
			cmp out <(seq 1001 4000)
			at "2026-01-05 23:59:59" check -v -f "$URL/seen" in \
				>missing || [ $? -eq 1 ]
			[ ! -s missing ]
			[ "$(generations "$URL/seen" "2026-01-05 00:00:00")" \
				-eq 2 ]
			all_expire
		done
	done
}

@test "a run that ends at any point of a turn leaves a filter that works" {
	needs_faketime
	start
	local at
	seq 1 1000 >old
	seq 1 4000 >in
	for at in $(places sent); do
		cut_turn sent "$at" --times 1000
		at "2026-01-02 12:00:00" --lock-timeout=0 \
			-f "redis://127.0.0.1:$PROXY/seen" in >out 2>notes ||
			true
		stop_proxy
		at "2026-01-02 12:30:00" -f "$URL/seen" in >>out 2>notes
		# a line is printed again at most; the old ones never
		sort -nu out | cmp - <(seq 1001 4000)
		at "2026-01-05 23:59:59" check -v -f "$URL/seen" in >missing ||
			[ $? -eq 1 ]
		[ ! -s missing ]
		[ "$(generations "$URL/seen" "2026-01-05 00:00:00")" -eq 2 ]
		all_expire
	done
}

@test "runs that are killed while they turn again and again" {
	start
	local i
	bloomdedup create --window=12s -n 1e5 "$URL/seen"
	for ((i = 0; i < $(times 12 60); i++)); do
		seq "$i"0000 "$i"2999 >in
		"$BLOOMDEDUP" -f "$URL/seen" in >out 2>err 3>&- &
		RUN=$!
		sleep "0.0$((RANDOM % 10))"
		kill -KILL "$RUN" 2>/dev/null || true
		wait "$RUN" || true
		bloomdedup -f "$URL/seen" in >>out
		sort -nu out | cmp - in
		bloomdedup -f "$URL/seen" in >out
		[ ! -s out ]
		sleep 0.3
	done
	all_expire
}

# --- the clock

@test "a clock that goes back by a day or by a year: ages stay" {
	needs_faketime
	start
	local back
	for back in 2026-01-31 2025-02-01; do
		cli flushall
		echo a | at "2026-02-01 12:00:00" -f "$URL/seen" --window=8h \
			-n 100
		echo a | at "$back 12:00:00" -f "$URL/seen" >out 2>err
		[ ! -s out ]
		grep -q 'the clock went back by' err
		[ "$(wc -l <err)" -eq 1 ]
		# their keys live as long as before, and up to a quarter more
		live_between $((10 * 3600)) $((14 * 3600)) '*:L*'
		echo b | at "$back 12:30:00" -f "$URL/seen" >out 2>err
		[ ! -s err ]
		printf 'a\nb\n' | at "$back 19:59:59" -f "$URL/seen" >out
		[ ! -s out ]
		back=$(date -u -d "$back +1 day" +%F)
		printf 'a\nb\n' | at "$back 00:30:00" -f "$URL/seen" |
			cmp - <(printf 'a\nb\n')
		all_expire
	done
}

@test "keys get more time when the clock goes back" {
	needs_faketime
	start
	local minute=60
	echo a | at "2026-02-01 13:59:00" -f "$URL/seen" --window=8h -n 100
	live_between $((601 * minute - 9)) $((601 * minute)) '*:L*'
	# by whole quarters of two hours: its generation is now that of 14:00
	echo a | at "2026-01-31 12:01:00" -f "$URL/seen" >out 2>err
	[ ! -s out ]
	live_between $((839 * minute - 9)) $((839 * minute)) '*:L*'
	live_between $((839 * minute - 9)) $((839 * minute)) '*:lines:*'
}

@test "a clock that was a year ahead and came back" {
	needs_faketime
	start
	echo a | at "2026-02-01 12:00:00" -f "$URL/seen" --window=8h -n 100
	# a clock that is set ahead forgets what it skips
	echo a | at "2027-02-01 12:00:00" -f "$URL/seen" | cmp - <(echo a)
	echo a | at "2026-02-01 12:05:00" -f "$URL/seen" >out 2>err
	[ ! -s out ]
	grep -q 'the clock went back by 31' err
	echo a | at "2026-02-01 20:00:00" -f "$URL/seen" >out
	[ ! -s out ]
	echo a | at "2026-02-02 00:30:00" -f "$URL/seen" | cmp - <(echo a)
}

# --- room

@test "a generation grows, and goes as a whole; --max-size holds" {
	needs_faketime
	start
	seq 5000 >in
	at "2026-01-01 00:00:00" -f "$URL/seen" -n 400 --window=4d in | cmp - in
	[ "$(layers "$URL/seen")" -gt 3 ] ||
		[ "$(keys '{seen}:lines:*' | wc -l)" -gt 3 ]
	at "2026-01-05 00:00:00" check -f "$URL/seen" in | cmp - in
	at "2026-01-06 00:00:00" -f "$URL/seen" in | cmp - in
	run -4 at "2026-01-01 00:00:00" add -f "$URL/b" -n 400 --window=4d \
		--max-size=40k in
}

@test "a turn that --max-size forbids: the lines are kept a while longer" {
	needs_faketime
	start
	bloomdedup size -n 4000 --window=4d >size
	at "2026-01-01 00:00:00" create -n 4000 --window=4d "$URL/seen"
	seq 100 | at "2026-01-01 00:00:00" add -f "$URL/seen" --max-size=25k
	run -4 at "2026-01-02 00:00:00" add -f "$URL/seen" --max-size=25k <<<x
	seq 100 | at "2026-01-05 00:00:00" check -f "$URL/seen" |
		cmp - <(seq 100)
}

@test "--on-full=fail and warn count each quarter's lines" {
	needs_faketime
	start
	seq 1000 >in
	at "2026-01-01 00:00:00" create -n 2000 -p 1e-12 --window=4d \
		--on-full=fail "$URL/a"
	run -4 at "2026-01-01 00:00:00" add -f "$URL/a" in
	at "2026-01-01 00:00:00" check -f "$URL/a" in | cmp - <(seq 500)
	at "2026-01-02 00:00:00" -f "$URL/a" in | cmp - <(seq 501 1000)
	run -4 at "2026-01-02 00:00:00" -f "$URL/a" <<<x
	at "2026-01-02 00:00:00" check -f "$URL/a" in | cmp - in
	at "2026-01-01 00:00:00" create -n 2000 -p 1e-12 --window=4d \
		--on-full=warn "$URL/b"
	at "2026-01-01 00:00:00" add -f "$URL/b" in 2>err
	grep -q 'more lines than it was made for' err
	seq 1001 1400 | at "2026-01-02 00:00:00" add -f "$URL/b" 2>err
	[ "$(cli get "$(keys '{b}:lines:62:*')")" -eq 400 ]
}

# --- commands

@test "check and info leave out what is over, and change nothing" {
	needs_faketime
	start
	echo old | at "2026-01-01 00:00:00" add -f "$URL/seen" --window=4d \
		-n 100
	echo new | at "2026-01-03 12:00:00" add -f "$URL/seen"
	printf 'old\nnew\n' >both
	changes seen >before
	at "2026-01-05 23:59:59" check -f "$URL/seen" both | cmp - both
	at "2026-01-06 00:00:00" check -f "$URL/seen" both | cmp - <(echo new)
	at "2026-01-06 00:00:00" info --json "$URL/seen" >json
	grep -q '"lines": 1,' json
	grep -qE '"generations": \[\{[^}]*\}\]' json
	run -1 at "2027-01-01 00:00:00" check -f "$URL/seen" both
	[ -z "$output" ]
	at "2027-01-01 00:00:00" info "$URL/seen" | grep -q 'about 0 lines'
	at "2026-01-03 12:00:00" info "$URL/seen" >out
	grep -qE 'window +4d$' out
	grep -q '1 lines, forgotten at 2026-01-06 00:00:00 UTC$' out
	grep -q '1 lines, forgotten at 2026-01-08 00:00:00 UTC, the newest$' out
	changes seen | cmp - before
}

@test "the same in a file and on a server, up and down" {
	needs_faketime
	start
	some_secret
	local i name
	for name in a.bloom "$URL/a"; do
		at "2026-01-01 12:00:00" create --window=4d -n 2e4 \
			--secret-file=secret "$name"
		for i in 1 2 3 4 5 6; do
			# the third generation grows
			seq "$i"00001 "$i"0$((i == 3 ? 9 : 4))000 | at \
				"2026-01-0$i 12:00:00" add -f "$name" 2>notes
		done
	done
	export TZ=UTC
	now="2026-01-06 12:00:00"
	at "$now" merge -o b.bloom a.bloom
	at "$now" merge -o down.bloom "$URL/a"
	at "$now" merge -o "$URL/b" b.bloom
	all_expire
	at "$now" merge -o c.bloom "$URL/b"
	for name in down.bloom c.bloom; do
		cmp <(tail -c +12289 b.bloom) <(tail -c +12289 "$name")
	done
	for name in a.bloom "$URL/a" "$URL/b" down.bloom c.bloom; do
		at "$now" info "$name" |
			grep -E '^  (generation|remembers)' >got
		[ -s want ] || mv got want
		[ ! -e got ] || cmp want got
	done
	[ "$(grep -c generation want)" -eq 5 ]
	# and all go on alike
	seq 600001 610000 >in
	for name in a.bloom "$URL/b" c.bloom; do
		at "2026-01-07 12:00:00" -f "$name" in >out
		cmp out <(seq 604001 610000)
		seq 300001 309000 | at "2026-01-07 23:59:59" -f "$name" >out
		[ ! -s out ]
		seq 300001 309000 | at "2026-01-08 00:00:00" -f "$name" |
			cmp - <(seq 300001 309000)
	done
}

@test "filters with the same window are merged, others are not" {
	needs_faketime
	start
	some_secret
	at "2026-01-01 12:00:00" create --window=4d -n 4000 \
		--secret-file=secret "$URL/a"
	at "2026-01-01 12:00:00" create --like="$URL/a" b.bloom
	at "2026-01-01 12:00:00" add -f "$URL/a" <<<1
	at "2026-01-01 12:00:00" add -f b.bloom <<<2
	at "2026-01-02 12:00:00" add -f b.bloom <<<3
	at "2026-01-03 12:00:00" merge -o "$URL/c" "$URL/a" b.bloom
	at "2026-01-05 23:59:59" check -f "$URL/c" <(seq 3) | cmp - <(seq 3)
	at "2026-01-06 00:00:00" check -f "$URL/c" <(seq 3) | cmp - <(echo 3)
	all_expire
	at "2026-01-01 12:00:00" create --window=8d -n 4000 \
		--secret-file=secret "$URL/d"
	fails 2 'window is 345600 s' bloomdedup merge -o "$URL/e" "$URL/a" \
		"$URL/d"
	# nothing is left of a filter that is replaced or removed
	for name in a c d; do
		bloomdedup remove "$URL/$name"
	done
	[ "$(cli dbsize)" -eq 0 ]
}

@test "a window of lines is refused, and a damaged table is told" {
	start
	fails 2 'whose order no client knows' bloomdedup create --window=400 \
		"$URL/seen"
	fails 2 'whose order no client knows' bloomdedup --window=400 \
		-f "$URL/seen" <<<x
	bloomdedup create --window=400 lines.bloom
	fails 2 'whose order no client knows' bloomdedup merge -o "$URL/seen" \
		lines.bloom
	[ "$(cli dbsize)" -eq 0 ]
	bloomdedup create --window=30d -n 100 "$URL/seen"
	fails 2 contradicts bloomdedup -f "$URL/seen" --window=31d <<<x
	# the page must be followed by the number of the layer
	[ "$(cli strlen 'bloomdedup:{seen}:table')" -eq 4104 ]
	cli append 'bloomdedup:{seen}:table' x
	fails 3 'wrong length' bloomdedup -f "$URL/seen" <<<x
}
