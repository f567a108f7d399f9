# serve --lease: subkeys that are leased before they are remembered.
load ../common
load server

# start_leasing [OPTION]...: a server whose leases last up to an hour, with the
# filter f. Where a test moves the clock, it does so with clock_ahead.
start_leasing() {
	start_server --lease=1h "$@"
	add_filter f
}

# start_with_clock [OPTION]...: the same, for clock_ahead.
start_with_clock() {
	needs_preload
	clock_ahead 0
	CLOCK=clock FIRED=fired LD_PRELOAD="$BUILD/preload.so" \
		start_server --lease=1h "$@"
	[ -e fired ]
}

# clock_ahead SECONDS: the server's clock is ahead by so many.
clock_ahead() {
	python3 -c 'import struct, sys
with open("clock", "r+b" if int(sys.argv[1]) else "wb") as f:
    f.write(struct.pack("=Q", int(sys.argv[1]) * 10**9))' "$1"
}

# is_left LEAST MOST KEY: the lease lasts so many seconds.
is_left() {
	local left
	left=$(redis "TTL $3" | tr -d :)
	[ "$left" -ge "$1" ] && [ "$left" -le "$2" ] ||
		{ echo "$3: $left seconds are left"; return 1; }
}

# stat_is NAME VALUE: among the statistics of the server.
stat_is() {
	ask stats | tee stats | grep -qx "STAT $1 $2" ||
		{ grep lease stats; return 1; }
}

@test "without --lease, expiration times are ignored, and nothing can be leased" {
	start_server
	add_filter f
	answers 'STORED; NOT_STORED; VALUE f|a 0 1; 1; END' \
		'add f|a 0 300 1' x 'add f|a 0 300 1' x 'get f|a'
	answers 'CLIENT_ERROR delete takes the name of a whole filter' \
		'delete f|a'
	answers 'ERROR; ERROR' 'touch f|a 3000' 'touch f|a'
	redis_answers "-ERR unknown command 'SET'" 'SET f|a 1 NX EX 5'
	redis_answers "-ERR unknown command 'SETNX'" 'SETNX f|a 1'
	redis_answers "-ERR unknown command 'EXPIRE'" 'EXPIRE f|a 1'
	redis_answers "-ERR unknown command 'TTL'" 'TTL f|a'
	redis_answers ':0' 'DEL f|a'
	ask stats 'stats bloom f' >stats
	grep -q 'STAT lines' stats
	run ! grep lease stats
}

@test "memcached: a subkey is unknown, then leased, then remembered" {
	start_leasing
	# unknown
	answers 'END; NOT_STORED; NOT_FOUND; NOT_FOUND' 'get f|a' \
		'replace f|a 0 0 1' x 'delete f|a' 'touch f|a 3000'
	answers STORED 'add f|a 0 3000 1' x
	# leased: the answer is never that of a remembered one
	answers 'EXISTS; EXISTS; END; NOT_STORED; TOUCHED; TOUCHED' \
		'add f|a 0 3000 1' x 'add f|a 0 0 1' x 'get f|a' \
		'replace f|a 0 0 1' x 'touch f|a 3000' 'touch f|a 0'
	answers STORED 'set f|a 0 3000 1' x
	# remembered
	answers 'NOT_STORED; NOT_STORED; NOT_FOUND; NOT_FOUND; STORED; STORED' \
		'add f|a 0 3000 1' x 'add f|a 0 0 1' x 'delete f|a' \
		'touch f|a 3000' 'set f|a 0 0 1' x 'replace f|a 0 0 1' x
	answers 'VALUE f|a 0 1; 1; END' 'get f|a'
	stop_server
	echo a | bloomdedup check -f filters/f.bloom
}

@test "memcached: what is given back is unknown again" {
	start_leasing
	answers 'STORED; DELETED; NOT_FOUND; STORED; EXISTS' 'add f|a 0 3000 1' \
		x 'delete f|a' 'delete f|a' 'add f|a 0 3000 1' x \
		'add f|a 0 3000 1' x
	# clients of long ago send a time of 0
	answers 'DELETED; CLIENT_ERROR delete takes no time' 'delete f|a 0' \
		'delete f|a 5'
	answers 'STORED; NOT_STORED' 'add f|a 0 0 1' x 'add f|a 0 3000 1' x
}

