# What the tests of serve share: a server in the test's directory, and requests
# to it. Load it behind ../common.

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	needs_serve
	mkdir filters
	# the name of a unix socket must be short
	SOCKETS=$(mktemp -d /tmp/serve-XXXXXX)
	SOCKET=$SOCKETS/s
	SERVER=
}

teardown() {
	stop_server -KILL || true
	if [ -n "${REDIS_PID-}" ]; then
		kill "$REDIS_PID"
		wait "$REDIS_PID" || true
	fi
	rm -rf "$SOCKETS"
}

# is_serving: does the server say that it listens everywhere?
is_serving() {
	local said
	mapfile said <server.err
	[[ ${said[*]} != *unix:* ]] || return 0
	kill -0 "$SERVER" 2>/dev/null || { cat server.err; return 0; }
	return 1
}

# start_server [OPTION]...: on $SOCKET, and where the options say.
start_server() {
	: >server.err # not what the one before has said
	become_server "$@" &
	await_server $!
}

# start_limited LIMIT VALUE [OPTION]...: the same, under a limit of ulimit.
start_limited() {
	: >server.err
	(
		ulimit "$1" "$2"
		shift 2
		become_server "$@"
	) &
	await_server $!
}

# become_server [OPTION]...: in a process of its own.
become_server() {
	exec "$BLOOMDEDUP" serve -d filters "$@" -l "unix:$SOCKET" \
		>server.out 2>server.err 3>&- 4>&- 5>&-
}

await_server() {
	SERVER=$1
	until_true is_serving
	kill -0 "$SERVER"
}

# start_tcp [OPTION]...: the same, and a free port of 127.0.0.1, $PORT.
start_tcp() {
	start_server -l 127.0.0.1:0 "$@"
	PORT=$(sed -n 's/.* on 127\.0\.0\.1:\([0-9]*\)$/\1/p' server.err)
	[ -n "$PORT" ]
}

# stop_server [SIGNAL]: returns its exit status.
stop_server() {
	local pid=$SERVER
	[ -n "$pid" ] || return 0
	SERVER=
	kill "${1:--TERM}" "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
}

# ask [REQUEST]...: send each as a line (\r\n is added), or standard input as it
# is; print all replies without \r.
# shellcheck disable=SC2120 # the tests pass requests
ask() {
	if [ $# -gt 0 ]; then
		printf '%s\r\n' "$@" | "$HELPER" ask "$SOCKET"
	else
		"$HELPER" ask "$SOCKET"
	fi | tr -d '\r'
}

# answers REPLY REQUEST...: all replies, joined by "; ".
answers() {
	local want=$1 got lines
	shift
	mapfile -t lines < <(printf '%s\r\n' "$@" | "$HELPER" ask "$SOCKET")
	printf -v got '%s; ' "${lines[@]%$'\r'}"
	got=${got%; }
	if [ "$got" != "$want" ]; then
		printf 'asked:   %s\ngot:     %s\ninstead of %s\n' "$*" \
			"$got" "$want"
		return 1
	fi
}

# add_filter NAME [PLAN]
add_filter() {
	local plan=${2:-10000|1e-6}
	answers STORED "add $1 0 0 ${#plan}" "$plan"
}

# redis_requests REQUEST...: each, words with blanks between them, in Redis'
# protocol; a word of '' is an empty one.
redis_requests() {
	printf '%s\n' "$@" | LC_ALL=C awk -v "empty=''" '{
		printf "*%d\r\n", NF
		for (i = 1; i <= NF; i++) {
			word = $i == empty ? "" : $i
			printf "$%d\r\n", length(word)
			print word "\r"
		}
	}'
}

# redis REQUEST...: send them; print the replies without \r.
redis() {
	redis_requests "$@" | ask
}

# redis_answers REPLY REQUEST...: all lines of the replies, joined by blanks.
redis_answers() {
	local want=$1 got lines
	shift
	mapfile -t lines < <(redis_requests "$@" | "$HELPER" ask "$SOCKET")
	printf -v got '%s ' "${lines[@]%$'\r'}"
	got=${got% }
	if [ "$got" != "$want" ]; then
		printf 'asked:   %s\ngot:     %s\ninstead of %s\n' "$*" \
			"$got" "$want"
		return 1
	fi
}

# start_redisbloom: Redis with its module, on $REDIS_SOCKET, to compare replies.
start_redisbloom() {
	: "${REDIS_BLOOM:=$ROOT/build/redis/redisbloom.so}"
	[ -e "$REDIS_BLOOM" ] || skip "RedisBloom is not installed"
	command -v "${REDIS_SERVER:-redis-server}" >/dev/null ||
		skip "redis-server is not installed"
	REDIS_SOCKET=$SOCKETS/r
	"${REDIS_SERVER:-redis-server}" --port 0 --save '' --dir "$PWD" \
		--unixsocket "$REDIS_SOCKET" --loadmodule "$REDIS_BLOOM" \
		>redis.out 2>&1 3>&- 4>&- &
	REDIS_PID=$!
	until_true redisbloom_answers
}

# The socket is there a moment before anybody listens at it.
redisbloom_answers() {
	printf 'PING\r\n' | "$HELPER" ask "$REDIS_SOCKET" | grep -q PONG
}

# start_holder SCRIPT [ARGUMENT]...: run the Python script, which is given $SOCKET
# and the arguments, opens connections, prints a line (to `held`) and then waits
# for the end of its standard input. end_holder ends it.
start_holder() {
	local script=$1
	shift
	rm -f in said
	mkfifo in said
	python3 "$script" "$SOCKET" "$@" <in >said 3>&- &
	HOLDER=$!
	exec 4>in
	# it comes to its end if the script fails
	head -n 1 said >held
	[ -s held ]
}

end_holder() {
	exec 4>&-
	wait "$HOLDER"
}

# memory: what the server has in memory, in kB, without the filters' files.
memory() {
	awk '/^RssAnon/ { print $2 }' "/proc/$SERVER/status"
}

# needs_memory_figures: skip where memory can't be told, or isn't what it is.
needs_memory_figures() {
	grep -q RssAnon /proc/self/status || skip "no RssAnon in /proc"
	! is_sanitized || skip "the sanitizer takes more memory"
}
