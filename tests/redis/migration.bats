# A slot on its way from one node to another: some of its keys are here, some
# there, and commands for several keys fail.
load ../common
load servers

# begin_migration KEY: of the slot of KEY, from the node that has it to another;
# sets FROM, TO (ports) and SLOT. No key goes yet.
begin_migration() {
	local key=$1 port
	SLOT=$(cli cluster keyslot "$key")
	FROM= TO=
	for port in "${PORTS[@]}"; do
		if redis-cli -p "$port" cluster countkeysinslot "$SLOT" |
			grep -qx '[1-9][0-9]*'; then
			FROM=$port
		else
			TO=$port
		fi
	done
	redis-cli -p "$TO" cluster setslot "$SLOT" importing \
		"$(redis-cli -p "$FROM" cluster myid)"
	redis-cli -p "$FROM" cluster setslot "$SLOT" migrating \
		"$(redis-cli -p "$TO" cluster myid)"
}

migrate() {
	redis-cli -p "$FROM" migrate 127.0.0.1 "$TO" "$1" 0 5000 | grep -qx OK
}

end_migration() {
	local port id
	id=$(redis-cli -p "$TO" cluster myid)
	for port in "$TO" "$FROM"; do
		redis-cli -p "$port" cluster setslot "$SLOT" node "$id"
	done
}

# was_asked PORT: did somebody send ASKING to this node?
was_asked() {
	redis-cli -p "$1" info commandstats | grep -q '^cmdstat_asking:'
}

@test "a chunk that is on its way" {
	start_cluster
	# few lines (BITFIELD), many (BITOP), and claims of both
	for options in "-n 1e4" "-n 4e4 --window=30d"; do
		for claim in '' --claim; do
			for n in 5 3000; do
				# shellcheck disable=SC2086
				bloomdedup create --force $options "$URL/seen"
				chunk=$(for port in "${PORTS[@]}"; do
					redis-cli -p "$port" --scan --pattern '*{seen:L0:0:*'
				done)
				begin_migration "$chunk"
				redis-cli -p "$TO" config resetstat
				seq 1 "$n" >in
				# announced, and not gone yet
				bloomdedup $claim -f "$URL/seen" in >out
				cmp in out
				migrate "$chunk"
				bloomdedup $claim -f "$URL/seen" in >out
				[ ! -s out ]
				was_asked "$TO"
				seq 1 $((2 * n)) >in
				bloomdedup $claim -f "$URL/seen" in >out
				seq $((n + 1)) $((2 * n)) | cmp - out
				end_migration
				bloomdedup check -f "$URL/seen" in | cmp - in
			done
		done
	done
}

@test "the table and its counters are on their way" {
	start_cluster
	bloomdedup create -n 1000 -p 1e-12 "$URL/seen"
	begin_migration 'bloomdedup:{seen}:table'
	counter=$(redis-cli -p "$FROM" --scan --pattern '*{seen}:lines:*')
	# each of its keys by itself, and between them a run that grows
	n=0
	for key in 'bloomdedup:{seen}:table' "$counter" \
		'bloomdedup:{seen}:header'; do
		migrate "$key"
		seq $((n * 500 + 1)) $((n * 500 + 500)) >in
		bloomdedup -f "$URL/seen" in >out
		cmp in out
		n=$((n + 1))
	done
	end_migration
	seq 1 1500 | bloomdedup -f "$URL/seen" >out
	[ ! -s out ]
}