@test "memcached: a subkey in the value is leased like one in the key" {
	start_leasing
	answers 'STORED; EXISTS; EXISTS' 'add f| 0 3000 3' 'a b' \
		'add f| 0 3000 3' 'a b' 'add f| 0 0 3' 'a b'
	answers 'STORED; NOT_STORED' 'set f 0 0 3' 'a b' 'add f| 0 3000 3' 'a b'
}

@test "memcached: noreply, malformed times, and filters that there aren't" {
	start_leasing
	answers 'EXISTS; TOUCHED; STORED' 'add f|a 0 3000 1 noreply' x \
		'add f|a 0 3000 1' x 'touch f|a 3000 noreply' 'touch f|a 3000' \
		'delete f|a noreply' 'add f|a 0 3000 1' x
	answers 'CLIENT_ERROR invalid exptime argument; ERROR' \
		'touch f|a soon' 'touch f|a'
	answers 'CLIENT_ERROR no such filter; CLIENT_ERROR no such filter; CLIENT_ERROR no such filter' \
		'add none|a 0 3000 1' x 'touch none|a 1' 'delete none|a'
	answers 'CLIENT_ERROR a key is FILTER|SUBKEY' 'touch f 1'
	answers 'EXISTS; NOT_STORED' 'add f|a 0 3000 1' x 'add f 0 0 6' '10|0.1'
}

@test "memcached: times are seconds, dates beyond 30 days, or over at once" {
	start_leasing
	now=$(date +%s)
	answers 'STORED; EXISTS; TOUCHED; STORED' 'add f|a 0 2592000 1' x \
		'add f|a 0 3000 1' x 'touch f|a -1' 'add f|a 0 3000 1' x
	answers 'STORED; STORED' 'add f|b 0 -1 1' x 'add f|b 0 3000 1' x
	# as libmemcached sends a negative time, and from where on memcached
	# reads one
	for time in 4294967295 2147483648 999999999999999999; do
		answers 'STORED; STORED' "add f|$time 0 $time 1" x \
			"add f|$time 0 3000 1" x
		answers 'TOUCHED; NOT_FOUND' "touch f|$time $time" \
			"touch f|$time 1"
	done
	answers 'STORED; STORED; EXISTS' "add f|c 0 $((now - 10)) 1" x \
		"add f|c 0 $((now + 1000)) 1" x 'add f|c 0 3000 1' x
	answers 'STORED; EXISTS' 'add f|d 0 2147483647 1' x 'add f|d 0 3000 1' x
	is_left 900 1000 'f|c'
	is_left 3500 3600 'f|d'
}

@test "Redis: a subkey is unknown, then leased, then remembered" {
	start_leasing
	redis_answers ':-2 :0 :0 :0' 'TTL f|a' 'EXPIRE f|a 3000' 'DEL f|a' \
		'BF.EXISTS f a'
	redis_answers '+OK' 'SET f|a v NX EX 3000'
	is_left 2000 3000 'f|a'
	leased='-LEASED another client has it: ask again later'
	redis_answers "$leased $leased $leased :0 :1" 'SET f|a v NX EX 3000' \
		'SET f|a v NX' 'SETNX f|a v' 'BF.EXISTS f a' 'EXPIRE f|a 2000'
	is_left 1000 2000 'f|a'
	# a time with SET alone means nothing: some clients always send one
	redis_answers '+OK' 'SET f|a v EX 300'
	redis_answers '$-1 $-1 :0 :1 :0 :0 :-1 :0 +OK' 'SET f|a v NX EX 3000' \
		'SET f|a v NX' 'SETNX f|a v' 'BF.EXISTS f a' 'EXPIRE f|a 3000' \
		'DEL f|a' 'TTL f|a' 'BF.ADD f a' 'SET f|a v'
	redis_answers '+OK :1 :-2 +OK' 'SET f|b v PX 3000000 NX' \
		'DEL f|b' 'TTL f|b' 'SET f|b v nx px 3000000'
	redis_answers ':1 :1 :-1' 'BF.ADD f b' 'SETNX f|c v' 'TTL f|c'
	# in version 3 of the protocol, nil is another one
	[ "$(redis 'HELLO 3' 'SET f|a v NX EX 1' | tail -n 1)" = _ ]
}

