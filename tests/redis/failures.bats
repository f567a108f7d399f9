# What happens to lines when servers, networks or other people fail.
load ../common
load servers
load running

# all_are_out FILE: no line of FILE is missing in out
all_are_out() {
	! grep -vxFf out "$1"
}

@test "no server: it is waited for as long as --lock-timeout says" {
	port=$(free_port)
	fails 3 refused bloomdedup --lock-timeout=0 \
		-f "redis://:secret@127.0.0.1:$port/a" <<<x
	run ! grep secret fails.err
	fails 3 'No such file' bloomdedup --lock-timeout=0 \
		-f "redis+unix://$PWD/none?name=a" <<<x
	fails 3 refused bloomdedup check -f "redis://127.0.0.1:$port/a" <<<x
	"$BLOOMDEDUP" -f "redis://127.0.0.1:$port/a" <<<x >out 2>err 3>&- &
	client=$!
	until_true grep -q 'refused; trying again' err
	start_on "$port"
	wait "$client"
	echo x | cmp - out
}

@test "check says that it tries again, until --lock-timeout has passed" {
	start
	echo 1 | bloomdedup add -f "$URL/seen"
	mkfifo in
	"$BLOOMDEDUP" check --lock-timeout=3 -f "$URL/seen" <in >out 2>err \
		3>&- &
	client=$!
	exec 9>in
	echo 1 >&9
	until_true grep -qx 1 out
	stop
	echo 2 >&9
	until_true grep -q 'trying again' err
	exec 9>&-
	status=0
	wait "$client" || status=$?
	[ "$status" -eq 3 ]
	[ "$(wc -l <err)" -eq 2 ]
	grep -q 'refused$' err
}

@test "a server that closes connections: the message says why it may" {
	start
	echo 1 | bloomdedup -f "$URL/seen" >out
	start_proxy --lose GET
	fails 3 '(client-output-buffer-limit, ' \
		bloomdedup check --lock-timeout=0 \
		-f "redis://127.0.0.1:$PROXY/seen" /dev/null
	stop_proxy
}

# A server that never comes to an end with an answer, in the way of its argument:
# it prints its port.
never_ends() {
	cat >never.py <<-'END'
		import socket, sys, threading, time
		how = sys.argv[1]
		listener = socket.create_server(("127.0.0.1", 0))
		port = listener.getsockname()[1]
		print(port, flush=True)
		def serve(s):
		    try:
		        while True:
		            request = s.recv(65536)
		            if not request:
		                return
		            if b"SLOTS" in request and how != "slots":
		                s.sendall(b"-ERR no cluster\r\n")
		            elif how == "ask":
		                asked = request.count(b"ASKING")
		                print(request.count(b"GET"), file=sys.stderr, flush=True)
		                s.sendall(b"+OK\r\n" * asked +
		                          b"-ASK 1 127.0.0.1:%d\r\n" % port)
		            elif how in ("drip", "slots"):
		                s.sendall(b"$1000000\r\n" if how == "drip" else b"*1000\r\n")
		                while True:
		                    time.sleep(0.2)
		                    s.sendall(b"x" if how == "drip" else b":1\r\n")
		            else:
		                s.sendall(b"-ERR " if how == "line" else b"$200000000\r\n")
		                while True:
		                    s.sendall(b"x" * 65536)
		    except OSError:
		        pass
		while True:
		    s = listener.accept()[0]
		    threading.Thread(target=serve, args=(s,), daemon=True).start()
	END
	exec 8< <(exec python3 -IS never.py "$1" 2>asked 3>&-)
	NEVER=$!
	read -r PORT <&8
	exec 8<&-
}

@test "a server whose answer never ends: the run does, in its time and memory" {
	for how in line header ask drip slots; do
		never_ends $how
		: >asked
		for command in '' check info; do
			set -- --lock-timeout=1
			[ "$command" != info ] || set --
			[ "$command" != info ] || [[ $how == [lh]* ]] || continue
			status=0
			(
				# these take more memory themselves
				[ -n "${UNDER_VALGRIND:-}" ] || is_sanitized ||
					ulimit -v 400000
				# shellcheck disable=SC2086
				exec timeout 50 "$BLOOMDEDUP" $command "$@" \
					-f "redis://127.0.0.1:$PORT/x" <<<1
			) >out 2>err || status=$?
			[ "$status" -eq 3 ] || { cat err; return 1; }
			case $how in
			drip) grep -q 'did not answer a request wholly in 2 s' err ;;
			slots) grep -q 'does not answer' err ;;
			ask) grep -q 'ASK 1' err ;;
			*) grep -q 'longer than any that was asked for\|did not answer a request wholly in' err ;;
			esac
		done
		kill "$NEVER"
		# with pauses: it isn't asked as often as it answers
		[ "$how" != ask ] || [ "$(wc -l <asked)" -lt 400 ]
	done
}

