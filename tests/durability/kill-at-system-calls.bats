# kill -9 before and after each system call of each command: no line is lost,
# and the filter is a whole one.
load kills-and-faults

# Some tests say themselves how it is run.
kill_at() {
	"$HELPER" kill-at "$@"
}

# at_each CHECK COMMAND...: `before`, the command, killed before or after one
# of its system calls, and CHECK; for each of them. In a short run of the tests
# for some of them, other ones each time.
at_each() {
	local check=$1 stops at step=1 status hits=0 note
	shift
	! is_sanitized || skip "the sanitizers don't work under ptrace"
	before
	kill_at 0 note "$@" >stdout 2>err || true
	read -r stops <note
	[ "${stops:-0}" -gt 0 ] || skip "needs the right to trace"
	# where each page is a call, some of them will do
	step=$((stops / 500 + 1))
	is_slow || step=$((stops / 8 + 1))
	for ((at = RANDOM % step + 1; at <= stops; at += step)); do
		before
		status=0
		kill_at $at note "$@" >stdout 2>err || status=$?
		read -r note <note
		echo "stop $at of $stops, $note: exit status $status"
		if [ $status -ne 137 ]; then
			# the last call of a run has no end, and how many
			# there are depends on threads and on memory, too
			[ $at -ge $((stops * 9 / 10 - 8)) ] || return 1
			continue
		fi
		hits=$((hits + 1))
		$check || return 1
	done
	echo "$hits kills"
	[ $hits -ge $(((stops * 9 / 10 - 8) / step)) ]
}

# comes_out FILE: each line of `in` is in FILE or comes out of another run; of
# those in FILE, at most one is torn and one batch comes again.
comes_out() {
	local stubs repeats
	at_most 1 || return 1
	remembered_is_out "$1" || return 1
	read -r stubs repeats _ <figures
	[ "$stubs" -le 1 ] && [ "$repeats" -le "${2:-1024}" ]
}

@test "a run that makes a filter and grows it" {
	small_and_large
	before() {
		rm -f seen
	}
	check() {
		comes_out stdout
	}
	untraced at_each check "$BLOOMDEDUP" -f seen -n 1000 -p 1e-9 in
}

@test "a run that appends to a file, and reads gzip" {
	small_and_large
	gzip -c in >in.gz
	before() {
		cp large seen
		: >file
	}
	check() {
		comes_out file
	}
	untraced at_each check bash -c 'exec "$0" -f seen in.gz >>file' \
		"$BLOOMDEDUP"
}

@test "a run with -o and --duplicates" {
	small_and_large
	cat in in >twice
	before() {
		cp large seen
		: >file
	}
	check() {
		comes_out file
	}
	untraced at_each check "$BLOOMDEDUP" -f seen -o file \
		--duplicates=copies twice
}

@test "a run with --sync" {
	small_and_large
	before() {
		cp small seen
		: >file
	}
	check() {
		comes_out file 2500
	}
	untraced at_each check "$BLOOMDEDUP" --sync -o file -f seen in
}

@test "a run with --atomic: all lines are remembered and in the file, or none" {
	small_and_large
	echo old >old
	before() {
		cp small seen
		rm -f seen.journal
		cp old file
	}
	check() {
		at_most 1 || return 1
		cmp -s old file || cmp in file || return 1
		all_or_none file
	}
	untraced at_each check "$BLOOMDEDUP" --atomic -o file -f seen in
}

@test "the same three in private memory" {
	small_and_large
	export BLOOMDEDUP_PRIVATE=0,40000
	before() {
		cp small seen
		rm -f seen.journal
		: >file
	}
	check() {
		comes_out file 2500
	}
	untraced at_each check "$BLOOMDEDUP" -f seen -o file in
	untraced at_each check "$BLOOMDEDUP" --sync -f seen -o file in
	check() {
		at_most 1 || return 1
		[ ! -s file ] || cmp in file || return 1
		all_or_none file
	}
	untraced at_each check "$BLOOMDEDUP" --atomic -f seen -o file in
}

