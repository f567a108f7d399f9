# kill -9 at random moments: no line is lost, and the filter is a whole one.
# tests/killpoints.bats has the moments before and after each system call.
load faults

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

# ended FILE: what it holds, with an end to its last line, which may be torn.
ended() {
	cat "$1"
	echo
}

# kill_runs KILLS BATCH: rounds of runs, each over its part of `in` and killed
# at a random moment, and then one over all of it, to its end, until so many
# were killed. The test says how: `before` prepares a round, `run_part PART` is
# one run, `run_all` the last; what they print is in `all` in the end. No line
# is missing there or glued to another; at most one is torn and BATCH come
# twice for each kill. Not a few of the kills came in the middle of the lines.
kill_runs() {
	local total=0 in_the_middle=0 file count end stubs repeats cut
	count=$(wc -l <in)
	: >all
	: >err
	before
	run_part part.aaa
	while [ $total -lt "$1" ]; do
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
		[ "$stubs" -le "$kills" ] || return 1
		[ "$repeats" -le $((kills * $2)) ] || return 1
		total=$((total + kills))
		in_the_middle=$((in_the_middle + cut))
	done
	echo "$total kills, $in_the_middle in the middle of the lines"
	[ $in_the_middle -gt $((total / 100)) ]
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

@test "a run that appends to a file" {
	skip_if_sanitized # what it says when it is killed is not ours
	in_parts 16 20000
	bloomdedup create -n 400000 -p 1e-12 empty
	before() {
		cp empty seen
	}
	run_part() {
		killed "$BLOOMDEDUP" -f seen "$1" >>all 2>>err
	}
	run_all() {
		"$BLOOMDEDUP" -f seen in >>all 2>>err
	}
	untraced kill_runs "$(times 500)" 1024
	run ! grep -qv 'torn by an earlier run' err
	grep -q 'torn by an earlier run' err
}

@test "a run that appends to a file, and whose filter grows" {
	in_parts 8 8192
	bloomdedup create -n 20000 -p 1e-12 empty
	before() {
		cp empty seen
	}
	run_part() {
		killed "$BLOOMDEDUP" -f seen "$1" >>all 2>>err
	}
	run_all() {
		"$BLOOMDEDUP" -f seen in >>all 2>>err
	}
	untraced kill_runs "$(times 60)" 1024
}

@test "a run that prints all of its input again and again" {
	in_parts 1 50000
	bloomdedup create -n 100000 -p 1e-12 empty
	before() {
		cp empty seen
	}
	run_part() {
		for ((i = 0; i < 5; i++)); do
			killed "$BLOOMDEDUP" -f seen in >>all 2>>err ||
				return 1
		done
	}
	run_all() {
		"$BLOOMDEDUP" -f seen in >>all 2>>err
	}
	untraced kill_runs "$(times 25)" 1024
}

@test "a run that makes its filter: it is whole, or not there" {
	in_parts 1 2000
	before() {
		rm -f seen
		: >all
	}
	run_once() {
		killed "$BLOOMDEDUP" -f seen -n 3000 in >>all 2>>err
	}
	after() {
		[ ! -e seen ] || whole seen || return 1
		at_most 1 || return 1
		"$BLOOMDEDUP" -f seen -n 3000 in >>all 2>>err ||
			return 1
		"$HELPER" came-out 2000 2000 0 all
	}
	untraced kill_each "$(times 50)"
}

@test "a pipe into a recorder" {
	in_parts 8 8192
	bloomdedup create -n 100000 -p 1e-12 empty
	before() {
		cp empty seen
	}
	run_part() {
		killed "$BLOOMDEDUP" -f seen "$1" 2>>err > >(cat >record) ||
			return 1
		wait $!
		ended record >>all
	}
	run_all() {
		"$BLOOMDEDUP" -f seen in >>all 2>>err
	}
	untraced kill_runs "$(times 60)" 1024
}

@test "-o, whose file is kept after each run" {
	in_parts 8 8192
	bloomdedup create -n 100000 -p 1e-12 empty
	before() {
		cp empty seen
	}
	run_part() {
		: >file
		killed "$BLOOMDEDUP" -f seen -o file "$1" 2>>err || return 1
		ended file >>all
	}
	run_all() {
		"$BLOOMDEDUP" -f seen in >>all 2>>err
	}
	untraced kill_runs "$(times 60)" 1024
}

@test "--shared, appending" {
	in_parts 8 8192
	bloomdedup create -n 100000 -p 1e-12 empty
	before() {
		cp empty seen
	}
	run_part() {
		killed "$BLOOMDEDUP" --shared -f seen "$1" >>all 2>>err
	}
	run_all() {
		"$BLOOMDEDUP" --shared -f seen in >>all 2>>err
	}
	untraced kill_runs "$(times 60)" 1024
}

@test "--sync, appending" {
	# more than a list of what is held back
	in_parts 4 200000
	bloomdedup create -n 1000000 -p 1e-12 empty
	before() {
		cp empty seen
	}
	run_part() {
		killed "$BLOOMDEDUP" --sync -f seen "$1" >>all 2>>err
	}
	run_all() {
		"$BLOOMDEDUP" --sync -f seen in >>all 2>>err
	}
	# half a list of 256 Ki, and more, comes again
	untraced kill_runs "$(times 8)" 140000
}

@test "--sync -o" {
	in_parts 4 30000
	bloomdedup create -n 200000 -p 1e-12 empty
	before() {
		cp empty seen
	}
	run_part() {
		: >file
		killed "$BLOOMDEDUP" --sync -f seen -o file "$1" 2>>err ||
			return 1
		ended file >>all
	}
	run_all() {
		"$BLOOMDEDUP" -f seen in >>all 2>>err
	}
	untraced kill_runs "$(times 50)" 30000
}

@test "--atomic, appending, and the journal of a run after a killed one" {
	in_parts 4 30000
	bloomdedup create -n 200000 -p 1e-12 empty
	before() {
		cp empty seen
		rm -f seen.journal
	}
	run_part() {
		killed "$BLOOMDEDUP" --atomic -f seen "$1" >>all 2>>err
	}
	run_all() {
		"$BLOOMDEDUP" --atomic -f seen in >>all 2>>err
	}
	untraced kill_runs "$(times 50)" 30000
}

@test "--to-command, which prints what it gets" {
	in_parts 4 30000
	bloomdedup create -n 200000 -p 1e-12 empty
	before() {
		cp empty seen
		rm -f seen.journal
	}
	# the recorder ends when the command has, too
	run_part() {
		killed "$BLOOMDEDUP" -f seen --to-command=cat "$1" \
			2>>err > >(cat >record) || return 1
		wait $!
		ended record >>all
	}
	run_all() {
		"$BLOOMDEDUP" -f seen --to-command=cat in >>all 2>>err
	}
	untraced kill_runs "$(times 50)" 30000
}

@test "while recovering a journal: all of its lines, then or later" {
	"$HELPER" numbered 50000 >in
	bloomdedup create -n 100000 -p 1e-12 empty
	"$HELPER" journal empty <in
	before() {
		cp empty seen
		cp empty.journal seen.journal
	}
	run_once() {
		killed "$BLOOMDEDUP" add -f seen /dev/null 2>>err
	}
	after() {
		bloomdedup check -f seen in | cmp in - || return 1
		run_once || return 1
		bloomdedup check -f seen in | cmp in - || return 1
		"$BLOOMDEDUP" add -f seen /dev/null 2>>err || return 1
		[ ! -e seen.journal ] || return 1
		bloomdedup check -f seen in | cmp in -
	}
	untraced kill_each "$(times 25)"
}

@test "create --force: the old filter or the new one" {
	echo old | bloomdedup add -n 50000 -f first
	echo old >line
	before() {
		cp first seen
	}
	run_once() {
		killed "$BLOOMDEDUP" create --force -n 60000 seen
	}
	after() {
		at_most 1 || return 1
		if ! cmp -s first seen; then
			bloomdedup info seen |
				grep -q 'for  *60,000 lines' || return 1
			bloomdedup check -v -f seen line >out
			cmp line out || return 1
		fi
		bloomdedup add -f seen line
	}
	untraced kill_each "$(times 50)"
}

# two_filters: `one` knows the lines of `first`, `two` those of `second`, which
# are together `in`.
two_filters() {
	"$HELPER" numbered 20000 >in
	head -n 10000 in >first
	tail -n 10000 in >second
	bloomdedup add -n 50000 -p 1e-12 -f one first
	bloomdedup create --like=one two
	bloomdedup add -f two second
}

@test "merge in place: the old filter or the union" {
	two_filters
	before() {
		cp one seen
	}
	run_once() {
		killed "$BLOOMDEDUP" merge -o seen seen two >/dev/null
	}
	after() {
		at_most 1 || return 1
		bloomdedup check -f seen in >known
		cmp -s in known || cmp first known || return 1
		bloomdedup merge -o seen seen two >/dev/null || return 1
		bloomdedup check -f seen in | cmp in -
	}
	untraced kill_each "$(times 50)"
}

@test "merge into a new file: the union, or nothing, with journals, too" {
	two_filters
	"$HELPER" lines 1000 >third
	"$HELPER" journal one <third
	before() {
		rm -f union
	}
	run_once() {
		killed "$BLOOMDEDUP" merge -o union one two >/dev/null
	}
	after() {
		at_most 1 || return 1
		[ -e union ] || return 0
		bloomdedup check -f union in third | cat >known
		cat in third | cmp - known
	}
	untraced kill_each "$(times 50)"
}

# --- what must be on the disk before what, for a power cut

# in_order PATTERN...: lines of `trace` match them one after the other.
in_order() {
	local at=0 next pattern
	for pattern; do
		next=$(tail -n +$((at + 1)) trace | grep -nE -m 1 "$pattern" |
			cut -d: -f1)
		if [ -z "$next" ]; then
			echo "no '$pattern' behind line $at of"
			cat trace
			return 1
		fi
		at=$((at + next))
	done
}

trace_syncs() {
	command -v strace >/dev/null || skip "needs strace"
	strace -y -qq -o trace -e \
		trace=fsync,fdatasync,rename,unlink,write,pwrite64,link,exit_group \
		"$@" 2>err || true
	grep -q exit_group trace || skip "may not trace"
}

@test "--sync: first the output is on the disk, then the filter" {
	skip_if_sanitized # its leak checker fails under strace
	"$HELPER" numbered 2500 >in
	bloomdedup create -n 3000 seen
	trace_syncs "$BLOOMDEDUP" --sync -f seen -o part in
	in_order 'write\([0-9]*<.*/part>' 'fsync\([0-9]*<.*/part>' \
		'fdatasync\([0-9]*<.*/seen>' exit_group
	# and its last sync is behind all that was written to it
	grep -nE '/(seen|part)>' trace | grep -vE ':(fsync|fdatasync)' |
		grep part | tail -n 1 | cut -d: -f1 >last
	tail -n +"$(cat last)" trace | grep -qE '^fsync\([0-9]*<.*/part>'
	# in a long run, too: no sync of the filter that has marks before one
	# of the output
	"$HELPER" lines 300000 >in
	trace_syncs "$BLOOMDEDUP" --sync -f seen -o part in
	in_order 'write\([0-9]*<.*/part>' 'fsync\([0-9]*<.*/part>' \
		'fdatasync\([0-9]*<.*/seen>' 'write\([0-9]*<.*/part>' \
		'fsync\([0-9]*<.*/part>' 'fdatasync\([0-9]*<.*/seen>' exit_group
}

@test "--atomic: output, name, journal, its commit, filter, no journal" {
	skip_if_sanitized # its leak checker fails under strace
	"$HELPER" numbered 2500 >in
	bloomdedup create -n 3000 seen
	trace_syncs "$BLOOMDEDUP" --atomic -f seen -o part in
	in_order 'write\([0-9]*<.*/\.bloomdedup-' \
		'fsync\([0-9]*<.*/\.bloomdedup-' '^rename\(' \
		'fdatasync\([0-9]*<.*/seen\.journal>' \
		'pwrite64\([0-9]*<.*/seen\.journal>' \
		'fsync\([0-9]*<.*/seen\.journal>' \
		'fdatasync\([0-9]*<.*/seen>' \
		'^unlink\(.*seen\.journal' exit_group
}

@test "a filter has its name when it is on the disk, and new layers, too" {
	skip_if_sanitized # its leak checker fails under strace
	"$HELPER" numbered 2500 >in
	trace_syncs "$BLOOMDEDUP" -f seen -n 100 -o part in
	in_order 'pwrite64\(' '^fdatasync\(' '^link\(' '^fsync\(' \
		'pwrite64\(' '^fdatasync\(' 'pwrite64\(' '^fdatasync\(' \
		'pwrite64\(' '^fdatasync\(' '^write\(.*/part>'
}