@test "a connection that is cut at any point loses no line" {
	seq 1 3000 >in
	places=$(printf '%s\n' 1 20 38 300 900 4100 8192 9000 12000 20000 \
		50000 90000 150000 300000 500000)
	for kind in $KINDS; do
		start
		for direction in sent received; do
			for at in $(some 3 <<<"$places"); do
				cli flushall >flushed
				start_proxy "--cut-$direction" "$at"
				bloomdedup -n 1e5 \
					-f "redis://127.0.0.1:$PROXY/seen" in \
					>out 2>notes
				stop_proxy
				all_are_out in
				bloomdedup check -v -f "$URL/seen" in >missing ||
					[ $? -eq 1 ]
				[ ! -s missing ]
			done
		done
	done
	every_kind
}

@test "a connection that is cut again and again" {
	seq 1 20000 >in
	for kind in $KINDS; do
		start
		bloomdedup create -n 1e5 "$URL/seen" 2>notes
		start_proxy --cut-received 8000 \
			--times "$(short_or_long 8 20)"
		bloomdedup -f "redis://127.0.0.1:$PROXY/seen" in >out 2>notes
		stop_proxy
		all_are_out in
		bloomdedup check -v -f "$URL/seen" in >missing || [ $? -eq 1 ]
		[ ! -s missing ]
	done
	every_kind
}

# killed_before WORD COMMAND...: the program, which is killed when it sends WORD
killed_before() {
	local word=$1
	shift
	start_proxy --cut-before "$word" --times 1000 \
		--meanwhile 'kill -KILL "$(cat client)"'
	"$BLOOMDEDUP" "$@" "redis://127.0.0.1:$PROXY/seen" 2>err 3>&- &
	echo $! >client
	wait $! || [ $? -eq 137 ] || return 1
	stop_proxy
}

# stat_of NAME: a figure of the server's INFO
stat_of() {
	cli info stats | tr -d '\r' | sed -n "s/^$1://p"
}

@test "connections that never carry much: half of it is progress" {
	# what each carries, and what of it has an answer for sure: it begins
	# with 64 KiB, sends a byte more for each that is answered, and goes
	# beyond that by a request at most
	local most=$((640 << 10)) least=$((248 << 10)) lines before bytes many
	lines=$(short_or_long 8000 40000)
	"$HELPER" lines "$lines" >in
	for kind in $KINDS; do
		start
		for option in --claim --on-full=fail; do
			bloomdedup create -n 1e5 "$URL/direct$option"
			bloomdedup create -n 1e5 "$URL/cut$option"
			before=$(stat_of total_net_input_bytes)
			bloomdedup $option -f "$URL/direct$option" in |
				cmp in -
			bytes=$(($(stat_of total_net_input_bytes) - before))
			start_proxy --cut-sent "$most" --times 1000000
			before=$(stat_of total_connections_received)
			bloomdedup $option --lock-timeout=30 \
				-f "redis://127.0.0.1:$PROXY/cut$option" \
				in >out 2>err
			many=$(($(stat_of total_connections_received) - before))
			stop_proxy
			sort -u out | cmp - <(sort in)
			echo "$kind $option: $bytes bytes, $many connections"
			[ "$many" -gt $((bytes / most)) ]
			[ "$many" -le $((bytes / least + 5)) ]
		done
	done
	every_kind
}

@test "a client that is killed between print and mark prints again" {
	seq 1 1000 >in
	for kind in $KINDS; do
		start
		bloomdedup create -n 1e5 "$URL/seen" 2>notes
		word=BF.INSERT
		[ "$kind" = bloom ] || word=BITFIELD
		killed_before "$word" in -f >out
		cmp in out
		bloomdedup -f "$URL/seen" in >out
		cmp in out
	done
	every_kind
}

@test "a server that is restarted with its data" {
	for kind in $KINDS; do
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
	done
	every_kind
}

