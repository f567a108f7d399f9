# serve: each request and its reply, and what is no request.
load ../common
load server

@test "the transcript of the server before this one" {
	start_tcp
	printf '%s\r\n' 'add test 0 0 13' '1000000|0.001' 'stats blooms' \
		'stats bloom test' 'set test 0 0 11' test_subkey \
		'get test|test_subkey' |
		"$HELPER" ask "127.0.0.1:$PORT" | tr -d '\r' >out
	cat out
	[ "$(head -n 1 out)" = STORED ]
	grep -q '^STAT test [0-9]*$' out
	grep -q '^STAT capacity 1000000$' out
	grep -q '^STAT error_rate 0.001$' out
	[ "$(tail -n 4 out)" = $'STORED\nVALUE test|test_subkey 0 1\n1\nEND' ]
}

@test "a length that is wrong is a bad data chunk, and no request begins in it" {
	start_server
	add_filter test
	answers 'CLIENT_ERROR bad data chunk; END' 'set test 0 0 3' \
		test_subkey 'get test|test_subkey'
}

@test "set remembers, get and gets say so" {
	start_server
	add_filter f
	answers 'END' 'get f|a'
	answers 'STORED' 'set f 0 0 1' a
	answers 'VALUE f|a 0 1; 1; END' 'get f|a'
	answers 'VALUE f|a 0 1 1; 1; END' 'gets f|a'
	answers 'STORED' 'set f|b 5 60 3' xyz
	answers 'VALUE f|b 0 1; 1; END' 'get f|b'
	answers 'END' 'get f|xyz'
}

@test "add tests and sets: STORED once, then NOT_STORED" {
	start_server
	add_filter f
	answers 'STORED; NOT_STORED' 'add f|a 0 0 1' x 'add f|a 0 0 1' x
	answers 'STORED; NOT_STORED' 'add f| 0 0 3' 'a b' 'add f| 0 0 3' 'a b'
	answers 'NOT_STORED' 'add f| 0 0 1' a
}

@test "replace says whether it is remembered, and changes nothing" {
	start_server
	add_filter f
	answers 'NOT_STORED; NOT_STORED' 'replace f|a 0 0 1' x \
		'replace f| 0 0 1' a
	answers 'STORED; STORED; STORED' 'set f 0 0 1' a \
		'replace f|a 0 0 1' x 'replace f| 0 0 1' a
}

@test "requests that come in one write are answered in their order" {
	start_server
	add_filter f
	answers 'END; STORED; VALUE f|a 0 1; 1; END; NOT_STORED; STORED; NOT_STORED' \
		'get f|a' 'set f 0 0 1' a 'get f|a' 'add f|a 0 0 1' x \
		'add f|b 0 0 1' x 'add f|b 0 0 1' x
	answers 'NOT_STORED; STORED; STORED' 'replace f|c 0 0 1' x \
		'add f|c 0 0 1' x 'replace f|c 0 0 1' x
	answers 'STORED; STORED; VALUE g|a 0 1; 1; END; DELETED; CLIENT_ERROR no such filter; STORED; END' \
		'add g 0 0 8' '1000|0.1' 'set g 0 0 1' a 'get g|a' 'delete g' \
		'get g|a' 'add g 0 0 8' '1000|0.1' 'get g|a'
}

@test "several keys a get; the first | ends the name" {
	start_server
	add_filter f
	add_filter g
	answers 'STORED; STORED; VALUE f|a|b 0 1; 1; VALUE g|x 0 1; 1; END' \
		'set f 0 0 3' 'a|b' 'set g 0 0 1' x 'get f|a|b f|a  g|x f|x '
}

@test "thousands of keys in one get, up to the length of a value" {
	start_server
	add_filter f '200000|1e-6'
	seq 100000 | sed 's/.*/set f|subkey-& 0 0 1 noreply\r\nx\r/' | ask
	seq 4 4 200000 | sed 's/.*/f|subkey-&/' | paste -sd ' ' |
		sed 's/^/get /' >line
	ask <line >out
	grep -c '^VALUE' out
	[ "$(grep -c '^VALUE' out)" -eq 25000 ]
	[ "$(tail -n 1 out)" = END ]
	# in one that is longer, too, no request begins
	{ cat line line | tr -d '\n'; echo; echo version; } | ask >out
	[ "$(cat out)" = 'CLIENT_ERROR line too long' ]
}