@test "a run with --to-command" {
	small_and_large
	before() {
		cp small seen
		rm -f seen.journal
	}
	check() {
		all_or_none file
	}
	# the recorder ends when the command has, too
	kill_at() {
		local status=0
		"$HELPER" kill-at "$@" > >(cat >file) || status=$?
		wait $!
		return $status
	}
	untraced at_each check "$BLOOMDEDUP" -f seen --to-command=cat in
}

@test "a run with --shared" {
	small_and_large
	before() {
		cp small seen
	}
	check() {
		comes_out stdout
	}
	untraced at_each check "$BLOOMDEDUP" --shared -f seen in
}

@test "add: it can be done again" {
	small_and_large
	before() {
		cp small seen
	}
	check() {
		whole seen || return 1
		bloomdedup add -f seen in 2>/dev/null || return 1
		knows_all
	}
	untraced at_each check "$BLOOMDEDUP" add -f seen in
	untraced at_each check "$BLOOMDEDUP" add --shared -f seen in
}

@test "while a journal is recovered: all of its lines, then or later" {
	small_and_large
	"$HELPER" journal large <in
	before() {
		cp large seen
		cp large.journal seen.journal
	}
	check() {
		knows_all || return 1
		bloomdedup add -f seen /dev/null 2>/dev/null || return 1
		[ ! -e seen.journal ] || return 1
		knows_all
	}
	untraced at_each check "$BLOOMDEDUP" add -f seen /dev/null
}

@test "while a journal without its commit is thrown away" {
	small_and_large
	"$HELPER" journal large open <in
	before() {
		cp large seen
		cp large.journal seen.journal
	}
	check() {
		all_or_none /dev/null
	}
	untraced at_each check "$BLOOMDEDUP" add -f seen /dev/null
}

@test "check and info change nothing" {
	small_and_large
	"$HELPER" journal large <in
	cp large seen
	cp large.journal seen.journal
	before() {
		true
	}
	check() {
		cmp large seen && cmp large.journal seen.journal && at_most 0
	}
	untraced at_each check "$BLOOMDEDUP" check -f seen in
	untraced at_each check "$BLOOMDEDUP" info seen
}

@test "create: a whole filter or none" {
	small_and_large
	before() {
		rm -f seen
	}
	check() {
		at_most 1 || return 1
		[ ! -e seen ] || whole seen
	}
	untraced at_each check "$BLOOMDEDUP" create -n 1000 seen
}

@test "create --force: the old filter, with its journal, or the new one" {
	small_and_large
	"$HELPER" journal large <in
	before() {
		cp large seen
		cp large.journal seen.journal
	}
	check() {
		at_most 1 || return 1
		if cmp -s large seen; then
			[ -e seen.journal ] || return 0
			knows_all
			return
		fi
		echo new | bloomdedup add -f seen 2>err || return 1
		whole seen
	}
	untraced at_each check "$BLOOMDEDUP" create --force -n 1000 seen
}

@test "merge in place: the old filter or the union" {
	one_and_two 2500
	before() {
		cp one seen
	}
	check() {
		at_most 1 || return 1
		bloomdedup check -f seen in >known || return 1
		cmp -s in known || cmp first known
	}
	untraced at_each check "$BLOOMDEDUP" merge -o seen seen two
}

@test "merge into a new file: the union or nothing" {
	one_and_two 2500
	before() {
		rm -f union
	}
	check() {
		at_most 1 || return 1
		[ -e union ] || return 0
		knows_all union
	}
	untraced at_each check "$BLOOMDEDUP" merge -o union one two
}

# --- windows

