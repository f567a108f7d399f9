# A filter on a Redis server: what a run does with it, for both kinds of shards.
load ../common
load servers
load running

# lines N: N lines in no order, about a third of them more than once
lines() {
	perl -e 'srand 7; for (1 .. $ARGV[0]) {
		my $n = rand() < 0.7 ? $_ : int(rand($_)); print "line $n\n" }' "$1"
}

@test "new lines come out once, over all runs" {
	lines 10000 >in
	model in >expected
	for kind in $KINDS; do
		start
		head -n 6000 in | bloomdedup -f "$URL/seen" >out
		tail -n +6001 in >rest
		bloomdedup -f "$URL/seen" rest >>out
		cmp out expected
		bloomdedup -f "$URL/seen" in >again
		[ ! -s again ]
	done
	every_kind
}

@test "key options are kept on the server, also a list of --url" {
	for kind in $KINDS; do
		start
		bloomdedup -n 1000 --url=form,scheme -f "$URL/seen" \
			<<<'http://a/?b=%2C&a' >out
		echo 'http://a/?b=%2C&a' | cmp - out
		printf '%s\n' 'https://a/?a=&b=,' 'http://a/?a=,&b' >in
		bloomdedup -f "$URL/seen" in >out
		tail -n 1 in | cmp - out
		bloomdedup key -f "$URL/seen" in >out
		printf '%s\n' '//a/?a=&b=%2C' '//a/?a=%2C&b=' | cmp - out
		fails 2 'made with --url=form,scheme, which contradicts --url:' \
			bloomdedup -f "$URL/seen" --url in
	done
	every_kind
}

@test "as many lines as there are, and growth to six times" {
	is_slow || skip "long form only"
	lines 3000000 >in
	model in >expected
	for kind in $KINDS; do
		start
		bloomdedup -n 3e6 -f "$URL/seen" in | cmp - expected
		[ -z "$(bloomdedup -f "$URL/seen" in)" ]
	done
	kind=bloom
	needs_bloom
	start
	bloomdedup -n 3e5 -f "$URL/seen" in >out 2>err
	[ "$(comm -13 <(sort out) <(sort expected) | wc -l)" -le 20 ]
	grep -q 'grew to' err
}

# received: how many bytes the server has received
received() {
	cli info stats | tr -d '\r' | sed -n 's/^total_net_input_bytes://p'
}

# costs BYTES FILE: a run in at most 40 MB of memory, which sends so many bytes a
# line at most
costs() {
	local before
	before=$(received)
	"$HELPER" peak 39062 "$BLOOMDEDUP" -f "$URL/seen" "$2" \
		>out 2>err || { cat err; return 1; }
	holds 'after - before <= most * lines' most="$1" \
		lines="$(wc -l <"$2")" before="$before" after="$(received)"
}

@test "memory and bytes sent are bounded, and the manual says how" {
	skip_if_sanitized
	# more than a batch, which is 65,536 lines
	seq -f 'https://www.example.com/%.0f' 1 66000 >in
	for kind in $KINDS; do
		start
		bloomdedup create -n 1e7 "$URL/seen" 2>notes
		new=80 seen=80
		[ "$kind" = bloom ] || new=790 seen=190
		costs "$new" in
		cmp out in
		costs "$seen" in
		[ ! -s out ]
	done
	every_kind
}

@test "any bytes, long lines, a last line without a newline" {
	{
		printf 'a\0b\na\0c\n\n\n'
		head -c 300000 /dev/zero
		printf '\nx'
	} >in
	model in >expected
	for kind in $KINDS; do
		start
		bloomdedup -f "$URL/seen" in >out
		cmp out expected
		bloomdedup -f "$URL/seen" in >again
		[ ! -s again ]
	done
	every_kind
}

@test "each line is printed as soon as it arrives" {
	start
	mkfifo in
	"$BLOOMDEDUP" -f "$URL/seen" <in >out 3>&- &
	exec 9>in
	echo one >&9
	until_true grep -qx one out
	echo two >&9
	until_true grep -qx two out
	echo one >&9
	echo three >&9
	until_true grep -qx three out
	exec 9>&-
	wait $!
	printf '%s\n' one two three | cmp - out
}

@test "a new filter is announced, also where there is no terminal" {
	start
	bloomdedup -f "$URL/seen" <<<1 2>err >out
	grep -q "$URL/seen: new filter, for 1,000,000 lines" err
	bloomdedup -f "$URL/seen" <<<1 2>err >out
	[ ! -s err ]
}

