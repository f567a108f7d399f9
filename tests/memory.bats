# Memory that runs out: each allocation fails, once and from there on. The end
# is a message and status 3, or a whole output; never a crash, and never a
# damaged filter. And memory that is shaped otherwise.
load faults

# try_allocations CHECK COMMAND...: for each allocation, `before`, the command
# in which it fails, and CHECK, which sees its $status, and standard output in
# `stdout`.
try_allocations() {
	local check=$1 n on
	shift
	skip_if_sanitized
	skip_if_emulated "calls of its own"
	for on in '' +; do
		for ((n = 1; ; n++)); do
			before
			rm -f fired
			status=0
			timeout 60 env LD_PRELOAD="$BUILD/preload.so" \
				FIRED=fired FAIL_ALLOCATION=$n$on "$@" \
				>stdout 2>err || status=$?
			[ -e fired ] || break
			echo "allocation $n$on: exit status $status"
			cat err
			says_why || return 1
			$check || return 1
		done
		# without a fault all is well, and there were some before
		[ "$status" -eq 0 ] || return 1
		[ $n -gt 2 ] || return 1
		echo "$((n - 1)) allocations"
	done
}

# says_why: a run that failed says in one line that there was no memory,
# beside what it may notice before.
says_why() {
	[ "$status" -ne 0 ] || return 0
	[ "$status" -eq 3 ] || return 1
	grep -vE 'passed the .* lines that it was|finishing an earlier run' \
		err >said
	[ "$(wc -l <said)" -eq 1 ] && grep -q "^bloomdedup: .*memory" said
}

# remembered_is_out FILE: what the filter knows of `in` is in FILE, and the
# rest comes out in another run: no line is lost.
remembered_is_out() {
	[ ! -e seen ] || whole seen || return 1
	no_leftovers || return 1
	{ cat "$1"; echo; } >all
	bloomdedup -f seen in >>all 2>err || return 1
	"$HELPER" came-out 2500 2500 0 all >figures
}

prepare() {
	"$HELPER" numbered 2500 >in
	bloomdedup create -n 1000 -p 1e-9 small
	bloomdedup create -n 3000 -p 1e-9 large
	head -n 1000 in >first
	tail -n 1500 in >second
}

@test "a run that makes its filter and grows it" {
	prepare
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
	prepare
	before() {
		true
	}
	check() {
		[ "$status" -ne 0 ] || cmp in stdout
	}
	untraced try_allocations check "$BLOOMDEDUP" in in
}

@test "a run with its filter in private memory" {
	prepare
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

@test "gzip input, and a line that is longer than any buffer" {
	prepare
	{ cat in; head -c 1000000 /dev/zero | tr '\0' x; } | gzip >long.gz
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
	untraced try_allocations check "$BLOOMDEDUP" -f seen long.gz
}

@test "a run with -o, --duplicates, --stats, and through links" {
	prepare
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
	prepare
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
	prepare
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

# all_or_none FILE: what a run left that remembers all in the end: all lines
# are known, and in FILE, or none is known, the same after the next run.
all_or_none() {
	bloomdedup check -f seen in >known
	cmp -s in known || [ ! -s known ] || return 1
	[ ! -s known ] || cmp in "$1" || return 1
	[ "$status" -ne 0 ] || [ -s known ] || return 1
	bloomdedup add -f seen /dev/null 2>err || return 1
	[ ! -e seen.journal ] || return 1
	bloomdedup check -f seen in | cmp known -
}

@test "a run with --atomic: all or nothing" {
	prepare
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
		no_leftovers || return 1
		cmp -s old file || cmp in file || return 1
		[ ! -e seen.journal ] || return 1
		cd there || return 1
		cp ../in ../file .
		all_or_none file || return 1
		cd ..
	}
	untraced try_allocations check "$BLOOMDEDUP" --atomic -f seen -o file in
}

@test "a run with --to-command: all or nothing" {
	prepare
	before() {
		cp small seen
		rm -f seen.journal
		: >got
	}
	check() {
		all_or_none got
	}
	# the command is left alone
	untraced try_allocations check "$BLOOMDEDUP" -f seen \
		--to-command='cat >got' in
}

@test "add, with --shared, too" {
	prepare
	before() {
		cp small seen
	}
	check() {
		whole seen || return 1
		[ "$status" -eq 0 ] || bloomdedup add -f seen in 2>err ||
			return 1
		bloomdedup check -f seen in | cmp in -
	}
	untraced try_allocations check "$BLOOMDEDUP" add -f seen in
	untraced try_allocations check "$BLOOMDEDUP" add --shared -f seen in
}

@test "while a journal is recovered" {
	prepare
	"$HELPER" journal large <in
	before() {
		cp large seen
		cp large.journal seen.journal
	}
	check() {
		[ "$status" -ne 0 ] || [ ! -e seen.journal ] || return 1
		bloomdedup check -f seen in | cmp in - || return 1
		bloomdedup add -f seen /dev/null 2>err || return 1
		bloomdedup check -f seen in | cmp in -
	}
	untraced try_allocations check "$BLOOMDEDUP" add -f seen /dev/null
}

@test "check and info, beside a journal" {
	prepare
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
	prepare
	before() {
		rm -f seen
	}
	check() {
		no_leftovers || return 1
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
			no_leftovers || exit 1
			[ "$status" -ne 0 ] || ! cmp -s ../large seen || exit 1
			whole seen
		)
	}
	untraced try_allocations check "$BLOOMDEDUP" create --force -n 1000 seen
}