@test "Redis: DEL of several keys, and BF.MADD of leased ones" {
	start_leasing
	redis_answers '+OK +OK :2 :0' 'SET f|a v NX EX 3000' \
		'SET f|b v NX EX 3000' 'DEL f|a f|none f|b none|a f|a' \
		'UNLINK f|a'
	redis_answers '+OK *2 :1 :1 :-1' 'SET f|a v NX EX 3000' 'BF.MADD f a b' \
		'TTL f|a'
	redis_answers '+OK :2' 'SET f|c v NX EX 3000' 'DEL f|c f'
	redis_answers ':0' 'EXISTS f'
}

@test "Redis: malformed options, and filters that there aren't" {
	start_leasing
	for options in 'v XX' 'v NX XX' 'v GET' 'v KEEPTTL' 'v NX EXAT 5' \
		'v EX' 'v NX EX' 'v EX 5 PX 5' 'v NX NX EX 5 EX 5'; do
		redis_answers '-ERR syntax error' "SET f|a $options"
	done
	for time in 0 -1 999999999999999999; do
		redis_answers "-ERR invalid expire time in 'set' command" \
			"SET f|a v NX EX $time"
	done
	integer='-ERR value is not an integer or out of range'
	redis_answers "$integer" 'SET f|a v NX EX 1.5'
	redis_answers "$integer" 'EXPIRE f|a soon'
	for request in 'SET f v' 'SETNX f v' 'EXPIRE f 1' 'TTL f'; do
		redis_answers '-ERR a key is FILTER|SUBKEY' "$request"
	done
	redis_answers '-ERR not found' 'SET none|a v'
	redis_answers ':0 :-2 :0' 'EXPIRE none|a 5' 'TTL none|a' 'DEL none|a'
	redis_answers ':-2' 'TTL f|a'
	# a time of 0 or less is over
	redis_answers '+OK :1 :-2' 'SET f|a v NX EX 3000' 'EXPIRE f|a 0' \
		'TTL f|a'
}

@test "MULTI: a lease begins and ends at EXEC" {
	start_leasing
	# no lease yet, and none of a connection that ends before EXEC
	redis_answers '+OK +QUEUED' MULTI 'SET f|a v NX EX 3000'
	redis_answers ':-2' 'TTL f|a'
	redis_answers '+OK +QUEUED +QUEUED +QUEUED *3 +OK +OK $-1 :-1' MULTI \
		'SET f|a v NX EX 3000' 'SET f|a v' 'SET f|a v NX EX 3000' EXEC \
		'TTL f|a'
	redis_answers '+OK +QUEUED +OK :-2' MULTI 'SET f|b v NX EX 3000' \
		DISCARD 'TTL f|b'
}

@test "both protocols have the same leases" {
	start_leasing
	answers STORED 'add f|a 0 3000 1' x
	is_left 2000 3000 'f|a'
	redis_answers ':1' 'DEL f|a'
	redis_answers '+OK' 'SET f|a v NX EX 3000'
	answers 'EXISTS; STORED' 'add f|a 0 3000 1' x 'set f|a 0 0 1' x
	redis_answers ':-1' 'TTL f|a'
}

@test "a lease that ends is forgotten, and the next one gets it" {
	start_with_clock
	add_filter f
	answers 'STORED; STORED' 'add f|a 0 600 1' x 'add f|b 0 60 1' x
	clock_ahead 300
	answers 'EXISTS; STORED; TOUCHED' 'add f|a 0 600 1' x \
		'add f|b 0 600 1' x 'touch f|a 600'
	clock_ahead 700
	answers 'EXISTS; EXISTS' 'add f|a 0 600 1' x 'add f|b 0 600 1' x
	clock_ahead 1000
	answers 'NOT_FOUND; NOT_FOUND; STORED; END' 'touch f|a 600' \
		'delete f|b' 'add f|a 0 600 1' x 'get f|a'
	stat_is leases_expired 3
	stat_is leases 1
	ended() { grep 'f.bloom: leases that have expired: [1-3]; ' server.err; }
	until_true ended
}

