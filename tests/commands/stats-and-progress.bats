# Figures: --stats, --progress, SIGUSR1, and the warnings that nobody asked for.
load ../common

# stated NAME FILE: a value out of a line of JSON.
stated() {
	json_value "$1" <"$2"
}

# near FILE: is the number of repeated lines the expected one, by 5 sigma?
near() {
	python3 - "$1" <<'PYTHON'
import json, sys
figures = json.load(open(sys.argv[1]))
dropped, expected = figures["repeated"], figures["expected_dropped"]
print("dropped", dropped, "expected", expected)
sys.exit(abs(dropped - expected) > 5 * max(expected, 1) ** 0.5)
PYTHON
}

@test "--stats is an aligned table on standard error" {
	seq 1000 >in
	bloomdedup --stats in in >out 2>err
	cmp in out
	cut -c 1-20 err | sed 's/ *$//' >names
	cat >want <<-'END'
		read
		new
		repeated
		bytes in
		bytes out
		seconds
		lines per second
		filter full
		error rate now
		expected dropped
		layer count
		private bytes
		threads
	END
	cmp want names
	[ "$(sed -n 's/^read *//p' err)" = 2,000 ]
	# every value ends in the same column
	[ "$(grep -c '^.\{37\}[0-9]$' err)" -eq 13 ]
	# the same figures as in JSON, and what is rare and 0
	bloomdedup --stats=json in in 2>&1 >out | tr , '\n' |
		sed '1,/^ "in"]/d; s/.*"\(.*\)":.*/\1/; s/_/ /g' |
		head -n 13 | cmp want -
}

@test "--stats=json has exactly these names, and numbers" {
	seq 1000 >in
	bloomdedup --stats=json in in >out 2>err
	cmp in out
	[ "$(wc -l <err)" -eq 1 ]
	python3 - <<-'PYTHON'
		import json
		f = json.load(open("err"))
		assert sorted(f) == sorted(["filter", "inputs", "read", "new", "repeated",
		    "bytes_in", "bytes_out", "seconds",
		    "lines_per_second", "filter_full", "error_rate_now",
		    "expected_dropped", "layer_count", "private_bytes",
		    "threads", "not_json", "missing", "not_urls",
		    "stray_quotes", "other_parts"]), f
		assert f["read"] == 2000
		assert f["new"] == 1000
		assert f["repeated"] == 1000
		assert f["bytes_in"] == 2 * 3893
		assert f["bytes_out"] == 3893
		assert 0 < f["seconds"] < 600
		assert 0 <= f["error_rate_now"] <= 1e-6
		assert 0 <= f["expected_dropped"] <= 1e-3
		assert f["layer_count"] == 1
	PYTHON
}

@test "--stats is the last of the messages, also where a run fails" {
	local status options
	printf 'a 1\nb 2\nc\n' >in
	printf 'a\n' | bloomdedup -f full -n 1000 -p 1e-12
	seq 5000 >many
	printf 'in\0missing\0' >list
	printf 'x,"y' >quote
	while read -r want options; do
		for form in --stats=json --stats; do
			status=0
			eval "bloomdedup $form $options" >out 2>err || status=$?
			[ "$status" -eq "$want" ]
			[ "$(grep -c ^bloomdedup: err)" -ge 1 ]
			if [ "$form" = --stats ]; then
				tail -n 1 err | grep -q '^threads'
			else
				tail -n 1 err | python3 -m json.tool
			fi
		done
	done <<-'END'
		3 -k 3 in
		3 -k 2 --strict-keys in
		3 --files0-from=list
		0 --csv in quote
		3 -o /dev/full in
		7 -f new --to-command='cat >/dev/null; exit 7' in
		4 -f full --on-full=fail many
		3 --json=/a in
	END
}

@test "read is new and repeated, whatever is printed" {
	printf 'a\nb\na\nc' >in
	while read -r new repeated bytes options; do
		# shellcheck disable=SC2086
		bloomdedup $options --stats=json in >out 2>err || true
		[ "$(stated read err)" -eq 4 ]
		[ "$(stated new err)" -eq "$new" ]
		[ "$(stated repeated err)" -eq "$repeated" ]
		[ "$(stated bytes_out err)" -eq "$bytes" ]
		[ "$(stated bytes_out err)" -eq "$(wc -c <out)" ]
	done <<-'END'
		3 1 6
		3 1 2 -d
		3 1 0 -q
		3 1 0 add -f filter
		0 4 8 check -f filter
		0 4 0 check -v -f filter
		0 4 0 -f filter
		0 4 0 -q -f filter
		3 1 6 --duplicates=duplicates
	END
}

