# Several clients on one filter.
load ../common
load servers

@test "four clients lose nothing" {
	for kind in $KINDS; do
		start
		four_clients 10000 -n 1e6
		[ ! -s lost ]
	done
	every_kind
}

@test "four clients lose nothing while the filter grows under them" {
	needs_bloom
	start
	# At this rate a shard is made for 70,000 or more; one line in 40 runs is
	# dropped by mistake.
	four_clients 90000 -n 3000 -p 2e-6
	[ "$(wc -l <lost)" -le 2 ]
	bloomdedup info "$URL/seen" | grep -q 'layer 2'
}

@test "several make the same filter at once" {
	for kind in $KINDS; do
		start
		for round in 1 2 3 4 5; do
			cli flushall
			clients=()
			for i in 1 2 3 4; do
				seq "$i"000 "$i"999 | bloomdedup -n 1e6 \
					-f "$URL/seen" >out$i 2>err$i 3>&- &
				clients+=($!)
			done
			all_end "${clients[@]}"
			cat out? | cmp - <(seq 1000 4999)
			seq 1000 4999 | bloomdedup -f "$URL/seen" >out
			[ ! -s out ]
			# of those that came too late, nothing is left
			[ "$(cli dbsize)" -eq $((1 + $(bloomdedup info --json \
				"$URL/seen" | json_value shards))) ]
		done
	done
	every_kind
}

# ended_well PROCESS: it did what it should, or another client replaced or
# removed the filter, or made one first
ended_well() {
	local status=0
	wait "$1" || status=$?
	[ "$status" -eq 0 ] || { [ "$status" -eq 3 ] && grep -qE \
		'replaced|removed|no such filter|exists' "err$2"; }
}

@test "clients that create, replace, remove and use a filter at once" {
	for kind in $KINDS; do
		start
		for round in $(seq 1 "$(short_or_long 5 50)"); do
			"$BLOOMDEDUP" create -n 1e6 "$URL/seen" 2>err1 3>&- &
			p1=$!
			"$BLOOMDEDUP" create --force "$URL/seen" 2>err2 3>&- &
			p2=$!
			"$BLOOMDEDUP" remove "$URL/seen" 2>err3 3>&- &
			p3=$!
			seq 1 3000 | "$BLOOMDEDUP" -f "$URL/seen" >out \
				2>err4 3>&- &
			p4=$!
			"$BLOOMDEDUP" create --force "$URL/seen" 2>err5 3>&- &
			p5=$!
			ended_well $p1 1
			ended_well $p2 2
			ended_well $p3 3
			ended_well $p4 4
			ended_well $p5 5
			# whatever the order was: a whole filter, or none
			seq 1 100 | bloomdedup add -f "$URL/seen" 2>notes
			seq 1 100 | bloomdedup check -f "$URL/seen" |
				cmp - <(seq 1 100)
			bloomdedup remove "$URL/seen"
			[ "$(cli dbsize)" -eq 0 ]
		done
	done
	every_kind
}

@test "clients that are killed at any moment leave a filter that works" {
	for kind in $KINDS; do
		# so many that a run takes longer than the longest sleep
		seq 1 "$([ "$kind" = bits ] && echo 5000 || echo 50000)" >in
		start
		for i in 1 2 3 4 5 6 7 8; do
			cli flushall
			"$BLOOMDEDUP" -n 1e6 -f "$URL/seen" in >out 2>err 3>&- &
			client=$!
			sleep "0.0$i"
			kill -KILL "$client" 2>/dev/null || true
			wait "$client" || true
			bloomdedup -f "$URL/seen" in >rest 2>err
			run ! grep -vxFf <(cat out rest) in
			bloomdedup -f "$URL/seen" in >out 2>err
			[ ! -s out ]
		done
	done
	every_kind
}

@test "a filter that isn't finished goes by itself" {
	for kind in $KINDS; do
		start
		# as if it had been killed: it can't take them back either
		cli acl setuser default -set -del -unlink >/dev/null
		fails 3 NOPERM bloomdedup create -n 1e6 --on-full=fail \
			"$URL/seen"
		cli acl setuser default +@all >/dev/null
		[ "$(shards | wc -l)" -gt 0 ]
		cli --scan | lifetimes |
			awk '$1 <= 0 || $1 > 3600 { print; exit 1 }'
		seq 1 100 | bloomdedup -f "$URL/seen" 2>notes | cmp - <(seq 1 100)
	done
	every_kind
}

@test "a client that claims and is killed prints nothing twice" {
	seq 1 30000 >in
	for kind in $KINDS; do
		start
		bloomdedup create -n 1e6 "$URL/seen" 2>notes
		for i in 1 2 3 4; do
			"$BLOOMDEDUP" --claim -f "$URL/seen" <in >out$i 2>err \
				3>&- &
			client=$!
			sleep "0.0$i"
			kill -KILL "$client" 2>/dev/null || true
			wait "$client" || true
		done
		# the last line of a killed run may be torn
		for i in 1 2 3 4; do
			head -c "$(($(head -c -1 out$i | wc -c)))" out$i |
				sed '$d'
		done | sort | uniq -d >twice
		[ ! -s twice ]
	done
	every_kind
}
