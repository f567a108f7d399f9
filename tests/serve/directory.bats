# serve: the directory is the truth, whatever happens to its files.
load ../common
load server

# all_values N: does the server have f|1 to f|N?
all_values() {
	[ "$(seq "$1" | sed 's/.*/get f|&/' | ask | grep -c '^VALUE')" -eq "$1" ]
}

@test "--read-only beside a run: growth is seen" {
	bloomdedup create -n 1000 filters/f.bloom
	start_server --read-only
	answers END 'get f|1'
	seq 5000 | bloomdedup add -f filters/f.bloom
	sees_all() { all_values 5000; }
	until_true sees_all
}

@test "--read-only beside a run: a window that moves on is seen" {
	bloomdedup create -n 2000 --window=2000 filters/f.bloom
	# one part of it: the others get places that the server doesn't know
	echo 20000 | bloomdedup add -f filters/f.bloom
	start_server --read-only
	answers 'VALUE f|20000 0 1; 1; END' 'get f|20000'
	seq 3000 -1 1 | bloomdedup add -f filters/f.bloom
	sees_all() { all_values 2000; }
	until_true sees_all
	answers END 'get f|20000'
}

@test "--read-only: a file that is replaced is seen" {
	echo a | bloomdedup add -f filters/f.bloom -n 1000
	echo b | bloomdedup add -f new.bloom -n 1000
	start_server --read-only
	answers 'VALUE f|a 0 1; 1; END' 'get f|a'
	mv new.bloom filters/f.bloom
	sees_new() { [ "$(ask 'get f|b')" = $'VALUE f|b 0 1\n1\nEND' ]; }
	until_true sees_new
	answers END 'get f|a'
}

@test "a file that is removed: no such filter, and the log says what is lost" {
	start_server
	add_filter f
	ask 'set f|a 0 0 1' x 'set f|b 0 0 1' x 'set f|c 0 0 1' x >/dev/null
	rm filters/f.bloom
	is_gone() {
		[ "$(ask 'set f|d 0 0 1' x)" = 'CLIENT_ERROR no such filter' ]
	}
	until_true is_gone
	cat server.err
	grep -qE 'filters/f.bloom: the file was replaced or removed; up to [3-9] lines' \
		server.err
	add_filter f
	answers 'END; STORED' 'get f|a' 'set f|a 0 0 1' x
	answers DELETED 'delete f'
}

@test "a file that is replaced under a writing server: lines go into the new one" {
	start_server
	add_filter f
	ask 'set f|a 0 0 1' x >/dev/null
	echo b | bloomdedup add -f new.bloom -n 1000
	mv new.bloom filters/f.bloom
	sees_new() { [ "$(ask 'get f|b')" = $'VALUE f|b 0 1\n1\nEND' ]; }
	until_true sees_new
	answers 'END; STORED' 'get f|a' 'set f|c 0 0 1' x
	# the new one is locked, too
	fails 75 f.bloom bloomdedup add -f filters/f.bloom --lock-timeout=0 \
		</dev/null
	stop_server
	[ "$(printf 'a\nb\nc\n' | bloomdedup check -f filters/f.bloom)" = $'b\nc' ]
}

@test "a server that was killed a moment ago doesn't keep the directory" {
	bloomdedup create -n 1000 filters/f.bloom
	# its locks go when its process does, which takes a moment
	cat >lock.py <<-'END'
		import fcntl, os, sys, time
		fds = [os.open(name, os.O_RDONLY) for name in sys.argv[1:]]
		for fd in fds:
		    fcntl.flock(fd, fcntl.LOCK_EX)
		print("locked", flush=True)
		sys.stdin.readline()
		for fd in fds:
		    fcntl.flock(fd, fcntl.LOCK_UN)
	END
	# has_directory_open: the server has it open, or has ended
	has_directory_open() {
		! kill -0 "$SERVER" 2>/dev/null ||
			find "/proc/$SERVER/fd" -lname "$PWD/filters" 2>/dev/null |
			grep -q .
	}
	starts() {
		local locker status=0
		rm -f in locked
		mkfifo in
		python3 lock.py filters filters/f.bloom <in >locked 3>&- &
		locker=$!
		exec 4>in
		until_true [ -s locked ]
		"$BLOOMDEDUP" serve -d filters -l "unix:$SOCKET" 2>server.err \
			3>&- 4>&- &
		SERVER=$!
		until_true has_directory_open
		exec 4>&-
		wait "$locker"
		until_true is_serving
		kill -0 "$SERVER" 2>/dev/null &&
			[ "$(ask 'set f|a 0 0 1' x)" = STORED ] ||
			status=1
		stop_server -KILL || true
		return "$status"
	}
	# one that waits a second may wait in vain on a machine that is busy
	until_true starts
}

