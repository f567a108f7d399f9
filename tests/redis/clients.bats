# Several clients on one filter.
load ../common
load servers

@test "four clients lose nothing, while the filter grows under them" {
	start
	four_clients 600000 3000
	# No layer has more lines than it is for, and no chunk is without a layer.
	bloomdedup info "$URL/seen" >info
	[ "$(grep -c '^  layer' info)" -ge 8 ]
	run ! grep -E 'layer .* 1[0-9][1-9] %' info
}

@test "several make the same filter at once" {
	start
	for round in 1 2 3 4 5; do
		cli flushall
		clients=()
		for i in 1 2 3 4; do
			seq "$i"000 "$i"999 | bloomdedup -n 1e6 -f "$URL/seen" \
				>out$i 2>err$i 3>&- &
			clients+=($!)
		done
		all_end "${clients[@]}"
		cat out? | cmp - <(seq 1000 4999)
		seq 1000 4999 | bloomdedup -f "$URL/seen" >out
		[ ! -s out ]
		[ "$(cli --scan --pattern '*:header' | wc -l)" -eq 1 ]
	done
}

@test "clients that are killed at any moment leave a filter that works" {
	start
	seq 1 100000 >in
	for i in 1 2 3 4 5 6 7 8; do
		cli flushall
		"$BLOOMDEDUP" -n 1000 -p 1e-12 -f "$URL/seen" in >out 2>err 3>&- &
		client=$!
		sleep "0.0$i"
		kill -KILL "$client" 2>/dev/null || true
		wait "$client" || true
		bloomdedup -f "$URL/seen" in >rest 2>err
		[ -z "$(sort -u in | comm -23 - <(sort -u out rest))" ]
		bloomdedup -f "$URL/seen" in >out 2>err
		[ ! -s out ]
	done
}

@test "room that was reserved and not used is given back" {
	start
	bloomdedup create -n 1e6 "$URL/seen"
	for i in 1 2 3; do
		bloomdedup -f "$URL/seen" <<<"$i" >out
	done
	[ "$(cli get "$(cli --scan --pattern '*:lines:*')")" -eq 3 ]
}

@test "--on-full=fail and warn, beside others" {
	start
	bloomdedup create -n 1000 -p 1e-12 --on-full=fail "$URL/a"
	seq 1 900 | bloomdedup add -f "$URL/a"
	seq 901 2000 >in
	bloomdedup -f "$URL/a" in >out 2>err || status=$?
	[ "$status" -eq 4 ]
	seq 901 1000 | cmp - out
	bloomdedup create -n 1000 --on-full=warn "$URL/b"
	seq 1 900 | bloomdedup add -f "$URL/b"
	bloomdedup -f "$URL/b" in >out 2>err
	cmp out in
	grep -q 'more lines than it was made for' err
}

@test "scratch keys go" {
	start
	seq 1 20000 | bloomdedup add -f "$URL/seen"
	[ -z "$(cli --scan --pattern '*scratch*')" ]
}
