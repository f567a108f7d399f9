# serve in Redis' protocol: what RedisBloom's commands, and those around them,
# are answered with. The replies were compared with RedisBloom 2.8.2's; texts
# of errors differ.
load ../common
load server

@test "BF.ADD and BF.EXISTS: 1 once, then 0; found from then on" {
	start_server
	redis_answers ':1 :0 :1 :0' 'BF.ADD f a' 'bf.add f a' 'BF.EXISTS f a' \
		'bf.Exists f b'
	redis_answers ":0 :1 :1 :0" "BF.EXISTS f ''" "BF.ADD f ''" \
		"BF.EXISTS f ''" 'BF.EXISTS nowhere a'
}

@test "BF.MADD, BF.MEXISTS and BF.INSERT: an array, also with repeats" {
	start_server
	redis_answers '*4 :1 :1 :0 :1' 'BF.MADD f a b a c'
	redis_answers '*3 :1 :0 :1' 'BF.MEXISTS f c d a'
	redis_answers '*2 :0 :1 *1 :1' 'BF.INSERT f ITEMS a d' \
		'BF.INSERT g CAPACITY 50 ERROR 0.1 EXPANSION 4 items items'
	redis_answers '*2 :0 :0' 'BF.MEXISTS nowhere a b'
}

@test "version 3 of the protocol: booleans, maps and null" {
	start_server
	redis 'HELLO 3' 'BF.ADD f a' 'BF.MADD f a b' 'BF.EXISTS f a' \
		'BF.RESERVE g 0.1 100 NONSCALING' 'BF.INFO g EXPANSION' \
		'BF.INFO f ITEMS' 'CLIENT GETNAME' >out
	cat out
	[ "$(head -n 1 out)" = %7 ]
	[ "$(tail -n +27 out | paste -sd ' ')" = '#t *2 #f #t #t +OK %1 +Expansion rate _ %1 +Number of items inserted :2 _' ]
	# and back
	redis 'HELLO 3' 'HELLO 2' 'BF.ADD f a' >out
	[ "$(tail -n 1 out)" = :0 ]
}

@test "BF.RESERVE makes a filter that the command line reads" {
	start_server
	redis_answers '+OK -ERR item exists' 'BF.RESERVE f 0.001 1000' \
		'BF.RESERVE f 0.001 1000'
	redis_answers '*2 :1 :1 :2' 'BF.MADD f a b' 'BF.CARD f'
	stop_server
	[ "$(printf '%s\n' a b c | bloomdedup check -f filters/f.bloom)" = \
		$'a\nb' ]
	bloomdedup info --json filters/f.bloom | grep -q '"error_rate": 0.001'
}

@test "BF.RESERVE: EXPANSION is reported, NONSCALING filters are full" {
	start_server
	redis_answers '+OK *1 :4' 'BF.RESERVE f 0.1 10 EXPANSION 4' \
		'BF.INFO f EXPANSION'
	redis_answers '+OK *1 $-1' 'BF.RESERVE g 0.1 2 NONSCALING' \
		'BF.INFO g EXPANSION'
	redis_answers '*2 :1 :1 -ERR non scaling filter is full :0' \
		'BF.MADD g a b' 'BF.ADD g c' 'BF.ADD g a'
	# an array ends at the first error
	redis_answers '*2 :0 -ERR non scaling filter is full :1' \
		'BF.MADD g a c b' 'BF.EXISTS g a'
	redis_answers '*1 -ERR non scaling filter is full *2 :0 :0 :2' \
		'BF.INSERT g ITEMS c a' 'BF.MEXISTS g c d' 'BF.CARD g'
}

