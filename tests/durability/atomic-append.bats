# --atomic with -o FILE --append: FILE gets the new lines at the end, in place,
# and all or none of them, whatever happens to the run and to FILE meanwhile.
load ../common

@test "what others append meanwhile stays, and so do hard links" {
	seq 3 >file
	ln file link
	start_on_pipe -f seen --atomic -o file --append
	seq 10 12 >&7
	until_idle $pid
	echo other >>file
	seq 13 15 >&7
	seq 3 | cat - <(echo other) | cmp - file
	ends_with 0
	{ seq 3; echo other; seq 10 15; } | cmp - link
	[ ! -e seen.journal ]
	no_leftovers
	# two runs on one output
	echo a >both
	start_on_pipe -f seen --atomic -o both --append
	first=$pid
	exec 8>&7 7>&-
	start_on_pipe -f other --atomic -o both --append
	echo b >&7
	ends_with 0
	echo c >&8
	exec 8>&-
	wait $first
	printf 'a\nb\nc\n' | cmp - both
}

@test "without a filter: what others append meanwhile stays, too" {
	seq 3 >file
	seq 2 >again
	ln file link
	start_on_pipe --atomic -o file --append --duplicates=again
	seq 10 12 >&7
	until_idle $pid
	echo other >>file
	seq 12 15 >&7
	seq 3 | cat - <(echo other) | cmp - file
	ends_with 0
	{ seq 3; echo other; seq 10 15; } | cmp - link
	printf '1\n2\n12\n' | cmp - again
	no_leftovers
	# a run that fails adds nothing
	cp file before
	fails 3 'No such file' bloomdedup --atomic -o file --append <(seq 20) \
		missing
	start_on_pipe --atomic -o file --append
	seq 30 >&7
	until_idle $pid
	dies_of TERM
	start_on_pipe --atomic -o file --append
	seq 30 >&7
	until_idle $pid
	dies_of KILL
	cmp before file
	no_leftovers
}

@test "without a filter: no room in the file" {
	small_disk 128k
	"$HELPER" lines 20000 >in
	seq 3 >disk/out
	fails 3 'disk/out: No space left' \
		bloomdedup --atomic -o disk/out --append in
	seq 3 | cmp - disk/out
	# room for the text, but not twice
	"$HELPER" lines 20000 | head -c 80000 >in
	fails 3 'disk/out: No space left' \
		bloomdedup --atomic -o disk/out --append in
	seq 3 | cmp - disk/out
	umount disk
}

@test "a kill at any moment: all of the run is there in the end, or none" {
	needs_strace
	"$HELPER" lines 3000 >in
	seq 5 >start
	seq 3 >again-start
	bloomdedup create -n 10000 -p 1e-12 empty
	kills=0
	for call in write pwrite64 fsync fdatasync "$(open_call)" unlink fcntl; do
		for when in 1 2 3 4 5 6 8 11; do
			rm -f seen.journal
			cp empty seen
			cat start >out
			cat again-start >again
			status=0
			strace -f -qq -o trace -e inject=$call:signal=KILL:when=$when \
				"$BLOOMDEDUP" -f seen --atomic -o out --append \
				--duplicates=again in in 2>err || status=$?
			[ $status -ne 0 ] || break
			kills=$((kills + 1))
			bloomdedup add -f seen </dev/null 2>err
			if cmp -s start out; then
				run -1 bloomdedup check -q -f seen in
				bloomdedup -f seen --atomic -o out --append \
					--duplicates=again in in
			fi
			cat start in | cmp - out
			cat again-start in | cmp - again
			all_known in
			[ ! -e seen.journal ]
		done
	done
	[ $kills -gt 20 ]
}

