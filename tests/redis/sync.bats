# --sync: what was printed is on the disk of the server, as WAITAOF says. Where
# the server doesn't know that (it came with Redis 7.2), a proxy answers as a
# newer one does.
load ../common
load servers

# start_with_disk N [OPTION]...: a server that says it has all data on N disks,
# 1 or 0; sets SYNC_URL
start_with_disk() {
	local disks=$1
	shift
	start --appendonly yes "$@"
	SYNC_URL=$URL
	if ! knows_waitaof; then
		start_proxy --waitaof "$disks"
		SYNC_URL=redis://127.0.0.1:$PROXY
	fi
}

# asked: has the server been asked, with success?
asked() {
	cli info commandstats | grep -qE '^cmdstat_(waitaof|eval):calls=[1-9]'
}

@test "--sync waits for the disk of the server" {
	start_with_disk 1 --appendfsync everysec
	seq 1 5000 >in
	bloomdedup create -n 1e5 "$SYNC_URL/seen"
	cli config resetstat
	bloomdedup --sync -f "$SYNC_URL/seen" in >out
	cmp in out
	asked
	# what it says is on the disk is there after a restart
	stop
	start_on "$PORT" --appendonly yes
	bloomdedup -f "$URL/seen" in >out
	[ ! -s out ]
}

@test "--sync fails where the disk does not have it" {
	local status=0
	# With "no", a server syncs when it likes.
	start_with_disk 0 --appendfsync no
	seq 1 100 >in
	bloomdedup create -n 1e5 "$SYNC_URL/seen"
	bloomdedup --sync -f "$SYNC_URL/seen" in >out 2>err || status=$?
	[ "$status" -eq 3 ]
	grep -q "not on the server's disk" err
	cmp in out
}

@test "--sync is refused where it can't work" {
	start
	fails 2 WAITAOF bloomdedup --sync -f "$URL/seen" <<<x
	fails 2 WAITAOF bloomdedup add --sync -f "$URL/seen" <<<x
	[ "$(cli dbsize)" -eq 0 ]
}
