# What happens to lines when servers, networks or other people fail.
load ../common
load servers
load running

# all_are_out FILE: no line of FILE is missing in out
all_are_out() {
	[ -z "$(sort -u "$1" | comm -23 - <(sort -u out))" ]
}

@test "no server: an error at once, with its name and no password" {
	fails 3 refused bloomdedup -f "redis://:secret@127.0.0.1:$(free_port)/a" \
		<<<x
	run ! grep secret fails.err
	fails 3 'No such file' bloomdedup -f "redis+unix://$PWD/none?name=a" <<<x
}

@test "a connection that is cut at any point loses no line" {
	start
	seq 1 3000 >in
	places=$(printf '%s\n' 1 20 38 300 900 8192 8300 9000 12000 20000 \
		50000 90000 150000 300000)
	for direction in sent received; do
		for at in $(some 2 <<<"$places"); do
			cli flushall >flushed
			start_proxy "--cut-$direction" "$at"
			bloomdedup -n 1000 -p 1e-12 -f "redis://127.0.0.1:$PROXY/seen" in \
				>out 2>notes || [ "$at" -lt 400 ]
			stop_proxy
			# A connection that was never made is an error.
			[ -s out ] || continue
			all_are_out in
			bloomdedup check -v -f "$URL/seen" in >missing ||
				[ $? -eq 1 ]
			[ ! -s missing ]
		done
	done
}

@test "a connection that is cut again and again" {
	start
	seq 1 20000 >in
	bloomdedup create -n 1e5 "$URL/seen"
	start_proxy --cut-received 30000 --times "$(short_or_long 8 20)"
	bloomdedup -f "redis://127.0.0.1:$PROXY/seen" in >out 2>notes
	stop_proxy
	all_are_out in
	bloomdedup check -v -f "$URL/seen" in >missing || [ $? -eq 1 ]
	[ ! -s missing ]
}

@test "a client that is killed between print and mark prints again" {
	start
	seq 1 1000 >in
	bloomdedup create -n 1e5 "$URL/seen"
	start_proxy --delay 300
	"$BLOOMDEDUP" -f "redis://127.0.0.1:$PROXY/seen" in >out 2>err 3>&- &
	client=$!
	until_true has_bytes "$(wc -c <in)" out
	kill -KILL "$client" "$PROXY_PID"
	wait "$client" || true
	cmp in out
	bloomdedup -f "$URL/seen" in >out
	cmp in out
}

@test "a server that is restarted with its data" {
	start --appendonly yes --appendfsync always
	begin
	say 1 2 3
	stop
	start_on "$PORT" --appendonly yes
	say 4 5 6
	end
	seq 1 6 | cmp - out
	seq 1 6 | bloomdedup -f "$URL/seen" >out
	[ ! -s out ]
}

@test "a server that is restarted empty ends the run" {
	start
	begin
	say 1 2 3
	stop
	start_on "$PORT"
	echo 4 >&9
	end 3
	grep -q 'no longer there' err
	seq 1 3 | cmp - out
}

@test "a filter that is removed, or replaced, ends the run" {
	start
	begin
	say 1 2 3
	cli flushall
	echo 3 >&9
	end 3
	grep -q 'no longer there' err
	begin
	say 1 2 3
	bloomdedup create --force "$URL/seen"
	echo 1 >&9
	end 3
	grep -q 'replaced' err
	# what it said of line 1 came from the old filter's mirror: nothing
	seq 1 3 | cmp - out
}

@test "a chunk that is missing, cut short or of another type is named" {
	start
	bloomdedup create -n 1e4 "$URL/seen"
	chunk=$(cli --scan --pattern '*L0:0:*')
	cli del "$chunk"
	fails 3 "$chunk" bloomdedup -f "$URL/seen" <<<1
	fails 3 "$chunk is missing or cut short" bloomdedup check -f "$URL/seen" <<<1
	fails 3 "$chunk" bloomdedup info "$URL/seen"
	cli set "$chunk" short
	fails 3 "$chunk is missing or cut short" bloomdedup -f "$URL/seen" <<<1
	cli del "$chunk"
	cli lpush "$chunk" element
	fails 3 "$chunk" bloomdedup -f "$URL/seen" <<<1
	# as many lines as ask for the whole chunk
	seq 1 1000 >in
	fails 3 "$chunk" bloomdedup -f "$URL/seen" in
	cli del "$chunk"
	fails 3 "$chunk is missing or cut short" bloomdedup -f "$URL/seen" in
}

# lose_chunk_before_mark N: N lines are printed, and their chunk goes before
# they are marked. Fails if the marks were faster.
lose_chunk_before_mark() {
	local status=0 chunk client
	bloomdedup create --force -n 1e4 "$URL/seen"
	chunk=$(cli --scan --pattern '*L0:0:*')
	start_proxy --delay 300
	seq 1 "$1" >in
	"$BLOOMDEDUP" -f "redis://127.0.0.1:$PROXY/seen" in >out 2>err 3>&- &
	client=$!
	until_true has_bytes "$(wc -c <in)" out
	cli del "$chunk"
	wait "$client" || status=$?
	stop_proxy
	[ "$status" -ne 0 ] || return 1
	[ "$status" -eq 3 ] && grep -qF "$chunk" err &&
		fails 3 "$chunk" bloomdedup check -f "$URL/seen" in
}

@test "a chunk that goes between probe and mark is refused afterwards" {
	start
	for n in 3 3000; do
		until_true lose_chunk_before_mark "$n"
	done
}

