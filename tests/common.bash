# What every test file loads. The program under test is $BLOOMDEDUP.
bats_require_minimum_version 1.5.0

# A file may be in any directory of tests/, and so may what it loads.
ROOT=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
if [ -n "${BATS_VERSION-}" ]; then
	# shellcheck source=tests/environment.bash
	source "$ROOT/tests/environment.bash"
	# Once for a file: its tests get what setup_file exports.
	if [ "${BATS_CLEANED-}" != "$BATS_RUN_TMPDIR" ]; then
		clean_environment
		export BATS_CLEANED=$BATS_RUN_TMPDIR
	fi
	# What a killed program leaves there goes with all else of the tests.
	export TMPDIR=$BATS_RUN_TMPDIR
fi
: "${BLOOMDEDUP:=$ROOT/bloomdedup}"
: "${BUILD:=$ROOT/build}"
# shellcheck disable=SC2034 # the tests use it
HELPER=$BUILD/helper
# Before a command and the variables that tell preload.so what to do: it makes
# the file `fired` when it does it.
# shellcheck disable=SC2034
PRELOADED=(env LD_PRELOAD="$BUILD/preload.so" FIRED=fired)

# bats notes each command before it runs, to tell where a test failed. That takes
# a quarter of the time of many tests, and the place is known when one fails, too:
# but for a `return 1` of the test itself, of which it tells where the test begins.
# Only in the version of bats whose functions these are.
if [[ ${BATS_VERSION-} == 1.8.* ]] && [ "${BATS_TRACE_LEVEL:-0}" -eq 0 ]; then
	bats_debug_trap() {
		trap - DEBUG
	}

	bats_error_trap() {
		bats_check_status_from_trap
		local line
		if [ "${FUNCNAME[1]}" = bats_perform_test ]; then
			shopt -s extdebug
			line=$(declare -F "$BATS_TEST_NAME" | cut -d ' ' -f 2)
			shopt -u extdebug
			BATS_DEBUG_LAST_STACK_TRACE=(
				"$line $BATS_TEST_NAME $BATS_TEST_SOURCE")
		else
			bats_capture_stack_trace
		fi
		BATS_DEBUG_LAST_STACK_TRACE_IS_VALID=1
	}

	# It asks date(1) before each test, whether times are wanted or not.
	get_mills_since_epoch() {
		echo "$((${EPOCHREALTIME/[.,]/} / 1000))"
	}
fi

# Each test works in a directory of its own.
setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

teardown() {
	[ ! -d "$BATS_TEST_TMPDIR/disk" ] ||
		umount "$BATS_TEST_TMPDIR/disk" 2>/dev/null || true
	[ -z "${nobodys_directory:-}" ] || rm -rf "$nobodys_directory"
}

bloomdedup() {
	"$BLOOMDEDUP" "$@"
}

# untraced FUNCTION ARGUMENT...: what is called so stops at no error: it must
# return 1 when something fails, and print what.
untraced() {
	"$@" || return 1
}

# --- expectations

