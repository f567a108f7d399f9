# How large the input is, is guessed for a new filter; that guess is never a
# reason to fail.
load ../common

# seeked FILE OFFSET COMMAND...: with the file as its standard input, read up to
# there.
seeked() {
	perl -e '
		my ($file, $offset) = splice(@ARGV, 0, 2);
		open(STDIN, "<", $file) or die;
		sysseek(STDIN, $offset, 0);
		exec @ARGV;
	' "$@"
}

@test "a file that is shorter than where it is read from" {
	printf 'a\nb\n' >in
	for offset in 4 5 100 4294967296; do
		rm -f seen
		seeked in $offset "$BLOOMDEDUP" >out
		[ ! -s out ]
		seeked in $offset "$BLOOMDEDUP" -f seen >out
		[ ! -s out ]
		bloomdedup info seen >/dev/null
	done
}

@test "a file of /proc, whose size is 0, from any place in it" {
	[ -r /proc/self/status ] || skip "no /proc"
	for offset in 0 1 10 100; do
		rm -f seen
		seeked /proc/self/limits $offset "$BLOOMDEDUP" -f seen >out
		[ -s out ]
		rm -f seen
		exec 8</proc/self/limits
		head -c $((offset + 1)) <&8 >/dev/null
		bloomdedup -f seen <&8 >out
		exec 8<&-
		bloomdedup info seen >/dev/null
		seeked /proc/self/limits $offset "$BLOOMDEDUP" >out
		[ -s out ]
	done
}

# --- a pipe, whose size is unknown

# capacity_in FILE: about what the filter was made for, by the figures of
# --stats=json there.
capacity_in() {
	python3 - "$1" <<-'PYTHON'
		import json, sys
		f = json.loads(open(sys.argv[1]).readlines()[-1])
		assert f["layer_count"] == 1, f
		print("%.1e" % (f["new"] / f["filter_full"]))
	PYTHON
}

@test "without -f, a filter for much input starts over, for ten times as much" {
	"$HELPER" lines 1000 1 >few
	{ cat few && "$HELPER" lines 50000 2 && cat few; } >many
	bloomdedup -p 1e-9 -n 1e6 -j 1 many >want
	cat few | bloomdedup --stats=json 2>err >out
	cmp few out
	[ "$(capacity_in err)" = 1.0e+06 ]
	for n in 1 2 4; do
		cat many | bloomdedup -p 1e-9 -j "$n" --stats=json 2>err >out
		# the lines that were remembered before are still seen
		cmp want out
		[ "$(capacity_in err)" = 1.0e+07 ]
		cat many | bloomdedup -j "$n" -p 1e-9 -d >repeated
		cmp few repeated
	done
	# also if the lines come one by one
	"$HELPER" pieces 1 <many | bloomdedup -p 1e-9 --stats=json 2>err >out
	cmp want out
	[ "$(capacity_in err)" = 1.0e+07 ]
	# and beside other inputs
	cat many | bloomdedup -p 1e-9 --stats=json few - 2>err >out
	cmp want out
	[ "$(capacity_in err)" = 1.0e+07 ]
}

@test "without -f, a filter whose size was asked for, or is known, stays" {
	"$HELPER" lines 50000 2 >many
	bloomdedup --stats=json many 2>err >out
	[ "$(capacity_in err)" = 1.0e+06 ]
	bloomdedup --stats=json <many 2>err >out
	[ "$(capacity_in err)" = 1.0e+06 ]
	cat many | bloomdedup -n 200000 --stats=json 2>err >out
	[ "$(capacity_in err)" = 2.0e+05 ]
	cat many | bloomdedup --on-full=fail --stats=json 2>err >out
	[ "$(capacity_in err)" = 1.0e+06 ]
}

# layers_are FILE CAPACITY...: its layers are for so many lines each
layers_are() {
	bloomdedup info --json "$1" |
		grep -o '{"capacity": [0-9]*' | cut -d ' ' -f 2 >capacities
	shift
	printf '%s\n' "$@" | cmp capacities -
}