@test "an item that fails: byte for byte as RedisBloom" {
	start_redisbloom
	start_server
	for version in 2 3; do
		filter=f$version
		redis_requests "HELLO $version" "BF.RESERVE $filter .01 2 NONSCALING" \
			"BF.MADD $filter a b" "BF.MADD $filter new a b" \
			"BF.MADD $filter a new b" "BF.MADD $filter a b new" \
			"BF.MADD $filter a b" "BF.INSERT $filter ITEMS new a b" \
			"BF.INSERT $filter ITEMS a new b new" "BF.ADD $filter new" \
			"BF.INSERT $filter.1 CAPACITY 2 NONSCALING ITEMS a b c a d" \
			"BF.MEXISTS $filter.1 a c d b" "BF.MADD $filter.1 c" \
			"BF.CARD $filter.1" "PING" >requests
		"$HELPER" ask "$REDIS_SOCKET" <requests >theirs
		"$HELPER" ask "$SOCKET" <requests >ours
		# but for what HELLO says
		sed -n '/+OK/,$p' theirs >theirs.rest
		sed -n '/+OK/,$p' ours | cmp - theirs.rest
		grep -q PONG theirs.rest
	done
}

@test "an item that fails: the replies to the requests after it are theirs" {
	start_server
	# as go-redis reads it: each reply is one of a request of the pipeline
	redis_answers '+OK *2 :1 :1 *1 -ERR non scaling filter is full :1 :1 :0' \
		'BF.RESERVE t2 .01 2 NONSCALING' 'BF.MADD t2 a b' \
		'BF.MADD t2 new a b' 'BF.ADD urls k1' 'BF.ADD urls k2' \
		'BF.ADD urls k1'
	redis_answers '+OK +QUEUED +QUEUED *2 *1 -ERR non scaling filter is full :1' \
		MULTI 'BF.MADD t2 new a b' 'BF.ADD urls k3' EXEC
}

@test "an item that fails in an array of many sweeps ends it" {
	start_server
	redis_answers '+OK' 'BF.RESERVE t .01 5000 NONSCALING'
	# 20,000 items are more than a sweep or a buffer has
	{
		printf '*20002\r\n$7\r\nBF.MADD\r\n$1\r\nt\r\n'
		seq -f '$20
%020.0f' 20000 | sed 's/$/\r/'
	} | ask >out
	redis_answers ':1' 'BF.ADD other a'
	lines=$(wc -l <out)
	[ "$(head -n 1 out)" = "*$((lines - 1))" ]
	[ "$(tail -n 1 out)" = '-ERR non scaling filter is full' ]
	[ "$(grep -c '^-' out)" -eq 1 ]
	[ "$lines" -gt 5000 ]
	redis_answers ':5000' 'BF.CARD t'
}

@test "BF.RESERVE: a window" {
	skip_if_valgrind_ends
	start_server
	redis_answers '+OK +OK :1 *1 :1000' 'BF.RESERVE days 1e-6 1000 WINDOW 30d' \
		'BF.RESERVE lines 1e-6 4000 EXPANSION 2 window 4000' \
		'BF.ADD days a' 'BF.INFO days CAPACITY'
	for window in x 30 5000 ''; do
		redis "BF.RESERVE other 1e-6 4000 WINDOW $window" |
			grep -q '^-ERR bad window' || return 1
	done
	bloomdedup info filters/days.bloom | grep -qE 'window +30d$'
	bloomdedup info filters/lines.bloom | grep -qE 'window +4000 new lines$'
}

@test "what BF.RESERVE and BF.INSERT refuse" {
	start_server
	for rate in x 0 1 1e999 0.9 1e-13; do
		redis "BF.RESERVE f $rate 100" \
			"BF.INSERT f ERROR $rate ITEMS a" >out
		[ "$(grep -c '^-ERR bad error rate' out)" -eq 2 ]
	done
	for number in x 0 -1 1e3 1000000000000000000; do
		redis_answers '-ERR bad capacity -ERR bad capacity -ERR bad expansion' \
			"BF.RESERVE f 0.1 $number" \
			"BF.INSERT f CAPACITY $number ITEMS a" \
			"BF.RESERVE f 0.1 100 EXPANSION $number"
	done
	redis_answers '-ERR bad expansion -ERR bad expansion' \
		'BF.RESERVE f 0.1 100 EXPANSION' 'BF.INSERT f EXPANSION ITEMS a'
	redis_answers "-ERR unknown argument 'JUNK' -ERR unknown argument 'JUNK'" \
		'BF.RESERVE f 0.1 100 JUNK' 'BF.INSERT f JUNK ITEMS a'
	redis_answers "-ERR wrong number of arguments for 'bf.insert' command -ERR not found" \
		'BF.INSERT f NOCREATE ITEMS' 'BF.INSERT f NOCREATE ITEMS a'
	redis_answers "-ERR wrong number of arguments for 'bf.add' command" \
		'BF.ADD f'
	redis_answers '-ERR bad capacity' 'BF.RESERVE f 0.1 900000000000000000'
	[ -z "$(ls filters)" ]
}