@test "a server that is restarted from an older snapshot: the rest comes again" {
	for kind in $KINDS; do
		start
		seq 1 1000 | bloomdedup -f "$URL/seen" >out 2>notes
		cli save
		begin
		say $(seq 1001 2000)
		# what was on its way would be sent again
		marked() {
			! seq 1001 2000 | bloomdedup check -q -v -f "$URL/seen"
		}
		until_true marked
		stop
		start_on "$PORT"
		say $(seq 2001 3000)
		end
		seq 1001 3000 | cmp - out
		seq 1 3000 | bloomdedup -f "$URL/seen" >again
		seq 1001 2000 | cmp - again
	done
	every_kind
}

@test "a server that is restarted empty ends the run" {
	start
	begin
	say 1 2 3
	stop
	start_on "$PORT"
	echo 4 >&9
	end 3
	grep -q 'no longer there: it was removed' err
	seq 1 3 | cmp - out
}

@test "FLUSHALL, remove and create --force end the run; nothing is left behind" {
	for kind in $KINDS; do
		start
		begin
		say 1 2 3
		cli flushall
		try_to_say 3
		end 3
		grep -q 'no longer there: it was removed' err
		begin
		say 1 2 3
		bloomdedup create --force "$URL/seen" 2>notes
		# it may have ended over its marks
		try_to_say 4
		end 3
		grep -q 'another one has replaced it' err
		seq 1 3 | cmp - out
		[ "$(cli dbsize)" -eq $((1 + $(bloomdedup info --json \
			"$URL/seen" | json_value shards))) ]
		begin --claim
		say 1 2 3
		bloomdedup remove "$URL/seen"
		try_to_say 4
		end 3
		grep -q 'no longer there: it was removed' err
		seq 1 3 | cmp - out
		[ "$(cli dbsize)" -eq 0 ]
	done
	every_kind
}

@test "a shard that is missing, or another key in its place, is named" {
	seq 1 100 >in
	for kind in $KINDS; do
		start
		bloomdedup create -n 1e6 "$URL/seen" 2>notes
		shard=$(shards | head -n 1)
		cli del "$shard"
		for command in '' '--claim' check; do
			# shellcheck disable=SC2086
			fails 3 "the key $shard is missing" \
				bloomdedup $command -f "$URL/seen" in
		done
		fails 3 "the key $shard is missing" bloomdedup info "$URL/seen"
		cli lpush "$shard" element
		fails 3 WRONGTYPE bloomdedup -f "$URL/seen" in
		bloomdedup create --force -n 1e6 "$URL/seen" 2>notes
		bloomdedup -f "$URL/seen" in | cmp - in
	done
	every_kind
}

@test "a shard that goes during a run: nothing more is printed" {
	seq 101 1000 >more
	for kind in $KINDS; do
		start
		for claim in '' --claim; do
			bloomdedup create --force -n 1e6 "$URL/seen" 2>notes
			# shellcheck disable=SC2086
			begin $claim
			say $(seq 1 100)
			shard=$(shards | head -n 1)
			cli del "$shard"
			cat more >&9
			end 3
			grep -qF "damaged: the key $shard is missing" err
			[ -n "$claim" ] || seq 1 100 | cmp - out
		done
	done
	every_kind
}

@test "a shard that goes between question and mark" {
	for kind in $KINDS; do
		start
		bloomdedup create -n 1e4 "$URL/seen" 2>notes
		shard=$(shards)
		word=BF.INSERT
		[ "$kind" = bloom ] || word=BITFIELD
		start_proxy --cut-before "$word" \
			--meanwhile "'$REDIS_CLI' -p $PORT del '$shard' >deleted"
		status=0
		seq 1 100 | bloomdedup -f "redis://127.0.0.1:$PROXY/seen" \
			>out 2>err || status=$?
		stop_proxy
		[ "$(cat deleted)" = 1 ]
		[ "$status" -eq 3 ]
		grep -qF "$shard is missing" err
		# a mark may have made a key of that name: it is none
		fails 3 "$shard is missing" bloomdedup check -f "$URL/seen" <<<1
	done
	every_kind
}

@test "a server that evicts keys: what is missing is seen" {
	seq 1000 >in
	for kind in $KINDS; do
		start --maxmemory 12mb --maxmemory-policy allkeys-lru
		bloomdedup -n 1e6 -f "$URL/seen" <<<1 >out 2>err
		cli keys '*' | sort >before
		# another user's keys, until one of the filter's is evicted
		for ((i = 1; i <= 100; i++)); do
			cli eval "for i = 1, 1000 do redis.call('set',
				'other' .. i * 100 + $i, string.rep('x', 3000)) end" 0
			# it goes on to evict when it has time
			cli config set maxmemory 0
			cli keys 'bloomdedup*' | sort >after
			cmp -s before after || break
			cli config set maxmemory 12mb
		done
		[ "$i" -le 100 ]
		cli info stats | grep -q '^evicted_keys:[1-9]'
		# no second filter over the first one's shards, or damage
		if grep -qx 'bloomdedup:{seen}' after; then
			fails 3 'maxmemory-policy' bloomdedup -f "$URL/seen" <in
		else
			bloomdedup -f "$URL/seen" in 2>err | cmp - in
			grep -q 'new filter' err
		fi
	done
	every_kind
}

