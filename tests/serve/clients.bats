# serve: real clients of memcached, as a distribution has them. Those that are
# in no package are in clients/, for `make check-clients`.
load ../common
load server

# find_python MODULE: $PYTHON becomes a Python that has the module, if one does.
find_python() {
	for PYTHON in python3 /usr/bin/python3; do
		! "$PYTHON" -c "import $1" 2>/dev/null || return 0
	done
	skip "Python with $1 is not installed"
}

# python MODULE [ARGUMENT]...: run the script on standard input.
python() {
	find_python "$1"
	shift
	"$PYTHON" - "$@"
}

# sees NAME COMMAND...: in each kind of trouble, what clients/seen says.
sees() {
	BLOOMDEDUP=$BLOOMDEDUP "$BATS_TEST_DIRNAME/clients/trouble.py" "$@" \
		>got
	grep "^$1 " "$BATS_TEST_DIRNAME/clients/seen" | diff - got
}

has_php() {
	command -v php >/dev/null && php -m | grep -qx "$1" || skip "php-$1 is not installed"
}

@test "php-memcached: the snippet of the server before this one" {
	has_php memcached
	start_tcp
	cat >test.php <<-'END'
		<?php
		$m = new Memcached();
		$m->addServer('127.0.0.1', (int)$argv[1]);
		function must($what, $got, $want) {
			if ($got !== $want) {
				echo "$what: "; var_dump($got); exit(1);
			}
		}
		must('make', $m->add('test', '1000000|0.0001'), true);
		must('make again', $m->add('test', '1000000|0.0001'), false);
		must('set', $m->set('test', 'subkey'), true);
		must('get', $m->get('test|subkey'), '1');
		must('miss', $m->get('test|other'), false);
		must('not found', $m->getResultCode(), Memcached::RES_NOTFOUND);
		must('add', $m->add('test|new', 1), true);
		must('add again', $m->add('test|new', 1), false);
		must('not stored', $m->getResultCode(), Memcached::RES_NOTSTORED);
		must('replace', $m->replace('test|new', 1), true);
		must('multi', $m->getMulti(['test|subkey', 'test|x', 'test|new']),
			['test|subkey' => '1', 'test|new' => '1']);
		must('no filter', $m->set('nowhere', 'x'), false);
		must('delete', $m->delete('test|new'), false);
		$stats = array_values($m->getStats())[0];
		must('get_misses', (int)$stats['get_misses'], 2);
		must('version', count($m->getVersion()), 1);
	END
	php test.php "$PORT"
}

@test "php-memcached: the example of the manual, pasted" {
	has_php memcached
	start_tcp
	{
		echo '<?php function fetch($url) { echo "$url\n"; }'
		echo '$url = $argv[1];'
		sed -n '/^\$m = new Memcached();$/,/^\.Ed$/p' \
			"$ROOT/man/bloomdedup-serve.1" | sed '$d' |
			sed "s/12345/$PORT/"
	} >test.php
	# longer than a key may be, with what no key has
	long="https://example.org/a b?$(printf '%03000d' 7)"
	for url in https://example.org/1 "$long"; do
		php test.php "$url" >out
		echo "$url" | cmp - out
		php test.php "$url" >out
		[ ! -s out ]
	done
	printf '%s\n' "$url" | bloomdedup check -q -f filters/urls.bloom
	stop_server
	[ "$(php test.php x)" = "$(php test.php x)" ]
	php test.php x | grep -qi 'connection\|fail\|error'
}

# manual_example LINE: the block of bloomdedup-serve(1) that begins with LINE
manual_example() {
	awk -v line="$1" '/^\.Ed/ { inside = 0 } $0 == line { inside = 1 }
		inside' "$ROOT/man/bloomdedup-serve.1" | sed "s/12345/$PORT/"
}

@test "pymemcache and redis-py: the examples of the manual, pasted" {
	start_tcp
	{
		echo 'import redis, sys'
		echo 'from pymemcache.client.base import Client'
		echo 'fetched = []; fetch = fetched.append'
		echo 'Client("127.0.0.1:12345", default_noreply=False).add("urls",' \
			'"10000|1e-6")' | sed "s/12345/$PORT/"
		echo 'url = "https://example.org/1"'
		manual_example "m = Client('127.0.0.1:12345', default_noreply=False)"
		manual_example "m = Client('127.0.0.1:12345', default_noreply=False)"
		echo 'assert fetched == [url]'
		manual_example 'r = redis.Redis(port=12345)'
		echo 'assert fetched == [url]'
		echo 'url = "https://example.org/2"'
		manual_example 'r = redis.Redis(port=12345)'
		echo 'assert fetched[1:] == [url]'
	} >example.py
	[ "$(grep -c '^if m.add' example.py)" -eq 2 ]
	[ "$(grep -c '^if r.bf' example.py)" -eq 2 ]
	find_python 'redis, pymemcache'
	"$PYTHON" example.py
}

