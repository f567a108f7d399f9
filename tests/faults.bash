# What the test files of kills and faults load, beside common.bash: they run
# the program some thousand times.
load common

# In memory where there is room, since a kill is the same there, and a sync
# takes no time.
setup() {
	local room
	work=$BATS_TEST_TMPDIR
	room=$(df -P -k /dev/shm 2>/dev/null | awk 'END { print $4 }')
	if [ "${room:-0}" -gt 1000000 ] && [ -w /dev/shm ]; then
		work=$(mktemp -d /dev/shm/bloomdedup-XXXXXXXX)
	fi
	cd "$work" || return 1
}

teardown() {
	if [ "$work" != "$BATS_TEST_TMPDIR" ]; then
		cd / && rm -rf "$work"
	fi
}

# times N: so many in a short run of the tests, twenty times as many in a long;
# fewer under the address sanitizer, where each run begins slowly.
times() {
	local count=$(($1 * (${BLOOMDEDUP_SLOW:+19} + 1)))
	! is_sanitized || count=$(((count + 4) / 5))
	echo $count
}

is_sanitized() {
	grep -q __asan_init "$BLOOMDEDUP"
}

# untraced FUNCTION ARGUMENT...: bats notes each command before it runs, which
# takes longer than the command. What is called so must itself return with 1
# when something fails, and say what.
untraced() {
	local trap_before result=0
	trap_before=$(trap -p DEBUG)
	trap - DEBUG
	"$@" || result=1
	eval "$trap_before"
	return $result
}

# whole FILTER: it can be opened and read.
whole() {
	bloomdedup info "$1" >/dev/null || return 1
	bloomdedup check -q -f "$1" /dev/null || [ $? -eq 1 ]
}

# at_most N: so many temporary files are left behind, and then none.
at_most() {
	local found=(.bloomdedup-*)
	if [ -e "${found[0]}" ]; then
		if [ ${#found[@]} -gt "$1" ]; then
			echo "${#found[@]} temporary files are left behind"
			return 1
		fi
		rm -f .bloomdedup-*
	fi
}
