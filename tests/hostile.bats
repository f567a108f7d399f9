# Filter files that somebody made on purpose, with the checksums right: they
# are refused, or are filters that can be worked with. Nothing crashes.
load common

# The numbers that parsers trip over, as 8 bytes, little-endian.
numbers='0000000000000000 0100000000000000
	ffffff7f00000000 0000008000000000 0100008000000000
	ffffffff00000000 0000000001000000 0100000001000000
	0100000000002000 0000000000000080 ffffffffffffffff'
# In a short run of the tests, some of them.
few='0000008000000000 0100000000002000 ffffffffffffffff'
[ -n "${BLOOMDEDUP_SLOW:-}" ] || numbers=$few

# Offsets and lengths of the fields in the header; in a slot, those of its
# head and of its first layer.
header='12:2 14:2 16:4 20:4 24:8 32:8 40:8 48:8 56:8 64:4 68:4 72:4 76:4 80:4
	84:4 88:8 128:8 320:8 1344:8'
slot='8:8 16:8 32:8 40:4 44:4 48:8 64:8 72:8 80:8 88:8 96:8 104:8 112:4 116:4
	120:4 124:4'

# small: a filter of one layer, and `grown` one of several, with some lines.
setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	"$HELPER" lines 200 >in
	"$BLOOMDEDUP" add -n 1000 -f small in
	"$BLOOMDEDUP" add -n 20 -f grown in
	"$BLOOMDEDUP" add -n 100 --on-full=warn -f one in 2>/dev/null
}

# survives NAME: info, check and a run on the filter `seen` crash nowhere, and
# are of one mind about it; what they refuse is one line of a message, and no
# byte of the file is changed.
survives() {
	local name=$1 status refused=0
	cp seen before
	for command in info 'info --json' 'check -f' add; do
		set -- seen
		case $command in
		check*) set -- seen in ;;
		add) set -- --lock-timeout=5 -f seen in ;;
		esac
		status=0
		# shellcheck disable=SC2086
		timeout 20 "$BLOOMDEDUP" $command "$@" >out 2>err || status=$?
		if [ "$status" -ge 124 ]; then
			echo "$name: $command: exit status $status"
			cat err
			return 1
		fi
		case $command$status in
		info*0 | check*[01] | add[04]) continue ;;
		esac
		refused=$((refused + 1))
		if [ "$status" -gt 4 ] || [ "$(wc -l <err)" -ne 1 ] ||
			! grep -q '^bloomdedup: seen: ' err ||
			[ -s out ]; then
			echo "$name: $command: status $status"
			cat err
			return 1
		fi
		if ! cmp before seen; then
			echo "$name: $command refused it and changed it"
			return 1
		fi
	done
	# add may have more to say no to than those that only read
	if [ $refused -gt 1 ] && [ $refused -lt 4 ]; then
		echo "$name: $refused of 4 commands refused it"
		return 1
	fi
	[ $refused -eq 0 ] || refusals=$((refusals + 1))
}