@test "bytes of gzip input are counted as lines see them" {
	seq 1000 | gzip >in.gz
	bloomdedup --stats=json in.gz 2>err >out
	[ "$(stated bytes_in err)" -eq 3893 ]
}

@test "bytes of input that was never a line of the run don't count" {
	printf '{"a":1}\nno JSON\n{"a":2}\n' >in
	run -3 bloomdedup --json=/a --strict-keys --stats=json in
	[[ $output = *'"read": 1, '*'"bytes_in": 8, '* ]]
	printf 'a\nb\n' | bloomdedup -f full -n 1000 -p 1e-12
	seq 5000 >in
	run -4 --separate-stderr bloomdedup -f full --on-full=fail --stats=json in
	printf '%s\n' "$output" >out
	printf '%s\n' "$stderr" >err
	[ "$(stated read err)" -lt 5000 ]
	[ "$(stated bytes_in err)" -eq "$(wc -c <out)" ]
}

@test "figures of no lines are figures, too" {
	bloomdedup --stats=json </dev/null 2>err
	[ "$(stated read err)" -eq 0 ]
	bloomdedup --stats </dev/null 2>err
	[ "$(wc -l <err)" -eq 13 ]
	run ! grep -qi 'nan\|inf' err
}

@test "other values than json are refused" {
	fails 2 --stats bloomdedup --stats=xml
	fails 2 --stats bloomdedup --stats=
	fails 2 --stats bloomdedup create --stats filter
}

@test "without --stats and --progress nothing is on standard error" {
	seq 1000 | bloomdedup >out 2>err
	[ ! -s err ]
	seq 1000 | bloomdedup -f filter >out 2>err
	[ ! -s err ]
}

@test "figures are also printed when the output fails partway, and add up" {
	seq 100000 >in
	mkfifo err
	cat err >figures &
	( # in blocks of 1024 bytes; the pipe has no limit
		ulimit -f 8
		"$BLOOMDEDUP" --stats=json in >out 2>err || true
	)
	wait $!
	grep '^{' figures >json
	[ "$(stated bytes_out json)" -eq "$(stat -c %s out)" ]
	[ "$(stated new json)" -gt 1000 ]
	python3 - <<-'PYTHON'
		import json
		f = json.load(open("json"))
		assert f["read"] == f["new"] + f["repeated"], f
		assert f["repeated"] < 100000, f
	PYTHON
}

@test "layer_count and error_rate_now are info's" {
	"$HELPER" lines 20000 |
		bloomdedup -f filter -n 1000 -p 1e-2 --stats=json 2>err >out
	grep '^{' err >json
	bloomdedup info --json filter >info
	python3 - <<-'PYTHON'
		import json
		f, i = json.load(open("json")), json.load(open("info"))
		assert f["layer_count"] == len(i["layers"]) > 2
		assert abs(f["error_rate_now"] / i["error_rate_now"] - 1) < 0.05
	PYTHON
}

@test "so many lines are lost as expected_dropped says: p = 1e-2, as planned" {
	"$HELPER" lines 100000 1 |
		bloomdedup -n 1e5 -p 1e-2 --stats=json 2>err >out
	near err
	[ "$(stated repeated err)" -gt 50 ]
}

@test "the same while the filter grows" {
	"$HELPER" lines 100000 2 |
		bloomdedup -n 1000 -p 1e-2 --stats=json 2>err >out
	near err
	[ "$(stated repeated err)" -gt 50 ]
}

@test "the same over three runs, for each run" {
	local i
	for i in 1 2 3; do
		"$HELPER" lines 40000 "$i" | bloomdedup -f filter -n 5e4 \
			-p 0.02 --stats=json 2>err >out
		grep '^{' err >json
		near json
	done
	[ "$(stated repeated json)" -gt 100 ]
}