# of_the_window FILE: what a run with a window left behind: what the filter
# knows of `in` is in FILE, and after the next run it knows the newest lines.
of_the_window() {
	whole seen || return 1
	at_most 1 || return 1
	bloomdedup check -f seen in >known
	if [ -s known ]; then
		awk 'FILENAME == ARGV[1] { out[$0]; next }
			!($0 in out) { lost++ }
			END { if (lost) {
				print lost " lines are remembered, not printed"
				exit 1
			} }' "$1" known || return 1
	fi
	bloomdedup -f seen in >again 2>err || return 1
	whole seen || return 1
	bloomdedup check -f seen newest >known && cmp newest known
}

# at_each_mode: a run that prints, killed in each mode that remembers in another
# way; `window` is a filter that none of its lines is in.
at_each_mode() {
	local mode
	tail -n 1000 in >newest
	before() {
		cp window seen
		[ ! -e seen.journal ] || rm seen.journal
		: >file
	}
	check() {
		of_the_window file
	}
	for mode in '' --sync --shared; do
		untraced at_each check "$BLOOMDEDUP" $mode -o file -f seen in ||
			return 1
	done
	BLOOMDEDUP_PRIVATE=0,40000 \
		untraced at_each check "$BLOOMDEDUP" -o file -f seen in || return 1
	check() {
		cmp -s in file || [ ! -s file ] || return 1
		of_the_window file
	}
	untraced at_each check "$BLOOMDEDUP" --atomic -o file -f seen in
}

@test "a window of a day that grows, in each mode" {
	small_and_large --window=1d
	cp small window
	at_each_mode
}

@test "a window of lines that moves on, in each mode" {
	small_and_large
	bloomdedup create --window=1200 -p 1e-9 window
	at_each_mode
}

@test "a window whose time has come to move on, in each mode" {
	needs_faketime
	small_and_large
	"$HELPER" lines 700 >old
	at "2026-02-01 12:00:00" add -f window --window=8h -n 700 -p 1e-9 old
	kill_at() {
		local status=0
		"$HELPER" kill-at "$1" "$2" env LD_PRELOAD="$FAKETIME_LIBRARY" \
			FAKETIME="2026-02-01 14:10:00" TZ=UTC "${@:3}" ||
			status=$?
		# there are so many kills that process numbers come again
		remove_faketime_leftovers
		return $status
	}
	bloomdedup() {
		at "2026-02-01 14:10:00" "$@"
	}
	at_each_mode
	# of the quarter before nothing is forgotten
	bloomdedup check -f seen old | cmp old -
}

@test "a window and --to-command, add, create and merge" {
	"$HELPER" numbered 2500 >in
	head -n 1000 in >first
	tail -n 1500 in >second
	tail -n 1000 in >newest
	local window
	kill_at() {
		local status=0
		"$HELPER" kill-at "$@" > >(cat >file) || status=$?
		wait $!
		return $status
	}
	for window in '1d -n 1000' 1200; do
		rm -f window
		# shellcheck disable=SC2086 # a window and its capacity
		bloomdedup create -p 1e-9 --window=$window window
		before() {
			cp window seen
			rm -f seen.journal
		}
		check() {
			of_the_window file
		}
		untraced at_each check "$BLOOMDEDUP" -f seen \
			--to-command=cat in
		check() {
			of_the_window in
		}
		untraced at_each check "$BLOOMDEDUP" add -f seen in
		before() {
			rm -f seen
		}
		check() {
			at_most 1 || return 1
			[ ! -e seen ] || of_the_window in
		}
		# shellcheck disable=SC2086
		untraced at_each check "$BLOOMDEDUP" create --window=$window seen
	done
	rm -f one two
	bloomdedup add --window=1d -n 3000 -p 1e-9 -f one first
	bloomdedup create --like=one two
	bloomdedup add -f two second
	before() {
		cp one seen
	}
	check() {
		at_most 1 || return 1
		bloomdedup check -f seen in >known || return 1
		cmp -s in known || cmp first known
	}
	untraced at_each check "$BLOOMDEDUP" merge -o seen seen two
}
