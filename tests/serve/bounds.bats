# serve: what one client, or one filter, may cost the others.
load ../common
load server

# beside FIRST: send the requests of the file FIRST on one connection and
# "stats" on a second one, both before the server reads; print the replies to
# stats.
beside() {
	cat >beside.py <<-'END'
		import os, signal, socket, sys
		path, pid, first = sys.argv[1], int(sys.argv[2]), sys.argv[3]
		pair = []
		for _ in range(2):
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(path)
		    s.sendall(b"version\r\n")
		    assert s.recv(100).startswith(b"VERSION")
		    pair.append(s)
		os.kill(pid, signal.SIGSTOP)
		pair[0].sendall(open(first, "rb").read())
		pair[1].sendall(b"stats\r\n")
		os.kill(pid, signal.SIGCONT)
		got = b""
		while not got.endswith(b"END\r\n"):
		    got += pair[1].recv(65536)
		print(got.decode().replace("\r", ""), end="")
	END
	python3 beside.py "$SOCKET" "$SERVER" "$1"
}

@test "many requests about a whole filter: others are answered in between" {
	start_server
	add_filter f
	for ((i = 0; i < 500; i++)); do
		printf 'stats bloom f\r\nget f|%d\r\n' "$i"
	done >requests
	beside requests >out
	grep cmd_get out
	[ "$(sed -n 's/^STAT cmd_get //p' out)" -lt 100 ]
	# and all of them are answered in the end
	ask <requests >out
	[ "$(grep -c '^STAT capacity' out)" -eq 500 ]
	[ "$(grep -c '^END' out)" -eq 1000 ]
}

@test "a tiny window that moves on and on: others are answered in between" {
	start_server
	add_filter tiny '8|0.01|8'
	for ((i = 0; i < 1000; i++)); do
		printf 'set tiny|%d 0 0 1\r\nx\r\n' "$i"
	done >requests
	beside requests >out
	grep cmd_set out
	[ "$(sed -n 's/^STAT cmd_set //p' out)" -lt 500 ]
	ask <requests >out
	[ "$(grep -c '^STORED' out)" -eq 1000 ]
}

@test "the server sleeps when its clients say nothing, whatever they said before" {
	[ -r /proc/self/stat ] || skip "no /proc"
	start_server --max-unread=1K
	add_filter f
	cat >quiet.py <<-'END'
		import socket, sys
		open_ones = []
		for text in b"stats bloom f\r\n", b"get f|x\r\n" * 300:
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    s.sendall(text)
		    got = b""
		    while got.count(b"END\r\n") < text.count(b"\n"):
		        got += s.recv(65536)
		    open_ones.append(s)
		print("quiet", flush=True)
		sys.stdin.read()
	END
	start_holder quiet.py
	until_idle "$SERVER"
	end_holder
}

