# A full layer gets a checksum, or a part of one. Marks that come late, from a
# journal that was left behind while the filter was used by another name, take
# it away: `info --verify` never says that such a filter is damaged.
load ../common

# start: a filter with room in its first layer, `before`, and a complete journal
# with the lines of `late`, of which none is in it yet, `journal`.
start() {
	rm -f seen seen.journal
	"$HELPER" lines 20 7 >late
	"$HELPER" lines 3000 1 >in
	bloomdedup create -n 100 seen
	cp seen before
	! strace -f -qq -o trace -e trace=unlink,unlinkat \
		-e inject=unlink,unlinkat:signal=KILL \
		"$BLOOMDEDUP" --atomic -f seen late >out 2>err || return 1
	mv seen.journal journal
}

# left_behind: both, as `seen` and its journal; `other` is a second name of the
# file, for which there is no journal.
left_behind() {
	cp before seen
	cp journal seen.journal
	ln -f seen other
}

# whole: no layer is damaged, and all is remembered.
whole() {
	bloomdedup info --verify seen >verified || {
		cat verified
		return 1
	}
	bloomdedup check -f seen late >known
	cmp late known
	bloomdedup check -f seen in >known
	cmp in known
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	needs_strace
	skip_if_emulated "calls of its own"
}

@test "late marks in layers with a checksum" {
	for lines in 101 150 300 700 1500 3000; do
		start
		for options in '' -q --shared --sync; do
			left_behind
			head -n $lines in | bloomdedup -f other -q 2>/dev/null
			bloomdedup -f seen $options /dev/null 2>err || [ "$options" = -q ]
			grep -q 'finishing an earlier run' err
			bloomdedup -f seen in >/dev/null 2>&1
			whole
		done
	done
}

@test "the same in private memory" {
	for lines in 150 3000; do
		start
		left_behind
		head -n $lines in | bloomdedup -f other -q 2>/dev/null
		BLOOMDEDUP_PRIVATE=0 bloomdedup -f seen /dev/null 2>err
		grep -q 'finishing an earlier run' err
		BLOOMDEDUP_PRIVATE=0 bloomdedup -f seen in >/dev/null 2>&1
		whole
	done
}

@test "a run that is killed after the late marks" {
	mkfifo pipe
	for lines in 150 3000; do
		start
		for options in '' --shared; do
			left_behind
			head -n $lines in | bloomdedup -f other -q 2>/dev/null
			"$BLOOMDEDUP" -f seen $options <pipe >out 2>err 3>&- 7>&- &
			exec 7>pipe
			until_true grep -q 'finishing an earlier run' err
			echo a >&7
			until_true has_bytes 2 out
			kill -9 $!
			wait $! || :
			exec 7>&-
			bloomdedup info --verify seen >verified
			bloomdedup -f seen in >/dev/null 2>&1
			whole
		done
	done
}

@test "a part of a checksum is not gone on with after late marks" {
	# a large first layer: one run reads a part of it at most
	"$HELPER" lines 2000 7 >late
	"$HELPER" lines 400000 1 >in
	bloomdedup create -n 300000 seen
	cp seen before
	! strace -f -qq -o trace -e trace=unlink,unlinkat \
		-e inject=unlink,unlinkat:signal=KILL \
		"$BLOOMDEDUP" --atomic -f seen late >out 2>err || return 1
	cat before >seen
	ln seen other
	head -n 300010 in | bloomdedup -f other -q 2>/dev/null
	seq 5 | bloomdedup -f other -q 2>/dev/null
	bloomdedup -f seen /dev/null 2>err
	grep -q 'finishing an earlier run' err
	bloomdedup -f seen in >/dev/null 2>&1
	for i in 1 2 3; do
		"$HELPER" lines 50000 $((100 + i)) | bloomdedup -f seen -q
	done
	whole
}
