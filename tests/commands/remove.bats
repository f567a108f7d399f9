load ../common

# damaged: one header byte of `seen` is wrong, and its journal has 100 lines.
damaged() {
	seq 100 >in
	bloomdedup create -n 1000 seen
	"$HELPER" journal seen <in
	"$HELPER" poke seen 30 ff
	cp seen damaged
	cp seen.journal journal
}

unchanged() {
	cmp seen damaged
	cmp seen.journal journal
}

@test "remove: a filter, with its journal" {
	seq 100 >in
	bloomdedup create -n 1000 seen
	"$HELPER" journal seen <in
	bloomdedup remove seen 2>err
	grep -qx 'bloomdedup: seen: removed' err
	[ ! -e seen ]
	[ ! -e seen.journal ]
	fails 3 'seen: No such file' bloomdedup remove seen
}

@test "remove: all are checked before the first is removed" {
	local other
	seq 5 | bloomdedup add -f seen
	seq 5 >text
	for other in missing text; do
		fails 3 "$other: " bloomdedup remove seen $other
		seq 5 | bloomdedup check -f seen | cmp text -
	done
	bloomdedup create second
	bloomdedup remove seen second 2>err
	printf 'bloomdedup: %s: removed\n' seen second | cmp - err
	[ ! -e seen ]
	[ ! -e second ]
	cmp text <(seq 5)
}

@test "a single line cannot be removed, and no filter instead of it" {
	local word
	seq 5 | bloomdedup add -f seen
	cp seen before
	for word in -f --filter; do
		fails 2 'remove deletes whole filters; a single line cannot be forgotten' \
			bloomdedup remove $word seen 3
		fails 2 'a single line cannot be forgotten' \
			bloomdedup remove $word seen <<<3
	done
	cmp before seen
}

@test "a damaged filter is removed, if it begins like a filter" {
	damaged
	bloomdedup create other
	bloomdedup remove seen other
	[ ! -e seen ]
	[ ! -e seen.journal ]
	[ ! -e other ]
	# it is one whose end is missing, too
	bloomdedup create -n 1000 seen
	truncate -s 5000 seen
	bloomdedup remove seen
	[ ! -e seen ]
	# but it must begin like one
	head -c 5000 /dev/zero >seen
	fails 3 'seen: not a bloomdedup filter; remove the file with rm' \
		bloomdedup remove seen
	: >seen
	fails 3 'seen: not a bloomdedup filter' bloomdedup remove seen
	[ -e seen ]
}

@test "a damaged filter that another run uses is not removed" {
	bloomdedup create -n 1000 seen
	start_on_pipe -f seen
	echo 1 >&7
	until_true has_bytes 2 out
	"$HELPER" poke seen 30 ff
	fails 75 seen bloomdedup remove --lock-timeout=0 seen
	[ -e seen ]
	exec 7>&-
	wait "$pid" || true
	bloomdedup remove seen
	[ ! -e seen ]
}

@test "remove on a symbolic link: the filter goes, and the link" {
	mkdir directory
	bloomdedup create directory/seen
	ln -s directory/seen link
	bloomdedup remove link
	[ ! -e directory/seen ]
	[ ! -L link ]
}

@test "a filter that can't be replaced keeps its journal" {
	damaged
	# the new one can't be made
	(ulimit -f 64; fails 3 'File too large' \
		bloomdedup create --force -n 1e6 seen)
	unchanged
	fails 3 '' bloomdedup merge --force -o seen seen
	unchanged
	bloomdedup create --force seen
	[ ! -e seen.journal ]
	bloomdedup info seen >out
}
