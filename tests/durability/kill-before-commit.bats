# kill -9 at random moments of runs that remember their lines at the end, and of
# commands that make and change filters: no line is lost, and the filter is the
# old one or the new one.
load kills-and-faults

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
	untraced kill_each "$(times 12 1000)"
}

@test "--sync, appending" {
	# more than a list of what is held back
	in_parts 1 450000
	bloomdedup create -n 600000 -p 1e-12 empty
	# until one gets to its end, or at most four times
	run_part() {
		local so_far
		for ((i = 0; i < 4; i++)); do
			so_far=$kills
			killed "$BLOOMDEDUP" --sync -f seen "$1" >>all 2>>err ||
				return 1
			[ $kills -gt $so_far ] || break
		done
	}
	run_all() {
		"$BLOOMDEDUP" --sync -f seen in >>all 2>>err
	}
	# a list of 384 Ki comes again
	untraced kill_runs "$(times 3 160)" 394000
}

@test "--sync -o" {
	in_parts 4 30000
	bloomdedup create -n 200000 -p 1e-12 empty
	run_part() {
		: >file
		killed "$BLOOMDEDUP" --sync -f seen -o file "$1" 2>>err ||
			return 1
		with_end file >>all
	}
	untraced kill_runs "$(times 12 1000)" 30000
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
	untraced kill_runs "$(times 12 1000)" 30000
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
		with_end record >>all
	}
	run_all() {
		"$BLOOMDEDUP" -f seen --to-command=cat in >>all 2>>err
	}
	untraced kill_runs "$(times 12 1000)" 30000
}

@test "--sync and --atomic in private memory" {
	in_parts 4 30000
	bloomdedup create -n 200000 -p 1e-12 empty
	before() {
		cp empty seen
		rm -f seen.journal
	}
	for kind in --sync --atomic; do
		run_part() {
			BLOOMDEDUP_PRIVATE=0,1000000 killed "$BLOOMDEDUP" \
				$kind -f seen "$1" >>all 2>>err
		}
		run_all() {
			"$BLOOMDEDUP" $kind -f seen in >>all 2>>err
		}
		untraced kill_runs "$(times 6 500)" 30000
	done
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
		knows_all || return 1
		run_once || return 1
		knows_all || return 1
		"$BLOOMDEDUP" add -f seen /dev/null 2>>err || return 1
		[ ! -e seen.journal ] || return 1
		knows_all
	}
	untraced kill_each "$(times 6 500)"
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
	untraced kill_each "$(times 12 1000)"
}

@test "merge in place: the old filter or the union" {
	one_and_two 20000
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
		knows_all
	}
	untraced kill_each "$(times 12 1000)"
}

@test "merge into a new file: the union, or nothing" {
	one_and_two 20000
	before() {
		rm -f union
	}
	run_once() {
		killed "$BLOOMDEDUP" merge -o union one two >/dev/null
	}
	after() {
		at_most 1 || return 1
		[ -e union ] || return 0
		knows_all union
	}
	untraced kill_each "$(times 12 1000)"
}

@test "--atomic --overwrite, whose file is kept after each run" {
	in_parts 8 8192
	bloomdedup create -n 100000 -p 1e-12 empty
	before() {
		cp empty seen
		rm -f file.*
	}
	# each one its own, since a file that a killed run has made is continued
	run_part() {
		echo old >"file.$1"
		killed "$BLOOMDEDUP" --atomic -f seen -o "file.$1" --overwrite \
			"$1" 2>>err || return 1
		# nothing of a run that was killed in the middle is seen
		! grep -qx old "file.$1" || ((in_the_middle += 1))
		sed '/^old$/d' "file.$1" >>all
	}
	# what a run printed that was killed before its commit comes again
	untraced kill_runs "$(times 10 600)" 8192 0
}

@test "--atomic, appending: the lines of a run are all there, or none" {
	in_parts 1 20000
	seq -f 'old %.0f' 10 >start
	bloomdedup create -n 30000 -p 1e-12 empty
	before() {
		cp empty seen
		cp start all
	}
	run_once() {
		killed "$BLOOMDEDUP" -f seen --atomic -o all --append in 2>>err
	}
	after() {
		bloomdedup add -f seen </dev/null 2>>err || return 1
		at_most 0 || return 1
		if cmp -s start all; then
			! bloomdedup check -q -f seen in || return 1
		else
			cat start in | cmp - all || return 1
			all_known in
		fi
	}
	untraced kill_each "$(times 30 2000)"
}
