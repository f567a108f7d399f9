# What every test file loads. The program under test is $BLOOMDEDUP.
bats_require_minimum_version 1.5.0

ROOT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
: "${BLOOMDEDUP:=$ROOT/bloomdedup}"
: "${BUILD:=$ROOT/build}"
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
