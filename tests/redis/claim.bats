# --claim: each line is printed by exactly one of several clients.
load ../common
load servers
load running

# four_claim N [OPTION]...: the same lines 1 to N, in four orders; they come
# in pieces, so that there are many batches
four_claim() {
	local n=$1 i clients=()
	shift
	for i in 1 2 3 4; do
		shuf -i "1-$n" >in$i
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

# once N [MOST]: the four printed the lines 1 to N, each once; so many may be
# missing, since they were dropped by mistake
once() {
	sort out? | comm -3 - <(seq 1 "$1" | sort) >wrong
	head -n 5 wrong
	! grep -q '^[0-9]' wrong && [ "$(wc -l <wrong)" -le "${2:-0}" ]
}

@test "four clients print each line once in sum" {
	for kind in $KINDS; do
		start
		four_claim 11000 -n 5e5
		once 11000
		bloomdedup --claim -f "$URL/seen" in1 >out
		[ ! -s out ]
	done
	every_kind
}

# Some bits of most lines are set when it is nearly full: all must be looked at.
@test "a claim takes few new lines for known until the filter is full" {
	seq 1 5000 >in
	for kind in $KINDS; do
		start
		bloomdedup --claim -n 5000 -p 1e-3 -f "$URL/seen" in >out
		# one is to be expected, at most
		[ "$(wc -l <out)" -ge 4994 ]
	done
	every_kind
}

@test "also while the filter grows under four clients" {
	needs_bloom
	start
	# At this rate a shard is made for 70,000 or more; one line in 40 runs is
	# dropped by mistake.
	four_claim 90000 -n 1000 -p 2e-6
	once 90000 2
	bloomdedup info "$URL/seen" | grep -q 'layer 2'
}

@test "also beside a client that doesn't claim" {
	for kind in $KINDS; do
		start
		bloomdedup create -n 1e6 "$URL/seen" 2>notes
		seq 100001 110000 |
			"$BLOOMDEDUP" add -f "$URL/seen" 2>notes 3>&- &
		other=$!
		four_claim 10000
		wait "$other"
		once 10000
	done
	every_kind
}

@test "also on a cluster" {
	for kind in $KINDS; do
		start_cluster
		four_claim 10000 -n 1e6
		once 10000
	done
	every_kind
}

@test "a line that comes twice in a batch, few lines and many" {
	for kind in $KINDS; do
		start
		for n in 1 5 40 400 3000; do
			cli flushall
			{ seq 1 "$n"; seq 1 "$n"; } >in
			bloomdedup --claim -n 1e5 -f "$URL/seen" in >out 2>notes
			seq 1 "$n" | cmp - out
			seq 1 "$((n + n))" |
				bloomdedup --claim -f "$URL/seen" >out
			seq "$((n + 1))" "$((n + n))" | cmp - out
		done
	done
	every_kind
}

@test "a connection that is lost: lines that are uncertain are printed and counted" {
	seq 1 3000 >in
	for kind in $KINDS; do
		start
		told=0
		for at in 6500 7500 9000 12000 16000 950000 1000000 \
			1040000; do
			cli flushall >flushed
			bloomdedup create -n 1e5 "$URL/seen" 2>notes
			start_proxy --cut-received "$at"
			bloomdedup --claim -f "redis://127.0.0.1:$PROXY/seen" in \
				>out 2>err
			stop_proxy
			cmp in out
			uncertain=$(sed -n \
				's/.*may also print \([0-9,]*\) of the next lines.*/\1/p' \
				err)
			[ -z "$uncertain" ] || told=$((told + 1))
			bloomdedup --claim -f "$URL/seen" in >again
			[ ! -s again ]
		done
		[ "$told" -gt 0 ]
	done
	every_kind
}

@test "a claim whose answer is lost isn't repeated as a question" {
	seq 1 2000 >in
	for kind in $KINDS; do
		start
		bloomdedup create -n 1e5 "$URL/seen" 2>notes
		start_proxy --cut-received 5000 --times 3
		bloomdedup --claim -f "redis://127.0.0.1:$PROXY/seen" in >out \
			2>err
		stop_proxy
		cmp in out
	done
	every_kind
}

@test "a claim whose answer is lost for ever: its lines are printed, status 3" {
	seq 1 20 >in
	for kind in $KINDS; do
		start
		bloomdedup create -n 1e5 "$URL/seen" 2>notes
		word=BF.INSERT
		[ "$kind" = bloom ] || word=BITFIELD
		start_proxy --lose "$word"
		status=0
		bloomdedup --claim --lock-timeout=0 \
			-f "redis://127.0.0.1:$PROXY/seen" in >out 2>err ||
			status=$?
		stop_proxy
		[ "$status" -eq 3 ]
		cmp in out
		grep -q ': another client may also print 20 of the next lines' err
		bloomdedup --claim -f "$URL/seen" in >again
		[ ! -s again ]
	done
	every_kind
}

@test "a connection that the server closed while it rested" {
	for kind in $KINDS; do
		start
		begin --claim
		say a
		for line in b c d; do
			cli client kill type normal skipme yes >killed
			[ "$(<killed)" -ge 1 ]
			say a "$line"
		done
		end
		printf '%s\n' a b c d | cmp - out
		run ! grep 'another client' err
	done
	every_kind
}

@test "a server that restarts while the client rests" {
	for kind in $KINDS; do
		start --appendonly yes --appendfsync always
		begin --claim
		say a
		stop
		start_on "$PORT" --appendonly yes
		say a b
		end
		printf '%s\n' a b | cmp - out
		run ! grep 'another client' err
	done
	every_kind
}

# outlives_a_rest: a connection that a router forgets after a rest; nothing
# is uncertain then, as the server is asked for a sign before a claim
outlives_a_rest() {
	local URL=$URL
	bloomdedup create --force -n 1e5 "$URL/seen" 2>notes
	rm -f forget forgotten
	start_proxy --forget forget
	URL=redis://127.0.0.1:$PROXY
	begin --claim
	say a
	# the header is read once more a second after the claim
	sleep 2.2
	: >forget
	echo a >&9
	until_true test -e forgotten
	say b
	end
	stop_proxy
	printf '%s\n' a b | cmp - out
	! grep 'another client' err
}

@test "a router that forgets a connection which rests" {
	for kind in $KINDS; do
		start
		# A busy machine can only make the rest shorter.
		for try in 1 2 3 4 5 6 7 8 9 10; do
			if outlives_a_rest; then
				continue 2
			fi
		done
		return 1
	done
	every_kind
}

@test "no memory left: known lines are dropped, new ones not printed" {
	seq 1 5000 >known
	seq 1 5010 >more
	for kind in $KINDS; do
		start
		bloomdedup create -n 1e5 "$URL/seen" 2>notes
		bloomdedup add -f "$URL/seen" known
		cli config set maxmemory 1 >set
		bloomdedup --claim -f "$URL/seen" known >out 2>err
		[ ! -s out ]
		[ ! -s err ]
		fails 4 '10 new lines are not printed' bloomdedup --claim \
			--duplicates=seen -f "$URL/seen" more
		grep -q 'the server says: OOM' fails.err
		cmp known seen
		cli config set maxmemory 0 >set
		bloomdedup --claim -f "$URL/seen" more | cmp - <(seq 5001 5010)
	done
	every_kind
}

@test "a right that is missing: nothing is printed, and it is named" {
	seq 1 50000 >in
	for kind in $KINDS; do
		start
		bloomdedup create -n 1e5 "$URL/seen" 2>notes
		right=bf.insert
		[ "$kind" = bloom ] || right=bitfield
		cli acl setuser default "-$right" >set
		fails 3 NOPERM bloomdedup --claim --lock-timeout=0 \
			-f "$URL/seen" in
		grep -q "'$right'" fails.err
		cli acl setuser default "+$right" >set
		bloomdedup --claim -f "$URL/seen" in | cmp - in
	done
	every_kind
}

@test "an error that says nothing of what was done: printed, and reported" {
	seq 1 20 >in
	for kind in $KINDS; do
		start
		bloomdedup create -n 1e5 "$URL/seen" 2>notes
		word=BF.INSERT
		[ "$kind" = bloom ] || word=BITFIELD
		start_proxy --error "$word"
		status=0
		bloomdedup --claim -f "redis://127.0.0.1:$PROXY/seen" in >out \
			2>err || status=$?
		stop_proxy
		[ "$status" -eq 3 ]
		cmp in out
		grep -q ': another client may also print 20 of the next lines' err
		grep -q 'the server says: ERR upstream timed out' err
	done
	every_kind
}

@test "lines that are uncertain are reported when it happens" {
	for kind in $KINDS; do
		start
		bloomdedup create -n 1e5 "$URL/seen" 2>notes
		word=BF.INSERT
		[ "$kind" = bloom ] || word=BITFIELD
		start_proxy --cut-after "$word"
		server=$URL URL=redis://127.0.0.1:$PROXY
		begin --claim
		say 1 2 3
		grep -q ': another client may also print [1-3] of the next lines' \
			err
		end
		stop_proxy
		URL=$server
	done
	every_kind
}

@test "only what was new is counted" {
	seq 10001 10400 >more
	for kind in $KINDS; do
		start
		bloomdedup create -n 10500 --on-full=fail "$URL/seen"
		four_claim 10000
		once 10000
		bloomdedup --claim -f "$URL/seen" more | cmp - more
		# a run that doesn't claim, and marks what others have marked
		bloomdedup add -f "$URL/seen" more
	done
	every_kind
}

@test "an output that fails: how many lines are lost is said" {
	start
	seq 1 100 >in
	"$BLOOMDEDUP" --claim -f "$URL/seen" in >/dev/full 2>err || status=$?
	[ "$status" -eq 3 ]
	grep -q '100 lines were remembered but not printed' err
}

@test "--on-full=fail stops where there is no room" {
	for kind in $KINDS; do
		start
		bloomdedup create -n 1000 --on-full=fail "$URL/seen"
		seq 1 1500 >in
		status=0
		bloomdedup --claim -f "$URL/seen" in >out 2>err || status=$?
		[ "$status" -eq 4 ]
		seq 1 1000 | cmp - out
	done
	every_kind
}

@test "--claim needs a filter on a server" {
	fails 2 redis:// bloomdedup --claim -f seen.bloom <<<x
	fails 2 --filter bloomdedup --claim <<<x
	fails 2 --sync bloomdedup --claim --sync -f redis://h/n <<<x
	fails 2 --repeated bloomdedup --claim -d -f redis://h/n <<<x
}
