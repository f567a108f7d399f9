# The names of files are on the disk, too, where that is promised; and what
# stands beside a filter or takes its place is open to the same people.
load ../common

prepare() {
	printf '%s\n' a b c >in
	bloomdedup create -n 1000 seen
	mkdir disk
	cp seen disk
}

# run_to KIND OPTION: a run whose filter and output are in disk/; the output is
# -o or >>.
run_to() {
	if [ "$1" = -o ]; then
		set -- "$BLOOMDEDUP" "$2" -f disk/seen -o disk/out --overwrite in
	else
		set -- "$BLOOMDEDUP" "$2" -f disk/seen in
	fi
	"${wrapper[@]}" "$@" >>disk/appended 2>err
}

@test "a directory that can't be opened to sync it fails --sync and --atomic" {
	skip_if_emulated "calls of its own"
	needs_strace
	prepare
	call=$(open_call)
	for how in '-o --sync' '>> --sync' '-o --atomic' '>> --atomic'; do
		wrapper=(strace -qq -o trace -e trace="$call",unlink)
		# shellcheck disable=SC2086
		run_to $how
		# not when the journal has done its work
		sed '/^unlink(.*journal/,$d' trace | grep "^$call(" |
			grep -n 'disk/".*O_DIRECTORY' |
			cut -d: -f1 >places
		# of the filter or its journal, and of the output
		[ "$(wc -l <places)" -ge 2 ]
		for place in $(cat places); do
			for error in EMFILE ENFILE EIO ENOMEM EACCES; do
				cp seen disk
				echo old >disk/out
				: >disk/appended
				wrapper=(strace -qq -o trace -e trace="$call" -e
					inject="$call:error=$error:when=$place")
				status=0
				# shellcheck disable=SC2086
				run_to $how || status=$?
				grep -q 'disk/".*INJECTED' trace
				echo "$how, $error: $status"
				[ "$status" -eq 3 ]
				grep -q "^bloomdedup: .*cannot sync its directory" \
					err
				[ "$(wc -l <err)" -eq 1 ]
				# nothing was printed or remembered
				[ ! -s disk/appended ]
				[ "${how#*--}" = sync ] || echo old | cmp - disk/out
				bloomdedup check -v -f disk/seen in | cmp in -
				[ ! -e disk/seen.journal ]
			done
		done
	done
}

