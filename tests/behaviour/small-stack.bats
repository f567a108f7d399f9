# A stack of 64 KiB (`ulimit -s 64`) is enough for all commands: each does and
# says the same as on a large one. For serve: serve/bounds.bats.
load ../common

# small COMMAND...: on that stack, of which the environment takes nothing.
small() {
	(
		ulimit -s 64
		exec env -i PATH="$PATH" "$@"
	)
}

# same ARGUMENT...: the program, in two directories with the same files; status,
# output and messages are the same.
same() {
	untraced try_same "$@"
}

try_same() {
	local status=0 small_status=0
	(cd large && exec "$BLOOMDEDUP" "$@") >out 2>err <in || status=$?
	(cd small && small "$BLOOMDEDUP" "$@") >small.out 2>small.err <in ||
		small_status=$?
	if [ $small_status -ne $status ]; then
		echo "exit status $small_status instead of $status from: $*"
		cat small.err
		return 1
	fi
	cmp out small.out && cmp err small.err
}

begin() {
	skip_if_sanitized
	skip_if_emulated 'a stack of its own'
	[ -z "${UNDER_VALGRIND-}" ] || skip "valgrind takes more"
	mkdir large small
	head -c 32 /dev/zero >large/secret
	cp large/secret small
}

@test "runs on a small stack: filters that grow, windows, threads, --atomic" {
	begin
	seq 60000 >in
	same -p 1e-12
	same -j2 -p 1e-12
	same -f seen -n 1000 -p 1e-12
	same -f seen
	same --shared -f seen
	same check -f seen
	same add -f window --window=5000 -p 1e-12
	same -f window
	same -f hours -p 1e-12 --window=1h
	same -f atomic -p 1e-12 -n 1e7 --atomic -o list
	same -f atomic --atomic --append -o list
	same -p 1e-12 --atomic -o only
	same --dry-run -f seen --tee tee
	same -f seen --tee tee
	same --to-command=cat -f command -p 1e-12
	cmp large/list small/list
	cmp large/only small/only
}

@test "keys on a small stack: fields, CSV, JSON, URLs" {
	begin
	printf 'id,"a,b",url\n%d,"x""y",http://A.example/?b=%d&a=1#c\n' \
		{1..2000} >in
	same -p 1e-12 -f fields -t, -k2,3
	same -f csv -p 1e-12 --csv --header -k url
	same -f csv
	same -p 1e-12 --csv=backslash -k 2,3 -i
	same -p 1e-12 --csv --header -k missing
	same -f urls -p 1e-12 --csv --header -k url --url=form,scheme,www,tracking \
		--url-sort --url-ignore='b,utm_*'
	same key --csv --header -k url --url=form
	same partition --parts=4 -t, -k1 'part%d'
	printf '{"a":{"b":[%d,null]},"c":"\\u00e4"}\n' {1..2000} >in
	same -p 1e-12 -f json --json=/a/b/0 --json=/c
	same --json=/a/b/1 --strict-keys
}

@test "commands on a small stack" {
	begin
	seq 3000 >in
	same create -n 1000 -p 1e-12 --secret-file=secret a
	same create --like=a b
	same add -f a
	same check -q -f a
	same merge -o both a b
	same check -f both
	cp large/a small/a # each says when it was made
	same info --verify a
	same size 1e6 1e-6
	same size --json 1e6 1e-6
	same try --table-sizes 1e6 1e-6
	same remove a
	same --help
	same --version
	same help serve
	same -f nowhere/seen
	same --unknwon
	small "$BLOOMDEDUP" try --measure 1e5 0.01 >out
	grep -q 'lookups per second' out
}

@test "gzip and zstd on a small stack" {
	begin
	needs_zstd
	seq 100000 >lines
	zstd -q -19 lines -o large/in.zst
	gzip -c lines >large/in.gz
	cp large/in.* small
	: >in
	same -p 1e-12 in.gz in.zst
	cmp lines small.out
}

@test "a journal that was left behind is finished on a small stack" {
	begin
	needs_strace
	seq 20000 >in
	for directory in large small; do
		(
			cd $directory
			bloomdedup create -n 1000 -p 1e-12 seen
			# killed once the commit is on the disk
			strace -f -qq -o trace -e trace=fdatasync,fsync \
				-e inject=fdatasync,fsync:signal=KILL:when=5 \
				"$BLOOMDEDUP" -f seen --atomic --append -o list \
				<../in >/dev/null || true
			[ -e seen.journal ]
		)
	done
	same -f seen --atomic --append -o list
	cmp large/list small/list
}

@test "a message of a long name keeps its beginning, its end, and the reason" {
	long=$(printf 'directory%03d/' {1..230})
	fails 3 /directory230/in: bloomdedup "./${long}in"
	grep -q 'bloomdedup: \./directory001/directory002/.*\.\.\..*: ' fails.err
	[ "$(wc -c <fails.err)" -lt 1600 ]
}

@test "what a long message leaves out divides no password" {
	begins=0 ends=0
	printf -v far '%02000d' 0
	for n in {680..760..2}; do
		printf -v near "%0${n}d" 0
		for name in "$near://u:secret12345@$far" \
			"$far://u:secret12345@$near"; do
			run -3 bloomdedup "$name"
			[[ $output != *[secrt1-5][secrt1-5]@* ]]
			[[ $output != *'://u:'[secrt]* ]]
			[[ $output != *'*...'* ]] || ((begins += 1))
			[[ $output != *'...*'* ]] || ((ends += 1))
		done
	done
	[ $begins -gt 2 ]
	[ $ends -gt 2 ]
}
