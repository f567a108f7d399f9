# Every error of a call on an output, the journal or the filter is reported, or
# stands in a list with the reason why nothing is lost.
load ../common

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	seq 300 >in
}

calls=openat,write,pwrite64,pread64,fsync,fdatasync,ftruncate,fallocate,lseek
calls+=,newfstatat,statx,linkat,rename,renameat2,unlink,close,fcntl,flock,mmap
calls+=,fchmod,fchown,msync

# excused CALL FILE: may a run exit with 0 although this call failed?
excused() {
	case "$1 $2" in
	# Without notes, a kill leaves a torn line, which is then ended.
	*" notes") ;;
	# The position is found by the bytes that were written.
	"lseek out") ;;
	# It is not known to be appended to, or that it may be locked: then it is
	# looked at before each write, and verified after it.
	"fcntl out") ;;
	# A lock that cannot be taken is an error; one that is only tried for, or
	# given back, ends with the run.
	"fcntl seen" | "flock seen") ;;
	# Is there a file, or is it this one? If that isn't known, a run makes or
	# opens the file, and sees it there.
	"newfstatat "*) ;;
	# One of two slots, each of which has the whole table.
	"pread64 seen") ;;
	# It is not known where the file has holes: all of it is read.
	"lseek seen") ;;
	# All is written and synced by other calls before; Linux has closed it.
	"close "*) ;;
	# It stays its owner's alone.
	"fchmod journal" | "fchown journal") ;;
	*) return 1 ;;
	esac
}

# ready: a new filter, and an output with a line.
ready() {
	rm -rf seen* out
	cp empty seen
	echo old >out
}

# each_call ARGUMENT...: prints the name of each call of this run that works on
# one of the files, which of its calls of this name it is, and the file.
each_call() {
	ready
	strace -y -f -qq -o trace -e trace="$calls" "$BLOOMDEDUP" -j1 "$@" in \
		2>err || return 1
	awk '{
		sub(/^[0-9]+ +/, "")
		call = $0
		sub(/[(].*/, "", call)
		number[call]++
		sub(/[)] *= .*/, "")
		file = ""
		if (/seen[.]notes/) file = "notes"
		else if (/seen[.]journal/) file = "journal"
		else if (/[\/"]out[>"]/) file = "out"
		else if (/[\/"]seen[>"]/) file = "seen"
		if (file != "") print call, number[call], file
	}' trace
}

# fail_each ARGUMENT...: each of these calls of the run fails once.
fail_each() {
	local call number file status count=0
	each_call "$@" >list || return 1
	while read -r call number file; do
		ready
		status=0
		strace -y -f -qq -o trace -e trace="$call" \
			-e inject="$call:error=EIO:when=$number" \
			"$BLOOMDEDUP" -j1 "$@" in 2>err || status=$?
		grep -q INJECTED trace || return 1
		count=$((count + 1))
		if [ $status -ne 0 ]; then
			grep -q '^bloomdedup: ' err || return 1
			continue
		fi
		echo "$*: exits with 0 though $call of $file fails"
		excused "$call" "$file" || return 1
		sort out | comm -13 - <(sort in) | cmp - /dev/null || return 1
		bloomdedup check -f seen in | cmp in - || return 1
	done < <(some_calls <list)
	echo "$count calls"
	[ $count -gt 5 ]
}

some_calls() {
	some 6
}

@test "errors on output, journal and filter are reported, or nothing is lost" {
	needs_strace
	bloomdedup create -n 1000 empty
	untraced fail_each -f seen -o out --append
	untraced fail_each -f seen --sync -o out --append
	untraced fail_each -f seen --shared -o out --append
	untraced fail_each -f seen --atomic -o out --append
	untraced fail_each -f seen --atomic -o out --overwrite
}

# limited N ARGUMENT...: the run may have so many open files. Both descriptors
# are opened before, since the shell needs some of its own for that.
limited() {
	local n=$1
	shift
	(
		ulimit -n "$n"
		exec "$BLOOMDEDUP" "$@"
	) >printed 2>err 3>&-
}

@test "with few open files, a run ends with its result or one line" {
	skip_if_sanitized
	skip_if_emulated "calls of its own"
	local n how status refused=0 done=0
	bloomdedup create -n 1000 empty
	for how in '' '-j2' '-f seen' '-f seen --sync -o out --append' \
		'-f seen --atomic -o out --append' \
		'-f seen --atomic -o out --overwrite' \
		'--atomic -o out --append' '--atomic -o out'; do
		for n in {4..16}; do
			ready
			status=0
			# shellcheck disable=SC2086 # words
			limited $n $how in || status=$?
			if [ $status -eq 0 ]; then
				[ ! -s err ]
				cat printed out | sort |
					comm -13 - <(sort in) | cmp - /dev/null
				done=$((done + 1))
				continue
			fi
			[ $status -eq 3 ]
			is_message err 'Too many open files'
			[ ! -e seen ] || bloomdedup check -v -f seen in |
				cmp - in
			refused=$((refused + 1))
		done
	done
	[ $done -gt 8 ]
	[ $refused -gt 8 ]
}
