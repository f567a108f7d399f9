# Replicas, and a failover.
load ../common
load servers

# start_replica: of the server at $PORT; sets REPLICA, its port
start_replica() {
	local primary=$PORT url=$URL
	start
	REPLICA=$PORT PORT=$primary URL=$url
	redis-cli -p "$REPLICA" replicaof 127.0.0.1 "$PORT"
	until_true linked
}

linked() {
	redis-cli -p "$REPLICA" info replication |
		grep -q 'master_link_status:up'
}

# caught_up PORT: its replica has all that it has
caught_up() {
	redis-cli -p "$1" info replication | tr -d '\r' >replication
	grep -q "^slave0:.*offset=$(sed -n 's/^master_repl_offset://p' \
		replication)," replication
}

@test "check reads from a replica" {
	start
	start_replica
	seq 1 5000 >in
	bloomdedup add -n 1e5 -f "$URL/seen" in 2>notes
	until_true caught_up "$PORT"
	bloomdedup check -f "redis://127.0.0.1:$REPLICA/seen" in | cmp - in
	bloomdedup info "redis://127.0.0.1:$REPLICA/seen" >out
	bloomdedup -f "redis://127.0.0.1:$REPLICA/seen" --lock-timeout=0 \
		<<<new >out 2>err || status=$?
	[ "$status" -eq 3 ]
	grep -q READONLY err
}

@test "a cluster promotes a replica: lines come again, none is lost" {
	start_cluster
	for port in "${PORTS[@]}"; do
		start --cluster-enabled yes --cluster-node-timeout 1000
		redis-cli --cluster add-node "127.0.0.1:$PORT" \
			"127.0.0.1:${PORTS[0]}" --cluster-slave \
			--cluster-master-id "$(redis-cli -p "$port" cluster myid)" \
			>add-node 2>&1 || { cat add-node; false; }
	done
	PORT=${PORTS[0]} URL=redis://127.0.0.1:${PORTS[0]}
	until_true has_replicas
	mkfifo in.fifo
	seq 1 5000 | bloomdedup -n 5e6 -f "$URL/seen" >expected 2>notes
	for port in "${PORTS[@]}"; do
		until_true caught_up "$port"
	done
	"$BLOOMDEDUP" -f "$URL/seen" <in.fifo >out 2>err 3>&- &
	client=$!
	exec 9>in.fifo
	seq 4001 6000 >&9
	until_true grep -qx 6000 out
	stop "${PORTS[1]}"
	seq 5001 10000 >&9
	until_true grep -qx 10000 out
	exec 9>&-
	wait "$client"
	[ -z "$(comm -23 <(seq 5001 10000 | sort) <(sort -u out))" ]
	# What the replica had is still remembered.
	seq 1 5000 | bloomdedup -f "$URL/seen" >again
	[ ! -s again ]
}

has_replicas() {
	local port
	for port in "${PORTS[@]}"; do
		redis-cli -p "$port" info replication |
			grep -q 'slave0:.*state=online' || return 1
	done
}