@test "a header that is deleted: the next run says that it makes a new filter" {
	start
	seq 1 100 | bloomdedup -f "$URL/seen" >out 2>notes
	cli del 'bloomdedup:{seen}'
	seq 1 100 | bloomdedup -f "$URL/seen" 2>err | cmp - <(seq 1 100)
	grep -q 'seen: new filter' err
	seq 1 100 | bloomdedup -f "$URL/seen" >out
	[ ! -s out ]
}

@test "a filter that can't be made leaves no shards" {
	for kind in $KINDS; do
		start
		cli acl setuser default -set >/dev/null
		fails 3 NOPERM bloomdedup create -n 1000 --on-full=fail "$URL/a"
		[ -z "$(cli keys '*')" ]
	done
}

@test "another key, or a damaged header, in place of the header is refused" {
	start
	bloomdedup create "$URL/seen" 2>notes
	key='bloomdedup:{seen}'
	cli setrange "$key" 4120 x
	for why in 'checksum is wrong' 'not the header'; do
		for command in '' check info remove 'create --force'; do
			case $command in
			''|check) set -- -f "$URL/seen" ;;
			*) set -- "$URL/seen" ;;
			esac
			# shellcheck disable=SC2086
			fails 3 "$why" bloomdedup $command "$@" <<<1
		done
		cli set "$key" x
	done
	[ "$(cli get "$key")" = x ]
	cli del "$key"
	cli lpush "$key" x
	fails 3 WRONGTYPE bloomdedup -f "$URL/seen" <<<1
}

# all_expire: no shard stays for longer than an hour
all_expire() {
	shards | lifetimes | awk '$1 <= 0 || $1 > 3600 { print; exit 1 }'
}

# all_stay: no shard has a time at which it goes
all_stay() {
	[ "$(shards | lifetimes | sort -u)" = -1 ]
}

