# serve: killed, starved, cut short, and used by clients who mean no good.
load ../common
load server

@test "killed at random under load: no filter is refused, all STORED is known" {
	for ((round = 1; round <= $(short_or_long 8 200); round++)); do
		start_server
		[ -e filters/f.bloom ] || add_filter f '1000|1e-9'
		"$BATS_TEST_DIRNAME/storm" "$SOCKET" f 8 "r$round" \
			2>storm.err 3>&- &
		storm=$!
		# every other time at once, or before it listens
		stores() { find . -name "r$round-*" -size +0 | grep -q .; }
		((round % 2)) || until_true stores
		sleep "0.$((RANDOM % 2))$((RANDOM % 10))"
		stop_server -KILL || true
		wait "$storm"
		cat storm.err
		[ ! -s storm.err ]
		# there are none if it was killed before it listened
		find . -name "r$round-*" -exec cat {} + >now
		find . -name "r$round-*" -delete
		all_known now filters/f.bloom
		cat now >>stored
	done
	[ "$(wc -l <stored)" -gt 1000 ]
	all_known stored filters/f.bloom
	bloomdedup info filters/f.bloom >/dev/null
}

@test "ended at random under load, in any way: no window is refused" {
	names=(day lines)
	for ((round = 1; round <= $(short_or_long 8 400); round++)); do
		name=${names[round % 2]}
		start_server
		if [ "$round" -eq 1 ]; then
			# the one grows, the other moves on
			add_filter day '1000|1e-9|1d'
			add_filter lines '2000|1e-9|2000'
		fi
		"$BATS_TEST_DIRNAME/storm" "$SOCKET" $name 8 "r$round" \
			2>storm.err 3>&- &
		storm=$!
		stores() { find . -name "r$round-*" -size +0 | grep -q .; }
		until_true stores
		sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
		if ((round % 4 < 2)); then
			stop_server -KILL || true
		else
			stop_server -TERM
		fi
		wait "$storm"
		cat storm.err
		[ ! -s storm.err ]
		bloomdedup info filters/day.bloom >/dev/null
		bloomdedup info filters/lines.bloom >/dev/null
		if [ $name = day ]; then
			find . -name "r$round-*" -exec cat {} + >>stored
			all_known stored filters/day.bloom
		fi
		find . -name "r$round-*" -delete
	done
	[ "$(wc -l <stored)" -gt 1000 ]
	# what begins after all that is remembered for the window
	start_server
	seq 2000 | sed 's/.*/set lines|& 0 0 1\r\nx\r/' >sets
	ask <sets >out
	[ "$(grep -c STORED out)" -eq 2000 ]
	stop_server
	bloomdedup check -f filters/lines.bloom <(seq 2000) | cmp - <(seq 2000)
}