@test "BF.INFO and BF.CARD" {
	start_server
	redis_answers '+OK *3 :1 :1 :1' 'BF.RESERVE f 0.01 1000' 'BF.MADD f a b c'
	size=$(stat -c %s filters/f.bloom)
	redis_answers "*10 +Capacity :1000 +Size :$size +Number of filters :1 +Number of items inserted :3 +Expansion rate :2" \
		'BF.INFO f'
	redis_answers "*1 :1000 *1 :$size *1 :1 *1 :3 *1 :2" 'BF.INFO f CAPACITY' \
		'BF.INFO f size' 'BF.INFO f FILTERS' 'BF.INFO f ITEMS' \
		'BF.INFO f EXPANSION'
	redis_answers '-Invalid information value -ERR not found :3 :0' \
		'BF.INFO f x' 'BF.INFO g' 'BF.CARD f' 'BF.CARD g'
}

@test "a filter that BF.ADD makes is for -n lines at rate -p" {
	start_server -n 5000 -p 0.25
	redis_answers ':1 *1 :1' 'BF.ADD f a' 'BF.MADD g a'
	redis_answers '*1 :5000' 'BF.INFO f CAPACITY'
	redis_answers '*1 :1 *1 :70' 'BF.INSERT h CAPACITY 70 ITEMS a' \
		'BF.INFO h CAPACITY'
	bloomdedup info --json filters/f.bloom | grep -q '"error_rate": 0.25'
}

@test "where making filters isn't allowed, BF.ADD says not found" {
	start_server --no-admin
	redis_answers '-ERR not found -ERR not found -ERR not found' 'BF.ADD f a' \
		'BF.MADD f a' 'BF.INSERT f ITEMS a'
	redis_answers '-NOPERM not allowed (--no-admin) :0' \
		'BF.RESERVE f 0.1 100' 'BF.EXISTS f a'
	[ -z "$(ls filters)" ]
}

@test "a server that is read-only answers, and changes nothing" {
	bloomdedup add -f filters/f.bloom <(echo a)
	start_server --read-only
	redis_answers ':1 :0 :1' 'BF.EXISTS f a' 'BF.EXISTS f b' 'BF.CARD f'
	for request in 'BF.ADD f b' 'BF.MADD f b' 'BF.INSERT f ITEMS b' \
		'BF.RESERVE g 0.1 100' 'DEL f'; do
		redis "$request" | grep -q '^-NOPERM this server is read-only' ||
			return 1
	done
	redis_answers ':0' 'BF.EXISTS f b'
}

@test "keys: DEL, UNLINK, EXISTS, TYPE and SCAN" {
	start_server
	redis_answers ':1 :1 :1' 'BF.ADD a:1 x' 'BF.ADD a:2 x' 'BF.ADD b x'
	redis_answers ':3 +MBbloom-- +none' 'EXISTS a:1 b nowhere b' 'TYPE b' \
		'TYPE nowhere'
	redis_answers '*2 $1 0 *3 $3 a:1 $3 a:2 $1 b' 'SCAN 0'
	redis_answers '*2 $1 0 *2 $3 a:1 $3 a:2' 'SCAN 0 MATCH a:* COUNT 1'
	redis_answers '*2 $1 0 *1 $3 a:2' 'SCAN 0 MATCH *[^13-9b]'
	redis_answers '*2 $1 0 *1 $1 b *2 $1 0 *0' \
		'SCAN 0 MATCH ? TYPE mbbloom--' 'SCAN 0 TYPE string'
	redis_answers ':2 :1 :0' 'DEL a:1 nowhere a:2' 'UNLINK b' 'DEL b'
	[ -z "$(ls filters)" ]
}

