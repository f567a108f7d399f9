# An output never keeps a part of a record: not after a write that failed, nor
# after the next run that appends, where a run was killed while it wrote.
load ../common

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	seq -f 'https://example.org/some/long/path/%.0f' 30000 >in
	notes=seen.notes-$(id -u)
}

# limited BLOCKS COMMAND...: it fails since no file may have more KiB.
limited() {
	local blocks=$1 status=0
	shift
	(
		ulimit -f "$blocks"
		"$@" 2>err
	) || status=$?
	[ $status -eq 3 ]
	is_message err 'File too large'
	run ! grep torn err
}

# torn_by_kill BYTES COMMAND...: it is killed when it has written so many.
torn_by_kill() {
	local bytes=$1 status=0
	shift
	TORN=$bytes "${PRELOADED[@]}" "$@" 2>err || status=$?
	[ $status -eq 137 ]
}

# --- a write that fails

@test "a write that fails leaves whole lines, and the next run goes on" {
	local append
	for append in '>>' '--append -o'; do
		rm -f seen out
		bloomdedup create seen
		for blocks in 13 100 333; do
			limited $blocks eval "$BLOOMDEDUP -f seen in $append out"
			head -n "$(wc -l <out)" in | cmp - out
			[ "$(wc -c <out)" -gt $((blocks * 1024 - 100)) ]
		done
		eval "$BLOOMDEDUP -f seen in $append out"
		cmp in out
	done
}

@test "so it does without a filter, in what is replaced, and with several writes for a batch" {
	limited 100 "$BLOOMDEDUP" in >out
	head -n "$(wc -l <out)" in | cmp - out
	limited 100 "$BLOOMDEDUP" --overwrite -o out in
	head -n "$(wc -l <out)" in | cmp - out
	# the place for what comes next is where the file ends now
	(
		ulimit -f 100
		! "$BLOOMDEDUP" in
		ulimit -f unlimited 2>/dev/null || true
		echo next
	) >out 2>err
	head -n "$(($(wc -l <out) - 1))" in | cat - <(echo next) | cmp - out
	perl -e 'print $_ x 3000, "\n" for 1 .. 300' >long
	limited 500 "$BLOOMDEDUP" long >out
	head -n "$(wc -l <out)" long | cmp - out
}

@test "records in quotes, records that end in NUL, marks, and duplicates" {
	{
		echo id,text
		seq -f '%.0f,"one
two ""three""
four"' 20000
	} >csv
	bloomdedup create --csv --header -k id seen
	limited 100 "$BLOOMDEDUP" -f seen csv >>out
	size=$(wc -c <out)
	[ $(((size - 8) % 4)) -ge 0 ]
	cmp -n "$size" csv out
	[ "$(tail -n 1 out)" = 'four"' ]
	bloomdedup -f seen csv >>out
	cmp csv out
	tr '\n' '\0' <in >nul
	bloomdedup create -z seen-nul
	limited 100 "$BLOOMDEDUP" -f seen-nul nul >>out-nul
	bloomdedup -f seen-nul nul >>out-nul
	cmp nul out-nul
	bloomdedup create seen-mark
	limited 100 "$BLOOMDEDUP" -f seen-mark --mark in >mark
	sed 's/^/new	/' in | head -n "$(wc -l <mark)" | cmp - mark
	bloomdedup check -f seen-mark in | cmp - <(sed 's/^new	//' mark)
	limited 100 "$BLOOMDEDUP" -d in in >twice
	head -n "$(wc -l <twice)" in | cmp - twice
	limited 1300 "$BLOOMDEDUP" --duplicates=again in in in >/dev/null
	cat in in | head -n "$(wc -l <again)" | cmp - again
}

@test "a header that fails is not there, and comes with the next run" {
	seq -s, 400 >csv
	seq -s, 401 800 >>csv
	bloomdedup create --csv --header -k '"1"' seen
	limited 1 "$BLOOMDEDUP" -f seen -o out csv
	[ ! -s out ]
	bloomdedup -f seen -o out --append csv
	cmp csv out
}