@test "add remembers, check asks, --dry-run changes nothing" {
	seq 1 1000 >in
	for kind in $KINDS; do
		start
		bloomdedup add -f "$URL/seen" in >out
		[ ! -s out ]
		seq 501 1500 | bloomdedup check -f "$URL/seen" >out
		seq 501 1000 | cmp - out
		seq 501 1500 | bloomdedup check -v -f "$URL/seen" >out
		seq 1001 1500 | cmp - out
		run -1 bloomdedup check -q -f "$URL/seen" <<<unknown
		for i in 1 2; do
			seq 501 1500 | bloomdedup --dry-run -f "$URL/seen" >out
			seq 1001 1500 | cmp - out
		done
	done
	every_kind
}

@test "-d, --duplicates and -q" {
	start
	seq 1 10 | bloomdedup add -f "$URL/seen"
	seq 6 15 | bloomdedup -d -f "$URL/seen" >out
	seq 6 10 | cmp - out
	seq 11 20 | bloomdedup --duplicates=dropped -f "$URL/seen" >out
	seq 16 20 | cmp - out
	seq 11 15 | cmp - dropped
	run -1 bloomdedup -q -f "$URL/seen" <<<20
	bloomdedup -q -f "$URL/seen" <<<21
}

@test "key options and the hash are kept in the filter" {
	start
	head -c 16 /dev/urandom >sip
	bloomdedup create -i -k 2 --hash=siphash --secret-file=sip "$URL/seen"
	bloomdedup -f "$URL/seen" >out <<<'a KEY'
	bloomdedup -f "$URL/seen" >out <<<'b key'
	[ ! -s out ]
	fails 2 '-k' bloomdedup -k 1 -f "$URL/seen" <<<x
	bloomdedup info "$URL/seen" | grep -q SipHash
	bloomdedup create --like="$URL/seen" "$URL/other"
	bloomdedup -f "$URL/other" >out <<<'a KEY'
	bloomdedup -f "$URL/other" >out <<<'b key'
	[ ! -s out ]
}

@test "info and --stats say what there is" {
	for kind in $KINDS; do
		start
		bloomdedup create -n 1e6 "$URL/seen" 2>notes
		seq 1 2500 | bloomdedup add --stats=json -f "$URL/seen" 2>stats
		[ "$(json_value read <stats)" -eq 2500 ]
		bloomdedup info --json "$URL/seen" >json
		grep -q '"capacity": 1000000,' json
		grep -q '"lines": 2500,' json
		[ "$(json_value shards <json)" -eq "$(shards | wc -l)" ]
		bloomdedup info "$URL/seen" >text
		grep -q 'remembers     about 2,500 lines' text
		grep -q "shards        $(shards | wc -l), each a" text
	done
	every_kind
}

@test "a filter of the server's own grows, and says so" {
	needs_bloom
	start
	# at this rate a shard is made for 16,000 or more
	seq 1 40000 >in
	bloomdedup -n 1000 -p 1e-5 -f "$URL/seen" in >out 2>err
	[ "$(comm -23 <(sort in) <(sort out) | wc -l)" -le 3 ]
	grep -q 'passed the 1,000 lines that it was planned for and grew to' err
	bloomdedup info "$URL/seen" >info
	grep -q 'layer 2' info
	[ -z "$(bloomdedup -f "$URL/seen" in)" ]
	fails 2 on-full bloomdedup --on-full=warn -f "$URL/seen" <<<x
}

@test "bit strings don't grow, and say so" {
	kind=bits
	start
	seq 1 1500 >in
	status=0
	bloomdedup -n 1000 -f "$URL/seen" in >out 2>err || status=$?
	[ "$status" -eq 4 ]
	seq 1 1000 | cmp - out
	grep -q "the filter cannot grow" err
	grep -q 'capacity of 1000 lines is used up' err
	fails 2 on-full=fail bloomdedup --on-full=grow -f "$URL/seen" <<<x
}

# has_printed N: the run has printed so many lines. Others may be dropped by
# mistake, also the last one.
has_printed() {
	[ "$(wc -l <out)" -ge "$1" ]
}

@test "--on-full=warn is refused before anything is made" {
	for kind in $KINDS; do
		start
		bloomdedup create -n 1000 --on-full=warn file
		fails 2 '--on-full=warn is for filters in files' \
			bloomdedup create --on-full=warn "$URL/seen"
		fails 2 '--on-full=warn is for filters in files' \
			bloomdedup create --like=file "$URL/seen"
		fails 2 '--on-full=warn is for filters in files' \
			bloomdedup -f "$URL/seen" --on-full=warn <<<x
		fails 2 '--on-full=warn is for filters in files' \
			bloomdedup size -n 1000 --on-full=warn "$URL/seen"
		[ "$(cli dbsize)" -eq 0 ]
		rm file
	done
	every_kind
}