@test "a pattern takes no time that grows with its stars" {
	start_server
	name=$(printf 'a%.0s' {1..60})
	redis_answers ':1' "BF.ADD $name x"
	redis_answers '*2 $1 0 *0' "SCAN 0 MATCH $(printf 'a*%.0s' {1..90})b"
}

@test "DEL through TCP needs --admin" {
	start_tcp
	redis_answers ':1' 'BF.ADD f x'
	printf '*2\r\n$3\r\nDEL\r\n$1\r\nf\r\n' |
		"$HELPER" ask "127.0.0.1:$PORT" >out
	grep -q '^-NOPERM delete needs a unix socket' out
	redis_answers ':1 :1' 'EXISTS f' 'DEL f'
}

@test "names may have what Redis' keys have, but lead nowhere else" {
	start_server
	redis_answers ':1' 'BF.ADD app:{user}:1,2@x#y=+% a'
	[ "$(ls filters)" = 'app:{user}:1,2@x#y=+%.bloom' ]
	redis_answers ':1' 'BF.EXISTS app:{user}:1,2@x#y=+% a'
	for name in ../f .f a/b 'a|b' 'é' "''" 'a*' "$(printf '%065d' 0)"; do
		redis "BF.ADD $name x" |
			grep -q "^-ERR a filter's name has" || return 1
		redis_answers ':0 :0 -ERR not found' "BF.EXISTS $name x" \
			"EXISTS $name" "BF.INFO $name"
	done
	# for memcached's clients, too
	answers 'VALUE app:{user}:1,2@x#y=+%|a 0 1; 1; END' \
		'get app:{user}:1,2@x#y=+%|a'
}

@test "both protocols, one filter" {
	start_server
	add_filter f
	answers STORED 'add f|a 0 0 1' x
	redis_answers ':0 :1' 'BF.ADD f a' 'BF.ADD f b'
	answers 'NOT_STORED; VALUE f|b 0 1; 1; END' 'add f|b 0 0 1' x 'get f|b'
}

@test "MULTI queues, EXEC carries out, DISCARD forgets" {
	start_server
	redis_answers '+OK +QUEUED +QUEUED +QUEUED *3 :1 *2 :0 :1 -ERR not found' \
		MULTI 'BF.ADD f a' 'BF.MADD f a b' 'BF.INFO g' EXEC
	redis_answers '+OK +QUEUED +OK :0' MULTI 'BF.ADD f c' DISCARD \
		'BF.EXISTS f c'
	redis_answers '-ERR EXEC without MULTI -ERR DISCARD without MULTI' EXEC \
		DISCARD
	redis_answers '+OK -ERR MULTI calls can not be nested *0' MULTI MULTI EXEC
	redis_answers "+OK +QUEUED -ERR unknown command 'GET' -EXECABORT Transaction discarded because of previous errors. :0" \
		MULTI 'BF.ADD f c' 'GET x' EXEC 'BF.EXISTS f c'
	# a connection that ends before EXEC
	redis_answers '+OK +QUEUED' MULTI 'BF.ADD f c'
	redis_answers ':0' 'BF.EXISTS f c'
}

@test "what is queued is bounded, and the connection goes on" {
	start_server --max-value=1000
	item=$(printf '%0900d' 0)
	requests=()
	for i in {1..20}; do
		requests+=("BF.ADD f $i$item")
	done
	redis MULTI "${requests[@]}" EXEC PING >out
	[ "$(sed -n '9,10p' out | paste -sd ' ')" = '+QUEUED -ERR the requests after MULTI are too long together (--max-value)' ]
	[ "$(grep -c '^+QUEUED$' out)" -eq 19 ]
	[ "$(tail -n 2 out | paste -sd ' ')" = '-EXECABORT Transaction discarded because of previous errors. +PONG' ]
}

