# Filter files that somebody made on purpose, with the checksums right: they
# are refused, or are filters that can be worked with. Nothing crashes. And what
# somebody put in the place of a file. Damage that no checksum was repaired
# for is in unit/hostile.c: every bit and every length.
load ../common

# The numbers that parsers trip over, as 8 bytes, little-endian.
numbers='0000000000000000 0100000000000000
	ffffff7f00000000 0000008000000000 0100008000000000
	ffffffff00000000 0000000001000000 0100000001000000
	0100000000002000 0000000000000080 ffffffffffffffff'
# In a short run of the tests, some of them.
few='0100000000002000 ffffffffffffffff'
is_slow || numbers=$few

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

# A program that comes to no end is stopped by this limit of processor seconds:
# timeout(1) before each would be as much work as the program.
ulimit -S -t 60

# survives NAME [COPY]: info, check and a run on the filter `seen`, or on COPY as
# `seen`, crash nowhere, and are of one mind about it; what they refuse is one
# line of a message, and no byte of the file is changed.
survives() {
	local name=$1 before=${2-before} command status refused=0
	if [ $# -eq 2 ]; then
		cp "$2" seen
	else
		cp seen before
	fi
	for command in info 'info --json' 'check -f' add; do
		set -- seen
		case $command in
		check*) set -- seen in ;;
		add) set -- --lock-timeout=5 -f seen in ;;
		esac
		status=0
		# shellcheck disable=SC2086
		"$BLOOMDEDUP" $command "$@" >out 2>err || status=$?
		if [ "$status" -ge 124 ]; then
			echo "$name: $command: exit status $status"
			cat err
			return 1
		fi
		case $command$status in
		info*0 | check*[01] | add[04]) continue ;;
		esac
		refused=$((refused + 1))
		if [ "$status" -gt 4 ] || ! is_message err 'seen: ' ||
			[ -s out ]; then
			echo "$name: $command: status $status"
			cat err
			return 1
		fi
	done
	[ $refused -gt 0 ] || return 0
	# add, the last, may have more to say no to than those that only read
	if [ $refused -lt 4 ] &&
		{ [ $refused -gt 1 ] || [[ $status == [04] ]]; }; then
		echo "$name: $refused of 4 commands refused it"
		return 1
	fi
	if ! cmp "$before" seen; then
		echo "$name was refused and changed"
		return 1
	fi
	refusals=$((refusals + 1))
}

# copies_with FILTER: for each line "NUMBER AT..." of `wanted`, a copy of the
# filter with this number at these places, and checksums that fit: copy.1,
# copy.2 and so on.
copies_with() {
	python3 -S -c '
import sys, zlib
filter = open(sys.argv[1], "rb").read()
for i, line in enumerate(open("wanted"), 1):
    number, *places = line.split()
    number, data = bytes.fromhex(number), bytearray(filter)
    for at in map(int, places):
        data[at:at + len(number)] = number
    for end in 4096, 8192, 12288:
        checksum = zlib.crc32(data[end - 4096:end - 4])
        data[end - 4:end] = checksum.to_bytes(4, "little")
    open("copy.%d" % i, "wb").write(data)' "$BATS_FILE_TMPDIR/$1"
}

# each_survives FILTER [COMMAND]: all those copies, and then the command.
each_survives() {
	local number at i=0
	copies_with "$1"
	while read -r number at; do
		survives "$1, $number at $at" copy.$((++i)) || return 1
		"${2:-true}" || return 1
	done <wanted
	[ $i -gt 0 ]
}

