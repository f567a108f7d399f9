# The fuzz targets (tests/fuzz) on their seeds, and, in make check-slow, the
# fuzzers themselves, where clang is installed.
load ../common

SEEDS=$BUILD/fuzz/seeds

# replays TARGET: what must hold does, for each of its seeds
replays() {
	[ -x "$BUILD/fuzz/replay-$1" ] || skip "make tests builds it"
	find "$SEEDS/$1" -type f | sort >seeds
	[ "$(wc -l <seeds)" -gt 20 ]
	if ! TMPDIR=$PWD xargs "$BUILD/fuzz/replay-$1" <seeds >out 2>err; then
		tail -n 20 err
		return 1
	fi
	[ "$(cat out)" = "$(wc -l <seeds) replayed" ]
	# what it made is gone
	[ -z "$(find . -name 'fuzz-*')" ]
}

# fuzzes TARGET: a minute of it finds nothing
fuzzes() {
	is_slow || skip "long form only: a minute"
	needs clang
	echo 'int LLVMFuzzerTestOneInput(const char *p, unsigned long n)
		{ return !p && !n; }' >try.c
	clang -fsanitize=fuzzer,address,undefined -o try try.c 2>/dev/null ||
		skip "clang has no libFuzzer"
	# one of them after the other: they share what they are built from
	env -u MAKEFLAGS make -C "$ROOT" fuzz targets="$1" FUZZ_SECONDS=60 \
		BUILD="$BUILD" >out 2>&1 || { tail -n 20 out; return 1; }
	grep "^$1: .* runs" out
}

@test "a right or hostile header and its slots: what opens, and what not" {
	replays format
}

@test "a journal is complete, or not, or somebody else's" {
	replays journal
}

@test "numbers, lists of fields, key recipes and command lines" {
	replays options
}

@test "files in pieces of any size are the same lines and keys" {
	replays lines
}

@test "memcached's protocol in pieces of any size is the same requests" {
	replays protocol
}

@test "Redis' protocol in pieces of any size is the same requests" {
	replays resp
}

@test "URLs become normal once" {
	replays url
}

@test "JSON: values are found in any document" {
	replays json
}

@test "what a Redis server says, and where it is" {
	replays redis-header
}

@test "a minute of fuzzing finds nothing: redis-header" {
	fuzzes redis-header
}

@test "a minute of fuzzing finds nothing: format" {
	fuzzes format
}

@test "a minute of fuzzing finds nothing: journal" {
	fuzzes journal
}

@test "a minute of fuzzing finds nothing: options" {
	fuzzes options
}

@test "a minute of fuzzing finds nothing: lines" {
	fuzzes lines
}

@test "a minute of fuzzing finds nothing: protocol" {
	fuzzes protocol
}

@test "a minute of fuzzing finds nothing: resp" {
	fuzzes resp
}

@test "a minute of fuzzing finds nothing: url" {
	fuzzes url
}

@test "a minute of fuzzing finds nothing: json" {
	fuzzes json
}

@test "what fuzzing leaves out is named by files that are there" {
	sed -n 's/^src://p' "$ROOT/tests/fuzz/ignored" >names
	[ -s names ]
	while read -r name; do
		[ -f "$ROOT/$name" ] || { echo "no $name"; return 1; }
	done <names
}

# Their models are fed by the program's sources, so a new one needs a test here.
@test "each target is replayed, and fuzzed in the long form" {
	for target in "$ROOT"/tests/fuzz/*.c; do
		target=$(basename "$target" .c)
		[ "$target" != replay ] || continue
		grep -q "^	replays $target$" "$BATS_TEST_FILENAME"
		grep -q "^	fuzzes $target$" "$BATS_TEST_FILENAME"
	done
}

@test "make fuzz with a clang that has no libFuzzer says what is missing" {
	mkdir bin
	for tool in make sh bash env nproc uname cc tr mkdir rm mv cmp; do
		ln -s "$(command -v $tool)" "bin/$tool"
	done
	printf '#!/bin/sh\nexit 1\n' >bin/clang
	chmod +x bin/clang
	run env -u MAKEFLAGS PATH="$PWD/bin" make -s -C "$ROOT" \
		BUILD="$PWD/build" fuzz
	[ "$status" -ne 0 ]
	[[ "${lines[0]}" = *'in Debian, they are in libclang-rt-dev' ]]
}

@test "make fuzz without clang says so" {
	mkdir bin
	for tool in make sh bash env nproc uname cc tr mkdir rm mv cmp; do
		ln -s "$(command -v $tool)" "bin/$tool"
	done
	run env -u MAKEFLAGS PATH="$PWD/bin" make -s -C "$ROOT" \
		BUILD="$PWD/build" fuzz
	[ "$status" -ne 0 ]
	[ "${lines[0]}" = 'fuzz: clang is not installed' ]
}