@test "thousands of requests in one EXEC, thousands of items in one BF.MADD" {
	start_server
	seq 10000 | sed 's/.*/BF.ADD f &/' >requests
	mapfile -t requests <requests
	redis MULTI "${requests[@]}" EXEC >out
	[ "$(grep -c '^+QUEUED$' out)" -eq 10000 ]
	[ "$(sed '1,/^\*10000$/d' out | sort | uniq -c | sed 's/^ *//')" = \
		'10000 :1' ]
	redis "BF.MADD f $(seq 20000 | paste -sd ' ')" >out
	[ "$(head -n 1 out)" = '*20000' ]
	[ "$(grep -c '^:0$' out) $(grep -c '^:1$' out)" = '10000 10000' ]
}

@test "an array that is longer than what may be unread" {
	start_server --max-unread=1K
	redis_answers +OK 'BF.RESERVE f 1e-9 2000'
	redis "BF.MADD f $(seq 20000 | paste -sd ' ')" PING \
		"BF.MADD f $(seq 20000 | paste -sd ' ')" PING >out
	printf '%s\n' '*20000' "$(yes :1 | head -n 20000)" +PONG '*20000' \
		"$(yes :0 | head -n 20000)" +PONG | cmp - out
	redis_answers ':20000' 'BF.CARD f'
}

@test "what clients send when they connect" {
	start_server
	redis_answers '+PONG $1 x $1 x +OK +OK' PING 'PING x' 'ECHO x' 'SELECT 0' \
		'CLIENT SETINFO LIB-NAME redis-py'
	redis_answers '$-1 +OK $1 x' 'CLIENT GETNAME' 'CLIENT SETNAME x' \
		'CLIENT GETNAME'
	redis_answers "-ERR unknown subcommand 'MAINT_NOTIFICATIONS'" \
		'CLIENT MAINT_NOTIFICATIONS ON'
	redis_answers '-ERR DB index is out of range' 'SELECT 1'
	redis_answers '-ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?' \
		'AUTH x'
	redis 'HELLO 3 AUTH default x SETNAME me' 'CLIENT GETNAME' >out
	[ "$(sed -n '1p;$p' out | paste -sd ' ')" = '%7 me' ]
	redis_answers '-NOPROTO unsupported protocol version -WRONGPASS invalid username-password pair or user is disabled.' \
		'HELLO 4' 'HELLO 3 AUTH me x'
	redis INFO | grep -q '^loading:0$'
	redis_answers '*0 *0' COMMAND 'COMMAND DOCS'
	redis_answers '+OK' QUIT PING
}

@test "the rest is unknown, or refused with the reason" {
	start_server
	redis_answers "-ERR unknown command 'SET' -ERR unknown command 'FLUSHALL' +PONG" \
		'SET a 1' FLUSHALL PING
	redis 'BF.SCANDUMP f 0' 'BF.LOADCHUNK f 1 x' >out
	[ "$(grep -c '^-ERR not supported: the filter is the file' out)" -eq 2 ]
}

@test "what is no request is an error, and closes the connection" {
	start_server
	for bytes in 'PING\r\n' '*x\r\n' '*2000000\r\n' '*1\r\n*1\r\n' \
		'*1\r\n$-1\r\n' '*1\r\n$4\r\nPINGxx' \
		'*1\r\n$9999999999\r\n'; do
		printf '*1\r\n$4\r\nPING\r\n'"$bytes"'*1\r\n$4\r\nPING\r\n' |
			ask >out
		[ "$(sed -n 1p out)" = +PONG ]
		sed -n 2p out | grep -q '^-ERR Protocol error: '
		[ "$(wc -l <out)" -eq 2 ]
	done
	# no words, no reply, and none to an empty line
	printf '*0\r\n\r\n*-1\r\n*1\r\n$4\r\nPING\r\n' | ask >out
	[ "$(cat out)" = +PONG ]
}