@test "a client that writes half a million requests before it reads" {
	start_server
	redis_answers :1 'BF.ADD f a'
	cat >writes.py <<-'END'
		import socket, sys
		count = 500000
		s = socket.socket(socket.AF_UNIX)
		s.settimeout(100)  # it would wait for ever
		s.connect(sys.argv[1])
		request = b"*3\r\n$9\r\nBF.EXISTS\r\n$1\r\nf\r\n$1\r\na\r\n"
		for _ in range(count // 1000):
		    s.sendall(1000 * request)
		left = count
		while left:
		    got = s.recv(1 << 20)
		    assert got
		    left -= got.count(b"\n")
	END
	python3 writes.py "$SOCKET"
}

# start_deaf COUNT REQUEST BYTES: that many clients, each of which sends requests
# of so many bytes and reads nothing until end_holder.
start_deaf() {
	cat >deaf.py <<-'END'
		import socket, sys
		count, request, nbytes = sys.argv[2:]
		request = request.encode() + b"\r\n"
		open_ones = []
		for _ in range(int(count)):
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    s.sendall(request * (int(nbytes) // len(request)))
		    open_ones.append(s)
		print("sent", flush=True)
		sys.stdin.read()
	END
	start_holder deaf.py "$@"
	until_idle "$SERVER"
}

@test "clients that read nothing have a bound together, and the others are served" {
	needs_memory_figures
	start_server --max-unread=1M
	add_filter f
	# each would leave a megabyte unread, and has sent 60 kB
	start_deaf 200 'help' 60000
	echo "$(memory) kB"
	# 32 megabytes, and 64 kB of replies and the requests of each
	[ "$(memory)" -lt 80000 ]
	answers 'STORED; NOT_STORED' 'add f|a 0 0 1' x 'add f|a 0 0 1' x
	yes 'get f|a' | head -n 100000 | ask >out
	[ "$(grep -c '^VALUE' out)" -eq 100000 ]
	end_holder
}

@test "a client that waits since others read nothing goes on when they are gone" {
	start_server --max-unread=1M
	add_filter f
	cat >writes.py <<-'END'
		import socket, sys
		def sleeps():
		    with open("/proc/%s/stat" % sys.argv[2]) as file:
		        return file.read().rsplit(")")[1].split()[0] == "S"
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		count = 200000  # 5 bytes are the answer to each
		left = b"get f|a\r\n" * count
		s.setblocking(False)
		# until the socket takes no more, and the server doesn't read it
		while True:
		    idle = sleeps()
		    try:
		        left = left[s.send(left):]
		    except BlockingIOError:
		        if idle:
		            break
		print("waits", flush=True)
		s.settimeout(60)  # it would wait for ever
		s.sendall(left)
		while count:
		    got = s.recv(1 << 20)
		    assert got
		    count -= got.count(b"\n")
	END
	start_deaf 40 'help' 60000
	python3 writes.py "$SOCKET" "$SERVER" >writer 3>&- 4>&- &
	writer=$!
	until_true grep -q waits writer
	end_holder
	wait $writer
}

@test "while one client's requests open filter after filter, others are heard" {
	needs_strace
	for i in $(seq 300); do
		echo "BF.RESERVE f$i 0.01 1000"
	done >made
	for i in $(seq 300) $(seq 300); do
		echo "BF.INFO f$i"
	done >asked
	mapfile -t made <made
	mapfile -t asked <asked
	(
		ulimit -n 64
		# -D: the server has this process' number, and ends with it
		exec strace -D -f -qq -o trace \
			-e trace=openat,open,epoll_wait,epoll_pwait \
			"$BLOOMDEDUP" serve -d filters -l "unix:$SOCKET"
	) 2>server.err 3>&- &
	SERVER=$!
	until_true is_serving
	redis "${made[@]}" >out
	[ "$(grep -c '^+OK' out)" -eq 300 ]
	for how in MULTI PING; do
		[ $how = PING ] || asked+=(EXEC)
		: >trace
		redis $how "${asked[@]}" >out
		[ "$(grep -c Capacity out)" -eq 600 ]
		# how many were opened before it listened to all again
		awk '/\.bloom"/ { n++; all++ } n > most { most = n }
			/epoll/ { n = 0 }
			END { print most, all; exit most > 20 || all < 600 }' \
			trace
		asked=("${asked[@]:0:600}")
	done
}

# start_small [OPTION]...: a server whose filters of 1000 lines can't grow, since
# their files may have only 64 kB, and the file `trace` of what it tries.
start_small() {
	needs_strace
	(
		ulimit -f 64
		# -D: the server has this process' number, and ends with it
		exec strace -D -f -qq -o trace -e trace=fallocate,ftruncate \
			"$BLOOMDEDUP" serve -d filters -l "unix:$SOCKET" "$@"
	) 2>server.err 3>&- &
	SERVER=$!
	until_true is_serving
	add_filter f '1000|1e-6'
}

@test "a filter that can't grow is tried ten times a second, not at each request" {
	start_small
	seq 100000 | sed 's/.*/add f|& 0 0 1\r\nx\r/' | ask |
		grep -q '^CLIENT_ERROR .*f.bloom: File too large'
	cat >adds.py <<-'END'
		import socket, sys, time
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		start = time.monotonic()
		for i in range(300):
		    s.sendall(b"set f|new%d 0 0 1\r\nx\r\n" % i)
		    got = s.recv(1000)
		    assert b"File too large" in got or got == b"STORED\r\n", got
		print(int((time.monotonic() - start) * 10))
	END
	: >trace
	tenths=$(python3 adds.py "$SOCKET")
	# none, where all of them came within a tenth of a second
	tries=$(grep -c EFBIG trace || true)
	echo "$tries tries in $tenths tenths of a second"
	[ "$tries" -le "$((2 * tenths + 4))" ]
	# the other filters and a get don't wait for it
	add_filter g '1000|1e-6'
	answers 'STORED; VALUE f|1 0 1; 1; END' 'set g|a 0 0 1' x 'get f|1'
}

@test "a lease without room is tried ten times a second, whatever is committed" {
	start_small --lease=1h
	seq 100000 | sed 's/.*/add f|& 0 3000 1\r\nx\r/' | ask >out
	leased=$(grep -c '^STORED' out)
	grep -q '^CLIENT_ERROR .*f.bloom: File too large' out
	cat >commits.py <<-'END'
		import socket, sys, time
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		start = time.monotonic()
		for i in range(1, 301):
		    # there is room for what is leased, and for no more leases
		    s.sendall(b"set f|%d 0 0 1\r\nx\r\n" % i)
		    assert s.recv(1000) == b"STORED\r\n"
		    s.sendall(b"add f|new%d 0 3000 1\r\nx\r\n" % i)
		    got = s.recv(1000)
		    assert b"File too large" in got, got
		print(int((time.monotonic() - start) * 10))
	END
	[ "$leased" -gt 300 ]
	: >trace
	tenths=$(python3 commits.py "$SOCKET")
	tries=$(grep -c EFBIG trace || true)
	echo "$tries tries in $tenths tenths of a second"
	[ "$tries" -le "$((2 * tenths + 4))" ]
}

@test "few descriptors: the server refuses to start, or serves as it says" {
	bloomdedup create -n 1000 filters/f.bloom
	needed=
	for limit in $(seq 8 64 | some 4) $(seq 65 200 | some 30); do
		if ! start_limited -n "$limit" >start.out 2>&1; then
			[ -z "$needed" ] || [ "$limit" -lt "$needed" ]
			grep -q "$limit open files are allowed (ulimit -n), and for one client and one filter serve needs [0-9]*" \
				server.err
			needed=$(sed -n 's/.*serve needs \([0-9]*\)$/\1/p' server.err)
			continue
		fi
		[ -z "$needed" ] || [ "$limit" -ge "$needed" ]
		python3 - "$SOCKET" "$limit" <<-'END'
			import socket, sys
			limit = int(sys.argv[2])
			def ask(request):
			    s = socket.socket(socket.AF_UNIX)
			    s.connect(sys.argv[1])
			    s.sendall(request)
			    return s
			one = ask(b"stats\r\n")
			stats = b""
			while b"END\r\n" not in stats:
			    stats += one.recv(10000)
			most = int(stats.split(b"max_connections ")[1].split()[0])
			assert 1 <= most < limit, most
			# a filter that is there, and one that is made
			for request in [b"add f|%d 0 0 1\r\nx\r\n" % limit,
			                b"add g%d 0 0 8\r\n1000|0.1\r\n" % limit]:
			    one.sendall(request)
			    answer = one.recv(100)
			    assert answer == b"STORED\r\n", answer
			others, answers = [], []
			for i in range(31):
			    others.append(ask(b"version\r\n"))
			    answers.append(others[-1].recv(100))
			served = sum(a.startswith(b"VERSION") for a in answers)
			assert served == min(most - 1, 31), (most, answers)
			for a in answers:
			    assert a.startswith((b"VERSION", b"ERROR Too many")), a
		END
		stop_server
	done
	[ -n "$needed" ]
}

@test "requests after MULTI, and halves of requests, have a bound together" {
	needs_memory_figures
	start_server --max-unread=1K
	add_filter f
	cat >waits.py <<-'END'
		import socket, sys
		def connect():
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    s.settimeout(60)  # it would wait for ever
		    return s
		value = b"x" * 1000000
		word = b"*3\r\n$6\r\nBF.ADD\r\n$1\r\nf\r\n$3000\r\n%s\r\n" % value[:3000]
		queues, halves = [], []
		refused = 0
		for _ in range(20):
		    s = connect()
		    queues.append(s)
		    s.sendall(b"*1\r\n$5\r\nMULTI\r\n")
		    assert s.recv(100) == b"+OK\r\n"
		    s.sendall(word * 2000)
		    answers = b""
		    while answers.count(b"\n") < 2000:
		        answers += s.recv(1 << 20)
		    assert answers.count(b"+QUEUED") + answers.count(b"-OOM ") == 2000
		    refused += b"-OOM" in answers
		assert 10 < refused < 20, refused
		for _ in range(60):
		    s = connect()
		    halves.append(s)
		    try:
		        s.sendall(b"set f| 0 0 1000000\r\n" + value[1:])
		        s.sendall(value[:1] + b"\r\n")
		        assert s.recv(100).startswith(b"CLIENT_ERROR out of memory")
		    except ConnectionError:
		        pass
		# short requests are served, and whole queues are carried out
		s = connect()
		s.sendall(b"get f|a\r\n")
		assert s.recv(100) == b"END\r\n"
		queues[0].sendall(b"*1\r\n$4\r\nEXEC\r\n")
		assert queues[0].recv(1000).startswith(b"*2000\r\n")
		queues[-1].sendall(b"*1\r\n$4\r\nEXEC\r\n")
		assert queues[-1].recv(1000).startswith(b"-EXECABORT")
		print("waits", flush=True)
		sys.stdin.read()
	END
	start_holder waits.py
	echo "$(memory) kB"
	# 32 megabytes, doubled by what a queue has grown by, and one's requests
	[ "$(memory)" -lt 90000 ]
	end_holder
	# it is all free again
	redis_answers '+OK +QUEUED *1 :1' MULTI "BF.ADD f $(head -c 100000 /dev/zero | tr '\0' y)" EXEC
}

@test "a stack of 64 KiB is enough for the server, also for Redis' protocol" {
	skip_if_sanitized
	skip_if_emulated 'a stack of its own'
	start_limited -s 64 --capacity=1000
	add_filter f
	answers 'STORED; VALUE f|a 0 1; 1; END' 'set f|a 0 0 1' 1 'get f|a'
	ask 'add grows 0 0 8' '100|1e-6' | grep -qx STORED
	for i in {1..3000}; do
		printf 'add grows|%d 0 0 1\r\n1\r\n' "$i"
	done | ask | grep -c STORED | grep -qx 3000
	ask stats | grep -q '^STAT curr_connections'
	redis_answers '+OK :1 -ERR item exists' 'BF.RESERVE r 0.001 100' \
		'BF.ADD r a' 'BF.RESERVE r 0.001 100'
	answers 'DELETED' 'delete f'
	kill -0 "$SERVER"
	stop_server
}
