# --json: JSON Lines by a value. The second opinions: tests/format/reader.py,
# written from the manual, on any bytes, and jq.
load ../common

# docs SEED COUNT: random documents, a line each; names are few, so that some
# occur twice, and there are blanks and escapes.
docs() {
	python3 - "$@" <<'PYTHON'
import json, random, sys
random.seed(int(sys.argv[1]))
def blank():
    return random.choice(("", "", "", " ", "\t ", " \r "))
def string():
    out = '"'
    for _ in range(random.choice((0, 1, 1, 2, 3))):
        c = random.choice('aab"\\/\n\b\f\r\t\0\x7f{}[]:,é€ ')
        out += random.choice((
            c if c not in '"\\' and c >= " " else "a",
            json.dumps(c)[1:-1], "\\u%04x" % ord(c), "\\/", "\\u0061",
            "\\ud83d\\ude00" if c == "a" else "a", "\\u00C4"))
    return out + '"'
def plain():
    return '"%s"' % random.choice(("a", "b", "x", "x y", "é"))
def scalar():
    return random.choice((string, plain, lambda: str(random.randint(-2, 2)),
        lambda: random.choice(("true", "false", "null", "[]", "{}"))))()
def value(depth):
    kind = random.randint(0, 5) if depth < 4 else 5
    if kind == 0:
        return "[%s%s]" % (blank(), ("%s,%s" % (blank(), blank())).join(
            value(depth + 1) for _ in range(random.randint(1, 3))))
    if kind < 3 or depth == 0:
        members = []
        for _ in range(random.randint(1, 4)):
            name = random.choice(('"a"', '"b"', '"\\u0061"', '"~/"', '"0"', '""'))
            members.append(name + blank() + ":" + blank() + value(depth + 1))
        return "{%s%s%s}" % (blank(), ",".join(members), blank())
    return scalar()
for _ in range(int(sys.argv[2])):
    print(value(0).encode("utf-8", "replace").decode())
PYTHON
}

# by_jq TOKENS: of each document that has a value there that is not null, no object
# and no array (jq writes those in its own way), the document and, in the next line,
# one of jq's that has only this value there.
by_jq() {
	jq -R -r --argjson tokens "$1" '
		def walk_to($t): if ($t | length) == 0 then [.]
			elif type == "object" then if has($t[0])
				then .[$t[0]] | walk_to($t[1:]) else [] end
			elif type == "array" and ($t[0] | test("^(0|[1-9][0-9]*)$"))
				and ($t[0] | tonumber) < length
				then .[$t[0] | tonumber] | walk_to($t[1:])
			else [] end;
		. as $line | fromjson | walk_to($tokens) | select(length == 1)
		| .[0] | select(type != "object" and type != "array" and . != null)
		| reduce ($tokens | reverse[]) as $t (.; {($t): .})
		| $line, tojson'
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	count=2000
	[ -z "${BLOOMDEDUP_SLOW:-}" ] || count=100000
}

@test "the pointers of RFC 6901" {
	cat >doc <<-'END'
		{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}
	END
	cat doc - >twice <<<"$(cat doc) "
	local values=() i
	while IFS=$'\t' read -r pointer value; do
		bloomdedup create -n 100 --json="$pointer" "${#values[@]}.filter"
		bloomdedup add -f "${#values[@]}.filter" doc
		[ "$(bloomdedup --json="$pointer" twice 2>&1 | wc -l)" -eq 1 ]
		values+=("$value")
	done <<-'END'
		/foo	["bar","baz"]
		/foo/0	bar
		/	0
		/a~1b	1
		/c%d	2
		/e^f	3
		/g|h	4
		/i\j	5
		/k"l	6
		/ 	7
		/m~0n	8
	END
	bloomdedup create -n 100 --json= "${#values[@]}.filter"
	bloomdedup add -f "${#values[@]}.filter" doc
	values+=("$(cat doc)")
	local filters=("${!values[@]}")
	filters=("${filters[@]/%/.filter}")
	reader=$ROOT/tests/format/reader.py
	python3 -S "$reader" --each "${filters[@]}" <doc
	python3 -S "$reader" --vectors "${filters[@]}" <doc | cut -f 1 >vectors
	for i in "${!values[@]}"; do
		cmp doc "$i.filter.theirs"
		printf '%s' "${values[i]}" | od -An -v -tx1 | tr -d ' \n'
		echo
	done >hex
	diff hex vectors
	for pointer in a a/b /a~ /a~2 '/~'; do
		fails 2 'JSON pointer' bloomdedup --json="$pointer"
	done
	fails 2 'JSON pointer' bloomdedup --json=/a --json=/a
	fails 2 'argument POINTER is missing' bloomdedup --json
}