@test "COMMAND" {
	start_server
	redis 'COMMAND COUNT' 'COMMAND LIST' >out
	count=$(sed -n '1s/^://p' out)
	[ "$count" -gt 20 ]
	[ "$(sed -n 2p out)" = "*$count" ]
	[ "$(grep -c '^\$' out)" -eq "$count" ]
	grep -qx bf.madd out
	run ! grep -qx setnx out
	redis_answers "*0 *0 *0 -ERR unknown subcommand 'X'" \
		COMMAND 'COMMAND DOCS bf.add' 'COMMAND INFO bf.add' 'COMMAND X'
}

@test "filters in trouble, and missing ones, are reported over Redis, too" {
	printf 'not a filter\n' >filters/broken.bloom
	start_server
	: >server.err
	for request in 'BF.EXISTS nowhere a' 'BF.MEXISTS nowhere a' \
		'BF.CARD nowhere' 'BF.INFO nowhere' \
		'BF.INSERT nowhere NOCREATE ITEMS a'; do
		redis "$request" >/dev/null
	done
	for request in 'BF.ADD broken a' 'BF.EXISTS broken a' 'BF.CARD broken'; do
		redis "$request" | grep -q '^-ERR filters/broken.bloom: not' ||
			return 1
	done
	cat server.err
	# once a minute
	[ "$(grep -c 'filters: no such filter: nowhere (requests: 1)' server.err)" -eq 1 ]
	[ "$(grep -c 'filters/broken.bloom: not a bloomdedup filter.* (requests: 1)' server.err)" -eq 1 ]
	[ "$(wc -l <server.err)" -eq 2 ]
}

@test "what is too long is refused, and the next request is answered" {
	start_server --max-value=1000
	item=$(printf '%01001d' 0)
	redis_answers '*2 :1 -ERR an item is too long +PONG' \
		"BF.MADD f a $item b" PING
	redis_answers ':0 -ERR an item is too long +PONG' 'BF.EXISTS f b' \
		"BF.ADD f $item" PING
	redis_answers '-ERR an argument is too long +PONG' "BF.ADD $item a" PING
	redis_answers "-ERR unknown command '' +PONG" \
		"''" PING
}

@test "one filter's trouble is an error of that request alone" {
	printf 'not a filter\n' >filters/broken.bloom
	start_server
	redis_answers ':1' 'BF.ADD f a'
	for request in 'BF.ADD broken a' 'BF.MADD broken a b' \
		'BF.EXISTS broken a' 'BF.MEXISTS broken a' 'BF.INFO broken' \
		'BF.CARD broken' 'BF.INSERT broken ITEMS a'; do
		redis "$request" 'BF.EXISTS f a' >out
		[ "$(wc -l <out)" -eq 2 ]
		sed -n 1p out | grep -q '^-ERR filters/broken.bloom: '
		[ "$(sed -n 2p out)" = :1 ]
	done
}

@test "a file that is new in the directory is added to, not replaced" {
	start_server
	bloomdedup add -f filters/f.bloom <(echo a)
	redis_answers ':0 :1 -ERR item exists' 'BF.ADD f a' 'BF.ADD f b' \
		'BF.RESERVE f 0.1 100'
}

@test "a filter beyond the memory limit is refused" {
	start_server -m 1M
	redis 'BF.RESERVE f 1e-6 1e9' 'BF.RESERVE f 1e-6 100000000' \
		'BF.EXISTS f a' >out
	sed -n 2p out | grep -q '^-ERR .* over the memory limit'
	[ "$(sed -n '1p;3p' out | paste -sd ' ')" = '-ERR bad capacity :0' ]
}