@test "a lease is no longer than --lease, and that is said once" {
	start_with_clock
	add_filter f
	answers 'STORED; STORED; STORED' 'add f|a 0 7200 1' x \
		'add f|b 0 10000 1' x 'add f|c 0 3600 1' x
	is_left 3500 3600 'f|a'
	is_left 3500 3600 'f|b'
	clock_ahead 3601
	answers 'STORED; STORED' 'add f|a 0 7200 1' x 'add f|b 0 60 1' x
	cat server.err
	[ "$(grep -c 'a client wants a lease of 7200 seconds: none is longer than 3600 here' \
		server.err)" -eq 1 ]
	run ! grep 10000 server.err
}

@test "leases are lost with the server, and only then is the work given out twice" {
	start_leasing
	answers 'STORED; STORED; STORED' 'add f|a 0 3000 1' x 'add f|b 0 3000 1' x \
		'set f|b 0 0 1' x
	stop_server
	start_server --lease=1h
	answers 'STORED; NOT_STORED' 'add f|a 0 3000 1' x 'add f|b 0 3000 1' x
	stop_server -KILL || true
	start_server --lease=1h
	answers 'STORED; NOT_STORED' 'add f|a 0 3000 1' x 'add f|b 0 3000 1' x
}

@test "requests that come in one write see what those before them did" {
	start_leasing
	answers 'STORED; EXISTS; STORED; NOT_STORED; NOT_FOUND; STORED; EXISTS; DELETED; STORED; DELETED; STORED; NOT_STORED; END' \
		'add f|a 0 3000 1' x 'add f|a 0 3000 1' x 'set f|a 0 0 1' x \
		'add f|a 0 3000 1' x 'delete f|a' 'add f|b 0 3000 1' x \
		'add f|b 0 0 1' x 'delete f|b' 'add f|b 0 3000 1' x \
		'delete f|b' 'add f|b 0 0 1' x 'add f|b 0 3000 1' x 'get f|c'
}

@test "no lease is granted that the filter would have no room for" {
	start_server --lease=1h
	redis_answers '+OK' 'BF.RESERVE f 1e-9 4 NONSCALING'
	redis_answers ':1' 'BF.ADD f 0'
	answers 'STORED; STORED; STORED' 'add f|a 0 3000 1' x 'add f|b 0 3000 1' x \
		'add f|c 0 3000 1' x
	# a full filter: also for what comes later in the same write
	ask 'add f|d 0 3000 1' x 'add f|d 0 3000 1' x 'get f|d' >out
	cat out
	[ "$(grep -c '^CLIENT_ERROR .*f.bloom: ' out)" -eq 2 ]
	[ "$(tail -n 1 out)" = END ]
	redis_answers '-ERR non scaling filter is full' 'SET f|d v NX EX 3000'
	stat_is leases_refused 3
	# one that is given back makes room, one that is committed takes it
	answers 'DELETED; STORED; STORED; STORED; STORED' 'delete f|a' \
		'add f|d 0 3000 1' x 'set f|b 0 0 1' x 'set f|c 0 0 1' x \
		'set f|d 0 0 1' x
	ask 'add f|e 0 3000 1' x | grep '^CLIENT_ERROR .*f.bloom: '
	answers 'NOT_STORED; NOT_STORED' 'add f|b 0 3000 1' x 'add f|0 0 3000 1' x
}

@test "a commit that finds no room leaves the lease as it was" {
	start_server --lease=1h
	redis_answers '+OK' 'BF.RESERVE f 1e-9 2 NONSCALING'
	answers 'STORED; STORED; STORED; EXISTS' 'add f|a 0 3000 1' x \
		'set f|b 0 0 1' x 'set f|c 0 0 1' x 'add f|a 0 3000 1' x
	full='-ERR non scaling filter is full'
	redis_answers "$full $full :1" 'SET f|a v' 'BF.ADD f a' 'EXPIRE f|a 3000'
	stat_is leases_committed 0
}

