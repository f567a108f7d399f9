# The filter file speaks for itself; one that is not right is refused, with a
# message that names it, and is left as it was.
load ../common

# refused FILE TEXT: no command accepts it, all say TEXT and its name, and no
# byte of it changes.
refused() {
	local file=$1 text=$2
	echo line >line
	cp "$file" refused.copy
	fails 3 "$text" bloomdedup -f "$file" line
	is_message fails.err "$file: "
	fails 3 "$text" bloomdedup add -f "$file" line
	fails 3 "$text" bloomdedup check -f "$file" line
	is_message fails.err "$file: "
	fails 3 "$text" bloomdedup info "$file"
	fails 3 "$text" bloomdedup info --json "$file"
	cmp refused.copy "$file"
	no_leftovers
}

@test "a missing filter: made on first use, but not by check and info" {
	echo a >line
	fails 3 'missing: ' bloomdedup check -f missing line
	fails 3 'missing: ' bloomdedup info missing
	fails 3 'no/directory: No such file' bloomdedup -f no/directory line
	fails 3 'line/seen: Not a directory' bloomdedup -f line/seen line
	fails 3 'line/seen: Not a directory' bloomdedup create line/seen
	[ ! -e missing ]
	no_leftovers
}

@test "a new filter can't have the name of a journal" {
	echo a >line
	echo b | bloomdedup -f other
	for name in seen.journal ./.journal; do
		fails 2 'cannot end in .journal' bloomdedup -f $name line
		fails 2 'cannot end in .journal' bloomdedup add -f $name line
		fails 2 'cannot end in .journal' bloomdedup create $name
		fails 2 'cannot end in .journal' bloomdedup merge -o $name other
		[ ! -e $name ]
	done
	no_leftovers
	bloomdedup create journal
	bloomdedup create seen.journals
}

@test "a name as long as there can be, for which none is left for a journal" {
	name=$(printf '%0255d' 7)
	echo a >line
	[ "$(bloomdedup -f "$name" line)" = a ]
	bloomdedup check -f "$name" line
	bloomdedup info "$name" | grep -q 'remembers'
	fails 3 "$(reason ENAMETOOLONG)" bloomdedup --atomic -f "$name" line
	[ -z "$(bloomdedup -f "$name" line)" ]
	no_leftovers
}

@test "a filter that may not be read or written" {
	become_nobody
	bloomdedup() {
		"${as_nobody[@]}" ./program "$@"
	}
	echo a | bloomdedup -f seen
	echo a >line
	chmod 400 seen
	fails 3 'seen: Permission denied' bloomdedup -f seen line
	bloomdedup check -f seen line
	chmod 0 seen
	fails 3 'seen: Permission denied' bloomdedup check -f seen line
	fails 3 'seen: Permission denied' bloomdedup info seen
	"${as_nobody[@]}" mkdir -m 500 directory
	fails 3 'directory/seen: Permission denied' bloomdedup -f directory/seen line
}

@test "files of other kinds are refused and not touched" {
	: >empty
	refused empty 'empty: not a bloomdedup filter: the file is empty; once it is removed, a run makes a new filter'
	echo 'https://example.org/' >text
	refused text 'not a bloomdedup filter'
	seq 1 10000 >text
	refused text 'not a bloomdedup filter'
	head -c 20000 /dev/zero >zeros
	refused zeros 'not a bloomdedup filter'
	printf '\x89PNG\r\n\x1a\n' >png
	refused png 'not a bloomdedup filter'
	echo a | bloomdedup -f seen
	sed 's/\r$//' seen >as-text
	refused as-text 'damaged'
}

@test "a directory, a pipe, a device and a socket are refused" {
	mkdir directory
	mkfifo pipe
	echo a >line
	for command in '' add check; do
		# shellcheck disable=SC2086
		{
			fails 3 'directory: Is a directory' \
				bloomdedup $command -f directory line
			fails 3 'pipe: ' bloomdedup $command -f pipe line
			fails 3 '/dev/null: ' bloomdedup $command -f /dev/null line
		}
	done
	fails 3 'directory: Is a directory' bloomdedup info directory
	fails 3 'pipe: ' bloomdedup info pipe
	fails 3 '/dev/null: ' bloomdedup info /dev/null
	fails 3 'directory: ' bloomdedup create directory
	fails 3 'directory: ' bloomdedup create --force directory
	fails 3 'pipe: ' bloomdedup create pipe
	null_device
	fails 3 'null: ' bloomdedup create --force null
	[ -d directory ]
	[ -p pipe ]
	[ -c /dev/null ]
	no_leftovers
}

