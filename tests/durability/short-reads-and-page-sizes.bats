# System calls that do less than they were asked to, and machines whose memory
# has larger pages: preload.so imitates both.
load kills-and-faults

# in_pieces COMMAND...: most reads and writes of the command come short.
in_pieces() {
	local status=0
	rm -f fired
	"${PRELOADED[@]}" SHORT=$every "$@" || status=$?
	[ -e fired ] || return 1
	return $status
}

@test "reads of zstd that come short" {
	needs_preload
	needs_zstd
	"$HELPER" lines 20000 >many
	cat many many | zstd -q >many.zst
	for every in 1 2 3; do
		in_pieces "$BLOOMDEDUP" many.zst | cmp many -
	done
}

@test "reads and writes that come short, in every kind of run" {
	needs_preload
	small_and_large
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
		in_pieces "$BLOOMDEDUP" --atomic -f seen --overwrite -o out \
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

# with_pages ARGUMENT...: the program, whose memory has pages of $page bytes.
with_pages() {
	"${PRELOADED[@]}" PAGE=$page "$BLOOMDEDUP" "$@"
}

@test "with memory pages of 16 and 64 KiB all is as with 4" {
	needs_preload
	small_and_large
	for page in 16384 65536; do
		for private in '' 0 0,20000; do
			for kind in '' --shared --sync --atomic; do
				rm -f seen fired out
				BLOOMDEDUP_PRIVATE=$private \
					with_pages $kind -f seen -n 1000 \
					-p 1e-12 -o out in 2>err
				[ -e fired ]
				cmp in out
				BLOOMDEDUP_PRIVATE=$private \
					with_pages $kind -f seen in >out
				[ ! -s out ]
				with_pages check -f seen in | cmp in -
				with_pages info --verify seen >out
			done
		done
		with_pages merge -o union seen
		with_pages check -f union in | cmp in -
		# and the file is the same everywhere
		bloomdedup check -f seen in | cmp in -
		rm union
	done
}
