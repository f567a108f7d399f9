# The filter file is what bloomdedup(5) says: a second reader, written from
# that page alone, finds the same lines in it.
load common

reader() {
	python3 "$ROOT/tests/reader.py" "$@"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	python3 -c 'import mmap, zlib' || skip "python3 is not installed"
}

# same_members FILTER LINES: the second reader finds what check finds, in a
# file of lines of which some are in the filter.
same_members() {
	bloomdedup check -f "$1" "$2" >ours
	reader "$1" <"$2" >theirs
	[ -s ours ]
	cmp ours theirs
}

@test "the second reader prints the vectors that the program is tested with" {
	bloomdedup create -n 100 filter
	# The vectors' secret and shape in place of the filter's.
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
	grep -v '^#' "$vectors" | while IFS=$'\t' read -r line; do
		# a tab is a blank to read, so the empty key is lost to it
		[[ $line =~ ^[0-9a-f]{16}$'\t'[0-9a-f]{16}$'\t' ]] && line=
		printf '%s' "${line%%$'\t'*}" |
			perl -ne 'print pack("H*", $_)'
		echo
	done >keys
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
	seq 10000 >lines
	for p in 0.5 0.1 1e-2 1e-4 1e-8 1e-12; do
		seq 1 2 10000 | bloomdedup add -f "$p" -p "$p" -n 5000
		same_members "$p" lines
	done
	seq 1 2 10000 | bloomdedup add -f fixed -p 0.1 -n 5000 --on-full=fail
	same_members fixed lines
	# so that there are mistakes to agree on
	[ "$(bloomdedup check -f 0.5 lines | wc -l)" -gt 5100 ]
}

@test "lines that end in NUL have the same members for both readers" {
	printf 'a\nb\0c\0\0' | bloomdedup add -z -f filter
	printf 'a\0a\nb\0\0x\0c' >lines
	same_members filter lines
	printf 'a\nb\0\0c\0' | cmp - ours
}

@test "keys of every length have the same members for both readers" {
	perl -e 'print "x" x $_, "\n" for 0 .. 600, 1023 .. 1025, 5000' >lines
	bloomdedup add -f filter lines
	same_members filter lines
	cmp ours lines
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
	python3 - "$ROOT/man/bloomdedup.5" "$1" <<-'END'
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
