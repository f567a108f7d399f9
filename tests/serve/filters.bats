# serve: the filters of the directory, before, while and after it is served.
load ../common
load server

@test "filters survive the server, and its counters don't" {
	start_server
	add_filter f
	answers STORED 'set f 0 0 1' a
	stop_server
	start_server
	answers 'VALUE f|a 0 1; 1; END; NOT_STORED' 'get f|a' 'add f|a 0 0 1' x
	ask stats | grep -qx 'STAT get_hits 1'
}

@test "what serve made, every other command opens, and the other way round" {
	start_server
	add_filter f
	ask 'set f 0 0 1' a >/dev/null
	stop_server
	printf 'a\nb\n' | bloomdedup -f filters/f.bloom >out
	[ "$(cat out)" = b ]
	bloomdedup create -n 1000 filters/g.bloom
	start_server
	answers 'VALUE f|b 0 1; 1; END; STORED' 'get f|b' 'set g 0 0 1' x
}

@test "check and info read beside the server, which keeps others from writing" {
	start_server
	add_filter f
	ask 'set f 0 0 1' a >/dev/null
	[ "$(printf 'a\nb\n' | bloomdedup check -f filters/f.bloom)" = a ]
	bloomdedup info filters/f.bloom >out
	fails 75 f.bloom bloomdedup add -f filters/f.bloom --lock-timeout=0 \
		</dev/null
	fails 75 'another process serves this directory' \
		bloomdedup serve -d filters -l "unix:$SOCKETS/other"
}

@test "merge makes a backup beside the server, as the manual says" {
	start_server
	ask 'add urls 0 0 9' '1000|1e-6' | grep -qx STORED
	for i in {1..300}; do
		printf 'add urls|%d 0 0 1\r\n1\r\n' "$i"
	done | ask | grep -c STORED | grep -qx 300
	backup=$(sed -n 's/^bloomdedup merge --force.*urls.bloom$/&/p' \
		"$ROOT/man/bloomdedup-serve.1")
	backup=${backup/\/var\/lib\/bloomdedup/filters}
	for round in 1 2; do
		# shellcheck disable=SC2086 # words
		$backup >out
		seq 300 | bloomdedup check -f copy | cmp <(seq 300) -
		ask "add urls|again$round 0 0 1" 1 | grep -qx STORED
	done
	echo again1 | bloomdedup check -q -f copy
}

@test "a new file in the directory is served" {
	start_server
	answers 'CLIENT_ERROR no such filter' 'get f|a'
	bloomdedup create -n 1000 filters/f.bloom
	found() { [ "$(ask 'get f|a')" = END ]; }
	until_true found
	# files that are no filters by their name are none
	touch filters/x filters/.g.bloom filters/'h h.bloom' filters/.bloom
	sleep 1.1
	ask 'get x|a' >/dev/null
	ask 'stats blooms' | cut -d ' ' -f 2 >out
	[ "$(cat out)" = $'f\nEND' ]
}

@test "a filter that another run has is named, the others are served, and it is tried again" {
	bloomdedup create -n 1000 filters/f.bloom
	bloomdedup create -n 1000 filters/g.bloom
	mkfifo fifo
	"$BLOOMDEDUP" -f filters/f.bloom <fifo >/dev/null 3>&- &
	run=$!
	exec 4>fifo
	echo a >&4
	seen() { bloomdedup check -q -f filters/f.bloom <<<a; }
	until_true seen
	start_server
	grep -q 'f.bloom: in use by process' server.err
	ask 'get f|a' 'set f 0 0 1' a >out
	cat out
	[ "$(grep -c '^CLIENT_ERROR filters/f.bloom: ' out)" -eq 2 ]
	answers 'STORED; VALUE g|a 0 1; 1; END; END' 'set g 0 0 1' a \
		'get g|a f|a' 'get g|b'
	exec 4>&-
	wait "$run"
	free() { [ "$(ask 'get f|a')" = $'VALUE f|a 0 1\n1\nEND' ]; }
	until_true free
}

@test "the value that makes a filter has no NUL and what may follow it" {
	start_server
	printf 'add f 0 0 10\r\n1000|0.1\0x\r\nadd f 0 0 8\r\n1000|0.1\r\n' |
		ask >out
	head -n 1 out | grep -q '^CLIENT_ERROR '
	[ "$(tail -n 1 out)" = STORED ]
}

@test "a damaged file is refused by name, and is not touched" {
	head -c 20000 /dev/urandom >filters/f.bloom
	cp filters/f.bloom before
	start_server
	grep -q 'f.bloom: not a bloomdedup filter' server.err
	ask 'get f|a' 'set f 0 0 1' a | grep -c '^CLIENT_ERROR .*f.bloom: not a'
	ask 'add f 0 0 8' '1000|0.1' | grep -qx NOT_STORED
	# it is not ours to delete
	ask 'delete f' | grep -q '^CLIENT_ERROR '
	stop_server
	cmp before filters/f.bloom
}