# is_message FILE [TEXT]: it is one line that begins with "bloomdedup: " and
# contains TEXT.
is_message() {
	local said
	mapfile said <"$1"
	[ ${#said[@]} -eq 1 ] &&
		[[ ${said[0]} == "bloomdedup: "*"${2-}"*$'\n' ]]
}

# fails STATUS TEXT COMMAND...: the command must end with that status, print
# nothing on standard output, and one line on standard error that begins with
# "bloomdedup: " and contains TEXT.
fails() {
	untraced fails_so "$@"
}

fails_so() {
	local want=$1 text=$2 status=0
	shift 2
	"$@" >fails.out 2>fails.err || status=$?
	if [ "$status" -ne "$want" ]; then
		echo "exit status $status instead of $want from: $*"
		cat fails.err
		return 1
	fi
	if [ -s fails.out ]; then
		echo "standard output is not empty:"
		head -c 1000 fails.out
		return 1
	fi
	if ! is_message fails.err "$text"; then
		echo "not one line with '$text' on standard error:"
		cat fails.err
		return 1
	fi
}

# model: what the program must print, by a model too simple to be wrong: any
# bytes, a last line without a newline gets one.
model() {
	perl -ne 'chomp; print "$_\n" unless $seen{$_}++' "$@"
}

# many_lines N SEED: N lines, other ones for each seed: numbers of 23 digits and
# more, since seq prints them, of which there are millions, at next to no cost.
many_lines() {
	seq "$2"0000000000000000000001 "$(printf '%d%022d' "$2" "$1")"
}

# all_known FILE [FILTER]: the filter, `seen` by default, has every line of FILE.
all_known() {
	bloomdedup check -f "${2:-seen}" "$1" | cmp "$1" - || return 1
}

# json_value NAME: the value of that name in a line of JSON on standard input.
json_value() {
	sed -nE 's/.*"'"$1"'": ([^],}]+)[],}].*/\1/p' | grep .
}

# figure NAME FILTER: a number from `info --json`, of the filter as a whole.
figure() {
	bloomdedup info --json "$2" | sed 's/"layers": \[.*\]//' | json_value "$1"
}

# reason NAME: what the C library says of an error, such as EIO; each says it in
# its own words.
reason() {
	case $1 in
	EIO) "$HELPER" strerror 5 ;;
	ENOMEM) "$HELPER" strerror 12 ;;
	EACCES) "$HELPER" strerror 13 ;;
	ENODEV) "$HELPER" strerror 19 ;;
	ENFILE) "$HELPER" strerror 23 ;;
	EMFILE) "$HELPER" strerror 24 ;;
	ENAMETOOLONG) "$HELPER" strerror 36 ;;
	ELOOP) "$HELPER" strerror 40 ;;
	*) echo "no number of $1" >&2 && return 1 ;;
	esac
}

# open_call: the system call by which the program's C library opens a file.
open_call() {
	if grep -q /ld-musl- "$BLOOMDEDUP"; then
		echo open
	else
		echo openat
	fi
}

# as_openat FILE: calls of open(2) in a trace become the same of openat(2).
as_openat() {
	sed -i 's/\bopen("/openat(AT_FDCWD, "/' "$@"
}

# holds CONDITION NAME=VALUE...: is it true? An awk expression.
holds() {
	local condition=$1 assignment
	shift
	for assignment; do
		set -- "$@" -v "$assignment"
		shift
	done
	awk "$@" "BEGIN { exit !($condition) }" </dev/null && return 0
	echo "not true: $condition, with $*"
	return 1
}

# told OPTION...: the size in bytes that `size` states.
told() {
	bloomdedup size --json "$@" | json_value bytes | grep -x '[0-9]*'
}

# layers FILTER: how many it has.
layers() {
	bloomdedup info --json "$1" | grep -o '"k": ' | wc -l
}

# has_bytes N FILE: is FILE at least N bytes long?
has_bytes() {
	[ -e "$2" ] && [ "$(stat -c %s "$2")" -ge "$1" ]
}

# no_leftovers: there is no temporary file of the program in this directory.
no_leftovers() {
	local found
	found=$(find . -name '.bloomdedup-*')
	if [ -n "$found" ]; then
		echo "left behind: $found"
		return 1
	fi
}

# temporaries PROCESS [DIRECTORY]: the files without a name yet, or with a
# temporary one, that it has open in that directory: paths in /proc.
temporaries() {
	local directory
	directory=$(cd "${2:-.}" && pwd -P)
	find "/proc/$1/fd" -lname "$directory/#*" -o -lname "$directory/.bloomdedup-*"
}

# --- runs in the background

# until_true COMMAND...: wait until it succeeds, at most two minutes. No test
# passes or fails by how long that takes on a machine that works at all.
until_true() {
	untraced try_until_true "$@"
}

try_until_true() {
	local end=$((SECONDS + 120)) wait=10 milliseconds never status=0
	# Nothing ever comes from there: a read with a time limit is a sleep that
	# starts no process.
	local pipe=${BATS_RUN_TMPDIR:-$BATS_TEST_TMPDIR}/never
	[ -p "$pipe" ] || mkfifo "$pipe"
	exec {never}<>"$pipe"
	until "$@" 2>/dev/null; do
		if ((SECONDS > end)); then
			echo "did not come true: $*"
			status=1
			break
		fi
		printf -v milliseconds %03d $wait
		read -rt 0.$milliseconds -u $never || true
		((wait += wait < 100 ? wait / 4 : 0)) || true
	done
	exec {never}>&-
	return $status
}

