# --atomic: a run that fails remembers nothing, and -o leaves the old file.
load ../all-or-nothing

# has_waiting N: info says that N lines wait in the journal of `seen`.
has_waiting() {
	bloomdedup info seen | grep -q "^  journal  *$1 of them are still in "
}

@test "a run that ends well: lines out, remembered, nothing left behind" {
	prepare
	bloomdedup --atomic -f seen in >out 2>err
	cmp new out
	[ ! -s err ]
	[ ! -e seen.journal ]
	no_leftovers
	status=0
	bloomdedup check -v -f seen in >unknown || status=$?
	[ "$status" -eq 1 ]
	bloomdedup --atomic -f seen in >out
	[ ! -s out ]
}

@test "-o: the file is replaced in the end, and not before" {
	prepare
	start_on_pipe --atomic --overwrite -f seen -o file
	cat in >&7
	until_true test -e seen.journal
	sleep 0.2
	cmp before file
	ends_with 0
	cmp new file
	[ ! -e seen.journal ]
	no_leftovers
}

@test "nothing new: an empty file, and nothing left behind" {
	prepare
	echo old >in
	bloomdedup --atomic --overwrite -f seen -o file in
	[ -f file ]
	[ ! -s file ]
	bloomdedup --atomic --overwrite -f seen -o file /dev/null
	[ ! -e seen.journal ]
	no_leftovers
}

@test "a missing input file: nothing is remembered, the old file stays" {
	prepare
	fails 3 'missing: No such file' \
		bloomdedup --atomic --overwrite -f seen -o file in missing
	nothing_happened
	fails 3 'missing: No such file' \
		bloomdedup --atomic --overwrite -f seen -o file missing in
	nothing_happened
	status=0
	bloomdedup --atomic -f seen in missing >out 2>err || status=$?
	[ "$status" -eq 3 ]
	nothing_happened
	fails 3 'missing: No such file' \
		bloomdedup add --atomic -f seen in missing
	nothing_happened
	fails 3 "$PWD: Is a directory" \
		bloomdedup --atomic --overwrite -f seen -o file in "$PWD"
	nothing_happened
}

@test "truncated and damaged gzip: nothing is remembered" {
	prepare
	"$HELPER" lines 5000 | cat in - | gzip >whole.gz
	head -c -20 whole.gz >cut.gz
	fails 3 cut.gz bloomdedup --atomic --overwrite -f seen -o file cut.gz
	nothing_happened
	cp whole.gz bad.gz
	"$HELPER" flip bad.gz $(($(stat -c %s bad.gz) - 6)) 3
	fails 3 bad.gz bloomdedup --atomic --overwrite -f seen -o file bad.gz
	nothing_happened
	bloomdedup --atomic --overwrite -f seen -o file whole.gz
	[ "$(wc -l <file)" -eq 5002 ]
}

@test "SIGTERM, SIGINT, SIGHUP: nothing is remembered, the old file stays" {
	prepare
	for name in TERM INT HUP; do
		start_on_pipe --atomic --overwrite -f seen -o file
		cat in >&7
		until_true test -e seen.journal
		sleep 0.1
		dies_of $name
		[ ! -s err ]
		nothing_happened
	done
}

@test "kill -9: nothing is remembered; the next run throws the journal away" {
	prepare
	start_on_pipe --atomic --overwrite -f seen -o file
	cat in >&7
	until_true test -e seen.journal
	sleep 0.1
	dies_of KILL
	cmp before file
	[ -e seen.journal ]
	no_leftovers
	bloomdedup check -v -f seen in >unknown
	printf 'a\nb\na\n' | cmp - unknown
	[ -e seen.journal ]
	bloomdedup add -f seen /dev/null 2>err
	[ ! -s err ]
	nothing_happened
	bloomdedup --atomic --overwrite -f seen -o file in
	cmp new file
}

@test "a full device: nothing is remembered" {
	prepare
	status=0
	bloomdedup --atomic -f seen in >/dev/full 2>err || status=$?
	[ "$status" -eq 3 ]
	grep -q '^bloomdedup: standard output: No space left' err
	nothing_happened
	status=0
	bloomdedup --atomic --overwrite -f seen --duplicates=/dev/full -o file in in \
		2>err || status=$?
	[ "$status" -eq 3 ]
	nothing_happened
}

