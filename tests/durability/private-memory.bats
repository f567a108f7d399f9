# Large filters are worked on in private memory, which is written back. What
# large is depends on the machine; BLOOMDEDUP_PRIVATE=FROM,MAX says it: from so
# many bytes a layer, and so many bytes of memory in all.
load ../common

# All of each filter in private memory.
private() {
	BLOOMDEDUP_PRIVATE=0 bloomdedup "$@"
}

# The same, and hardly any memory for it.
cramped() {
	BLOOMDEDUP_PRIVATE=0,300000 bloomdedup "$@"
}

@test "the same lines come out, and are remembered" {
	"$HELPER" lines 20000 >in
	for i in 1 2 3; do
		head -n $((i * 6000)) in
	done >twice
	model twice >model
	for run in private cramped; do
		rm -f seen
		bloomdedup create -n 80000 -p 1e-12 seen
		$run -f seen twice | cmp - model
		all_known twice
		[ "$($run -f seen in | wc -l)" -eq $((20000 - 18000)) ]
		[ "$($run -f seen in | wc -l)" -eq 0 ]
	done
}

@test "the filter is the one that a mapped file becomes, bit for bit" {
	bloomdedup create -n 100000 mapped
	"$HELPER" lines 80000 >in
	for run in private cramped; do
		cp mapped seen
		$run -q -f seen in
		cp mapped other
		BLOOMDEDUP_PRIVATE=1000000000000 bloomdedup -q -f other in
		cmp <(tail -c +12289 seen) <(tail -c +12289 other)
	done
}