@test "the same at the highest rate" {
	"$HELPER" lines 100000 4 |
		bloomdedup -n 1e5 -p 0.5 --stats=json 2>err >out
	[ "$(stated repeated err)" -gt 1000 ]
	near err
}

# screen: what a terminal of any width shows in the end.
screen() {
	perl -0777 -ne '
		my ($line, $column) = ("", 0);
		s/\r\n/\n/g;
		for (/\e\[K|\r|\n|[^\e\r\n]+|\e/g) {
			if ($_ eq "\e[K") { $line = substr $line, 0, $column }
			elsif ($_ eq "\r") { $column = 0 }
			elsif ($_ eq "\n") { print "$line\n"; $line = "";
				$column = 0 }
			else { substr($line, $column, length) = $_;
				$column += length }
		}
		print $line' terminal
}

# What comes in three times, so slowly that there is something to be drawn.
slowly() {
	echo "(cat $1; sleep 0.25; cat $1; sleep 0.25; cat $1)"
}

# pauses FILE LINE [DRAWN]: what comes in twice on `slow`, the second time once
# LINE is drawn on the terminal that often (1).
pauses() {
	: >terminal
	rm -f slow
	mkfifo slow
	(
		exec >slow
		cat "$1"
		until_true is_drawn "$2" "${3:-1}" >&2
		cat "$1"
	) 3>&- &
}

# is_drawn LINE [TIMES]: was a line that begins so drawn at least that often (1)?
is_drawn() {
	[ "$(tr '\r' '\n' <terminal | grep -c "^$1")" -ge "${2:-1}" ]
}

@test "--progress is one live line on a terminal, which goes away" {
	needs_terminal
	seq 100000 >in
	pauses in '100,000 lines'
	on_terminal "$BLOOMDEDUP --progress <slow >out"
	cmp in out
	is_drawn '100,000 lines  .*/s  [0-9.]* % new  filter'
	[ "$(wc -l <terminal)" -eq 0 ]
	screen >shown
	[ ! -s shown ]
}

@test "--progress says how far it is where the input is a file" {
	needs_terminal # else nothing opens the gate
	mkfifo gate
	(
		exec 8<gate
		sleep 0.5
		cat <&8
	) >/dev/null 3>&- &
	perl -e 'print "line $_\n" for 1 .. 600000' >in
	on_terminal "$BLOOMDEDUP --progress -o gate in"
	wait $!
	tr '\r' '\n' <terminal | grep -q ' lines  [0-9]* %  .* left  .*/s'
}

@test "--progress counts from where standard input begins" {
	needs_terminal
	mkfifo gate
	(
		exec 8<gate
		sleep 0.5
		cat <&8
	) >/dev/null 3>&- &
	# ten times as much as follows was read by another program
	{
		yes passed | head -c 42000000
		perl -e 'print "line $_\n" for 1 .. 200000'
		yes x | head -c 2000000
	} >in
	on_terminal "(dd bs=42000000 count=1 of=/dev/null 2>&-; $BLOOMDEDUP \
		--progress -d -o gate) <in"
	wait $!
	tr '\r' '\n' <terminal | grep ' lines  ' | head -n 1 |
		grep -qE ' lines  ([4-9][0-9]|100) %'
}

@test "--progress goes on while input pauses" {
	needs_terminal
	seq 3 >in
	pauses in '3 lines' 3
	on_terminal "$BLOOMDEDUP --progress <slow >out"
	is_drawn '3 lines' 3
}

@test "--progress is seen all the time where the lines go elsewhere" {
	needs_terminal
	seq 100000 >in
	for output in '-o out' -q; do
		pauses in '100,000 lines'
		on_terminal "$BLOOMDEDUP --progress $output <slow"
		# only cleared at the end
		[ "$(grep -ao $'\r\e\[K' terminal | wc -l)" -le 1 ]
		is_drawn '100,000 lines  '
	done
}

@test "--progress and lines on the same terminal don't mix" {
	seq 100 >in
	on_terminal "$(slowly in) | $BLOOMDEDUP --progress -d --stats=json"
	screen | tr -d '\r' >shown
	{
		cat in in
	} >want
	head -n 200 shown | cmp want -
	sed -n '201,$p' shown | grep -q '^{"filter": null, .*"read": 300,'
	[ "$(wc -l <shown)" -eq 201 ]
}

@test "--progress and messages on the same terminal don't mix" {
	seq 100000 >in
	bloomdedup create -n 1000 filter
	mkdir nowhere
	on_terminal "$(slowly in) | $BLOOMDEDUP --progress -f filter \
		- nowhere >out"
	screen >shown
	[ "$(wc -l <shown)" -eq 2 ]
	[ "$(grep -c '^bloomdedup: ' shown)" -eq 2 ]
}

@test "warnings and errors at the end don't stick to the live line" {
	seq 100000 >in
	bloomdedup create -n 1000 --on-full=warn warned
	bloomdedup create -n 1000 --on-full=fail full
	bloomdedup create -n 1000 grown
	for options in '-f warned' '-f full' '-f grown' \
		'--to-command="cat >/dev/null; exit 9"'; do
		on_terminal "$(slowly in) | $BLOOMDEDUP --progress $options >out"
		screen >shown
		cat shown
		[ "$(wc -l <shown)" -eq 1 ]
		grep -q '^bloomdedup: ' shown
	done
}

@test "--progress fits into the terminal's width" {
	local columns
	seq 100000 >in
	for columns in 80 40 9; do
		on_terminal "stty cols $columns; $(slowly in) |
			$BLOOMDEDUP --progress >out"
		tr '\r' '\n' <terminal | sed 's/\x1b\[K//g' >drawn
		grep -q '^[0-9]' drawn
		awk -v most=$columns 'length > most - 1 { exit 1 }' drawn
	done
}

@test "--progress writes nothing where standard error is no terminal" {
	seq 100000 >in
	eval "$(slowly in)" | bloomdedup --progress >out 2>err
	[ ! -s err ]
	cmp in out
	on_terminal "$(slowly in) | $BLOOMDEDUP --progress 2>err"
	[ ! -s err ]
	screen | tr -d '\r' | cmp in -
}

@test "what is over at once shows no progress" {
	on_terminal "seq 10 | $BLOOMDEDUP --progress -q"
	[ ! -s terminal ]
}

@test "SIGUSR1 prints figures while waiting for input, and the run goes on" {
	start_on_pipe
	printf 'a\nb\na\n' >&7
	until_true has_bytes 4 out
	kill -USR1 "$pid"
	until_true has_bytes 10 err
	grep -q '^bloomdedup: 3 lines read, 2 new, .* full$' err
	kill -USR1 "$pid"
	until_true has_bytes 100 err
	[ "$(wc -l <err)" -eq 2 ]
	printf 'c\n' >&7
	until_true has_bytes 6 out
	ends_with 0
	printf 'a\nb\nc\n' | cmp - out
}

@test "SIGUSR1 prints figures before the first line has come" {
	start_on_pipe -f filter
	until_true test -e filter
	until_idle "$pid"
	kill -USR1 "$pid"
	until_true has_bytes 10 err
	grep -q '^bloomdedup: 0 lines read, 0 new, ' err
	ends_with 0
}

@test "SIGUSR1 prints figures also where the input never blocks" {
	mkfifo pipe
	perl -MFcntl -e 'fcntl(STDIN, F_SETFL, O_NONBLOCK | fcntl(STDIN,
		F_GETFL, 0)) or die; exec @ARGV' "$BLOOMDEDUP" \
		<pipe >out 2>err &
	exec 7>pipe
	printf 'a\n' >&7
	until_true has_bytes 2 out
	until_idle "$!"
	kill -USR1 $!
	until_true has_bytes 10 err
	grep -q '^bloomdedup: 1 lines\? read, 1 new, ' err
	exec 7>&-
	wait $!
	[ "$(wc -l <err)" -eq 1 ]
}