@test "a get of several keys leaves out those of a filter in trouble; one is an error" {
	printf 'no filter\n' >filters/broken.bloom
	start_server
	add_filter f
	answers 'STORED; VALUE f|a 0 1; 1; VALUE f|a 0 1; 1; END' \
		'set f 0 0 1' a 'get f|a g|a f|a broken|a f|b'
	answers 'CLIENT_ERROR no such filter; END; VALUE f|a 0 1 1; 1; END' \
		'get g|a ' 'get g|a  g|b ' 'gets f|a'
	ask 'get broken|a' | grep -q '^CLIENT_ERROR filters/broken.bloom: not a'
	ask stats | grep -qx 'STAT refused 6'
	grep -q 'no such filter: g' server.err
	# what can be no key is the client's mistake: nothing but the error
	answers 'CLIENT_ERROR a key is FILTER|SUBKEY; CLIENT_ERROR a key is FILTER|SUBKEY' \
		'get f|a f f|a' 'get f'
}

@test "health checks: Redis' PING and QUIT as lines" {
	start_server
	printf 'PING\r\nping\nPING x\r\nQUIT\r\nversion\r\n' | ask >out
	printf '%s\n' +PONG +PONG ERROR +OK | cmp - out
	ask stats | grep -qx 'STAT refused 1'
}

@test "noreply: no answer, not even to what fails" {
	start_server
	add_filter f
	answers 'VALUE f|a 0 1; 1; END' 'set f 0 0 1 noreply' a \
		'add f|a 0 0 1 noreply' x 'set nowhere 0 0 1 noreply' a \
		'delete nowhere noreply' 'verbosity 1 noreply' 'get f|a'
}

@test "a subkey may have any bytes and be long" {
	start_server
	add_filter f
	perl -e '$k = join "", map chr, 0 .. 255; $l = "long" x 10000;
		print "set f 0 0 256\r\n$k\r\nadd f| 0 0 256\r\n$k\r\n",
			"set f 0 0 40000\r\n$l\r\nget f|$l\r\n"' | ask >out
	perl -e '$l = "long" x 10000; print "STORED\nNOT_STORED\nSTORED\n",
		"VALUE f|$l 0 1\n1\nEND\n"' | cmp - out
}

@test "what is too long is refused, and the next request is answered" {
	start_server --max-key=100 --max-value=1000
	add_filter f
	key=f\|$(printf '%0200d' 0) value=$(printf '%01001d' 0)
	answers 'CLIENT_ERROR key too long; CLIENT_ERROR key too long; CLIENT_ERROR object too large; STORED' \
		"get f|a $key f|b" "set $key 0 0 1" x "set f 0 0 1001" "$value" \
		'set f 0 0 1' a
}

@test "a line without an end is refused, and closes the connection" {
	start_server
	perl -e 'print "x" x 1000 for 1 .. 2000; print "\r\nversion\r\n"' |
		ask >out
	[ "$(cat out)" = 'CLIENT_ERROR line too long' ]
	ask version | grep -q '^VERSION '
}

@test "keys that name no filter" {
	start_server
	add_filter f
	answers 'CLIENT_ERROR a key is FILTER|SUBKEY' 'get f'
	answers 'CLIENT_ERROR a key is FILTER|SUBKEY' 'replace f 0 0 1' x
	answers 'CLIENT_ERROR not a filter'"'"'s name' 'get ../f|a'
	answers 'CLIENT_ERROR not a filter'"'"'s name' 'set .f 0 0 1' x
	answers 'CLIENT_ERROR no such filter' 'set g 0 0 1' x
}

