# A filter that is spread over the nodes of a cluster.
load ../common
load servers

@test "a cluster: the same lines and bits, spread over the nodes" {
	start_cluster
	some_secret
	seq 1 50000 >in
	bloomdedup create -n 1e6 --secret-file=secret "$URL/seen"
	bloomdedup create -n 1e6 --secret-file=secret seen.bloom
	bloomdedup add -f seen.bloom in
	bloomdedup -f "$URL/seen" in >out
	cmp in out
	same_bits "$URL/seen" seen.bloom
	# any node will do
	bloomdedup -f "redis://127.0.0.1:${PORTS[2]}/seen" in >out
	[ ! -s out ]
	bloomdedup create -n 3e7 "$URL/large"
	total=0 counts=()
	for port in "${PORTS[@]}"; do
		count=$(redis-cli -p "$port" --scan --pattern '*{large:L*' | wc -l)
		counts+=("$count")
		total=$((total + count))
	done
	for count in "${counts[@]}"; do
		[ $((count * 3 * 10)) -gt $((total * 8)) ]
		[ $((count * 3 * 10)) -lt $((total * 12)) ]
	done
}

@test "four clients on a cluster, and growth" {
	start_cluster
	four_clients 30000 300
}

@test "slots are moved during a run" {
	start_cluster
	bloomdedup create -n 1e6 "$URL/seen"
	mkfifo in.fifo
	"$BLOOMDEDUP" -f "$URL/seen" <in.fifo >out 2>err 3>&- &
	client=$!
	exec 9>in.fifo
	seq 1 1000 >&9
	until_true grep -qx 1000 out
	redis-cli --cluster rebalance "127.0.0.1:$PORT" --cluster-use-empty-masters \
		--cluster-weight "$(cli cluster myid)=0" >rebalance 2>&1 3>&- 9>&- &
	moving=$!
	for i in $(seq 1 20); do
		seq "$((i * 1000 + 1))" "$((i * 1000 + 1000))" >&9
		sleep 0.1
	done
	wait "$moving"
	seq 21001 22000 >&9
	exec 9>&-
	wait "$client"
	seq 1 22000 | cmp - out
	seq 1 22000 | bloomdedup -f "redis://127.0.0.1:${PORTS[1]}/seen" >out
	[ ! -s out ]
}

@test "a node that is killed and restarted" {
	start_cluster --appendonly yes --appendfsync always
	mkfifo in.fifo
	"$BLOOMDEDUP" -f "$URL/seen" <in.fifo >out 2>err 3>&- &
	client=$!
	exec 9>in.fifo
	seq 1 1000 >&9
	until_true grep -qx 1000 out
	stop "${PORTS[1]}"
	seq 1001 2000 >&9
	sleep 0.5
	start_on "${PORTS[1]}" --cluster-enabled yes --cluster-node-timeout 1000 \
		--appendonly yes --appendfsync always
	exec 9>&-
	wait "$client"
	seq 1 2000 | cmp - out
	seq 1 2000 | bloomdedup -f "$URL/seen" >out
	[ ! -s out ]
}