@test "an append that stops in the middle is finished by the next run" {
	needs_preload
	seq -f 'https://example.org/%.0f' 20000 >in
	for bytes in 0 1 7000 300000; do
		rm -f seen seen.journal
		seq 3 >out
		status=0
		TORN=$bytes "${PRELOADED[@]}" "$BLOOMDEDUP" -f seen --atomic \
			-o out --append in 2>err || status=$?
		[ $status -eq 137 ]
		[ "$(wc -c <out)" -eq $((6 + bytes)) ]
		# a reader takes the lines as remembered
		all_known in
		bloomdedup add -f seen </dev/null 2>err
		is_message err "finishing an earlier run: 20,000 lines that it printed to $PWD/out are now remembered"
		seq 3 | cat - in | cmp - out
		all_known in
	done
	# others have appended behind a part of it: no line is lost
	rm seen
	seq 3 >out
	TORN=7000 "${PRELOADED[@]}" "$BLOOMDEDUP" -f seen --atomic \
		-o out --append in 2>err || true
	printf '\nother\n' >>out
	bloomdedup add -f seen </dev/null 2>err
	grep -qx other out
	sort -u in | comm -23 - <(sort -u out) >lost
	[ ! -s lost ]
}

@test "a file that is gone, replaced or shorter: said, and discarded" {
	needs_preload
	seq -f 'https://example.org/%.0f' 20000 >in
	for how in 'rm out' 'cp out new; mv new out' ': >out'; do
		rm -f seen out
		seq 3 >out
		TORN=0 "${PRELOADED[@]}" "$BLOOMDEDUP" -f seen --atomic \
			-o out --append in 2>err || true
		[ -e seen.journal ]
		eval "$how"
		fails 3 "$PWD/out: it was removed, replaced or shortened while new lines waited to be added to it; they are discarded, and nothing is remembered" \
			bloomdedup add -f seen in
		[ ! -e seen.journal ]
		bloomdedup -f seen in | cmp - in
	done
	# while the run itself is at work
	rm -f seen
	seq 3 >out
	start_on_pipe -f seen --atomic -o out --append
	cat in >&7
	until_idle $pid
	rm out
	ends_with 3
	is_message err 'it was removed, replaced'
	[ ! -e seen.journal ]
	run -1 bloomdedup check -q -f seen in
}

# torn_append BYTES OPTION...: the run is killed when so many bytes of its text
# are in its outputs. `in` has 20,000 lines.
torn_append() {
	local bytes=$1 status=0
	shift
	[ -e in ] || seq -f 'https://example.org/%.0f' 20000 >in
	rm -f seen seen.journal
	TORN=$bytes "${PRELOADED[@]}" "$BLOOMDEDUP" -f seen --atomic \
		--append "$@" in in 2>err || status=$?
	[ $status -eq 137 ]
	[ -e seen.journal ]
}

@test "devices have other numbers after the system has started anew" {
	needs_preload
	seq 3 >out
	torn_append 7000 -o out
	DEVICE=7 "${PRELOADED[@]}" "$BLOOMDEDUP" add -f seen </dev/null 2>err
	[ -e fired ]
	is_message err 'finishing an earlier run'
	seq 3 | cat - in | cmp - out
}

@test "one of two outputs is gone: the other one has nothing of the run, either" {
	needs_preload
	local size
	seq -f 'https://example.org/%.0f' 20000 >in
	size=$(stat -c %s in)
	for bytes in 0 7000 "$size" $((size + 7000)); do
		for gone in out again; do
			other=again
			[ $gone = out ] || other=out
			seq 3 >out
			seq 4 >again
			cp $other before
			torn_append "$bytes" -o out --duplicates=again
			rm $gone
			fails 3 "$PWD/$gone: it was removed, replaced or shortened while new lines waited to be added to it; they are discarded, and nothing is remembered" \
				bloomdedup add -f seen in
			cmp before $other
			[ ! -e seen.journal ]
			bloomdedup -f seen in | cmp - in
		done
	done
	# if that can't be cut, it is said
	seq 3 >out
	seq 4 >again
	torn_append 7000 -o out --duplicates=again
	rm out
	exec 8<again
	fails 3 "and nothing is remembered; $PWD/again may keep some of them" \
		bloomdedup add -f seen in
	exec 8<&-
	[ ! -e seen.journal ]
}