# field OFFSET:LENGTH PAGE...: lines of `wanted`, every number for the field
# that is at this offset in each of those pages.
field() {
	local number page offset=${1%:*} nbytes=${1#*:} places=
	shift
	for page; do
		places+=" $((page + offset))"
	done
	for number in $numbers; do
		echo "${number:0:nbytes * 2}$places"
	done
}

# every_field FILTER: every field, every number.
every_field() {
	local field header=$header numbers=$numbers
	refusals=0
	cp "$BATS_FILE_TMPDIR/in" .
	# the header is read before it matters how many layers there are
	[ "$1" = small ] || is_slow || header=
	is_slow || [ "$1" != small ] || numbers+=' 0000000000000000'
	for field in $header; do
		field "$field" 0
	done >wanted
	for field in $slot; do
		field "$field" 4096 8192
	done >>wanted
	untraced each_survives "$1"
	[ $refusals -ge 20 ]
}

@test "every field of a filter of one layer" {
	every_field small
}

@test "every field of a filter of several layers" {
	every_field grown
}

@test "every field of a filter that may not grow" {
	is_slow || skip "long form only"
	every_field one
}

@test "fields of a later layer" {
	cp "$BATS_FILE_TMPDIR/in" .
	refusals=0
	for layer in $(short_or_long 3 "1 2 3"); do
		for field in 0:8 8:8 16:8 24:8 32:8 40:8 48:4 52:4 56:4 60:4; do
			field $field $((4096 + 64 + 64 * layer)) \
				$((8192 + 64 + 64 * layer))
		done
	done >wanted
	untraced each_survives grown
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

# works_or_refused: cut off by the one table, grown by the other.
works_or_refused() {
	local status=0
	bloomdedup info seen >out 2>err || return 0
	bloomdedup -f seen in >out 2>err || status=$?
	# with a serial number that no run comes to it can be read, and is not
	# written to
	if [ "$status" -eq 0 ] || { [ "$status" -eq 3 ] &&
		[[ $at == @(4104|8200) && $(<err) == *"wrong serial number"* ]]
	}; then
		return 0
	fi
	echo "status $status with $number at $at"
	cat err
	return 1
}

@test "slots that contradict each other, both with the right checksum" {
	cp "$BATS_FILE_TMPDIR/in" .
	refusals=0
	for slot in 4096 8192; do
		# generation, file bytes, layers, pages, k
		for field in 8:8 32:8 40:4 72:8 112:4; do
			field $field $slot
		done
	done >wanted
	untraced each_survives grown works_or_refused
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

@test "the largest serial number there can be" {
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

@test "the largest serial number that is written to: the run ends well" {
	cp "$BATS_FILE_TMPDIR/in" .
	cp "$BATS_FILE_TMPDIR/small" seen
	"$HELPER" lines 3000 9 >"more"
	for slot in 4096 8192; do
		"$HELPER" poke seen $((slot + 8)) ffffffffffffff7f
	done
	"$HELPER" fix-crc seen
	bloomdedup add --shared -f seen more
	cp seen before
	fails 3 'wrong serial number' bloomdedup add --shared -f seen in
	cmp before seen
	bloomdedup check -f seen more | cmp - more
}

@test "cut short to any length, at each page and about" {
	cp "$BATS_FILE_TMPDIR/in" .
	for filter in small grown; do
		size=$(stat -c %s "$BATS_FILE_TMPDIR/$filter")
		for ((page = 0; page * 4096 < size; page++)); do
			for offset in 0 1 2048 4095; do
				length=$((page * 4096 + offset))
				[ $length -lt "$size" ] || continue
				is_slow ||
					[ $(((page + offset) % 7)) -eq 0 ] ||
					continue
				cp "$BATS_FILE_TMPDIR/$filter" seen
				truncate -s $length seen
				refusals=0
				untraced survives "$filter cut to $length"
				[ $refusals -eq 1 ]
			done
		done
	done
}

# le64 NUMBER: its 8 bytes, little-endian.
le64() {
	local at hex
	printf -v hex %016x "$1"
	for at in 14 12 10 8 6 4 2 0; do
		printf %s "${hex:at:2}"
	done
}

# in_slots AT HEX: in both slots of `seen`.
in_slots() {
	"$HELPER" poke seen $((4096 + $1)) "$2"
	"$HELPER" poke seen $((8192 + $1)) "$2"
}

# generation PLACE NUMBER BEGIN END
generation() {
	in_slots $((3648 + 24 * $1)) "$(le64 "$2")$(le64 "$3")$(le64 "$4")"
}

# wrong_window NAME refused|taken: `seen` survives it, with --shared and when it
# is served, too.
wrong_window() {
	local mode status
	"$HELPER" fix-crc seen
	cp seen wrong
	refusals=0
	survives "$1"
	[ $refusals -eq "$([ "$2" = taken ] && echo 0 || echo 1)" ]
	for mode in --shared --atomic --sync; do
		cp wrong seen
		status=0
		timeout 20 "$BLOOMDEDUP" add $mode -f seen in 2>err || status=$?
		cat err
		[ "$status" -eq "$([ "$2" = taken ] && echo 0 || echo 3)" ]
	done
}

@test "windows whose fields are wrong: no loop has no end, no sum overflows" {
	local day i
	cp "$BATS_FILE_TMPDIR/in" .
	bloomdedup create --window=400 lines
	bloomdedup create --window=4d -n 1000 days
	cp lines seen
	in_slots 80 "$(le64 10)"
	wrong_window "a layer for fewer lines than a quarter" taken
	cp lines seen
	"$HELPER" poke seen 48 "$(le64 100)"
	wrong_window "another capacity than the window's" refused
	cp lines seen
	generation 1 1 0 0
	in_slots 3840 02000000
	wrong_window "a last generation without layers" refused
	day=$(od -An -td8 -j$((4096 + 3648)) -N8 days | tr -d ' ')
	cp days seen
	generation 0 $((1 << 62)) $((day * 86400)) $(((day + 1) * 86400))
	wrong_window "a border beyond all numbers" refused
	cp days seen
	generation 0 $((1 << 63)) 0 $(((day + 1) * 86400))
	wrong_window "a border before all numbers" refused
	# in its place is the only layer; three of them are over
	cp days seen
	for i in {0..7}; do
		generation "$i" $((day - 8 + i)) $(((day - 8 + i) * 86400)) \
			$(((day - 7 + i) * 86400))
	done
	in_slots 3840 08000000
	in_slots 120 00080000
	wrong_window "eight generations" taken
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

# merges_or_refuses: status 0 to 4, a message if it isn't 0, and what is only
# read stays as it is.
merges_or_refuses() {
	local command status
	cp copy.$i seen
	for command in 'merge -o out.bloom seen' \
		"merge -o out.bloom $BATS_FILE_TMPDIR/grown seen" \
		'create --like=seen like.bloom' '--shared -f seen in'; do
		rm -f out.bloom like.bloom
		[[ $command != --shared* ]] || cmp copy.$i seen || return 1
		status=0
		# shellcheck disable=SC2086
		"$BLOOMDEDUP" $command >out 2>err || status=$?
		if [ "$status" -gt 4 ] ||
			{ [ "$status" -ne 0 ] && ! is_message err; }; then
			echo "$at = $number: $command: $status"
			cat err
			return 1
		fi
	done
}

@test "hostile filters and merge, create --like, --shared" {
	local numbers=$few
	cp "$BATS_FILE_TMPDIR/in" .
	for field in 40:4 64:8 72:8 80:8 112:4; do
		field $field 4096 8192
	done >wanted
	for field in 48:8 56:8 68:4 84:4; do
		field $field 0
	done >>wanted
	ulimit -S -f 1048576
	copies_with grown
	local i=0
	while read -r number at; do
		i=$((i + 1))
		untraced merges_or_refuses
	done <wanted
	[ $i -eq 18 ]
	no_leftovers
}

@test "a filter that is cut short under a run: a message, status 3" {
	needs_fault_addresses
	"$HELPER" lines 20000 >in
	for kind in '' --shared --atomic --sync '-j 2' '-j 16'; do
		rm -rf seen seen.journal pipe part
		bloomdedup create -n 500000 seen
		mkfifo pipe
		# shellcheck disable=SC2086
		"$BLOOMDEDUP" $kind -f seen -o part <pipe 2>err 3>&- &
		pid=$!
		exec 7>pipe
		until_idle $pid
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
		rm -f .bloomdedup-*
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

# planted KIND: put it in the place of the filter `there`.
planted() {
	rm -rf there
	case $1 in
	directory) mkdir there ;;
	full-directory) mkdir there && echo secret >there/file ;;
	fifo) mkfifo there ;;
	socket) perl -MIO::Socket::UNIX -e '
		IO::Socket::UNIX->new(Local => "there", Listen => 1) or die' ;;
	device) mknod there c 1 3 2>/dev/null || ln -s /dev/null there ;;
	nowhere) ln -s missing there ;;
	loop) ln -s there there ;;
	link) ln -s target there ;;
	link-to-directory) ln -s directory there ;;
	link-to-fifo) ln -s fifo there ;;
	esac
	echo secret >target
	planted=$(all_files)
}

