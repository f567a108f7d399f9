# Each allocation of memory fails, once and from there on. The end is a message
# and status 3, or a whole output; never a crash, and never a damaged filter.
load kills-and-faults

# try_allocations CHECK COMMAND...: for each allocation, `before`, the command
# in which it fails, and CHECK, which sees its $status, and standard output in
# `stdout`. In the short form of the tests, for one in twelve, other ones each time.
try_allocations() {
	local check=$1 n on step found=$BATS_FILE_TMPDIR/preload
	step=$(short_or_long 12 1)
	shift
	[ -e "$found" ] || needs_preload
	: >"$found"
	for on in '' +; do
		for ((n = RANDOM % step + 1; ; n += step)); do
			rm -f fired .bloomdedup-*
			before
			status=0
			timeout 60 "${PRELOADED[@]}" FAIL_ALLOCATION=$n$on "$@" \
				>stdout 2>err || status=$?
			[ -e fired ] || break
			echo "allocation $n$on: exit status $status"
			show err
			says_why || return 1
			$check || return 1
		done
		# without a fault all is well, and there were some before
		[ "$status" -eq 0 ] || return 1
		[ $n -gt 1 ] || return 1
		echo "$((n - 1)) allocations"
	done
}

# says_why: a run that failed says that there was no memory.
says_why() {
	[ "$status" -ne 0 ] || return 0
	[ "$status" -eq 3 ] && has_reason '.*memory'
}

@test "a run that makes its filter and grows it" {
	small_and_large
	before() {
		rm -f seen
	}
	check() {
		[ "$status" -ne 0 ] || cmp in stdout || return 1
		remembered_is_out stdout
	}
	untraced try_allocations check "$BLOOMDEDUP" -f seen -n 1000 -p 1e-9 in
}

@test "a run without a filter file" {
	small_and_large
	before() {
		true
	}
	check() {
		[ "$status" -ne 0 ] || cmp in stdout
	}
	untraced try_allocations check "$BLOOMDEDUP" in in
}

@test "a run with its filter in private memory" {
	small_and_large
	export BLOOMDEDUP_PRIVATE=0,20000
	before() {
		cp small seen
		: >file
	}
	check() {
		[ "$status" -ne 0 ] || cmp in file || return 1
		remembered_is_out file
	}
	untraced try_allocations check "$BLOOMDEDUP" -f seen -o file in
	untraced try_allocations check "$BLOOMDEDUP" --sync -f seen -o file in
}

# try_compressed COMMAND...: input that it compresses, and a line that is longer
# than any buffer.
try_compressed() {
	small_and_large
	{ cat in; head -c 1000000 /dev/zero | tr '\0' x; } | "$@" >long
	before() {
		cp large seen
	}
	check() {
		head -n 2500 stdout >lines
		if [ "$status" -eq 0 ]; then
			cmp in lines || return 1
			[ "$(tail -n 1 stdout | wc -c)" -eq 1000001 ] ||
				return 1
		fi
		remembered_is_out lines
	}
	untraced try_allocations check "$BLOOMDEDUP" -f seen long
}

@test "gzip input, and a line that is longer than any buffer" {
	try_compressed gzip
}

@test "zstd input, and a line that is longer than any buffer" {
	needs_zstd
	try_compressed zstd -q
}

@test "a run with -o, --duplicates, --stats, and through links" {
	small_and_large
	ln -s there/seen link
	ln -s there/file file
	before() {
		mkdir -p there
		cp large there/seen
		: >there/file
	}
	check() {
		[ -L link ] && [ -L file ] || return 1
		[ "$status" -ne 0 ] || cmp in file || return 1
		ln -sf there/seen seen
		remembered_is_out file
	}
	untraced try_allocations check "$BLOOMDEDUP" -f link -o file \
		--duplicates=copies --stats in in
}

@test "keys from CSV" {
	small_and_large
	sed 's/.*/"a ""quoted"" field",&,x/' in >table
	before() {
		rm -f seen
	}
	check() {
		[ "$status" -ne 0 ] || cmp table stdout || return 1
		[ ! -e seen ] || whole seen || return 1
		cp stdout all
		bloomdedup --csv -k $keys -i -f seen table >>all || return 1
		sort -u all | cmp table -
	}
	for keys in 2 1,2; do
		untraced try_allocations check "$BLOOMDEDUP" --csv -k $keys \
			-i -f seen table
	done
}

@test "a run with --sync" {
	small_and_large
	before() {
		cp small seen
		: >file
	}
	check() {
		[ "$status" -ne 0 ] || cmp in file || return 1
		remembered_is_out file
	}
	untraced try_allocations check "$BLOOMDEDUP" --sync -f seen -o file in
}

