# A filter on a Redis server: what a run does with it.
load ../common
load servers

# lines N: N lines in no order, about a third of them more than once
lines() {
	perl -e 'srand 7; for (1 .. $ARGV[0]) {
		my $n = rand() < 0.7 ? $_ : int(rand($_)); print "line $n\n" }' "$1"
}

@test "new lines come out once, over all runs" {
	start
	lines 20000 >in
	model in >expected
	head -n 12000 in | bloomdedup -f "$URL/seen" >out
	tail -n +12001 in >rest
	bloomdedup -f "$URL/seen" rest >>out
	cmp out expected
	bloomdedup -f "$URL/seen" in >again
	[ ! -s again ]
}

@test "any bytes, long lines, a last line without a newline" {
	start
	{
		printf 'a\0b\na\0c\n\n\n'
		head -c 300000 /dev/zero
		printf '\nx'
	} >in
	model in >expected
	bloomdedup -f "$URL/seen" in >out
	cmp out expected
	bloomdedup -f "$URL/seen" in >again
	[ ! -s again ]
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

@test "add remembers and check asks" {
	start
	seq 1 1000 >in
	bloomdedup add -f "$URL/seen" in >out
	[ ! -s out ]
	seq 501 1500 | bloomdedup check -f "$URL/seen" >out
	seq 501 1000 | cmp - out
	seq 501 1500 | bloomdedup check -v -f "$URL/seen" >out
	seq 1001 1500 | cmp - out
	run -1 bloomdedup check -q -f "$URL/seen" <<<unknown
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

@test "what a filter has on a server is what it would have in a file" {
	start
	some_secret
	for n in 1e2 1e4 1e5 3e5; do
		name=n$n
		bloomdedup create -n "$n" -p 1e-12 --secret-file=secret \
			"$URL/$name"
		bloomdedup create -n "$n" -p 1e-12 --secret-file=secret \
			"$name.bloom"
		lines 100000 >in
		bloomdedup -f "$URL/$name" in >out 2>notes
		bloomdedup -f "$name.bloom" in >expected 2>notes
		cmp out expected
		same_bits "$URL/$name" "$name.bloom"
	done
}

@test "the same for as many lines as there are" {
	is_slow || skip "long form only"
	start
	some_secret
	lines 10000000 >in
	# a filter that is large enough, and one that grows six times
	for n in 1e7 1e5; do
		bloomdedup create -n "$n" -p 1e-12 --secret-file=secret \
			"$URL/$n"
		bloomdedup create -n "$n" -p 1e-12 --secret-file=secret \
			"$n.bloom"
		bloomdedup -f "$URL/$n" in 2>notes | cmp - <(bloomdedup \
			-f "$n.bloom" in 2>more-notes)
		same_bits "$URL/$n" "$n.bloom"
		# up, down and up again
		bloomdedup merge -o "$URL/up" "$n.bloom"
		bloomdedup merge -o down.bloom "$URL/up"
		bloomdedup remove "$URL/up"
		bloomdedup merge -o "$URL/again" down.bloom
		same_bits "$URL/again" "$n.bloom"
		bloomdedup remove "$URL/again"
		bloomdedup remove "$URL/$n"
		rm -f ./*.bloom
	done
}

@test "the same for other shapes and hashes" {
	start
	lines 30000 >in
	head -c 16 /dev/urandom >sip
	for options in '-p 0.01 -n 5e4' '-p 1e-9 -n 2e4' '--hashes=9 -n 1e5' \
		'-m 3M -n 1e5' '--hash=siphash --secret-file=sip -n 1e5' \
		'--on-full=warn -n 1e4'; do
		[[ $options == *secret* ]] || some_secret
		[[ $options == *secret* ]] || options+=' --secret-file=secret'
		rm -f a.bloom
		# shellcheck disable=SC2086
		bloomdedup create --force $options "$URL/a"
		# shellcheck disable=SC2086
		bloomdedup create $options a.bloom
		bloomdedup add -f "$URL/a" in 2>notes
		bloomdedup add -f a.bloom in 2>notes
		same_bits "$URL/a" a.bloom
	done
}

@test "key options are kept in the filter" {
	start
	bloomdedup -i -k 2 -f "$URL/seen" >out <<<'a KEY'
	bloomdedup -f "$URL/seen" >out <<<'b key'
	[ ! -s out ]
	fails 2 '-k' bloomdedup -k 1 -f "$URL/seen" <<<x
}

@test "info says the same of both" {
	start
	some_secret
	seq 1 2500 >in
	bloomdedup create -n 1000 -p 1e-12 --secret-file=secret "$URL/a"
	bloomdedup create -n 1000 -p 1e-12 --secret-file=secret a.bloom
	bloomdedup add -f "$URL/a" in 2>notes
	bloomdedup add -f a.bloom in 2>notes
	bloomdedup info "$URL/a" | sed -e 1d -e '/^  made  /d' >on-server
	bloomdedup info a.bloom | sed -e 1d -e '/^  made  /d' >in-file
	diff on-server in-file
	bloomdedup info --json "$URL/a" | grep -q '"capacity": 1000,'
}

@test "filters are copied down, up and down again" {
	start
	some_secret
	seq 1 30000 >in
	bloomdedup create -n 1e4 -p 1e-12 --secret-file=secret a.bloom
	bloomdedup add -f a.bloom in 2>notes
	bloomdedup merge -o "$URL/a" a.bloom
	same_bits "$URL/a" a.bloom
	bloomdedup merge -o b.bloom "$URL/a"
	bloomdedup merge -o "$URL/b" b.bloom
	same_bits "$URL/b" a.bloom
	bloomdedup check -v -f "$URL/b" in >out || [ $? -eq 1 ]
	[ ! -s out ]
	seq 20001 40000 | bloomdedup -f "$URL/b" >out 2>notes
	seq 30001 40000 | cmp - out
}

@test "filters on servers and in files are merged" {
	start
	some_secret
	bloomdedup create -n 1e5 --secret-file=secret a.bloom
	bloomdedup create --like=a.bloom "$URL/b"
	seq 1 1000 | bloomdedup add -f a.bloom
	seq 501 2000 | bloomdedup add -f "$URL/b"
	bloomdedup merge -o "$URL/c" a.bloom "$URL/b"
	seq 1 2500 | bloomdedup check -f "$URL/c" >out
	seq 1 2000 | cmp - out
	fails 3 '--force' bloomdedup merge -o "$URL/c" a.bloom
	bloomdedup merge --force -o "$URL/c" a.bloom
	seq 1 2500 | bloomdedup check -f "$URL/c" >out
	seq 1 1000 | cmp - out
	bloomdedup merge -o "$URL/b" a.bloom "$URL/b"
	seq 1 2500 | bloomdedup check -f "$URL/b" >out
	seq 1 2000 | cmp - out
	# of what was replaced, nothing is left
	[ "$(cli --scan --pattern 'bloomdedup:{c*' | grep -c :L0:)" -eq 2 ]
}

@test "create replaces a filter only by --force" {
	start
	bloomdedup create -n 1e6 "$URL/a"
	seq 1 10 | bloomdedup add -f "$URL/a"
	fails 3 '--force' bloomdedup create -n 1e5 "$URL/a"
	bloomdedup create --force -n 1e5 "$URL/a"
	bloomdedup info --json "$URL/a" | grep -q '"capacity": 100000,'
	seq 1 10 | bloomdedup -f "$URL/a" | cmp - <(seq 1 10)
	# header, table, counter, two chunks
	[ "$(cli dbsize)" -eq 5 ]
}

@test "filters have names of their own" {
	start
	for name in a A a:L0 'a%20b' ünïcode; do
		case $name in
		*%20*)
			fails 2 blanks bloomdedup -f "$URL/$name" <<<x
			;;
		*)
			bloomdedup -f "$URL/$name" <<<x >out
			echo x | cmp - out
			;;
		esac
	done
}

@test "a unix socket" {
	start --unixsocket "$PWD/socket"
	seq 1 100 | bloomdedup -f "redis+unix://$PWD/socket?name=seen" >out
	seq 1 100 | cmp - out
	seq 50 150 | bloomdedup -f "$URL/seen" >out
	seq 101 150 | cmp - out
}

@test "passwords: in the address, the environment, a file; never shown" {
	start --requirepass secret
	url=redis://:secret@127.0.0.1:$PORT/seen
	bloomdedup -f "$url" <<<1 >out
	echo 1 | cmp - out
	REDISCLI_AUTH=secret bloomdedup -f "$URL/seen" <<<1 >out
	[ ! -s out ]
	echo secret >password
	bloomdedup -f "$URL/seen?password-file=password" <<<2 >out
	echo 2 | cmp - out
	fails 3 NOAUTH bloomdedup -f "$URL/seen" <<<3
	fails 3 WRONGPASS bloomdedup -f "redis://:wrong@127.0.0.1:$PORT/seen" \
		<<<3
	grep wrong fails.err && return 1
	bloomdedup info "$url" | grep secret && return 1
	mkfifo in
	"$BLOOMDEDUP" -f "$url" <in >out 3>&- &
	exec 9>in
	echo 4 >&9
	until_true grep -qx 4 out
	tr '\0' '\n' <"/proc/$!/cmdline" >shown
	exec 9>&-
	wait $!
	grep -q '^redis://:\*' shown
	run ! grep secret shown
}

@test "a user who may do only what the manual says" {
	start
	run cli acl setuser bd on '>pw' resetkeys '~bloomdedup:*' resetchannels \
		-@all +get +set +getrange +setrange +incrby +bitop +bitfield \
		+del +unlink +watch +unwatch +multi +exec +expire +info \
		+cluster\|slots
	[ "$output" = OK ]
	url=redis://bd:pw@127.0.0.1:$PORT/seen
	seq 1 30000 >in
	bloomdedup -n 1000 -p 1e-12 -f "$url" in >out 2>notes
	cmp out in
	bloomdedup check -v -f "$url" in >out || [ $? -eq 1 ]
	[ ! -s out ]
	bloomdedup merge -o copy.bloom "$url"
	bloomdedup merge --force -o "$url" copy.bloom
	bloomdedup create --force "$url"
	bloomdedup create --force --window=30d -n 4e5 "$url"
	bloomdedup -f "$url" in | cmp - in
	bloomdedup --claim -f "$url" in >out
	[ ! -s out ]
}

@test "what Redis cannot promise is refused" {
	start
	fails 2 --atomic bloomdedup --atomic -f "$URL/seen" <<<x
	fails 2 --to-command bloomdedup --to-command=cat -f "$URL/seen" <<<x
	fails 2 window bloomdedup create --window=1000 "$URL/seen"
	bloomdedup --version | grep -q tls ||
		fails 2 stunnel bloomdedup -f rediss://127.0.0.1/seen <<<x
	[ "$(cli dbsize)" -eq 0 ]
}
