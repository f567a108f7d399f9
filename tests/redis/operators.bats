# What those who run servers meet: nodes that are down, rights, renamed keys,
# servers that hang.
load ../common
load servers
load running

@test "several hosts: one that is down is no reason to fail" {
	# a node that is late is no node that is down
	start_cluster --cluster-node-timeout 15000
	down=$(free_port)
	several=redis://127.0.0.1:$down,127.0.0.1:${PORTS[1]}/seen
	seq 1 1000 | bloomdedup --lock-timeout=0 -f "$several" 2>notes |
		cmp - <(seq 1 1000)
	seq 1 1001 | bloomdedup -f "redis://127.0.0.1:${PORTS[0]},\
127.0.0.1:$down/seen" | cmp - <(echo 1001)
	fails 3 refused bloomdedup check \
		-f "redis://127.0.0.1:$down,127.0.0.1:$down/seen" <<<1
	start
	fails 3 'several hosts are for a cluster' bloomdedup --lock-timeout=0 \
		-f "redis://127.0.0.1:$PORT,127.0.0.1:$down/seen" <<<1
}

@test "a user of a cluster without the right to ask for its slots" {
	start_cluster
	bloomdedup create -n 1e7 "$URL/seen" 2>notes
	for port in "${PORTS[@]}"; do
		redis-cli -p "$port" acl setuser bd on '>pw' '~*' +@all \
			'-cluster|slots' >set
	done
	seq 1 100 >in
	for port in "${PORTS[@]}"; do
		status=0
		bloomdedup -f "redis://bd:pw@127.0.0.1:$port/seen" in >out \
			2>err || status=$?
		[ "$status" -eq 3 ]
		grep -qF '+cluster|slots' err
	done
	# a single server has nothing that it would be needed for
	start
	cli acl setuser bd on '>pw' '~*' +@all '-cluster|slots' >set
	bloomdedup -f "redis://bd:pw@127.0.0.1:$PORT/seen" in 2>notes |
		cmp - in
}

@test "two passwords for one address: each is used" {
	start
	bloomdedup create "$URL/seen" 2>notes
	cli acl setuser good on '>right' '~*' +@all >set
	cli acl setuser bad on '>wrong' '~*' +@all -get >set
	status=0
	bloomdedup info --json "redis://good:right@127.0.0.1:$PORT/seen" \
		"redis://bad:wrong@127.0.0.1:$PORT/seen" >out 2>err || status=$?
	[ "$status" -eq 3 ]
	[ "$(wc -l <out)" -eq 1 ]
	grep -q NOPERM err
	bloomdedup info "redis://bad:wrong@127.0.0.1:$PORT/seen" \
		"redis://good:right@127.0.0.1:$PORT/seen" >out 2>err ||
		[ $? -eq 3 ]
	grep -q 'made for' out
}

@test "create --like: a file for as many lines as a filter on a server" {
	for kind in $KINDS; do
		start
		bloomdedup create -n 5000 -p 1e-4 -k 2 "$URL/seen" 2>notes
		bloomdedup create --like="$URL/seen" "like-$kind"
		bloomdedup info "like-$kind" >info
		grep -q 'made for      5,000 lines at an error rate of 0.0001' info
		grep -q 'key           --key=2' info
		printf '%s\n' 'a 1' 'b 1' 'a 2' |
			bloomdedup -f "like-$kind" |
			cmp - <(printf '%s\n' 'a 1' 'a 2')
	done
	every_kind
}

