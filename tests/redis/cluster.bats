# A filter that is spread over the nodes of a cluster.
load ../common
load servers
load running

@test "a cluster: the same lines, spread over the nodes" {
	seq 1 20000 >in
	for kind in $KINDS; do
		start_cluster
		bloomdedup -n 1e7 -f "$URL/seen" in >out 2>notes
		cmp in out
		# any node will do
		bloomdedup -f "redis://127.0.0.1:${PORTS[2]}/seen" in >out
		[ ! -s out ]
		for port in "${PORTS[@]}"; do
			[ "$(redis-cli -p "$port" dbsize)" -ge 8 ]
		done
		bloomdedup info "$URL/seen" | grep -q 'about 20,000 lines'
		bloomdedup create --force "$URL/seen"
		bloomdedup remove "$URL/seen"
		for port in "${PORTS[@]}"; do
			[ "$(redis-cli -p "$port" dbsize)" -eq 0 ]
		done
	done
	every_kind
}

@test "four clients on a cluster" {
	for kind in $KINDS; do
		start_cluster
		four_clients 10000 -n 1e6
		[ ! -s lost ]
	done
	every_kind
}

# move_slots: all slots of the first node that have keys go to the second, each
# for a tenth of a second on its way. Several keys may share a slot: a node that
# loses a slot deletes what it still has of it.
move_slots() {
	local from=${PORTS[0]} to=${PORTS[1]} ids=() port key slot
	local -A keys=()
	for port in "$from" "$to"; do
		ids+=("$(redis-cli -p "$port" cluster myid)")
	done
	for key in $(redis-cli -p "$from" --scan); do
		says "$from" "cluster keyslot $key"
		keys[${ANSWER//[!0-9]/}]+=" $key"
	done
	for slot in "${!keys[@]}"; do
		says "$to" "cluster setslot $slot importing ${ids[0]}"
		says "$from" "cluster setslot $slot migrating ${ids[1]}"
		for key in ${keys[$slot]}; do
			sleep 0.05
			says "$from" "migrate 127.0.0.1 $to $key 0 5000"
		done
		sleep 0.05
		for port in "$to" "$from"; do
			says "$port" "cluster setslot $slot node ${ids[1]}"
		done
	done
	[ "$(redis-cli -p "$from" dbsize)" -eq 0 ]
}

# hundred: the run gets a hundred lines more; so far it got $lines
hundred() {
	local i text=
	for ((i = 0; i < 100; i++)); do
		text+=$((++lines))$'\n'
	done
	printf %s "$text" >&9
}

@test "slots that are slowly moved during a run lose nothing and repeat nothing" {
	for kind in $KINDS; do
		start_cluster
		for claim in '' --claim; do
			bloomdedup create --force -n 5e6 "$URL/seen" 2>notes
			# shellcheck disable=SC2086
			begin $claim
			move_slots >moves 2>&1 3>&- 9>&- &
			moving=$!
			lines=0
			while kill -0 "$moving" 2>/dev/null; do
				hundred
				sleep 0.02
			done
			wait "$moving"
			end
			[ "$lines" -gt 500 ]
			seq 1 "$lines" | cmp - out
			bloomdedup -f "redis://127.0.0.1:${PORTS[1]}/seen" out \
				>again
			[ ! -s again ]
			PORTS=("${PORTS[1]}" "${PORTS[0]}")
		done
	done
	every_kind
}

@test "a node that is killed and restarted" {
	for kind in $KINDS; do
		start_cluster --appendonly yes --appendfsync always
		bloomdedup create -n 5e6 "$URL/seen" 2>notes
		begin
		say $(seq 1 1000)
		stop "${PORTS[1]}"
		seq 1001 2000 >&9
		sleep 0.5
		start_on "${PORTS[1]}" --cluster-enabled yes \
			--cluster-node-timeout 1000 --appendonly yes \
			--appendfsync always
		end
		seq 1 2000 | cmp - out
		seq 1 2000 | bloomdedup -f "$URL/seen" >out
		[ ! -s out ]
	done
	every_kind
}

@test "slots that no node has are waited for" {
	start --cluster-enabled yes
	seq 1 100 >in
	run bloomdedup --lock-timeout=1 -f "$URL/seen" in
	[ "$status" -eq 3 ]
	[[ $output == *CLUSTERDOWN* ]]
	begin
	seq 1 100 >&9
	sleep 0.3
	# shellcheck disable=SC2046
	cli cluster addslots $(seq 0 16383)
	end
	cmp in out
}
