# The filter file is what bloomdedup(5) says: a second reader, written from
# that page alone, finds the same lines in it.
load ../common

# python ARGUMENT...: without looking for modules that somebody installed, which
# can take most of its time.
python() {
	python3 -S "$@"
}

reader() {
	python "$ROOT/tests/format/reader.py" "$@"
}

# same_members FILTER LINES: the second reader finds what check finds, in a
# file of lines of which some are in the filter.
same_members() {
	bloomdedup check -f "$1" "$2" >ours
	reader "$1" <"$2" >theirs
	[ -s ours ]
	cmp ours theirs
}

# each_has_same_members LINES FILTER...: the same of many filters, in FILTER.ours
# and FILTER.theirs; they may have none of the lines.
each_has_same_members() {
	local lines=$1 filter
	shift
	reader --each "$@" <"$lines"
	for filter; do
		bloomdedup check -f "$filter" "$lines" >"$filter.ours" ||
			[ $? -eq 1 ]
		cmp "$filter.ours" "$filter.theirs"
	done
}

# same_verdicts FILTER...: both readers refuse it, or take it, as the first word
# of its name says: "refused" or "taken".
same_verdicts() {
	local filter status
	reader --verdicts "$@" >theirs 2>reasons
	for filter; do
		status=0
		"$BLOOMDEDUP" check -f "$filter" /dev/null >out 2>err || status=$?
		case $status in
		1) echo "taken: $filter" ;;
		3) is_message err && echo "refused: $filter" ;;
		*) echo "exit status $status: $filter" ;;
		esac
		cat err >>reasons
	done >ours
	printf '%s\n' "$@" | sed 's|^[a-z]*|&: &|' >wanted
	diff wanted ours && diff wanted theirs || {
		cat reasons
		return 1
	}
}

@test "the second reader prints the vectors that the program is tested with" {
	bloomdedup create -n 100 filter
	# The vectors' secret and shape instead of the filter's.
	{ # 192 bytes from 00 to bf
		for ((i = 0; i < 192; i++)); do printf '%02x' "$i"; done
	} >secret
	"$HELPER" poke filter 128 "$(cat secret)"
	for slot in 4096 8192; do
		# the end of the layer, 1000 pages, k = 20, t = 3
		"$HELPER" poke filter $((slot + 32)) 00b03e0000000000
		"$HELPER" poke filter $((slot + 64 + 8)) e803000000000000
		"$HELPER" poke filter $((slot + 64 + 48)) 1400000003000000
	done
	truncate -s $((1003 * 4096)) filter
	"$HELPER" fix-crc filter
	bloomdedup info filter >out
	vectors=$ROOT/tests/unit/vectors.txt
	perl -ne 'print pack("H*", (split /\t/)[0]), "\n" unless /^#/' "$vectors" \
		>keys
	reader --vectors filter <keys >printed
	grep -v '^#' "$vectors" | diff - printed
}

@test "one layer has the same members for both readers" {
	seq 10000 >lines
	seq 1 2 10000 | bloomdedup add -f filter
	same_members filter lines
	[ "$(wc -l <ours)" -eq 5000 ]
}

@test "several layers have the same members for both readers" {
	seq 1 2 10000 | bloomdedup add -f filter -n 500
	[ "$(bloomdedup info --json filter | grep -o cache_lines | wc -l)" -ge 4 ]
	seq 10000 >lines
	same_members filter lines
	[ "$(wc -l <ours)" -ge 5000 ]
}

@test "at every error rate both readers make the same mistakes" {
	seq "$(short_or_long 3000 10000)" >lines
	rates=(0.5 0.1 1e-2 1e-4 1e-8 1e-12)
	for p in "${rates[@]}"; do
		seq 1 2 10000 | bloomdedup add -f "$p" -p "$p" -n 5000
	done
	seq 1 2 10000 | bloomdedup add -f fixed -p 0.1 -n 5000 --on-full=fail
	each_has_same_members lines "${rates[@]}" fixed
	for p in "${rates[@]}" fixed; do
		[ "$(wc -l <"$p.ours")" -ge $(($(wc -l <lines) / 2)) ]
	done
	# so that there are mistakes to agree on
	[ "$(wc -l <0.5.ours)" -gt "$(short_or_long 1530 5100)" ]
}

