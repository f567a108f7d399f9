# File systems and kernels that lack something: locks, shared mappings, system
# calls. The program does without, or its message says what it is and what to do.
load ../common

# without WHAT COMMAND...: run it without that, see tests/helpers/preload.c.
without() {
	rm -f fired
	timeout 50 "${PRELOADED[@]}" "$@"
}

@test "no shared mappings: each command says that files cannot be mapped" {
	needs_preload
	seq 100000 | bloomdedup -f seen >/dev/null
	seq 100000 >in
	for command in '' check add; do
		# not even a part of the filter is read into memory instead
		BLOOMDEDUP_PRIVATE=0 fails 3 "seen: this file system cannot map files: $(reason ENODEV); keep the filter on a local disk" \
			without UNMAPPED=19 "$BLOOMDEDUP" $command -f seen in
		[ -e fired ]
	done
}

@test "no locks: create, a run and --shared say so, whatever the system says" {
	needs_preload
	echo a | bloomdedup -f seen >/dev/null
	# EBADF EINVAL ENOLCK ENOSYS EOPNOTSUPP
	for number in 9 22 37 38 95; do
		fails 3 "new: cannot be locked: " without UNLOCKED=$number \
			"$BLOOMDEDUP" create new
		[ -e fired ] && [ ! -e new ]
		grep -q '; keep the filter where files can be locked, such as on a local disk$' \
			fails.err
		for option in '' --shared; do
			fails 3 "seen: cannot be locked: " \
				without UNLOCKED=$number \
				"$BLOOMDEDUP" -f seen $option </dev/null
			[ -e fired ]
		done
	done
	no_leftovers
	# what needs no lock
	[ "$(without UNLOCKED=37 "$BLOOMDEDUP" check -f seen <<<a)" = a ]
}

@test "no locks: serve says so of its directory" {
	needs_preload
	needs_serve
	mkdir filters
	fails 3 "filters: the directory cannot be locked: " \
		without UNLOCKED=37 "$BLOOMDEDUP" serve -d filters -l unix:socket
	[ -e fired ]
}

@test "--shared, where ranges wait for the locks of whole files: refused at once" {
	needs_preload
	echo a | bloomdedup -f seen >/dev/null
	echo b >in
	fails 3 "seen: several runs cannot use it at once on this file system" \
		without WHOLE_LOCKS=1 "$BLOOMDEDUP" -f seen --shared in
	[ -e fired ]
}

@test "where a file system can't allocate, zeros are written for the notes" {
	needs_strace
	for error in EOPNOTSUPP EINVAL; do
		bloomdedup create -n 1000 seen --force
		seq 10 >in
		strace -f -qq -y -o trace -e trace=fallocate,pwrite64 \
			-e inject=fallocate:error=$error \
			"$BLOOMDEDUP" -f seen -o out --overwrite in
		cmp in out
		grep -q 'fallocate([0-9]*<.*/seen\.notes-.*INJECTED' trace
		want=$(sed -n 's/^.*fallocate(.*seen\.notes-[^,]*, 0, 0, \([0-9]*\)).*/\1/p' \
			trace | head -n 1)
		# up to there; glibc itself does it after EOPNOTSUPP, with gaps
		sed -n 's/^.*pwrite64(.*seen\.notes-.*, \([0-9]*\), \([0-9]*\)) = \1$/\1 \2/p' \
			trace | awk -v want="$want" -v error=$error '
				$2 > end && error == "EINVAL" { gap = 1 }
				$1 + $2 > end { end = $1 + $2 }
				END { exit gap || end != want }'
	done
}

# opens FILE COMMAND...: which of its opened files are this one, by number?
opens() {
	local file=$1
	shift
	strace -f -qq -o trace -e trace="$call" "$@" >/dev/null
	grep "$call(" trace | grep -nE "(, |\()\"$file\"," | cut -d: -f1
}

@test "a file that can't be opened is named, with the reason, whatever it is" {
	needs_strace
	skip_if_emulated "calls of its own"
	local call places
	call=$(open_call)
	seq 10 >in
	seq 3 | bloomdedup -f seen >/dev/null
	cp seen before
	for case in "seen -f seen" "seen -f seen --shared" "seen check -f seen" \
		"seen info seen" "seen.journal -f seen" \
		"seen.journal -f seen --atomic" "seen.journal create new --like seen" \
		"seen.notes-$(id -u) -f seen"; do
		# shellcheck disable=SC2086
		set -- $case
		file=$1
		shift
		places=$(opens "$file" "$BLOOMDEDUP" "$@" <in)
		rm -f new
		cp before seen
		[ -n "$places" ]
		for place in $(echo "$places" | head -n 1); do
			for error in EMFILE ENFILE ENOMEM EIO EACCES ELOOP; do
				# files of others with that name are left aside
				case $file:$error in
				*notes*:E[AL]*) continue ;;
				esac
				echo "$case: $error"
				fails 3 "$(reason $error)" strace -f \
					-qq -o trace -e trace="$call" -e \
					inject="$call:error=$error:when=$place" \
					"$BLOOMDEDUP" "$@" <in
				grep -q "^bloomdedup: $file: " fails.err
				grep -qE "\"$file\".*INJECTED" trace
				cmp before seen
				rm -f new
			done
		done
	done
}

@test "no getrandom(2), as in old kernels: /dev/urandom" {
	needs_strace
	strace -f -qq -o trace -e trace=getrandom,openat,open \
		-e inject=getrandom:error=ENOSYS "$BLOOMDEDUP" create -n 10 new
	grep -q 'getrandom.*INJECTED' trace
	grep -q '"/dev/urandom"' trace
	strace -f -qq -o trace -e inject=getrandom:error=ENOSYS \
		"$BLOOMDEDUP" create -n 10 other
	# each has a secret of its own
	run ! cmp -s new other
}

@test "--to-command truncates no pipe, which not every kernel refuses alike" {
	needs_strace
	seq 10 >in
	strace -qq -o trace -e trace=ftruncate,write "$BLOOMDEDUP" \
		--to-command 'cat >out' in
	cmp in out
	grep -q write trace
	run ! grep ftruncate trace
}
