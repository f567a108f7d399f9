# kill -9 at random moments of runs that mark lines as they print them: no line
# is lost. kill-before-commit.bats has other runs, kill-at-system-calls.bats
# kills before and after each system call.
load kills-and-faults

@test "a run that appends to a file" {
	skip_if_sanitized # what it says when it is killed is not ours
	in_parts 16 20000
	bloomdedup create -n 400000 -p 1e-12 empty
	run_part() {
		killed "$BLOOMDEDUP" -f seen "$1" >>all 2>>err
	}
	untraced kill_runs "$(times 100 10000)" 1024 0
	run ! grep -qv 'cut back to its last whole line' err
}

@test "a run that appends to a file, and whose filter grows" {
	in_parts 8 8192
	bloomdedup create -n 20000 -p 1e-12 empty
	run_part() {
		killed "$BLOOMDEDUP" -f seen "$1" >>all 2>>err
	}
	untraced kill_runs "$(times 20 1200)" 1024 0
}

@test "a run that prints all of its input again and again" {
	in_parts 1 50000
	bloomdedup create -n 100000 -p 1e-12 empty
	# A run that is killed in the middle is no longer seen in the end: the
	# ones after it print the rest.
	local all_of_it had has
	all_of_it=$(stat -c %s in)
	run_part() {
		had=0
		for ((i = 0; i < 5; i++)); do
			killed "$BLOOMDEDUP" -f seen in >>all 2>>err ||
				return 1
			has=$(stat -c %s all)
			((in_the_middle += had < has && has < all_of_it))
			had=$has
		done
		return 0
	}
	untraced kill_runs "$(times 18 500)" 1024 0
}

@test "-o --append, with --duplicates" {
	in_parts 8 8192
	bloomdedup create -n 100000 -p 1e-12 empty
	run_part() {
		killed "$BLOOMDEDUP" -f seen -o all --append \
			--duplicates=again "$1" 2>>err
	}
	run_all() {
		"$BLOOMDEDUP" -f seen -o all --append --duplicates=again in \
			2>>err
	}
	untraced kill_runs "$(times 20 1200)" 1024 0
	# no stub there, either: lines, each of which is one of the input
	run ! grep -Fxv -m 1 -f in again
}

@test "a pipe into a recorder" {
	in_parts 8 8192
	bloomdedup create -n 100000 -p 1e-12 empty
	run_part() {
		killed "$BLOOMDEDUP" -f seen "$1" 2>>err > >(cat >record) ||
			return 1
		wait $!
		with_end record >>all
	}
	untraced kill_runs "$(times 20 1200)" 1024
}

@test "-o, whose file is kept after each run" {
	in_parts 8 8192
	bloomdedup create -n 100000 -p 1e-12 empty
	run_part() {
		: >file
		killed "$BLOOMDEDUP" -f seen -o file "$1" 2>>err || return 1
		with_end file >>all
	}
	untraced kill_runs "$(times 20 1200)" 1024
}

@test "-o --overwrite, whose file is kept after each run" {
	in_parts 8 8192
	bloomdedup create -n 100000 -p 1e-12 empty
	run_part() {
		echo old >file
		killed "$BLOOMDEDUP" -f seen -o file --overwrite "$1" \
			2>>err || return 1
		with_end file | sed '1{ /^old$/d; }' >>all
	}
	untraced kill_runs "$(times 20 1200)" 1024
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
	untraced kill_runs "$(times 20 1200)" 1024
}

@test "in private memory, which is written back: lines since then come again" {
	in_parts 4 30000
	bloomdedup create -n 200000 -p 1e-12 empty
	run_part() {
		BLOOMDEDUP_PRIVATE=0,1000000 killed "$BLOOMDEDUP" -f seen \
			"$1" >>all 2>>err
	}
	untraced kill_runs "$(times 15 1200)" 30000 0
}