@test "lines that end in NUL have the same members for both readers" {
	printf 'a\nb\0c\0\0' | bloomdedup add -z -f filter
	printf 'a\0a\nb\0\0x\0c' >lines
	same_members filter lines
	printf 'a\nb\0\0c\0' | cmp - ours
}

@test "a part has the same members for both readers" {
	seq 5000 >lines
	seq 1 2 5000 | bloomdedup add -f filter --part=3/5
	seq 1 2 5000 | bloomdedup add -f fields --part=3/5 -k1 -i -w3
	each_has_same_members lines filter fields
	[ -s filter.ours ] && [ -s fields.ours ]
	# of each vector in the manual
	printf '%s\n' '' a https://www.debian.org/ "$(printf '%300s' | tr ' ' x)" |
		reader --parts 1000 >parts
	grep -A 4 '^(the empty key)' "$ROOT/man/bloomdedup.5" |
		sed -E 's/.* ([0-9]+) +[0-9]+$/\1/; /^[^0-9]/d' | cmp - parts
}

@test "a window has the same members for both readers" {
	seq 10000 >lines
	seq 1 2 10000 | bloomdedup add -f filter --window=1000
	same_members filter lines
	[ "$(wc -l <ours)" -ge 1000 ]
	[ "$(wc -l <ours)" -le 1252 ]
}

@test "a window of time has the same members for both readers" {
	needs_faketime
	seq 4000 >lines
	seq 1 2 2000 | faketime -f "2026-01-01 00:00:00" \
		"$BLOOMDEDUP" add -f days -n 2000 --window=4d
	seq 2001 2 4000 | faketime -f "2026-01-03 00:00:00" \
		"$BLOOMDEDUP" add -f days
	for day in 03 05 07 09; do
		faketime -f "2026-01-$day 00:00:00" \
			"$BLOOMDEDUP" check -f days lines >ours || [ $day = 09 ]
		faketime -f "2026-01-$day 00:00:00" \
			python3 -S "$ROOT/tests/format/reader.py" days \
			<lines >theirs || [ $day = 09 ]
		cmp ours theirs
	done
	[ ! -s theirs ]
}

@test "both readers refuse the same windows" {
	bloomdedup create --window=400 filter
	local at number want other all=()
	while read -r at number want; do
		other="$want: $at $number"
		cp filter "$other"
		"$HELPER" poke "$other" "$at" "$number"
		# in both slots
		[ "$at" -lt 4096 ] ||
			"$HELPER" poke "$other" $((at + 4096)) "$number"
		"$HELPER" fix-crc "$other"
		all+=("$other")
	done < <(some 3 <<-'END'
		16 00 refused
		16 02 refused
		88 00 refused
		88 01 taken
		88 03 refused
		92 01 refused
		96 92 refused
		96 8c refused
		96 0000000000000000 refused
		96 0000000000002000 refused
		96 0400000000002000 refused
		104 01 refused
		4096 62646c6179657273 refused
		4128 0050000000000000 refused
		4128 0040000000000000 taken
		4217 00 refused
		4217 02 refused
		7744 05 taken
		7744 ffffffffffffff1f taken
		7744 0000000000000020 refused
		7752 01 refused
		7752 ffffffffffffffff taken
		7760 01 taken
		7760 ffffffffffffffff refused
		7768 01 refused
		7936 00 refused
		7936 02 refused
		7940 01 refused
		8180 01 refused
	END
	)
	same_verdicts "${all[@]}"
}