@test "a file that another program follows stays as it is, and that is said" {
	bloomdedup create seen
	: >out
	exec 7<out
	status=0
	(
		ulimit -f 100
		"$BLOOMDEDUP" -f seen in >>out 2>err
	) || status=$?
	[ $status -eq 3 ]
	is_message err 'File too large; its last line is torn'
	[ "$(wc -c <out)" -eq 102400 ]
	stub=$(tail -n 1 out)
	# the note is still there: later, the file can be cut
	exec 7<&-
	bloomdedup -f seen in >>out 2>err
	is_message err 'cut back to its last whole line'
	cmp in out
	run ! grep -qx "$stub" out
}

# --- a run that was killed

# whole OUT [IN]: all distinct lines of IN, each once or twice, and nothing else.
whole() {
	sort -u "$1" | cmp - <(sort -u "${2:-in}")
	[ "$(sort "$1" | uniq -c | awk '$1 > 2' | wc -l)" -eq 0 ]
}

@test "the next run that appends cuts off what a kill left of a line" {
	needs_preload
	local append overwrite bytes
	for append in '>>' '--append -o'; do
		for overwrite in '>' '--overwrite -o' "$append"; do
			rm -f seen out
			for bytes in 0 1 35 4096 70000 300001; do
				eval "torn_by_kill $bytes $BLOOMDEDUP -f seen in $overwrite out"
				[ "$(wc -c <out)" -ge "$bytes" ]
				torn=$(tail -c 1 out | wc -l)
				bloomdedup check -f seen </dev/null || [ $? -eq 1 ]
				eval "$BLOOMDEDUP -f seen $append out <<<another 2>err"
				if [ "$bytes" -gt 0 ] && [ "$torn" -eq 0 ]; then
					is_message err 'cut back to its last whole line: an earlier run was killed while it wrote to it'
				else
					[ ! -s err ]
				fi
				[ ! -e "$notes" ]
				# all lines of it are whole
				run ! grep -Fxv -f in -e another out
				[ "$overwrite" = "$append" ] || rm -f seen
			done
			eval "$BLOOMDEDUP -f seen $append out <in 2>err"
			whole out <(cat in; echo another)
		done
	done
}

@test "new lines that were gathered from among others are cut off, too" {
	needs_preload
	local bytes
	sed p in >twice
	for bytes in 1 35 4096 30001 70000 300001; do
		rm -f seen out
		torn_by_kill $bytes "$BLOOMDEDUP" -f seen twice >>out
		[ "$(wc -c <out)" -eq $bytes ]
		bloomdedup -f seen -q <<<another 2>err
		is_message err 'cut back to its last whole line'
		head -n "$(wc -l <out)" in | cmp - out
		bloomdedup -f seen twice >>out 2>err
		[ ! -s err ]
		whole out
	done
}

@test "a write that ends the torn record of another, and is torn itself" {
	needs_preload
	local bytes
	# nothing, a quote, a newline, too, and something of the lines
	for bytes in 0 1 2 3 40 70000; do
		rm -f seen
		printf 'f,"half' >out
		torn_by_kill $bytes "$BLOOMDEDUP" --csv -f seen in >>out
		[ "$(wc -c <out)" -eq $((7 + bytes)) ]
		bloomdedup --csv -f seen in >>out 2>err
		[ "$(head -n 1 out)" = 'f,"half"' ]
		tail -n +2 out >lines
		whole lines
	done
}

@test "records of CSV, NUL, marks, headers and duplicates that a kill tore" {
	needs_preload
	{
		echo '"id
",text'
		seq -f '%.0f,"one
two ""three""
four"' 3000
	} >csv
	for bytes in 1 3 8 15 16 20 25 27 28 29 5000 5001 5002 5003 5007; do
		rm -f seen out
		bloomdedup create --csv --header -k '"id
"' seen
		torn_by_kill $bytes "$BLOOMDEDUP" -f seen -o out csv
		[ "$(wc -c <out)" -eq $bytes ]
		bloomdedup -f seen -o out --append csv 2>err
		python3 - <<-'PYTHON'
			import csv
			want = list(csv.reader(open("csv", newline="")))
			rows = list(csv.reader(open("out", newline="")))
			assert rows[0] == want[0] and rows.count(rows[0]) == 1
			assert sorted(set(map(tuple, rows))) == sorted(map(tuple, want))
		PYTHON
	done
	tr '\n' '\0' <in >nul
	torn_by_kill 70001 "$BLOOMDEDUP" -z -f nuls -o out-nul nul
	bloomdedup -f nuls nul >>out-nul 2>err
	is_message err 'cut back to its last whole line'
	tr '\0' '\n' <out-nul >lines
	whole lines
	torn_by_kill 70001 "$BLOOMDEDUP" -f marks --mark in >>marked
	bloomdedup -f marks --mark in >>marked
	run ! grep -Fxv -f <(sed 's/^/new	/' in; sed 's/^/seen	/' in) marked
	torn_by_kill 1300001 "$BLOOMDEDUP" -f twice -o out --append \
		--duplicates=again in in
	bloomdedup -f twice -o out --append --duplicates=again </dev/null 2>err
	is_message err 'again: cut back to its last whole line'
	run ! grep -Fxv -f in again
}

