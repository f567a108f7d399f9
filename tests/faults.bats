# Every system call that can fail does: the end is a message and a status that
# isn't 0, or a whole output. Never a status of 0 with less.
load faults

# What each call fails with. EINTR comes once and goes away, and so does EAGAIN
# where it says to wait; the others come once, or stay. What a file system
# can't do at all is no failure.
faults='openat:EMFILE,EACCES,ENOMEM,EINTR
read:EIO,EINTR,EAGAIN
write:EIO,ENOSPC,EINTR,EAGAIN
pread64:EIO,EINTR
pwrite64:EIO,ENOSPC,EDQUOT,EINTR
fallocate:ENOSPC,EIO,EINTR,EOPNOTSUPP
ftruncate:EIO,EINTR
mmap:ENOMEM
fsync:EIO,ENOSPC,EROFS
fdatasync:EIO,ENOSPC,EROFS
flock:ENOLCK,EINTR
rename:EIO,ENOSPC,EROFS
link:EIO,ENOSPC,EPERM
unlink:EIO,EROFS
close:EIO,EINTR
newfstatat:EIO,ENOMEM
fstat:EIO
fchmod:EIO,EROFS
getrandom:EINTR,ENOSYS
madvise:EINVAL,ENOMEM
fadvise64:EINVAL
fcntl:EINVAL
readlink:EIO
pipe:EMFILE
pipe2:EMFILE
clone:EAGAIN,ENOMEM
wait4:EINTR'
# A long run of the tests adds these to each of those calls, once each, and
# calls that are made by other names elsewhere, or are not made now.
more_errors='EIO ENOSPC EINTR EAGAIN EDQUOT ENOMEM EMFILE EROFS'
more_calls='linkat msync mremap statx lseek renameat2 preadv pwritev fchown
sync_file_range'

# plan COMMAND...: a list of faults, "CALL ERROR WHEN": each call of the
# program's own, that is, after it looked at its standard input; the loader's
# come before. Of a call that is made for each page, some 50.
plan() {
	local call errors error first count n by
	strace -qq -o trace "$@" >/dev/null 2>err || true
	grep -q '^fcntl(0, F_GETFD)' trace || return 1
	sed -n '1,/^fcntl(0, F_GETFD)/p' trace >start
	while IFS=: read -r call errors; do
		count=$(grep -c "^$call(" trace)
		[ "$count" -gt 0 ] || continue
		first=$(grep -c "^$call(" start)
		[ "$call" != fcntl ] || first=$((first - 1))
		by=$(((count - first) / 50 + 1))
		for error in ${errors//,/ }; do
			for ((n = first + 1; n <= count; n += by)); do
				echo "$call $error $n"
				case $call-$error in
				*-EINTR | read-EAGAIN | write-EAGAIN) ;;
				*) echo "$call $error $n+" ;;
				esac
			done
		done
		[ -n "${BLOOMDEDUP_SLOW:-}" ] || continue
		for error in $more_errors; do
			[[ ,$errors, != *,$error,* ]] || continue
			for ((n = first + 1; n <= count; n += by)); do
				echo "$call $error $n"
			done
		done
	done < <(
		echo "$faults"
		[ -z "${BLOOMDEDUP_SLOW:-}" ] || printf '%s:EIO\n' $more_calls
	)
}

# try_faults COMMAND...: for each fault, `before`, the command, and `after`,
# which sees its $status, standard output in `stdout` and the fault in $fault.
# In a short run of the tests, for some of them, other ones each time.
try_faults() {
	local call error when step=1 injected=0
	command -v strace >/dev/null || skip "needs strace"
	before
	plan "$@" >list || skip "may not trace"
	[ -n "${BLOOMDEDUP_SLOW:-}" ] || step=$(($(wc -l <list) / 20 + 1))
	awk -v step=$step -v from=$((RANDOM % step)) \
		'NR % step == from' list >chosen
	while read -r call error when; do
		before
		status=0
		fault="$call $error $when"
		timeout -k 5 60 strace -qq -o trace -e trace="$call" \
			-e inject="$call:error=$error:when=$when" \
			"$@" >stdout 2>err || status=$?
		echo "$fault: exit status $status"
		cat err
		[ "$status" -lt 124 ] || return 1
		grep -q INJECTED trace || continue
		injected=$((injected + 1))
		has_message || return 1
		after || return 1
	done <chosen
	echo "$injected of $(wc -l <chosen) injected"
	[ $injected -ge $(($(wc -l <chosen) * 9 / 10)) ]
}