@test "the bytes of a request, as in the manual" {
	start_server
	manual_example 'add urls 0 0 9' >requests
	[ "$(wc -l <requests)" -eq 4 ]
	cat requests requests | sed 's/$/\r/' | ask >out
	printf '%s\n' STORED STORED NOT_STORED NOT_STORED | cmp - out
}

@test "php-memcache" {
	has_php memcache
	start_tcp
	cat >test.php <<-'END'
		<?php
		$m = new Memcache();
		$m->connect('127.0.0.1', (int)$argv[1]) or exit(2);
		if (!$m->add('test', '1000000|0.0001')) exit(3);
		if (!$m->set('test', 'subkey')) exit(4);
		if ($m->get('test|subkey') !== '1') exit(5);
		if ($m->get('test|other') !== false) exit(6);
		if (!$m->add('test|new', 1)) exit(7);
		if ($m->add('test|new', 1)) exit(8);
		if (!isset($m->getStats()['curr_connections'])) exit(9);
	END
	php test.php "$PORT"
}

@test "pymemcache" {
	start_tcp
	python pymemcache "$PORT" "$SOCKET" <<-'END'
		import sys
		from pymemcache.client.base import Client, PooledClient
		for address in ("127.0.0.1", int(sys.argv[1])), sys.argv[2]:
		    m = Client(address, default_noreply=False)
		    m.add("test", "1000000|0.0001")
		    assert m.add("test", "1000000|0.0001") is False
		    assert m.set("test", "subkey") is True
		    assert m.get("test|subkey") == b"1"
		    assert m.gets("test|subkey") == (b"1", b"1")
		    assert m.get("test|other") is None
		    new = "test|" + str(address)[:8].replace(" ", "_")
		    assert m.add(new, "x") is True and m.add(new, "x") is False
		    assert m.replace(new, "x") and not m.replace("test|no", "x")
		    assert m.get_many(["test|subkey", "test|other", new]) == {
		        "test|subkey": b"1", new: b"1"}
		    m.set_many({"test|%d" % i: "x" for i in range(100)})
		    assert len(m.get_many(["test|%d" % i for i in range(200)])) == 100
		    assert m.stats()[b"curr_items"] == 1
		    assert m.version()
		    try:
		        m.get("nowhere|x")
		        sys.exit("no error")
		    except Exception as error:
		        assert "no such filter" in str(error), error
		    quiet = Client(address, default_noreply=True)
		    quiet.set("test|quiet", "x")
		    assert quiet.get("test|quiet") == b"1"
		assert m.delete("test") is True and m.delete("test") is False
	END
}

@test "pylibmc" {
	start_tcp
	python pylibmc "$PORT" <<-'END'
		import sys
		import pylibmc
		m = pylibmc.Client(["127.0.0.1:" + sys.argv[1]])
		assert m.add("test", "1000000|0.0001")
		assert m.set("test", "subkey")
		assert m.get("test|subkey") == "1" or m.get("test|subkey") == b"1"
		assert m.get("test|other") is None
		assert m.add("test|new", "x") and not m.add("test|new", "x")
		assert sorted(m.get_multi(["test|subkey", "test|x", "test|new"])) == [
		    "test|new", "test|subkey"]
		assert m.get_stats()[0][1]
	END
}

@test "libmemcached's tools: memccapable for what exists here, memcstat, memcping" {
	needs memccapable
	start_tcp
	for what in version verbosity quit stat; do
		memccapable -h 127.0.0.1 -p "$PORT" -a -T "ascii $what" >out 2>&1
		cat out
		grep -q "^ascii $what.*\[pass\]" out
	done
	memcping --servers="127.0.0.1:$PORT"
	memcstat --servers="127.0.0.1:$PORT" >out
	grep -q curr_connections out
}

