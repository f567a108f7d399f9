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

@test "a new filter in a file for much input becomes one layer for ten times as much" {
	"$HELPER" lines 1000 1 >few
	{ cat few && "$HELPER" lines 200000 2 && cat few; } >many
	bloomdedup -p 1e-9 -n 1e6 -j 1 many >want
	cat few | bloomdedup -f seen -p 1e-9 --stats=json 2>err >out
	[ "$(capacity_in err)" = 1.0e+06 ]
	for n in 1 2 4; do
		rm -f seen
		cat many | bloomdedup -f seen -p 1e-9 -j "$n" --stats=json \
			2>err >out
		# the lines that were remembered before are still seen
		cmp want out
		[ "$(capacity_in err)" = 1.0e+07 ]
		bloomdedup info --json seen >info
		grep -q '"layers": \[{[^{]*"capacity": 10000000[^{]*\]' info
		# by this run and the next one, and by another reader
		bloomdedup -f seen many >out
		[ ! -s out ]
		bloomdedup check -f seen want >out
		cmp want out
		python3 -S "$BATS_TEST_DIRNAME/../format/reader.py" seen \
			<few >out
		cmp few out
	done
	# also if the lines come in pieces, and only to be remembered
	rm seen
	"$HELPER" pieces 20 <many | bloomdedup add -f seen -p 1e-9 \
		--stats=json 2>err
	[ "$(capacity_in err)" = 1.0e+07 ]
	bloomdedup check -f seen want >out
	cmp want out
	# no bits of the smaller one are left: by the bits, it has these lines
	rm seen
	seq 700000 | bloomdedup add -f seen
	lines=$(bloomdedup info --json seen |
		sed 's/.*"lines": \([0-9]*\).*/\1/')
	[ "$lines" -gt 680000 ] && [ "$lines" -lt 720000 ]
}

@test "a filter in a file whose size was asked for, or is known, stays" {
	"$HELPER" lines 200000 2 >many
	head -n 100000 many >first
	# stays CAPACITY OPTION...: its only layer is for so many lines
	stays() {
		local capacity=$1
		shift
		cat many | bloomdedup -f seen "$@" >out
		bloomdedup info --json seen >info
		grep -q "\"layers\": \[{[^{]*\"capacity\": $capacity,[^{]*\]" \
			info
		rm seen
	}
	stays 200000 -n 200000
	stays 1000000 --max-size=1G
	stays 1000000 --on-full=fail
	stays 1000000 --shared
	stays 1000000 --sync -o file
	stays 1000000 --atomic
	# one that was there before
	bloomdedup add -f seen first
	stays 1000000
}

@test "a filter in a file that becomes larger keeps its inode, mode and links" {
	"$HELPER" lines 200000 2 >many
	start_on_pipe -f seen
	head -n 10 many >&7
	until_true test -s out
	chmod 640 seen
	ln seen other
	ls -li seen | cut -d' ' -f1-2 >before
	cat many >&7
	ends_with 0
	ls -li seen | cut -d' ' -f1-2 >after
	cmp before after
	bloomdedup check -f other many >out
	cmp many out
}

@test "where a file has no room for a larger filter, the small one goes on" {
	"$HELPER" lines 200000 2 >many
	# blocks of 512 bytes or 1 KiB: the small filter fits, the large doesn't
	(ulimit -f 16000 && cat many | bloomdedup -f seen -p 1e-6 -j 1 \
		--stats=json 2>err >out)
	cmp many out
	[ "$(capacity_in err)" = 1.0e+06 ]
	bloomdedup check -f seen many >out
	cmp many out
}

@test "without memory for a larger filter, the small one goes on" {
	needs_preload
	"$HELPER" lines 200000 2 >many
	for filter in '' '-f seen'; do
		rm -f fired
		# shellcheck disable=SC2086 # two words or none
		cat many many | "${PRELOADED[@]}" REFUSED=20000000 \
			"$BLOOMDEDUP" $filter -p 1e-9 -j 1 --stats=json \
			2>err >out
		[ -e fired ]
		cmp many out
		[ "$(capacity_in err)" = 1.0e+06 ]
	done
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