# has_message: a failed command says why in one line, beside what it may
# notice before: of which file, and the reason. Without standard error it
# can't.
has_message() {
	[ "$status" -ne 0 ] || return 0
	! grep -q '^write(2, .*INJECTED' trace || return 0
	grep -vE 'passed the .* lines that it was|finishing an earlier run' \
		err >said
	# what stays may fail once more when the filter is closed
	if [[ $fault = *+ ]]; then
		tail -n 1 said >last.said
		mv last.said said
	fi
	if [ "$(wc -l <said)" -ne 1 ] || ! grep -qE \
		'^bloomdedup: ([^:]*[a-z][a-z]: .+|(out of|cannot map).*memory)' \
		said; then
		echo "not one line with a file's name and the reason"
		return 1
	fi
}

# remembered_is_out FILE: what the filter knows of `in` is in FILE, and the
# rest comes out in another run: no line is lost.
remembered_is_out() {
	{
		[ ! -e "$1" ] || cat "$1"
		echo
	} >all
	[ ! -e seen ] || whole seen || return 1
	bloomdedup -f seen in >>all 2>err || return 1
	"$HELPER" came-out 2500 2500 0 all >figures
}

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	"$HELPER" numbered 2500 >in
	"$BLOOMDEDUP" create -n 1000 -p 1e-9 empty
	"$BLOOMDEDUP" create -n 3000 -p 1e-9 room
	head -n 1000 in >first
	tail -n 1500 in >last
	cp room one
	"$BLOOMDEDUP" add -f one first
	"$BLOOMDEDUP" create --like=room two
	"$BLOOMDEDUP" add -f two last
	cp room waits
	"$HELPER" journal waits <in
	gzip <in >in.gz
}