@test "a filter that grows takes more leases than it has room for" {
	start_server --lease=1h
	add_filter f '100|1e-6'
	seq 5000 | sed 's/.*/add f|& 0 3000 1\r\nx\r/' | ask >out
	[ "$(grep -c '^STORED$' out)" -eq 5000 ]
	seq 5000 | sed 's/.*/set f|& 0 3000 1\r\nx\r/' | ask >out
	[ "$(grep -c '^STORED$' out)" -eq 5000 ]
	stat_is leases_committed 5000
	stop_server
	[ "$(seq 5000 | bloomdedup check -f filters/f.bloom | wc -l)" -eq 5000 ]
}

@test "a filter that is made anew has its half of the leases, at once" {
	start_server --lease=1h --max-leases=4
	add_filter g
	answers 'STORED; STORED' 'add g|1 0 3000 1' x 'add g|2 0 3000 1' x
	for i in 1 2 3 4; do
		add_filter f
		answers 'STORED; STORED' 'add f|1 0 3000 1' x 'add f|2 0 3000 1' x
		stat_is leases 4
		# removed by a request, as a file, replaced, or restored
		case $i in
		1) redis_answers ':1' 'DEL f' ;;
		2) rm filters/f.bloom ;;
		3) bloomdedup create -n 1000 other
		   mv other filters/f.bloom ;;
		4) cp filters/g.bloom other
		   mv other filters/f.bloom ;;
		esac
		until_true no_lease_of_f
		stat_is leases 2
		redis 'DEL f'
	done
}

# Looks at the file, which the server does once a second, too.
no_lease_of_f() {
	redis 'BF.EXISTS f x' >/dev/null
	! ask 'stats bloom f' | grep -qx 'STAT leases [1-9]'
}

@test "--max-leases: beyond, only that add is refused, and one filter gets half" {
	start_server --lease=1h --max-leases=6
	add_filter f
	add_filter g
	seq 4 | sed 's/.*/add f|& 0 3000 1\r\nx\r/' | ask >out
	cat out
	[ "$(grep -c '^STORED$' out)" -eq 3 ]
	grep -q '^CLIENT_ERROR filters/f.bloom: it has half of the leases .*--max-leases' out
	redis_answers '+OK +OK +OK' 'SET g|1 v NX EX 3000' 'SET g|2 v NX EX 3000' \
		'SET g|3 v NX EX 3000'
	redis 'SET g|4 v NX EX 3000' | grep '^-OOM all leases .*--max-leases'
	stat_is leases 6
	stat_is leases_refused 2
	# all others are as ever
	answers 'STORED; NOT_STORED; TOUCHED; STORED; DELETED; STORED' \
		'add f|a 0 0 1' x 'add f|a 0 3000 1' x 'touch f|1 3000' \
		'set f|2 0 0 1' x 'delete f|3' 'add f|4 0 3000 1' x
	ask 'stats bloom f' | grep -qx 'STAT leases 2'
	ask 'stats bloom g' | grep -qx 'STAT leases 3'
	cat server.err
	grep -q 'half of the leases' server.err
}

@test "the right to store is enough, also to give back" {
	start_tcp --lease=1h --no-admin
	bloomdedup create -n 1000 filters/f.bloom
	answers 'STORED; DELETED' 'add f|a 0 3000 1' x 'delete f|a'
	redis_answers '+OK :1 +OK' 'SET f|a v NX EX 3000' 'DEL f|a' 'SET f|a v'
	redis 'DEL f|a f' | grep '^-NOPERM'
	ask 'delete f' | grep '^CLIENT_ERROR not allowed'
	[ -e filters/f.bloom ]
}

@test "a filter that is removed or replaced has no leases any more" {
	start_leasing
	answers 'STORED; DELETED; STORED; STORED' 'add f|a 0 3000 1' x \
		'delete f' 'add f 0 0 9' '1000|1e-6' 'add f|a 0 3000 1' x
	bloomdedup create -n 1000 new.bloom
	mv new.bloom filters/f.bloom
	is_unknown() { [ "$(redis 'TTL f|a')" = :-2 ]; }
	until_true is_unknown
	answers STORED 'add f|a 0 3000 1' x
	stat_is leases 1
	ask 'stats bloom f' | grep -qx 'STAT leases 1'
}