# All that is here but what is printed: what it is, and where a link leads to.
all_files() {
	find . -mindepth 1 ! -name out ! -name err ! -name printed \
		-printf '%p %y %m %s %i %l\n'
}

# refused_there COMMAND...: status 2 or 3, one line of a message, no wait, and
# everything is as it was: a filter is never made, and nothing is written,
# through what is planted.
refused_there() {
	local status=0 found
	timeout 20 "$BLOOMDEDUP" "$@" >out 2>err || status=$?
	if { [ "$status" -ne 3 ] && [ "$status" -ne 2 ]; } ||
		! is_message err
	then
		echo "$kind: status $status from $*"
		cat err
		return 1
	fi
	found=$(all_files)
	if [ "$found" != "$planted" ]; then
		echo "$kind: changed by $*:"
		diff <(echo "$planted") <(echo "$found")
		return 1
	fi
}

# each_refuses_it: all that reads or writes a filter.
each_refuses_it() {
	refused_there -f there in &&
		refused_there add -f there in &&
		refused_there --shared -f there in &&
		refused_there --atomic -f there in &&
		refused_there --sync -f there -o printed in &&
		refused_there --to-command=cat -f there in &&
		refused_there check -f there in &&
		refused_there info there &&
		refused_there create there &&
		refused_there create --like=there new &&
		refused_there merge -o there other &&
		refused_there merge -o new other there || return 1
	# --force replaces the file that a link leads to
	case $kind in link | nowhere) return 0 ;; esac
	refused_there create --force there &&
		refused_there merge --force -o there other
}