@test "a backup that is copied over the file of a filter is used" {
	start_server
	add_filter f
	# one of this filter; and one of another, smaller, with another secret
	answers STORED 'set f|first 0 0 1' x
	cp filters/f.bloom same.bloom
	echo old | bloomdedup add -f other.bloom -n 100
	for backup in same other; do
		# it grows, so that it isn't the plan of the backup
		seq 20000 | sed 's/.*/set f|& 0 0 1\r\nx\r/' | ask |
			grep -c STORED | grep -qx 20000
		cat "$backup.bloom" >filters/f.bloom
		: >server.err
		is_noticed() {
			ask 'get f|first' >/dev/null
			grep -q 'filters/f.bloom: the file was overwritten or cut short; up to [0-9]* lines' \
				server.err
		}
		until_true is_noticed
		is_used() {
			[ "$(ask 'get f|first f|old f|7' | grep -c VALUE)" -eq 1 ]
		}
		until_true is_used
		answers STORED "add f|after-$backup 0 0 1" x
	done
	stop_server
	printf '%s\n' old after-other 7 first >lines
	[ "$(bloomdedup check -f filters/f.bloom lines)" = $'old\nafter-other' ]
}

@test "another filter of the same plan, copied over the file, isn't written to" {
	start_server
	add_filter f
	add_filter g
	answers 'STORED; STORED' 'set f|new 0 0 1' x 'set g|old 0 0 1' x
	cp filters/g.bloom backup.bloom
	cat backup.bloom >filters/f.bloom
	is_used() { [ "$(ask 'get f|old f|new' | grep VALUE)" = 'VALUE f|old 0 1' ]; }
	until_true is_used
	grep -q 'filters/f.bloom: the file was overwritten' server.err
	cmp backup.bloom filters/f.bloom
}

@test "delete removes the file that has the name now" {
	start_server
	add_filter f
	bloomdedup create -n 1000 new.bloom
	mv new.bloom filters/f.bloom
	answers 'DELETED; CLIENT_ERROR no such filter' 'delete f' 'get f|a'
	[ -z "$(ls filters)" ]
}

@test "a filter that failed is used again when its file was replaced" {
	start_server
	add_filter f
	truncate -s 12288 filters/f.bloom
	ask 'get f|a' | grep -q '^CLIENT_ERROR .*cut short'
	bloomdedup create -n 1000 new.bloom
	mv new.bloom filters/f.bloom
	works() { [ "$(ask 'get f|a')" = END ]; }
	until_true works
	answers STORED 'set f|a 0 0 1' x
}

@test "names without a filter: reported once, and a new file is found among them" {
	start_server
	for ((i = 0; i < 3000; i++)); do
		echo "get none$i|a"
	done | ask >out
	[ "$(grep -c 'CLIENT_ERROR no such filter' out)" -eq 3000 ]
	ask stats | grep -qx 'STAT refused 3000'
	cat server.err
	[ "$(grep -c 'no such filter: none0 ' server.err)" -eq 1 ]
	[ "$(grep -c 'no such filter' server.err)" -le 2 ]
	bloomdedup create -n 1000 filters/none2999.bloom
	found() { [ "$(ask 'get none2999|a')" = END ]; }
	until_true found
}

@test "what is refused is in stats, and in the log once" {
	bloomdedup create -n 100 --on-full=fail filters/f.bloom
	start_server
	seq 150 | sed 's/.*/add f|& 0 0 1\r\nx\r/' | ask >out
	refused=$(grep -c '^CLIENT_ERROR' out)
	[ "$refused" -eq 50 ]
	answers 'CLIENT_ERROR a key is FILTER|SUBKEY' 'get f'
	ask stats | grep -qx 'STAT refused 51'
	cat server.err
	# with the first one; the others a minute later
	[ "$(grep -c 'f.bloom: the filter.s capacity.*(requests: ' \
		server.err)" -eq 1 ]
	# with noreply, it is the only trace
	ask 'set f|x 0 0 1 noreply' x version >/dev/null
	ask stats | grep -qx 'STAT refused 52'
}

# start_with_few: a server with 120 descriptors, 50 of them for connections.
start_with_few() {
	start_limited -n 120 --max-connections=50
}

# add_many N: make the filters f0, f1, ... with the subkey a.
add_many() {
	for ((i = 0; i < $1; i++)); do
		printf 'add f%d 0 0 8\r\n1000|0.1\r\nset f%d|a 0 0 1\r\nx\r\n' \
			$i $i
	done | ask >out
	[ "$(grep -c '^STORED' out)" -eq $((2 * $1)) ]
}

