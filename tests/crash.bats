# kill -9 at random moments of runs that print: no line is lost. Of others, see
# tests/crashfile.bats; before and after each system call, tests/killpoints.bats.
load faults

@test "a run that appends to a file" {
	skip_if_sanitized # what it says when it is killed is not ours
	in_parts 16 20000
	bloomdedup create -n 400000 -p 1e-12 empty
	run_part() {
		killed "$BLOOMDEDUP" -f seen "$1" >>all 2>>err
	}
	untraced kill_runs "$(times 500)" 1024
	run ! grep -qv 'torn by an earlier run' err
	grep -q 'torn by an earlier run' err
}

@test "a run that appends to a file, and whose filter grows" {
	in_parts 8 8192
	bloomdedup create -n 20000 -p 1e-12 empty
	run_part() {
		killed "$BLOOMDEDUP" -f seen "$1" >>all 2>>err
	}
	untraced kill_runs "$(times 60)" 1024
}

@test "a run that prints all of its input again and again" {
	in_parts 1 50000
	bloomdedup create -n 100000 -p 1e-12 empty
	run_part() {
		for ((i = 0; i < 5; i++)); do
			killed "$BLOOMDEDUP" -f seen in >>all 2>>err ||
				return 1
		done
	}
	untraced kill_runs "$(times 25)" 1024
}

@test "a pipe into a recorder" {
	in_parts 8 8192
	bloomdedup create -n 100000 -p 1e-12 empty
	run_part() {
		killed "$BLOOMDEDUP" -f seen "$1" 2>>err > >(cat >record) ||
			return 1
		wait $!
		ended record >>all
	}
	untraced kill_runs "$(times 60)" 1024
}

@test "-o, whose file is kept after each run" {
	in_parts 8 8192
	bloomdedup create -n 100000 -p 1e-12 empty
	run_part() {
		: >file
		killed "$BLOOMDEDUP" -f seen -o file "$1" 2>>err || return 1
		ended file >>all
	}
	untraced kill_runs "$(times 60)" 1024
}

@test "--shared, appending" {
	in_parts 8 8192
	bloomdedup create -n 100000 -p 1e-12 empty
	run_part() {
		killed "$BLOOMDEDUP" --shared -f seen "$1" >>all 2>>err
	}
	run_all() {
		"$BLOOMDEDUP" --shared -f seen in >>all 2>>err
	}
	untraced kill_runs "$(times 60)" 1024
}

@test "in private memory, which is written back: lines since then come again" {
	in_parts 4 30000
	bloomdedup create -n 200000 -p 1e-12 empty
	run_part() {
		BLOOMDEDUP_PRIVATE=0,1000000 killed "$BLOOMDEDUP" -f seen \
			"$1" >>all 2>>err
	}
	untraced kill_runs "$(times 60)" 30000
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
	strace -f -y -qq -o trace -e \
		trace=fsync,fdatasync,rename,unlink,write,pwrite64,link,exit_group \
		"$@" 2>err || true
	grep -q exit_group trace || skip "may not trace"
	sed -i 's/^[0-9]*  *//' trace # the thread
}

@test "--sync: first the output is on the disk, then the filter" {
	skip_if_sanitized # its leak checker fails under strace
	"$HELPER" numbered 2500 >in
	bloomdedup create -n 3000 seen
	trace_syncs "$BLOOMDEDUP" --sync -f seen -o part in
	in_order 'write\([0-9]*<.*/part>' 'fsync\([0-9]*<.*/part>' \
		'fdatasync\([0-9]*<.*/seen>' exit_group
	# its name is, too
	in_order "fsync\\([0-9]*<$(pwd -P)>" 'write\([0-9]*<.*/part>'
	# and its last sync is behind all that was written to it
	grep -nE '/(seen|part)>' trace | grep -vE ':(fsync|fdatasync)' |
		grep part | tail -n 1 | cut -d: -f1 >last
	tail -n +"$(cat last)" trace | grep -qE '^fsync\([0-9]*<.*/part>'
	# in a long run, too: no sync of the filter that has marks before one
	# of the output
	"$HELPER" lines 900000 >in
	trace_syncs "$BLOOMDEDUP" --sync -f seen -o part in
	in_order 'write\([0-9]*<.*/part>' 'fsync\([0-9]*<.*/part>' \
		'fdatasync\([0-9]*<.*/seen>' 'write\([0-9]*<.*/part>' \
		'fsync\([0-9]*<.*/part>' 'fdatasync\([0-9]*<.*/seen>' exit_group
}

@test "--atomic: output, name, journal, its commit, filter, no journal" {
	skip_if_emulated "calls of its own"
	skip_if_sanitized # its leak checker fails under strace
	"$HELPER" numbered 2500 >in
	bloomdedup create -n 3000 seen
	trace_syncs "$BLOOMDEDUP" --atomic -f seen -o part in
	in_order 'write\([0-9]*<.*/\.bloomdedup-' \
		'fdatasync\([0-9]*<.*/seen\.journal>' \
		'fsync\([0-9]*<.*/\.bloomdedup-' '^rename\(' \
		'fdatasync\([0-9]*<.*/seen\.journal>' \
		'pwrite64\([0-9]*<.*/seen\.journal>' \
		'fsync\([0-9]*<.*/seen\.journal>' \
		'fdatasync\([0-9]*<.*/seen>' \
		'^unlink\(.*seen\.journal' exit_group
}

@test "a filter has its name when it is on the disk, and new layers, too" {
	skip_if_emulated "calls of its own"
	skip_if_sanitized # its leak checker fails under strace
	"$HELPER" numbered 2500 >in
	trace_syncs "$BLOOMDEDUP" -f seen -n 100 -o part in
	# one slot, and then, while the run goes on, the other one
	in_order 'pwrite64\(' '^fdatasync\(' '^link\(' '^fsync\(' \
		'pwrite64\(' '^fdatasync\(' 'pwrite64\(' '^fdatasync\(' \
		'pwrite64\(' exit_group
	in_order '^fsync\(' 'pwrite64\(' '^write\(.*/part>' exit_group
}