@test "a run with --atomic: all or nothing" {
	small_and_large
	echo old >old
	ln -s there/seen link
	before() {
		rm -rf there
		mkdir there
		cp small there/seen
		cp old file
		ln -sf there/seen seen
	}
	check() {
		cmp -s old file || cmp in file || return 1
		[ ! -e seen.journal ] || return 1
		cd there || return 1
		cp ../in ../file .
		all_or_none file || return 1
		[ "$status" -ne 0 ] || [ -s known ] || return 1
		cd ..
	}
	untraced try_allocations check "$BLOOMDEDUP" --atomic --overwrite \
		-f seen -o file in
}

@test "a run with --to-command: all or nothing" {
	small_and_large
	before() {
		cp small seen
		rm -f seen.journal
		: >got
	}
	check() {
		all_or_none got || return 1
		[ "$status" -ne 0 ] || [ -s known ]
	}
	# the command is left alone
	untraced try_allocations check "$BLOOMDEDUP" -f seen \
		--to-command='cat >got' in
}

@test "add, with --shared, too" {
	small_and_large
	before() {
		cp small seen
	}
	check() {
		whole seen || return 1
		[ "$status" -eq 0 ] || bloomdedup add -f seen in 2>err ||
			return 1
		knows_all
	}
	untraced try_allocations check "$BLOOMDEDUP" add -f seen in
	untraced try_allocations check "$BLOOMDEDUP" add --shared -f seen in
}

@test "while a journal is recovered" {
	small_and_large
	"$HELPER" journal large <in
	before() {
		cp large seen
		cp large.journal seen.journal
	}
	check() {
		[ "$status" -ne 0 ] || [ ! -e seen.journal ] || return 1
		knows_all || return 1
		bloomdedup add -f seen /dev/null 2>err || return 1
		knows_all
	}
	untraced try_allocations check "$BLOOMDEDUP" add -f seen /dev/null
}

@test "check and info, beside a journal" {
	small_and_large
	"$HELPER" journal large <in
	cp large seen
	cp large.journal seen.journal
	before() {
		true
	}
	check() {
		cmp large seen || return 1
		cmp large.journal seen.journal || return 1
		[ "$status" -ne 0 ] || cmp want stdout
	}
	cp in want
	untraced try_allocations check "$BLOOMDEDUP" check -f seen in
	bloomdedup info seen >want
	untraced try_allocations check "$BLOOMDEDUP" info seen
	bloomdedup info --json seen >want
	untraced try_allocations check "$BLOOMDEDUP" info --json seen
}

@test "create: a whole filter or none" {
	small_and_large
	before() {
		rm -f seen
	}
	check() {
		[ "$status" -ne 0 ] || [ -e seen ] || return 1
		[ ! -e seen ] || whole seen
	}
	untraced try_allocations check "$BLOOMDEDUP" create -n 1000 seen
	untraced try_allocations check "$BLOOMDEDUP" create --like=small seen
	before() {
		rm -rf there seen
		mkdir there
		cp large there/seen
		ln -s there/seen seen
	}
	check() {
		[ -L seen ] || return 1
		(
			cd there || exit 1
			[ "$status" -ne 0 ] || ! cmp -s ../large seen || exit 1
			whole seen
		)
	}
	untraced try_allocations check "$BLOOMDEDUP" create --force -n 1000 seen
}

@test "merge: the union or nothing" {
	small_and_large
	head -n 1000 in >first
	tail -n 1500 in >second
	cp large one
	bloomdedup add -f one first
	bloomdedup create --like=one two
	bloomdedup add -f two second
	before() {
		rm -f union
	}
	check() {
		[ "$status" -ne 0 ] || [ -e union ] || return 1
		[ -e union ] || return 0
		knows_all union
	}
	untraced try_allocations check "$BLOOMDEDUP" merge -o union one two
	before() {
		cp one seen
	}
	check() {
		bloomdedup check -f seen in >known || return 1
		[ "$status" -ne 0 ] || cmp in known || return 1
		cmp -s in known || cmp first known
	}
	untraced try_allocations check "$BLOOMDEDUP" merge -o seen seen two
}

@test "size and try" {
	before() {
		true
	}
	check() {
		[ "$status" -ne 0 ] || cmp want stdout
	}
	bloomdedup try 1e6 1e-6 >want
	untraced try_allocations check "$BLOOMDEDUP" try 1e6 1e-6
	bloomdedup size --table >want
	# musl has the buffer of standard output in itself: nothing is allocated
	rm -f fired
	"${PRELOADED[@]}" FAIL_ALLOCATION=1 "$BLOOMDEDUP" size --table >stdout \
		2>err || true
	[ ! -e fired ] ||
		untraced try_allocations check "$BLOOMDEDUP" size --table
}