@test "an output that may only be written to" {
	needs_preload
	become_nobody
	cp "$BUILD/preload.so" .
	seq -f 'https://example.org/%.0f' 20000 | "${as_nobody[@]}" tee in >all
	for bytes in 0 7000 all; do
		rm -f out seen
		seq 3 | "${as_nobody[@]}" tee out >start
		"${as_nobody[@]}" chmod 0200 out
		status=0
		"${as_nobody[@]}" env LD_PRELOAD="$PWD/preload.so" \
			TORN="${bytes/all/5000}" ./program -f seen --atomic -o out \
			--append in 2>err || status=$?
		[ $status -eq 137 ]
		[ -e seen.journal ]
		# a kill behind the last byte leaves the same
		[ "$bytes" != all ] || tail -c +5001 in >>out
		"${as_nobody[@]}" ./program add -f seen </dev/null 2>err
		[ ! -e seen.journal ]
		"${as_nobody[@]}" chmod 0600 out
		if [ "$bytes" -eq 7000 ]; then
			# of what is there, nobody knows whose it is
			{ cat start; head -c 7000 in; echo; cat in; } | cmp - out
			grep -q 'out: it is longer than when the earlier run added lines to it, so all of them are added again' err
		else
			cat start in | cmp - out
			is_message err 'finishing an earlier run'
		fi
	done
}

@test "an output that cannot be written to any more: how to go on, or give up" {
	needs_preload
	needs_strace
	local status=0 way
	seq 1000 >in
	for way in mended given-up; do
		rm -f seen* fired
		echo old >out
		status=0
		TORN=2000 TORN_FILE=out "${PRELOADED[@]}" "$BLOOMDEDUP" \
			-f seen --atomic -o out --append in 2>err || status=$?
		[ $status -eq 137 ]
		[ -e fired ]
		# as if it were on a disk that became read-only
		fails 3 "$PWD/out: Read-only file system; seen.journal holds the new lines of an earlier run (1000) for $PWD/out: the next run adds them once that works; to give them up, remove the journal, and they are not remembered" \
			strace -qq -o trace -P "$PWD/out" -e trace=open,openat \
			-e inject=open,openat:error=EROFS \
			"$BLOOMDEDUP" -f seen in
		grep -q INJECTED trace
		if [ $way = mended ]; then
			bloomdedup add -f seen </dev/null 2>err
			cat <(echo old) in | cmp - out
			bloomdedup check -f seen in | cmp - in
		else
			rm seen.journal
			bloomdedup check -v -f seen in | cmp - in
		fi
	done
}

@test "a header is not added again, where all lines are" {
	needs_preload
	local status=0
	{
		echo id,text
		seq -f '%g,x' 200
	} >in
	TORN=300 TORN_FILE=out "${PRELOADED[@]}" "$BLOOMDEDUP" --csv --header \
		-f seen --atomic -o out --append in 2>err || status=$?
	[ $status -eq 137 ]
	[ -e fired ]
	[ "$(head -n 1 out)" = id,text ]
	echo other >>out
	bloomdedup add -f seen </dev/null 2>err
	grep -q 'so all of them are added again' err
	[ "$(grep -cx id,text out)" -eq 1 ]
	sort in | comm -23 - <(sort out) | cmp - /dev/null
	bloomdedup check --csv --header -f seen in | cmp - in
}

@test "without a filter, no name is tried for text that never gets one" {
	needs_strace
	strace -f -qq -o trace -e trace=linkat,unlink "$BLOOMDEDUP" \
		--atomic -o out --append <<<line
	run ! grep -q 'linkat\|unlink' trace
	echo line | cmp - out
}

# hold_turn FILE: another process, $holder, is appending to it.
hold_turn() {
	mkfifo held
	python3 - "$1" >held 3>&- <<-'PYTHON' &
		import fcntl, struct, sys, time
		file = open(sys.argv[1], "ab")
		lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 1 << 62, 1, 0)
		fcntl.fcntl(file, 37, lock)  # F_OFD_SETLK
		print("held", flush=True)
		time.sleep(600)
	PYTHON
	holder=$!
	read -r _ <held
}