@test "symbolic links: followed to a filter, not to nowhere" {
	echo a | bloomdedup -f seen
	ln -s seen link
	echo a >line
	bloomdedup -f link line >out
	[ ! -s out ]
	[ -L link ]
	ln -s nowhere dangling
	fails 3 'dangling: ' bloomdedup -f dangling line
	fails 3 'dangling: ' bloomdedup check -f dangling line
	reason='dangling: a symbolic link to a missing file; remove the link'
	fails 3 "$reason" bloomdedup create dangling
	fails 3 "$reason" bloomdedup create --force dangling
	fails 3 "$reason" bloomdedup merge --force -o dangling seen seen
	[ ! -e nowhere ]
	[ -L dangling ]
	ln -s loop loop
	fails 3 'loop: ' bloomdedup -f loop line
	no_leftovers
}

@test "a filter that was cut short is refused, at any length" {
	bloomdedup create -n 1000 whole
	"$HELPER" lines 5000 | bloomdedup add -f whole
	size=$(stat -c %s whole)
	for length in 1 2 7 8 11 12 13 127 128 4095 4096 4097 8191 8192 8193 \
		12287 12288 12289 $((size / 2)) $((size - 4096)) \
		$((size - 4095)) $((size - 1)); do
		head -c $length whole >cut
		refused cut ''
	done
	steps=$(short_or_long 10 200)
	for ((length = 97; length < size; length += size / steps)); do
		head -c $length whole >cut
		cp cut copy
		fails 3 'cut: ' bloomdedup -f cut whole
		fails 3 'cut: ' bloomdedup check -f cut whole
		cmp copy cut
	done
}

@test "bytes behind the filter are the leftovers of a crash, and cut off by growth" {
	"$HELPER" lines 50 >few
	"$HELPER" lines 3000 9 >in
	# a run that shares the filter does not write a layer's pages in advance
	for mode in '' --shared; do
		bloomdedup create --force -n 100 -p 1e-9 seen
		bloomdedup add -f seen few
		# all bits are set: in a layer with these, every line would be known
		head -c 400000 /dev/zero | tr '\0' '\377' >>seen
		bloomdedup check -f seen few | cmp few -
		bloomdedup ${mode:+"$mode"} -f seen in | cmp in -
		bloomdedup check -f seen in | cmp in -
	done
}

# unharmed FILE: a filter of `in` after damage: it is refused and not touched,
# or whole. Anything else, a crash above all, is wrong.
unharmed() {
	local status=0
	cp "$1" before
	bloomdedup check -v -f "$1" in >out 2>err || status=$?
	cmp before "$1"
	if [ "$status" -eq 3 ]; then
		is_message err "$1: "
		status=0
		bloomdedup -f "$1" in >out 2>err || status=$?
		[ "$status" -eq 3 ]
		[ ! -s out ]
		cmp before "$1"
		return 0
	fi
	[ "$status" -eq 1 ]
	[ ! -s out ]
	[ ! -s err ]
	bloomdedup -f "$1" in >out
	[ ! -s out ]
}

@test "a flipped bit in the header is detected" {
	bloomdedup create -n 100 whole
	"$HELPER" lines 50 >in
	bloomdedup add -f whole in
	cp whole seen
	step=$(short_or_long 8 1)
	flip_each() {
		for ((at = 0; at < 4096; at += at < 128 ? step : 41 * step)); do
			"$HELPER" flip seen $at $((at % 8))
			fails 3 'seen: ' bloomdedup check -f seen in || return 1
			fails 3 'seen: ' bloomdedup -f seen in || return 1
			"$HELPER" flip seen $at $((at % 8))
			cmp whole seen || return 1
		done
	}
	untraced flip_each
	"$HELPER" flip seen 4095 7
	fails 3 'seen: ' bloomdedup check -f seen in
	"$HELPER" flip seen 4095 7
	cmp whole seen
}