@test "a filter whose file is gone gives its places back, though nobody names it" {
	start_server --lease=1h --max-leases=4
	add_filter f
	add_filter g
	add_filter h
	answers 'STORED; STORED; STORED; STORED' 'add f|a 0 3000 1' x \
		'add f|b 0 3000 1' x 'add g|a 0 3000 1' x 'add g|b 0 3000 1' x
	ask 'add h|a 0 3000 1' x | grep -q 'all leases .* are taken'
	rm filters/f.bloom
	has_places() { ask 'add h|a 0 3000 1' x | grep -q '^STORED'; }
	until_true has_places
	stat_is leases 3
	rm filters/g.bloom
	is_alone() { stat_is leases 1; }
	until_true is_alone
}

@test "a filter that is closed for others keeps its leases" {
	start_limited -n 60 --max-connections=5 --lease=1h
	for ((i = 0; i < 100; i++)); do
		printf 'add f%d 0 0 8\r\n1000|0.1\r\nadd f%d|a 0 3000 1\r\nx\r\n' \
			$i $i
	done | ask >out
	[ "$(grep -c '^STORED' out)" -eq 200 ]
	for ((i = 0; i < 100; i++)); do
		printf 'add f%d|a 0 3000 1\r\nx\r\n' $i
	done | ask | grep -c '^EXISTS' | grep -qx 100
}

@test "a file that is cut short: its commits fail, and its leases go on" {
	start_leasing
	answers 'STORED; STORED' 'add f|a 0 3000 1' x 'add f|b 0 3000 1' x
	cp filters/f.bloom backup
	truncate -s 12288 filters/f.bloom
	ask 'set f|a 0 0 1' x 'add f|c 0 3000 1' x >out
	cat out
	[ "$(grep -c '^CLIENT_ERROR .*cut short' out)" -eq 2 ]
	stat_is leases_committed 0
	stat_is leases 2
	# the same file again
	mv backup filters/f.bloom
	works() { ask 'get f|x' | grep -qx END; }
	until_true works
	answers 'EXISTS; EXISTS; STORED' 'add f|a 0 3000 1' x \
		'add f|b 0 3000 1' x 'add f|c 0 3000 1' x
}

@test "a commit that fails keeps its lease, though another took its place" {
	start_server --lease=1h --max-leases=2
	add_filter f
	add_filter g
	answers 'STORED; STORED' 'add f|a 0 3000 1' x 'add g|a 0 3000 1' x
	truncate -s 12288 filters/f.bloom
	# the place of f|a is that of f|b, then both fail
	ask 'set f|a 0 0 1' x 'add f|b 0 3000 1' x >out
	cat out
	[ "$(grep -c '^CLIENT_ERROR .*cut short' out)" -eq 2 ]
	stat_is leases 2
	stat_is leases_committed 0
	# a lease that the same write took and committed was never there
	ask 'delete g|a' >/dev/null
	truncate -s 12288 filters/g.bloom
	ask 'add g|b 0 3000 1' x 'set g|b 0 0 1' x >out
	[ "$(grep -c '^CLIENT_ERROR .*cut short' out)" -eq 2 ]
	stat_is leases 1
}

@test "a DEL that fails is refused once, and the lease goes on" {
	start_leasing
	redis_answers '+OK' 'SET f|a v NX EX 3000'
	truncate -s 12288 filters/f.bloom
	redis 'DEL f|a' | grep -q '^-ERR .*cut short'
	stat_is refused 1
	stat_is leases 1
	stat_is leases_returned 0
}