@test "--sync: a reply comes after a sync, one for all requests of a write" {
	needs_strace
	strace -f -qq -o trace -e trace=fdatasync,fsync,msync,sendto \
		"$BLOOMDEDUP" serve -d filters --sync -l "unix:$SOCKET" \
		2>server.err 3>&- &
	tracer=$!
	SERVER=$tracer
	until_true is_serving
	add_filter f
	: >trace
	for i in {1..100}; do printf 'set f 0 0 %d\r\n%d\r\n' ${#i} "$i"; done |
		ask >out
	[ "$(grep -c STORED out)" -eq 100 ]
	kill "$(pgrep -P "$tracer")"
	wait "$tracer" || true
	SERVER=
	# the last thing before the replies is a sync
	sed -n '1,/sendto.*STORED/p' trace >before
	cat before
	tail -n 2 before | head -n 1 | grep -qE 'sync\(.* = 0'
	[ "$(grep -c 'sync(' before)" -le 10 ]
}

@test "a filter is made without waiting for the disk, but for --sync" {
	needs_strace
	for sync in '' --sync; do
		: >server.err
		# shellcheck disable=SC2086
		strace -f -qq -o trace -e trace=fdatasync,fsync,msync,linkat,link \
			"$BLOOMDEDUP" serve -d filters $sync -l "unix:$SOCKET" \
			2>server.err 3>&- &
		SERVER=$!
		until_true is_serving
		redis_answers ':1 +OK' "BF.ADD made$sync a" "BF.RESERVE other$sync .1 10"
		kill "$(pgrep -P "$SERVER")"
		wait "$SERVER" || true
		# shellcheck disable=SC2034 # for teardown
		SERVER=
		grep -q link trace
		syncs=$(sed '/link.*other/q' trace | grep -c sync || true)
		if [ -n "$sync" ]; then
			[ "$syncs" -ge 2 ]
		else
			[ "$syncs" -eq 0 ]
		fi
	done
}

@test "no space left: that filter says so, the others are served" {
	# a filter of 1000 lines may have no file over 64 kB
	start_limited -f 64
	add_filter f '1000|1e-6'
	add_filter g '1000|1e-6'
	seq 100000 | sed 's/.*/add f|& 0 0 1\r\nx\r/' | ask >out
	stored=$(grep -c '^STORED' out)
	[ "$stored" -ge 1000 ] && [ "$stored" -lt 100000 ]
	grep '^CLIENT_ERROR' out | sort -u
	[ "$(grep -c '^CLIENT_ERROR .*f.bloom: File too large' out)" -gt 1000 ]
	answers 'VALUE f|1 0 1; 1; END; STORED; VALUE g|a 0 1; 1; END' \
		'get f|1' 'set g 0 0 1' a 'get g|a'
	# a filter that has no room at all isn't made
	ask 'add h 0 0 8' '1e6|1e-6' | grep -q '^CLIENT_ERROR .*File too large'
	[ ! -e filters/h.bloom ]
	no_leftovers
}

@test "files that are cut short while they are mapped: only those filters fail" {
	start_server
	for i in {1..200}; do
		printf 'add f%d 0 0 8\r\n1000|0.1\r\nset f%d 0 0 1\r\na\r\n' $i $i
	done | ask >out
	[ "$(grep -c '^STORED' out)" -eq 400 ]
	for i in 7 150 199; do
		truncate -s 12288 "filters/f$i.bloom"
	done
	for i in {1..200}; do
		echo "get f$i|a"
	done | ask >out
	[ "$(grep -c '^VALUE' out)" -eq 197 ]
	for i in 7 150 199; do
		grep -q "^CLIENT_ERROR filters/f$i.bloom: .*cut short" out
		ask "set f$i 0 0 1" b | grep -q "^CLIENT_ERROR filters/f$i"
	done
	answers 'STORED; VALUE f8|b 0 1; 1; END' 'set f8 0 0 1' b 'get f8|b'
	rm filters/f7.bloom
	answers 'NOT_FOUND; STORED' 'delete f7' 'add f7 0 0 8' '1000|0.1'
	stop_server
}

@test "a signal while a window moves on: what has arrived is still stored" {
	needs_strace
	bloomdedup create --window=40 filters/f.bloom
	strace -f -qq -o trace -e trace=fallocate \
		-e inject=fallocate:signal=TERM:when=2 \
		"$BLOOMDEDUP" serve -d filters -l "unix:$SOCKET" \
		2>server.err 3>&- &
	SERVER=$!
	until_true is_serving
	# In one piece: what a client sends after the signal is not promised.
	for i in {10..59}; do
		printf 'set f 0 0 2\r\n%d\r\n' "$i"
	done >requests
	ask <requests >out
	[ "$(grep -c '^STORED' out)" -eq 50 ]
	grep -q SIGTERM trace
	wait "$SERVER"
	SERVER=
	seq 30 59 | bloomdedup check -f filters/f.bloom | cmp - <(seq 30 59)
}

@test "a window with wrong fields and the right checksum: nobody hangs" {
	mkdir -p filters
	bloomdedup create --window=400 filters/capacity.bloom
	cp filters/capacity.bloom filters/layer.bloom
	"$HELPER" poke filters/capacity.bloom 48 6400000000000000
	"$HELPER" poke filters/layer.bloom $((4096 + 80)) 0a00000000000000
	"$HELPER" poke filters/layer.bloom $((8192 + 80)) 0a00000000000000
	"$HELPER" fix-crc filters/capacity.bloom
	"$HELPER" fix-crc filters/layer.bloom
	start_server
	add_filter f
	for i in {1..300}; do
		printf 'set %s 0 0 %d\r\n%d\r\n' capacity ${#i} "$i" \
			layer ${#i} "$i" f ${#i} "$i"
	done | ask >out
	[ "$(grep -c '^CLIENT_ERROR .*capacity.bloom: .* damaged' out)" -eq 300 ]
	[ "$(grep -c '^STORED' out)" -eq 600 ]
	stop_server
}

@test "a thousand connections that send half a request and wait" {
	needs_memory_figures
	[ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge 1100 ] ||
		skip "too few descriptors are allowed"
	start_server
	add_filter f
	cat >half.py <<-'END'
		import resource, socket, sys, time
		hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
		resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
		open_ones = []
		for i in range(1000):
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    s.sendall([b"get f|", b"set f 0 0 100\r\nabc", b"add"][i % 3])
		    open_ones.append(s)
		print("open", flush=True)
		sys.stdin.read()
	END
	start_holder half.py
	answers 'STORED; NOT_STORED' 'add f|a 0 0 1' x 'add f|a 0 0 1' x
	ask stats | grep -qx 'STAT curr_connections 1001'
	[ "$(memory)" -lt 20000 ]
	end_holder
}

@test "a client that never reads is not read from, the others are served" {
	needs_memory_figures
	start_server --max-unread=100K
	add_filter f
	cat >deaf.py <<-'END'
		import socket, sys, time
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		s.setblocking(False)
		sent, quiet = 0, 0
		while quiet < 20 and sent < 1 << 30:
		    try:
		        sent += s.send(b"stats\r\n" * 10000)
		        quiet = 0
		    except BlockingIOError:
		        quiet += 1
		        time.sleep(0.05)
		print(sent, flush=True)
		sys.stdin.read()
	END
	start_holder deaf.py
	[ "$(cat held)" -lt 10000000 ]
	answers 'STORED; NOT_STORED' 'add f|a 0 0 1' x 'add f|a 0 0 1' x
	[ "$(memory)" -lt 20000 ]
	end_holder
}

@test "replies that are longer than the bound all arrive, however slowly" {
	start_server --max-unread=10K
	add_filter f
	ask 'set f 0 0 1' a >/dev/null
	yes 'get f|a f|b f|a' | head -n 5000 | ask >out
	[ "$(grep -c '^VALUE' out)" -eq 10000 ]
	[ "$(grep -c '^END' out)" -eq 5000 ]
	{ echo get; yes 'f|a' | head -n 20000; } | tr '\n' ' ' |
		sed 's/$/\n/' | ask >out
	[ "$(grep -c '^VALUE' out)" -eq 20000 ]
}

@test "a line of a gigabyte" {
	needs_memory_figures
	start_server
	add_filter f
	perl -e '$| = 1; print "get "; $k = "f|0123456789 " x 80000;
		print $k for 1 .. $ARGV[0]; print "\r\nget f|a\r\n"' \
		"$(short_or_long 100 1000)" | ask >out
	[ "$(cat out)" = 'CLIENT_ERROR line too long' ]
	perl -e 'print "x" x 1000000 for 1 .. $ARGV[0]' \
		"$(short_or_long 100 1000)" | ask >out
	[ "$(cat out)" = 'CLIENT_ERROR line too long' ]
	perl -e 'print "set f 0 0 ${\($ARGV[0] * 1000000)}\r\n";
		print "x" x 1000000 for 1 .. $ARGV[0]; print "\r\nget f|a\r\n"' \
		"$(short_or_long 100 1000)" | ask >out
	[ "$(cat out)" = $'CLIENT_ERROR object too large\nEND' ]
	[ "$(memory)" -lt 20000 ]
}

@test "requests in any pieces, with waits between them" {
	start_server
	cat >pieces.py <<-'END'
		import random, socket, sys, time
		random.seed(1)
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		text = b"add f 0 0 10\r\n10000|1e-6\r\n"
		want = b"STORED\r\n"
		for i in range(300):
		    value = b"x" * random.choice((0, 1, 5000, 20000))
		    text += b"add f|%d 0 0 %d\r\n%s\r\nget f|%d\r\n" % (
		        i, len(value), value, i)
		    want += b"STORED\r\nVALUE f|%d 0 1\r\n1\r\nEND\r\n" % i
		while text:
		    n = random.choice((1, 10, 1000, 30000))
		    s.sendall(text[:n])
		    text = text[n:]
		    if random.random() < 0.05:
		        time.sleep(0.01)
		s.shutdown(socket.SHUT_WR)
		got = b""
		while True:
		    data = s.recv(65536)
		    if not data:
		        break
		    got += data
		sys.exit(got != want)
	END
	python3 pieces.py "$SOCKET"
}