@test "a flipped bit in one slot: the other one counts, and heals it" {
	bloomdedup create -n 100 whole
	"$HELPER" lines 500 >in
	bloomdedup add -f whole in
	# what each of them says alone
	for slot in 1 2; do
		cp whole seen
		"$HELPER" poke seen $(((3 - slot) * 4096)) 0000000000000000
		bloomdedup info --json seen >says.$slot
	done
	step=$(short_or_long 3 1)
	for ((at = 4096; at < 12288; at += step * ((at - 4096) % 4096 < 200 ?
		7 : 331))); do
		cp whole seen
		"$HELPER" flip seen $at $((at % 8))
		bloomdedup info --json seen >says
		cmp says.$((at < 8192 ? 2 : 1)) says
		unharmed seen
		# that run wrote to it, so both slots are right: lose the other
		other=$((at < 8192 ? 8192 + 100 : 4096 + 100))
		"$HELPER" flip seen $other 3
		bloomdedup check -f seen in >out
		cmp in out
	done
}

@test "both slots damaged: refused" {
	bloomdedup create -n 100 seen
	"$HELPER" flip seen 4100 0
	"$HELPER" flip seen 8200 0
	refused seen 'damaged'
}

@test "one slot left, and a file longer than it says: refused" {
	bloomdedup create -n 100 seen
	"$HELPER" lines 1000 >in
	bloomdedup add -f seen in
	head -c 4095 /dev/zero >>seen
	printf x >>seen
	"$HELPER" flip seen 8200 0
	refused seen 'longer'
}

@test "one slot left, and zeros behind what it says: it was about to grow" {
	bloomdedup create -n 100 seen
	"$HELPER" lines 1000 >in
	bloomdedup add -f seen in
	cp seen whole
	head -c 100000 /dev/zero >>seen
	"$HELPER" flip seen 8200 0
	bloomdedup check -f seen in | cmp - in
	[ "$(bloomdedup -f seen in | wc -l)" -eq 0 ]
	"$HELPER" lines 5000 >more
	bloomdedup add -f seen more
	bloomdedup check -f seen more | cmp - more
}

@test "one slot knows a layer that the file doesn't have: it was about to grow" {
	bloomdedup create -n 100 -p 1e-12 seen
	"$HELPER" lines 100 >in
	bloomdedup add -f seen in
	size=$(wc -c <seen)
	cp seen grown
	"$HELPER" lines 1000 >more
	bloomdedup add -f grown more
	# the slot of the grown filter, whose serial number is larger
	old=$(od -An -tu8 -j 4104 -N 8 seen) new=$(od -An -tu8 -j 8200 -N 8 seen)
	slot=$((old < new ? 1 : 2))
	newest=$(od -An -tu8 -j 4104 -N 8 grown)
	other=$(od -An -tu8 -j 8200 -N 8 grown)
	dd if=grown of=seen bs=4096 count=1 conv=notrunc 2>err \
		skip=$((newest > other ? 1 : 2)) seek=$slot
	[ "$(wc -c <seen)" -eq "$size" ]
	bloomdedup check -f seen in | cmp - in
	bloomdedup add -f seen more
	bloomdedup check -f seen more | cmp - more
	# and with both slots it is a filter that was cut off
	cp grown seen
	truncate -s "$size" seen
	refused seen 'cut short'
}

@test "a slot from another filter doesn't count" {
	bloomdedup create -n 100 one
	bloomdedup create -n 100 two
	cp one seen
	dd if=two of=seen bs=4096 skip=1 seek=1 count=2 conv=notrunc 2>err
	refused seen 'damaged'
}

@test "a newer version is refused in words" {
	bloomdedup create -n 100 seen
	"$HELPER" poke seen 12 02000200
	"$HELPER" fix-crc seen
	refused seen 'newer version'
}