fetch() {
	cp "$BATS_FILE_TMPDIR"/* .
}

@test "a run that makes a filter, grows it, and prints to a file" {
	skip_if_sanitized # its leak checker fails under strace
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
	skip_if_sanitized # its leak checker fails under strace
	fetch
	before() {
		cp empty seen
	}
	after() {
		cp stdout part
		[ "$status" -ne 0 ] || cmp in part || return 1
		remembered_is_out part
	}
	untraced try_faults "$BLOOMDEDUP" -f seen in.gz
}

@test "a run with --sync" {
	skip_if_sanitized # its leak checker fails under strace
	fetch
	before() {
		cp empty seen
		rm -f part
	}
	after() {
		if [ "$status" -eq 0 ]; then
			cmp in part || return 1
			bloomdedup check -f seen in | cmp in - || return 1
		fi
		remembered_is_out part
	}
	untraced try_faults "$BLOOMDEDUP" --sync -f seen -o part in
}

@test "a run with --atomic: what failed before its commit remembers nothing" {
	skip_if_sanitized # its leak checker fails under strace
	fetch
	echo old >old
	before() {
		cp empty seen
		cp old file
		rm -f seen.journal .bloomdedup-*
	}
	after() {
		if [ "$status" -eq 0 ]; then
			cmp in file || return 1
			bloomdedup check -f seen in | cmp in - || return 1
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
	skip_if_sanitized # its leak checker fails under strace
	fetch
	before() {
		cp empty seen
		rm -f got seen.journal
	}
	after() {
		if [ "$status" -eq 0 ]; then
			cmp in got || return 1
			bloomdedup check -f seen in | cmp in - || return 1
		fi
		bloomdedup add -f seen /dev/null 2>err || return 1
		remembered_is_out got
	}
	# a pipe that is not closed, as no system does it, has no end
	faults=$(grep -v '^close:' <<<"$faults")
	untraced try_faults "$BLOOMDEDUP" -f seen --to-command='cat >got' in
}

@test "runs with a filter in private memory" {
	skip_if_sanitized # its leak checker fails under strace
	fetch
	export BLOOMDEDUP_PRIVATE=0,40000
	before() {
		cp one seen
		rm -f part seen.journal
	}
	after() {
		if [ "$status" -eq 0 ]; then
			cmp last part || return 1
			bloomdedup check -f seen in | cmp in - || return 1
		fi
		# what `one` knew before is not in the output
		cp first all
		[ ! -e part ] || cat part >>all
		echo >>all
		whole seen || return 1
		bloomdedup -f seen in >>all 2>err || return 1
		"$HELPER" came-out 2500 2500 0 all >figures
	}
	untraced try_faults "$BLOOMDEDUP" -f seen -o part in
	untraced try_faults "$BLOOMDEDUP" --sync -f seen -o part in
}

@test "while a journal is recovered: it stays until it was applied" {
	skip_if_sanitized # its leak checker fails under strace
	fetch
	before() {
		cp waits seen
		cp waits.journal seen.journal
	}
	after() {
		bloomdedup check -f seen in | cmp in - || return 1
		[ "$status" -ne 0 ] || [ ! -e seen.journal ] || return 1
		bloomdedup add -f seen /dev/null 2>err || return 1
		bloomdedup check -f seen in | cmp in -
	}
	untraced try_faults "$BLOOMDEDUP" add -f seen /dev/null
}

@test "add with --shared" {
	skip_if_sanitized # its leak checker fails under strace
	fetch
	before() {
		cp empty seen
	}
	after() {
		if [ "$status" -eq 0 ]; then
			bloomdedup check -f seen in | cmp in - || return 1
		fi
		bloomdedup info seen >/dev/null
	}
	untraced try_faults "$BLOOMDEDUP" add --shared -f seen in
}

@test "check" {
	skip_if_sanitized # its leak checker fails under strace
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
	skip_if_sanitized # its leak checker fails under strace
	fetch
	before() {
		true
	}
	after() {
		[ "$status" -ne 0 ] || cmp in stdout
	}
	untraced try_faults "$BLOOMDEDUP" check -f waits in
}

@test "merge in place: the old filter or the union" {
	skip_if_sanitized # its leak checker fails under strace
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

@test "merge into a new file, with a journal" {
	skip_if_sanitized # its leak checker fails under strace
	fetch
	before() {
		rm -f union .bloomdedup-*
	}
	after() {
		if [ ! -e union ]; then
			[ "$status" -ne 0 ]
			return
		fi
		bloomdedup check -f union in >known || return 1
		cmp in known
	}
	untraced try_faults "$BLOOMDEDUP" merge -o union one waits
}

@test "create: a whole filter or none" {
	skip_if_sanitized # its leak checker fails under strace
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
	skip_if_sanitized # its leak checker fails under strace
	fetch
	bloomdedup info one >whole
	before() {
		true
	}
	after() {
		[ "$status" -ne 0 ] || cmp whole stdout
	}
	untraced try_faults "$BLOOMDEDUP" info one
}

@test "a call that a signal interrupts is made again" {
	skip_if_sanitized # its leak checker fails under strace
	fetch
	command -v strace >/dev/null || skip "needs strace"
	cp empty seen
	BLOOMDEDUP_SLOW='' plan "$BLOOMDEDUP" -f seen -o part in >list ||
		skip "may not trace"
	awk '$2 == "EINTR" && $1 != "close" && ++seen[$1] <= 3' list >chosen
	for call in openat read write pread64 pwrite64 fallocate ftruncate \
		flock; do
		grep -q "^$call " chosen
	done
	while read -r call _ n; do
		cp empty seen
		rm -f part
		status=0
		timeout 30 strace -qq -o trace \
			-e inject="$call:error=EINTR:when=$n" \
			"$BLOOMDEDUP" -f seen -o part in 2>err || status=$?
		grep -q INJECTED trace
		echo "$call $n: exit status $status"
		[ "$status" -eq 0 ]
		cmp in part
	done <chosen
}

# sync_fails CALL WHEN FILE: a long run with --sync, of which this call fails,
# and no other one.
sync_fails() {
	skip_if_sanitized # its leak checker fails under strace
	command -v strace >/dev/null || skip "needs strace"
	strace -qq -o trace true || skip "may not trace"
	"$HELPER" lines 500000 >in
	rm -f seen
	bloomdedup create -n 1000000 seen
	status=0
	strace -y -qq -o trace -e trace="$1" \
		-e inject="$1:error=EIO:when=$2" "$BLOOMDEDUP" --sync \
		-f seen -o part in 2>err || status=$?
	grep -q "/$3>.*INJECTED" trace
	[ "$status" -eq 3 ]
	[ "$(wc -l <err)" -eq 1 ]
}

@test "--sync: an output whose sync failed in mid-run is not asked again" {
	sync_fails fsync 2 part # the first one is the folder's
	bloomdedup check -f seen in >known || true
	[ ! -s known ]
}

@test "--sync: a filter whose sync failed in mid-run is not asked again" {
	for n in 1 2; do
		sync_fails fdatasync $n seen
		[ "$(wc -l <trace)" -eq $n ]
	done
}

@test "a sync that fails is an error, and nothing after it is believed" {
	skip_if_sanitized # its leak checker fails under strace
	command -v strace >/dev/null || skip "needs strace"
	fetch
	fail_syncs() {
		local kind call error n
		for kind in --sync --atomic; do
			for call in fsync fdatasync; do
				for error in EIO EROFS ENOSPC EINTR EDQUOT; do
					fail_each $kind $call $error || return 1
				done
			done
		done
	}
	# each sync of the run, which are some
	fail_each() {
		for ((n = 1; ; n++)); do
			cp room seen
			rm -f seen.journal part
			status=0
			strace -qq -o trace -e trace="$2" \
				-e inject="$2:error=$3:when=$n" \
				"$BLOOMDEDUP" "$1" -f seen -o part in \
				2>err || status=$?
			grep -q INJECTED trace || break
			echo "$* $n: exit status $status"
			if [ "$status" -eq 0 ]; then
				# all that is left is that the journal is gone
				[ "$1" = --atomic ] || return 1
				[ ! -e seen.journal ] || return 1
				cmp in part || return 1
				bloomdedup check -f seen in | cmp in - ||
					return 1
				continue
			fi
			[ "$status" -eq 3 ] || return 1
			[ "$(wc -l <err)" -eq 1 ] || return 1
		done
		[ $n -gt 1 ]
	}
	strace -qq -o trace true || skip "may not trace"
	untraced fail_syncs
}

@test "a full disk before --atomic replaces a file: nothing has happened" {
	skip_if_emulated "calls of its own"
	skip_if_sanitized # its leak checker fails under strace
	command -v strace >/dev/null || skip "needs strace"
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
		strace -qq -o trace "$BLOOMDEDUP" --atomic -f seen -o file in
		grep -q '^rename("[^"]*", ".*file")' trace || return 1
		count=$(calls_before "$2")
		[ "$count" -eq "$3" ] || return 1
		for ((n = 1; n <= count; n++)); do
			ready "$1"
			status=0
			fault="$2 ENOSPC $n"
			strace -qq -o trace -e inject="$2:error=ENOSPC:when=$n" \
				"$BLOOMDEDUP" --atomic -f seen -o file in \
				2>err || status=$?
			echo "$1, $2 $n of $count: exit status $status"
			cat err
			grep -q "^$2(.*ENOSPC.*INJECTED" trace || return 1
			if grep '^rename(' trace; then return 1; fi
			[ "$status" -eq 3 ] || return 1
			has_message || return 1
			grep -q ': No space left' said || return 1
			cmp old file || return 1
			[ ! -e seen.journal ] || return 1
			no_leftovers || return 1
			bloomdedup check -v -f seen in | cmp in - || return 1
		done
	}
	strace -qq -o trace true || skip "may not trace"
	# the journal's begin, the filter's slot, the journal's digests and
	# the room for its end
	untraced fail_each room pwrite64 4
	# the filter, the journal
	untraced fail_each room fdatasync 2
	# the file
	untraced fail_each room fsync 1
	# of a filter that grows one more slot, and a layer
	untraced fail_each empty pwrite64 5
	untraced fail_each empty fallocate 1
}

# --- calls of other threads: of the one that writes a grown filter's second
# slot, and of the one that reads half of a file

# in_thread TRACE: of strace -f; something was injected, and only in threads
# that the program started itself.
in_thread() {
	awk 'NR == 1 { main = $1 }
		/INJECTED/ { injected++; if ($1 == main) wrong++ }
		END { exit !injected || wrong }' "$1"
}

# has_other_thread: $pid has two, of which the other one becomes $tid.
has_other_thread() {
	local task
	for task in /proc/"$pid"/task/*; do
		tid=${task##*/}
		[ "$tid" = "$pid" ] || return 0
	done
	return 1
}