@test "memcached-tool stats" {
	tool=$(command -v memcached-tool || echo /usr/share/memcached/scripts/memcached-tool)
	[ -e "$tool" ] || skip "memcached-tool is not installed"
	start_tcp
	perl "$tool" "127.0.0.1:$PORT" stats >out
	cat out
	grep -qE '^ *get_hits +0' out
	perl "$tool" "127.0.0.1:$PORT" settings >out
	grep -qE '^ *maxconns +1024' out
	perl "$tool" "127.0.0.1:$PORT" display
}

@test "in each kind of trouble: pymemcache, with and without noreply" {
	find_python pymemcache
	sees pymemcache "$PYTHON" "$BATS_TEST_DIRNAME/clients/asks.py" \
		pymemcache
	rm -r filters
	sees pymemcache-defaults "$PYTHON" \
		"$BATS_TEST_DIRNAME/clients/asks.py" pymemcache-defaults
}

@test "in each kind of trouble: pylibmc" {
	find_python pylibmc
	sees pylibmc "$PYTHON" "$BATS_TEST_DIRNAME/clients/asks.py" pylibmc
}

@test "in each kind of trouble: python-memcached" {
	find_python memcache
	sees python-memcached "$PYTHON" "$BATS_TEST_DIRNAME/clients/asks.py" \
		memcache
}

@test "in each kind of trouble: php-memcached" {
	has_php memcached
	sees php php "$BATS_TEST_DIRNAME/clients/asks.php"
}

@test "redis-cli" {
	needs redis-cli
	start_tcp
	for version in -2 -3; do
		redis-cli $version -p "$PORT" BF.ADD "f$version" a
	done >out
	[ "$(paste -sd ' ' out)" = '1 (true)' ]
	# one after the other, and what comes with a pipe
	printf 'BF.MADD f a b c\nBF.CARD f\nINFO\nBF.INFO f\n' |
		redis-cli -p "$PORT" >out
	cat out
	[ "$(sed -n 4p out)" = 3 ]
	grep -q '^loading:0' out
	grep -q '^Number of items inserted$' out
	printf '*3\r\n$6\r\nBF.ADD\r\n$1\r\nf\r\n$1\r\nz\r\n' |
		redis-cli -p "$PORT" --pipe | grep -q 'errors: 0, replies: 1'
	redis-cli -p "$PORT" --scan --pattern 'f*' | sort >out
	[ "$(paste -sd ' ' out)" = 'f f-2 f-3' ]
}

@test "redis-cli, idle for longer than any timeout" {
	needs redis-cli
	start_tcp --idle-timeout=1
	mkfifo in
	redis-cli -p "$PORT" <in >out 2>&1 3>&- &
	cli=$!
	exec 4>in
	echo 'BF.ADD f a' >&4
	until_true grep -qx 1 out
	# ask's connection is one, too
	is_closed() { ask stats | grep -qx 'STAT curr_connections 1'; }
	until_true is_closed
	# it says that the server has closed the connection, and connects again
	printf 'BF.ADD f a\nBF.ADD g a\n' >&4
	exec 4>&-
	wait "$cli"
	cat out
	sed -n 2p out | grep -qE '^0$|closed'
	[ "$(sed -n '1p;3p' out | paste -sd ' ')" = '1 1' ]
}

@test "redis-py" {
	start_tcp
	python redis "$PORT" <<-'END'
		import sys
		import redis
		r = redis.Redis(port=int(sys.argv[1]))
		bf = r.bf()
		assert bf.create("test", 0.001, 1000)
		assert bf.add("test", "subkey") == 1 and bf.add("test", "subkey") == 0
		assert bf.madd("test", "subkey", "new") == [0, 1]
		assert bf.exists("test", "new") == 1
		assert bf.mexists("test", "new", "other") == [1, 0]
		assert bf.insert("made", ["a"], capacity=50, error=0.01) == [1]
		assert bf.info("test").capacity == 1000
		assert bf.info("test").insertedNum == 2
		for transaction in True, False:
		    pipe = r.pipeline(transaction=transaction)
		    for i in range(1000):
		        pipe.execute_command("BF.ADD", "test", i)
		    assert sum(pipe.execute()) == (1000 if transaction else 0)
		try:
		    bf.info("nowhere")
		    sys.exit("no error")
		except redis.ResponseError as error:
		    assert str(error) == "not found", error
		assert sorted(r.scan_iter()) == [b"made", b"test"]
		assert r.exists("test") == 1
	END
}