# every_field FILTER: every field, every number.
every_field() {
	local field at nbytes number header=$header
	refusals=0
	# the header is read before it matters how many layers there are
	[ "$1" = small ] || [ -n "${BLOOMDEDUP_SLOW:-}" ] || header=
	for field in $header; do
		at=${field%:*} nbytes=${field#*:}
		for number in $numbers; do
			cp "$BATS_FILE_TMPDIR/$1" seen
			"$HELPER" poke seen "$at" "${number:0:nbytes * 2}"
			"$HELPER" fix-crc seen
			survives "header $at = $number"
		done
	done
	for field in $slot; do
		at=${field%:*} nbytes=${field#*:}
		for number in $numbers; do
			cp "$BATS_FILE_TMPDIR/$1" seen
			number=${number:0:nbytes * 2}
			"$HELPER" poke seen $((4096 + at)) "$number"
			"$HELPER" poke seen $((8192 + at)) "$number"
			"$HELPER" fix-crc seen
			survives "slots $at = $number"
		done
	done
	[ $refusals -ge 20 ]
}

@test "every field of a filter of one layer" {
	cp "$BATS_FILE_TMPDIR/in" .
	every_field small
}

@test "every field of a filter of several layers" {
	cp "$BATS_FILE_TMPDIR/in" .
	every_field grown
}

@test "every field of a filter that may not grow" {
	[ -n "${BLOOMDEDUP_SLOW:-}" ] || skip "only in make check-slow"
	cp "$BATS_FILE_TMPDIR/in" .
	every_field one
}

@test "fields of a later layer" {
	cp "$BATS_FILE_TMPDIR/in" .
	refusals=0
	[ -n "${BLOOMDEDUP_SLOW:-}" ] && layers='1 2 3' || layers=3
	for layer in $layers; do
		for field in 0:8 8:8 16:8 24:8 32:8 40:8 48:4 52:4 56:4 60:4; do
			at=$((64 + 64 * layer + ${field%:*}))
			nbytes=${field#*:}
			for number in $few; do
				cp "$BATS_FILE_TMPDIR/grown" seen
				number=${number:0:nbytes * 2}
				"$HELPER" poke seen $((4096 + at)) "$number"
				"$HELPER" poke seen $((8192 + at)) "$number"
				"$HELPER" fix-crc seen
				survives "layer $layer, slots $at = $number"
			done
		done
	done
	[ $refusals -ge 10 ]
}

@test "counters that lie: no line is lost, and the filter still grows" {
	cp "$BATS_FILE_TMPDIR/in" .
	"$HELPER" lines 1500 5 >"more"
	# lines marked: none, all, far too many
	for number in 0000000000000000 e803000000000000 ffffffffffffffff \
		0000000000000080; do
		cp "$BATS_FILE_TMPDIR/small" seen
		"$HELPER" poke seen $((4096 + 96)) $number
		"$HELPER" poke seen $((8192 + 96)) $number
		"$HELPER" fix-crc seen
		timeout 20 "$BLOOMDEDUP" -f seen in >out
		[ ! -s out ]
		timeout 20 "$BLOOMDEDUP" -f seen more >out 2>err
		cmp more out
		cat in more | bloomdedup -f seen >out
		[ ! -s out ]
	done
}

@test "slots that contradict each other, both with the right checksum" {
	cp "$BATS_FILE_TMPDIR/in" .
	refusals=0
	for slot in 4096 8192; do
		for number in $numbers; do
			# generation, file bytes, layers, pages, k
			for field in 8:8 32:8 40:4 72:8 112:4; do
				at=${field%:*} nbytes=${field#*:}
				cp "$BATS_FILE_TMPDIR/grown" seen
				"$HELPER" poke seen $((slot + at)) \
					"${number:0:nbytes * 2}"
				"$HELPER" fix-crc seen
				# cut off by the one, grown by the other
				survives "slot at $slot, $at = $number"
				bloomdedup info seen >out 2>err || continue
				status=0
				bloomdedup -f seen in >out 2>err || status=$?
				[ "$status" -eq 0 ]
			done
		done
	done
}

@test "the newer one of two tables counts, wherever it stands" {
	cp "$BATS_FILE_TMPDIR/small" seen
	for newer in 4096 8192; do
		older=$((12288 - newer))
		for flags in 44 48; do
			"$HELPER" poke seen $((newer + flags)) 00000000
			"$HELPER" poke seen $((older + flags)) 00000000
		done
		# generations, and lines marked: 500 and 700
		"$HELPER" poke seen $((newer + 8)) 0aff000000000000
		"$HELPER" poke seen $((older + 8)) 0bfe000000000000
		"$HELPER" poke seen $((newer + 96)) f401000000000000
		"$HELPER" poke seen $((older + 96)) bc02000000000000
		"$HELPER" fix-crc seen
		bloomdedup info --json seen | grep -q '"room": 500,'
	done
}

@test "the largest generation there can be" {
	cp "$BATS_FILE_TMPDIR/in" .
	for number in fdffffffffffffff feffffffffffffff; do
		cp "$BATS_FILE_TMPDIR/small" seen
		"$HELPER" poke seen $((4096 + 8)) $number
		"$HELPER" fix-crc seen
		"$HELPER" lines 3000 9 >"more"
		for ((i = 0; i < 4; i++)); do
			status=0
			bloomdedup -f seen more >out 2>err || status=$?
			[ "$status" -le 3 ]
			cat in >>out
			status=0
			bloomdedup check -f seen in >out 2>err || status=$?
			if [ "$status" -ne 0 ]; then
				[ "$status" -eq 3 ]
				[ "$(wc -l <err)" -eq 1 ]
			fi
		done
	done
}

@test "cut short to any length, at each page and about" {
	cp "$BATS_FILE_TMPDIR/in" .
	for filter in small grown; do
		size=$(stat -c %s "$BATS_FILE_TMPDIR/$filter")
		for ((page = 0; page * 4096 < size; page++)); do
			for offset in 0 1 2048 4095; do
				length=$((page * 4096 + offset))
				[ $length -lt "$size" ] || continue
				[ -n "${BLOOMDEDUP_SLOW:-}" ] ||
					[ $(((page + offset) % 3)) -eq 0 ] ||
					continue
				cp "$BATS_FILE_TMPDIR/$filter" seen
				truncate -s $length seen
				refusals=0
				survives "$filter cut to $length"
				[ $refusals -eq 1 ]
			done
		done
	done
}

@test "sparse and huge" {
	cp "$BATS_FILE_TMPDIR/in" .
	cp "$BATS_FILE_TMPDIR/small" seen
	truncate -s 1T seen || skip "no sparse files"
	bloomdedup check -f seen in | cmp in -
	bloomdedup -f seen in >out
	[ ! -s out ]
	bloomdedup info seen >out
	rm seen
	truncate -s 1T zeros
	fails 3 'not a bloomdedup filter' bloomdedup -f zeros in
	fails 3 'not a bloomdedup filter' bloomdedup check -f zeros in
	fails 3 'not a bloomdedup filter' bloomdedup info zeros
	rm zeros
	# a layer of a terabyte that is there, as a hole
	cp "$BATS_FILE_TMPDIR/small" seen
	truncate -s $((((1 << 28) + 3) * 4096)) seen
	for slot in 4096 8192; do
		"$HELPER" poke seen $((slot + 72)) 0000001000000000
		"$HELPER" poke seen $((slot + 32)) 0030000000010000
	done
	"$HELPER" fix-crc seen
	for command in info 'check -f' 'add -f'; do
		set -- seen
		[ "$command" = info ] || set -- seen in
		status=0
		# shellcheck disable=SC2086
		timeout 60 "$BLOOMDEDUP" $command "$@" >out 2>err || status=$?
		echo "$command: $status"
		cat err
		[ "$status" -le 4 ]
	done
}

@test "noise behind a right header and slots" {
	cp "$BATS_FILE_TMPDIR/in" .
	for filter in small grown; do
		head -c 12288 "$BATS_FILE_TMPDIR/$filter" >seen
		size=$(stat -c %s "$BATS_FILE_TMPDIR/$filter")
		head -c $((size - 12288)) /dev/urandom >>seen
		survives "noise as layers of $filter"
		head -c 12288 "$BATS_FILE_TMPDIR/$filter" >seen
		head -c $((size - 12288)) /dev/zero | tr '\0' '\377' >>seen
		survives "ones as layers of $filter"
	done
	for ((i = 0; i < 10; i++)); do
		head -c 4096 "$BATS_FILE_TMPDIR/small" >seen
		head -c 30000 /dev/urandom >>seen
		"$HELPER" fix-crc seen
		refusals=0
		survives "noise as slots"
		[ $refusals -eq 1 ]
	done
}

@test "hostile filters and merge, create --like, --shared" {
	cp "$BATS_FILE_TMPDIR/in" .
	for field in 4136:4 4160:8 4168:8 4176:8 4208:4 48:8 56:8 68:4 84:4; do
		at=${field%:*} nbytes=${field#*:}
		for number in $few; do
			cp "$BATS_FILE_TMPDIR/grown" seen
			number=${number:0:nbytes * 2}
			"$HELPER" poke seen "$at" "$number"
			[ "$at" -lt 4096 ] ||
				"$HELPER" poke seen $((at + 4096)) "$number"
			"$HELPER" fix-crc seen
			cp seen hostile
			rm -f out.bloom like.bloom
			for command in 'merge -o out.bloom seen' \
				"merge -o out.bloom $BATS_FILE_TMPDIR/grown seen" \
				'create --max-size=1G --like=seen like.bloom'; do
				rm -f out.bloom like.bloom
				status=0
				# shellcheck disable=SC2086
				timeout 20 "$BLOOMDEDUP" $command \
					>out 2>err || status=$?
				echo "$at = $number: $command: $status"
				cat err
				[ "$status" -le 4 ]
				[ "$status" -eq 0 ] ||
					[ "$(wc -l <err)" -eq 1 ]
				cmp hostile seen
			done
			status=0
			timeout 20 "$BLOOMDEDUP" --shared -f seen in \
				>out 2>err || status=$?
			[ "$status" -le 4 ]
		done
	done
	no_leftovers
}

@test "a filter that is cut short under a run: a message, status 3" {
	"$HELPER" lines 20000 >in
	for kind in '' --shared --atomic --sync; do
		rm -rf seen seen.journal pipe part
		bloomdedup create -n 500000 seen
		mkfifo pipe
		# shellcheck disable=SC2086
		"$BLOOMDEDUP" $kind -f seen -o part <pipe 2>err 3>&- &
		pid=$!
		exec 7>pipe
		until_true grep -q '^State:.S' /proc/$pid/status
		until_true test -e part -o "$kind" = --atomic
		sleep 0.1
		truncate -s 12288 seen
		cat in >&7 2>/dev/null || true
		exec 7>&-
		status=0
		wait $pid || status=$?
		echo "$kind: $status"
		cat err
		[ "$status" -eq 3 ]
		[ "$(wc -l <err)" -eq 1 ]
		grep -q '^bloomdedup: seen: ' err
	done
	mkfifo check
	bloomdedup create --force -n 500000 other
	"$BLOOMDEDUP" check -f other <check >out 2>err 3>&- &
	pid=$!
	exec 7>check
	sleep 0.2
	truncate -s 12288 other
	cat in >&7 2>/dev/null || true
	exec 7>&-
	status=0
	wait $pid || status=$?
	[ "$status" -eq 3 ]
	grep -q '^bloomdedup: other: ' err
}
