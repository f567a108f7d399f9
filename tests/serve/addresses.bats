# serve: where it listens, and who may come in.
load ../common
load server

@test "a unix socket is the owner's alone, whatever the umask, or --socket-mode" {
	umask 0
	start_server
	[ "$(stat -c %a "$SOCKET")" = 600 ]
	stop_server
	start_server --socket-mode=660
	[ "$(stat -c %a "$SOCKET")" = 660 ]
}

@test "a stale unix socket is replaced, a live one and a file are not" {
	start_server
	fails 3 'in use' bloomdedup serve -d . -l "unix:$SOCKET"
	stop_server -KILL || true
	[ -S "$SOCKET" ]
	start_server
	answers ERROR hello
	stop_server
	echo precious >"$SOCKETS/file"
	fails 3 'in use' bloomdedup serve -d filters -l "unix:$SOCKETS/file"
	[ "$(cat "$SOCKETS/file")" = precious ]
}

@test "several addresses, and IPv6" {
	[ -e /proc/net/if_inet6 ] && grep -q lo /proc/net/if_inet6 ||
		skip "no IPv6"
	start_tcp -l '[::1]:0'
	grep -q ' on \[::1\]:[0-9]*$' server.err
	port=$(sed -n 's/.*\[::1\]:\([0-9]*\)$/\1/p' server.err)
	for address in "127.0.0.1:$PORT" "$SOCKET"; do
		echo hello | "$HELPER" ask "$address" >out
		[ "$(tr -d '\r' <out)" = ERROR ]
	done
	python3 -c 'import socket, sys
s = socket.create_connection(("::1", int(sys.argv[1])))
s.sendall(b"hello\r\n")
sys.exit(s.recv(100) != b"ERROR\r\n")' "$port"
}

@test "a socket that a service manager has opened: fd:N" {
	python3 - "$SOCKET" "$BLOOMDEDUP" <<'END' 2>server.err 3>&- &
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
os.dup2(s.fileno(), 7, inheritable=True)
os.execv(sys.argv[2], ["bloomdedup", "serve", "-d", "filters", "-l", "fd:7"])
END
	SERVER=$!
	until_true is_serving
	add_filter f
	answers DELETED 'delete f'
	stop_server
	# it is not ours to remove
	[ -S "$SOCKET" ]
	fails 2 'not a socket that listens' bloomdedup serve -d filters -l fd:0 \
		< <(:) || fails 3 fd:0 bloomdedup serve -d filters -l fd:0 </dev/null
}

@test "listening beyond loopback says that there is no password" {
	start_server -l 0.0.0.0:0
	grep -q 'on 0.0.0.0:[0-9]*: other machines can connect.*no password' \
		server.err
	[ "$(grep -c 'no password' server.err)" -eq 1 ]
}

@test "what is no address is refused, with the forms that there are" {
	for address in 12345 :12345 localhost localhost: localhost:x ::1:12345 \
		localhost:70000 unix: fd: fd:x; do
		fails 2 'HOST:PORT, [IPV6]:PORT, unix:PATH or fd:NUMBER' \
			bloomdedup serve -d filters -l "$address"
	done
	# as it was given
	fails 3 '--listen=[zz]:1: ' bloomdedup serve -d filters -l '[zz]:1'
	fails 3 'listen=unix:' bloomdedup serve -d filters \
		-l "unix:$(printf '%0200d' 0)"
	fails 3 'listen=unix:/nowhere/s' bloomdedup serve -d filters \
		-l unix:/nowhere/s
}

@test "serve needs a directory that is there" {
	fails 2 directory bloomdedup serve
	fails 3 nowhere bloomdedup serve -d nowhere
	touch file
	fails 3 file bloomdedup serve -d file
}

@test "one connection too many is told so" {
	start_server --max-connections=2
	for i in 4 5; do
		mkfifo in$i
		"$HELPER" ask "$SOCKET" <in$i >out$i 3>&- 4>&- &
		clients+=" $!"
	done
	exec 4>in4 5>in5
	echo hello >&4
	echo hello >&5
	both() { [ -s out4 ] && [ -s out5 ]; }
	until_true both
	answers 'ERROR Too many open connections' </dev/null version
	exec 4>&- 5>&-
	# shellcheck disable=SC2086
	wait $clients
	free() { ask version | grep -q '^VERSION'; }
	until_true free
}

@test "one connection too many is told so in the protocol that it speaks" {
	start_server --max-connections=1
	mkfifo in
	"$HELPER" ask "$SOCKET" <in >out 3>&- 4>&- &
	client=$!
	exec 4>in
	echo hello >&4
	until_true [ -s out ]
	redis_answers '-ERR max number of clients reached' PING
	answers 'ERROR Too many open connections' version
	# one that says nothing is closed, and doesn't take its place
	python3 - "$SOCKET" <<-'END'
		import socket, sys
		idle = []
		for i in range(20):
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    idle.append(s)
		for s in idle:
		    assert s.recv(100) == b""
	END
	redis_answers '-ERR max number of clients reached' 'BF.ADD f a'
	exec 4>&-
	wait "$client"
	free() { [ "$(redis PING)" = +PONG ]; }
	until_true free
	[ ! -e filters/f.bloom ]
}

@test "clients whose machine is gone are noticed: keepalive" {
	start_tcp
	mkfifo in
	"$HELPER" ask "127.0.0.1:$PORT" <in >out 3>&- 4>&- &
	client=$!
	exec 4>in
	echo hello >&4
	until_true [ -s out ]
	# the timer of the server's socket that is connected: 02 is keepalive
	[ -r /proc/net/tcp ] || skip "needs /proc/net/tcp"
	has_timer() {
		awk -v "port=:$(printf %04X "$PORT")" '$4 == "01" &&
			substr($2, length($2) - 4) == port && $6 ~ /^02:/' \
			/proc/net/tcp | grep -q .
	}
	until_true has_timer
	exec 4>&-
	wait "$client"
}

@test "an idle connection is closed, one that waits for its replies too" {
	start_server --idle-timeout=1
	mkfifo in
	"$HELPER" ask "$SOCKET" <in >out 3>&- 4>&- &
	client=$!
	exec 4>in
	echo hello >&4
	wait "$client"
	exec 4>&-
	[ "$(tr -d '\r' <out)" = ERROR ]
}

@test "a port is digits, not a number with an exponent or a unit" {
	for address in 127.0.0.1:1e4 127.0.0.1:12k localhost:1.0e3 \
		'127.0.0.1: 80' 127.0.0.1:+80 fd:1e1 fd:1k 127.0.0.1:65536; do
		fails 2 "--listen=$address" bloomdedup serve -d filters \
			-l "$address"
	done
	fails 2 "'1e-9'" bloomdedup serve -d filters --lease=1e-9
	fails 2 "'0.0009'" bloomdedup serve -d filters --lease=0.0009
}
