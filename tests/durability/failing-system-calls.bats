# Every system call that can fail does: the end is a message and a status that
# isn't 0, or a whole output. Never a status of 0 with less.
load kills-and-faults

# What each call fails with; on machines of 32 bits some have other names. EINTR
# comes once and goes away, and so does EAGAIN where it says to wait; the others
# come once, or stay. What a file system can't do at all is no failure.
faults='openat:EMFILE,EACCES,ENOMEM,EINTR
open:EMFILE,EACCES,ENOMEM,EINTR
read:EIO,EINTR,EAGAIN
write:EIO,ENOSPC,EINTR,EAGAIN
pread64:EIO,EINTR
pwrite64:EIO,ENOSPC,EDQUOT,EINTR
fallocate:ENOSPC,EIO,EINTR,EOPNOTSUPP
ftruncate:EIO,EINTR
ftruncate64:EIO,EINTR
mmap:ENOMEM
mmap2:ENOMEM
fsync:EIO,ENOSPC,EROFS
fdatasync:EIO,ENOSPC,EROFS
flock:ENOLCK,EINTR
rename:EIO,ENOSPC,EROFS
link:EIO,ENOSPC,EPERM
unlink:EIO,EROFS
close:EIO,EINTR
newfstatat:EIO,ENOMEM
statx:EIO,ENOMEM
fstat:EIO
fchmod:EIO,EROFS
getrandom:EINTR,ENOSYS
madvise:EINVAL,ENOMEM
fadvise64:EINVAL
fadvise64_64:EINVAL
fcntl:EINVAL
fcntl64:EINVAL
readlink:EIO
pipe:EMFILE
pipe2:EMFILE
clone:EAGAIN,ENOMEM
wait4:EINTR'
# A long run of the tests adds these to each of those calls, once each, and
# calls that are made by other names elsewhere, or are not made now.
more_errors='EIO ENOSPC EINTR EAGAIN EDQUOT ENOMEM EMFILE EROFS'
more_calls='linkat msync mremap lseek renameat2 preadv pwritev fchown
sync_file_range'