@test "a symbolic link among the filters is refused" {
	bloomdedup create -n 1000 elsewhere.bloom
	ln -s ../elsewhere.bloom filters/f.bloom
	ln -s ../nowhere filters/g.bloom
	start_server
	for name in f g; do
		ask "get $name|a" "set $name 0 0 1" a >out
		cat out
		[ "$(grep -c "^CLIENT_ERROR filters/$name.bloom: a symbolic link" \
			out)" -eq 2 ]
		ask "add $name 0 0 8" '1000|0.1' | grep -qx NOT_STORED
	done
	[ ! -e nowhere ]
}

@test "a filter's key options apply to a subkey as to a line" {
	bloomdedup create -n 1000 -i --trim -k 2 -t , filters/f.bloom
	start_server
	answers 'STORED; VALUE f|9,KEY,0 0 1; 1; END; END' 'set f 0 0 7' \
		'x,key,y' 'get f|9,KEY,0' 'get f|key,9'
	stop_server
	[ "$(echo 'p,KeY,q' | bloomdedup check -f filters/f.bloom)" = 'p,KeY,q' ]
}

@test "a filter of URLs knows a subkey in another spelling" {
	bloomdedup create -n 1000 --url=form,scheme,www filters/f.bloom
	start_server
	answers 'STORED; NOT_STORED; END' 'add f|http://www.a/?b=%2C&a 0 0 1' x \
		'add f|HTTPS://A/?a=&b=, 0 0 1' x 'get f|http://a/?a=,&b'
	stop_server
	[ "$(echo 'http://a/?b=,&a' | bloomdedup check -f filters/f.bloom)" = \
		'http://a/?b=,&a' ]
}

@test "filters grow, ahead of need, and keep to their rate" {
	start_server
	add_filter f '1000|1e-3'
	seq 20000 | sed 's/.*/add f|& 0 0 1\r\nx\r/' | ask >out
	[ "$(grep -c '^STORED' out)" -ge 19900 ]
	seq 20000 | sed 's/.*/get f|&\r/' | ask >out
	[ "$(grep -c '^VALUE' out)" -eq 20000 ]
	seq 20001 40000 | sed 's/.*/get f|&\r/' | ask >out
	[ "$(grep -c '^VALUE' out || true)" -le 60 ]
	layers() { ask 'stats bloom f' | sed -n 's/^STAT layers //p'; }
	[ "$(layers)" -ge 4 ]
	stop_server
	[ "$(seq 20000 | bloomdedup check -f filters/f.bloom | wc -l)" -eq 20000 ]
}

@test "the next layer is there before the last one is full" {
	start_server
	add_filter f '10000|1e-3'
	seq 9500 | sed 's/.*/set f|& 0 0 1 noreply\r\nx\r/' | ask
	has_grown() {
		# what was made beside requests is taken over by one
		ask 'set f 0 0 1' 1 'stats bloom f' | grep -qx 'STAT layers 2'
	}
	until_true has_grown
	for _ in {1..10}; do ask 'set f 0 0 1' 1 >/dev/null; done
	has_grown
	stop_server
	[ "$(seq 9500 | bloomdedup check -f filters/f.bloom | wc -l)" -eq 9500 ]
}

@test "a filter that may not grow is full: those behind are told, others served" {
	bloomdedup create -n 1000 -p 1e-6 --on-full=fail filters/f.bloom
	start_server
	seq 1500 | sed 's/.*/add f|& 0 0 1\r\nx\r/' | ask >out
	[ "$(grep -c '^STORED' out)" -eq 1000 ]
	[ "$(grep -c '^CLIENT_ERROR .*f.bloom' out)" -eq 500 ]
	# in one write: what is known is answered, and what isn't
	answers 'VALUE f|1 0 1; 1; END; END; NOT_STORED' 'get f|1' 'get f|1400' \
		'add f|7 0 0 1' x
	ask 'set f 0 0 1' 5 'set f 0 0 3' new 'get f|new' 'get f|5' >out
	cat out
	[ "$(sed -n 1p out)" = STORED ]
	sed -n 2p out | grep -q '^CLIENT_ERROR '
	[ "$(tail -n 4 out)" = $'END\nVALUE f|5 0 1\n1\nEND' ]
}

@test "setmem stops growth, and lets it go on" {
	start_server
	add_filter f '100000|1e-6'
	ask 'setmem 1' | grep -qx STORED
	seq 150000 | sed 's/.*/add f|& 0 0 1\r\nx\r/' | ask >out
	[ "$(grep -c '^STORED' out)" -ge 99990 ]
	grep -q '^CLIENT_ERROR .*setmem' out
	ask 'setmem 100' | grep -qx STORED
	answers STORED 'set f 0 0 6' 149999
}

