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
	bloomdedup remove seen
	[ ! -e seen ]
	[ ! -e seen.journal ]
	fails 3 'seen: No such file' bloomdedup remove seen
}

@test "remove on a symbolic link: the filter goes, and the link" {
	mkdir directory
	bloomdedup create directory/seen
	ln -s directory/seen link
	bloomdedup remove link
	[ ! -e directory/seen ]
	[ ! -L link ]
}

@test "a filter that can't be removed or replaced keeps its journal" {
	damaged
	fails 3 'not a bloomdedup filter, or a damaged one' \
		bloomdedup remove seen
	unchanged
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