# before_reading_all COMMAND...: run it on the filter `seen`, of 40 MB: how
# often is output written before the whole filter is read into memory?
before_reading_all() {
	BLOOMDEDUP_PRIVATE=0 strace -f -qq -y -o trace \
		-e trace=write,pread64 "$@" >out
	awk '
		/write\(1</ { writes++ }
		/pread64\(.*seen>/ && $NF >= 10000000 { print writes + 0; exit }
	' trace
}

# mapped FILTER: KiB of files that are mapped after few new lines
mapped() {
	mkfifo pipe
	# written, and so in the page cache
	cat "$1" >seen
	BLOOMDEDUP_PRIVATE=0 "$BLOOMDEDUP" -f seen <pipe >out 3>&- 7>&- &
	exec 7>pipe
	cat in >&7
	until_true cmp -s in out
	sed -n 's/^RssFile:[^0-9]*\([0-9]*\) kB$/\1/p' /proc/$!/status
	exec 7>&-
	wait $!
	rm pipe
}

@test "few lines are read one by one, with a window, too" {
	needs_proc
	skip_if_sanitized
	skip_if_emulated "how it maps pages"
	"$HELPER" lines 150 >in
	# of 32 MB each
	bloomdedup create -n 7500000 plain
	bloomdedup create -n 3e7 --window=40d window
	plain=$(mapped plain)
	window=$(mapped window)
	echo "$plain $window"
	[ "$window" -lt $((plain + 1000)) ]
}

@test "a file that will change much: the filter is read at once, not late" {
	needs_strace
	"$HELPER" lines 200000 >in
	bloomdedup create -n 1e7 used
	echo used | bloomdedup add -f used # one that was never used is not read
	cp used seen
	early=$(before_reading_all "$BLOOMDEDUP" -f seen in)
	cmp in out
	all_known in
	cp used seen
	mkfifo fifo
	cat in >fifo 3>&- &
	late=$(before_reading_all "$BLOOMDEDUP" -f seen fifo)
	cmp in out
	all_known in
	echo "writes before: $early of a file, $late of a pipe"
	[ "$early" -ge 1 ]
	[ "$early" -lt 10 ]
	[ "$late" -gt 15 ]
	# a file with little that is new doesn't need all of it
	bloomdedup create --force -n 1e7 seen
	head -n 190000 in | bloomdedup -q -f seen
	[ -z "$(before_reading_all "$BLOOMDEDUP" -f seen in)" ]
	tail -n 10000 in | cmp - out
}

@test "filters that grow" {
	"$HELPER" lines 30000 >in
	for run in private cramped; do
		rm -f seen
		bloomdedup create -n 100 -p 1e-12 seen
		$run -f seen in | cmp - in
		all_known in
		[ "$($run -f seen in | wc -l)" -eq 0 ]
		$run -f new -p 1e-12 -n 1000 in | cmp - in
		bloomdedup check -f new in | cmp - in
		rm new
	done
}

@test "what was seen is in the file as soon as the input pauses" {
	bloomdedup create -n 1000 seen
	mkfifo fifo
	private -f seen fifo >out &
	exec 7>fifo
	echo first >&7
	echo first >one
	echo second >two
	until_true bloomdedup check -q -f seen one
	echo second >&7
	until_true bloomdedup check -q -f seen two
	exec 7>&-
	wait $!
	printf 'first\nsecond\n' | cmp - out
}

@test "nor is it held back while a FIFO is waited for" {
	mkfifo pipe
	seq 5000 >in
	BLOOMDEDUP_PRIVATE=0 timeout 100 "$BLOOMDEDUP" -f seen -p 1e-12 \
		in pipe >out 3>&- &
	until_true all_known in
	echo one more >pipe
	wait $!
	{ cat in; echo one more; } | cmp - out
	# the first one, and several
	mkfifo other
	BLOOMDEDUP_PRIVATE=0 timeout 100 "$BLOOMDEDUP" -f seen -p 1e-12 \
		pipe other in >out 3>&- &
	echo a >pipe
	echo a >more
	until_true all_known more
	echo b >other
	wait $!
	printf 'a\nb\n' | cmp - out
}

@test "a signal to stop: what went out is remembered" {
	bloomdedup create -n 100000 -p 1e-12 seen
	"$HELPER" lines 100000 >in
	mkfifo fifo
	"$HELPER" defaults env BLOOMDEDUP_PRIVATE=0 "$BLOOMDEDUP" -f seen \
		fifo >out 7>&- &
	exec 7>fifo
	cat in >&7
	until_true test -s out
	kill -TERM $!
	exec 7>&-
	status=0
	wait $! || status=$?
	[ "$status" -eq 143 ]
	[ -s out ]
	all_known out
}

@test "killed: no line is lost, and the filter is whole" {
	bloomdedup create -n 1000000 -p 1e-12 seen
	"$HELPER" lines 200000 >in
	kills=0
	for i in 1 2 3 4 5 6; do
		"$HELPER" defaults env BLOOMDEDUP_PRIVATE=0 "$BLOOMDEDUP" \
			-f seen in >>out 2>/dev/null 7>&- &
		sleep "0.0$((i * 3 % 10))"
		if kill -KILL $! 2>/dev/null; then
			kills=$((kills + 1))
		fi
		wait $! || true
		bloomdedup info seen >info
	done
	private -f seen in >>out 2>err
	echo "$kills kills"
	# a kill may leave the beginning of a line, which gets a newline
	[ -z "$(comm -23 <(sort -u in) <(sort -u out))" ]
	all_known in
}

@test "a file that is cut off beneath a run is an error" {
	needs_fault_addresses
	bloomdedup create -n 1000000 seen
	"$HELPER" lines 100 >in
	mkfifo fifo
	private -f seen fifo >out 2>err &
	exec 7>fifo
	cat in >&7
	until_true bloomdedup check -q -f seen in
	truncate -s 20000 seen
	"$HELPER" lines 1000 >more
	cat more >&7 || true
	exec 7>&-
	status=0
	wait $! || status=$?
	[ "$status" -eq 3 ]
	[ "$(wc -l <err)" -eq 1 ]
	grep -q '^bloomdedup: seen: .*cut short' err
}

@test "a file that is cut off where nothing is read again is an error, too" {
	mkfifo fifo
	"$HELPER" lines 1000 >in
	for memory in 0,100000000 1000000000,0; do # private, mapped
		for kind in '' --sync --atomic; do
			rm -f seen out
			bloomdedup create -n 10000 seen
			# shellcheck disable=SC2086
			BLOOMDEDUP_PRIVATE=$memory "$BLOOMDEDUP" $kind \
				-f seen -o out fifo 2>err 7>&- &
			exec 7>fifo
			cat in >&7
			until_true written "$kind"
			# the layer's last page, or its second half
			truncate -s $(($(stat -c %s seen) / 2)) seen
			exec 7>&-
			status=0
			wait $! || status=$?
			cat err
			[ "$status" -eq 3 ]
			[ "$(wc -l <err)" -eq 1 ]
			grep -q '^bloomdedup: seen: .*cut short' err
		done
	done
}

# written KIND: the lines of `in` went out, and are marked where they are.
written() {
	case $1 in
	--atomic) has_bytes 36 seen.journal ;;
	--sync) cmp -s in out ;;
	*) bloomdedup check -v -q -f seen in; [ $? -eq 1 ] ;;
	esac
}

