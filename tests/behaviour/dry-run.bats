# --dry-run: prints what the run would print, and changes nothing.
load ../common

# remember: a filter `seen` that remembers some lines.
remember() {
	rm -f seen
	seq 1000 | bloomdedup -f seen -n 5000 -q "$@"
}

# begin: such a filter, and input `in` with those, new lines and repeated lines.
begin() {
	remember "$@"
	"$HELPER" lines 3000 7 >new
	{ seq 900 1100; cat new; seq 1 2 2000; tail -n 500 new; } >in
	# by a model too simple to be wrong
	{ seq 1000; cat in; } | model | tail -n +1001 >expected
	rm new
}

# state: every file here, with its bytes, its mode and when it was changed.
state() {
	find . -type f ! -name '*.state' ! -name 'preview*' \
		-printf '%p %s %m %T@ %i\n' -exec cksum {} + | sort
}

# beside_a_lock ARGUMENT...: a run while another process has the lock of `seen`.
beside_a_lock() {
	perl -e 'open F, "<", "seen" or die; flock F, 2 or die;
		exit(system(@ARGV) >> 8)' "$BLOOMDEDUP" "$@"
}

# previews OPTION...: with these, beside a process that has the lock, a dry run
# changes nothing and prints what the run then does, there or to the file `out`.
# If there is a mounted `disk`, it does so there, too, when that is read-only.
previews() {
	local status=0 expected=0
	cp seen kept
	state >before.state
	beside_a_lock -f seen --dry-run "$@" in >preview \
		2>preview.err || status=$?
	state >after.state
	cmp before.state after.state || return 1
	if [ -e disk ]; then
		cmp -s seen disk/seen && cmp -s in disk/in ||
			{ mount -o remount,rw disk && cp seen in disk &&
				mount -o remount,ro disk; } || return 1
		(
			cd disk || exit
			beside_a_lock -f seen --dry-run "$@" in
		) >preview.disk 2>>preview.err || expected=$?
		[ "$status" -eq "$expected" ] && cmp preview preview.disk ||
			return 1
		expected=0
	fi
	bloomdedup -f seen "$@" in >printed 2>printed.err || expected=$?
	[ ! -e out ] || mv out printed
	[ "$status" -eq "$expected" ] && cmp printed preview || return 1
	mv kept seen
	rm -f printed* preview* duplicates *.state
}

@test "a dry run prints what the run then prints, and changes nothing" {
	begin
	previews
	bloomdedup -f seen --dry-run in | cmp - expected
	bloomdedup -f seen --dry-run in | cmp - expected
}

@test "with every option that a run has, on a read-only file system, too" {
	mkdir disk
	mount -t tmpfs -o size=4M tmpfs disk 2>/dev/null || rmdir disk
	begin
	run -75 beside_a_lock add -f seen --lock-timeout=0 in
	printf 'in\0' >names
	# each that needs no other filter, with a value
	while read -r option needs; do
		echo "$option $needs"
		# shellcheck disable=SC2086 # several words
		untraced previews $option $needs
		echo "$option" >>tried
	done <<-'END'
		--output=out
		--append --output=out
		--overwrite --output=out
		--repeated
		--duplicates=duplicates
		--tee=list
		--quiet
		--to-command=cat
		--atomic
		--sync --output=out
		--stats
		--progress
		--capacity=5000
		--error-rate=1e-6
		--on-full=warn
		--on-full=fail
		--max-size=100M
		--shared
		--lock-timeout=0
		--no-create
		--threads=3
		--no-gunzip
		--no-decompress
		--mark
	END
	# the rest: for filters that were made with them, or that concern none
	for option in zero-terminated key=1 field-separator=, csv header url \
		url-ignore=a url-sort strip-cr trim skip-chars=1 check-chars=3 \
		ignore-case json= window=1h part=2/3 keep-empty trim-fields; do
		case $option in
		field-separator* | keep-empty | trim-fields)
			remember "--$option" --key=1
			;;
		header) remember --csv --header ;;
		url-*) remember --url "--$option" ;;
		*) remember "--$option" ;;
		esac
		untraced previews
		echo "--$option" >>tried
	done
	remember --csv
	untraced previews --max-record=1M
	remember --json=''
	untraced previews --strict-keys
	remember --part=1/2
	untraced previews --strict-part
	remember
	mv in not-read
	bloomdedup -f seen --dry-run not-read >first
	printf 'not-read\0' >names
	bloomdedup -f seen --dry-run --files0-from=names | cmp - first
	printf '%s\n' --max-record --strict-keys --strict-part \
		--files0-from --filter \
		--dry-run --help --version --claim --wait >>tried
	sed 's/=.*//; s/ .*//' tried | sort -u >have
	"$BUILD/options" | awk -F '\t' '$1 == "option" &&
		" " $2 " " ~ / filter / { print "--" $3 }' | sort -u >all
	comm -13 have all >missing
	cat missing
	[ ! -s missing ]
}

