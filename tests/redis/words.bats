# What servers say when they can't or won't: tried again, or an error at once.
load ../common
load servers
load running

@test "NOREPLICAS is tried again" {
	start
	begin
	say 1
	cli config set min-replicas-to-write 1
	echo 2 >&9
	until_true grep -q NOREPLICAS err
	cli config set min-replicas-to-write 0
	say 3
	end
	seq 1 3 | bloomdedup check -f "$URL/seen" | cmp - <(seq 1 3)
}

@test "READONLY is tried again" {
	start
	begin
	say 1
	cli replicaof 127.0.0.1 "$(free_port)"
	# what it was sent meanwhile comes when it is a master again
	echo 2 >&9
	until_true grep -qE 'READONLY|MASTERDOWN' err
	cli replicaof no one
	say 3
	end
	seq 1 3 | bloomdedup check -f "$URL/seen" | cmp - <(seq 1 3)
}

@test "OOM: lines are printed, and not remembered, status 4" {
	for kind in $KINDS; do
		start
		bloomdedup create "$URL/seen" 2>notes
		cli config set maxmemory 1kb
		status=0
		bloomdedup -f "$URL/seen" <<<4 >out 2>err || status=$?
		[ "$status" -eq 4 ]
		grep -q ' 1 lines are not remembered: .*OOM' err
		echo 4 | cmp - out
		fails 3 OOM bloomdedup create --on-full=fail "$URL/other"
		cli config set maxmemory 0
		bloomdedup -f "$URL/seen" <<<4 | cmp - <(echo 4)
	done
	every_kind
}

# is_loading: does the server read its data?
is_loading() {
	cli ping 2>&1 | grep -q LOADING
}

# saved_with LINE: the server has saved a filter that knows LINE
saved_with() {
	cli save && is_remembered "$1" && cli save
}

@test "LOADING is waited for, at the start and during a run" {
	for kind in $KINDS; do
		start
		bloomdedup create -n 1e7 "$URL/seen" 2>notes
		begin
		say 1 2 3
		until_true saved_with 3
		stop
		# a pause for each key, half a minute in sum, until all wait
		start_on "$PORT" --key-load-delay 500000 \
			--loading-process-events-interval-bytes 1024
		until_true is_loading
		echo 4 >&9
		"$BLOOMDEDUP" -f "$URL/seen" <<<5 >other 2>other.err 3>&- &
		other=$!
		until_true grep -q LOADING err
		until_true grep -q LOADING other.err
		cli config set key-load-delay 0
		wait "$other"
		echo 5 | cmp - other
		say 6
		end
		printf '%s\n' 1 2 3 4 6 | cmp - out
		seq 1 6 | bloomdedup check -f "$URL/seen" | cmp - <(seq 1 6)
	done
	every_kind
}

@test "NOPERM is an error at once, with the server's words" {
	for kind in $KINDS; do
		start
		bloomdedup create -n 1e5 "$URL/seen" 2>notes
		seq 1 2000 >in
		commands='get getrange bitfield'
		[ "$kind" = bits ] || commands='get bf.mexists bf.insert bf.info'
		for command in $commands; do
			cli acl setuser bd reset on '>pw' '~bloomdedup*' +@all \
				"-$command"
			status=0
			bloomdedup --lock-timeout=60 \
				-f "redis://bd:pw@127.0.0.1:$PORT/seen" in >out \
				2>err || status=$?
			[ "$status" -eq 3 ]
			grep -qi "NOPERM.*$command" err
			run ! grep pw err
		done
	done
	every_kind
}

@test "passwords: in the address, the environment; never shown" {
	start --requirepass secret
	url=redis://:secret@127.0.0.1:$PORT/seen
	bloomdedup -f "$url" <<<1 >out 2>notes
	echo 1 | cmp - out
	REDISCLI_AUTH=secret bloomdedup -f "$URL/seen" <<<1 >out
	[ ! -s out ]
	fails 3 'NOAUTH.*' bloomdedup -f "$URL/seen" <<<3 || true
	grep -q 'requires a password (NOAUTH.*REDISCLI_AUTH' fails.err
	fails 3 WRONGPASS bloomdedup -f "redis://:wrong@127.0.0.1:$PORT/seen" \
		<<<3
	grep wrong fails.err && return 1
	REDISCLI_AUTH=secret bloomdedup info "$url" | grep secret && return 1
	mkfifo in
	"$BLOOMDEDUP" -f "$url" <in >out 3>&- &
	exec 9>in
	echo 4 >&9
	until_true grep -qx 4 out
	tr '\0' '\n' <"/proc/$!/cmdline" >shown
	exec 9>&-
	wait $!
	grep -q '^redis://\*\*\*' shown
	run ! grep secret shown
}