@test "a full disk under the output: nothing is remembered, the old file stays" {
	prepare
	small_disk 64k
	cp file disk/file
	"$HELPER" lines 5000 >many
	status=0
	bloomdedup --atomic --overwrite -f seen -o disk/file in many 2>err || status=$?
	left=$(find disk -mindepth 1)
	cp disk/file file
	[ "$status" -eq 3 ]
	[ "$left" = disk/file ]
	grep -q '^bloomdedup: disk/file: No space left' err
	nothing_happened
}

@test "a full disk under filter and journal: nothing is remembered" {
	prepare
	rm seen
	small_disk 2m
	echo old | bloomdedup -f disk/seen -n 1000 >out
	cp disk/seen seen
	# the journal, of 16 bytes a line, fits with the first, but not the layers
	for count in 105000 140000 400000; do
		"$HELPER" lines $count >many
		cp seen disk/seen
		status=0
		bloomdedup --atomic --overwrite -f disk/seen -o file in many 2>err ||
			status=$?
		[ "$status" -eq 3 ]
		grep -q '^bloomdedup: .*disk/seen.*: No space left' err
		[ ! -e disk/seen.journal ]
		cp disk/seen after
		cp seen before.seen
		mv after seen
		nothing_happened
		mv before.seen seen
	done
}

@test "a full disk where the journal's end would need one more page" {
	prepare
	small_disk 128k
	bloomdedup create -n 1000 disk/seen
	# begin, and 251 digests in a frame: 4068 bytes
	seq 251 >in
	fill() { # all pages but N
		rm -f disk/filler
		local pages
		pages=$(($(stat -f -c %f disk) - $1))
		head -c $((pages * 4096)) /dev/zero >disk/filler
		[ "$(stat -f -c %f disk)" -eq "$1" ]
	}
	fill 1
	fails 3 'seen.journal: No space left' \
		bloomdedup --atomic --overwrite -f disk/seen -o file in
	cmp before file
	[ ! -e disk/seen.journal ]
	bloomdedup check -v -f disk/seen in | cmp in -
	fill 2
	bloomdedup --atomic --overwrite -f disk/seen -o file in
	cmp in file
	bloomdedup check -f disk/seen in | cmp in -
}

@test "full at its capacity: nothing is remembered, status 4" {
	prepare
	"$HELPER" lines 1000 >many
	rm seen
	bloomdedup create -n 500 --on-full=fail seen
	echo old | bloomdedup -f seen >/dev/null
	fails 4 seen bloomdedup --atomic --overwrite -f seen -o file in many
	nothing_happened
	bloomdedup create --force -n 500 seen
	echo old | bloomdedup -f seen >/dev/null
	fails 4 max-size bloomdedup --atomic --overwrite -f seen --max-size=20K -o file \
		in many
	nothing_happened
}

@test "a reader that goes away: nothing is remembered, nothing left behind" {
	prepare
	"$HELPER" lines 200000 >>in
	"$HELPER" defaults bash -c '
		"$1" --atomic -f seen --duplicates=file in 2>err | head -n 1 >out
		exit "${PIPESTATUS[0]}"' bash "$BLOOMDEDUP" || status=$?
	[ "$status" -eq 141 ]
	head -n 4 in >first
	mv first in
	cmp before file
	bloomdedup add -f seen /dev/null
	nothing_happened
}

@test "the file may be one of the inputs" {
	prepare
	bloomdedup --atomic --overwrite -f seen -o in in
	cmp new in
	printf 'c\na\nc\n' >in
	ln -s in link
	bloomdedup --atomic --overwrite -f seen -o link in
	echo c | cmp - in
	printf 'd\nd\n' >in
	bloomdedup --atomic --overwrite -f seen -o in <in
	echo d | cmp - in
	# a failing one leaves it
	printf 'e\ne\n' >in
	cp in before
	fails 3 missing bloomdedup --atomic --overwrite -f seen -o in in missing
	cmp before in
	# without a filter file, too
	bloomdedup --atomic --overwrite -o in in
	echo e | cmp - in
}