@test "devices have other numbers after the system has started anew" {
	needs_preload
	torn_by_kill 70001 "$BLOOMDEDUP" -f seen in >>out
	DEVICE=7 "${PRELOADED[@]}" "$BLOOMDEDUP" -f seen in >>out 2>err
	[ -e fired ]
	is_message err 'cut back to its last whole line'
	whole out
}

@test "records that others append behind a stub in quotes are not cut off" {
	needs_preload
	local bytes
	seq -f '%.0f,"one
two, ""three"""' 2000 >csv
	# in the text of a field, behind a line end, behind a quote of two
	for bytes in 10000 10006 10007 10008 10013 10014 10015 10019; do
		for foreign in $'other,1\nother,2\n' \
			$'other,1\nother,"2\n3"\nother,4\n'; do
			rm -f seen out
			torn_by_kill $bytes "$BLOOMDEDUP" --csv -f seen -o out csv
			printf %s "$foreign" >>out
			cp out before
			bloomdedup --csv -f seen -o out --append csv 2>err
			# whatever it was taken for, nothing is missing
			cmp -n "$(stat -c %s before)" before out
			python3 - <<-'PYTHON'
				import csv
				want = list(csv.reader(open("csv", newline="")))
				rows = list(csv.reader(open("out", newline="")))
				known = [tuple(r) for r in rows if r in want]
				assert sorted(set(known)) == sorted(map(tuple, want))
			PYTHON
		done
	done
}

@test "what a kill tore and cannot be cut gets an end, with a word about it" {
	needs_preload
	torn_by_kill 70001 "$BLOOMDEDUP" -f seen in >>out
	stub=$(tail -n 1 out)
	exec 7<out
	bloomdedup -f seen in >>out 2>err
	exec 7<&-
	is_message err "standard output: its last line is torn ('$stub'); the new lines begin on a line of their own"
	run ! grep -Fxv -f in -e "$stub" out
	# in quotes, a newline would be one more byte of the field
	printf 'a,"b\nc"\nd,"e\nf"\n' >csv
	torn_by_kill 12 "$BLOOMDEDUP" --csv -f quoted -o quotes csv
	exec 7<quotes
	bloomdedup -f quoted -o quotes --append csv 2>err
	exec 7<&-
	is_message err "its last line is torn"
	printf 'a,"b\nc"\nd,"e"\na,"b\nc"\nd,"e\nf"\n' | cmp - quotes
}

@test "any run of the filter cuts off what a kill tore, whatever it writes to" {
	needs_preload
	local command
	for command in 'add -f seen' '-q -f seen' '-f seen -o other --append' \
		'--atomic -f seen -o other --append' '--sync -f seen -o other --append'; do
		rm -f seen out other
		torn_by_kill 70001 "$BLOOMDEDUP" -f seen in >>out
		# shellcheck disable=SC2086 # the words of a command
		bloomdedup $command <<<another 2>err
		is_message err "$PWD/out: cut back to its last whole line: an earlier run was killed while it wrote to it"
		head -n "$(wc -l <out)" in | cmp - out
		[ ! -e "$notes" ]
	done
}

@test "no note, no cut: a file of other bytes, a longer one, and no filter" {
	needs_preload
	torn_by_kill 70001 "$BLOOMDEDUP" -f seen in >>out
	cp "$notes" notes
	# the same file by its name and number, as long, but with other bytes
	tr 0-9 1-9a <in | head -c 70001 | dd of=out conv=notrunc status=none
	bloomdedup -f seen in >>out 2>err
	is_message err "its last line is torn"
	tr 0-9 1-9a <in | head -c 70001 | cmp -n 70001 - out
	[ ! -e "$notes" ]
	# longer than what was to be written
	cp notes "$notes"
	head -c 500001 in >out
	seq 5 | bloomdedup -f seen >>out 2>err
	is_message err "its last line is torn"
	# our bytes, and behind them half a line of somebody else's
	head -c 70001 in >out
	printf foreign >>out
	cp notes "$notes"
	seq 6 9 | bloomdedup -f seen >>out 2>err
	is_message err "foreign'); the new lines begin on a line of their own"
	# damaged notes are none
	head -c 70001 in >out
	cp notes "$notes"
	printf '\377' | dd of="$notes" bs=1 seek=70 conv=notrunc status=none
	seq 10 12 | bloomdedup -f seen >>out 2>err
	is_message err "its last line is torn"
	torn_by_kill 70001 "$BLOOMDEDUP" in >>out
	bloomdedup -o out --append <<<x 2>err
	is_message err "its last line is torn"
}

@test "notes that others could have written are not believed, and no obstacle" {
	needs_preload
	torn_by_kill 70001 "$BLOOMDEDUP" -f seen in >>out
	cp "$notes" notes
	cp out torn
	cp seen before
	for planted in 'chmod g+w' 'chmod o+w' link symlink 'chown 1'; do
		cp before seen
		cp torn out
		rm -f "$notes" other
		case $planted in
		link) cp notes other && ln other "$notes" ;;
		symlink) cp notes other && ln -s other "$notes" ;;
		'chown 1')
			[ "$(id -u)" -eq 0 ] || continue
			cp notes "$notes"
			chown 1 "$notes"
			;;
		*) cp notes "$notes" && $planted "$notes" ;;
		esac
		bloomdedup add -f seen <<<another 2>err
		[ ! -s err ]
		cmp torn out
		bloomdedup -f seen in >>out 2>err
		is_message err "its last line is torn"
		[ ! -e "$notes" ]
	done
	cp torn out
	cp before seen
	cp notes "$notes"
	bloomdedup add -f seen <<<another 2>err
	is_message err "cut back to its last whole line"
}

@test "notes are in nobody's way: create, remove, check, merge, serve's open" {
	needs_preload
	torn_by_kill 70001 "$BLOOMDEDUP" -f seen in >>out
	cp "$notes" notes
	bloomdedup info seen >info
	run -1 bloomdedup check -f seen <<<none
	bloomdedup --dry-run -f seen <<<two >out-2
	cmp notes "$notes"
	bloomdedup create --like=seen other
	bloomdedup merge -o union seen other
	rm seen
	bloomdedup create seen
	[ ! -e "$notes" ]
	cp notes "$notes"
	bloomdedup -f seen in | cmp in -
	rm seen
	cp notes "$notes"
	echo x | bloomdedup -f seen
	[ ! -e "$notes" ]
	rm -f out seen
	torn_by_kill 70001 "$BLOOMDEDUP" -f seen in >>out
	bloomdedup remove seen
	[ ! -e "$notes" ]
}

# --- lines without an end that others wrote

@test "what others write between a look and a write glues nothing" {
	needs_preload
	local how foreign
	for how in '>>out' '-o out --append' '--shared -f seen >>out' '-j2 >>out'; do
		for foreign in 'half a line' $'a line\n' $'a line\nhalf'; do
			rm -f out seen fired
			FOREIGN=$foreign FOREIGN_AT=2 FIRED=fired \
				eval '"${PRELOADED[@]}" "$BLOOMDEDUP" in '"$how" 2>err
			[ -e fired ]
			grep -Fxv -f in out >rest
			[ "$(grep -c . rest)" -le 3 ]
			sort -u out | grep -Fx -f in | cmp - <(sort in)
			[ "$(grep -c '^$' out)" -eq 0 ]
		done
	done
	seq -f '%.0f,"one
two"' 3000 >csv
	FOREIGN='other,"half' FOREIGN_AT=2 FIRED=fired "${PRELOADED[@]}" \
		"$BLOOMDEDUP" --csv -o records --append csv 2>err
	[ -e fired ]
	python3 - <<-'PYTHON'
		import csv
		want = set(map(tuple, csv.reader(open("csv", newline=""))))
		rows = set(map(tuple, csv.reader(open("records", newline=""))))
		assert want <= rows, len(want - rows)
	PYTHON
}

@test "half a line that goes on is waited for" {
	needs_strace
	skip_if_emulated "calls of its own"
	BLOOMDEDUP=$BLOOMDEDUP python3 - <<-'PYTHON'
		import os, subprocess, time
		for rest in (b"line\n", b"line\nnext\n"):
		    open("out", "wb").write(b"half a ")
		    with open("out", "ab", buffering=0) as other:
		        run = subprocess.Popen(["strace", "-qq", "-o", "trace",
		            "-e", "trace=clock_nanosleep,nanosleep,write",
		            "-e", "inject=clock_nanosleep,nanosleep:delay_enter=1000000:when=1",
		            os.environ["BLOOMDEDUP"], "-o", "out", "--append"],
		            stdin=subprocess.PIPE, stderr=subprocess.PIPE)
		        run.stdin.write(b"new\n")
		        run.stdin.close()
		        while "nanosleep" not in open("trace").read() \
		                if os.path.exists("trace") else True:
		            time.sleep(0.01)
		        other.write(rest)
		        assert run.wait() == 0 and run.stderr.read() == b""
		    assert open("out", "rb").read() == b"half a " + rest + b"new\n"
		    os.unlink("trace")
	PYTHON
}

@test "a file that cannot be read: a word about it, and an error with CSV" {
	local whole=()
	# root may read everything
	if [ "$(id -u)" -eq 0 ]; then
		needs setpriv
		whole=(setpriv --bounding-set=-all)
	fi
	printf torn >out
	chmod 0200 out
	seq 3 >new
	"${whole[@]}" "$BLOOMDEDUP" -o out --append new 2>err
	is_message err "out: its end cannot be read, so that if its last line is torn, the first new line continues it: Permission denied"
	"${whole[@]}" "$BLOOMDEDUP" new >>out 2>err
	is_message err "standard output: its end cannot be read"
	fails 3 "out: its end cannot be read, to see whether it ends within a record" \
		"${whole[@]}" "$BLOOMDEDUP" --csv -o out --append new
	fails 3 "out: its header cannot be read, to compare it" \
		"${whole[@]}" "$BLOOMDEDUP" --csv --header -k 1 -o out --append new
	chmod 0600 out
	printf 'torn1\n2\n3\n1\n2\n3\n' | cmp - out
}

@test "a torn record of CSV gets its quote, without a note and with a large file" {
	local size
	for size in 10 70000000; do
		python3 - $size <<-'PYTHON'
			import sys
			record = b'a,"b\n""c"",d",e\n'
			with open("out", "wb") as out:
			    out.write(record * (int(sys.argv[1]) // len(record)))
			    out.write(b'x,"torn')
		PYTHON
		printf '1,"one\ntwo"\n' >csv
		cp out before
		bloomdedup --csv -o out --append csv 2>err
		is_message err "x,\"torn'); the new lines begin on a line of their own"
		{
			cat before
			printf '"\n1,"one\ntwo"\n'
		} | cmp - out
	done
}

@test "a header: one of two runs that begin together, and a torn one is completed" {
	printf 'id,mail\n1,a\n' >csv
	for torn in i id id,mai id,mail; do
		for options in '' --atomic '--atomic -f seen'; do
			printf %s "$torn" >out
			rm -f seen
			# shellcheck disable=SC2086 # no word, or more
			bloomdedup --csv --header -k id $options -o out \
				--append csv 2>err
			is_message err "out: its header was torn ('$torn') and is completed"
			cmp csv out
		done
	done
	for i in 1 2 3 4 5; do
		rm -f out
		for j in 1 2 3 4; do
			printf 'id,mail\n%s,a\n' $j | bloomdedup --csv --header \
				-k id -o out --append &
		done
		wait
		[ "$(grep -c id,mail out)" -eq 1 ]
		[ "$(head -n 1 out)" = id,mail ]
		[ "$(wc -l <out)" -eq 5 ]
	done
}

@test "partition and key look at the end, and a failed write of theirs leaves no torn line" {
	local command
	for command in key 'partition --parts=2'; do
		printf 'one\ntorn' >out
		# shellcheck disable=SC2086 # two words
		bloomdedup $command in >>out 2>err
		is_message err "its last line is torn ('torn')"
		[ "$(sed -n 2p out)" = torn ]
		[ "$(wc -l <out)" -eq 30002 ]
		# shellcheck disable=SC2086
		limited 100 "$BLOOMDEDUP" $command in >out
		[ "$(tail -c 1 out | wc -l)" -eq 1 ]
	done
	limited 100 "$BLOOMDEDUP" --shared -f seen in >>shared
	head -n "$(wc -l <shared)" in | cmp - shared
	limited 100 "$BLOOMDEDUP" --atomic -f atomic in >>atomic.out
	head -n "$(wc -l <atomic.out)" in | cmp - atomic.out
	limited 100 "$BLOOMDEDUP" partition --parts=2 -o 'part-%d' in
	[ "$(tail -qc 1 part-1 part-2 | wc -l)" -eq 2 ]
}

@test "--append ends a torn line, without a filter and of --duplicates, too" {
	local options
	for options in '' --atomic '-f seen' '-f seen --sync' '-f seen --atomic'; do
		rm -f seen
		printf 'one\ntorn' >out
		printf 'two\nrest' >again
		# shellcheck disable=SC2086 # no word, or more
		printf 'z\nz\n' | bloomdedup $options -o out --append \
			--duplicates=again 2>err
		printf 'one\ntorn\nz\n' | cmp - out
		printf 'two\nrest\nz\n' | cmp - again
		grep -Fxq "bloomdedup: out: its last line is torn ('torn'); the new lines begin on a line of their own" err
		grep -Fxq "bloomdedup: again: its last line is torn ('rest'); the new lines begin on a line of their own" err
	done
}

@test "check and runs without a filter end a torn line, too" {
	local command
	printf 'z\n' | bloomdedup add -f seen
	for command in '' '-d' 'check -f seen' 'check -v -f seen' \
		'check --mark -f seen' '--dry-run -f none'; do
		echo y | bloomdedup add -f none
		printf 'one\ntorn' >out
		# shellcheck disable=SC2086 # no word, or more
		printf 'z\nz\nx\n' | bloomdedup $command >>out 2>err ||
			[ $? -eq 1 ]
		grep -Fxq "bloomdedup: standard output: its last line is torn ('torn'); the new lines begin on a line of their own" err
		head -n 2 out | cmp - <(printf 'one\ntorn\n')
		[ "$(wc -l <out)" -gt 2 ]
		rm none
	done
}

@test "random runs, faults, other writers and followers leave what the model allows" {
	needs_preload
	BLOOMDEDUP=$BLOOMDEDUP PRELOAD=$BUILD/preload.so untraced \
		"$ROOT/tests/durability/output_model.py" "$(times 60 5000)"
}

@test "a file that was written anew since a kill is not cut" {
	needs_preload
	torn_by_kill 70001 "$BLOOMDEDUP" -f seen in >>out
	# the same file, by its number
	printf 'my first line\nmy second one' >out
	seq 5 6 | bloomdedup -f seen >>out 2>err
	printf 'my first line\nmy second one\n5\n6\n' | cmp - out
	is_message err "torn ('my second one')"
}

@test "the notes of a filter that was replaced are in nobody's way" {
	needs_preload
	torn_by_kill 70001 "$BLOOMDEDUP" -f seen in >>out
	[ -e "$notes" ]
	echo a | bloomdedup -f other
	mv other seen
	echo a | run -1 bloomdedup check -v -f seen
	printf 'a\nb\n' | bloomdedup -f seen | cmp - <(echo b)
	[ ! -e "$notes" ]
}

@test "notes of a run that was killed before its first line are removed, too" {
	bloomdedup create seen
	start_on_pipe -f seen -o out
	until_true [ -e "$notes" ]
	kill -KILL "$pid"
	wait "$pid" || true
	exec 7>&-
	[ -e "$notes" ]
	echo a | bloomdedup -f seen | cmp - <(echo a)
	[ ! -e "$notes" ]
	# with --atomic, the journal has what is appended
	start_on_pipe -f seen -o out --append --atomic
	echo b >&7
	until_idle "$pid"
	[ ! -e "$notes" ]
	exec 7>&-
	ends_with 0
	cmp out <(echo b)
}

@test "the message shows a torn line of zeros, as a power failure leaves them" {
	printf 'a\n\0\0\0' >out
	seq 3 | bloomdedup -f seen -o out --append 2>err
	is_message err 'out: its last line is torn ('"'\\x00\\x00\\x00'"'); the new lines begin'
	printf 'a\n\0\0\0\n1\n2\n3\n' | cmp - out
	head -c 200 /dev/zero >out
	seq 6 | bloomdedup -f seen -o out --append 2>err
	grep -qF "torn ('...$(printf '\\x00%.0s' {1..80})')" err
}

@test "a file on a network file system, and others write to it: said once" {
	needs_strace
	# f_type of NFS, as this machine stores it
	local nfs=6969000000000000
	strace -qq -o probe -e trace=statfs \
		-e inject=statfs:poke_exit=@arg2=$nfs stat -f . 2>/dev/null ||
		skip "needs a strace that changes what calls return"
	rm -f pipe
	mkfifo pipe
	: >out
	strace -f -qq -o trace -e trace=fstatfs \
		-e inject=fstatfs:poke_exit=@arg2=$nfs \
		"$BLOOMDEDUP" -j1 -o out <pipe 2>err 3>&- &
	pid=$!
	exec 7>pipe
	local n
	for n in 1 2 3; do
		echo $n >&7
		until_true grep -qx $n out
		[ $n -gt 1 ] || [ ! -s err ]
		echo other$n >>out
	done
	ends_with 0
	grep -q INJECTED trace
	[ "$(cat err)" = "bloomdedup: out: other programs add lines to it, too, and it may be on a network file system: lines that are added on several hosts at once can be lost" ]
	printf '%s\n' 1 other1 2 other2 3 other3 | cmp - out
}

@test "killed while it cuts a file that a shell holds open: the next run does not wait" {
	needs_preload
	needs_strace
	local status=0
	seq 1000 >in
	exec 8>>out
	TORN=2001 TORN_FILE=out "${PRELOADED[@]}" "$BLOOMDEDUP" -f seen in >&8 \
		2>err || status=$?
	[ $status -eq 137 ]
	status=0
	strace -qq -o trace -e trace=ftruncate \
		-e inject=ftruncate:signal=KILL:when=1 -P "$PWD/out" \
		"$BLOOMDEDUP" -f seen in >&8 2>err || status=$?
	[ $status -eq 137 ]
	# the lease is that of the open file
	grep -q ":$(stat -c %i out) " <(grep LEASE /proc/locks) ||
		skip "needs leases"
	# the system would take it away after 45 seconds
	timeout 40 "$BLOOMDEDUP" -f seen in >&8 2>err
	run ! grep -q ":$(stat -c %i out) " <(grep LEASE /proc/locks)
	exec 8>&-
	sort in | comm -23 - <(sort out) | cmp - /dev/null
}

@test "a file that was cut since a shell wrote to it gets no hole" {
	printf 'a\nb\n' >in
	for mode in '' --shared --sync --atomic; do
		rm -f seen
		exec 8>out
		echo 'of another program' >&8
		: >out
		bloomdedup ${mode:+"$mode"} -f seen in >&8
		exec 8>&-
		cmp in out
	done
}

@test "killed when it has cut a file, before a shared position is moved" {
	needs_preload
	needs_strace
	local status=0
	seq 1000 >in
	exec 8>out
	TORN=2001 TORN_FILE=out "${PRELOADED[@]}" "$BLOOMDEDUP" -f seen in >&8 \
		2>err || status=$?
	[ $status -eq 137 ]
	status=0
	strace -qq -o trace -e trace=ftruncate,lseek -e inject=lseek:signal=KILL \
		-P "$PWD/out" "$BLOOMDEDUP" -f seen in >&8 2>err || status=$?
	[ $status -eq 137 ]
	grep -q '^ftruncate(1, 2000)' trace
	bloomdedup -f seen in >&8
	exec 8>&-
	# nothing was remembered yet
	{ head -c 2000 in && cat in; } | cmp - out
}