@test "while another run appends: its turn is waited for, as long as that is allowed" {
	skip_if_emulated "structs of its own"
	local signal
	seq 3 >file
	hold_turn file
	fails 75 "file: another run is appending to it; gave up after 0.1 s (--lock-timeout)" \
		"$BLOOMDEDUP" -f seen --lock-timeout=0.1 --atomic -o file \
		--append <<<line
	fails 75 "file: another run is appending to it" \
		"$BLOOMDEDUP" -f seen --lock-timeout=0 --atomic -o file \
		--append <<<line
	run ! grep -q 'gave up' fails.err
	for signal in INT TERM; do
		start_on_pipe -f seen --atomic -o file --append
		echo line >&7
		exec 7>&-
		until_true grep -q 'waiting for another run that appends to it' err
		dies_of $signal
		[ ! -e seen.journal ]
	done
	run -1 bloomdedup check -f seen <<<line
	seq 3 | cmp - file
	start_on_pipe -f seen --atomic -o file --append
	echo line >&7
	exec 7>&-
	until_true grep -q waiting err
	kill "$holder"
	ends_with 0
	seq 3 | cat - <(echo line) | cmp - file
}

@test "no room in the file: it is as before, and nothing is remembered" {
	small_disk 64k
	"$HELPER" lines 20000 >in
	seq 3 >disk/out
	fails 3 'disk/out: No space left' \
		bloomdedup -f seen --atomic -o disk/out --append in
	seq 3 | cmp - disk/out
	[ ! -e seen.journal ]
	run -1 bloomdedup check -q -f seen in
	# the other output had room
	seq 4 >again
	fails 3 'disk/out: No space left' \
		bloomdedup -f seen --atomic -o disk/out --append \
		--duplicates=again in in
	seq 3 | cmp - disk/out
	seq 4 | cmp - again
	# somebody follows it: what is there stays, and the next run goes on
	exec 8<disk/out
	fails 3 'the next run of the filter adds what is missing' \
		bloomdedup -f seen --atomic -o disk/out --append in
	exec 8<&-
	[ "$(wc -c <disk/out)" -gt 1000 ]
	mount -o remount,size=4m disk
	bloomdedup add -f seen </dev/null 2>err
	seq 3 | cat - in | cmp - disk/out
	umount disk
}

@test "version 0.1.0 would refuse the journal, and its own is read" {
	needs_preload
	seq 3 >out
	TORN=0 "${PRELOADED[@]}" "$BLOOMDEDUP" -f seen --atomic -o out \
		--append <<<line 2>err || true
	# the journal's version, which that one compares with 1
	[ "$(od -An -t u4 -j 16 -N 4 seen.journal | tr -d ' ')" = 2 ]
	bloomdedup -f seen <<<line >again 2>err
	[ ! -s again ]
	seq 3 | cat - <(echo line) | cmp - out
}

# --- a file that was replaced by a run that was killed then

@test "a run that finishes another one continues the file that that one made" {
	needs_strace
	seq 1000 >in
	for options in '--overwrite -o list list' '-o list in' \
		'-o list --overwrite --duplicates=again in in'; do
		rm -f seen list again seen.journal
		seq 1000 >list
		[[ $options == *list\ list ]] || rm list
		# the journal is complete, and not yet removed
		strace -f -qq -o trace -P seen.journal -e inject=unlink:signal=KILL \
			"$BLOOMDEDUP" -f seen --atomic $options 2>err || true
		[ -e seen.journal ]
		cmp in list
		bloomdedup -f seen --atomic $options 2>err
		grep -q "that it printed to $PWD/list are now remembered" err
		grep -q "list: the earlier run's lines stay there, and this run adds to them" err
		cmp in list
		all_known in
		# only once: then, what was asked for is done
		bloomdedup -f seen --atomic --overwrite -o list in
		[ ! -s list ]
	done
	# other files are replaced
	rm -f seen list seen.journal
	strace -f -qq -o trace -P seen.journal -e inject=unlink:signal=KILL \
		"$BLOOMDEDUP" -f seen --atomic -o list in 2>err || true
	echo old >other
	bloomdedup -f seen --overwrite -o other in 2>err
	[ ! -s other ]
}

