# A slot of the table of layers that the disk can't read is as good as one with
# a flipped bit: the other slot counts, and the next run heals it.
load ../common

# The two slots are the second and the third page of the file.
SLOTS="4096 8192"

# unreadable OFFSET COMMAND...: in the command that byte of a file can't be
# read, as on a disk with a bad sector.
unreadable() {
	local offset=$1
	shift
	rm -f fired
	"${PRELOADED[@]}" UNREADABLE="$offset" "$@"
}

# grown: a filter `seen` of several layers, with the lines of `in`.
grown() {
	"$HELPER" lines 20000 1 >in
	"$HELPER" lines 30000 1 >more
	bloomdedup -f seen -n 100 -p 1e-12 -q in 2>/dev/null
	cp seen whole
}

@test "a run heals a slot that can't be read" {
	needs_preload
	grown
	tail -n 10000 more >want
	for offset in $SLOTS; do
		cp whole seen
		unreadable $offset "$BLOOMDEDUP" -f seen more >out
		[ -e fired ]
		cmp want out
		bloomdedup check -f seen more | cmp - more
		bloomdedup info --verify seen >/dev/null
	done
}

@test "runs that share a filter go on, too" {
	needs_preload
	grown
	tail -n 10000 more >want
	for offset in $SLOTS; do
		cp whole seen
		unreadable $offset "$BLOOMDEDUP" --shared -f seen more >out
		[ -e fired ]
		cmp want out
		bloomdedup check -f seen more | cmp - more
	done
}

@test "check and info read the other slot" {
	needs_preload
	grown
	chmod a-w seen
	layers=$(layers seen)
	for offset in $SLOTS; do
		unreadable $offset "$BLOOMDEDUP" check -f seen in | cmp - in
		[ -e fired ]
		unreadable $offset "$BLOOMDEDUP" info --json seen >out
		[ -e fired ]
		[ "$(grep -o '"k": ' out | wc -l)" -eq "$layers" ]
		unreadable $offset "$BLOOMDEDUP" info --verify seen >/dev/null
	done
	cmp whole seen
}

@test "a run with --sync and merge heal it, too" {
	needs_preload
	grown
	for offset in $SLOTS; do
		for option in -q --sync; do
			cp whole seen
			unreadable $offset "$BLOOMDEDUP" $option -f seen \
				more >out
			[ -e fired ]
			bloomdedup check -f seen more | cmp - more
		done
		cp whole seen
		rm -f both
		unreadable $offset "$BLOOMDEDUP" merge -o both seen
		[ -e fired ]
		bloomdedup check -f both in | cmp - in
	done
}

@test "where neither slot can be read, the reason and the name are told" {
	needs_preload
	grown
	# one is damaged, the other can't be read
	for offset in $SLOTS; do
		cp whole seen
		printf '\377\377\377\377' | dd of=seen bs=1 conv=notrunc \
			seek=$((12288 - offset + 16)) status=none
		cp seen before
		fails 3 'seen: ' unreadable $offset "$BLOOMDEDUP" -f seen in
		fails 3 'seen: ' unreadable $offset "$BLOOMDEDUP" check \
			-f seen in
		[ "$(grep -o 'seen: ' fails.err | wc -l)" -eq 1 ]
		cmp before seen
	done
}
