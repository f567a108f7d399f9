# --atomic with outputs: what is remembered stands there, all or nothing of a
# run is there, and nobody but root and the user of the run decides where text
# is written to.
load ../common

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	seq 100 >in
	echo old >out
}

# all_or_nothing STATUS: if that is 0, `in` is behind the old line and
# remembered, else nothing has happened.
all_or_nothing() {
	if [ "$1" -eq 0 ]; then
		cat <(echo old) in | cmp - out
		bloomdedup check -f seen in | cmp in -
	else
		echo old | cmp - out
		[ ! -e seen ] || bloomdedup check -v -f seen in | cmp in -
	fi
}

# killed_at CALL FILE ARGUMENT...: a run that is killed when it makes this call
# on the file.
killed_at() {
	local status=0 call=$1 file=$2
	shift 2
	strace -f -qq -o trace -P "$file" -e trace="$call" \
		-e inject="$call:signal=KILL" "$BLOOMDEDUP" "$@" \
		2>err || status=$?
	[ $status -eq 137 ]
}

# --- names that lead nowhere

@test "the working directory is gone: all lines are there, or none is remembered" {
	local status=0
	mkdir work
	(
		cd work
		rmdir ../work
		"$BLOOMDEDUP" -f ../seen --atomic -o ../out --append ../in 2>../err
	) || status=$?
	[ ! -e work ]
	all_or_nothing $status
}

@test "a name that leads nowhere in the end: all lines are there, or none is remembered" {
	local change status
	mkdir directory
	for change in 'mv directory moved' 'rm link; ln -s link link' \
		'rm link; ln -s nowhere link' 'rm directory/out'; do
		rm -rf seen* directory moved link out
		mkdir directory
		echo old >directory/out
		ln directory/out out
		ln -s directory/out link
		rm -f pipe
		mkfifo pipe
		"$BLOOMDEDUP" -f seen --atomic -o link --append <pipe 2>err \
			3>&- &
		pid=$!
		exec 7>pipe
		cat in >&7
		until_idle $pid
		eval "$change"
		status=0
		exec 7>&-
		wait $pid || status=$?
		ln -f moved/out out 2>/dev/null || true
		all_or_nothing $status
	done
}

# --- killed, and then a file is rotated

@test "killed after marking began, and the duplicates' file is rotated: the output stays" {
	needs_strace
	local status
	cat in in >twice
	# the journal is complete, and all marks may be there
	killed_at unlink seen.journal -f seen --atomic -o out --append \
		--duplicates=again twice
	[ -e seen.journal ]
	cat <(echo old) in | cmp - out
	mv again again.1
	bloomdedup -f seen twice >rest 2>err
	run ! grep -q discarded err
	cat <(echo old) in | cmp - out
	cmp in again.1
	[ ! -s rest ]
	bloomdedup check -f seen in | cmp in -
}

@test "killed after marking began, and the output is rotated: nothing false is said" {
	needs_strace
	killed_at unlink seen.journal -f seen --atomic -o out --append in
	[ -e seen.journal ]
	mv out out.1
	bloomdedup -f seen in >rest 2>err
	run ! grep -q discarded err
	[ ! -s rest ]
	cat <(echo old) in | cmp - out.1
	bloomdedup check -f seen in | cmp in -
}

# --- whose journal