@test "the file's mode is kept; a new one has what the umask says" {
	prepare
	for mode in 600 644 640 755 400; do
		chmod $mode file
		printf '%s\n' $mode | bloomdedup --atomic --overwrite -f seen -o file
		[ "$(stat -c %a file)" = $mode ]
		[ "$(cat file)" = $mode ]
	done
	(
		umask 027
		echo x | bloomdedup --atomic --overwrite -f seen -o other
		[ "$(stat -c %a other)" = 640 ]
		umask 000
		echo y | bloomdedup --atomic --overwrite -f seen -o third
		[ "$(stat -c %a third)" = 666 ]
	)
	[ "$(stat -c %a seen)" = 600 ]
}

@test "nobody else may read the temporary files of a run that waits" {
	prepare
	umask 000
	echo old | bloomdedup add -f open
	chmod 644 file
	echo x >copies
	chmod 664 copies
	for name in new.file file; do
		start_on_pipe --atomic --overwrite -f open -o $name --duplicates=copies
		printf 'old\na\n%s\n' $name >&7
		until_true test -e open.journal
		# the lines are there, and not only the files
		until_true has_lines 2
		mapfile -t files < <(temporaries $pid)
		stat -L -c '%a %n' "${files[@]}" open open.journal >modes
		cat modes
		[ "$(wc -l <modes)" -eq 4 ]
		run ! grep -v '^600 ' modes
		ends_with 0
	done
	[ "$(stat -c %a new.file)" = 666 ]
	[ "$(stat -c %a file)" = 644 ]
	[ "$(stat -c %a copies)" = 664 ]
}

# has_lines N: so many temporary files of $pid hold something.
has_lines() {
	local files
	mapfile -t files < <(temporaries "$pid")
	[ ${#files[@]} -gt 0 ] &&
		[ "$(stat -L -c %s "${files[@]}" | grep -vxc 0)" -eq "$1" ]
}

@test "a run that fails never gave its temporary file more rights" {
	needs_strace
	prepare
	umask 000
	status=0
	gzip -c in | head -c 20 >torn
	strace -qq -o trace -e trace=openat,open,fchmod,chmod,unlink,unlinkat \
		"$BLOOMDEDUP" --atomic --overwrite -f seen -o new.file in torn 2>err ||
		status=$?
	as_openat trace
	[ "$status" -eq 3 ]
	[ "$(grep -cE '^openat.*(O_TMPFILE|\.bloomdedup-).*, 0600\)' trace)" -eq 1 ]
	run ! grep 'chmod(.*, 06[46]' trace
	run ! grep -E '^openat.*(O_CREAT|O_TMPFILE).*, 06(66|44|40)\)' trace
}

@test "without O_TMPFILE, a run that fails removes its temporary file" {
	needs_preload
	prepare
	gzip -c in | head -c 20 >torn
	status=0
	NAMED=1 "${PRELOADED[@]}" "$BLOOMDEDUP" --atomic --overwrite -f seen \
		-o new.file in torn 2>err || status=$?
	[ "$status" -eq 3 ]
	[ -e fired ]
	no_leftovers
}

@test "below a directory that may not be searched, but is entered" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	become_nobody
	mkdir above above/here
	chown 65534:65534 above/here
	cp "$BLOOMDEDUP" above/here/program
	chmod 700 above
	cd above/here
	printf '%s\n' a b | "${as_nobody[@]}" ./program --atomic --overwrite -f seen -o file
	printf '%s\n' b c | "${as_nobody[@]}" ./program --atomic --overwrite -f seen -o file
	echo c | cmp - file
	"${as_nobody[@]}" ./program merge -o seen seen
	[ ! -e seen.journal ]
}

@test "set-user-ID goes with the old lines" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	become_nobody
	echo old >file
	chown 65534:65534 file
	chmod 4750 file
	echo new | "${as_nobody[@]}" ./program --atomic --overwrite -o file
	echo new | cmp - file
	[ "$(stat -c %a file)" = 750 ]
}

@test "--append to a file that may be written to, but not read" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	become_nobody
	echo old >file
	chown 65534:65534 file
	chmod 200 file
	"${as_nobody[@]}" ./program --atomic --append -o file <<<new
	printf 'old\nnew\n' | cmp - file
}