@test "three hundred clients that don't end their requests" {
	needs_memory_figures
	start_server --max-value=10K
	redis_answers ':1' 'BF.ADD f a'
	cat >half.py <<-'END'
		import socket, sys
		def resp(*words):
		    return b"*%d\r\n" % len(words) + b"".join(
		        b"$%d\r\n%s\r\n" % (len(word), word) for word in words)
		texts = [
		    b"*3\r\n$6\r\nBF.ADD\r\n$1\r\nf\r\n$9000\r\n" + bytes(8000),
		    b"*1000000\r\n$7\r\nBF.MADD\r\n$1\r\nf\r\n" +
		    b"$3\r\nabc\r\n" * 5000,
		    resp(b"MULTI") + resp(b"BF.ADD", b"f", bytes(8000)) * 200,
		]
		open_ones = []
		for i in range(300):
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    s.sendall(texts[i % 3])
		    open_ones.append(s)
		for s in open_ones[2::3]:
		    s.recv(1)
		print("open", flush=True)
		sys.stdin.read()
	END
	start_holder half.py
	redis_answers ':0' 'BF.ADD f a'
	used=$(memory)
	echo "$used kB"
	# a hundred queues of eight values, and what grows by doubling
	[ "$used" -lt 40000 ]
	end_holder
}