@test "add makes a filter, once, and refuses what is no plan or name" {
	start_server
	answers 'STORED; NOT_STORED' 'add f.1_-Z 0 0 8' '1000|0.1' \
		'add f.1_-Z 0 0 8' '2000|0.2'
	long=$(printf '%065d' 0)
	for name in .f a/b .. 'é' "$long"; do
		ask "add $name 0 0 8" '1000|0.1' |
			grep -q "^CLIENT_ERROR a filter's name" || return 1
	done
	for plan in 1000 '1000|' '|0.1' '0|0.1' '1000|0' '1000|0.6' '-1|0.1' \
		'1000|0.1|' '1e99|0.1' '1000 0.1' '1000|nan' \
		'1000|0.1|3' '1000|0.1|2000' '1000|0.1|4y' '1000|0.1|4d|'; do
		ask "add g 0 0 ${#plan}" "$plan" |
			grep -q '^CLIENT_ERROR a plan is LINES|RATE' || return 1
	done
	[ "$(ls filters)" = f.1_-Z.bloom ]
}

@test "add NAME makes a filter with a window" {
	skip_if_valgrind_ends
	start_server
	answers 'STORED; STORED; NOT_STORED' 'add days 0 0 12' '1000|1e-6|4d' \
		'add lines 0 0 14' '4000|1e-12|4e3' 'add days 0 0 10' '1000|1e-12'
	bytes=$(told -n 1000 -p 1e-6 --window=4d)
	ask 'try 1000|1e-6|4d' | grep -q "^need_memory $bytes(Bytes)"
	bloomdedup info filters/days.bloom | grep -qE 'window +4d$'
	bloomdedup info filters/lines.bloom | grep -qE 'window +4000 new lines$'
	# four windows of them in one batch: the last one is remembered
	seq 16000 | sed 's/.*/set lines|& 0 0 1 noreply\nx/' >sets
	mapfile -t sets <sets
	ask "${sets[@]}" version >out
	bloomdedup check -f filters/lines.bloom <(seq 12001 16000) |
		cmp - <(seq 12001 16000)
	run -1 bloomdedup check -f filters/lines.bloom <(seq 1 10999)
	[ -z "$output" ]
}

@test "delete removes a filter, its file and its journal, never a subkey" {
	start_server
	add_filter f
	touch filters/f.bloom.journal
	ask 'delete f|a' | grep -q '^CLIENT_ERROR '
	# a time of 0 comes from older clients
	ask 'delete f 5' | grep -q '^CLIENT_ERROR '
	answers 'DELETED; NOT_FOUND; CLIENT_ERROR no such filter' 'delete f' \
		'delete f 0' 'get f|a'
	[ -z "$(ls filters)" ]
}

@test "try says what create would make" {
	start_server
	bytes=$(told -n 1e6 -p 0.001)
	ask 'try 1000000|0.001' >out
	cat out
	grep -q "^need_memory $bytes(Bytes) [0-9.]*(M)$" out
	grep -q '^use_function_num [0-9]*$' out
	grep -q '^false_positive_rate 0.001$' out
	[ "$(tail -n 1 out)" = END ]
	ask 'try many' | grep -q '^CLIENT_ERROR a plan is'
}

@test "setmem limits all filters together" {
	start_server
	answers 'STORED' 'setmem 1'
	ask 'add f 0 0 8' '1e7|1e-6' | grep -q '^CLIENT_ERROR .*setmem'
	answers 'STORED; STORED' 'setmem 100' 'add f 0 0 8' '1e7|1e-6'
	ask 'setmem' 'setmem x' 'setmem -1' 'setmem 0' >out
	[ "$(grep -c '^CLIENT_ERROR\|^ERROR' out)" -eq 4 ]
}

@test "stats has memcached's names, and counts" {
	start_server
	add_filter f
	ask 'set f 0 0 1' a 'get f|a f|b' 'gets f|a' >/dev/null
	ask stats >out
	cat out
	grep -qx "STAT pid $SERVER" out
	grep -qx 'STAT cmd_get 3' out
	grep -qx 'STAT get_hits 2' out
	grep -qx 'STAT get_misses 1' out
	grep -qx 'STAT curr_connections 1' out
	grep -qx 'STAT max_connections 1024' out
	grep -qx "STAT bytes $(stat -c %s filters/f.bloom)" out
	[ "$(tail -n 1 out)" = END ]
	# name and value, and nothing else: exporters split at blanks
	run ! grep -vE '^(STAT [^ ]+ [^ ]+|END)$' out
	for what in settings blooms 'bloom f'; do
		ask "stats $what" >out
		[ "$(wc -l <out)" -gt 1 ]
		run ! grep -vE '^(STAT [^ ]+ [^ ]+|END)$' out
	done
	answers 'END; END; END; END' 'stats slabs' 'stats items' 'stats conns' \
		'stats cachedump 1 100'
	ask 'stats nothing' | grep -q '^CLIENT_ERROR '
	ask 'stats blooms a b' | grep -q '^CLIENT_ERROR '
	ask 'stats bloom nothing' | grep -q '^CLIENT_ERROR no such filter'
}