@test "more filters than descriptors: connections come first, and all are served" {
	start_with_few
	add_many 300
	ask stats | grep -qx 'STAT curr_items 300'
	stop_server
	start_with_few
	ask stats | grep -qx 'STAT curr_items 300'
	cat >all.py <<-'END'
		import socket, sys
		open_ones = []
		for i in range(50):
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    open_ones.append(s)
		for i in range(300):
		    s = open_ones[i % 50]
		    s.sendall(b"get f%d|a\r\nadd f%d|b 0 0 1\r\nx\r\n" % (i, i))
		    want = b"VALUE f%d|a 0 1\r\n1\r\nEND\r\nSTORED\r\n" % i
		    got = b""
		    while len(got) < len(want):
		        got += s.recv(1000)
		    assert got == want, got
	END
	python3 all.py "$SOCKET"
	# what is closed is free for others
	bytes=$(cat filters/*.bloom | wc -c)
	ask stats | grep -qx "STAT bytes $bytes"
	stop_server
	for ((i = 0; i < 300; i += 50)); do
		[ "$(printf 'a\nb\n' |
			bloomdedup check -f filters/f$i.bloom)" = $'a\nb' ]
	done
}

@test "a filter that failed while it was in use has no descriptor any more" {
	[ -d /proc/self/fd ] || skip "no /proc"
	start_with_few
	add_many 200
	for ((i = 0; i < 200; i += 20)); do
		for ((j = i; j < i + 20; j++)); do echo "get f$j|a"; done >gets
		ask <gets | grep -c '^VALUE' | grep -qx 20
		truncate -s 12288 $(seq -f filters/f%g.bloom $i $((i + 19)))
		ask <gets | grep -c '^CLIENT_ERROR .*cut short' | grep -qx 20
	done
	echo 'not a filter' >filters/g.bloom
	ask 'get g|a' | grep -q '^CLIENT_ERROR .*g.bloom: '
	[ "$(find "/proc/$SERVER/fd" -lname '*.bloom*' | wc -l)" -eq 0 ]
	# it is tried again, and refused
	sleep 1.1
	ask 'get f7|a' | grep -q '^CLIENT_ERROR filters/f7.bloom: '
	# it is not ours to delete
	ask 'delete f8' | grep -q '^CLIENT_ERROR filters/f8.bloom: '
	[ -e filters/f8.bloom ]
	bloomdedup create -n 1000 filters/new.bloom
	mv filters/new.bloom filters/f7.bloom
	is_new() { ask 'get f7|a' | grep -qx END; }
	until_true is_new
}

@test "fewer descriptors than connections are wanted: it says so" {
	start_limited -n 100
	cat server.err
	grep -q 'max-connections' server.err
	connections=$(ask stats | sed -n 's/^STAT max_connections //p')
	[ "$connections" -lt 100 ]
	add_filter f
}

@test "the memory limit holds, with layers that are being made" {
	start_server -m 100K
	add_filter f '1000|1e-6'
	seq 50000 | sed 's/.*/set f|& 0 0 1\r\nx\r/' | ask >out
	grep -q '^CLIENT_ERROR .*setmem' out
	[ "$(stat -c %s filters/f.bloom)" -le 102400 ]
	[ "$(stat -c %s filters/f.bloom)" -gt 20000 ]
	stop_server
	rm filters/f.bloom
	start_server -m 1M
	# together they have room for half of the layers they want
	for ((i = 0; i < 15; i++)); do add_filter f$i '10000|1e-6'; done
	for ((i = 0; i < 15; i++)); do
		seq 9800 | sed "s/.*/set f$i|& 0 0 1 noreply\\r\\nx\\r/"
	done | ask
	ask stats | grep '^STAT bytes'
	stop_server
	[ "$(cat filters/*.bloom | wc -c)" -le 1048576 ]
	[ "$(cat filters/*.bloom | wc -c)" -gt 700000 ]
}

@test "a window moves on within the memory that it was made for" {
	start_server -m "$(told -n 40000 -p 1e-6 --window=40000)"
	add_filter lines '40000|1e-6|40000'
	seq 200000 | sed 's/.*/add lines|& 0 0 1\r\nx\r/' | ask >out
	[ "$(grep -c '^STORED' out)" -ge 199990 ]
	run ! grep -q CLIENT_ERROR out
}

@test "many full filters don't slow down the others" {
	! is_sanitized || skip "the sanitizer takes more time"
	[ -z "${UNDER_VALGRIND-}" ] || skip "valgrind takes more time"
	start_server
	awk 'BEGIN {
		for (i = 0; i < 1000; i++)
			printf "add f%d 0 0 6\r\n10|0.1\r\n", i
	}' | ask >out
	[ "$(grep -c STORED out)" -eq 1000 ]
	ask 'setmem 1' >/dev/null
	awk 'BEGIN {
		for (i = 0; i < 1000; i++)
			for (j = 1; j <= 12; j++)
				printf "set f%d|%d 0 0 1 noreply\r\nx\r\n", i, j
	}' | ask
	used() { ask stats | sed -n 's/^STAT rusage_user \([0-9]*\)\..*/\1/p'; }
	before=$(used)
	# each in a turn of its own: a server that looked at all of the full
	# ones took tens of milliseconds for each
	for _ in {1..20}; do
		for _ in {1..20}; do echo 'get f7|1'; echo version; done | ask \
			>out
	done
	[ $(($(used) - before)) -le 5 ]
}