@test "strings by characters, the rest by its text without blanks" {
	cat >in <<-'END'
		{"v":"a"}
		{"v":"\u0061"}
		{"v" : "a" , "w":1}
		{"v":"A"}
		{"v":1}
		{"v":1.0}
		{"v": 1 }
		{"v":[1, "x y"]}
		{"v":[1,"x y"]}
		{"v":[1,"x  y"]}
		{"v":{"a":1,"b":2}}
		{"v": {"a" : 1 ,"b":2 }}
		{"v":{"b":2,"a":1}}
		{"v":true}
		{"v":"null"}
		{"v":"😀"}
		{"v":"\ud83d\uDE00"}
		{"v":"\ud83d"}
		{"v":"\ud83e"}
		{"v":"\\\/\"\b\f\n\r\t"}
		{"v":"\u005c\u002F\u0022\u0008\u000c\u000A\u000d\u0009"}
		{"v":123456789012345678901234567890}
		{"v":123456789012345678901234567891}
		{"v":1e5}
		{"v":1E5}
		{"v":"\u0000"}
		{"v":""}
	END
	bloomdedup --json=/v in >out 2>err
	sed -e 2,3d -e 7d -e 9d -e 12d -e 17d -e 21d in | cmp - out
	[ ! -s err ]
}

@test "the last of several members of one name counts" {
	printf '%s\n' '{"a":1,"a":2}' '{"a":2}' '{"\u0061":3,"a":2}' '{"a":1}' \
		'{"a":{"b":4},"a":{"c":4}}' '{"a":2,"a":{"b":1}}' >in
	bloomdedup --json=/a in 2>err | cmp - <(sed -e 2,3d in)
	printf '%s\n' '{"a":{"b":4},"a":{"b":5}}' '{"a":{"b":5}}' >in
	bloomdedup --json=/a/b in | cmp - <(head -n 1 in)
	printf '%s\n' '{"a":{"b":4},"a":5}' '{"a":{"b":4}}' >in
	bloomdedup --json=/a/b in 2>err | cmp - in
	grep -q 'line 1 lacks a value' err
}

@test "what is no JSON is compared whole, and told" {
	printf '%s\n' '{"a":1}' 'text' '{"a":1' '{"a":1}}' '{"a":1} x' '{"a":01}' \
		'{"a":1,}' '{"a" 1}' '{a:1}' '{"a":tru}' '{"a":"\x"}' '{"a":"\u12g4"}' \
		'{"a":[1,]}' '{"a":{"b"}}' '{"a":[1}}' '{"a":"' '{"a":+1}' '{"a":.5}' \
		'{"a":1.}' '{"a":1e}' '{"a":-}' '"a' 'nul' '' '{"a":1 "b":2}' >in
	bloomdedup --json=/a in >out 2>err
	cmp in out
	grep -qF '24 lines are not JSON, and were compared whole; the first is line 2' err
	# what is skipped over is not looked at that closely
	printf '%s\n' '{"b":[01,],"a":1}' '{"b":tru,"a":1}' '{"b":"\x","a":1}' \
		'{"a":1,"b":{"c":[}]}}' >in
	bloomdedup --json=/a in >out 2>err
	sed 2,3d in | cmp - out
	grep -qF 'line 4 is not JSON' err
	# control characters, NUL too, have no place in a string
	printf '{"a":"x\ty"}\n{"a":"x\0y"}\n{"a":"xy"}\n' |
		bloomdedup --json=/a 2>err | wc -l | grep -qx 3
	grep -q '2 lines are not JSON' err
	# bytes that are no UTF-8 are bytes
	printf '{"a":"\xff"}\n{"a":"\xfe"}\n{"a": "\xff"}\n' |
		bloomdedup --json=/a 2>err | wc -l | grep -qx 2
	[ ! -s err ]
}

@test "documents are nested 1024 levels deep at most" {
	nested() {
		perl -e 'my ($a, $z) = @ARGV > 2 ? ("{\"a\":", "}") : ("[", "]");
			print $ARGV[1], $a x $ARGV[0], "1", $z x $ARGV[0]' "$@"
	}
	{
		nested 1023 '{"x":'; echo ',"a":1}'
		nested 1023 '{"x":'; echo ',"a":1,"b":2}'
		nested 1024 '{"x":'; echo ',"a":1}'
		nested 1024 '{"a":'; echo '}'
		nested 100000 '{"x":'; echo ',"a":1}'
		nested 1023 '{"a":'; echo '}'
		nested 100000 ''; echo
		nested 100000 '' x; echo
	} >in
	bloomdedup --json=/a in >out 2>err
	[ "$(wc -l <out)" -eq 7 ]
	grep -qF '5 lines are nested more than 1024 levels deep, and were compared whole; the first is line 3' err
	run -3 --separate-stderr bloomdedup --json=/a --strict-keys in
	[[ $stderr == *'line 3 is nested more than 1024 levels deep'* ]]
}