# default_acls RIGHTS...: for each, a directory of that name whose default ACL
# they are: of owner, owning group, group 0, mask and others; 8: no such entry.
default_acls() {
	python3 - "$@" <<-'END'
		import os, struct, sys
		for name in sys.argv[1:]:
		    os.mkdir(name)
		    tags = zip((0x01, 0x04, 0x08, 0x10, 0x20),
		        map(int, name.split()))
		    os.setxattr(name, "system.posix_acl_default",
		        struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag,
		        rights, 0 if tag == 0x08 else 0xFFFFFFFF)
		        for tag, rights in tags if rights < 8))
	END
}

@test "a new file has the mode that any other program's has there" {
	prepare
	same_mode() { # UMASK...
		for mask; do
			umask "$mask"
			rm -f ours second theirs
			: >theirs
			bloomdedup --atomic --overwrite -o ours \
				--duplicates=second "$BATS_TEST_TMPDIR/in"
			mapfile -t modes < <(stat -c %a ours second theirs)
			[ "${modes[0]}" = "${modes[2]}" ]
			[ "${modes[1]}" = "${modes[2]}" ]
		done
	}
	acls=('7 5 8 8 0' '7 7 8 8 5' '7 5 7 7 0' '6 0 6 4 4' '7 0 7 6 1')
	status=0
	default_acls "${acls[@]}" 2>err || status=$?
	same_mode 000 022 027 077 007 117
	# a default ACL says it instead of the umask
	[ "$status" -eq 0 ] || skip "needs ACLs"
	for acl in "${acls[@]}"; do
		cd "$BATS_TEST_TMPDIR/$acl"
		same_mode 000 022 077
	done
}

@test "at no moment is the temporary file more open than the file" {
	needs_strace
	prepare
	chmod 600 file
	strace -qq -o trace -e trace=openat,open "$BLOOMDEDUP" --atomic --overwrite -f seen \
		-o file in
	grep -E 'O_TMPFILE|\.bloomdedup-' trace
	run ! grep -E '(O_TMPFILE|\.bloomdedup-).*, 06(66|44|40)\)' trace
	run ! grep -E 'seen\.journal.*, 06(66|44|40)\)' trace
}

@test "a symbolic link is kept; the file behind it is replaced" {
	prepare
	mkdir directory
	mv file directory/file
	ln -s directory/file link
	ln -s link second
	bloomdedup --atomic --overwrite -f seen -o second in
	[ -L link ]
	[ -L second ]
	cmp new directory/file
	no_leftovers
}

@test "a symbolic link to a missing file is kept, too" {
	prepare
	ln -s behind link
	bloomdedup --atomic --overwrite -f seen -o link in
	[ -L link ]
	cmp new behind
}

@test "a device or a pipe is written to directly" {
	prepare
	null_device
	bloomdedup --atomic --overwrite -f seen -o null in
	[ -c null ]
	bloomdedup check -f seen new >out
	cmp new out
	mkfifo fifo
	cat fifo >got &
	echo c | bloomdedup --atomic --overwrite -f seen -o fifo
	wait $!
	echo c | cmp - got
	[ -p fifo ]
}

@test "where --duplicates can't be replaced, the file isn't" {
	echo old >file
	printf 'a\nb\na\n' >in
	mkdir directory
	mkfifo pipe
	"$BLOOMDEDUP" --atomic --overwrite -f seen -o file --duplicates=directory/dup <pipe \
		2>err 7>&- &
	exec 7>pipe
	cat in >&7
	until_true has_temporary $! directory
	rm -r directory
	exec 7>&-
	status=0
	wait $! || status=$?
	[ "$status" -eq 3 ]
	grep -q 'directory/dup: .*: No such file' err
	echo old | cmp - file
	bloomdedup check -v -f seen in | cmp in -
	no_leftovers
}

@test "where --duplicates can't be synced, nothing is replaced" {
	needs_strace
	printf 'a\nb\na\n' >in
	for n in 1 2 3 4 5 6; do
		echo old >file
		echo olddup >dup
		status=0
		strace -f -qq -o trace -e trace=fsync,rename \
			-e inject=fsync:error=EIO:when=$n "$BLOOMDEDUP" \
			--atomic --overwrite -f seen -n 100 -o file --duplicates=dup in \
			2>err || status=$?
		grep -q INJECTED trace
		# the names of a new filter, the file, the duplicates and the
		# journal, then the duplicates and the file
		[ "$status" -eq 3 ]
		echo old | cmp - file
		echo olddup | cmp - dup
		rm -f seen
		no_leftovers
	done
}