# until_idle PROCESS: wait until it sleeps. A run that waits for more input has
# marked what it printed.
until_idle() {
	until_true is_asleep "$1"
}

is_asleep() {
	local state
	read -r _ _ state _ <"/proc/$1/stat"
	[ "$state" = S ]
}

# start_on_pipe ARGUMENT...: start a run that reads the pipe `pipe`, which is
# held open as descriptor 7, and writes to `out` and `err`. It is process $pid.
start_on_pipe() {
	rm -f pipe
	mkfifo pipe
	: >out
	"$HELPER" defaults "$BLOOMDEDUP" "$@" <pipe >out 2>err 3>&- &
	pid=$!
	exec 7>pipe
}

# ends_with STATUS: close the pipe, wait for $pid, and compare its status.
ends_with() {
	local status=0
	exec 7>&-
	wait "$pid" 2>/dev/null || status=$?
	if [ "$status" -ne "$1" ]; then
		echo "exit status $status instead of $1"
		cat err
		return 1
	fi
}

# dies_of SIGNAL: send it to $pid, whose pipe stays open; it must die of it.
dies_of() {
	local status=0
	kill -"$1" "$pid"
	wait "$pid" 2>/dev/null || status=$?
	exec 7>&-
	if [ "$status" -ne $((128 + $(kill -l "$1"))) ]; then
		echo "exit status $status after SIG$1"
		cat err
		return 1
	fi
}

# alone COMMAND...: run it on one processor, and so with one thread.
alone() {
	taskset -c "$(taskset -cp $$ | sed 's/.*[^0-9]\([0-9]*\)$/\1/')" "$@"
}

needs_terminal() {
	script -qec true /dev/null >/dev/null 2>&1 </dev/null ||
		skip "needs script(1) and terminals"
}

# on_terminal COMMAND: run it on a terminal that script(1) of util-linux makes;
# what it showed is in the file `terminal`, byte for byte.
on_terminal() {
	needs_terminal
	script -qec "$*" /dev/null </dev/null >terminal || [ $? -lt 100 ]
}

# small_disk SIZE: a file system of that size is mounted at `disk`.
small_disk() {
	mkdir -p disk
	mount -t tmpfs -o size="$1" tmpfs disk 2>/dev/null ||
		skip "needs the right to mount"
}

# null_device: a device `null` as /dev/null is, so that a program that is broken
# and runs as root does not replace the one of the machine.
null_device() {
	mknod null c 1 3 2>/dev/null && : 2>/dev/null >null ||
		ln -sf /dev/null null
}

# --- the long form, and what the machine must have

# is_slow: is this the long form of the tests, `make check-slow`?
is_slow() {
	[ -n "${BLOOMDEDUP_SLOW:-}" ]
}

# short_or_long SHORT LONG: prints the one for this form of the tests.
short_or_long() {
	if is_slow; then
		echo "$2"
	else
		echo "$1"
	fi
}

# some N: of the lines of standard input every Nth, other ones each time; in the
# long form of the tests, all.
some() {
	local n=$1
	! is_slow || n=1
	awk -v n="$n" -v from=$((RANDOM % n)) 'NR % n == from'
}

# times SHORT LONG: how often; a fifth of it under the address sanitizer, where
# each run begins slowly.
times() {
	local count
	count=$(short_or_long "$1" "$2")
	! is_sanitized || count=$(((count + 4) / 5))
	echo $count
}

# any_moment I: wait for less than 100 ms; if I is even, for less than 10 ms, so
# that some of many runs are killed even if each takes a moment only.
any_moment() {
	if (($1 % 2)); then
		sleep 0.0$((RANDOM % 10))$((RANDOM % 10))
	else
		sleep 0.00$((RANDOM % 10))
	fi
}

# needs TOOL...: skip the test unless all are installed.
needs() {
	local tool
	for tool; do
		command -v "$tool" >/dev/null || skip "$tool is not installed"
	done
}

# needs_serve: skip the test unless the server is built in.
needs_serve() {
	"$BLOOMDEDUP" --version | grep -q '[(, ]serve[,)]' ||
		skip "built without serve"
}

# needs_zstd: skip the test unless it is built in, and there is the program.
needs_zstd() {
	needs zstd
	"$BLOOMDEDUP" --version | grep -q '[(, ]zstd[,)]' ||
		skip "built without zstd"
}