@test "a value that lines lack, and a pointer that no line has, are told" {
	printf '{"a":1}\n{"b":1}\n{"a":1,"b":2}\n{"b":1}\n' >in
	bloomdedup --json=/a in >out 2>err
	printf '{"a":1}\n{"b":1}\n' | cmp - out
	echo 'bloomdedup: 2 lines lack a value that --json names, and were compared whole; the first is line 2 of in' |
		cmp - err
	bloomdedup --json=/a --json=/c in >out 2>err
	sed 4d in | cmp - out
	grep -qF -- '--json=/c: no line has a value at this pointer' err
	run ! grep -qF -- '--json=/a: no' err
	bloomdedup --json=/a --stats=json in 2>&1 >out |
		grep -q '"not_json": 0, "missing": 2,'
	# if no line has any of the values, the pointers are wrong
	printf '{"b":1}\n{"b":2}\nx\n' >other
	for how in '' '-f seen' '-q -f seen' '-j 3'; do
		# shellcheck disable=SC2086
		fails 3 'other: none of the first 3 lines has a value at /a or /c (--json)' \
			bloomdedup --json=/a --json=/c $how other
	done
	[ ! -e seen ]
	fails 3 'other: none of the first 3 lines has a value at /user/~1 (--json)' \
		bloomdedup --json=/user/~1 other
	# a stream that pauses is not held back
	mkfifo in.pipe
	bloomdedup --json=/a <in.pipe >out 2>err 3>&- &
	exec 7>in.pipe
	cat other >&7
	until_true cmp -s other out
	exec 7>&-
	wait $! && false || [ $? -eq 3 ]
	grep -qx 'bloomdedup: no line has a value at /a (--json)' err
	# a later line may have one
	{ seq 1100 | sed 's/.*/{"b":&}/' && echo '{"a":1}'; } >late
	fails 3 'late: none of the first 1024 lines has a value at /a (--json)' \
		bloomdedup --json=/a late
	head -n 900 late >early
	echo '{"a":1}' >>early
	bloomdedup --json=/a early 2>err | cmp early -
	# nothing was read
	bloomdedup --json=/a /dev/null 2>err
	[ ! -s err ]
}

@test "null is no value: such lines are compared whole, and told" {
	cat >in <<-'END'
		{"m":null,"n":1}
		{"m": null ,"n":2}
		{"m":"null","n":3}
		{"m":"null","n":4}
		{"m":null,"n":1}
		{"m":{"x":null},"n":5}
		{"m":[null],"n":6}
	END
	bloomdedup --json=/m --stats=json in >out 2>err
	sed -e 4,5d in | cmp - out
	grep -qF '3 lines have null where --json names a value, and were compared whole; the first is line 1 of in' err
	grep -qF '"not_json": 0, "missing": 3,' err
	# among several, any null does so, the last of several members counts
	printf '%s\n' '{"a":1,"b":null,"x":1}' '{"a":1,"b":null,"x":2}' \
		'{"b":2,"b":null,"a":1}' '{"a":1}' '{"a":1,"b":null,"b":3}' >in
	bloomdedup --json=/a --json=/b in 2>err | cmp - in
	grep -qF '3 lines have null' err
	grep -qF 'line 4 lacks a value' err
	# null is also the whole document, or an element
	printf '%s\n' null ' null' '[null]' '[null ]' null >in
	bloomdedup --json= in 2>err | cmp - <(sed 4,5d in)
	grep -qF '3 lines have null' err
	printf '%s\n' '[1,null]' '[2,null]' >in
	run -3 --separate-stderr bloomdedup --json=/1 in
	[ -z "$output" ]
	[ "$stderr" = 'bloomdedup: in: none of the first 2 lines has a value at /1 (--json)' ]
	run -3 --separate-stderr bloomdedup --json=/0 --json=/1 --strict-keys in
	[ -z "$output" ]
	[ "$stderr" = 'bloomdedup: in: line 1 has null where --json names a value, which --strict-keys does not allow' ]
	# the key is the line, behind a byte that no value begins with
	printf '{"m":null}\n' | bloomdedup key --json=/m 2>/dev/null |
		cmp - <(printf '\xff{"m":null}\n')
}