@test "a journal with text of another user is not finished, and names him" {
	become_nobody
	[ ${#as_nobody[@]} -gt 0 ] || skip "needs the right to be another user"
	needs_preload
	local status=0
	seq 100 >in
	echo old >out
	bloomdedup create seen
	chmod 666 seen out
	# where the checkout is, that user may have no access
	cp "$BUILD/preload.so" .
	"${as_nobody[@]}" env LD_PRELOAD="$PWD/preload.so" TORN=10 FIRED=fired \
		./program -f seen --atomic -o out --append in 2>err || status=$?
	[ $status -eq 137 ]
	[ -e fired ]
	[ -e seen.journal ]
	cp out before
	fails 3 seen.journal bloomdedup -f seen in
	grep -Eq '65534|nobody' err || bloomdedup -f seen in 2>&1 |
		grep -Eq '65534|nobody'
	cmp before out
	"${as_nobody[@]}" ./program add -f seen /dev/null 2>/dev/null
	cat <(echo old) in | cmp - out
	bloomdedup -f seen in >rest
	[ ! -s rest ]
}

@test "a journal with text that others may write to is not finished" {
	needs_preload
	local mode status=0
	TORN=10 "${PRELOADED[@]}" "$BLOOMDEDUP" -f seen --atomic -o out \
		--append in 2>err || status=$?
	[ $status -eq 137 ]
	[ "$(stat -c %a seen.journal)" = 600 ]
	cp out before
	for mode in 660 602 606; do
		chmod $mode seen.journal
		fails 3 seen.journal bloomdedup -f seen in
		cmp before out
	done
	ln seen.journal second
	chmod 600 seen.journal
	rm second
	bloomdedup -f seen in >rest 2>err
	cat <(echo old) in | cmp - out
	[ ! -s rest ]
}

# --- rights

# with_list FILE: an access control list gives user 1 what the mask allows, which
# is where the mode has the rights of the group; the group has none.
with_list() {
	chmod 640 "$1"
	python3 - "$1" <<-'END'
		import os, struct, sys
		every = 0xFFFFFFFF
		entries = [(1, 6, every), (2, 6, 1), (4, 0, every), (0x10, 6, every),
		           (0x20, 0, every)]
		os.setxattr(sys.argv[1], "system.posix_acl_access",
		            struct.pack("<I", 2) +
		            b"".join(struct.pack("<HHI", *e) for e in entries))
	END
}

# group_may_nothing FILE: neither by its mode, nor by a list.
group_may_nothing() {
	python3 - "$1" <<-'END'
		import os, struct, sys
		group = os.stat(sys.argv[1]).st_mode >> 3 & 7
		try:
		    data = os.getxattr(sys.argv[1], "system.posix_acl_access")
		    entries = struct.iter_unpack("<HHI", data[4:])
		    group = next(e[1] for e in entries if e[0] == 4)
		except OSError:
		    pass
		sys.exit(group)
	END
}

@test "the mask of an access control list does not become the group's rights" {
	needs python3
	local file
	printf '%s\n' a b a >list
	with_list list 2>err || skip "needs access control lists"
	[ "$(stat -c %a list)" = 660 ]
	group_may_nothing list
	bloomdedup --atomic -o list list
	printf '%s\n' a b | cmp - list
	group_may_nothing list
	bloomdedup create filter
	with_list filter
	# the journals of both kinds
	start_on_pipe -f filter --atomic
	echo 1 >&7
	until_true test -s filter.journal
	group_may_nothing filter.journal
	dies_of KILL
	bloomdedup create --force filter
	group_may_nothing filter
	with_list filter
	bloomdedup merge --force -o filter filter
	group_may_nothing filter
}

# --- what others write

@test "-z: an empty record of another program is not cut off" {
	needs_preload
	local status=0
	seq 100 | tr '\n' '\0' >records
	printf 'old\0' >out
	TORN=10 TORN_FILE=out "${PRELOADED[@]}" "$BLOOMDEDUP" -z -f seen \
		--atomic -o out --append records 2>err || status=$?
	[ $status -eq 137 ]
	[ -e fired ]
	printf '\0\0\0' >>out
	bloomdedup -z -f seen records >rest 2>err
	[ ! -s rest ]
	# all records, the old one, and three empty ones at least
	tr '\0' '\n' <out >lines
	[ "$(grep -cx '' lines)" -ge 2 ]
	seq 100 | sort | comm -23 - <(sort lines) | cmp - /dev/null
}

@test "another program appends half a line between the look and the write" {
	needs_preload
	local status=0
	FOREIGN=half FOREIGN_AT=1 "${PRELOADED[@]}" "$BLOOMDEDUP" -f seen \
		--atomic -o out --append in 2>err
	[ -e fired ]
	sort in | comm -23 - <(sort out) | cmp - /dev/null
	# and of a run that finishes another one
	rm -f seen* fired
	echo old >out
	TORN=10 TORN_FILE=out "${PRELOADED[@]}" "$BLOOMDEDUP" -f seen \
		--atomic -o out --append in 2>err || status=$?
	[ $status -eq 137 ]
	[ -e fired ]
	rm fired
	FOREIGN=half FOREIGN_AT=1 "${PRELOADED[@]}" "$BLOOMDEDUP" add -f seen \
		/dev/null 2>err
	[ -e fired ]
	sort in | comm -23 - <(sort out) | cmp - /dev/null
	bloomdedup check -f seen in | cmp in -
}

@test "another program begins a quote before a torn record gets its end" {
	needs_preload
	printf 'a,"x\ny"\nb,1\n' >in
	printf torn >out
	FOREIGN='f,"two
lin' FOREIGN_AT=1 "${PRELOADED[@]}" "$BLOOMDEDUP" --csv -j1 -f seen \
		--atomic -o out --append in 2>err
	[ -e fired ]
	python3 -c '
import csv
there = list(csv.reader(open("out", newline="")))
assert ["a", "x\ny"] in there and ["b", "1"] in there, there'
}

# --- all or none

@test "--append --atomic, two outputs: if one fails, neither has anything" {
	needs_preload
	local status full
	cat in in >twice
	echo before >again
	for full in out again; do
		rm -f seen* out fired
		[ $full = again ] || : >out
		status=0
		FULL=100 TORN_FILE=$full "${PRELOADED[@]}" "$BLOOMDEDUP" \
			-f seen --atomic --append -o out --duplicates=again \
			twice 2>err || status=$?
		[ -e fired ]
		[ $status -eq 3 ]
		[ ! -s out ]
		echo before | cmp - again
		bloomdedup check -v -f seen in | cmp in -
		bloomdedup -f seen --atomic --append -o out --duplicates=new \
			twice
		cmp in out
		cmp in new
		rm new
	done
}

@test "the filter is removed during the run: no line comes out" {
	local status=0
	rm out
	bloomdedup create seen
	mkfifo pipe
	"$BLOOMDEDUP" -f seen --atomic -o out <pipe 2>err 3>&- &
	pid=$!
	exec 7>pipe
	cat in >&7
	until_idle $pid
	rm seen
	exec 7>&-
	wait $pid || status=$?
	[ $status -eq 3 ]
	[ ! -s out ]
}

@test "killed while the output gets its name: the same command has each line once" {
	needs_strace
	local call n status kills=0
	rm out
	for call in linkat unlink fsync fdatasync fcntl; do
		for n in 1 2 3 4 5 6; do
			rm -f seen* out
			status=0
			strace -f -qq -o trace -e trace="$call" \
				-e inject="$call:signal=KILL:when=$n" \
				"$BLOOMDEDUP" -f seen --atomic -o out in \
				2>err || status=$?
			[ $status -ne 0 ] || break
			[ $status -eq 137 ]
			kills=$((kills + 1))
			bloomdedup -f seen --atomic -o out in 2>err
			cmp in out
			bloomdedup check -f seen in | cmp in -
		done
	done
	[ $kills -gt 5 ]
}

# reuse_number: a run is killed before its output gets its name, and a file of
# the same length gets the name, and perhaps the number of the other's inode,
# $inode.
reuse_number() {
	local status=0 tries
	rm -f seen* out*
	# the first call is a trial
	strace -f -qq -o trace -e trace=linkat \
		-e inject=linkat:signal=KILL:when=2 "$BLOOMDEDUP" \
		-f seen --atomic -o out in || status=$?
	[ $status -eq 137 ] || return 1
	# its journal, bloomdedup(5): a frame of kind 6 tells the output
	inode=$(python3 - <<-'END'
		import os, struct
		journal = open("seen.journal", "rb").read()
		at = journal.index(b"\x89bdj" + struct.pack("<I", 6)) + 16
		inode = struct.unpack_from("<Q", journal, at + 16)[0]
		names = [f"out.{i}" for i in range(3000)]
		for i, name in enumerate(names):
		    file = open(name, "w")
		    if os.fstat(file.fileno()).st_ino == inode:
		        break
		file.write("".join(reversed(open("in").readlines())))
		file.close()
		os.rename(name, "out")
		for name in names[:i]:
		    os.unlink(name)
		print(inode)
	END
	)
}

@test "a file that gets the inode number of the killed run's is not taken for it" {
	needs python3
	needs_strace
	local inode
	# some file systems use no number again, and others are quicker than we
	for _ in {1..10}; do
		reuse_number
		bloomdedup -f seen in 2>err | cmp - in
		[ ! -s err ]
		tac in | cmp - out
		[ "$(stat -c %i out)" != "$inode" ] || break
	done
}

# --- whole files

@test "--atomic -o FILE: what others append to the old file meanwhile is not lost" {
	local filter
	for filter in '' '-f seen --overwrite'; do
		printf '%s\n' a b a >list
		# shellcheck disable=SC2086 # no word, or several
		start_on_pipe --atomic $filter -o list list -
		echo c >&7
		until_idle $pid
		echo other >>list
		ends_with 3
		is_message err 'list: another program changed this file during the run; it is left as it is'
		printf '%s\n' a b a other | cmp - list
		[ -z "$filter" ] ||
			bloomdedup check -v -f seen list | cmp - list
	done
}

@test "--atomic -o FILE: another program has the old file open for writing" {
	printf '%s\n' a b a >list
	exec 8>>list
	fails 3 'list: another program has this file open for writing; it is left as it is' \
		bloomdedup --atomic -o list list
	fails 3 'list: another program has this file open for writing' \
		bloomdedup --atomic --overwrite -f seen -o list list
	printf '%s\n' a b a | cmp - list
	bloomdedup check -v -f seen list | cmp - list
	exec 8>&-
	# who reads it loses nothing
	exec 8<list
	bloomdedup --atomic -o list list 2>err
	[ ! -s err ]
	exec 8<&-
	printf '%s\n' a b | cmp - list
	printf '%s\n' a b a >list
	bloomdedup --atomic -o list <list
	printf '%s\n' a b | cmp - list
}

@test "--atomic -o FILE, which another run appends to: it is waited for" {
	printf '%s\n' a b a >list
	start_on_pipe -o list --append
	echo c >&7
	until_idle $pid
	fails 75 'list: another run is writing to it' \
		bloomdedup --lock-timeout=0 --atomic -o list list
	fails 75 'list: another run is writing to it; gave up after 0.1 s (--lock-timeout)' \
		bloomdedup --lock-timeout=0.1 --atomic --overwrite -f seen \
		-o list in
	ends_with 0
	printf '%s\n' a b a c | cmp - list
	bloomdedup check -v -f seen in | cmp - in
	bloomdedup --atomic -o list list
	printf '%s\n' a b c | cmp - list
}

@test "--atomic -o FILE, which is there only in the end: it stays" {
	local overwrite
	for overwrite in '' --overwrite; do
		rm -f new seen
		# shellcheck disable=SC2086 # no word, or one
		start_on_pipe --atomic $overwrite -f seen -o new
		echo c >&7
		until_idle $pid
		echo other >new
		ends_with 3
		echo other | cmp - new
		is_message err 'new: another program made this file during the run; it is left as it is'
	done
	# one that is gone in the end is not missed
	start_on_pipe --atomic --overwrite -f seen -o new
	echo c >&7
	until_idle $pid
	mv new moved
	ends_with 0
	echo other | cmp - moved
	echo c | cmp - new
}

@test "two runs write to one new file: one of them is refused" {
	rm out
	start_on_pipe -o out
	cat in >&7
	until_idle $pid
	fails 75 out bloomdedup --overwrite --lock-timeout=0 -o out \
		<(seq 200 300)
	ends_with 0
	cmp in out
}

@test "two runs begin with one empty file: none empties it" {
	start_on_pipe -o new
	until_idle $pid
	# its file is there, and has no contents yet
	rm -f second
	mkfifo second
	"$BLOOMDEDUP" -o new <second 2>err2 3>&- 7>&- &
	other=$!
	exec 8>second
	until_idle $other
	echo 1 >&7
	until_idle $pid
	echo 2 >&8
	exec 8>&-
	wait $other
	ends_with 0
	printf '%s\n' 1 2 | cmp - new
}

@test "a file that gets contents while a run begins is not emptied" {
	mkfifo again
	"$BLOOMDEDUP" -o new --duplicates=again in 2>err 3>&- &
	pid=$!
	# it waits for a reader of the duplicates
	until_true test -e new
	until_idle $pid
	echo other >>new
	cat again >copies
	wait $pid
	cat <(echo other) in | cmp - new
}

@test "partition into files that another run is writing to is refused" {
	start_on_pipe -o part1 --append
	until_idle $pid
	echo 1 >part1
	fails 75 'part1: another run is writing to it' \
		bloomdedup partition --parts=2 -o 'part%d' in
	fails 75 'part1: another run is writing to it' \
		bloomdedup partition --parts=2 --atomic -o 'part%d' in
	ends_with 0
	echo 1 | cmp - part1
}

@test "a file system without leases is said, where a file is replaced" {
	needs_strace
	printf '%s\n' a b a >list
	strace -f -qq -o trace -e trace=fcntl \
		-e inject=fcntl:error=EINVAL "$BLOOMDEDUP" \
		--atomic -o list list 2>err
	grep -q INJECTED trace
	grep -q 'list: the system cannot tell whether another program has this file open for writing' err
	grep -q 'list: its file system has no locks; another run that writes to it is not kept away' err
	[ "$(wc -l <err)" -eq 2 ]
	printf '%s\n' a b | cmp - list
}

@test "a run that opens its output while another replaces it adds to the new file" {
	needs_strace
	local pid inode
	echo old >out
	inode=$(stat -c %i out)
	printf 'a\nb\n' >first
	printf 'c\nd\n' >second
	strace -f -qq -o trace -e trace=/rename \
		-e inject=/rename:delay_enter=1500000 "$BLOOMDEDUP" -f one \
		--atomic --overwrite -o out first 2>err 3>&- &
	pid=$!
	# the lease that keeps others waiting
	has_lease() { grep LEASE /proc/locks | grep -q ":$inode "; }
	until_true has_lease
	bloomdedup -f two -o out --append second
	wait $pid
	grep -q DELAYED trace
	cat first second | cmp - out
}