@test "a password is in no message, however the address is written" {
	for address in "REDIS://u:s3cret@127.0.0.1:1/x" 'redis:u:s3cret@h' \
		'redis://s3cret@127.0.0.1:1/x' 'redis://:s3cret@h:0/x' \
		'valkey://u:s3cret@127.0.0.1:1/x' 'rediss:s3cret@h' \
		'redis://u:s3cret@h/0' 'redis+unix://u:s3cret@/none?name=x' \
		'redis://:s3cret?name=s3cret@127.0.0.1:1/x' \
		'redis://u:s3cret/s3cret?certificate=s3cret@h:1/x' \
		'redis+unix://u:a?certificate=s3cret@/none?name=x' \
		'redis://:a@s3cret?name=b@127.0.0.1:1/x'; do
		for command in '' check info create remove; do
			case $command in
			''|check) set -- "-f$address" ;;
			*) set -- "$address" ;;
			esac
			status=0
			# shellcheck disable=SC2086
			"$BLOOMDEDUP" $command "$@" <<<x >out 2>err \
				$(case $command in ''|create|remove) \
				echo --lock-timeout=0 ;; esac) || status=$?
			[ "$status" -ge 2 ]
			[ -s err ]
			run ! grep s3cret err
		done
	done
}

@test "a password of an address that is not ours: hidden, and the address refused" {
	for address in redis+tls://bob:s3cret@h/x redis-sentinel://bob:s3cret@h/x \
		keydb://:s3cret@h unix://s3cret@h/x ' redis://bob:s3cret@h/x' \
		'redis+tls://h/x?password=s3cret' 'http://h/x?a=b&PASSWORD=s3cret' \
		'http://h/?password=@s3cret' "h://x?password='s3cret'" \
		'h://x?password="s3cret"' \
		'h://x?password=a&new_password=s3cret' ; do
		for command in '' add check info create remove size merge; do
			case $command in
			''|add|check) set -- -f "$address" ;;
			size) set -- -n 1 "--secret-file=$address" ;;
			merge) set -- -o "$address" "$address" "$address" ;;
			*) set -- "$address" ;;
			esac
			status=0
			"$BLOOMDEDUP" $command "$@" <<<x >out 2>err || status=$?
			[ "$status" -eq 2 ]
			run ! grep s3cret out err
			[ "$command" = size ] || grep -qF 'only redis://' err
		done
		[ -z "$(find . -name '*:*')" ]
	done
	# names from a list, which messages hide, too
	for name in 'http://bob:s3cret@h/x' "x?password='s3cret'"; do
		printf '%s\0' "$name" | "$BLOOMDEDUP" --files0-from=- >out 2>err ||
			status=$?
		[ "$status" -eq 3 ]
		grep -qF '***' err
		run ! grep s3cret err
	done
	# the same letters as a file, which messages hide all the same
	mkdir -p redis+tls: a
	bloomdedup create -n 100 ./redis+tls://x
	[ -e redis+tls:/x ]
	bloomdedup add -f 'a/x?password=s3cret' <<<x
	[ "$(bloomdedup check -f 'a/x?password=s3cret' <<<x)" = x ]
	fails 3 '' bloomdedup check -f 'b/x?password=s3cret' <<<x
	run ! grep s3cret fails.err
	grep -qF 'b/x?password=***' fails.err
}

@test "a password is in no list of processes, wherever it stands" {
	mkfifo in
	bloomdedup create -n 100 'x?password=s3cret'
	for argument in '-fx?password=s3cret' \
		'--to-command=cat >got; echo http://u:s3cret@h >>got'; do
		"$BLOOMDEDUP" "$argument" <in >out 2>err 3>&- &
		exec 9>in
		until_true arguments_are_hidden $!
		echo 1 >&9
		exec 9>&-
		wait $!
	done
	# what the program does with them stays the same
	[ "$(bloomdedup check -f 'x?password=s3cret' <<<1)" = 1 ]
	printf '1\nhttp://u:s3cret@h\n' | cmp - got
}

# arguments_are_hidden PID
arguments_are_hidden() {
	tr "\0" "\n" <"/proc/$1/cmdline" >shown &&
		grep -q '[*][*]' shown && ! grep s3cret shown
}

@test "the example of the manual" {
	start
	command=$(sed -n 's/^bloomdedup -f redis:.*/&/p' \
		"$ROOT/man/bloomdedup-redis.7")
	printf 'b\na\nb\n' >urls.txt
	[[ $command == *//cache/* ]]
	${command/redis:\/\/cache/$URL} >out
	printf 'b\na\n' | cmp - out
	grep -qxF "$command" "$ROOT/man/bloomdedup.1"
}

@test "a user who may do only what the manual lists" {
	sed -n 's/^ACL SETUSER //p' "$ROOT/man/bloomdedup-redis.7" >rights
	[ "$(wc -l <rights)" -eq 6 ]
	sed '$d' rights >rights-bits
	cp rights rights-bloom
	seq 1 1000 >in
	for kind in $KINDS; do
		for make in start start_cluster; do
			PORTS=()
			$make
			for port in "${PORTS[@]:-$PORT}"; do
				sed 's/^/acl setuser /' "rights-$kind" |
					redis-cli -p "$port" >answers
				[ "$(grep -cx OK answers)" -eq \
					"$(wc -l <"rights-$kind")" ]
			done
			url=redis://bloomdedup:secret@127.0.0.1:$PORT/seen
			bloomdedup -f "$url" in 2>notes | cmp - in
			bloomdedup --claim -f "$url" in >out
			[ ! -s out ]
			bloomdedup check -v -f "$url" in >out || [ $? -eq 1 ]
			bloomdedup info "$url" >out
			bloomdedup create --force "$url" 2>notes
			if [ "$kind" = bloom ]; then
				bloomdedup create --force --window=30d "$url"
				bloomdedup -f "$url" in | cmp - in
			fi
			bloomdedup remove "$url"
		done
	done
	every_kind
}