@test "an older copy of the filter: the output gets no lines that it lacks" {
	needs_strace
	seq 60000 >in
	echo old >out
	bloomdedup create -n 1000 seen
	cp seen copy
	status=0
	strace -qq -o trace -e trace=unlink -e inject=unlink:signal=KILL:when=1 \
		"$BLOOMDEDUP" -f seen --atomic -o out --append in 2>err ||
		status=$?
	[ -e seen.journal ]
	cp out before
	cp copy seen
	fails 3 'seems to be an older copy' \
		bloomdedup -f seen --atomic -o out --append in
	cmp before out
}

# --- what a run keeps until its end, and what can have become of it by then

@test "an output whose name cannot be found is an error, and nothing is remembered" {
	seq 100 >in
	echo old >out
	mkdir place
	(
		cd place || exit
		rmdir ../place
		status=0
		"$BLOOMDEDUP" -f "$BATS_TEST_TMPDIR/seen" --atomic -o ../out \
			--append ../in 2>"$BATS_TEST_TMPDIR/err" || status=$?
		[ $status -eq 3 ]
	)
	is_message err '../out: No such file or directory'
	echo old | cmp - out
	[ ! -e seen ] || run -1 bloomdedup check -q -f seen in
	needs_strace
	skip_if_emulated "calls of its own"
	for call in readlink,readlinkat getcwd; do
		status=0
		strace -qq -o trace -e trace=$call -e inject=$call:error=EIO:when=1+ \
			"$BLOOMDEDUP" -f seen --atomic -o out --append in 2>err ||
			status=$?
		grep -q INJECTED trace
		[ $status -eq 0 ] || [ $status -eq 3 ]
		[ $status -ne 0 ] || [ "$(wc -l <out)" -eq 101 ]
		[ $status -ne 3 ] || echo old | cmp - out
		echo old >out
		rm -f seen
	done
}