# needs_strace: skip the test unless strace can trace the program and make its
# calls fail. The sanitizers' own checks at exit fail under a tracer.
needs_strace() {
	needs strace
	! is_sanitized || skip "the sanitizers don't work under strace"
	strace -f -qq -o probe -e inject=close:error=EINTR:when=1 \
		true 2>/dev/null && grep -q INJECTED probe ||
		skip "needs the right to trace"
	rm probe
}

# become_nobody: enter a directory in which "${as_nobody[@]}" runs commands as a
# user without rights, and the program is ./program.
become_nobody() {
	as_nobody=()
	if [ "$(id -u)" -eq 0 ]; then
		as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	fi
	# all directories of its name must be open to that user
	nobodys_directory=$(mktemp -d /tmp/tmp.XXXXXXXXXX)
	cd "$nobodys_directory" || return 1
	cp "$BLOOMDEDUP" program
	[ ${#as_nobody[@]} -eq 0 ] || chown 65534:65534 .
	"${as_nobody[@]}" ./program --version >/dev/null ||
		skip "needs the right to be another user"
}

# remove_faketime_leftovers: processes that were killed leave shared memory
# behind, and those that get their numbers then fail.
remove_faketime_leftovers() {
	local name
	for name in /dev/shm/{faketime_shm,sem.faketime_sem}_*; do
		[ -e "/proc/${name##*_}" ] || rm -f "$name"
	done
}

# needs_faketime: skip unless the program's clock can be another one.
needs_faketime() {
	needs faketime
	skip_if_emulated "its own clock"
	! is_sanitized || skip "the sanitizers don't work with faketime"
	untraced remove_faketime_leftovers
	FAKETIME_LIBRARY=$(faketime 2001-02-03 printenv LD_PRELOAD)
	export FAKETIME_LIBRARY
	at "2001-02-03 04:05:06" create -n 1 probe 2>/dev/null &&
		bloomdedup info probe | grep -q 2001-02-03 ||
		skip "needs a program that faketime can be loaded into"
	rm probe
}

# at TIME ARGUMENT...: run the program at that time, in UTC.
at() {
	local when=$1
	shift
	TZ=UTC LD_PRELOAD=$FAKETIME_LIBRARY FAKETIME=$when "$BLOOMDEDUP" "$@"
}

# needs_proc: skip the test where /proc isn't Linux's.
needs_proc() {
	[ -r /proc/self/status ] && [ -d /proc/self/fd ] &&
		[ -r /proc/locks ] || skip "needs /proc"
}

# is_sanitized: was the program built with a sanitizer?
is_sanitized() {
	grep -qE '__(asan|tsan)_init' "$BLOOMDEDUP"
}

# skip_if_sanitized: for tests that bound memory or time. Under a sanitizer or
# valgrind neither is what it is otherwise.
skip_if_sanitized() {
	if [ -n "${UNDER_VALGRIND:-}" ] || is_sanitized; then
		skip "the sanitizer takes more memory"
	fi
}

# skip_if_valgrind_ends: for tests in which a window moves on. Valgrind 3.19 then
# ends itself, now and then: "aspacem assertion failed: ! is_freeslot(ix)".
skip_if_valgrind_ends() {
	[ -z "${UNDER_VALGRIND-}" ] || skip "valgrind 3.19 ends itself here"
}

# skip_if_emulated WHAT: under an emulator the program's calls, threads and
# memory are mixed with the emulator's own.
skip_if_emulated() {
	[ -z "${UNDER_EMULATOR-}" ] || skip "the emulator has $1"
}

# needs_fault_addresses: for files that are cut short while they are mapped.
needs_fault_addresses() {
	[ "${UNDER_EMULATOR-}" != s390x ] ||
		skip "qemu tells wrong addresses of faults"
}

# needs_preload: for tests that let calls fail with preload.so.
needs_preload() {
	[ -z "${UNDER_VALGRIND:-}" ] || skip "valgrind takes more memory"
	! is_sanitized || skip "the sanitizers want to be loaded first"
	skip_if_emulated "calls of its own"
	rm -f fired
	"${PRELOADED[@]}" FAIL_ALLOCATION=1 "$BLOOMDEDUP" \
		</dev/null >/dev/null 2>&1 || true
	[ -e fired ] ||
		skip "needs a program that a library can be loaded into"
	rm fired
}
