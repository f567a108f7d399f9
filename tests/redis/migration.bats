# A key on its way from one node to another.
load ../common
load servers

# begin_migration KEY: of the slot of KEY, from the node that has it to another;
# sets FROM, TO (ports), FROM_ID, TO_ID and SLOT. No key goes yet.
begin_migration() {
	local key=$1 port
	SLOT=$(cli cluster keyslot "$key")
	FROM= TO=
	for port in "${PORTS[@]}"; do
		says "$port" "cluster countkeysinslot $SLOT"
		if [[ $ANSWER == :[1-9]* ]]; then
			FROM=$port
		else
			TO=$port
		fi
	done
	FROM_ID=$(redis-cli -p "$FROM" cluster myid)
	TO_ID=$(redis-cli -p "$TO" cluster myid)
	says "$TO" "cluster setslot $SLOT importing $FROM_ID"
	says "$FROM" "cluster setslot $SLOT migrating $TO_ID"
}

migrate() {
	redis-cli -p "$FROM" migrate 127.0.0.1 "$TO" "$1" 0 5000 | grep -qx OK
}

end_migration() {
	local port
	for port in "$TO" "$FROM"; do
		says "$port" "cluster setslot $SLOT node $TO_ID"
	done
}

# was_asked PORT: did somebody send ASKING to this node?
was_asked() {
	redis-cli -p "$1" info commandstats | grep -q '^cmdstat_asking:'
}

@test "a shard that is on its way" {
	for kind in $KINDS; do
		start_cluster
		for claim in '' --claim; do
			for n in 5 1100; do
				bloomdedup create --force -n 1e4 "$URL/seen" \
					2>notes
				shard=$(for port in "${PORTS[@]}"; do
					redis-cli -p "$port" --scan \
						--pattern 'bloomdedup-shard:*'
				done)
				begin_migration "$shard"
				redis-cli -p "$TO" config resetstat
				seq 1 "$n" >in
				# announced, and not gone yet
				bloomdedup $claim -f "$URL/seen" in >out
				cmp in out
				migrate "$shard"
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
	every_kind
}

@test "the header is on its way" {
	start_cluster
	bloomdedup create -n 1000 "$URL/seen" 2>notes
	begin_migration 'bloomdedup:{seen}'
	seq 1 500 | bloomdedup -f "$URL/seen" | cmp - <(seq 1 500)
	migrate 'bloomdedup:{seen}'
	seq 1 1000 | bloomdedup -f "$URL/seen" | cmp - <(seq 501 1000)
	bloomdedup create --force -n 1000 "$URL/seen" 2>notes
	seq 1 10 | bloomdedup -f "$URL/seen" | cmp - <(seq 1 10)
	end_migration
	seq 1 10 | bloomdedup -f "$URL/seen" >out
	[ ! -s out ]
}