@test "a write that fails is an error, and the lines come again" {
	needs_strace
	bloomdedup create -n 100000 -p 1e-12 seen
	"$HELPER" lines 1000 >in
	status=0
	BLOOMDEDUP_PRIVATE=0 strace -qq -o trace -P "$PWD/seen" \
		-e inject=pwrite64:error=EIO:when=2+ \
		"$BLOOMDEDUP" -f seen in >out 2>err || status=$?
	grep -q INJECTED trace
	[ "$status" -eq 3 ]
	[ "$(wc -l <err)" -eq 1 ]
	grep -q "^bloomdedup: seen: $(reason EIO)" err
	cmp in out
	bloomdedup -f seen in >again
	[ -s again ]
	all_known in
}

@test "--sync: the output is on the disk before a bit is in the file" {
	needs_strace
	bloomdedup create -n 100000 seen
	"$HELPER" lines 1000 >in
	BLOOMDEDUP_PRIVATE=0 strace -qq -y -o trace \
		-e trace=pwrite64,fsync,fdatasync \
		"$BLOOMDEDUP" --sync -f seen -o out in
	cmp in out
	# pages of the first layer begin at 12288
	bit=$(grep -nE 'pwrite64\(.*seen>.*, [0-9]{5,}\)' trace |
		awk -F'[, )]+' '$(NF - 2) >= 12288 { print; exit }' |
		cut -d: -f1)
	output=$(grep -nE 'sync\(.*/out>' trace | head -n 1 | cut -d: -f1)
	last=$(grep -nE 'sync\(.*seen>' trace | tail -n 1 | cut -d: -f1)
	[ "$output" -lt "$bit" ]
	[ "$bit" -lt "$last" ]
	all_known in
}

@test "--atomic, merge and their journals" {
	"$HELPER" lines 20000 >in
	head -n 12000 in >some
	tail -n 12000 in >others
	bloomdedup create -n 5000 -p 1e-12 one
	bloomdedup create --like=one two
	private --atomic -f one some | cmp - some
	cramped --atomic -f two others | cmp - others
	private merge -o seen one two >/dev/null
	all_known in
	private -f seen in >out
	[ ! -s out ]
}

@test "what an earlier run left in its journal is known, little or much" {
	bloomdedup create -n 100000 empty
	for lines in 100 20000; do
		"$HELPER" lines $lines >in
		for run in private cramped; do
			cp empty seen
			"$HELPER" journal seen <in
			$run -f seen in >out 2>err
			[ ! -s out ]
			grep -q 'finishing an earlier run' err
			all_known in
		done
	done
}

@test "runs that share a filter use the file itself" {
	"$HELPER" lines 5000 >in
	private --shared --stats=json -n 1000 -p 1e-12 -f seen in >out 2>err
	cmp in out
	grep -q '"private_bytes": 0' err
	private --shared --stats=json -f seen in >out 2>err
	[ ! -s out ]
	grep -q '"private_bytes": 0' err
}

@test "--stats tells how much private memory there is" {
	"$HELPER" lines 10000 >in
	bloomdedup create -n 100000 empty
	bytes=$(($(wc -c <empty) - 12288))
	# all of the filter, since so much of it was changed
	cp empty seen
	private -q --stats=json -f seen in 2>err
	grep -q "\"private_bytes\": $bytes" err
	# what was changed, and no more
	cp empty seen
	head -n 100 in | private -q --stats -f seen 2>err
	few=$(sed -n 's/,//g; s/^private bytes  *\([0-9]*\)$/\1/p' err)
	[ "$few" -gt 6400 ]
	[ "$few" -lt $((bytes / 4)) ]
	head -n 100 in | bloomdedup -q --stats -f seen 2>err || [ $? -eq 1 ]
	grep -qE '^private bytes +0$' err
}

# What is held back is marked all at once.
@test "marks that were held back keep to the memory, too" {
	"$HELPER" lines 30000 >in
	bloomdedup create -n 16000000 empty
	for option in '' --sync --atomic; do
		cp empty seen
		rm -f out
		BLOOMDEDUP_PRIVATE=0,4000000 bloomdedup $option \
			--stats=json -f seen -o out in 2>stats
		cmp in out
		python3 -c '
import json, sys
sys.exit(json.load(open("stats"))["private_bytes"] > 4500000)'
		bloomdedup check -v -f seen in >unknown || true
		[ ! -s unknown ]
	done
}