@test "a version that is newer to write can be read" {
	bloomdedup create -n 100 seen
	echo a >line
	bloomdedup add -f seen line
	"$HELPER" poke seen 14 0200
	"$HELPER" fix-crc seen
	cp seen copy
	bloomdedup check -f seen line >out
	cmp line out
	bloomdedup info seen >out
	fails 3 'newer version' bloomdedup -f seen line
	cmp copy seen
}

@test "unknown features: required ones are refused, optional ones can be read" {
	for bit in 02000000 00000080; do
		rm -f seen
		bloomdedup create -n 100 seen
		"$HELPER" poke seen 16 $bit
		"$HELPER" fix-crc seen
		refused seen 'newer version'
		rm -f seen
		bloomdedup create -n 100 seen
		echo a >line
		bloomdedup add -f seen line
		"$HELPER" poke seen 20 $bit
		"$HELPER" fix-crc seen
		cp seen copy
		bloomdedup check -f seen line >out
		cmp line out
		fails 3 'newer version' bloomdedup -f seen line
		cmp copy seen
	done
}

@test "a later run that contradicts the filter is told both, and changes nothing" {
	echo a >line
	bloomdedup -f seen -n 5000 -p 0.001 line
	cp seen copy
	# -n is a hint
	bloomdedup -f seen -n 6000 /dev/null
	fails 2 '0.001' bloomdedup -f seen -p 1e-9 line
	grep -q '1e-09\|1e-9' fails.err
	fails 2 'newline' bloomdedup -f seen -z line
	grep -q 'zero-terminated' fails.err
	fails 2 'zero-terminated' bloomdedup check -f seen -z line
	cmp copy seen
	bloomdedup -f fixed -n 5000 --on-full=fail line
	cp fixed copy
	fails 2 '--on-full=fail' bloomdedup -f fixed --on-full=grow line
	grep -q -e '--on-full=grow' fails.err
	cmp copy fixed
	# what says the same is no contradiction
	bloomdedup -f seen -n 5e3 -p 0.1% line
	bloomdedup -f seen -n 5k -p 1/1000 --on-full=grow line
	bloomdedup -f fixed -n 5000 --on-full=fail line
	bloomdedup -z -f zeros line >/dev/null
	bloomdedup -z -f zeros line >/dev/null
	bloomdedup check -z -f zeros line >/dev/null
}

@test "mode 0600 less the umask" {
	for mask in 000 022 077 177; do
		(
			umask $mask
			rm -f seen other
			"$BLOOMDEDUP" create -n 100 seen
			[ "$(stat -c %a seen)" = 600 ]
			echo a | "$BLOOMDEDUP" -f other -n 100
			[ "$(stat -c %a other)" = 600 ]
		)
	done
	umask 277
	bloomdedup create -n 100 readonly
	[ "$(stat -c %a readonly)" = 400 ]
}

@test "create never overwrites without --force" {
	echo precious >file
	cp file copy
	fails 3 'file: ' bloomdedup create file
	cmp copy file
	echo a | bloomdedup -f seen
	cp seen copy
	fails 3 'seen: ' bloomdedup create seen
	cmp copy seen
	fails 3 'seen: ' bloomdedup create -n 1e15 --force seen
	cmp copy seen
	bloomdedup create --force seen
	echo a | bloomdedup -f seen >out
	echo a | cmp - out
	bloomdedup create --force file
	bloomdedup info file >out
	bloomdedup create --force new
	bloomdedup info new >out
	no_leftovers
}

@test "a disk that is too small: no space left, and nothing is left behind" {
	small_disk 1m
	echo a >line
	for arguments in 'create disk/seen' '-f disk/seen line' \
		'add -f disk/seen line' 'create -n 1e9 disk/seen'; do
		status=0
		# shellcheck disable=SC2086
		bloomdedup $arguments >out 2>err || status=$?
		cat err
		[ "$status" -eq 3 ] || break
		[ ! -s out ] || break
		[ "$(wc -l <err)" -eq 1 ] || break
		grep -q '^bloomdedup: disk/seen: No space left' err || break
		[ -z "$(ls -A disk)" ] || break
	done
	left=$(ls -A disk)
	umount disk
	[ "$status" -eq 3 ]
	[ -z "$left" ]
	[ ! -s out ]
	grep -q '^bloomdedup: disk/seen: No space left' err
}