is_traced() {
	grep -q '^TracerPid:.*[1-9]' /proc/"$pid"/task/"$tid"/status
}

# grow_under COUNT INJECTION: a run over COUNT lines of `many`, whose filter
# has grown once. Then strace has the thread, and no other one, and the filter
# grows again.
grow_under() {
	rm -f pipe part trace
	mkfifo pipe
	cp empty seen
	"$BLOOMDEDUP" -j 1 -f seen -o part <pipe 2>err 3>&- &
	pid=$!
	exec 7>pipe
	head -n 1500 many >&7
	until_true has_other_thread || return 1
	strace -qq -o trace -p "$tid" -e trace=pwrite64,fdatasync \
		-e inject="$2" 2>strace.err 3>&- 7>&- &
	until_true test -e trace || return 1
	if ! until_true is_traced; then
		cat strace.err
		return 1
	fi
	head -n "$1" many | tail -n +1501 >&7
	exec 7>&-
	status=0
	wait $pid || status=$?
	wait
	cat err
}

# none_lost COUNT: what was printed and what the next run prints is all.
none_lost() {
	{ cat part; echo; } >all
	whole seen || return 1
	bloomdedup -f seen <(head -n "$1" many) >>all 2>err || return 1
	"$HELPER" came-out "$1" "$1" 0 all >figures
}