has_temporary() {
	[ -n "$(temporaries "$@")" ]
}

@test "runs that are killed leave no copy of the output behind" {
	needs_preload
	"$HELPER" numbered 20000 >in
	for options in '-o new' '--overwrite -o file' '-o file --append' \
		'--append -o file --duplicates=again'; do
		echo old >file
		echo more >again
		for bytes in 0 1 5000 70000 300000; do
			rm -f seen seen.journal
			status=0
			# shellcheck disable=SC2086 # they are words
			TORN=$bytes "${PRELOADED[@]}" "$BLOOMDEDUP" --atomic \
				$options in in 2>err || status=$?
			[ "$status" -eq 137 ]
			no_leftovers
			[ ! -e new ]
		done
		grep -qx old file
	done
}

@test "where a file can't be without a name, it has a temporary one" {
	needs_preload
	printf 'a\nb\na\n' >in
	for options in '-f seen -o new' '-f seen --overwrite -o file' \
		'-o file --append'; do
		rm -f new seen fired
		echo old >file
		# shellcheck disable=SC2086 # they are words
		NAMED=1 "${PRELOADED[@]}" "$BLOOMDEDUP" --atomic $options in
		[ -e fired ]
		no_leftovers
		if [[ $options == *new ]]; then
			printf 'a\nb\n' | cmp - new
		else
			tail -n 2 file | cmp - <(printf 'a\nb\n')
		fi
	done
}

@test "a file that another program makes meanwhile is not replaced" {
	needs_preload
	for options in '' --append '-f seen' '-f seen --append'; do
		for named in 0 1; do
			rm -f seen file
			mkfifo pipe
			# shellcheck disable=SC2086 # they are words, or none
			NAMED=$named "${PRELOADED[@]}" "$BLOOMDEDUP" --atomic \
				$options -o file <pipe 2>err 7>&- &
			pid=$!
			exec 7>pipe
			rm pipe
			echo a >&7
			until_idle $pid
			echo other >file
			if [[ $options == *--append ]]; then
				# it is not replaced, and appended to
				ends_with 0
				printf 'other\na\n' | cmp - file
				continue
			fi
			ends_with 3
			is_message err 'file: another program made this file'
			echo other | cmp - file
			[[ $options != *seen* ]] ||
				run -1 bloomdedup check -q -f seen <<<a
			no_leftovers
		done
	done
}

@test "--duplicates is replaced with the file, or not at all" {
	prepare
	cp file dup
	fails 3 missing bloomdedup --atomic --overwrite -f seen -o file \
		--duplicates=dup in missing
	cmp before dup
	nothing_happened
	bloomdedup --atomic --overwrite -f seen -o file --duplicates=dup in
	cmp new file
	printf 'old\na\n' | cmp - dup
	no_leftovers
}

# --- the journal

@test "a complete journal is applied by the next run, with a word" {
	prepare
	"$HELPER" journal seen <new
	printf 'a\nc\n' | bloomdedup -f seen >out 2>err
	echo c | cmp - out
	[ "$(wc -l <err)" -eq 1 ]
	grep -q '^bloomdedup: seen: finishing an earlier run: 2 lines ' err
	[ ! -e seen.journal ]
	bloomdedup check -f seen new >out
	cmp new out
	# by a run of any kind
	for kind in '' add --atomic '--atomic --overwrite -o file' --sync --shared; do
		printf 'x%s\n' "$kind" >line
		"$HELPER" journal seen <line
		# shellcheck disable=SC2086
		bloomdedup $kind -f seen /dev/null >out 2>err
		grep -q 'finishing an earlier run' err
		[ ! -e seen.journal ]
		bloomdedup check -q -f seen line
	done
}