@test "a filter that was copied with holes onto a disk without room" {
	needs_fault_addresses
	bloomdedup create -n 500000 seen
	small_disk 200k
	cp --sparse=always seen disk/seen
	"$HELPER" lines 300000 >in
	status=0
	bloomdedup -f disk/seen in >out 2>err || status=$?
	umount disk
	cat err
	[ "$status" -eq 3 ]
	[ "$(wc -l <err)" -eq 1 ]
	grep -q '^bloomdedup: disk/seen: ' err
}

@test "a filter that is cut short while it is in use: a message, no silent crash" {
	needs_fault_addresses
	bloomdedup create -n 500000 seen
	mkfifo in
	"$BLOOMDEDUP" -f seen <in >out 2>err 3>&- &
	pid=$!
	exec 7>in
	echo a >&7
	until_true has_bytes 2 out
	truncate -s 12288 seen
	"$HELPER" lines 1000 >&7 || true
	exec 7>&-
	status=0
	wait $pid || status=$?
	[ "$status" -eq 3 ]
	[ "$(wc -l <err)" -eq 1 ]
	grep -q '^bloomdedup: seen: ' err
}

@test "more than can be: a message, and no file" {
	echo a >line
	for n in 1e14 1e15 9007199254740992; do
		fails 3 'seen: ' bloomdedup create -n $n seen
		fails 3 'seen: ' bloomdedup -f seen -n $n line
		status=0
		bloomdedup -n $n -p 1e-12 line >out 2>err || status=$?
		[ "$status" -ne 0 ]
		[ "$(wc -l <err)" -eq 1 ]
		[ ! -e seen ]
		no_leftovers
	done
}

@test "a limit on the file's size while making a filter" {
	echo a >line
	(
		ulimit -f 100
		fails 3 'seen: File too large' bloomdedup -f seen line
		fails 3 'seen: File too large' bloomdedup create seen
	)
	[ ! -e seen ]
	no_leftovers
}

@test "check and info change no byte of the file, on read-only media too" {
	"$HELPER" lines 1000 >in
	bloomdedup -f seen in >out
	cp seen copy
	before=$(stat -c '%Y %Z' seen)
	bloomdedup check -f seen in >out
	cmp in out
	bloomdedup info seen >out
	cmp copy seen
	[ "$(stat -c '%Y %Z' seen)" = "$before" ]
	small_disk 20m
	cp seen disk/seen
	mount -o remount,ro disk
	status=0 other=0
	bloomdedup check -f disk/seen in >out || status=$?
	bloomdedup -f disk/seen in >again 2>err || other=$?
	umount disk
	[ "$status" -eq 0 ]
	cmp in out
	[ "$other" -eq 3 ]
	grep -q '^bloomdedup: disk/seen: Read-only' err
}

@test "nothing new: the file stays as it was" {
	"$HELPER" lines 1000 >in
	bloomdedup -f seen in >out
	cp seen copy
	bloomdedup -f seen in >out
	cmp copy seen
}

@test "the header is written once, whatever runs do" {
	bloomdedup create -n 100 f
	head -c 4096 f >header
	seq 5000 | bloomdedup -f f -q
	seq 9000 | bloomdedup add --shared -f f
	head -c 4096 f | cmp header -
}

@test "no bit of a layer is ever cleared" {
	seq 50 | bloomdedup add -f f -n 100
	tail -c +12289 f >before
	seq 100 | bloomdedup add -f f
	tail -c +12289 f >after
	run ! cmp -s before after
	cmp -l before after |
		perl -ane 'exit 1 if oct($F[1]) & ~oct($F[2]) & 255'
}

@test "a transfer that takes the file for text is noticed" {
	bloomdedup create -n 100 f
	perl -pe 's/\r\n/\n/' f >unix
	perl -pe 's/(?<!\r)\n/\r\n/' f >dos
	perl -pe 's/\n/\r/g' f >mac
	perl -0777 -pe 's/\x1a.*//s' f >short
	perl -pe 'tr/\x80-\xff/\x00-\x7f/' f >seven
	for text in unix dos mac short seven; do
		fails 3 $text bloomdedup check -f $text /dev/null
	done
}