@test "delete needs a unix socket or --admin" {
	start_tcp
	add_filter f
	echo 'delete f' | "$HELPER" ask "127.0.0.1:$PORT" >out
	grep -q '^CLIENT_ERROR delete needs' out
	answers DELETED 'delete f'
	stop_server
	rm -f "$SOCKET"
	start_tcp --admin
	add_filter f
	echo 'delete f' | "$HELPER" ask "127.0.0.1:$PORT" >out
	grep -qx $'DELETED\r' out
}

@test "--no-admin: subkeys yes, filters no" {
	bloomdedup create -n 1000 filters/f.bloom
	start_server --no-admin
	answers 'STORED' 'set f 0 0 1' a
	ask 'add g 0 0 8' '1000|0.1' 'delete f' 'setmem 1' >out
	[ "$(grep -c '^CLIENT_ERROR .*--no-admin' out)" -eq 3 ]
}

@test "--read-only: nothing changes, and no lock is taken" {
	echo a | bloomdedup add -f filters/f.bloom -n 1000
	cp filters/f.bloom before
	start_server --read-only
	answers 'VALUE f|a 0 1; 1; END; END; STORED; NOT_STORED' 'get f|a' \
		'get f|b' 'replace f|a 0 0 1' x 'replace f|b 0 0 1' x
	ask 'set f 0 0 1' b 'add f|b 0 0 1' x 'add g 0 0 8' '1000|0.1' \
		'delete f' 'setmem 1' >out
	[ "$(grep -c '^CLIENT_ERROR .*read-only' out)" -eq 5 ]
	stop_server
	cmp before filters/f.bloom
}

@test "SIGTERM: what is there is answered, written, and the exit status is 0" {
	start_server
	add_filter f
	ask 'set f 0 0 1' a >/dev/null
	mkfifo in
	"$HELPER" ask "$SOCKET" <in >out 3>&- 4>&- &
	client=$!
	exec 4>in
	printf 'set f 0 0 1\r\nb\r\nset f 0 0 1\r\n' >&4
	answered() { [ "$(wc -l <out)" -eq 1 ]; }
	until_true answered
	stop_server -TERM
	exec 4>&-
	wait "$client"
	[ "$(tr -d '\r' <out)" = STORED ]
	[ ! -e "$SOCKET" ]
	[ "$(printf 'a\nb\n' | bloomdedup check -f filters/f.bloom)" = $'a\nb' ]
	no_leftovers
}

@test "SIGTERM: all that the sockets hold is answered" {
	start_tcp
	add_filter f '100000|1e-6'
	cat >held.py <<-'END'
		import os, signal, socket, sys
		pid, port = int(sys.argv[1]), int(sys.argv[2])
		s = socket.create_connection(("127.0.0.1", port))
		s.sendall(b"version\r\n")
		s.recv(100)
		os.kill(pid, signal.SIGSTOP)
		# as much as the sockets take
		request = b"set f|%06d 0 0 1\r\nx\r\n"
		text = b"".join(request % i for i in range(100000))
		s.setblocking(False)
		sent = 0
		try:
		    while sent < len(text):
		        sent += s.send(text[sent:])
		except BlockingIOError:
		    pass
		whole = sent // len(request % 0)
		assert sent > 200000, sent
		os.kill(pid, signal.SIGTERM)
		os.kill(pid, signal.SIGCONT)
		s.setblocking(True)
		s.settimeout(60)
		got = b""
		while True:
		    data = s.recv(65536)
		    if not data:
		        break
		    got += data
		assert got == b"STORED\r\n" * whole, (len(got) // 8, whole)
		print(whole)
	END
	python3 held.py "$SERVER" "$PORT" >out
	wait "$SERVER"
	SERVER=
	seq -f '%06.0f' 0 $(($(cat out) - 1)) >sent
	bloomdedup check -f filters/f.bloom sent | cmp - sent
}

@test "a subkey is the value of a named column, if there is one only" {
	mkdir -p filters
	printf 'id,name\n1,x\n' |
		bloomdedup add -f filters/one.bloom -n 100 --csv --header -k name
	printf 'id,name\n1,x\n' |
		bloomdedup add -f filters/two.bloom -n 100 --csv --header \
			-k id,name
	start_server
	answers 'VALUE one|x 0 1; 1; END; STORED' 'get one|x' 'add one|y 0 0 1' x
	ask 'get two|1,x' | grep -qF 'CLIENT_ERROR'
	ask 'add two|1,x 0 0 1' x | grep -qF 'several named columns'
}