@test "stats reset begins to count again" {
	start_server
	add_filter f
	ask 'set f 0 0 1' a 'get f|a' 'get f|b' 'delete none' >/dev/null
	answers RESET 'stats reset'
	ask stats >out
	cat out
	grep -qx 'STAT cmd_get 0' out
	grep -qx 'STAT cmd_set 0' out
	grep -qx 'STAT total_items 0' out
	# what is now stays
	grep -qx 'STAT curr_connections 1' out
	grep -qx 'STAT curr_items 1' out
}

@test "room in stats bloom is what new lines find" {
	skip_if_valgrind_ends
	bloomdedup create -n 1000 --on-full=warn filters/warn.bloom
	start_server
	add_filter short '10000|1e-3|8s'
	# older parts of a window take no more
	has_moved() {
		ask "set short|$RANDOM 0 0 1" x 'stats bloom short' >out
		[ "$(sed -n 's/^STAT layers //p' out)" -ge 3 ]
	}
	until_true has_moved
	cat out
	[ "$(sed -n 's/^STAT room //p' out)" -le 2500 ]
	add_filter f
	ask 'set f|a 0 0 1' x 'stats bloom f' | grep -qx 'STAT room 9999'
	ask 'stats bloom warn' | grep -qx 'STAT room 1000'
}

@test "stats bloom agrees with info" {
	start_server
	add_filter f '1000|1e-3'
	# far from where the next layer is made
	seq 2500 | sed 's/.*/set f|& 0 0 1 noreply\r\nx\r/' | ask
	ask 'stats bloom f' >out
	bloomdedup info --json filters/f.bloom >info
	cat out info
	for name in bytes capacity error_rate; do
		value=$(grep -o "\"$name\": [^,]*" info | head -n 1 |
			cut -d ' ' -f 2)
		grep -qx "STAT $name $value" out
	done
	layers=$(sed -n 's/^STAT layers //p' out)
	[ "$layers" -ge 2 ]
	lines=$(sed -n 's/^STAT lines //p' out)
	[ "$lines" -ge 2450 ] && [ "$lines" -le 2550 ]
}

@test "version, verbosity and quit are as in memcached" {
	start_server
	# what libmemcached can read, which takes 0 for no version
	version=1.4.0-bloomdedup-$(bloomdedup --version | cut -d ' ' -f 2)
	answers "VERSION $version; OK" version 'verbosity 1' quit version
}

@test "verbosity takes a number, and nothing else" {
	start_server
	for request in 'verbosity much' 'verbosity 1 2' 'verbosity -1'; do
		answers 'CLIENT_ERROR bad command line format' "$request"
	done
	answers 'ERROR' verbosity
}

@test "what a filter can't do is refused, data and all" {
	start_server
	add_filter f
	for request in flush_all 'incr f|a 1' 'decr f|a 1' 'touch f|a 0' \
		'gat 0 f|a'; do
		answers 'ERROR; END' "$request" 'get f|a'
	done
	for request in 'append f|a 0 0 9' 'prepend f|a 0 0 9' \
		'cas f|a 0 0 9 7'; do
		answers 'CLIENT_ERROR a filter keeps no values; END' \
			"$request" 'delete f ' 'get f|a'
	done
}

