# --claim: each line is printed by exactly one of several clients.
load ../common
load servers

# four_claim N [OPTION]...: the same lines 1 to N, in four orders; they come
# in pieces, so that there are many batches
four_claim() {
	local n=$1 i clients=()
	shift
	for i in 1 2 3 4; do
		seq 1 "$n" | shuf >in$i
		{
			head -c 20000 in$i
			sleep 0.1
			tail -c +20001 in$i | head -c 30000
			sleep 0.1
			tail -c +50001 in$i
		} | "$BLOOMDEDUP" --claim -f "$URL/seen" "$@" >out$i 2>err$i 3>&- &
		clients+=($!)
	done
	all_end "${clients[@]}"
}

# once N: the four printed the lines 1 to N, each once
once() {
	sort -n out? | cmp - <(seq 1 "$1")
}

@test "four clients print each line once in sum" {
	start
	four_claim 50000 -n 1e6
	once 50000
	bloomdedup --claim -f "$URL/seen" in1 >out
	[ ! -s out ]
}

@test "also while the filter grows under them" {
	start
	for round in 1 2 3; do
		cli flushall
		four_claim 30000 -n "${round}00" -p 1e-12
		once 30000
		[ "$(bloomdedup info "$URL/seen" | grep -c '^  layer')" -ge 6 ]
	done
}

@test "also beside a client that doesn't claim and grows the filter" {
	start
	bloomdedup create -n 500 -p 1e-12 "$URL/seen"
	seq 100001 200000 | "$BLOOMDEDUP" add -f "$URL/seen" 2>notes 3>&- &
	other=$!
	four_claim 30000
	wait "$other"
	once 30000
}

@test "also on a cluster" {
	start_cluster
	four_claim 30000 -n 1000 -p 1e-12
	once 30000
}

@test "few lines and many in a chunk come out once" {
	start
	for n in 1 5 40 400 20000; do
		cli flushall
		seq 1 "$n" >in
		bloomdedup --claim -n 1e5 -f "$URL/seen" in >out
		cmp in out
		{ cat in; seq "$n" "$((n + n))"; } |
			bloomdedup --claim -f "$URL/seen" >out
		seq "$((n + 1))" "$((n + n))" | cmp - out
	done
}

@test "a connection that is lost: lines that are uncertain are counted" {
	start
	seq 1 3000 >in
	told=0
	for at in 9000 9300 10000 50000 150000 270000 500000; do
		cli flushall >flushed
		bloomdedup create -n 1e5 "$URL/seen"
		start_proxy --cut-received "$at"
		status=0
		bloomdedup --claim -f "redis://127.0.0.1:$PROXY/seen" in >out \
			2>err || status=$?
		stop_proxy
		missing=$(comm -23 <(sort in) <(sort out) | wc -l)
		if [ "$missing" -gt 0 ]; then
			[ "$status" -eq 3 ]
			grep -q 'connection was lost' err
			uncertain=$(sed -n 's/.*: \([0-9]*\) lines may.*/\1/p' \
				err)
			[ "$missing" -le "$uncertain" ]
			told=$((told + 1))
		fi
		# none is printed by somebody else and by us
		bloomdedup --claim -f "$URL/seen" in >again
		[ -z "$(comm -12 <(sort out) <(sort again))" ]
	done
	[ "$told" -gt 0 ]
}

@test "--claim=print prints them" {
	start
	seq 1 3000 >in
	for at in 9000 9300 10000 50000 150000 270000 500000; do
		cli flushall >flushed
		bloomdedup create -n 1e5 "$URL/seen"
		start_proxy --cut-received "$at"
		bloomdedup --claim=print -f "redis://127.0.0.1:$PROXY/seen" in \
			>out
		stop_proxy
		cmp in out
		bloomdedup --claim -f "$URL/seen" in >again
		[ ! -s again ]
	done
}

@test "an output that fails: how many lines are lost is said" {
	start
	seq 1 100 >in
	"$BLOOMDEDUP" --claim -f "$URL/seen" in >/dev/full 2>err || status=$?
	[ "$status" -eq 3 ]
	grep -q '100 lines are remembered and were not printed' err
}

@test "--on-full=fail stops where there is no room" {
	start
	bloomdedup create -n 1000 -p 1e-12 --on-full=fail "$URL/seen"
	seq 1 1500 >in
	bloomdedup --claim -f "$URL/seen" in >out 2>err || status=$?
	[ "$status" -eq 4 ]
	seq 1 1000 | cmp - out
}

@test "--claim needs a filter on a server" {
	fails 2 redis:// bloomdedup --claim -f seen.bloom <<<x
	fails 2 --filter bloomdedup --claim <<<x
	fails 2 --sync bloomdedup --claim --sync -f redis://h/n <<<x
	fails 2 --repeated bloomdedup --claim -d -f redis://h/n <<<x
}