@test "a directory that may be written to and not read" {
	become_nobody
	wrapper=("${as_nobody[@]}")
	prepare
	[ ${#as_nobody[@]} -eq 0 ] || chown -R 65534:65534 disk
	BLOOMDEDUP=$PWD/program
	chmod 300 disk
	# nothing is promised
	rm disk/seen
	run_to '>>' --shared
	cmp in disk/appended
	: >disk/appended
	for how in '-o --sync' '>> --sync' '-o --atomic' '>> --atomic'; do
		cp seen disk
		status=0
		# shellcheck disable=SC2086
		run_to $how || status=$?
		echo "$how: $status"
		[ "$status" -eq 3 ]
		grep -q "^bloomdedup: .*cannot sync its directory: Perm" err
		[ ! -s disk/appended ]
		bloomdedup check -v -f disk/seen in | cmp in -
	done
}

@test "the name of a new file that >> makes is on the disk before its lines" {
	skip_if_emulated "calls of its own"
	needs_strace
	prepare
	mkdir other
	for option in --sync --atomic; do
		strace -y -qq -o trace -e trace=fsync,write "$BLOOMDEDUP" \
			$option -f disk/seen in >>other/out
		cmp in other/out
		grep -nE 'fsync\([0-9]+<.*/other>' trace | head -n 1 >name
		grep -nE 'write\([0-9]+<.*/other/out>' trace | head -n 1 >line
		[ -s name ]
		[ "$(cut -d: -f1 name)" -lt "$(cut -d: -f1 line)" ]
		rm other/out disk/seen
		cp seen disk
	done
}

@test "an output that has no name any more, or no file is" {
	prepare
	for option in --sync --atomic; do
		exec 7>gone
		rm gone
		bloomdedup $option -f seen in >&7
		exec 7>&-
		bloomdedup check -f seen in | cmp in -
		cp disk/seen seen
	done
	bloomdedup --atomic -f seen in | cmp in -
}

# --- where no file can have two names

# without HOW COMMAND...: under strace, which lets the calls of HOW fail that
# make a new name: `links` hard links, `renames` renameat2(2), too.
without() {
	local how=$1 faults=(-e "inject=link,linkat:error=${error:-EPERM}")
	shift
	[ "$how" = links ] || faults+=(-e inject=renameat2:error=EINVAL)
	strace -f -qq -o trace -e trace=link,linkat,renameat2,rename \
		"${faults[@]}" "$@"
}

# injected HOW: the calls of HOW did fail.
injected() {
	grep -q '^[0-9]* *link.*INJECTED' trace || return 1
	[ "$1" = links ] || grep -q 'renameat2.*INJECTED' trace
}

@test "without hard links, files get their names all the same" {
	skip_if_emulated "calls of its own"
	needs_strace
	printf '%s\n' a b c >in
	for how in links renames; do
		for error in EPERM EACCES EOPNOTSUPP ENOSYS; do
			echo "$how, $error"
			rm -f seen new out both part-*
			without $how "$BLOOMDEDUP" create -n 1000 seen
			injected $how
			without $how "$BLOOMDEDUP" --atomic -f seen -o out in
			injected $how
			cmp in out
			without $how "$BLOOMDEDUP" create --like=seen new
			injected $how
			without $how "$BLOOMDEDUP" merge -o both seen new
			injected $how
			bloomdedup check -f both in | cmp in -
			without $how "$BLOOMDEDUP" partition --atomic --parts=1 \
				-o part-%d in
			injected $how
			cmp in part-1
			# an old file is replaced as ever
			without $how "$BLOOMDEDUP" --atomic --overwrite -o out out
			cmp in out
			no_leftovers
		done
	done
}

@test "without hard links, what others made meanwhile isn't replaced" {
	skip_if_emulated "calls of its own"
	needs_strace
	prepare
	mkfifo pipe
	for how in links renames; do
		rm -f out
		cp disk/seen seen
		without $how "$BLOOMDEDUP" --atomic -f seen -o out <pipe \
			2>err 7>&- &
		exec 7>pipe
		cat in >&7
		until_true test -e seen.journal
		echo theirs >out
		exec 7>&-
		status=0
		wait $! || status=$?
		echo "$how: $status"
		[ "$status" -eq 3 ]
		injected $how
		grep -q '^bloomdedup: out: another program made this file' err
		echo theirs | cmp - out
		bloomdedup check -v -f seen in | cmp in -
		no_leftovers
	done
}

# --- a journal that was never complete

@test "a journal whose beginning was lost is thrown away" {
	prepare
	bloomdedup add -f seen /dev/null
	for size in 0 1 3 35 36 100 5000; do
		rm -f seen.journal
		truncate -s $size seen.journal
		[ "$size" -lt 100 ] || # what came later is there
			printf x | dd of=seen.journal bs=1 seek=$((size - 1)) \
				conv=notrunc status=none
		bloomdedup info seen >info
		bloomdedup check -v -f seen in | cmp in -
		[ -e seen.journal ]
		echo "$size" | bloomdedup -f seen >out 2>err
		echo "$size" | cmp - out
		[ ! -s err ]
		[ ! -e seen.journal ]
	done
	# only the first frame is lost
	"$HELPER" journal seen <in
	dd if=/dev/zero of=seen.journal bs=36 count=1 conv=notrunc status=none
	bloomdedup --atomic -f seen in | cmp in -
	[ ! -e seen.journal ]
}

@test "any other file of that name is refused, and stays" {
	prepare
	for content in x '\211bd' '\211bdx' 'a line\n' '\0\0\0\0x' \
		"$(printf '\\0%.0s' {1..35})x"; do
		# shellcheck disable=SC2059
		printf "$content" >seen.journal
		case $content in
		'\211bd') continue ;; # a journal as far as it goes
		esac
		cp seen.journal before
		fails 3 'seen.journal: not a journal' bloomdedup -f seen in
		fails 3 'seen.journal: not a journal' bloomdedup info seen
		fails 3 'seen.journal: not a journal' bloomdedup check -f seen in
		cmp before seen.journal
	done
}

# --- their modes and owners

# rights FILE: mode, owner and group
rights() {
	stat -c '%a %u %g' "$1"
}

@test "the journal has the filter's mode, owner and group" {
	prepare
	mkfifo pipe
	for mode in 600 640 664 444; do
		chmod $mode seen
		chown 1234:2345 seen || skip "needs root"
		"$BLOOMDEDUP" --atomic -f seen <pipe >out 7>&- &
		exec 7>pipe
		cat in >&7
		until_true test -e seen.journal
		until_true has_rights "$mode 1234 2345" seen.journal
		exec 7>&-
		wait $!
	done
}

has_rights() {
	[ "$(rights "$2")" = "$1" ]
}

@test "others who may read a filter can look at it while --atomic runs" {
	become_nobody
	prepare
	chmod 644 seen in
	mkfifo pipe
	"$BLOOMDEDUP" --atomic -f seen <pipe >out 7>&- &
	exec 7>pipe
	cat in >&7
	until_true has_rights "$(rights seen)" seen.journal
	"${as_nobody[@]}" ./program info seen >file
	"${as_nobody[@]}" ./program check -v -f seen in | cmp in -
	exec 7>&-
	wait $!
}

@test "what takes a filter's place has its mode, owner and group" {
	prepare
	bloomdedup create --like=seen other
	for mode in 600 640 664 444; do
		chmod $mode seen
		chown 1234:2345 seen || skip "needs root"
		bloomdedup merge -o seen seen other
		[ "$(rights seen)" = "$mode 1234 2345" ]
		bloomdedup merge --force -o seen other
		[ "$(rights seen)" = "$mode 1234 2345" ]
		bloomdedup create --force --like=other seen
		[ "$(rights seen)" = "$mode 1234 2345" ]
	done
	# a new one is for its owner
	bloomdedup merge -o new seen other
	has_rights "600 $(id -u) $(id -g)" new
}

@test "nobody gets rights that can't be kept as they were" {
	become_nobody
	prepare
	chmod 666 seen
	chown 1234:2345 seen || skip "needs root"
	chmod 644 in
	cp seen other
	chmod 666 other
	"${as_nobody[@]}" ./program merge -o seen seen other
	# its group is another one now, which had no rights of its own
	[ "$(rights seen)" = "606 65534 65534" ]
}

@test "an error of open is named as itself, and no journal is made up" {
	skip_if_sanitized
	seq 3 >in
	needs_strace
	skip_if_emulated "calls of its own"
	rm -f new
	call=$(open_call)
	status=0
	strace -qq -o trace -P "$PWD/new.journal" -P new.journal \
		-e "trace=$call" -e "inject=$call:error=EIO" \
		"$BLOOMDEDUP" -f new in >out 2>err || status=$?
	grep -q INJECTED trace
	[ $status -eq 3 ]
	is_message err "new.journal: $(reason EIO)"
	[ ! -e new ]
}

@test "--atomic -o with a mount point: what it is, and what to do" {
	needs_strace
	skip_if_emulated "calls of its own"
	echo old >out
	status=0
	strace -qq -o trace -e trace=rename -e inject=rename:error=EBUSY \
		"$BLOOMDEDUP" --atomic --overwrite -o out <<<new 2>err || status=$?
	grep -q INJECTED trace
	[ $status -eq 3 ]
	is_message err 'out: a mount point, which cannot be replaced; with --append, the lines are added to it'
	echo old | cmp - out
}