@test "SIGUSR1 prints figures also while the output is stuck" {
	mkfifo stuck
	seq 200000 >in
	"$HELPER" defaults "$BLOOMDEDUP" in >stuck 2>err &
	exec 7<stuck
	until_idle "$!"
	kill -USR1 $!
	until_true has_bytes 10 err
	cat <&7 >out
	exec 7<&-
	wait $!
	cmp in out
	[ "$(wc -l <err)" -eq 1 ]
}

@test "many signals lose no line, and their figures don't go back" {
	seq 300000 >in
	mkfifo pipe
	local copy run_id i
	"$HELPER" defaults "$BLOOMDEDUP" in >pipe 2>err &
	run_id=$!
	exec 8<pipe
	until_true grep -q '^SigCgt:.*[2367abef][0-9a-f][0-9a-f]$' \
		"/proc/$run_id/status"
	# an emulator catches them before the program does: until the pipe is full
	until_idle "$run_id"
	"$HELPER" pieces 1 <&8 >out &
	copy=$!
	exec 8<&-
	for ((i = 0; i < 50; i++)); do
		kill -USR1 "$run_id" 2>/dev/null || break
		sleep 0.005
	done
	wait "$run_id"
	wait "$copy"
	cmp in out
	[ -s err ]
	sed 's/^bloomdedup: \([0-9,]*\) lines.*/\1/; s/,//g' err >counts
	sort -n counts | cmp - counts
}