# any_bytes SEED N: N bytes that lines, fields and keys are made of
any_bytes() {
	perl -e 'srand shift; my @bytes = map { chr }
		unpack "C*", qq(aAbB,,;; """\r\n\n\t\0\013-\xc3\x84);
		print $bytes[rand @bytes] for 1 .. shift' "$@"
}

@test "with every key option both readers find the same keys" {
	local options all=()
	any_bytes 1 200 >some
	any_bytes 2 "$(short_or_long 1500 6000)" >lines
	while read -r options; do
		# shellcheck disable=SC2086 # words
		bloomdedup create -n 1000 $options "./$options"
		bloomdedup add -f "./$options" some
		all+=("./$options")
	done < <(some 3 <<-'END'
		--strip-cr
		--trim
		-z --trim
		-k 1
		-k 2
		-k 1,3
		-k 2-
		-k -2,4- -z
		-k 1 -t ,
		-k 2 -t ,
		-k 1,3 -t ;
		-k 2- -t a
		-k 1-2,4- -t \t -z
		-k 1- -t \0
		-s 2
		-w 3
		-s 1 -w 1
		-i
		--csv -k 1
		--csv -k 2
		--csv -k 1,3
		--csv -k 2- -t ;
		--csv -k 1- -z
		--csv -k -2 --trim --strip-cr -i
		--csv -k 2 -s 1 -w 2
		--csv -k 1,3 -s 2
		--csv -k 1- -w 3
		--csv -k 1-2,4- -t ; -s 1 -w 3 -i
		-t ; -k 1,2 --trim --strip-cr -s 1 -w 3 -i
		--keep-empty
		--csv -k 2 --trim-fields --keep-empty
		--csv -k 1-3 --trim-fields -s 1
		-t ; -k 2 --trim-fields -i
		-t , -k 1-2,4 --trim-fields -w 3
		-k 2 --trim-fields --keep-empty
		-k 1-3 --trim-fields -z
		--csv
	END
	)
	each_has_same_members lines "${all[@]}"
}

@test "both readers leave the byte order mark out of the first field" {
	local options all=()
	perl -e 'srand 3; my @pieces = ("\xef\xbb\xbf", "\xef", "\xbb\xbf", q("),
		q(a"), ",", "a", "b", "\n", "\n"); print $pieces[rand @pieces]
		for 1 .. 3000' >lines
	head -c 500 lines >some
	while read -r options; do
		# shellcheck disable=SC2086 # words
		bloomdedup create -n 1000 $options "./$options"
		bloomdedup add -f "./$options" some
		all+=("./$options")
	done <<-'END'
		--csv
		--csv -k 1
		--csv -k 1,2
	END
	each_has_same_members lines "${all[@]}"
}

@test "the second reader refuses key recipes that are not in one spelling" {
	bloomdedup create -n 100 filter -k 1,3 -t , -w 5
	cp filter taken
	local text n=0
	for text in $'key=1,3\nfield-separator=2C\ncheck-chars=5\n' \
		$'key=1,3\nfield-separator=2c\ncheck-chars=05' \
		$'field-separator=2c\nkey=1,3\ncheck-chars=5\n' \
		$'key=0,3\nfield-separator=2c\ncheck-chars=5\n' \
		$'key=1,3\nfield-separator=2c\ncheck-words=5'; do
		n=$((n + 1))
		cp filter "refused $n"
		"$HELPER" poke "refused $n" 320 "$(printf '%s' "$text" |
			od -An -v -tx1 | tr -d ' \n')"
		"$HELPER" fix-crc "refused $n"
	done
	same_verdicts taken "refused "*
}

@test "both readers draw the line at the same numbers" {
	bloomdedup create -n 100 filter
	local what number want at other all=()
	while read -r what number want; do
		other="$want: $what $number"
		cp filter "$other"
		case $what in
		capacity) "$HELPER" poke "$other" 48 "$number" ;;
		*) # in both slots
			at=${what#*:}
			"$HELPER" poke "$other" $((4096 + at)) "$number"
			"$HELPER" poke "$other" $((8192 + at)) "$number"
			;;
		esac
		"$HELPER" fix-crc "$other"
		all+=("$other")
	done < <(some 3 <<-'END'
		capacity 0000000000000000 refused
		capacity 0100000000000000 taken
		capacity 0000000000002000 taken
		capacity 0100000000002000 refused
		capacity ffffffffffffffff refused
		generation:8 0000000000000000 refused
		generation:8 ffffffffffffff7f taken
		generation:8 0000000000000080 taken
		generation:8 feffffffffffffff taken
		generation:8 ffffffffffffffff refused
		layer:80 0000000000000000 refused
		layer:80 0000000000002000 taken
		layer:80 0100000000002000 refused
		pages:72 0000000000000000 refused
		pages:72 edffffffffff0100 refused
		pages:72 0000000000000010 refused
	END
	)
	same_verdicts "${all[@]}"
}

@test "a run that adds keys refuses a generation of 2^63, as the page says" {
	bloomdedup create -n 100 filter
	"$HELPER" poke filter 4104 ffffffffffffff7f
	"$HELPER" fix-crc filter
	cp filter other
	echo a | bloomdedup add -f other
	"$HELPER" poke filter 4104 0000000000000080
	"$HELPER" fix-crc filter
	cp filter other
	fails 3 'wrong serial number' bloomdedup add -f other /dev/null
	cmp filter other
	mv filter taken
	same_verdicts taken
}

@test "the longest file that a slot may speak of" {
	bloomdedup create -n 100 filter
	# longest PAGES REASON VALID: no file here has that length, so what
	# is wrong with it says what is thought of the slots
	longest() {
		cp filter other
		for slot in 4096 8192; do
			"$HELPER" poke other $((slot + 72)) "$1"
			"$HELPER" poke other $((slot + 32)) "$(perl -e '
				print unpack "H*", pack "Q<", 4096 * (3 +
				unpack "Q<", pack "H*", shift)' "$1")"
		done
		"$HELPER" fix-crc other
		fails 3 "$2" bloomdedup info other
		python - "$ROOT/tests/format" other >valid <<-'END'
			import sys
			sys.path.insert(0, sys.argv[1])
			sys.dont_write_bytecode = True
			import reader
			data = open(sys.argv[2], "rb").read()
			slot = reader.read_slot(data[4096:8192], data[24:40])
			print(slot is not None)
		END
		[ "$(cat valid)" = "$3" ]
	}
	# 2^61 - 2^16 bytes, and a page more
	longest edffffffffff0100 'should have 2305843009213628416' True
	longest eeffffffffff0100 'table of layers is wrong' False
}

# recipe FILTER TEXT: its header gets it.
recipe() {
	local hex
	hex=$(printf %b "$2" | od -An -v -tx1 | tr -d ' \n')
	"$HELPER" poke "$1" 84 "$(printf '%02x%02x' \
		$((${#hex} / 2 % 256)) $((${#hex} / 512)))"
	"$HELPER" poke "$1" 320 "$hex"
	"$HELPER" fix-crc "$1"
}

@test "both readers know the same key recipes" {
	bloomdedup create -n 100 empty
	local want text many all=()
	many=$(seq -s , 1 2 63)
	while read -r want text; do
		cp empty "$want: $text"
		recipe "$want: $text" "$text"
		all+=("$want: $text")
	done < <(some 3 <<-END
		taken skip-chars=18446744073709551614\n
		refused skip-chars=18446744073709551615\n
		refused skip-chars=18446744073709551616\n
		taken check-chars=18446744073709551615\n
		refused check-chars=18446744073709551616\n
		taken key=1\ntrim-fields\n
		refused trim-fields\n
		refused trim-fields\nkey=1\n
		taken ignore-case\nkeep-empty\n
		refused keep-empty\nignore-case\n
		taken key=1000000000\n
		refused key=1000000001\n
		taken key=1-1000000000\n
		refused key=1-1000000001\n
		refused key=4294967295\n
		taken key=$many\n
		refused key=$many,65\n
		refused key=3,1\n
		refused key=1,2-3\n
		taken key=1,3-4\n
		refused key=2-2\n
		refused key=3-2\n
		refused key=1-,5\n
		taken key=1-2,4-\n
		refused key=1\nfield-separator=0a\n
		taken key=1\nfield-separator=00\n
		refused zero-terminated\nkey=1\nfield-separator=00\n
		taken zero-terminated\nkey=1\nfield-separator=0a\n
		refused field-separator=2c\n
		taken field-separator=2c\ncsv\n
		refused csv\n
		refused key=1\ncsv\n
		refused key=1\nfield-separator=22\ncsv\n
		taken key=1\nfield-separator=2c\ncsv\nskip-chars=1\ncheck-chars=2\n
		refused key=1\nfield-separator=2c\ncsv\nskip-data=1\n
		taken key=1-2\nfield-separator=2c\ncsv\nskip-data=1\ncheck-data=2\n
		refused key=1-2\nfield-separator=2c\ncsv\nskip-chars=1\n
		refused key=1,3\nfield-separator=2c\ncsv\ncheck-chars=1\n
		taken field-separator=2c\ncsv\nskip-chars=1\n
		refused key=1,3\nfield-separator=2c\ncheck-data=1\n
		refused check-data=1\n
		taken key=1\nfield-separator=22\n
		taken field-separator=2c\ncsv=backslash\nheader\n
		refused field-separator=5c\ncsv=backslash\n
		taken field-separator=5c\ncsv\n
		refused field-separator=2c\ncsv=\n
		refused field-separator=2c\ncsv=slash\n
		refused csv=backslash\n
		taken url\n
		taken url=form\n
		taken url=form,scheme,www,slash,values,numbers,fragment,tracking\nurl-sort\n
		taken url=tracking\nurl-ignore=a%%zz%%3A\n
		refused url=tracking,form\n
		refused url\nurl-ignore=%%3a\n
		refused url=\n
		refused url=www,form\n
		refused url=form,form\n
		refused url=forms\n
		refused url=form,\n
		refused url=form\nurl\n
	END
	)
	same_verdicts "${all[@]}"
}

# journal FILTER CUT LINE...: write a journal for the filter by the page alone,
# for lines that all belong to its first layer, without its last CUT bytes.
journal() {
	python - "$ROOT/tests/format" "$@" <<-'END'
		import struct, sys, zlib
		sys.path.insert(0, sys.argv[1])
		sys.dont_write_bytecode = True
		import reader
		file_id, secret, recipe = reader.read_header(open(sys.argv[2], "rb").read())
		cut, lines = int(sys.argv[3]), sys.argv[4:]
		def frame(kind, payload):
		    head = b"\x89bdj" + struct.pack("<II", kind, len(payload))
		    crc = zlib.crc32(head + bytes(4) + payload)
		    return head + struct.pack("<I", crc) + payload
		data = frame(1, struct.pack("<I", 1) + file_id)
		digests = [struct.pack("<QQ", *reader.digest_of(
		    recipe.key(line.encode()), secret)) for line in lines]
		for i in range(0, len(digests), 4096):
		    data += frame(2, b"".join(digests[i:i + 4096]))
		data += frame(3, struct.pack("<QIQ", len(lines), 0, len(lines)))
		open(sys.argv[2] + ".journal", "wb").write(data[:len(data) - cut])
	END
}

@test "a complete journal is a part of the filter, and the next run ends it" {
	bloomdedup create -n 100 filter
	printf 'a\nb\nc\n' >lines
	journal filter 0 a b
	bloomdedup check -f filter lines | cmp - <(printf 'a\nb\n')
	[ -e filter.journal ]
	bloomdedup -f filter lines >out 2>messages
	echo c | cmp - out
	grep -q 'filter: finishing an earlier run: 2 lines' messages
	[ ! -e filter.journal ]
	same_members filter lines
	cmp ours lines
}

@test "a journal that is not complete doesn't count, and goes" {
	printf 'a\nb\nc\n' >lines
	bloomdedup create -n 100 empty
	journal empty 0 a b
	# in the commit, at its beginning, in the digests, in the begin
	for cut in 1 36 37 84 85 115; do
		cp empty filter
		head -c -$cut empty.journal >filter.journal
		run -1 bloomdedup check -f filter lines
		[ -z "$output" ]
		bloomdedup -f filter lines >out
		cmp lines out
		[ ! -e filter.journal ]
	done
}

@test "the journal of another filter is left alone" {
	bloomdedup create -n 100 filter
	bloomdedup create -n 100 other
	journal other 0 a
	mv other.journal filter.journal
	cp filter.journal kept
	fails 3 filter.journal bloomdedup -f filter /dev/null
	cmp kept filter.journal
}

@test "merge refuses a complete journal of what it only reads" {
	bloomdedup create -n 100 first
	bloomdedup create --like=first second
	echo c | bloomdedup add -f second
	printf 'a\nb\nc\n' >lines
	journal first 0 a b
	fails 3 'first: has lines in a journal' \
		bloomdedup merge -o both first second
	[ ! -e both ] && [ -e first.journal ]
	bloomdedup merge -o first first second >out 2>messages
	[ ! -e first.journal ]
	bloomdedup check -f first lines | cmp - lines
	bloomdedup -f first lines | cmp - /dev/null
}

@test "a filter that is replaced takes its journal along" {
	bloomdedup create -n 100 filter
	for cut in 0 37; do
		journal filter $cut a
		bloomdedup create --force -n 200 filter
		echo a | bloomdedup -f filter | cmp - <(echo a)
	done
}

@test "what --atomic writes is a journal as the page says" {
	bloomdedup create -n 10000 filter
	seq 5000 >lines
	bloomdedup -f filter --to-command 'cat >/dev/null; cp *.journal written' \
		lines
	[ ! -e filter.journal ]
	# a full frame of digests, while the last ones wait for theirs
	mapfile -t lines <lines
	journal filter 0 "${lines[@]}"
	cmp <(head -c $((36 + 16 + 4096 * 16)) filter.journal) written
}

@test "keys of every length have the same members for both readers" {
	perl -e 'print "x" x $_, "\n" for 0 .. 600, 1023 .. 1025, 5000' >lines
	bloomdedup add -f filter lines
	same_members filter lines
	cmp ours lines
}

@test "with siphash keys of every length have the same members" {
	perl -e 'print "x" x $_, "\n" for 0 .. 70, 255 .. 257, 1023 .. 1025' >some
	(cat some; seq 3000) >lines
	bloomdedup create --hash=siphash -n 1000 filter
	bloomdedup add -f filter some
	same_members filter lines
	cmp ours some
}

@test "both readers refuse a file that is cut off or damaged" {
	seq 100 | bloomdedup add -f filter -n 100
	head -c 16383 filter >short
	cp filter damaged
	"$HELPER" poke damaged 130 00112233
	for file in short damaged; do
		fails 3 "$file" bloomdedup info "$file"
		run -3 reader "$file" </dev/null
	done
}

# dump_to_file FILE: make the file that the dumps in bloomdedup(5) show. The
# first slot differs from the second one as the page says it does.
dump_to_file() {
	python - "$ROOT/man/bloomdedup.5" "$1" <<-'END'
		import re, sys
		page = open(sys.argv[1]).read()
		page = page[page.index(".Ss A file"):]
		data, at, row, repeat = bytearray(16384), 0, b"", False
		for line in page.splitlines():
		    match = re.fullmatch(r"(\d{7})((?: [0-9a-f]{2}){16})?", line)
		    if match:
		        start = int(match[1])
		        if repeat:
		            for i in range(at, start, 16):
		                data[i:i + 16] = row
		            repeat = False
		        if match[2]:
		            row = bytes.fromhex(match[2])
		            data[start:start + 16] = row
		        at = start + 16
		    elif line == "*":
		        repeat = True
		data[4096:8192] = data[8192:12288]
		data[4104], data[4192] = 1, 0
		crc = re.search(r"CRC-32 is ((?:[0-9a-f]{2} ?){4})", page)[1]
		data[8188:8192] = bytes.fromhex(crc)
		open(sys.argv[2], "wb").write(data)
	END
}

@test "the file that bloomdedup(5) shows is one that the program opens" {
	dump_to_file page
	bloomdedup info --json page >json
	grep -qF '"capacity": 100, "error_rate": 1e-06,' json
	grep -qF '"k": 20, "cache_lines": 3,' json
	grep -qF '"lines": 1,' json
	printf 'hello\nworld\n' >lines
	same_members page lines
	echo hello | cmp - ours
	# it can go on from there, and both slots are right: none was healed
	cp page copy
	echo hello | bloomdedup -f copy >out
	[ ! -s out ]
	cmp page copy
	printf 'hello\nworld\n' | bloomdedup -f copy >out
	echo world | cmp - out
}

@test "what the program makes of that file's lines has the page's shape" {
	dump_to_file page
	bloomdedup create -n 100 made
	for file in page made; do
		# magic to features; capacity to recipe; layer: offset, and
		# capacity to its hint
		dd if="$file" bs=1 count=24 2>/dev/null
		dd if="$file" bs=1 skip=48 count=40 2>/dev/null
		dd if="$file" bs=1 skip=8256 count=8 2>/dev/null
		dd if="$file" bs=1 skip=8272 count=16 2>/dev/null
	done >both
	size=$(stat -c %s both)
	cmp <(head -c $((size / 2)) both) <(tail -c $((size / 2)) both)
}

@test "the keys that bloomdedup(5) shows have the bits that it shows" {
	needs python3
	python3 - "$ROOT/tests/format" "$ROOT/man/bloomdedup.5" <<-'PYTHON'
		import re, sys
		sys.path.insert(0, sys.argv[1])
		sys.dont_write_bytecode = True
		import reader
		page = open(sys.argv[2]).read()
		secret = bytes(range(192))
		def shown(key, layer, text):
		    digest = reader.digest_of(key, secret)
		    number, bits = reader.place(digest, layer)
		    assert "low     %016x" % digest[0] in text, key
		    assert "high    %016x" % digest[1] in text, key
		    assert re.search(r"page    %d$" % number, text, re.M), key
		    lines = {}
		    for line, lane, bit in bits:
		        lines.setdefault(line, []).append("%d:%d" % (lane, bit))
		    for line, cells in lines.items():
		        row = re.search(r"^line %d +(.*)$" % line, text, re.M)
		        assert row[1].split() == cells, (key, line)
		    return lines
		vectors = page[page.index(".Ss Test vectors"):page.index(".Ss A file")]
		parts = vectors.split(".Bd ")[1:]
		assert len(parts) == 4
		for key, text in zip((b"", b"a", b"https://www.debian.org/", b"x" * 300), parts):
		    shown(key, (0, 1000, 20, 3), text)
		low, high = reader.digest_of(b"", secret)
		assert low == high
		lines = shown(b"hello", (12288, 1, 20, 3), page[page.index(".Ql hello .\nIts digest"):])
		assert sorted(lines) == [1, 28, 44] and "0:27" in lines[1]
		assert [12288 + 64 * n for n in (1, 28, 44)] == [12352, 14080, 15104]
	PYTHON
}