@test "a run that was killed when marks had begun is only marked, whatever became of its outputs" {
	needs_strace
	skip_if_emulated "calls of its own"
	local gone
	seq 1000 >in
	for gone in out again both none; do
		rm -f seen out again
		bloomdedup create seen
		seq 1001 1003 >out
		seq 1004 1006 >again
		status=0
		strace -qq -o trace -e trace=unlink -e inject=unlink:signal=KILL:when=1 \
			"$BLOOMDEDUP" -f seen --atomic -o out --append \
			--duplicates=again in in 2>err || status=$?
		[ -e seen.journal ]
		cp out out.before
		cp again again.before
		case $gone in
		both) rm out again ;;
		none) ;;
		*) mv $gone $gone.1 && : >$gone ;;
		esac
		cp out out.now 2>/dev/null || true
		cp again again.now 2>/dev/null || true
		bloomdedup add -f seen </dev/null 2>err
		is_message err 'finishing an earlier run: 1,000 lines'
		[ ! -e seen.journal ]
		[ ! -e out ] || cmp out.now out
		[ ! -e again ] || cmp again.now again
		[ ! -e out.1 ] || cmp out.before out.1
		[ ! -e again.1 ] || cmp again.before again.1
		bloomdedup check -v -f seen in >lost || [ $? -eq 1 ]
		[ ! -s lost ]
		rm -f ./*.1 ./*.now
	done
}

@test "--append with an output that is new: all outputs get their lines, or none" {
	seq -f 'https://example.org/%.0f' 3000 >in
	bloomdedup create fresh
	for missing in out again; do
		cp fresh seen
		: >out
		head -c 200000 /dev/zero | tr '\0' '\n' >again
		rm $missing
		status=0
		(
			ulimit -f 250
			"$BLOOMDEDUP" -f seen --atomic --append -o out \
				--duplicates=again in in in in in 2>err
		) || status=$?
		[ $status -eq 3 ]
		[ ! -e out ] || [ ! -s out ]
		[ ! -s again ] || [ "$(stat -c %s again)" -eq 200000 ]
		run -1 bloomdedup check -q -f seen in
		bloomdedup -f seen --atomic --append -o out --duplicates=again \
			in in in in in
		cmp in out
		[ "$(grep -c . again)" -eq 12000 ]
	done
}

@test "the filter is removed during a run: the output gets nothing" {
	local options
	for options in '-o new' '-o new --append'; do
		rm -f new seen
		# shellcheck disable=SC2086 # words
		start_on_pipe -f seen --atomic $options
		echo a >&7
		until_idle $pid
		rm seen
		ends_with 3
		is_message err 'the filter was removed'
		[ ! -e new ]
		rm -f seen.journal
	done
}

@test "a run that was killed before its output had its name has done nothing" {
	needs_strace
	skip_if_emulated "calls of its own"
	local old kill
	seq 1000 >in
	bloomdedup create seen
	cp seen fresh
	for old in '' old; do
		rm -f out out-2
		cp fresh seen
		[ -z "$old" ] || echo old >out
		# the directory's sync, after its name
		kill=fsync:signal=KILL:when=5
		status=0
		strace -qq -o trace -e trace=fsync,linkat,rename -e inject=$kill \
			"$BLOOMDEDUP" -f seen --atomic --overwrite -o out in \
			2>err || status=$?
		[ $status -eq 137 ]
		[ -e seen.journal ]
		cmp in out
		bloomdedup check -f seen in | cmp - in
		mv out out-2
		# without it, or with another file in its place, nothing happened
		run -1 bloomdedup check -q -f seen in
		cp -p out-2 out
		run -1 bloomdedup check -q -f seen in
		rm out
		mv out-2 out
		bloomdedup add -f seen </dev/null 2>err
		is_message err 'finishing an earlier run: 1,000 lines that it printed to'
		bloomdedup check -f seen in | cmp - in
		[ ! -e seen.journal ]
	done
	# when the journal has its commit, and the output no name
	cp fresh seen
	rm -f out
	status=0
	strace -qq -o trace -e trace=fsync -e inject=fsync:signal=KILL:when=4 \
		"$BLOOMDEDUP" -f seen --atomic -o out in 2>err || status=$?
	[ $status -eq 137 ]
	[ -e seen.journal ]
	[ ! -e out ]
	run -1 bloomdedup check -q -f seen in
	bloomdedup --atomic -f seen -o out in 2>err
	[ ! -s err ]
	cmp in out
}

@test "a journal that others could have written appends nothing" {
	needs_strace
	skip_if_emulated "calls of its own"
	local planted
	seq 1000 >in
	echo old >out
	status=0
	# it is committed, and its text is about to go to the file
	strace -qq -o trace -P "$PWD/out" -e trace=write \
		-e inject=write:signal=KILL:when=1 \
		"$BLOOMDEDUP" -f seen --atomic -o out --append in 2>err || status=$?
	[ $status -eq 137 ]
	bloomdedup check -q -f seen in
	cp seen.journal journal
	cp seen before
	for planted in 'chmod g+w' 'chmod o+w' link 'chown 1'; do
		rm -f seen.journal other
		echo old >out
		cp before seen
		cp journal seen.journal
		chmod 600 seen.journal
		case $planted in
		link) ln seen.journal other ;;
		'chown 1') [ "$(id -u)" -eq 0 ] && chown 1 seen.journal ||
			continue ;;
		*) $planted seen.journal ;;
		esac
		cp -p seen.journal copy
		case $planted in
		'chown 1') reason='belongs to user 1' ;;
		*) reason='others may write to it' ;;
		esac
		fails 3 "$reason" bloomdedup add -f seen in
		[ -e seen.journal ]
		echo old | cmp - out
	done
}

@test "a header of two runs that begin a file together is there once" {
	printf 'id,mail\n1,a\n' >csv
	start_on_pipe --atomic -f one --csv --header -k id -o out --append
	printf 'id,mail\n2,b\n' >&7
	until_idle $pid
	bloomdedup --atomic -f two --csv --header -k id -o out --append csv
	ends_with 0
	printf 'id,mail\n1,a\n2,b\n' | cmp - out
}
