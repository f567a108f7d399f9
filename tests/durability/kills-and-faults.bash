# What the test files of kills and faults load, beside common.bash: they run
# the program some thousand times.
load ../common

# In memory where there is room, since a kill is the same there, and a sync
# takes no time.
setup() {
	local room
	work=$BATS_TEST_TMPDIR
	{
		read -r _
		read -r _ _ _ room _
	} < <(df -P -k /dev/shm 2>/dev/null)
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

# The next functions run after each of some thousand kills and faults: a process
# that is not started there is time that all of them save.

# whole FILTER: it can be opened and read, with all of its bits.
whole() {
	bloomdedup info "$1" >/dev/null
}

# knows_all [FILTER]: it, or `seen`, knows the lines of `in`.
knows_all() {
	bloomdedup check -f "${1:-seen}" in >known && cmp in known
}

# show FILE: print it, without a process.
show() {
	mapfile <"$1"
	printf '%s' "${MAPFILE[@]}"
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

# remembered_is_out FILE: what the filter knows of `in`, 2500 lines, is in FILE,
# and the rest comes out of another run, which appends it: no line is lost.
remembered_is_out() {
	[ ! -e seen ] || whole seen || return 1
	echo >>"$1"
	bloomdedup -f seen in >>"$1" 2>err || return 1
	"$HELPER" came-out 2500 2500 0 "$1" >figures
}

# all_or_none FILE: what a run left that remembers all in the end: all lines
# are known and in FILE, or none is known; and so it is after the next run, for
# the one that prints what is not known.
all_or_none() {
	bloomdedup check -f seen in >known
	if [ -s known ]; then
		cmp in known && cmp in "$1" || return 1
	fi
	bloomdedup add -f seen /dev/null 2>/dev/null || return 1
	[ ! -e seen.journal ] || return 1
	bloomdedup -f seen in >rest 2>/dev/null || return 1
	if [ -s known ]; then
		[ ! -s rest ]
	else
		cmp in rest
	fi
}

# has_reason MESSAGE: a run that failed says why, in one line that matches
# MESSAGE, beside what it may say before that. The line is $said then.
has_reason() {
	local line
	said=()
	mapfile -t <err
	for line in "${MAPFILE[@]}"; do
		case $line in
		*'passed the '*' lines that it was'*) ;;
		*'finishing an earlier run'*) ;;
		*) said+=("$line") ;;
		esac
	done
	# a fault that stays may be met once more when the filter is closed
	[[ ${fault:-} != *+ ]] || said=("${said[@]: -1}")
	if [ ${#said[@]} -ne 1 ] || ! [[ ${said[0]} =~ ^"bloomdedup: "$1 ]]; then
		echo "not one line with the reason"
		return 1
	fi
}

# small_and_large [OPTION]: the 2500 lines of `in`; an empty filter `small` that
# must grow for them and one, `large`, that need not. They are made with the
# option.
small_and_large() {
	"$HELPER" numbered 2500 >in
	bloomdedup create "$@" -n 1000 -p 1e-9 small
	bloomdedup create "$@" -n 3000 -p 1e-9 large
}

# one_and_two N: the N lines of `in`; the filter `one` knows the first part of
# them, which is `first`, and `two` the other, which is `second`.
one_and_two() {
	"$HELPER" numbered "$1" >in
	head -n $(($1 * 2 / 5)) in >first
	tail -n +$(($1 * 2 / 5 + 1)) in >second
	bloomdedup add -n $(($1 * 6 / 5)) -p 1e-9 -f one first
	bloomdedup create --like=one two
	bloomdedup add -f two second
}

# --- kill -9 at random moments

# How long a run takes, in microseconds. It is measured by the first one, and
# then follows how many of them end before they are killed, so that it is four
# in five on any machine.
took=0

# killed COMMAND...: it is killed at a random moment, or it ends well before;
# $kills counts. The first one of all is not killed.
killed() {
	local status=0 start
	if [ $took -eq 0 ]; then
		start=${EPOCHREALTIME/[.,]/}
		"$HELPER" kill-after 600000000 "$@" || return 1
		took=$((${EPOCHREALTIME/[.,]/} - start))
		return 0
	fi
	"$HELPER" kill-after $(((RANDOM * 32768 + RANDOM) % (took * 5 / 4))) \
		"$@" || status=$?
	if [ "$status" -eq 137 ]; then
		kills=$((kills + 1))
		took=$((took + took / 256 + 1))
	elif [ "$status" -eq 0 ]; then
		took=$((took - took / 64 + 10))
	else
		echo "exit status $status from: $*"
		cat err
		return 1
	fi
}

# in_parts COUNT LINES: `in` has so many lines, and part.* are its parts.
in_parts() {
	part=$2
	"$HELPER" numbered $(($1 * $2)) >in
	split -l "$2" -a 3 in part.
}

# with_end FILE: what it holds, with an end to its last line, which may be torn.
with_end() {
	cat "$1"
	echo
}

# What most rounds begin and end with; a test may say it otherwise.
before() {
	cp empty seen
}

run_all() {
	"$BLOOMDEDUP" -f seen in >>all 2>>err
}

# kill_runs KILLS BATCH [STUBS]: rounds of runs, each over its part of `in` and killed
# at a random moment, and then one over all of it, to its end, until so many
# were killed. The test says how: `before` prepares a round, `run_part PART` is
# one run, `run_all` the last; what they print is in `all` in the end. No line
# is missing there or glued to another; at most one is torn and BATCH come
# twice for each kill, and with STUBS, so many are torn at most. It goes on until
# more than a hundredth of the kills came in the middle of the lines.
kill_runs() {
	local total=0 in_the_middle=0 file count end stubs repeats cut
	count=$(wc -l <in)
	: >all
	: >err
	before
	run_part part.aaa
	while [ $total -lt "$1" ] ||
		[ $in_the_middle -le $((total / 100)) ]; do
		[ $total -lt $(($1 * 20 + 400)) ] || return 1
		: >all
		kills=0
		before
		for file in part.*; do
			run_part "$file" || return 1
		done
		end=$(stat -c %s all)
		whole seen || return 1
		run_all || return 1
		"$HELPER" came-out "$count" "$part" "$end" all >figures ||
			return 1
		read -r stubs repeats cut <figures
		echo "$kills kills: $stubs torn, $repeats twice, $cut cut"
		[ "$stubs" -le "${3:-$kills}" ] || return 1
		[ "$repeats" -le $((kills * $2)) ] || return 1
		total=$((total + kills))
		in_the_middle=$((in_the_middle + cut))
	done
	echo "$total kills, $in_the_middle in the middle of the lines"
}

# kill_each KILLS: `before`, `run_once`, which is killed at a random moment,
# and `after`, until so many were killed.
kill_each() {
	local total=0
	: >err
	before
	run_once
	while [ $total -lt "$1" ]; do
		kills=0
		before
		run_once || return 1
		after || return 1
		total=$((total + kills))
	done
}
