# Redis servers of the tests' own, on free ports of the loopback interface, in
# directories that go with the test. Loaded after common.bash.
#
# REDIS_SERVER and REDIS_CLI name others than those that are installed, and
# REDIS_BLOOM the module redisbloom.so; tests/redis/install gets it.

if ! command -v redis-server >/dev/null; then
	: "${REDIS_SERVER:=$(command -v valkey-server || true)}"
	: "${REDIS_CLI:=$(command -v valkey-cli || true)}"
fi
: "${REDIS_SERVER:=$(command -v redis-server || true)}"
: "${REDIS_CLI:=$(command -v redis-cli || true)}"

: "${REDIS_BLOOM:=$(find "$ROOT/build/redis" -name redisbloom.so 2>/dev/null)}"
# The kinds of shards that can be tried, the best one last.
KINDS="bits${REDIS_BLOOM:+ bloom}"
kind=${KINDS##* }

# every_kind: at the end of a test that tries each of $KINDS
every_kind() {
	[ -n "$REDIS_BLOOM" ] ||
		skip "for the other half, RedisBloom is not installed"
}

needs_bloom() {
	[ -n "$REDIS_BLOOM" ] || skip "RedisBloom is not installed"
}

redis-server() {
	"$REDIS_SERVER" "$@"
}

redis-cli() {
	"$REDIS_CLI" "$@"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	need_redis
}

need_redis() {
	unset REDISCLI_AUTH
	[ -n "$REDIS_SERVER" ] && [ -n "$REDIS_CLI" ] ||
		skip "redis-server is not installed"
	bloomdedup --version | grep -q redis || skip "built without redis"
}

teardown() {
	local file
	for file in "$BATS_TEST_TMPDIR"/*.pid "$BATS_TEST_TMPDIR"/*/*.pid; do
		if [ -s "$file" ]; then
			kill -KILL "$(<"$file")" 2>/dev/null || true
		fi
	done
}

# cli ARGUMENT...: redis-cli for the server at $PORT
cli() {
	redis-cli -p "$PORT" "$@"
}

# free_port: one that nothing listens at. A cluster's node needs 10000 more, and
# both are below those that the kernel gives to connections (32768 and up).
free_port() {
	local port
	while :; do
		port=$((10000 + RANDOM % 12000))
		if ! (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
			echo "$port"
			return
		fi
	done
}

# start_on PORT [OPTION]...: a server at this port, with what $kind needs
start_on() {
	local port=$1
	shift
	[ "$kind" = bits ] || set -- --loadmodule "$REDIS_BLOOM" "$@"
	mkdir -p "server-$port"
	redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly no \
		--dir "$PWD/server-$port" --pidfile "$PWD/server-$port/redis.pid" \
		--daemonize yes "$@" >"server-$port/start" 2>&1 3>&- 9>&- ||
		return 1
	until_true answers "$port"
}

# says PORT COMMAND: sets ANSWER to all that a server answers. For what is asked
# again and again: it starts no process.
says() {
	ANSWER=
	{ printf '%s\r\nQUIT\r\n' "$2" >&8 && read -r -d '' ANSWER <&8 || true
	} 8<>"/dev/tcp/127.0.0.1/$1"
	[ -n "$ANSWER" ]
}

# Also a server that wants a password, or loads, answers.
answers() {
	says "$1" PING
}

# start [OPTION]...: a server, for $kind; sets PORT and URL
start() {
	local try
	for try in 1 2 3 4 5; do
		PORT=$(free_port)
		URL=redis://127.0.0.1:$PORT
		if start_on "$PORT" "$@"; then
			return 0
		fi
	done
	echo "redis-server does not start"
	return 1
}

# stop [PORT]: kill a server at once
stop() {
	local port=${1:-$PORT} process
	process=$(<"server-$port/redis.pid")
	kill -KILL "$process"
	while kill -0 "$process" 2>/dev/null; do
		sleep 0.01
	done
	rm "server-$port/redis.pid"
}

# start_cluster: three nodes; sets PORTS, and PORT and URL of the first
start_cluster() {
	local i
	PORTS=()
	for i in 1 2 3; do
		start --cluster-enabled yes --cluster-node-timeout 1000 "$@" ||
			return 1
		PORTS+=("$PORT")
	done
	redis-cli --cluster create "${PORTS[@]/#/127.0.0.1:}" --cluster-yes \
		>cluster.out 2>&1 || { cat cluster.out; return 1; }
	PORT=${PORTS[0]}
	URL=redis://127.0.0.1:$PORT
	for i in "${PORTS[@]}"; do
		until_true cluster_is_ok "$i"
	done
}

cluster_is_ok() {
	says "$1" 'CLUSTER INFO' && [[ $ANSWER == *cluster_state:ok* ]]
}

# start_proxy [OPTION]...: in front of the server at $PORT; sets PROXY (its
# port) and PROXY_PID. tests/redis/proxy.py has the options.
start_proxy() {
	exec 8< <(exec python3 -IS "$ROOT/tests/redis/proxy.py" "$@" "$PORT" \
		2>proxy.out 3>&-)
	PROXY_PID=$!
	echo "$PROXY_PID" >proxy.pid
	read -r PROXY <&8 || { cat proxy.out; return 1; }
	exec 8<&-
}

stop_proxy() {
	kill -KILL "$PROXY_PID" 2>/dev/null || true
	wait "$PROXY_PID" 2>/dev/null || true
	: >proxy.pid
}

# shards [NAME]: the keys of a filter's shards
shards() {
	cli --scan --pattern "bloomdedup-shard:{${1:-seen}:*"
}

# lifetimes: of the keys on standard input, in seconds; -1 for those that stay
lifetimes() {
	sed 's/.*/ttl "&"/' | cli
}

# all_end PROCESS...: wait for all of them, of which none may fail.
all_end() {
	local process
	for process; do
		wait "$process" || return 1
	done
}

# four_clients LINES OPTION...: at once, on one filter, each with all of the
# lines in another order. What is lost is in the file `lost`.
four_clients() {
	local lines=$1 i clients=()
	shift
	for i in 1 2 3 4; do
		shuf -i "1-$lines" >in$i
		"$BLOOMDEDUP" "$@" -f "$URL/seen" in$i >out$i 2>err$i 3>&- &
		clients+=($!)
	done
	all_end "${clients[@]}" || return 1
	sort -u out? | comm -3 - <(seq 1 "$lines" | sort) >lost
	head -n 5 lost
	bloomdedup -f "$URL/seen" in1 >out || return 1
	[ ! -s out ]
}