# plan COMMAND...: a list of faults, "CALL ERROR WHEN": each call of the
# program's own, that is, after it looked at its standard input; the loader's
# come before. Of a call that is made for each page, some 50.
plan() {
	local list=$faults
	strace -qq -o trace "$@" >/dev/null 2>err || true
	# shellcheck disable=SC2086 # words
	! is_slow || list+=$(printf '\n%s:EIO' $more_calls)
	awk -F '[(:]' -v more="${BLOOMDEDUP_SLOW:+$more_errors}" '
		function add(error, stays,   n) {
			for (n = own[$1]; n <= count[$1]; n += by) {
				print $1, error, n
				if (stays)
					print $1, error, n "+"
			}
		}
		NR == FNR { # the trace
			count[$1]++
			if (!begun && /^fcntl.*\(0, F_GETFD/) {
				begun = 1
				own[$1] = count[$1]
			}
			if (begun && !own[$1])
				own[$1] = count[$1]
			next
		}
		!begun { exit }
		!own[$1] { next }
		{
			by = int((count[$1] - own[$1] + 1) / 50) + 1
			n = split($2, errors, ",")
			for (i = 1; i <= n; i++)
				add(errors[i], errors[i] != "EINTR" &&
				    ($1 "-" errors[i]) !~ /^(read|write)-EAGAIN/)
			n = split(more, errors, " ")
			for (i = 1; i <= n; i++)
				if (index("," $2 ",", "," errors[i] ",") == 0)
					add(errors[i], 0)
		}
		END { exit !begun }' trace - <<<"$list"
}

# try_faults COMMAND...: for each fault, `before`, the command, and `after`,
# which sees its $status, standard output in `stdout` and the fault in $fault.
# In a short run of the tests, for some of them, other ones each time.
try_faults() {
	local call error when injected=0 chosen
	before
	plan "$@" >list || return 1
	mapfile <list
	some $((${#MAPFILE[@]} / 8 + 1)) <list >chosen
	mapfile -t chosen <chosen
	for fault in "${chosen[@]}"; do
		read -r call error when <<<"$fault"
		before
		status=0
		timeout -k 5 60 strace -qq -o trace -e trace="$call" \
			-e inject="$call:error=$error:when=$when" \
			"$@" >stdout 2>err || status=$?
		echo "$fault: exit status $status"
		show err
		[ "$status" -lt 124 ] || return 1
		is_injected || continue
		injected=$((injected + 1))
		has_message || return 1
		after || return 1
	done
	echo "$injected of ${#chosen[@]} injected"
	[ $injected -ge $((${#chosen[@]} * 9 / 10)) ]
}

# is_injected [TEXT]: strace let a call fail, by a line of `trace` that begins so.
is_injected() {
	local line
	mapfile -t <trace
	for line in "${MAPFILE[@]}"; do
		[[ $line != "${1-}"*INJECTED* ]] || return 0
	done
	return 1
}

# has_message: a failed command names a file and says why. Without standard
# error it cannot.
has_message() {
	[ "$status" -ne 0 ] || return 0
	! is_injected 'write(2, ' || return 0
	has_reason '([^:]*[a-z][a-z](-[0-9]+)?: .+|(out of|cannot map).*memory)'
}

# The filters that the tests begin with are made once; `fetch` copies them.
setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	small_and_large
	one_and_two 2500
	cp large waits
	"$HELPER" journal waits <in
	gzip <in >in.gz
}

fetch() {
	local found=$BATS_FILE_TMPDIR/.strace
	[ -e "$found" ] || needs_strace
	: >"$found"
	cp "$BATS_FILE_TMPDIR"/* .
}

@test "a run that makes a filter, grows it, and prints to a file" {
	fetch
	before() {
		rm -f seen part .bloomdedup-*
	}
	after() {
		[ "$status" -ne 0 ] || cmp in part || return 1
		remembered_is_out part
	}
	untraced try_faults "$BLOOMDEDUP" -f seen -n 1000 -p 1e-9 -o part in
}

@test "a run that prints to standard output" {
	fetch
	before() {
		cp small seen
	}
	after() {
		[ "$status" -ne 0 ] || cmp in stdout || return 1
		remembered_is_out stdout
	}
	untraced try_faults "$BLOOMDEDUP" -f seen in.gz
}

@test "input that is compressed with zstd" {
	fetch
	needs_zstd
	zstd -q in
	before() {
		cp small seen
	}
	after() {
		[ "$status" -ne 0 ] || cmp in stdout || return 1
		remembered_is_out stdout
	}
	untraced try_faults "$BLOOMDEDUP" -f seen in.zst
}

@test "a run with --sync" {
	fetch
	before() {
		cp small seen
		rm -f part
	}
	after() {
		if [ "$status" -eq 0 ]; then
			cmp in part || return 1
			knows_all || return 1
		fi
		remembered_is_out part
	}
	untraced try_faults "$BLOOMDEDUP" --sync -f seen -o part in
}

@test "a run with --atomic: what failed before its commit remembers nothing" {
	fetch
	echo old >old
	before() {
		cp small seen
		cp old file
		rm -f seen.journal .bloomdedup-*
	}
	after() {
		if [ "$status" -eq 0 ]; then
			cmp in file || return 1
			knows_all || return 1
			return 0
		fi
		# replaced it is, if at all, as a whole
		if ! cmp -s in file; then
			cmp old file || return 1
			bloomdedup check -v -f seen in | cmp in - || return 1
		fi
		bloomdedup add -f seen /dev/null 2>err || return 1
		! cmp -s old file || : >file
		remembered_is_out file
	}
	untraced try_faults "$BLOOMDEDUP" --atomic -f seen -o file in
}

@test "a run with --to-command" {
	fetch
	before() {
		cp small seen
		rm -f got seen.journal
	}
	after() {
		if [ "$status" -eq 0 ]; then
			cmp in got || return 1
			knows_all || return 1
		fi
		bloomdedup add -f seen /dev/null 2>err || return 1
		remembered_is_out got
	}
	# a pipe that is not closed, as no system does it, has no end
	faults=$(grep -v '^close:' <<<"$faults")
	untraced try_faults "$BLOOMDEDUP" -f seen --to-command='cat >got' in
}

@test "runs with a filter in private memory" {
	fetch
	export BLOOMDEDUP_PRIVATE=0,40000
	before() {
		cp one seen
		rm -f part seen.journal
	}
	after() {
		if [ "$status" -eq 0 ]; then
			cmp second part || return 1
			knows_all || return 1
		fi
		# what `one` knew before is not in the output
		{ echo; cat first; } >>part
		[ -e seen ] && remembered_is_out part
	}
	untraced try_faults "$BLOOMDEDUP" -f seen -o part in
	untraced try_faults "$BLOOMDEDUP" --sync -f seen -o part in
}

@test "while a journal is recovered: it stays until it was applied" {
	fetch
	before() {
		cp waits seen
		cp waits.journal seen.journal
	}
	after() {
		knows_all || return 1
		[ "$status" -ne 0 ] || [ ! -e seen.journal ] || return 1
		bloomdedup add -f seen /dev/null 2>err || return 1
		knows_all
	}
	untraced try_faults "$BLOOMDEDUP" add -f seen /dev/null
}

@test "add with --shared" {
	fetch
	before() {
		cp small seen
	}
	after() {
		if [ "$status" -eq 0 ]; then
			knows_all || return 1
		fi
		bloomdedup info seen >/dev/null
	}
	untraced try_faults "$BLOOMDEDUP" add --shared -f seen in
}

@test "check" {
	fetch
	cp one seen
	cp one.journal seen.journal 2>/dev/null || true
	cp seen copy
	before() {
		true
	}
	after() {
		cmp copy seen || return 1
		[ "$status" -ne 0 ] || cmp first stdout
	}
	untraced try_faults "$BLOOMDEDUP" check -f seen in
}

@test "check beside a journal" {
	fetch
	before() {
		true
	}
	after() {
		[ "$status" -ne 0 ] || cmp in stdout
	}
	untraced try_faults "$BLOOMDEDUP" check -f waits in
}

# An engine believes its status 0, and repeats it otherwise.
@test "a dry run prints all or says that it failed, and changes nothing" {
	fetch
	before() {
		cp small seen
	}
	after() {
		cmp small seen || return 1
		[ "$status" -ne 0 ] || cmp in stdout
	}
	untraced try_faults "$BLOOMDEDUP" --dry-run -f seen in.gz
}

@test "partition: all of its lines or a status that says not" {
	fetch
	before() {
		rm -f part-?.txt .bloomdedup-*
		for i in 1 2 3; do
			echo old >part-$i.txt
		done
	}
	after() {
		at_most 3 || return 1
		if [ "$status" -eq 0 ]; then
			sort part-?.txt | cmp sorted - || return 1
		fi
	}
	echo old >old
	sort in >sorted
	untraced try_faults "$BLOOMDEDUP" partition --parts=3 -o part-%d.txt in
	bloomdedup partition --parts=3 -o whole-%d.txt in
	after() {
		at_most 3 || return 1
		for i in 1 2 3; do
			cmp -s whole-$i.txt part-$i.txt && continue
			[ "$status" -ne 0 ] && cmp old part-$i.txt || return 1
		done
	}
	untraced try_faults "$BLOOMDEDUP" partition --atomic --parts=3 \
		-o part-%d.txt in
}

@test "merge in place: the old filter or the union" {
	fetch
	before() {
		cp one seen
		rm -f .bloomdedup-*
	}
	after() {
		bloomdedup check -f seen in >known || return 1
		[ "$status" -ne 0 ] || cmp in known || return 1
		cmp -s in known || cmp first known
	}
	untraced try_faults "$BLOOMDEDUP" merge -o seen seen two
}

@test "merge into a new file: the union or nothing" {
	fetch
	before() {
		rm -f union .bloomdedup-*
	}
	after() {
		if [ ! -e union ]; then
			[ "$status" -ne 0 ]
			return
		fi
		knows_all union
	}
	untraced try_faults "$BLOOMDEDUP" merge -o union one two
}

@test "create: a whole filter or none" {
	fetch
	before() {
		rm -f seen .bloomdedup-*
	}
	after() {
		[ "$status" -ne 0 ] || [ -e seen ] || return 1
		[ ! -e seen ] || bloomdedup info seen >/dev/null
	}
	untraced try_faults "$BLOOMDEDUP" create -n 1000 seen
}

@test "info: all of it, or a status that says not" {
	fetch
	# a rate that is shown
	bloomdedup create --force -n 3000 -p 1e-3 --on-full=fail one
	bloomdedup add -f one in
	bloomdedup info one >whole
	run ! grep -q 'error rate *0 now' whole
	before() {
		true
	}
	# A table that can't be read is as good as a damaged one: the other one's
	# counters may be older. All else is by the bits.
	after() {
		[ "$status" -eq 0 ] || return 0
		if [[ $fault == "pread64 "* ]]; then
			cmp <(grep -v '^  room ' whole) \
				<(grep -v '^  room ' stdout)
		else
			cmp whole stdout
		fi
	}
	untraced try_faults "$BLOOMDEDUP" info one
}

@test "a call that a signal interrupts is made again" {
	fetch
	cp small seen
	BLOOMDEDUP_SLOW='' plan "$BLOOMDEDUP" -f seen -o part in >list ||
		return 1
	awk '$2 == "EINTR" && $1 != "close" && ++seen[$1] <= 3' list >chosen
	for call in "$(open_call)" read write pread64 pwrite64 fallocate \
		ftruncate flock; do
		grep -qE "^$call(64)? " chosen
	done
	while read -r call _ n; do
		cp small seen
		rm -f part
		status=0
		timeout 30 strace -qq -o trace -e trace="$call" \
			-e inject="$call:error=EINTR:when=$n" \
			"$BLOOMDEDUP" -f seen -o part in 2>err || status=$?
		is_injected
		echo "$call $n: exit status $status"
		[ "$status" -eq 0 ]
		cmp in part
	done <chosen
}

# sync_fails CALL WHEN FILE: a long run with --sync, of which this call fails,
# and no other one.
sync_fails() {
	needs_strace
	# more than a list of what is held back
	[ -e many ] || "$HELPER" lines 400000 >many
	bloomdedup create --force -n 500000 seen
	status=0
	strace -y -qq -o trace -e trace="$1" \
		-e inject="$1:error=EIO:when=$2" "$BLOOMDEDUP" -j 1 --sync \
		-f seen --overwrite -o part many 2>err || status=$?
	grep -q "/$3>.*INJECTED" trace
	[ "$status" -eq 3 ]
	[ "$(wc -l <err)" -eq 1 ]
}

@test "--sync: an output whose sync failed in mid-run is not asked again" {
	sync_fails fsync 3 part # the first ones are the directories'
	bloomdedup check -f seen many >known || true
	[ ! -s known ]
}

@test "--sync: a filter whose sync failed in mid-run is not asked again" {
	for n in 1 2; do
		sync_fails fdatasync $n seen
		[ "$(wc -l <trace)" -eq $n ]
	done
}

@test "a sync that fails is an error, and nothing after it is believed" {
	fetch
	# each sync of the run, which are some
	fail_each() { # OPTION CALL
		local n error
		for ((n = 1; ; n++)); do
			for error in EIO EROFS ENOSPC EINTR EDQUOT; do
				fail_once "$@" $n $error || return 1
				is_injected || break 2
			done
		done
		[ $n -gt 1 ] && [ $error = EIO ]
	}
	fail_once() { # OPTION CALL WHEN ERROR
		cp large seen
		rm -f seen.journal part
		status=0
		strace -qq -o trace -e trace="$2" \
			-e inject="$2:error=$4:when=$3" \
			"$BLOOMDEDUP" "$1" -f seen -o part in 2>err || status=$?
		is_injected || return 0
		echo "$*: exit status $status"
		if [ "$status" -eq 0 ]; then
			# all that is left is that the journal is gone
			[ "$1" = --atomic ] || return 1
			[ ! -e seen.journal ] || return 1
			cmp in part || return 1
			knows_all
			return
		fi
		[ "$status" -eq 3 ] || return 1
		is_message err
	}
	for kind in --sync --atomic; do
		for call in fsync fdatasync; do
			untraced fail_each $kind $call
		done
	done
}

@test "a full disk before --atomic replaces a file: nothing has happened" {
	skip_if_emulated "calls of its own"
	fetch
	echo old >old
	# calls_before NAME: so many does the run make before it replaces `file`
	calls_before() {
		sed '/^rename/,$d' trace | grep -c "^$1("
	}
	ready() {
		cp "$1" seen
		cp old file
	}
	fail_each() { # FILTER CALL COUNT
		local n count
		ready "$1"
		strace -qq -o trace "$BLOOMDEDUP" --atomic -f seen --overwrite -o file in
		grep -q '^rename("[^"]*", ".*file")' trace || return 1
		count=$(calls_before "$2")
		[ "$count" -eq "$3" ] || return 1
		for ((n = 1; n <= count; n++)); do
			ready "$1"
			status=0
			fault="$2 ENOSPC $n"
			strace -qq -o trace -e inject="$2:error=ENOSPC:when=$n" \
				"$BLOOMDEDUP" --atomic -f seen --overwrite -o file in \
				2>err || status=$?
			echo "$1, $2 $n of $count: exit status $status"
			show err
			is_injected "$2(" || return 1
			if grep '^rename(' trace; then return 1; fi
			[ "$status" -eq 3 ] || return 1
			has_message || return 1
			[[ $said == *': No space left'* ]] || return 1
			cmp old file || return 1
			[ ! -e seen.journal ] || return 1
			no_leftovers || return 1
			bloomdedup check -v -f seen in | cmp in - || return 1
		done
	}
	# the journal's begin, the filter's slot, the journal's digests, the
	# room for its end, its output and its commit
	untraced fail_each large pwrite64 6
	# the filter, the journal, and its output
	untraced fail_each large fdatasync 3
	# the directories of the file and the journal, the file, the commit
	untraced fail_each large fsync 4
	# of a filter that grows both slots, and a layer and its zeros
	untraced fail_each small pwrite64 9
	untraced fail_each small fallocate 1
}

# --- a filter that grows

# none_lost: what was printed and what the next run prints is all of `many`.
none_lost() {
	whole seen || return 1
	echo >>part
	bloomdedup -f seen many >>part 2>err || return 1
	"$HELPER" came-out 25000 25000 0 part >figures
}

@test "a write or sync of the filter that fails while it grows" {
	fetch
	"$HELPER" numbered 25000 >many
	fail_each_call() { # CALL ERROR
		local when
		for ((when = 1; ; when++)); do
			cp small seen
			rm -f part
			status=0
			fault="$1 $2 $when"
			strace -qq -o trace -P seen -e trace="$1" \
				-e inject="$1:error=$2:when=$when" \
				"$BLOOMDEDUP" -j 1 -f seen -o part many 2>err ||
				status=$?
			is_injected || break
			[ "$status" -eq 3 ] || return 1
			grep -q '^bloomdedup: seen: [A-Z]' err || return 1
			none_lost || return 1
		done
		echo "$1 $2: $((when - 1)) calls"
		# at least twice for each of the layers
		[ $when -gt 6 ]
	}
	untraced fail_each_call pwrite64 ENOSPC
	untraced fail_each_call fdatasync EIO
	is_slow || return 0
	untraced fail_each_call pwrite64 EIO
	untraced fail_each_call fdatasync ENOSPC
}