may_trace_threads() {
	skip_if_sanitized # its leak checker fails under strace
	command -v strace >/dev/null || skip "needs strace"
	strace -f -qq -o trace true || skip "may not trace"
	fetch
	"$HELPER" numbered 25000 >many
}

# A program that strace didn't start: not everywhere by everybody.
may_attach() {
	local scope
	scope=$(cat /proc/sys/kernel/yama/ptrace_scope 2>err || echo 0)
	[ "$scope" -eq 0 ] || [ "$(id -u)" -eq 0 ] || skip "may not trace"
}

@test "a thread's sync that fails while a filter grows for the first time" {
	may_trace_threads
	fail_sync() { # ERROR WHEN
		cp empty seen
		rm -f part
		status=0
		fault="fdatasync $1 $2"
		strace -f -qq -o trace -e trace=execve,write,fdatasync \
			-e inject="fdatasync:error=$1:when=$2" \
			"$BLOOMDEDUP" -j 2 -f seen -o part in 2>err || status=$?
		echo "$fault: exit status $status"
		cat err
		in_thread trace || return 1
		[ "$status" -eq 3 ] || return 1
		has_message || return 1
		grep -q '^bloomdedup: seen: [A-Z]' said || return 1
		remembered_is_out part
	}
	for error in EIO ENOSPC; do
		for when in 1 2 1+; do
			untraced fail_sync $error $when
		done
	done
}

@test "a thread's write or sync that fails while a filter grows once more" {
	skip_if_emulated "calls of its own"
	may_trace_threads
	may_attach
	fail_call() { # COUNT CALL ERROR WHEN
		fault="$2 $3 $4"
		grow_under "$1" "$2:error=$3:when=$4" || return 1
		echo "$fault of $1 lines: exit status $status"
		grep -q "^$2(.*INJECTED" trace || return 1
		[ "$status" -eq 3 ] || return 1
		has_message || return 1
		grep -q '^bloomdedup: seen: [A-Z]' said || return 1
		none_lost "$1"
	}
	# seen at the end, or when the filter is to grow for the third time
	for count in 5000 10000; do
		for error in EIO ENOSPC; do
			untraced fail_call $count pwrite64 $error 1
			untraced fail_call $count fdatasync $error 1
			untraced fail_call $count fdatasync $error 2
			untraced fail_call $count fdatasync $error 1+
		done
	done
}

@test "kill -9 at each call of the thread while a filter grows" {
	skip_if_emulated "calls of its own"
	may_trace_threads
	may_attach
	kill_at_call() { # COUNT CALL WHEN
		grow_under "$1" "$2:signal=KILL:when=$3" || return 1
		echo "$2 $3 of $1 lines: exit status $status"
		cat trace
		grep -q 'killed by SIGKILL' trace || return 1
		[ "$status" -eq 137 ] || return 1
		none_lost "$1"
	}
	for count in 5000 10000; do
		untraced kill_at_call $count pwrite64 1
		untraced kill_at_call $count fdatasync 1
		untraced kill_at_call $count fdatasync 2
	done
}

@test "the half of a file that a thread can't read is read again" {
	may_trace_threads
	"$HELPER" numbered 60000 >many # so that it is read often
	fail_read() { # ERROR WHEN
		cp room seen
		rm -f part
		strace -f -qq -o trace -P many -e trace=read,pread64 \
			-e inject="pread64:error=$1:when=$2" \
			"$BLOOMDEDUP" -j 2 -f seen -o part many 2>err || {
			cat err
			return 1
		}
		echo "$1 $2: $(grep -c INJECTED trace) injected"
		in_thread trace || return 1
		cmp many part
	}
	for error in EIO EINTR ENOMEM; do
		for when in 1 2 1+; do
			untraced fail_read $error $when
		done
	done
}

@test "kill -9 while a thread reads half of a file" {
	may_trace_threads
	"$HELPER" numbered 60000 >many
	kill_reader() { # WHEN
		cp room seen
		: >part
		status=0
		strace -f -qq -o trace -P many -e trace=pread64 \
			-e inject="pread64:signal=KILL:when=$1" \
			"$BLOOMDEDUP" -j 2 -f seen -o part many 2>err ||
			status=$?
		echo "pread64 $1: exit status $status"
		[ "$(grep -c 'pread64(' trace)" -eq "$1" ] || return 1
		grep -q 'killed by SIGKILL' trace || return 1
		[ "$status" -eq 137 ] || return 1
		none_lost 60000
	}
	for when in 1 2 3; do
		untraced kill_reader $when
	done
}