@test "what --output, --duplicates and --to-command would get is left alone" {
	begin
	echo old >out
	echo old >duplicates
	bloomdedup -f seen --dry-run -o out --overwrite --duplicates=duplicates \
		in | cmp - expected
	[ "$(cat out duplicates)" = "$(printf 'old\nold')" ]
	bloomdedup -f seen --dry-run --to-command='touch ran; cat' in |
		cmp - expected
	[ ! -e ran ]
}

@test "the filter must exist, and none is made" {
	fails 3 "seen: there is no such filter, and --dry-run makes none" \
		bloomdedup -f seen --dry-run /dev/null
	[ -z "$(ls -A | grep -v '^fails')" ]
	fails 2 "--dry-run needs --filter" bloomdedup --dry-run /dev/null
	for command in add check create; do
		fails 2 "--dry-run" bloomdedup $command --dry-run -f seen
	done
}

@test "options that contradict the filter are refused, as in a run" {
	begin --trim
	fails 2 "contradicts" bloomdedup -f seen --dry-run -p 0.1 in
	fails 2 "--key=2" bloomdedup -f seen --dry-run -k 2 in
}

@test "beside a run that holds the lock" {
	begin
	start_on_pipe -f seen --atomic
	until_true fails 75 "" bloomdedup add -f seen --lock-timeout=0 \
		/dev/null
	# what it writes when it begins, it has written
	echo first >&7
	until_true test -s out
	until_idle "$pid"
	state >before.state
	bloomdedup -f seen --dry-run in | cmp - expected
	state | cmp before.state -
	ends_with 0
}

@test "on a read-only file system" {
	small_disk 2M
	begin
	cp seen in disk/
	mount -o remount,ro disk 2>/dev/null || skip "needs the right to mount"
	(cd disk && bloomdedup -f seen --dry-run --sync -o out in) >lines
	bloomdedup -f seen in | cmp - lines
}

@test "a journal that waits counts as remembered, and stays" {
	needs_strace
	begin
	seq 2001 2500 >more
	# killed between its commit and the filter's bits
	cp seen seen.before
	for ((n = 1; n < 60; n++)); do
		cp seen.before seen
		rm -f seen.journal
		strace -f -qq -o trace -e inject=fsync,fdatasync:signal=KILL:when=$n \
			"$BLOOMDEDUP" -f seen --atomic more >out 2>err || true
		[ ! -e seen.journal ] ||
			! bloomdedup info seen 2>/dev/null | grep -q journal ||
			break
	done
	[ $n -lt 60 ]
	state >before.state
	bloomdedup -f seen --dry-run more >preview 2>preview.err
	state | cmp before.state -
	[ ! -s preview ]
	bloomdedup -f seen --dry-run in >preview
	bloomdedup -f seen in 2>err | cmp - preview
}

@test "a dry run prints all new lines, even if the filter has no room for them" {
	bloomdedup create -n 1000 --on-full=fail seen
	bloomdedup create -n 1000 small
	seq 3000 >in
	state >before.state
	bloomdedup -f seen --dry-run in | cmp - in
	bloomdedup -f small --dry-run --on-full=fail in | cmp - in
	bloomdedup -f small --dry-run --max-size=20K in | cmp - in
	state | cmp before.state -
	run -4 bloomdedup -f seen in
	run -4 bloomdedup -f small --max-size=20K in
}

# Room for a million is made at first.
@test "more lines than are held at first" {
	local n
	n=$(short_or_long 1300000 2500000)
	bloomdedup create -n $((n * 6 / 5)) -p 1e-9 seen
	seq 1000 2 200000 | bloomdedup add -f seen
	{ seq "$n"; seq $((n - 100000)) $((n + 100000)); } >in
	bloomdedup -f seen --dry-run in >preview
	bloomdedup -f seen in | cmp - preview
}

@test "a signal that stops it says nothing of what is remembered" {
	begin
	state >before.state
	start_on_pipe -f seen --dry-run
	seq 5000 5010 >&7
	until_true has_bytes 55 out
	dies_of INT
	state >after.state
	[ ! -s err ]
	[ "$(head -n 1 out)" = 5000 ]
	bloomdedup check -v -f seen out | cmp - out
}

@test "-q tells by the status whether any line is new" {
	begin
	bloomdedup -f seen --dry-run -q in
	seq 10 >known
	run -1 bloomdedup -f seen --dry-run -q known
}
