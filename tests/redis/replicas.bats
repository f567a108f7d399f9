# Replicas, and a failover.
load ../common
load servers
load running

# start_replica: of the server at $PORT; sets REPLICA, its port
start_replica() {
	local primary=$PORT url=$URL
	start
	REPLICA=$PORT PORT=$primary URL=$url
	redis-cli -p "$REPLICA" replicaof 127.0.0.1 "$PORT"
	until_true linked
}

linked() {
	says "$REPLICA" 'info replication' &&
		[[ $ANSWER == *master_link_status:up* ]]
}

# caught_up PORT: its replica has all that it has
caught_up() {
	says "$1" 'info replication' &&
		[[ $ANSWER =~ master_repl_offset:([0-9]+) ]] &&
		[[ $ANSWER == *slave0:*",offset=${BASH_REMATCH[1]},"* ]]
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

# start_six: a cluster of three, each with a replica; sets REPLICAS, their ports
start_six() {
	local port
	start_cluster
	REPLICAS=()
	for port in "${PORTS[@]}"; do
		start --cluster-enabled yes --cluster-node-timeout 1000
		REPLICAS+=("$PORT")
		redis-cli --cluster add-node "127.0.0.1:$PORT" \
			"127.0.0.1:${PORTS[0]}" --cluster-slave \
			--cluster-master-id "$(redis-cli -p "$port" cluster myid)" \
			>add-node 2>&1 || { cat add-node; return 1; }
	done
	PORT=${PORTS[0]} URL=redis://127.0.0.1:${PORTS[0]}
	until_true has_replicas
}

has_replicas() {
	local port
	for port in "${PORTS[@]}"; do
		says "$port" 'info replication' &&
			[[ $ANSWER == *slave0:*state=online* ]] || return 1
	done
}

@test "a cluster promotes a replica: lines come again, none is lost" {
	start_six
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

is_master() {
	says "$1" role && [[ $ANSWER == *$'\nmaster\r'* ]]
}

# takes_over PORT: a replica becomes the master while the run gets more lines
# (so far: $lines); fails if that takes long
takes_over() {
	local i
	redis-cli -p "$1" cluster failover
	for ((i = 0; i < 400; i++)); do
		seq "$((lines + 1))" "$((lines + 100))" >&9
		lines=$((lines + 100))
		! is_master "$1" || return 0
		sleep 0.025
	done
	return 1
}

@test "failovers on command during a run: nothing is lost" {
	for kind in $KINDS; do
		start_six
		for claim in '' --claim; do
			bloomdedup create --force -n 5e6 "$URL/seen" 2>notes
			# shellcheck disable=SC2086
			begin $claim
			lines=0
			for port in "${REPLICAS[@]}"; do
				until_true takes_over "$port"
			done
			end
			seq 1 "$lines" | cmp - out
			seq 1 "$lines" | bloomdedup -f "$URL/seen" >again
			[ ! -s again ]
			# and back
			REPLICAS=("${PORTS[@]}")
		done
	done
	every_kind
}