@test "a window remembers from the commit on" {
	start_leasing
	add_filter w '1000|1e-6|1h'
	answers 'STORED; EXISTS; STORED; NOT_STORED' 'add w|a 0 3000 1' x \
		'add w|a 0 0 1' x 'set w|a 0 0 1' x 'add w|a 0 3000 1' x
	# one of lines always has room for a lease, since it moves on
	redis_answers '+OK' 'BF.RESERVE l 1e-6 1000 WINDOW 1000'
	seq 1500 | sed 's/.*/add l|& 0 3000 1\r\nx\r/' | ask | sort | uniq -c |
		tee out
	grep -qx ' *1500 STORED' out
	seq 1500 | sed 's/.*/set l|& 0 3000 1\r\nx\r/' | ask | sort | uniq -c |
		tee out
	grep -qx ' *1500 STORED' out
	answers 'NOT_STORED; STORED' 'add l|1500 0 3000 1' x 'add l|1 0 3000 1' x
}

@test "statistics count what became of leases, and reset sets them to zero" {
	start_leasing
	ask 'add f|a 0 3000 1' x 'add f|b 0 3000 1' x 'add f|c 0 3000 1' x \
		'add f|d 0 3000 1' x 'touch f|a 3000' 'touch f|x 3000' \
		'set f|a 0 0 1' x 'delete f|b' 'touch f|c -1' \
		'add f|c 0 3000 1' x >/dev/null
	for pair in 'leases 2' 'leases_max 1000000' 'leases_granted 5' \
		'leases_renewed 2' 'leases_committed 1' 'leases_returned 1' \
		'leases_expired 1' 'leases_refused 0' 'cmd_touch 3' \
		'touch_hits 2' 'touch_misses 1' 'delete_hits 1'; do
		# shellcheck disable=SC2086 # two words
		stat_is $pair
	done
	answers RESET 'stats reset'
	stat_is leases_granted 0
	stat_is leases_expired 0
	stat_is leases 2
}

@test "many clients want the same subkeys: each has one holder" {
	needs python3
	start_leasing
	cat >race.py <<-'END'
		import collections, socket, sys
		clients = []
		for i in range(20):
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    s.settimeout(60)
		    clients.append(s)
		keys = range(200)
		for s in clients:
		    s.sendall(b"".join(b"add f|%d 0 3000 1\r\nx\r\n" % k for k in keys))
		had = collections.Counter()
		for s in clients:
		    got = b""
		    while got.count(b"\n") < len(keys):
		        got += s.recv(65536)
		    for k, reply in zip(keys, got.split(b"\r\n")):
		        assert reply in (b"STORED", b"EXISTS"), reply
		        had[k] += reply == b"STORED"
		assert set(had.values()) == {1}, had
	END
	python3 race.py "$SOCKET"
}

@test "options: what is allowed, and what can't be combined" {
	fails 2 "'0' is not allowed; give a time from 0.001 to 1e9 seconds" \
		bloomdedup serve -d filters --lease=0
	fails 2 "'1y' is not allowed" bloomdedup serve -d filters --lease=1y
	fails 2 '--max-leases' bloomdedup serve -d filters --lease=1 \
		--max-leases=0
	fails 2 '--lease' bloomdedup serve -d filters --max-leases=10
	fails 2 '--read-only' bloomdedup serve -d filters --lease=1 --read-only
	start_server --lease=2.5
	add_filter f
	redis_answers '+OK' 'SET f|a v NX EX 3000'
	is_left -2 3 'f|a'
}

@test "room for leases that can't be had: it says which option asks for it" {
	skip_if_sanitized
	skip_if_emulated 'memory of its own'
	(
		ulimit -v 1000000
		fails 3 'room for leases (--max-leases): ' \
			bloomdedup serve -d filters --lease=1 --max-leases=1e9
	)
}

# model [OPTION]: the model's requests for some seconds
model() {
	mkdir -p model
	(
		cd model && rm -rf filters && mkdir filters || exit 1
		timeout 600 python3 "$BATS_TEST_DIRNAME/lease-model" \
			"$BLOOMDEDUP" filters "$SOCKET" \
			"$(short_or_long 6 120)" $RANDOM "$@"
	)
}

@test "random requests, restarts and a clock that jumps, against a model" {
	needs python3
	needs_preload
	model "$BUILD/preload.so"
}

@test "random requests and restarts against a model" {
	needs python3
	model
}
