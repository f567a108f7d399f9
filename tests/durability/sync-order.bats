# What must be on the disk before what, so that a power failure loses nothing:
# the order of writes, syncs and names in a trace.
load ../common

# in_order PATTERN...: lines of `trace` match them one after the other.
in_order() {
	local at=0 next pattern
	for pattern; do
		next=$(tail -n +$((at + 1)) trace | grep -nE -m 1 "$pattern" |
			cut -d: -f1)
		if [ -z "$next" ]; then
			echo "no '$pattern' behind line $at of"
			cat trace
			return 1
		fi
		at=$((at + next))
	done
}

trace_syncs() {
	needs_strace
	strace -f -y -qq -o trace -e \
		trace=fsync,fdatasync,rename,unlink,write,pwrite64,link,linkat,exit_group \
		"$@" 2>err || true
	grep -q exit_group trace
	sed -i 's/^[0-9]*  *//' trace # the thread
}

@test "--sync: first the output is on the disk, then the filter" {
	"$HELPER" numbered 2500 >in
	bloomdedup create -n 3000 seen
	trace_syncs "$BLOOMDEDUP" --sync -f seen --overwrite -o part in
	in_order 'write\([0-9]*<.*/part>' 'fsync\([0-9]*<.*/part>' \
		'fdatasync\([0-9]*<.*/seen>' exit_group
	# its name is, too
	in_order "fsync\\([0-9]*<$(pwd -P)>" 'write\([0-9]*<.*/part>'
	# and its last sync is behind all that was written to it
	grep -nE '/(seen|part)>' trace | grep -vE ':(fsync|fdatasync)' |
		grep part | tail -n 1 | cut -d: -f1 >last
	tail -n +"$(cat last)" trace | grep -qE '^fsync\([0-9]*<.*/part>'
	# in a long run, too: no sync of the filter that has marks before one
	# of the output
	"$HELPER" lines 900000 >in
	trace_syncs "$BLOOMDEDUP" --sync -f seen --overwrite -o part in
	in_order 'write\([0-9]*<.*/part>' 'fsync\([0-9]*<.*/part>' \
		'fdatasync\([0-9]*<.*/seen>' 'write\([0-9]*<.*/part>' \
		'fsync\([0-9]*<.*/part>' 'fdatasync\([0-9]*<.*/seen>' exit_group
}

@test "--atomic: output, journal, its commit, name, filter, no journal" {
	skip_if_emulated "calls of its own"
	"$HELPER" numbered 2500 >in
	bloomdedup create -n 3000 seen
	trace_syncs "$BLOOMDEDUP" --atomic -f seen -o part in
	temporary='<.*/(\.bloomdedup-|#)'
	in_order "write\\([0-9]*$temporary" \
		'fdatasync\([0-9]*<.*/seen\.journal>' \
		"fsync\\([0-9]*$temporary" \
		'fdatasync\([0-9]*<.*/seen\.journal>' \
		'pwrite64\([0-9]*<.*/seen\.journal>' \
		'fsync\([0-9]*<.*/seen\.journal>' \
		'^(linkat|link|rename)\(.*part' "fsync\\([0-9]*<$(pwd -P)>" \
		'pwrite64\([0-9]*<.*/seen\.journal>' \
		'fdatasync\([0-9]*<.*/seen\.journal>' \
		'fdatasync\([0-9]*<.*/seen>' \
		'^unlink\(.*seen\.journal' exit_group
	# the journal's name, before there is anything to lose
	in_order 'pwrite64\([0-9]*<.*/seen\.journal>' \
		"fsync\\([0-9]*<$(pwd -P)>" "write\\([0-9]*$temporary" \
		'fsync\([0-9]*<.*/seen\.journal>' \
		'^(linkat|link|rename)\(.*part' "fsync\\([0-9]*<$(pwd -P)>"
}

@test "--atomic --append: the end of the file is on the disk before the commit" {
	skip_if_emulated "calls of its own"
	"$HELPER" numbered 2500 >in
	bloomdedup create -n 3000 seen
	printf torn >part
	trace_syncs "$BLOOMDEDUP" --atomic -f seen -o part --append in
	# what ends the torn line, which the length in the journal includes
	in_order 'write\([0-9]*<.*/part>, "\\n", 1' \
		'fsync\([0-9]*<.*/part>' 'fsync\([0-9]*<.*/seen\.journal>' \
		'write\([0-9]*<.*/part>' 'fsync\([0-9]*<.*/part>' exit_group
}

@test "a journal is gone when its marks are on the disk, and not before" {
	skip_if_emulated "calls of its own"
	skip_if_sanitized # its leak checker fails under strace
	"$HELPER" numbered 2500 >in
	for memory in 1000000000 0,100000; do
		rm -f seen
		bloomdedup create -n 3000 seen
		"$HELPER" journal seen <in
		BLOOMDEDUP_PRIVATE=$memory trace_syncs \
			"$BLOOMDEDUP" add -f seen /dev/null
		bloomdedup check -f seen in | cmp in -
		in_order 'fdatasync\([0-9]*<.*/seen>' \
			'^unlink\(.*seen\.journal' exit_group
		# nothing is written to it between the two
		sed '/^unlink/,$d' trace | grep '/seen>' | tail -n 1 |
			grep '^fdatasync('
	done
}

@test "a filter has its name when it is on the disk, and new layers, too" {
	skip_if_emulated "calls of its own"
	"$HELPER" numbered 2500 >in
	trace_syncs "$BLOOMDEDUP" -f seen -n 100 -o part in
	# one slot, and then, while the run goes on, the other one
	in_order 'pwrite64\(' '^fdatasync\(' '^link\(' '^fsync\(' \
		'pwrite64\(' '^fdatasync\(' 'pwrite64\(' '^fdatasync\(' \
		'pwrite64\(' exit_group
	in_order '^fsync\(' 'pwrite64\(' '^write\(.*/part>' exit_group
}

@test "a new layer is on the disk before the table names it" {
	skip_if_emulated "calls of its own"
	bloomdedup create -n 100 seen
	"$HELPER" numbered 20000 >in
	trace_syncs "$BLOOMDEDUP" -f seen -o part in
	# The slot that was not written last is written only when all before is
	# on the disk: a power failure may tear it, and leave the other one.
	grep '/seen>' trace | awk '
		/^fdatasync\(/ { safe = 1 }
		/^pwrite64\(.*, 4096, (4096|8192)\)/ {
			match($0, /, (4096|8192)\) /)
			slot = substr($0, RSTART, RLENGTH)
			if (last != "" && slot != last) {
				changes++
				bad += !safe
			}
			last = slot
		}
		/^pwrite64\(/ { safe = 0 }
		END { print changes + 0, bad + 0; exit !(changes > 2 && !bad) }'
}