@test "a foreign file at the filter's path is refused and unchanged" {
	printf 'a\nb\n' >in
	echo secret >target
	mkdir directory
	mkfifo fifo
	bloomdedup add -f other in
	for kind in directory full-directory fifo socket device nowhere loop link \
		link-to-directory link-to-fifo; do
		planted $kind
		untraced each_refuses_it
		[ "$(<target)" = secret ]
	done
}

@test "a link to a filter is followed, and a new filter is made at its target" {
	mkdir directory
	echo a >in
	bloomdedup create -n 100 directory/seen
	ln -s directory/seen there
	for command in '' --atomic --shared; do
		# shellcheck disable=SC2086
		bloomdedup $command -f there in >out
	done
	bloomdedup create --force there
	[ -L there ]
	bloomdedup info directory/seen >out
	[ "$(stat -c %a directory/seen)" = 600 ]
	[ "$(ls -A directory)" = seen ]
}

# modes UMASK: run all that makes files under strace, and print the names and
# modes of those that it made.
modes() {
	umask "$1"
	rm -rf seen* new* file* merged* trace.*
	strace -f -qq -o trace.1 -e trace=openat,open,creat,mkdir \
		"$BLOOMDEDUP" create -n 100 seen || return 1
	strace -f -qq -o trace.2 -e trace=openat,open,creat,mkdir \
		"$BLOOMDEDUP" -f new --atomic -o file in
	strace -f -qq -o trace.3 -e trace=openat,open,creat,mkdir \
		"$BLOOMDEDUP" merge -o merged seen >/dev/null
	strace -f -qq -o trace.4 -e trace=openat,open,creat,mkdir \
		"$BLOOMDEDUP" add --sync -f more in
	as_openat trace.*
	sed -n 's/.*openat(AT_FDCWD, "\([^"]*\)", .*O_CREAT.*, \(0[0-7]*\)) .*/\1 \2/p
		s/.*openat(.*O_TMPFILE.*, \(0[0-7]*\)) .*/.bloomdedup- \1/p
		/openat.*\(O_CREAT\|O_TMPFILE\)/!{ s/^.*\(open(\|creat(\|mkdir(\).*/other &/p; }' \
		trace.*
}

@test "umask 000 or 077: nothing that is made is for others to read" {
	needs_strace
	printf 'a\nb\n' >in
	for mask in 000 077; do
		(modes $mask) >made
		cat made
		# a trial of whether a file without a name can get one
		sed -i '/^\.bloomdedup- 000$/d' made
		# seen, new, merged, more; what becomes `file`; and a journal
		# and a name for an empty file that tells the mode of a new one,
		# which takes no other name where files need none
		grep -v '\.bloomdedup-.* 0666$' made | grep -c '^\(\./\|/.*/\)\?\.bloomdedup-.* 0600$' >count
		[ "$(<count)" -ge 5 ]
		[ "$(<count)" -le 6 ]
		[ "$(grep -c '\.bloomdedup-.* 0666$' made)" -eq 1 ]
		[ "$(grep -c 'new\.journal 0600$' made)" -eq 1 ]
		[ "$(wc -l <made)" -eq $(($(<count) + 2)) ]
		for filter in seen new merged more; do
			[ "$(stat -c %a $filter)" = 600 ]
		done
		# it is no filter, and what the umask says
		[ "$(stat -c %a file)" = "$(printf %o $((0666 & ~mask)))" ]
		rm more
	done
}

@test "every file is opened so that no other program inherits it" {
	needs_strace
	"$HELPER" lines 2000 >in
	gzip <in >in.gz
	head -c 192 /dev/urandom >secret
	count=0
	while read -r arguments; do
		count=$((count + 1))
		# shellcheck disable=SC2086
		strace -qq -o trace.$count \
			-e trace=openat,open,creat,dup,dup2,dup3,fcntl,fcntl64,pipe,pipe2,socket,memfd_create \
			"$BLOOMDEDUP" $arguments >out 2>err </dev/null
		# what comes before is the loader's
		sed -n '/^fcntl.*(0, F_GETFD)/,$p' trace.$count >opened.$count
		grep -q '^open' opened.$count
		if grep -E '^(open|openat|creat|pipe|pipe2)\(' opened.$count |
			grep -v O_CLOEXEC; then
			echo "without O_CLOEXEC: $arguments"
			return 1
		fi
		run ! grep -E '^(dup|socket|memfd)' opened.$count
	done <<-END
		create -n 100 --secret-file=secret first
		create --like=first second
		-f first in
		-f first --shared -o file in.gz
		-f second --atomic --overwrite -o file --duplicates=dropped in
		-f second --sync --overwrite -o file in
		-f third --to-command=cat in
		check -f first in.gz
		info first third
		merge -o merged first second
	END
	echo "$count commands"
	[ $count -eq 10 ]
	grep -q '^pipe' opened.7
}

@test "a command has three open files, and no more" {
	needs_proc
	"$HELPER" lines 2000 >in
	echo old >file
	bloomdedup create -n 100 seen
	for options in '' '--duplicates=dropped' '--progress' '--stats'; do
		# one more is that of ls itself, on the directory that it lists
		# shellcheck disable=SC2086
		perl -MPOSIX -e 'POSIX::close($_) for 3 .. 1023; exec @ARGV' \
			"$BLOOMDEDUP" -f seen $options --to-command='
			ls -l /proc/self/fd >open; cat >got' in \
			2>err
		sed -n 's/.* \([0-9]*\) -> .*/\1/p' open >numbers
		cat open
		printf '%s\n' 0 1 2 3 | cmp - numbers
		grep -q ' 3 -> /proc/' open
		rm seen
		bloomdedup create -n 100 seen
	done
	cmp in got
}