@test "a malformed request with a value has one answer" {
	start_server
	add_filter f
	for request in 'cas f|a 0 0 9' 'set f|a 0 0 9 x' 'add f|a x 0 9' \
		'set f|a 0 x 9' 'set an odd key 0 0 9' 'cas f|a 0 0 9 1 2' \
		'cas an odd key 0 0 9 7' \
		'append f|a 0 0 9 1' 'replace f|a 0 0 9 noreply noreply 1'; do
		answers 'CLIENT_ERROR bad command line format; END' \
			"$request" 'delete f ' 'get f|a'
	done
	# and none if none is wanted
	for request in 'cas f|a 0 0 9 noreply' 'set f|a x 0 9 noreply'; do
		answers 'END' "$request" 'delete f ' 'get f|a'
	done
	# what libmemcached sends when it was told the version 0
	printf 'add f|a 0 0 1\r\n1\r\ngets f|a\r\ncas f|a 0 0 1\r\n1\r\nversion\r\n' |
		ask >out
	grep -qx 'VALUE f|a 0 1 [1-9]' out
	[ "$(grep -vc '^VALUE\|^1$\|^END$' out)" -eq 3 ]
}

@test "a value ends in CR LF: none of another length is remembered" {
	start_server
	add_filter f
	for value in '4\r\nabc\r\n' '4\nabc\r\n' '3\r\nabc\n' '3\nabc\n' \
		'2\r\nabc\r\n' '0\r\n\n' '3\r\nabc\rx\r\n'; do
		# shellcheck disable=SC2059
		printf "set f| 0 0 ${value}get f|abc f|abc%%s\r\n" $'\r' |
			ask >out
		[ "$(cat out)" = $'CLIENT_ERROR bad data chunk\nEND' ]
	done
	# however its line ends
	printf 'add f| 0 0 3\nabc\r\nget f|abc\n' | ask >out
	[ "$(cat out)" = $'STORED\nVALUE f|abc 0 1\n1\nEND' ]
}

@test "a typo is answered with ERROR" {
	start_server
	answers 'ERROR; ERROR; ERROR; ERROR' sett get 'Set f 0 0 1' ''
	for request in set 'set f' 'set f x 0 1' 'set f 0 0 -1' 'set f 0 0 1x'
	do
		answers 'CLIENT_ERROR bad command line format' "$request"
	done
}

@test "help names the requests, and where more is said" {
	start_server
	ask help version >out
	head -n 1 out | grep -q '^CLIENT_ERROR .*add, set.*bloomdedup-serve(1)$'
	local verb
	for verb in gets replace delete touch stats try setmem version \
		verbosity quit PING; do
		head -n 1 out | grep -qw $verb
	done
	grep -q '^VERSION' out
	[ "$(wc -l <out)" -eq 2 ]
}

@test "lines that end in a newline alone are as good, but for values" {
	start_server
	printf 'add f 0 0 8\n1000|0.1\r\nset f 0 0 5\nhello\r\nget f|hello\n' |
		ask >out
	[ "$(cat out)" = $'STORED\nSTORED\nVALUE f|hello 0 1\n1\nEND' ]
}

@test "a browser, and the binary protocol, are hung up on" {
	start_tcp
	add_filter f
	for word in GET POST PUT OPTIONS Host:; do
		printf '%s / HTTP/1.1\r\nset f 0 0 1\r\na\r\n' "$word" |
			"$HELPER" ask "127.0.0.1:$PORT" >out
		[ ! -s out ]
	done
	printf '\200\013\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0set f 0 0 1\r\na\r\n' |
		ask >out
	[ ! -s out ]
	answers END 'get f|a'
}

@test "a request with noreply is never answered, even if it is refused" {
	start_server
	add_filter f
	answers 'STORED; END' 'flush_all noreply' 'incr f|a 1 noreply' \
		'add f|a 0 0 1' x 'add none|a 0 0 1 noreply' x 'get f|b'
}

@test "a connection that begins with TLS, or binary requests, is closed" {
	start_server
	add_filter f
	for first in '\026\003\001' '\200\000'; do
		printf "$first"'\r\nset f|a 0 0 1\r\nx\r\n' | ask >out
		[ ! -s out ]
	done
	answers END 'get f|a'
	# later bytes may be any
	printf 'set f|b 0 0 1\r\n\026\r\n' | ask >out
	[ "$(cat out)" = STORED ]
}