@test "lines of a journal that are applied again are counted once" {
	needs_strace
	"$HELPER" numbered 25000 >in
	"$HELPER" lines 50000 >more
	bloomdedup create -n 50000 start
	strace -qq -o trace -e trace=unlink,unlinkat \
		"$BLOOMDEDUP" -j 1 --atomic -f start -o part in
	# killed before the bits were set, and after: the journal goes last
	for at in fsync:5 "unlink,unlinkat:$(grep -c unlink trace)"; do
		rm -f start*
		bloomdedup create -n 50000 --on-full=fail start
		strace -qq -o trace \
			-e inject="${at%:*}:signal=KILL:when=${at#*:}" \
			"$BLOOMDEDUP" -j 1 --atomic --overwrite -f start -o part in \
			2>err || true
		for kind in '' --shared; do
			cp start seen
			cp start.journal seen.journal
			# shellcheck disable=SC2086
			bloomdedup $kind -f seen /dev/null 2>err
			grep -q 'finishing an earlier run: 25,000 lines' err
			[ ! -e seen.journal ]
			status=0
			# shellcheck disable=SC2086
			bloomdedup $kind -f seen more >out 2>err || status=$?
			[ "$status" -eq 4 ]
			count=$(wc -l <out)
			echo "$at $kind: $count"
			[ "$count" -gt 24500 ]
			[ "$count" -lt 25500 ]
		done
	done
}

@test "a complete journal is a part of the filter for check and info" {
	prepare
	"$HELPER" journal seen <new
	cp seen copy
	cp seen.journal journal.copy
	bloomdedup check -f seen in >out
	cmp in out
	printf 'c\nb\n' | bloomdedup check -v -f seen >out
	echo c | cmp - out
	has_waiting 2
	bloomdedup info --json seen | grep -q '"lines": 3,'
	cmp copy seen
	cmp journal.copy seen.journal
}

@test "a complete journal of what merge only reads is refused" {
	prepare
	bloomdedup create --like=seen other
	echo c | bloomdedup add -f other
	"$HELPER" journal seen <new
	fails 3 'seen: has lines in a journal' bloomdedup merge -o union seen other
	printf 'old\na\nb\nc\n' >all
	[ -e seen.journal ]
	bloomdedup merge -o seen seen other >/dev/null
	[ ! -e seen.journal ]
	bloomdedup check -f seen all >out
	cmp all out
}

@test "a filter that is replaced loses its journal, too" {
	prepare
	"$HELPER" journal seen <new
	bloomdedup create --force seen
	[ ! -e seen.journal ]
	bloomdedup -f seen new >out 2>err
	cmp new out
	[ ! -s err ]
}

@test "a journal without its commit is thrown away" {
	prepare
	"$HELPER" journal seen open <new
	bloomdedup check -v -f seen in >unknown
	printf 'a\nb\na\n' | cmp - unknown
	[ -e seen.journal ]
	run ! has_waiting 2
	bloomdedup add -f seen /dev/null
	nothing_happened
}

@test "a journal cut anywhere is thrown away or applied as a whole" {
	prepare
	"$HELPER" journal seen <new
	size=$(stat -c %s seen.journal)
	mv seen.journal whole
	cp seen fresh
	step=$(short_or_long 5 1)
	for ((length = 0; length < size; length += step)); do
		head -c "$length" whole >seen.journal
		bloomdedup check -v -f seen new >unknown
		cmp new unknown
		bloomdedup add -f seen /dev/null 2>err
		cmp fresh seen
		[ ! -e seen.journal ]
		[ ! -s err ]
	done
}

@test "a journal with a flipped bit is never believed" {
	prepare
	"$HELPER" journal seen <new
	size=$(stat -c %s seen.journal)
	mv seen.journal whole
	cp seen fresh
	step=$(short_or_long 5 1)
	for ((at = 0; at < size; at += step)); do
		cp whole seen.journal
		"$HELPER" flip seen.journal $at $((at % 8))
		status=0
		bloomdedup add -f seen /dev/null 2>err || status=$?
		cmp fresh seen
		if [ "$status" -ne 0 ]; then
			[ "$status" -eq 3 ]
			is_message err 'seen.journal: '
			[ -e seen.journal ]
		fi
	done
}

@test "the journal of another filter is refused, and stays" {
	prepare
	echo x | bloomdedup -f other >/dev/null
	"$HELPER" journal other <new
	mv other.journal seen.journal
	cp seen.journal copy
	cp seen filter
	fails 3 'seen.journal: the journal of another filter' \
		bloomdedup -f seen in
	fails 3 seen.journal bloomdedup --atomic -f seen in
	fails 3 seen.journal bloomdedup add -f seen in
	fails 3 seen.journal bloomdedup check -f seen in
	fails 3 seen.journal bloomdedup info seen
	cmp copy seen.journal
	cmp filter seen
}