@test "a new filter in a file that is full becomes one for ten times as much" {
	local size
	seq 1400000 >many
	for n in 1 2 4; do
		rm -f seen
		head -n 900000 many | bloomdedup add -f seen -j "$n"
		layers_are seen 1000000
		rm seen
		cat many | bloomdedup -f seen -p 1e-9 -j "$n" >out 2>err
		cmp many out
		layers_are seen 1000000 9000000
		# by another run, and by another reader
		bloomdedup check -f seen many | cmp many -
		head -n 1001000 many | tail -n 2000 >some
		python3 -S "$BATS_TEST_DIRNAME/../format/reader.py" seen \
			<some | cmp some -
	done
	is_message err "seen: passed the 1,000,000 lines that it was planned\
 for and grew to $(bytes_of seen)"
	# the size that the manual gives
	rm seen
	cat many | bloomdedup add -f seen
	[ "$(bytes_of seen)" = '46.1 MB' ]
	# then for twice as many, as ever
	bloomdedup create -n 1000 twice
	seq 5000 | bloomdedup add -f twice
	layers_are twice 1000 2000 4000
}

# bytes_of FILE: its size in MB
bytes_of() {
	awk -v n="$(stat -c %s "$1")" 'BEGIN { printf "%.1f MB", n / 1e6 }'
}

@test "a filter in a file whose size was asked for, or is known, grows twofold" {
	seq 1100000 >many
	# grows FIRST SECOND OPTION...: its two layers are for so many lines
	grows() {
		local layers=("$1" "$2")
		shift 2
		cat many | bloomdedup -f seen "$@" >out 2>err
		layers_are seen "${layers[@]}"
		rm seen
	}
	grows 400000 800000 -n 400000
	grows 1000000 2000000 --max-size=1G
	grows 1000000 2000000 --shared
	grows 1000000 2000000 --sync -o file
	grows 1000000 2000000 --atomic
	# one that was there before
	seq 10 | bloomdedup add -f seen
	grows 1000000 2000000
	# a file, for whose lines there is room
	bloomdedup add -f seen many
	[ "$(bloomdedup info --json seen | grep -o '"k"' | wc -l)" -eq 1 ]
}

@test "where a file has no room for a large layer, it grows as ever" {
	seq 1100000 >many
	# blocks of 512 bytes or 1 KiB: a layer for 2,000,000 lines fits
	(ulimit -f 36000 && cat many | bloomdedup -f seen -p 1e-6 -j 1 \
		>out 2>err)
	[ "$(wc -l <out)" -gt 1099900 ]
	layers_are seen 1000000 2000000
	bloomdedup check -f seen many | cmp many -
}

@test "without memory for a larger filter, the small one goes on" {
	needs_preload
	seq 1100000 >many
	for filter in '' '-f seen'; do
		rm -f fired
		# shellcheck disable=SC2086 # two words or none
		cat many | "${PRELOADED[@]}" REFUSED=20000000 \
			"$BLOOMDEDUP" $filter -p 1e-9 -j 1 >out 2>err
		[ -e fired ]
		cmp many out
	done
	layers_are seen 1000000 2000000
}

# --- files

@test "files that are larger than any filter is for" {
	truncate -s 8E in 2>/dev/null || truncate -s 8T in 2>/dev/null ||
		skip "no such large files"
	yes | head -c 4096 | dd of=in conv=notrunc status=none
	for filter in '' '-f seen'; do
		for inputs in in 'in in in'; do
			rm -f seen out err
			"$BLOOMDEDUP" $filter $inputs >out 2>err 3>&- &
			until_true test -s out -o -s err
			# it would read a hole without end
			kill -9 $! 2>/dev/null
			wait $! || :
			cat err
			[ "$(head -n 1 out)" = y ]
			[ ! -s err ]
		done
	done
}
