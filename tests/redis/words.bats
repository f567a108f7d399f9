# What servers say when they can't or won't: tried again, or an error at once.
load ../common
load servers
load running

@test "NOREPLICAS is retried" {
	start
	begin
	say 1
	cli config set min-replicas-to-write 1
	echo 2 >&9
	until_true grep -q NOREPLICAS err
	cli config set min-replicas-to-write 0
	say 3
	end
	seq 1 3 | bloomdedup check -f "$URL/seen" | cmp - <(seq 1 3)
}

# is_loading: does the server read its data?
is_loading() {
	cli ping 2>&1 | grep -q LOADING
}

# saved_with LINE: the server has saved a filter that knows LINE
saved_with() {
	cli save && bloomdedup check -q -f "$URL/seen" <<<"$1" && cli save
}

@test "LOADING is waited for, at the start and during a run" {
	start
	bloomdedup create -n 2e6 "$URL/seen"
	begin
	say 1 2 3
	until_true saved_with 3
	stop
	# a pause for each key, of which there are more than thirty
	start_on "$PORT" --key-load-delay 100000 \
		--loading-process-events-interval-bytes 1024
	until_true is_loading
	echo 4 >&9
	bloomdedup -f "$URL/seen" <<<5 >other
	echo 5 | cmp - other
	say 6
	end
	printf '%s\n' 1 2 3 4 6 | cmp - out
	seq 1 6 | bloomdedup check -f "$URL/seen" | cmp - <(seq 1 6)
}

@test "NOPERM is an error at once, with the server's words" {
	start
	bloomdedup create -n 1e5 "$URL/seen"
	seq 1 20000 >in
	for command in getrange bitop incrby; do
		cli acl setuser bd reset on '>pw' '~bloomdedup:*' +@all \
			"-$command"
		status=0
		bloomdedup --lock-timeout=60 \
			-f "redis://bd:pw@127.0.0.1:$PORT/seen" in >out 2>err ||
			status=$?
		[ "$status" -eq 3 ]
		grep -q "NOPERM.*$command" err
		run ! grep pw err
	done
}

@test "a policy that evicts keys that expire is warned about, too" {
	start --maxmemory 100mb --maxmemory-policy volatile-ttl
	bloomdedup -f "$URL/seen" <<<1 >out 2>err
	grep -q volatile-ttl err
}

@test "what a client leaves that is killed goes by itself" {
	start
	seq 1 20000 >in
	bloomdedup create -n 1e5 "$URL/seen"
	bloomdedup --stats=json -f "$URL/seen" in 2>stats >out
	sent=$(json_value bytes_to_server <stats)
	left=0
	# The last mark's BITOP is somewhere among the last bytes.
	for ((at = sent; at > sent - 350; at -= 50)); do
		cli flushall >flushed
		bloomdedup create -n 1e5 "$URL/seen"
		start_proxy --cut-sent "$at" --times 1000
		bloomdedup --lock-timeout=0 -f "redis://127.0.0.1:$PROXY/seen" \
			in >out 2>err || true
		stop_proxy
		for key in $(cli --scan --pattern '*:scratch:*'); do
			left=$((left + 1))
			ttl=$(cli pttl "$key")
			[ "$ttl" -gt 0 ]
			[ "$ttl" -le 60000 ]
		done
	done
	[ "$left" -gt 0 ]
}