@test "no filter is made beside the journal of one that is gone" {
	prepare
	"$HELPER" journal seen <new
	rm seen
	cp seen.journal copy
	for name in seen ./seen; do
		fails 3 "$name.journal: a journal whose filter is gone" \
			bloomdedup create $name
		fails 3 "$name.journal: a journal whose filter is gone" \
			bloomdedup create --force $name
		fails 3 "$name.journal: a journal whose filter is gone" \
			bloomdedup -f $name in
		fails 3 "$name.journal: a journal whose filter is gone" \
			bloomdedup --atomic --overwrite -f $name -o never in
	done
	[ ! -e seen ]
	[ ! -e never ]
	no_leftovers
	cmp copy seen.journal
	rm seen.journal
	bloomdedup create seen
}

@test "replacing a damaged filter removes its journal" {
	prepare
	echo x | bloomdedup -f other >/dev/null
	cp seen whole
	for damage in 'dd of=seen conv=notrunc bs=1 status=none' 'cat >seen'; do
		for command in 'create --force' 'merge other --force -o'; do
			cp whole seen
			"$HELPER" journal seen <new
			printf x | eval "$damage"
			# shellcheck disable=SC2086
			bloomdedup $command seen
			[ ! -e seen.journal ]
			bloomdedup -f seen new | cmp new -
		done
		# what isn't a journal stays, and so does the filter
		echo mine >seen.journal
		printf x | eval "$damage"
		cp seen copy
		fails 3 'seen.journal: not a journal' \
			bloomdedup create --force seen
		fails 3 'seen.journal: not a journal' \
			bloomdedup merge --force -o seen other
		echo mine | cmp - seen.journal
		cmp copy seen
		rm seen.journal
	done
}

@test "a reader of messages that goes away changes nothing" {
	prepare
	mkfifo pipe
	exec 7<>pipe 8>pipe 7>&-
	"$HELPER" defaults "$BLOOMDEDUP" --atomic --overwrite -f seen -o file --stats in \
		2>&8
	exec 8>&-
	cmp new file
	bloomdedup -f seen in >out
	[ ! -s out ]
}

@test "a journal that names a layer that isn't there is refused" {
	prepare
	cp seen fresh
	"$HELPER" journal seen 1 <new
	cp seen.journal copy
	status=0
	bloomdedup -f seen in >out 2>err || status=$?
	[ "$status" -eq 3 ]
	[ ! -s out ]
	grep -q '^bloomdedup: .*seen.journal: ' err
	# an older copy of the filter was restored: what is true, and what helps
	[ "$(wc -l <err)" -eq 1 ]
	grep -q 'older copy' err
	grep -q 'move the journal away' err
	cmp copy seen.journal
	# nothing of it is in the filter
	rm seen.journal
	bloomdedup -f seen in >out
	cmp new out
}

@test "a foreign file at the journal's path is refused and unchanged" {
	prepare
	cp seen filter
	echo secret >target
	plant() {
		rm -rf seen.journal
		case $1 in
		link) ln -s target seen.journal ;;
		nowhere) ln -s missing seen.journal ;;
		fifo) mkfifo seen.journal ;;
		directory) mkdir seen.journal ;;
		text) seq 1 100 >seen.journal ;;
		note) echo 'to do' >seen.journal ;;
		esac
	}
	for what in link nowhere fifo directory text note; do
		echo "$what"
		plant $what
		fails 3 seen.journal bloomdedup --atomic --overwrite -f seen -o file in
		fails 3 seen.journal bloomdedup -f seen in
		fails 3 seen.journal bloomdedup add -f seen in
		[ -e seen.journal ] || [ -L seen.journal ]
		echo secret | cmp - target
		[ ! -e missing ]
		cmp filter seen
		cmp before file
		no_leftovers
	done
	rm -rf seen.journal
	mkfifo seen.journal
	fails 3 seen.journal timeout 10 "$BLOOMDEDUP" check -f seen in
	fails 3 seen.journal timeout 10 "$BLOOMDEDUP" info seen
}