@test "lines that are inflated already are no pause" {
	needs_strace
	awk 'BEGIN { for (i = 0; i < 400; i++) padding = padding "a"
		for (i = 0; i < 30000; i++) print padding i }' >in
	gzip <in >in.gz # some pieces of a worker, all of it in the pipe
	bloomdedup create -n 200000 seen
	mkfifo pipe
	BLOOMDEDUP_PRIVATE=0 strace -f -qq -o trace -e trace=poll,ppoll \
		"$BLOOMDEDUP" -j 2 -f seen <pipe >out 7>&- &
	exec 7>pipe
	cat in.gz >&7
	until_true cmp -s in out
	exec 7>&-
	wait $!
	# some when there is really nothing; there were 40
	[ "$(grep -c 'Timeout' trace)" -le 4 ]
}

# limited: in little data memory, which private memory counts as.
limited() {
	(
		ulimit -d 20000
		BLOOMDEDUP_PRIVATE=0 exec "$BLOOMDEDUP" "$@"
	)
}

# refused BYTES: where anonymous memory of so many bytes is not to be had.
refused() {
	local bytes=$1
	shift
	rm -f fired
	"${PRELOADED[@]}" REFUSED="$bytes" BLOOMDEDUP_PRIVATE=0 \
		"$BLOOMDEDUP" "$@"
}

@test "where it can't be had there is less of it, or the file is mapped" {
	needs_preload
	"$HELPER" lines 50000 1 >in
	bloomdedup create -n 16e6 empty # 65 MB
	for run in limited 'refused 20000000' 'refused 5000000'; do
		for options in '' --sync --atomic '-j 4'; do
			# what is held back needs that much, too
			[ "$run $options" != 'refused 5000000 --atomic' ] ||
				continue
			cp empty seen
			$run $options -f seen --stats=json in >out 2>stats
			[ "$run" = limited ] || [ -e fired ]
			cmp in out
			bytes=$(sed 's/.*"private_bytes": \([0-9]*\).*/\1/' stats)
			case $run in
			*5000000) [ "$bytes" -eq 0 ] ;;
			*) [ "$bytes" -gt 0 ] && [ "$bytes" -lt 6000000 ] ;;
			esac
			bloomdedup check -f seen in | cmp in -
			# the next run, of which all were seen
			$run $options -f seen in >out
			[ ! -s out ]
		done
	done
	# a new filter, and one that grows by such a layer
	rm seen
	refused 20000000 -f seen -n 16e6 in | cmp - in
	[ -e fired ]
	rm seen
	refused 2300000 -f seen -n 30000 -p 1e-9 --max-size=1G in in 2>err |
		cmp - in
	[ -e fired ]
	bloomdedup check -f seen in | cmp - in
}

@test "a filter that was never used is not read, and one that was is" {
	needs_strace
	"$HELPER" lines 20000 >in
	bloomdedup create -n 1000000 other
	cp --sparse=never other written
	# as create left it: zeros that are not stored, and were never read
	bloomdedup create -n 1000000 empty
	for file in empty written; do
		BLOOMDEDUP_PRIVATE=0 strace -f -qq -y -o "$file.trace" \
			-e trace=pread64 "$BLOOMDEDUP" -f "$file" in | cmp - in
		[ -z "$(private -f "$file" in)" ]
		bloomdedup info --verify "$file"
		grep -c "pread64(.*$file>.*, 64, [0-9]*) = 64" "$file.trace" \
			>"$file.reads" || true
	done
	[ "$(cat written.reads)" -gt 0 ]
	# other file systems may tell less of what is stored
	[ "$(stat -f -c %T .)" != ext2/ext3 ] || [ "$(cat empty.reads)" -eq 0 ]
}

@test "what a table doesn't know of is found all the same" {
	"$HELPER" lines 20000 >in
	bloomdedup create -n 1000000 seen
	head -c 12288 seen >table
	bloomdedup -q -f seen in
	# the table says that nothing was ever marked
	dd if=table of=seen conv=notrunc bs=12288 2>/dev/null
	[ -z "$(private -f seen in)" ]
}