@test "several values are one key, whatever is in them" {
	cat >in <<-'END'
		{"a":"x","b":"y"}
		{"a":"x\",\"y","b":""}
		{"b":"y","a":"x","c":1}
		{"a":"x,y","b":""}
		{"a":"","b":"x"}
		{"a":"x","b":""}
		{"a":"x"}
	END
	bloomdedup --json=/a --json=/b in 2>/dev/null | cmp - <(sed 3d in)
	# -s and -w count what the values say
	printf '%s\n' '{"a":"abc","b":"1"}' '{"a":"xbd","b":"2"}' \
		'{"a":"ayy","b":""}' >in
	bloomdedup --json=/a --json=/b -w1 in | cmp - <(sed 3d in)
	bloomdedup --json=/b --json=/a -s2 -w1 in | wc -l | grep -qx 3
}

@test "a URL may be the value" {
	printf '%s\n' '{"u":"HTTP:\/\/A:80"}' '{"u":"http://a/#x"}' '{"u":7}' \
		'http://b/' 'HTTP://b/' >in
	bloomdedup --json=/u --url in >out 2>err
	sed 2d in | cmp - out
	grep -q 'in: the key of line 3 is not a URL, and was compared as it is' err
	printf '%s\n' '{"u":"HTTP://A","l":"x"}' '{"u":"http://a/","l":"x"}' \
		'{"u":"http://a/","l":"y"}' >in
	bloomdedup --json=/u --json=/l --url in | cmp - <(sed 2d in)
}

@test "lines that a run did not get to are not counted" {
	printf '{"a":1}\nbad\n{"b":1}\nbad\n{"b":2}\n' >in
	bloomdedup --json=/a --strict-keys --stats=json in 2>err >out ||
		[ $? -eq 3 ]
	grep -qF '"read": 1,' err
	grep -qF '"not_json": 0, "missing": 0,' err
	printf '{"a":1}\nb2\nb3\nb4\n' >in
	bloomdedup --json=/a --on-full=fail -n 3 --stats=json in 2>err >out ||
		[ $? -eq 4 ]
	grep -qF '"read": 3,' err
	grep -qF '"not_json": 2,' err
	grep -qF '2 lines are not JSON' err
}

@test "--strict-keys stops before the first line that is no JSON or lacks a value" {
	printf '{"a":1}\n{"a":0}\n{"a":2\n{"a":3}\n' >in
	run -3 --separate-stderr bloomdedup -f seen --json=/a --strict-keys in
	[ "$output" = $'{"a":1}\n{"a":0}' ]
	[ "$stderr" = 'bloomdedup: in: line 3 is not JSON, which --strict-keys does not allow' ]
	printf '{"a":1}\n{"b":1}\n{"a":3}\n' >in
	run -3 --separate-stderr bloomdedup --json=/a --strict-keys in
	[ "$output" = '{"a":1}' ]
	[ "$stderr" = 'bloomdedup: in: line 2 lacks a value that --json names, which --strict-keys does not allow' ]
	# one of several is not enough
	run -3 --separate-stderr bloomdedup --json=/a --json=/b --strict-keys in
	[ -z "$output" ]
	[[ $stderr == *'in: line 1 lacks a value that'* ]]
}

@test "the filter keeps pointers of any bytes, in their order" {
	bloomdedup create -n 100 --json=/b --json=$'/a\n%\x7f' seen
	bloomdedup info seen | grep -qF -e "--json=/b --json='/a\x0a%\x7f'"
	bloomdedup create -n 100 --json=$'/\x9b\xc3\xa4' other
	bloomdedup info other | grep -qF -e $'--json=\'/\\x9b\xc3\xa4\''
	printf '{"b":1,"a\\n%%\x7f":2}\n' >in
	bloomdedup -f seen in >out 2>err
	[ ! -s err ]
	bloomdedup check -f seen --json=/b --json=$'/a\n%\x7f' in | cmp - in
	fails 2 'which contradicts --json=/b' bloomdedup -f seen --json=/b in
	fails 2 --csv bloomdedup --json=/a --csv
	fails 2 --key bloomdedup --json=/a -k1
	fails 2 'has room for' bloomdedup --json=/"$(head -c 1020 /dev/zero |
		tr '\0' x)"
}