@test "other keys in place of header and table are refused" {
	start
	bloomdedup create "$URL/seen"
	cli set 'bloomdedup:{seen}:table' x
	fails 3 table bloomdedup -f "$URL/seen" <<<1
	cli set 'bloomdedup:{seen}:header' x
	fails 3 header bloomdedup -f "$URL/seen" <<<1
	cli del 'bloomdedup:{seen}:header'
	cli lpush 'bloomdedup:{seen}:header' x
	fails 3 WRONGTYPE bloomdedup -f "$URL/seen" <<<1
	bloomdedup create "$URL/other"
	cli del "$(cli --scan --pattern '*{other}:lines*')"
	fails 3 'is missing' bloomdedup -f "$URL/other" <<<1
}

@test "OOM is retried for --lock-timeout, then an error" {
	start
	begin
	say 1
	cli config set maxmemory 1kb
	echo 2 >&9
	until_true grep -q OOM err
	cli config set maxmemory 0
	until_true grep -qx 2 out
	say 3
	end
	seq 1 3 | bloomdedup check -f "$URL/seen" | cmp - <(seq 1 3)
	cli config set maxmemory 1kb
	bloomdedup --lock-timeout=0.5 -f "$URL/seen" <<<4 >out 2>err || status=$?
	[ "$status" -eq 3 ]
	grep -q OOM err
	fails 3 OOM bloomdedup create --lock-timeout=0 "$URL/other"
}

@test "READONLY is retried" {
	start
	begin
	say 1
	cli replicaof 127.0.0.1 "$(free_port)"
	cli config set replica-serve-stale-data yes
	echo 2 >&9
	until_true grep -q READONLY err
	cli replicaof no one
	say 3
	end
	seq 1 3 | bloomdedup check -f "$URL/seen" | cmp - <(seq 1 3)
}

is_busy() {
	cli get x 2>&1 | grep -q BUSY
}

@test "BUSY is retried" {
	start --busy-reply-threshold 10
	begin
	say 1
	cli eval 'while true do end' 0 >script 2>&1 3>&- &
	until_true is_busy
	echo 2 >&9
	until_true grep -q BUSY err
	cli script kill
	say 3
	end
	seq 1 3 | bloomdedup check -f "$URL/seen" | cmp - <(seq 1 3)
}

@test "a policy that evicts is warned about" {
	start --maxmemory 100mb --maxmemory-policy allkeys-lru
	bloomdedup -f "$URL/seen" <<<1 >out 2>err
	grep -q allkeys-lru err
	[ "$(wc -l <err)" -eq 1 ]
	cli config set maxmemory-policy noeviction
	bloomdedup -f "$URL/seen" <<<2 >out 2>err
	[ ! -s err ]
}

@test "eviction is found out" {
	start --maxmemory 100mb --maxmemory-policy allkeys-lru
	bloomdedup create -n 1e6 "$URL/seen"
	seq 1 100000 >in
	bloomdedup add -f "$URL/seen" in 2>err
	cli config set maxmemory 2500kb
	cli set x "$(head -c 100000 /dev/zero | tr '\0' x)"
	bloomdedup check -f "$URL/seen" in >out 2>err || status=$?
	[ "$status" -eq 3 ]
	grep -qE 'missing|no longer|no such' err
}

@test "a creation that was broken off is finished by the next run" {
	start
	bloomdedup create -n 1e5 "$URL/seen"
	cli del 'bloomdedup:{seen}:table'
	fails 3 'its table is missing' bloomdedup check -f "$URL/seen" <<<1
	fails 3 'its table is missing' bloomdedup -f "$URL/seen" <<<1
	# as if it had never been finished
	echo 'SETRANGE "bloomdedup:{seen}:header" 8192 "\x00"' | cli
	cli del "$(cli --scan --pattern '*L0:1:*')"
	fails 3 'not finished' bloomdedup check -f "$URL/seen" <<<1
	fails 3 'not finished' bloomdedup info "$URL/seen"
	bloomdedup -f "$URL/seen" <<<1 >out
	echo 1 | cmp - out
	bloomdedup -f "$URL/seen" <<<1 >out
	[ ! -s out ]
}

@test "a creation that is cut off at any point" {
	start
	for at in 1 50 8200 8500 8700 9000 9300; do
		cli flushall >flushed
		start_proxy --cut-sent "$at" --times 1000
		bloomdedup create --lock-timeout=0 -n 1e5 \
			"redis://127.0.0.1:$PROXY/seen" 2>err || true
		stop_proxy
		seq 1 100 | bloomdedup -f "$URL/seen" >out
		seq 1 100 | cmp - out
		seq 1 100 | bloomdedup -f "$URL/seen" >out
		[ ! -s out ]
	done
}

# The server forgets with the connection what is watched. The first run has room
# for one more layer, and needs none when it has read the new table.
@test "a table that another run published meanwhile is not replaced" {
	start
	bloomdedup create -n 1000 -p 1e-12 "$URL/seen"
	seq 1 900 | bloomdedup add -f "$URL/seen"
	# grows twice, as the first run is about to grow
	start_proxy --cut-before MULTI --meanwhile \
		"seq 2001 6000 | '$BLOOMDEDUP' add -f '$URL/seen' && touch done"
	seq 1001 1500 | bloomdedup --max-size=50K \
		-f "redis://127.0.0.1:$PROXY/seen" >out
	stop_proxy
	[ -e done ]
	seq 1001 1500 | cmp - out
	{ seq 1 900; seq 1001 1500; seq 2001 6000; } >in
	bloomdedup check -f "$URL/seen" in | cmp - in
}