@test "a filter that grew is told once a run, not before and not after" {
	"$HELPER" lines 1000 1 | bloomdedup -f filter -n 1000 >out 2>err
	[ ! -s err ]
	"$HELPER" lines 20000 2 | bloomdedup -f filter >out 2>err
	[ "$(wc -l <err)" -eq 1 ]
	grep -q '^bloomdedup: filter: .*1,000 lines.*grew' err
	"$HELPER" lines 20000 2 | bloomdedup -f filter >out 2>err
	[ ! -s err ]
	bloomdedup create -n 1000 other
	"$HELPER" lines 5000 | bloomdedup add -f other 2>err
	[ "$(wc -l <err)" -eq 1 ]
}

@test "a filter in memory grows in silence" {
	"$HELPER" lines 20000 | bloomdedup -n 1000 >out 2>err
	[ ! -s err ]
}

@test "--on-full=warn: the rate above p is told once a run" {
	"$HELPER" lines 1000 | bloomdedup -f filter -n 1000 -p 0.001 \
		--on-full=warn >out 2>err
	[ ! -s err ]
	"$HELPER" lines 20000 2 | bloomdedup -f filter >out 2>err
	[ "$(wc -l <err)" -eq 1 ]
	grep -q '^bloomdedup: filter: .*1,000.*0\.001' err
}

@test "--stats=json names the filter and the inputs" {
	seq 3 >'a "b"'
	bloomdedup -f seen --stats=json 'a "b"' - <'a "b"' 2>err >out
	grep -qF '{"filter": "seen", "inputs": ["a \"b\"", "-"], "read": 6, ' err
	bloomdedup --stats=json <'a "b"' 2>err >out
	grep -qF '{"filter": null, "inputs": ["-"], "read": 3, ' err
}

@test "--progress is a line a minute where standard error is no terminal" {
	needs_faketime
	mkfifo pipe
	# a second is ten minutes
	at '+0 x600' --progress -f seen <pipe >out 2>err &
	exec 4>pipe
	seq 1000 >&4
	until_true grep -q '^bloomdedup: 1,000 lines  .* new  filter .* full$' err
	until_true eval '[ "$(wc -l <err)" -ge 2 ]'
	exec 4>&-
	wait $!
	seq 1000 | cmp - out
	run ! grep -q $'[\r\033]' err
}

@test "more lines than planned for is no warning while the rate is kept" {
	# a page has room for many more lines than four
	seq 100 | bloomdedup -n 4 -p 1e-3 --on-full=warn -f seen >out 2>err
	[ ! -s err ]
	[ "$(figure lines seen)" -gt 4 ]
	seq 20000 | bloomdedup -f seen >out 2>err
	is_message err 'seen: holds more than the 4 lines that it was made for; its error rate is now about '
}

@test "JSON shows control characters of a name as escapes, also those of C1" {
	name=$(printf 'a\302\233b\302\240c\033')
	bloomdedup create -n 100 "$name"
	bloomdedup info --json "$name" >out
	grep -qF 'a\u009bb' out
	grep -qF '\u001b' out
	[ "$(LC_ALL=C grep -c "$(printf '\302[\200-\237]')" out)" -eq 0 ]
	LC_ALL=C grep -q "$(printf '\302\240')" out
	python3 -c 'import json; print(json.load(open("out"))["file"])' >shown
	[ "$(cat shown)" = "$name" ]
}