@test "a byte order mark, CRLF, -z and a long line" {
	printf '\xef\xbb\xbf{"a":1}\n{"a":1}\r\n' | bloomdedup --json=/a \
		2>err | wc -l | grep -qx 1
	printf '{"a":\n1}\0{"a":1}\0' | bloomdedup -z --json=/a |
		tr '\0' '\n' | wc -l | grep -qx 2
	{
		printf '{"x":"'; head -c 3000000 /dev/zero | tr '\0' '{'
		printf '\\"","a":1}\n{"a":1}\n'
	} | bloomdedup --json=/a | wc -l | grep -qx 1
}

@test "jq finds the same values" {
	needs jq
	docs 11 "$count" >docs
	for pointer in /a:'["a"]' /a/b:'["a","b"]' /b/0:'["b","0"]' \
		'/~0~1:["~/"]' /a/0/b:'["a","0","b"]' /:'[""]'; do
		by_jq "${pointer#*:}" <docs >found
		sed -n 1~2p found >ours
		sed -n 2~2p found >theirs
		[ "$(wc -l <theirs)" -gt 10 ]
		for name in ours theirs; do
			bloomdedup create --force -n "$count" -p 1e-9 \
				--json="${pointer%%:*}" "$name.bloom"
			bloomdedup add -f "$name.bloom" "$name" 2>err
			[ ! -s err ]
		done
		bloomdedup check -v -f ours.bloom theirs >differ || true
		bloomdedup check -v -f theirs.bloom ours >>differ || true
		cat differ
		[ ! -s differ ]
	done
}

@test "the second reader finds the same keys in any bytes" {
	docs 12 300 >docs
	perl -e 'srand 13; my @lines = <STDIN>; for (1 .. 3000) {
		my $line = $lines[rand @lines];
		my @pieces = ("{", "}", "[", "]", ",", ":", q("), "\\", "a", "0",
			"1", ".", "e", "-", "true", "\\u", "\0", " ", q("a":), "\\\"");
		for (0 .. rand 3) {
			my $at = int rand length $line;
			substr($line, $at, int rand 3) = $pieces[rand @pieces];
		}
		$line =~ tr/\n//d;
		print "$line\n" }' <docs >any
	cat docs >>any
	head -n 1500 any >some
	while read -r options; do
		# shellcheck disable=SC2086 # words
		bloomdedup create -n 10000 --force $options seen
		bloomdedup add -f seen some 2>/dev/null
		bloomdedup check -f seen any >ours 2>/dev/null
		python3 "$ROOT/tests/format/reader.py" seen <any >theirs
		if ! cmp ours theirs; then
			echo "with $options"
			return 1
		fi
	done <<-'END'
		--json=/a
		--json=
		--json=/a/b -w 3
		--json=/b/0/a --json=/a -s 1 -w 4 -i
		--json=/~0~1 --json=/0 --json=/ --trim
	END
}

@test "a line that is kept whole is no value with the same text" {
	printf 'server started\n{"msg":"server started"}\n' >in
	bloomdedup --json=/msg in 2>err | cmp in -
	# nor several values, or one that begins as the key of a whole line does
	printf '"a","b"\n{"x":"a","y":"b"}\n' >in
	bloomdedup --json=/x --json=/y in 2>err | cmp in -
	printf '{"x":"\377a"}\na\n{"x":"\376a"}\n\376a\n{"x":"a"}\n' >in
	bloomdedup --json=/x in 2>err | cmp in -
	printf '\n{"x":""}\n' >in
	bloomdedup --json=/x in 2>err | cmp in -
	# two lines that are the same are the same
	printf 'a\na\n{"x":1}\n' | bloomdedup --json=/x 2>err >out
	[ "$(cat out)" = $'a\n{"x":1}' ]
}

@test "--strict-keys is for keys that a line can lack" {
	echo a >in
	fails 2 '--strict-keys is for --json, --url, --csv and -k' \
		bloomdedup --strict-keys in
	bloomdedup create --url seen
	fails 3 'not a URL' bloomdedup -f seen --strict-keys in
}

@test "many pointers and a long line need no more memory than their values" {
	skip_if_sanitized
	skip_if_emulated "memory of its own"
	local pointers=() i
	for i in {1..32}; do
		pointers+=(--json="/k$i")
	done
	perl -e 'print "{\"k32\":\"", "x" x 20000000, "\"", map(",\"k$_\":$_",
		1 .. 31), "}\n"' >long
	(ulimit -v 1000000; bloomdedup "${pointers[@]}" long long) |
		cmp long -
}

@test "a recipe that is too long is told with all bytes of its text" {
	# each % takes three bytes there
	fails 2 'take 1207 bytes in the filter, which has room for 1024' \
		bloomdedup --json="/$(printf '%400s' | tr ' ' %)" /dev/null
}