@test "clients that read no replies are not read from" {
	needs_memory_figures
	start_server --max-unread=100K
	redis_answers ':1' 'BF.ADD f a'
	cat >deaf.py <<-'END'
		import socket, sys, time
		begin, request = [
		    (b"", b"*1\r\n$4\r\nPING\r\n"),
		    (b"*1048576\r\n$7\r\nBF.MADD\r\n$1\r\nf\r\n", b"$1\r\na\r\n"),
		    (b"*1\r\n$5\r\nMULTI\r\n", b"*1\r\n$4\r\nINFO\r\n" * 1000 +
		     b"*1\r\n$4\r\nEXEC\r\n*1\r\n$5\r\nMULTI\r\n"),
		][int(sys.argv[2])]
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		s.sendall(begin)
		s.setblocking(False)
		sent, quiet, some = 0, 0, request * (70000 // len(request))
		while quiet < 20 and sent < 1 << 30:
		    try:
		        n = s.send(some)
		        some = some[n:] + some[:n]
		        sent += n
		        quiet = 0
		    except BlockingIOError:
		        quiet += 1
		        time.sleep(0.05)
		print(sent, flush=True)
		sys.stdin.read()
	END
	for kind in 0 1 2; do
		start_holder deaf.py $kind
		echo "kind $kind: $(cat held) bytes"
		[ "$(cat held)" -lt 10000000 ]
		redis_answers ':0' 'BF.ADD f a'
		[ "$(memory)" -lt 20000 ]
		end_holder
	done
}

@test "a filter is deleted beside another client's request for it" {
	start_server
	cat >beside.py <<-'END'
		import os, signal, socket, sys
		def client():
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    return s
		def send(s, *words):
		    s.sendall(b"*%d\r\n" % len(words) + b"".join(
		        b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
		server = int(sys.argv[2])
		one, two = client(), client()
		for i in range(20):
		    send(one, b"BF.ADD", b"f", b"p")
		    assert one.recv(100) == b":1\r\n"
		    os.kill(server, signal.SIGSTOP)
		    send(one, b"BF.ADD", b"f", b"q")
		    send(two, b"DEL", b"f")
		    os.kill(server, signal.SIGCONT)
		    assert one.recv(100) == b":1\r\n"
		    assert two.recv(100) == b":1\r\n"
		    send(two, b"DEL", b"f")
		    assert two.recv(100) in (b":0\r\n", b":1\r\n")
	END
	python3 beside.py "$SOCKET" "$SERVER"
	redis_answers ':1' 'BF.ADD f a'
	redis_answers '*1 :1' 'BF.INSERT ITEMS ITEMS a'
}

@test "lines that are marked at the memory limit are counted after a kill" {
	bloomdedup create -n 1000 filters/f.bloom
	seq 300 | bloomdedup add -f filters/f.bloom
	start_server -m "$(wc -c <filters/f.bloom)"
	redis "BF.MADD f $(seq -s ' ' 1001 3000)" >answers
	[ "$(grep -c '^:1' answers)" -gt 600 ]
	stop_server -KILL || true
	start_server
	redis 'BF.CARD f' >card
	[ "$(tr -dc '0-9' <card)" -gt 900 ]
}

@test "arguments that are not understood are refused" {
	start_server --lease=10m
	refused='-Nonscaling filters cannot expand'
	redis_answers "$refused $refused $refused" \
		'BF.RESERVE f 0.1 100 NONSCALING EXPANSION 2' \
		'BF.RESERVE f 0.1 100 EXPANSION 2 NONSCALING' \
		'BF.INSERT f NONSCALING EXPANSION 2 ITEMS a'
	redis_answers ':0 -ERR bad expansion +OK' 'EXISTS f' \
		'BF.RESERVE f 0.1 100 EXPANSION 4294967296' \
		'BF.RESERVE f 0.1 100 EXPANSION 4294967295'
	redis_answers '-ERR invalid cursor -ERR syntax error -ERR syntax error -ERR bad count' \
		'SCAN x' 'SCAN 0 MATCH' 'SCAN 0 FIND x' 'SCAN 0 COUNT many'
	redis_answers '*2 $1 0 *1 $1 f' 'SCAN 0 COUNT 10 MATCH f* TYPE MBbloom--'
	names='-ERR Client names cannot contain spaces, newlines or special characters.'
	for name in 'a b' $'a\nb' $'a\e[31m' $'\xc3\xa9'; do
		printf '*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$%d\r\n%s\r\n' \
			"$(printf %s "$name" | wc -c)" "$name" | ask >out
		[ "$(cat out)" = "$names" ]
		printf '*4\r\n$5\r\nHELLO\r\n$1\r\n2\r\n$7\r\nSETNAME\r\n$%d\r\n%s\r\n' \
			"$(printf %s "$name" | wc -c)" "$name" | ask >out
		[ "$(cat out)" = "$names" ]
	done
	# the name that a filter can have, as BF.ADD says it
	redis 'BF.ADD a/b x' >wanted
	grep -q "^-ERR a filter's name has" wanted
	redis 'SET a/b|x v NX EX 5' | cmp - wanted
	redis 'SETNX a/b|x v' | cmp - wanted
}

@test "a request of too many words: the error says how many it may have" {
	start_server
	printf '*1048577\r\n$4\r\nPING\r\n' | ask >out
	[ "$(cat out)" = '-ERR Protocol error: a request has at most 1048576 words' ]
	{
		printf '*1048576\r\n$6\r\nEXISTS\r\n'
		yes $'$1\r\nx\r' | head -n 2097150
	} | ask >out
	[ "$(cat out)" = :0 ]
}

@test "EXEC of very many requests: those of other clients come between" {
	start_server
	python3 - "$SOCKET" <<-'END'
		import socket, sys
		def connect():
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    return s, s.makefile("rb")
		COUNT = 100000
		one, lines = connect()
		other, answer = connect()
		def encode(*words):
		    return b"*%d\r\n" % len(words) + b"".join(
		        b"$%d\r\n%s\r\n" % (len(w), w) for w in words)
		for attempt in range(20):
		    key = b"k%d" % attempt
		    one.sendall(encode(b"MULTI") +
		                encode(b"EXISTS", key) * COUNT)
		    for i in range(COUNT + 1):
		        lines.readline()
		    one.sendall(encode(b"EXEC"))
		    other.sendall(encode(b"BF.RESERVE", key, b"0.1", b"100"))
		    answer.readline()
		    assert lines.readline() == b"*%d\r\n" % COUNT
		    seen = [lines.readline() for i in range(COUNT)]
		    if len(set(seen)) == 2:
		        sys.exit(0)
		sys.exit("all were carried out first")
	END
}
