# A filter on a server with a window of time, by the server's clock.
load ../common
load servers
load running

# start_at DAYS: a server that says that it is so many days later; changed by
# `clock DAYS`. URL is that of the proxy that says so.
start_at() {
	needs_bloom
	start
	clock "$1"
	start_proxy --later "$PWD/later"
	URL=redis://127.0.0.1:$PROXY
}

clock() {
	awk "BEGIN { printf \"%d\", $1 * 86400 }" >later.new
	mv later.new later
}

@test "a line is remembered for the window, and forgotten a quarter later" {
	start_at 0
	bloomdedup create --window=8d -n 4e5 "$URL/seen"
	seq 1 1000 | bloomdedup -f "$URL/seen" | cmp - <(seq 1 1000)
	for days in 1 3 5 7.9; do
		clock "$days"
		[ -z "$(seq 1 1000 | bloomdedup check -v -f "$URL/seen")" ]
		echo "day $days" | bloomdedup add -f "$URL/seen"
	done
	bloomdedup info "$URL/seen" >info
	grep -q 'window        8d' info
	[ "$(grep -c generation info)" -ge 4 ]
	clock 10.1
	seq 1 1000 | bloomdedup -f "$URL/seen" | cmp - <(seq 1 1000)
	[ -z "$(echo 'day 3' | bloomdedup check -v -f "$URL/seen")" ]
}

@test "while the server's clock is years behind, nothing is printed or remembered" {
	start_at 0
	seq 100 | bloomdedup --window=8d -n 4e5 -f "$URL/seen" >out
	clock -7500 # as many digits as now
	for command in '' check add; do
		fails 3 "the server's clock is before 2026" \
			bloomdedup $command -f "$URL/seen" <<<101
	done
	fails 3 "the server's clock is before 2026" \
		bloomdedup create --window=8d -n 4e5 "$URL/new"
	clock 1
	seq 101 | bloomdedup -f "$URL/seen" | cmp - <(echo 101)
	seq 3 | bloomdedup -f "$URL/new" | cmp - <(seq 3)
}

@test "a run that lasts longer than a generation" {
	start_at 0
	mkfifo in
	"$BLOOMDEDUP" --window=8d -n 4e5 -f "$URL/seen" <in >out 2>err 3>&- &
	client=$!
	exec 9>in
	echo 1 >&9
	until_true grep -qx 1 out
	# it asks for the time once a minute: another run makes the generation
	clock 3
	bloomdedup -f "$URL/seen" <<<2 | cmp - <(echo 2)
	printf '%s\n' 1 3 >&9
	until_true grep -qx 3 out
	exec 9>&-
	wait "$client"
	printf '%s\n' 1 3 | cmp - out
	seq 1 3 | bloomdedup -f "$URL/seen" >again
	[ ! -s again ]
}

@test "claims of four clients, and what goes by itself" {
	start_at 0
	bloomdedup create --window=8d -n 4e5 "$URL/seen"
	echo 0 | bloomdedup add -f "$URL/seen"
	clock 2.1
	clients=()
	for i in 1 2 3 4; do
		seq 0 5000 | shuf | "$BLOOMDEDUP" --claim -f "$URL/seen" \
			>out$i 2>err$i 3>&- &
		clients+=($!)
	done
	all_end "${clients[@]}"
	sort -n out? | cmp - <(seq 1 5000)
	# header; two generations with their keys
	[ "$(cli dbsize)" -eq $((3 + $(shards | wc -l))) ]
	cli --scan | grep -vxF 'bloomdedup:{seen}' | lifetimes >left
	run ! grep -v '^[1-9]' left
	# nobody used it for a month: none of it counts
	clock 40
	seq 0 10 | bloomdedup check -f "$URL/seen" >out || [ $? -eq 1 ]
	[ ! -s out ]
	seq 0 10 | bloomdedup -f "$URL/seen" | cmp - <(seq 0 10)
}

@test "replaced and removed, nothing of a window is left" {
	needs_bloom
	start
	bloomdedup -f "$URL/seen" --window=1h <<<1 >out 2>notes
	bloomdedup create --force --window=2h "$URL/seen"
	# header, and a generation with its key and one shard
	[ "$(cli dbsize)" -eq 3 ]
	bloomdedup -f "$URL/seen" <<<1 >out
	shard=$(shards | head -n 1)
	cli del "$shard"
	fails 3 "$shard is missing" bloomdedup check -f "$URL/seen" <<<1
	bloomdedup remove "$URL/seen"
	[ "$(cli dbsize)" -eq 0 ]
}

@test "a filter that is replaced or removed is noticed at a quarter's border" {
	needs_bloom
	start
	for command in 'create --force' remove; do
		for claim in '' --claim; do
			begin --window=4s $claim
			say 1
			# shellcheck disable=SC2086
			bloomdedup $command "$URL/seen" 2>notes
			sleep 1.1
			# it may have ended over its marks
			try_to_say 2
			end 3
			grep -q 'no longer there' err
			echo 1 | cmp - out
			[ "$command" = remove ] ||
				bloomdedup remove "$URL/seen"
			[ "$(cli dbsize)" -eq 0 ]
		done
	done
}

@test "a generation that ends while a batch is on its way is no damage" {
	needs_bloom
	start
	for claim in '' --claim; do
		bloomdedup add -f "$URL/seen$claim" --window=4s <<<1 2>notes
		start_proxy --cut-before BF.MEXISTS --meanwhile 'sleep 7.5'
		# shellcheck disable=SC2086
		bloomdedup $claim -f "redis://127.0.0.1:$PROXY/seen$claim" \
			<<<2 >out
		stop_proxy
		echo 2 | cmp - out
	done
}

@test "a generation's key that was evicted: its lines still count" {
	start_at 0
	bloomdedup create --window=8d -n 4e6 -p 1e-3 "$URL/seen"
	seq 1 100 | bloomdedup add -f "$URL/seen"
	cli del "$(cli --scan --pattern 'bloomdedup:{seen:*')"
	[ -z "$(seq 1 100 | bloomdedup check -v -f "$URL/seen")" ]
	clock 2.5
	[ -z "$(seq 1 100 | bloomdedup -f "$URL/seen")" ]
	cli --scan --pattern 'bloomdedup:{seen:*' >keys
	[ "$(wc -l <keys)" -eq 1 ]
	shards >keys
	gone=$(sed 's/.*/bf.card "&"/' keys | cli | paste - keys |
		awk '$1 > 1 { key = $2 } END { print key }')
	cli del "$gone"
	fails 3 "$gone is missing" bloomdedup -f "$URL/seen" <<<1
}

@test "a cluster" {
	needs_bloom
	start_cluster
	seq 1 1000 | bloomdedup -f "$URL/seen" --window=30d -n 4e6 2>notes |
		cmp - <(seq 1 1000)
	seq 1 1001 | bloomdedup --claim -f "$URL/seen" | cmp - <(echo 1001)
	bloomdedup remove "$URL/seen"
	for port in "${PORTS[@]}"; do
		[ "$(redis-cli -p "$port" dbsize)" -eq 0 ]
	done
}

@test "what a window on a server can't be" {
	start
	fails 2 'order no client knows' bloomdedup create --window=1000 "$URL/a"
	kind=bits
	start
	fails 2 'with BF.*' bloomdedup create --window=30d "$URL/a"
	[ "$(cli dbsize)" -eq 0 ]
}