@test "bit strings whose counter was lost are full nevertheless" {
	kind=bits
	start
	bloomdedup create -n 5000 -p 1e-3 "$URL/seen" 2>notes
	seq 1 5000 | bloomdedup add -f "$URL/seen"
	shard=$(shards)
	end=$(($(cli strlen "$shard") - 16))
	cli bitfield "$shard" set i64 "$((8 * end + 64))" 0 >before
	[ "$(<before)" -gt 4900 ]
	fails 4 'is used up' bloomdedup add -f "$URL/seen" < <(seq 10001 13000)
	# and `info` believes the bits
	holds 'lines > 4800 && lines < 5700' \
		lines="$(figure lines "$URL/seen")"
}

@test "bit strings that can't be looked at any more: nothing is printed" {
	kind=bits
	start
	# a batch that is smaller than the one before it, with lines that come
	# twice
	{
		seq 1001 1100
		seq 1001 1140
	} >in
	for claim in '' --claim; do
		bloomdedup create --force -n 2000 -p 1e-3 "$URL/seen" 2>notes
		# the first page of the shard, as nothing else is asked for
		start_proxy --error $'\r\n0\r\n$4\r\n4095\r\n'
		server=$URL URL=redis://127.0.0.1:$PROXY
		# shellcheck disable=SC2086
		begin $claim
		seq 200 >&9
		until_true is_last 200
		cat in >&9
		end 3
		stop_proxy
		URL=$server
		grep -q 'the server says: ERR upstream timed out' err
		seq 200 | cmp - out
		bloomdedup -f "$URL/seen" in >out
		[ "$(wc -l <out)" -ge 138 ]
	done
}

# went_on CLIENT LINES PID: it has printed so many more, or has ended.
went_on() {
	[ "$(wc -l <"out$1")" -ge "$2" ] || ! kill -0 "$3" 2>/dev/null
}

@test "four clients fill bit strings to their capacity, and not beyond" {
	kind=bits
	start
	bloomdedup create -n 20000 -p 1e-3 "$URL/seen" 2>notes
	clients=() inputs=()
	for i in 0 1 2 3; do
		mkfifo in$i
		"$BLOOMDEDUP" -f "$URL/seen" <in$i >out$i 2>err$i 3>&- &
		clients+=($!)
		exec {input}>in$i
		inputs+=("$input")
	done
	# in turn, 500 lines each, of which few are dropped by mistake
	for ((step = 0; step < 40; step++)); do
		for i in 0 1 2 3; do
			kill -0 "${clients[i]}" 2>/dev/null || continue
			before=$(wc -l <out$i)
			seq $((i * 100000 + step * 500 + 1)) \
				$((i * 100000 + step * 500 + 500)) \
				>&"${inputs[i]}" || :
			until_true went_on $i $((before + 450)) "${clients[i]}"
		done
	done
	for i in 0 1 2 3; do
		status=0
		wait "${clients[i]}" || status=$?
		[ "$status" -eq 4 ]
	done
	cat out? | wc -l >printed
	holds 'n >= 19900 && n < 23000' n="$(<printed)"
}

@test "--on-full=fail prints what there is room for" {
	for kind in $KINDS; do
		start
		bloomdedup create -n 1000 --on-full=fail "$URL/a"
		seq 1 900 | bloomdedup add -f "$URL/a"
		seq 901 2000 >in
		status=0
		bloomdedup -f "$URL/a" in >out 2>err || status=$?
		[ "$status" -eq 4 ]
		grep -q 'capacity of 1000 lines is used up' err
		seq 901 1000 | cmp - out
		seq 1 1000 | bloomdedup check -v -f "$URL/a" >out || [ $? -eq 1 ]
		[ ! -s out ]
	done
	every_kind
}

# A client counts what others have added only after some lines of its own.
@test "what the server's full filter doesn't take is told and counted" {
	needs_bloom
	start
	bloomdedup create -n 1000 -p 0.01 --on-full=fail "$URL/seen"
	begin
	say 1
	until_true is_remembered 1
	# shellcheck disable=SC2046 # many items
	cli bf.madd "$(shards)" $(seq 10001 20000) >answers
	grep -q full answers
	seq 2 11 >&9
	exec 9>&-
	status=0
	wait "$RUN" || status=$?
	[ "$status" -eq 4 ]
	told=$(sed -n 's/.*: \([0-9]*\) lines are not remembered: the server says: .*full.*/\1/p' err)
	[ "$told" -ge 9 ] && [ "$told" -le 10 ]
	[ "$(wc -l <out)" -eq $((told + 1)) ]
}