@test "a client that is killed while it removes or replaces: shards expire" {
	for kind in $KINDS; do
		start
		for command in 'GETDEL remove' 'GETSET create --force'; do
			seq 1 100 | bloomdedup add -f "$URL/seen" 2>notes
			# shellcheck disable=SC2086
			killed_before $command
			all_expire
			# the filter is still there: the next run keeps it
			seq 1 101 | bloomdedup -f "$URL/seen" |
				cmp - <(echo 101)
			[ "${command#* }" != remove ] || all_stay
			# shellcheck disable=SC2086
			killed_before UNLINK ${command#* }
			[ -n "$(shards)" ]
			if [ "${command#* }" = remove ]; then
				all_expire
			else
				run ! all_stay
			fi
			cli flushall
		done
	done
	every_kind
}

@test "a user who may not remove a filter leaves it as it was" {
	for kind in $KINDS; do
		start
		seq 1 100 | bloomdedup add -f "$URL/seen" 2>notes
		cli acl setuser default -getdel -getset >/dev/null
		fails 3 NOPERM bloomdedup remove "$URL/seen"
		fails 3 NOPERM bloomdedup create --force --on-full=fail \
			"$URL/seen"
		all_stay
		[ "$(shards | wc -l)" -eq "$(bloomdedup info --json \
			"$URL/seen" | json_value shards)" ]
	done
	every_kind
}

@test "check deletes nothing where a filter is no longer there" {
	for kind in $KINDS; do
		start
		bloomdedup create -n 1e6 "$URL/seen" 2>notes
		bloomdedup add -f "$URL/seen" <<<1
		mkfifo in
		"$BLOOMDEDUP" check -f "$URL/seen" <in >out 2>err 3>&- &
		client=$!
		exec 9>in
		echo 1 >&9
		until_true grep -qx 1 out
		cli del 'bloomdedup:{seen}' "$(shards | head -n 1)"
		left=$(cli dbsize)
		seq 2 1000 >&9
		exec 9>&-
		status=0
		wait "$client" || status=$?
		[ "$status" -eq 3 ]
		grep -q 'it was removed' err
		[ "$left" -gt 0 ]
		[ "$(cli dbsize)" -eq "$left" ]
		rm in
	done
	every_kind
}

@test "a creation that is cut off at any point" {
	seq 1 100 >in
	for kind in $KINDS; do
		start
		for at in 1 50 200 300 400 600 4300 4600 4900; do
			cli flushall >flushed
			start_proxy --cut-sent "$at" --times 1000
			bloomdedup create --lock-timeout=0 -n 1e5 \
				"redis://127.0.0.1:$PROXY/seen" 2>err || true
			stop_proxy
			bloomdedup -f "$URL/seen" in >out 2>notes
			cmp in out
			bloomdedup -f "$URL/seen" in >out
			[ ! -s out ]
		done
	done
	every_kind
}

@test "a missing shard, and a header that can't be read: nothing is deleted" {
	kind=bits
	start
	bloomdedup create -n 1e7 "$URL/seen" 2>notes
	begin
	say $(seq 1 100)
	until_true is_remembered 100
	cli del "$(shards | head -n 1)"
	left=$(cli dbsize)
	[ "$left" -gt 2 ]
	cli acl setuser default -get
	seq 101 1000 >&9
	end 3
	grep -q NOPERM err
	[ "$(cli dbsize)" -ge "$left" ]
}

# says_removed: the run was given another line, and has found out
says_removed() {
	try_to_say again
	grep -q 'no longer there: it was removed' err
}

@test "a header that goes during a run: the run says so, and ends" {
	for kind in $KINDS; do
		start
		for claim in '' --claim; do
			# shellcheck disable=SC2086
			begin $claim
			say 1 2 3
			cli del 'bloomdedup:{seen}'
			until_true says_removed
			end 3
			# and at the end of a run that never rests
			bloomdedup create -n 1000 "$URL/seen" 2>notes
			word=BF.INSERT
			[ "$kind" = bloom ] || word=BITFIELD
			start_proxy --cut-before "$word" --meanwhile \
				"'$REDIS_CLI' -p $PORT del 'bloomdedup:{seen}'"
			status=0
			# shellcheck disable=SC2086
			bloomdedup $claim -f "redis://127.0.0.1:$PROXY/seen" \
				<<<1 >out 2>err || status=$?
			stop_proxy
			[ "$status" -eq 3 ]
			grep -q 'it was removed' err
			cli flushall
		done
	done
	every_kind
}

# rounds_of ARGUMENT...: the number of round trips that a run needs, at most;
# what it prints is in `out`
rounds_of() {
	local client
	start_proxy --rounds rounds \
		--processes "client server-$PORT/redis.pid"
	: >rounds
	rm -f client
	"$BLOOMDEDUP" "${@/FAR/redis:\/\/127.0.0.1:$PROXY\/seen}" >out \
		2>notes 3>&- &
	client=$!
	echo "$client" >client.new
	mv client.new client
	wait "$client" || return 1
	stop_proxy
	wc -c <rounds
}

# in_rounds LIMIT ARGUMENT...: a run on a filter that was made with $design
# needs so many round trips at most. A busy machine can only add to what is
# counted: the fewest of ten runs, each on a new filter, are what it needs.
in_rounds() {
	local limit=$1 try
	shift
	for try in 1 2 3 4 5 6 7 8 9 10; do
		# shellcheck disable=SC2086
		bloomdedup create --force $design "$URL/seen" 2>notes
		rounds_of "$@" >count || return 1
		echo "$(<count) round trips: $*" >&2
		[ "$(<count)" -gt "$limit" ] || return 0
	done
	return 1
}

@test "few round trips, though there are hundreds of shards" {
	# One after the other it would be 64 and more.
	seq 1 5000 >in
	design='-n 2e7 -p 1e-3'
	for kind in $KINDS; do
		start
		# shellcheck disable=SC2086
		in_rounds 20 create --force $design FAR
		in_rounds 20 info --json FAR
		[ "$(json_value shards <out)" -ge 64 ]
		in_rounds 20 --claim -f FAR in
		cmp in out
		in_rounds 20 check -v -f FAR in
		cmp in out
		in_rounds 20 remove FAR
	done
	every_kind
}

@test "a batch waits for one round trip, with bit strings for two" {
	seq 1 200000 >in
	design='-n 1e6'
	for kind in $KINDS; do
		start
		# there are hundreds of batches, some of which go together
		case $kind in
		bits) in_rounds 60 -f FAR in ;;
		bloom) in_rounds 20 -f FAR in ;;
		esac
		cmp in out
	done
	every_kind
}