@test "merge: the union or nothing" {
	prepare
	cp large one
	bloomdedup add -f one first
	bloomdedup create --like=one two
	"$HELPER" journal two <second
	before() {
		rm -f union
	}
	check() {
		no_leftovers || return 1
		[ "$status" -ne 0 ] || [ -e union ] || return 1
		[ -e union ] || return 0
		bloomdedup check -f union in | cmp in -
	}
	untraced try_allocations check "$BLOOMDEDUP" merge -o union one two
	before() {
		cp one seen
	}
	check() {
		no_leftovers || return 1
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
	untraced try_allocations check "$BLOOMDEDUP" size --table
}

# --- calls that do less than they are asked to

# in_pieces COMMAND...: most reads and writes of the command come short.
in_pieces() {
	local status=0
	skip_if_sanitized
	skip_if_emulated "calls of its own"
	rm -f fired
	LD_PRELOAD=$BUILD/preload.so FIRED=fired SHORT=$every "$@" ||
		status=$?
	[ -e fired ] || return 1
	return $status
}

@test "reads and writes that come short, in every kind of run" {
	prepare
	"$HELPER" lines 20000 >many
	cat many many | gzip -c >many.gz
	for every in 1 2 3; do
		rm -f seen other union
		in_pieces "$BLOOMDEDUP" -f seen -n 1000 -p 1e-12 many.gz \
			>out 2>err
		cmp many out
		in_pieces "$BLOOMDEDUP" -f seen many.gz >out
		[ ! -s out ]
		cp small seen
		in_pieces "$BLOOMDEDUP" --sync -f seen -o out in 2>err
		cmp in out
		cp large seen
		BLOOMDEDUP_PRIVATE=0,20000 in_pieces "$BLOOMDEDUP" -f seen in |
			cmp in -
		bloomdedup check -f seen in | cmp in -
		cp small seen
		in_pieces "$BLOOMDEDUP" --atomic -f seen -o out \
			--duplicates=copies in in 2>err
		cmp in out
		cmp in copies
		bloomdedup check -f seen in | cmp in -
		cp small seen
		in_pieces "$BLOOMDEDUP" -f seen --to-command='cat >out' in \
			2>err
		cmp in out
		cp small seen
		in_pieces "$BLOOMDEDUP" add --shared -f seen in 2>err
		bloomdedup check -f seen in | cmp in -
		cp large seen
		"$HELPER" journal seen <in
		in_pieces "$BLOOMDEDUP" check -f seen in >out
		cmp in out
		in_pieces "$BLOOMDEDUP" info seen >out
		bloomdedup info seen | cmp - out
		in_pieces "$BLOOMDEDUP" add -f seen /dev/null 2>err
		[ ! -e seen.journal ]
		bloomdedup check -f seen in | cmp in -
		bloomdedup create --like=seen other
		bloomdedup add -f other many
		in_pieces "$BLOOMDEDUP" merge -o union seen other >out
		cat in many | bloomdedup check -v -f union >out || true
		[ ! -s out ]
	done
}

# --- machines whose memory has larger pages

@test "with memory pages of 16 and 64 KiB all is as with 4" {
	skip_if_sanitized
	skip_if_emulated "calls of its own"
	prepare
	for page in 16384 65536; do
		export LD_PRELOAD=$BUILD/preload.so FIRED=fired PAGE=$page
		for private in '' 0 0,20000; do
			for kind in '' --shared --sync --atomic; do
				rm -f seen fired out
				BLOOMDEDUP_PRIVATE=$private \
					"$BLOOMDEDUP" $kind -f seen -n 1000 \
					-p 1e-12 -o out in 2>err
				[ -e fired ]
				cmp in out
				BLOOMDEDUP_PRIVATE=$private \
					"$BLOOMDEDUP" $kind -f seen in >out
				[ ! -s out ]
				"$BLOOMDEDUP" check -f seen in | cmp in -
				"$BLOOMDEDUP" info --verify seen >out
			done
		done
		"$BLOOMDEDUP" merge -o union seen
		"$BLOOMDEDUP" check -f union in | cmp in -
		unset LD_PRELOAD FIRED PAGE
		# and the file is the same everywhere
		bloomdedup check -f seen in | cmp in -
		rm union
	done
}
