# Runs that append to one file at the same time, one of which is killed in the
# middle of a line, or another program that leaves half a line there: the lines
# of the others are not glued to it.
load ../common

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	needs_preload
	"$HELPER" numbered 300 >lines
	head -n 100 lines >first
	sed -n '101,200p' lines >second
	tail -n 100 lines >torn
}

# torn_at BYTES COMMAND...: it is killed when it has written so many to `out`.
torn_at() {
	local bytes=$1 status=0
	shift
	rm -f fired
	TORN=$bytes TORN_FILE=out "${PRELOADED[@]}" "$@" 2>>err || status=$?
	[ $status -eq 137 ]
	[ -e fired ]
}

# torn_appends COMMAND...: the same in the middle of its second line.
torn_appends() {
	torn_at 10 "$@"
	[ "$(tail -c 1 out | wc -l)" -eq 0 ]
}

# all_there FILE...: each of their lines is a line of `out`.
all_there() {
	local missing
	missing=$(sort "$@" | comm -23 - <(sort out))
	if [ -n "$missing" ]; then
		echo "not there as lines of their own: $missing"
		return 1
	fi
}

# begin ARGUMENT...: a run that has printed `first` and waits for more. It reads
# `pipe`, and writes where this function does.
begin() {
	rm -f pipe
	mkfifo pipe
	: >err
	"$BLOOMDEDUP" "$@" <pipe 2>>err 3>&- &
	pid=$!
	exec 8>pipe
	cat first >&8
	until_idle $pid
}

# go_on: it gets `second`, and ends.
go_on() {
	local status=0
	cat second >&8
	exec 8>&-
	wait "$pid" || status=$?
	[ $status -eq 0 ]
}

@test "a run is killed while another appends to the file, in every way" {
	local how other
	for how in '' --sync --shared; do
		for other in '' --sync --shared --atomic; do
			rm -f seen* out
			# shellcheck disable=SC2086 # no word, or one
			begin -f seen $how >>out
			# shellcheck disable=SC2086
			torn_appends "$BLOOMDEDUP" -f other $other torn >>out
			go_on
			all_there first second
			rm -f seen* other* out
			# shellcheck disable=SC2086
			begin -f seen $how -o out --append
			# shellcheck disable=SC2086
			torn_appends "$BLOOMDEDUP" -f other $other -o out \
				--append torn
			go_on
			all_there first second
			rm -f other*
		done
	done
}

@test "two runs with --shared, one filter and one file: one is killed" {
	begin -f seen --shared >>out
	torn_appends "$BLOOMDEDUP" -f seen --shared torn >>out
	go_on
	all_there first second
	bloomdedup -f seen lines >>out
	all_there lines
}

@test "without a filter, and in parts" {
	begin >>out
	torn_appends "$BLOOMDEDUP" torn >>out
	go_on
	all_there first second
	torn_appends "$BLOOMDEDUP" torn >>out
	bloomdedup partition --parts=1 first >>out
	sed 's/^/1\t/' first >printed
	all_there printed
	torn_appends "$BLOOMDEDUP" torn >>out
	bloomdedup key second >>out
	all_there second
}

@test "another program leaves half a line between two batches" {
	local how
	for how in '' --sync --shared; do
		rm -f seen* out
		# shellcheck disable=SC2086 # no word, or one
		begin -f seen $how >>out
		printf partial >>out
		go_on
		all_there first second
		grep -qx partial out
		printf partial >>out
		# shellcheck disable=SC2086
		bloomdedup -f seen $how --append -o out torn 2>>err
		all_there lines
	done
}

@test "runs that inherited one description: one of them is killed" {
	local how
	for how in '' --sync --shared; do
		rm -f seen* other* out
		exec 7>>out
		# shellcheck disable=SC2086 # no word, or one
		begin -f seen $how >&7
		# shellcheck disable=SC2086
		torn_appends "$BLOOMDEDUP" -f other $how torn >&7
		go_on
		exec 7>&-
		all_there first second
	done
	rm -f seen out
	exec 7>>out
	begin -f seen --shared >&7
	torn_appends "$BLOOMDEDUP" -f seen --shared torn >&7
	go_on
	exec 7>&-
	bloomdedup -f seen lines >>out
	all_there lines
}

@test "xargs -P4, one filter and one description: runs are killed" {
	needs xargs
	local round
	"$HELPER" numbered 40000 >in
	split -l 5000 in piece.
	cat >run <<-'END'
		if [ "${1#piece.}" = "$KILLED" ]; then
			export TORN=$BYTES TORN_FILE=out LD_PRELOAD=$PRELOAD
			export FIRED=fired
		fi
		exec "$BLOOMDEDUP" --shared -f seen "$1"
	END
	for round in $(seq "$(times 6 60)"); do
		rm -f seen* out fired
		bloomdedup create -n 60000 seen
		export PRELOAD=$BUILD/preload.so BLOOMDEDUP
		export KILLED=a$(printf '%s\n' a b c d | shuf -n 1)
		export BYTES=$((RANDOM * 4 + 1))
		printf '%s\0' piece.* |
			xargs -0 -P4 -n1 bash run >>out 2>err || true
		[ -e fired ]
		bloomdedup -f seen in >>out 2>>err
		all_there in
	done
}

@test "a run is killed in the header: who shares its open file keeps nobody waiting" {
	{
		echo id,text
		seq -f '%g,x' 9
	} >in
	exec 8>>out
	torn_at 3 "$BLOOMDEDUP" --csv --header -f seen in >&8
	bloomdedup --csv --header --lock-timeout=0 -f other -o out --append in
	exec 8>&-
	cmp in out
}

@test "{ one; other; } >out: the first is killed" {
	local status=0 how
	for how in '' --sync --shared; do
		rm -f seen* out fired
		{
			# shellcheck disable=SC2086 # no word, or one
			torn_appends "$BLOOMDEDUP" -f seen $how torn
			# shellcheck disable=SC2086
			bloomdedup -f seen $how first 2>>err
		} >out
		all_there first
		bloomdedup -f seen lines >>out
		all_there lines
	done
}

@test "several writers, step by step: the files are as the model has them" {
	needs python3
	skip_if_emulated "slow processes"
	local recorder=$BUILD/recorder memory=/dev/shm model status=0
	# where nothing may be traced, the power does not fail
	if is_sanitized || ! "$HELPER" kill-at 0 note true; then
		recorder=
	fi
	# in memory, where syncs take no time
	[ -w $memory ] || memory=$BATS_TEST_TMPDIR
	model=$(mktemp -d -p $memory bloomdedup-writers-XXXXXX)
	cd "$model"
	# in the short form always the same cases
	BLOOMDEDUP=$BLOOMDEDUP PRELOAD=$BUILD/preload.so RECORDER=$recorder \
		python3 -S "$ROOT/tests/durability/writers.py" \
		"$(times 250 100000)" "$(short_or_long 20000 $RANDOM)" ||
		status=$?
	cd /
	rm -rf "$model"
	[ $status -eq 0 ]
}