@test "create replaces a filter only by --force, and nothing is left of it" {
	for kind in $KINDS; do
		start
		bloomdedup create -n 1e6 "$URL/a" 2>notes
		seq 1 10 | bloomdedup add -f "$URL/a"
		fails 3 '--force' bloomdedup create -n 1e5 "$URL/a"
		bloomdedup create --force -n 1e5 "$URL/a" 2>notes
		bloomdedup info --json "$URL/a" | grep -q '"capacity": 100000,'
		seq 1 10 | bloomdedup -f "$URL/a" | cmp - <(seq 1 10)
		[ "$(cli dbsize)" -eq $((1 + $(shards a | wc -l))) ]
		# and it stays
		[ "$(cli --scan | lifetimes | sort -u)" = -1 ]
		bloomdedup remove "$URL/a"
		[ "$(cli dbsize)" -eq 0 ]
		fails 3 'no such filter' bloomdedup remove "$URL/a"
	done
	every_kind
}

@test "a shard has half a megabyte or more, and there are 1,024 at most" {
	needs_bloom
	start
	for want in '1 1000' '1 2e5' '4 1e6' '64 1e7'; do
		bloomdedup create --force -n "${want#* }" "$URL/a"
		[ "$(shards a | wc -l)" -eq "${want% *}" ]
	done
	cli memory usage "$(shards a | head -n 1)" >bytes
	[ "$(cat bytes)" -gt 500000 ]
	# as `size` says, within a tenth
	total=$(($(cat bytes) * 64))
	[ $((total * 10)) -lt $(($(told -n 1e7) * 12)) ]
}

@test "filters have names of their own" {
	start
	for name in a A a:L0 'a%20b' 'a%2F0' ünïcode; do
		case $name in
		*%20*)
			fails 2 blanks bloomdedup -f "$URL/$name" <<<x
			;;
		*)
			bloomdedup -f "$URL/$name" <<<x >out 2>notes
			echo x | cmp - out
			;;
		esac
	done
	# elsewhere, this is a database
	fails 2 'database is always 0' bloomdedup -f "$URL/0" <<<x
	fails 2 'database is always 0' bloomdedup -f "$URL/0/seen" <<<x
	bloomdedup -f "valkey://127.0.0.1:$PORT/a" <<<x >out
	[ ! -s out ]
}

@test "a unix socket" {
	start --unixsocket "$PWD/socket"
	seq 1 100 | bloomdedup -f "redis+unix://$PWD/socket?name=seen" >out
	seq 1 100 | cmp - out
	seq 50 150 | bloomdedup -f "$URL/seen" >out
	seq 101 150 | cmp - out
}

@test "Valkey" {
	valkey=${VALKEY_SERVER:-$ROOT/build/redis/valkey-server}
	[ -x "$valkey" ] || skip "valkey-server is not installed"
	kind=bits REDIS_SERVER=$valkey
	start
	lines 5000 >in
	bloomdedup -f "valkey://127.0.0.1:$PORT/seen" in >out 2>notes
	model in | cmp - out
	bloomdedup --claim -f "valkey://127.0.0.1:$PORT/seen" in >out
	[ ! -s out ]
}

@test "what Redis cannot promise is refused" {
	start
	fails 2 --atomic bloomdedup --atomic -f "$URL/seen" <<<x
	fails 2 --to-command bloomdedup --to-command=cat -f "$URL/seen" <<<x
	fails 2 --sync bloomdedup --sync -f "$URL/seen" <<<x
	fails 2 --max-size bloomdedup --max-size=1M -f "$URL/seen" <<<x
	fails 2 --memory bloomdedup create -m 3M "$URL/seen"
	fails 2 --hashes bloomdedup create --hashes=9 "$URL/seen"
	fails 2 'add -f redis' bloomdedup merge -o "$URL/seen" a.bloom
	fails 2 'add -f redis' bloomdedup merge -o a.bloom "$URL/seen"
	bloomdedup --version | grep -q tls ||
		fails 2 stunnel bloomdedup -f rediss://127.0.0.1/seen <<<x
	[ "$(cli dbsize)" -eq 0 ]
	bloomdedup create "$URL/seen" 2>notes
	fails 2 --verify bloomdedup info --verify "$URL/seen"
	[ "$kind" = bits ] ||
		fails 2 'at least 1e-8' bloomdedup create -p 1e-9 "$URL/other"
}