@test "size with the address of a server: what a filter would be there" {
	for kind in $KINDS; do
		start
		for options in '-n 1000 -p 1e-4' '-n 3e6 -p 1e-6' '-n 10 -p 1e-7'
		do
			# shellcheck disable=SC2086
			bloomdedup size --json $options "$URL/seen" >size
			[ "$(cli dbsize)" -eq 0 ]
			# shellcheck disable=SC2086
			bloomdedup create $options "$URL/seen" 2>notes
			shards >keys
			[ "$(json_value shards <size)" -eq "$(wc -l <keys)" ]
			used=$(sed 's/.*/memory usage "&"/' keys | cli |
				awk '{ sum += $1 } END { print sum }')
			holds 'used > 0.8 * told && used < 1.25 * told + 2000' \
				used="$used" told="$(json_value bytes <size)"
			cli flushall >flushed
		done
		bloomdedup size -n 1000 "$URL/seen" |
			grep -q '^1,000 lines .* on the server'
	done
	fails 2 redis://HOST/NAME bloomdedup size -n 1000 file
	fails 2 memory bloomdedup size -n 1000 -m 1M "$URL/seen"
	every_kind
}

@test "a first run without the right to PERSIST leaves nothing" {
	for kind in $KINDS; do
		start
		cli acl setuser default -persist >set
		fails 3 "NOPERM" bloomdedup create --on-full=fail "$URL/seen"
		[ "$(cli dbsize)" -eq 0 ]
	done
	every_kind
}

@test "a header that was renamed is named" {
	for kind in $KINDS; do
		start
		seq 1 100 | bloomdedup add -f "$URL/seen" 2>notes
		cli rename 'bloomdedup:{seen}' 'bloomdedup:{other}' >renamed
		fails 3 'cannot be renamed' bloomdedup check -f "$URL/other" \
			<<<1
		cli rename 'bloomdedup:{other}' 'bloomdedup:{seen}' >renamed
		seq 1 100 | bloomdedup check -f "$URL/seen" |
			cmp - <(seq 1 100)
	done
	every_kind
}

# hang: the server stops to answer, for as long as the test goes on
hang() {
	kill -STOP "$(<"server-$PORT/redis.pid")"
}

# is_asked: has the server received something that it hasn't read?
is_asked() {
	awk -v port="$(printf ':%04X$' "$PORT")" '$2 ~ port && $4 == "01" &&
		$5 !~ /:00000000$/ { asked = 1 } END { exit !asked }' \
		/proc/net/tcp
}

@test "a server that hangs: what is said" {
	local patience=
	for kind in $KINDS; do
		start
		bloomdedup create -n 1e5 "$URL/seen" 2>notes
		begin
		say 1
		until_true is_remembered 1
		hang
		echo 2 >&9
		until_true is_asked
		until_true grep -q 'does not answer; waiting for it' err
		status=0
		# 15 s once; it is the same with every kind
		# shellcheck disable=SC2086 # none, or one
		fails 3 "the server does not answer" bloomdedup check \
			$patience -f "$URL/seen" <<<1
		patience=--lock-timeout=2
		fails 3 "the server does not answer" bloomdedup \
			--lock-timeout=0 -f "$URL/seen" <<<1
		kill -TERM "$RUN" # a shell lets its children ignore INT
		exec 9>&-
		wait "$RUN" || status=$?
		[ "$status" -eq 143 ]
		grep -q "the server does not answer" err
		kill -CONT "$(<"server-$PORT/redis.pid")"
		echo 1 | cmp - out
	done
	every_kind
}

@test "a server that hangs: lines that were printed, and are not remembered" {
	for kind in $KINDS; do
		start
		bloomdedup create -n 1e5 "$URL/seen" 2>notes
		word=BF.INSERT
		[ "$kind" = bloom ] || word=BITFIELD
		# the proxy stops with the mark that it got
		start_proxy --cut-before "$word" \
			--meanwhile "kill -STOP $(<"server-$PORT/redis.pid")"
		server=$URL URL=redis://127.0.0.1:$PROXY
		begin --lock-timeout=0
		printf '%s\n' 1 2 3 >&9
		status=0
		wait "$RUN" || status=$?
		exec 9>&-
		[ "$status" -eq 3 ]
		seq 1 3 | cmp - out
		grep -q ': the server did not confirm that it remembers the last 3 new' err
		kill -CONT "$(<"server-$PORT/redis.pid")"
		stop_proxy
		seq 1 3 | bloomdedup -f "$server/seen" | cmp - <(seq 1 3)
	done
	every_kind
}