@test "the journal stands beside the file that a link leads to" {
	mkdir directory
	echo old | bloomdedup -f directory/seen >/dev/null
	ln -s directory/seen link
	printf 'a\nb\n' >new
	"$HELPER" journal directory/seen <new
	bloomdedup check -f link new >out
	cmp new out
	bloomdedup -f link new >out 2>err
	[ ! -s out ]
	[ ! -e directory/seen.journal ]
}

# more than a buffer, a batch or a piece of the journal has anywhere, in a dozen
# layers
@test "many new lines, and a filter that grows" {
	"$HELPER" lines 250000 >in
	echo 'old file' >file
	cp file before
	cat in in | bloomdedup --atomic --overwrite -f seen -n 100 -p 1e-12 -o file 2>err
	cmp in file
	[ ! -e seen.journal ]
	no_leftovers
	bloomdedup check -f seen in >out
	cmp in out
	bloomdedup --atomic -f seen in >out
	[ ! -s out ]
}

# --- any signal at any moment

# all_or_nothing: what an --atomic -o run of the lines of `in` left: either
# all of them are remembered, and in FILE, or none.
all_or_nothing() {
	local status=0
	bloomdedup check -f seen in >known || status=$?
	if [ "$status" -eq 0 ]; then
		cmp in known
		cmp in file
		happened=all
	else
		[ "$status" -eq 1 ]
		cmp before file || cmp in file
		happened=none
	fi
}

@test "kill -9 at random moments: all lines are remembered, or none" {
	"$HELPER" lines 30000 >in
	echo 'old file' >before
	bloomdedup create -n 20000 -p 1e-12 empty
	cp empty seen
	start=${EPOCHREALTIME/[.,]/}
	bloomdedup --atomic --overwrite -f seen -o file in 2>/dev/null
	took=$((${EPOCHREALTIME/[.,]/} - start))
	rounds=$(times 10 500)
	for ((i = 0; i < rounds; i++)); do
		cp empty seen
		cp before file
		"$HELPER" kill-after \
			$(((RANDOM * 32768 + RANDOM) % (took * 5 / 4))) \
			"$BLOOMDEDUP" --atomic --overwrite -f seen -o file in \
			2>/dev/null || true
		all_or_nothing
		# and the same after a rerun that recovers
		was=$happened
		bloomdedup add -f seen /dev/null 2>err
		all_or_nothing
		[ $happened = $was ]
		[ ! -e seen.journal ]
		found=(.bloomdedup-*)
		[ ${#found[@]} -eq 1 ]
		[ ! -e "${found[0]}" ] || rm "${found[0]}"
		bloomdedup --atomic --overwrite -f seen -o file in 2>err
		[ $was = all ] || cmp in file
		bloomdedup check -f seen in >known
		cmp in known
	done
}

@test "SIGTERM at any system call: the exit status says what happened" {
	skip_if_emulated "calls of its own"
	needs_strace
	"$HELPER" lines 3000 >in
	echo 'old file' >before
	bloomdedup create -n 100 -p 1e-12 empty
	cp empty seen
	cp before file
	strace -qq -o trace -e trace="$(open_call)",read,write,pwrite64,pread64,fsync,fdatasync,rename,unlink,close,ftruncate,fallocate,mmap \
		"$HELPER" defaults "$BLOOMDEDUP" --atomic --overwrite -f seen -o file in \
		2>/dev/null
	step=$(short_or_long 4 1)
	for call in fsync rename unlink pwrite64 fdatasync read write \
		"$(open_call)"; do
		count=$(grep -c "^$call(" trace)
		# of those that come often, some
		by=$step
		[ "$count" -ge 6 ] || by=1
		for ((n = 1; n <= count; n += by)); do
			cp empty seen
			cp before file
			status=0
			strace -qq -o injected -e trace=$call \
				-e inject=$call:signal=TERM:when=$n \
				"$HELPER" defaults "$BLOOMDEDUP" --atomic --overwrite \
				-f seen -o file in 2>err || status=$?
			echo "$call $n: $status"
			found=(.bloomdedup-*)
			[ ! -e "${found[0]}" ]
			[ ! -e seen.journal ]
			all_or_nothing
			case $status in
			0) [ $happened = all ] ;;
			143)
				[ $happened = none ]
				cmp before file
				;;
			*) false ;;
			esac
		done
	done
}
