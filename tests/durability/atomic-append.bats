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

@test "a kill at any moment: all of the run is there in the end, or none" {
	needs_strace
	"$HELPER" lines 3000 >in
	seq 5 >start
	seq 3 >again-start
	bloomdedup create -n 10000 -p 1e-12 empty
	kills=0
	for call in write pwrite64 fsync fdatasync openat unlink fcntl; do
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
