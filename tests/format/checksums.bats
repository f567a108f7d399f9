# Full layers have a checksum, which info --verify compares.
load ../common

# Of Python, what -S leaves out can take most of its time.
reader() {
	python3 -S "$ROOT/tests/format/reader.py" "$@"
}

# How many layers have a checksum that is right, by a second reader, too.
checked() {
	reader "$1" <<<nothing >read 2>wrong || true
	[ ! -s wrong ] || return
	bloomdedup info --json --verify "$1" | json_value checksums
}

# A filter of three layers, for 10,000, 20,000 and 40,000 lines.
grown() {
	bloomdedup create -n 10000 -p 1e-12 seen
	"$HELPER" lines 55000 >in
	bloomdedup add -f seen in
}

# The offset of layer $1, from 0, by bloomdedup(5).
layer_offset() {
	for slot in 4096 8192; do
		echo "$(od -An -tu8 -j $((slot + 8)) -N 8 seen)" \
			"$(od -An -tu8 -j $((slot + 64 + 64 * $1)) -N 8 seen)"
	done | sort -n | tail -n 1 | awk '{ print $2 }'
}

@test "the layers before the newest get a checksum while that is filled" {
	grown
	[ "$(checked seen)" -eq 2 ]
	bloomdedup info --verify seen >out
	grep -q '^  checksums     2 of 2 full layers checked, all correct$' out
}

@test "a filter of one layer has none" {
	bloomdedup create -n 100 seen
	seq 100 | bloomdedup add -f seen
	[ "$(checked seen)" -eq 0 ]
	bloomdedup info --verify seen | grep -q '^  checksums     none: a layer gets one once the filter has grown$'
}

@test "a full layer that was damaged is told, and its number" {
	grown
	for i in 0 1; do
		cp seen whole
		"$HELPER" flip seen $(($(layer_offset $i) + 5000)) 3
		status=0
		bloomdedup info --verify seen >out 2>err || status=$?
		[ "$status" -eq 3 ]
		[ "$(cat err)" = "bloomdedup: seen: layer $((i + 1)) is damaged: its checksum is wrong" ]
		grep -q '^  checksums     1 of 2 full layers checked, all correct$' out
		bloomdedup info seen >out
		cp whole seen
	done
	# the newest layer has no checksum
	"$HELPER" flip seen $(($(layer_offset 2) + 5000)) 3
	[ "$(checked seen)" -eq 2 ]
}

@test "many small runs come to the same checksum" {
	bloomdedup create -n 10000 -p 1e-12 seen
	"$HELPER" lines 25000 >in
	head -n 10100 in | bloomdedup add -f seen
	[ "$(checked seen)" -eq 0 ]
	tail -n +10101 in >rest
	split -l 500 rest part.
	for part in part.*; do
		bloomdedup add -f seen "$part"
	done
	[ "$(checked seen)" -eq 1 ]
	bloomdedup check -f seen in | cmp - in
}

@test "checksums of filters in private memory" {
	bloomdedup create -n 10000 -p 1e-12 seen
	"$HELPER" lines 55000 >in
	for part in 1 2 3 4 5; do
		head -n $((part * 11000)) in |
			BLOOMDEDUP_PRIVATE=0 bloomdedup add -f seen
	done
	[ "$(checked seen)" -ge 1 ]
	bloomdedup add -f seen in
	bloomdedup check -f seen in | cmp - in
}

@test "--atomic, and killed runs: what has a checksum has the right one" {
	bloomdedup create -n 1000 -p 1e-12 seen
	"$HELPER" lines 60000 >in
	for i in 1 2 3 4 5 6; do
		head -n $((i * 9000)) in >some
		"$HELPER" defaults "$BLOOMDEDUP" -f seen some \
			>>out 2>err &
		sleep "0.00$i"
		kill -KILL $! 2>/dev/null || true
		wait $! || true
		cp seen killed.$i
		bloomdedup info --verify seen >out
		bloomdedup --atomic -q -f seen some || [ $? -eq 1 ]
		cp seen atomic.$i
		bloomdedup info --verify seen >out
	done
	reader --verdicts killed.* atomic.* >verdicts
	[ "$(grep -c '^taken' verdicts)" -eq 12 ]
	[ "$(checked seen)" -ge 2 ]
}

@test "a layer of many pieces gets its checksum in one large commit" {
	bloomdedup create -n 200000 seen
	"$HELPER" lines 260100 >in
	head -n 200100 in | bloomdedup add -f seen
	[ "$(checked seen)" -eq 0 ]
	bloomdedup add --atomic -f seen in
	[ "$(checked seen)" -eq 1 ]
}

@test "runs that share a filter leave checksums alone" {
	grown
	"$HELPER" lines 100000 >more
	bloomdedup --shared -q -f seen more
	[ "$(checked seen)" -eq 2 ]
	"$HELPER" lines 200000 >more
	bloomdedup -q -f seen more
	[ "$(checked seen)" -ge 4 ]
}
