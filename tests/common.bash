# What every test file loads. The program under test is $BLOOMDEDUP.
bats_require_minimum_version 1.5.0

ROOT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
: "${BLOOMDEDUP:=$ROOT/bloomdedup}"
: "${BUILD:=$ROOT/build}"
# shellcheck disable=SC2034 # the tests use it
HELPER=$BUILD/helper

# Each test works in a folder of its own.
setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

bloomdedup() {
	"$BLOOMDEDUP" "$@"
}

# fails STATUS TEXT COMMAND...: the command must end with that status, print
# nothing on standard output, and one line on standard error that begins with
# "bloomdedup: " and contains TEXT.
fails() {
	local want=$1 text=$2 status=0
	shift 2
	"$@" >fails.out 2>fails.err || status=$?
	if [ "$status" -ne "$want" ]; then
		echo "exit status $status in place of $want from: $*"
		cat fails.err
		return 1
	fi
	if [ -s fails.out ]; then
		echo "standard output is not empty:"
		head -c 1000 fails.out
		return 1
	fi
	if [ "$(wc -l <fails.err)" -ne 1 ] ||
		! grep -q '^bloomdedup: ' fails.err ||
		! grep -qF -- "$text" fails.err; then
		echo "not one line with '$text' on standard error:"
		cat fails.err
		return 1
	fi
}

# model: what the program must print, by a model too simple to be wrong: any
# bytes, a last line without a newline gets one.
model() {
	perl -ne 'chomp; print "$_\n" unless $seen{$_}++' "$@"
}

# until_true COMMAND...: wait for it to succeed, at most a minute. No test
# passes or fails by how long that is on a machine that works at all.
until_true() {
	local i
	for ((i = 0; i < 1200; i++)); do
		if "$@"; then
			return 0
		fi
		sleep 0.05
	done
	echo "did not come true: $*"
	return 1
}

# has_bytes N FILE: is FILE at least N bytes long?
has_bytes() {
	[ -e "$2" ] && [ "$(stat -c %s "$2")" -ge "$1" ]
}

# no_leftovers: there is no temporary file of the program in this folder.
no_leftovers() {
	local found
	found=$(find . -name '.bloomdedup-*')
	if [ -n "$found" ]; then
		echo "left behind: $found"
		return 1
	fi
}

# Under the address sanitizer, or valgrind, memory is not what it is.
skip_if_sanitized() {
	if [ -n "${UNDER_VALGRIND:-}" ] || grep -q __asan_init "$BLOOMDEDUP"
	then
		skip "the sanitizer takes more memory"
	fi
}

# skip_if_emulated WHAT: under an emulator the program's calls, threads and
# memory are those of two.
skip_if_emulated() {
	[ -z "${UNDER_EMULATOR-}" ] || skip "the emulator has $1"
}

# Skip where script(1) of util-linux can't give a terminal.
need_terminal() {
	script -qec true /dev/null >/dev/null 2>&1 </dev/null ||
		skip "no script(1), or no terminals"
}
