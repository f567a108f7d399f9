# --url: URLs by their normal form, RFC 3986.
load ../common

# same A B: are they one line under --url and these options?
same() {
	[ "$(printf '%s\n%s\n' "$1" "$2" | bloomdedup --url "${@:3}" 2>/dev/null |
		wc -l)" -eq 1 ]
}

@test "the spellings of the table are the same, differ, or are no URLs" {
	local kind a b count=0
	while IFS=$'\t' read -r kind a b; do
		case $kind in
		=) same "$a" "$b" ;;
		!) run ! same "$a" "$b" ;;
		-) [ "$(printf '%s\n%s\n' "$a" http://a | bloomdedup --url 2>&1 \
			>/dev/null)" = 'bloomdedup: standard input: line 1 is not a URL, and was compared whole' ] ;;
		*) continue ;;
		esac || { echo "$kind $a $b"; return 1; }
		count=$((count + 1))
	done <"$ROOT/tests/keys/url.txt"
	[ "$count" -gt 110 ]
}

@test "each line is printed as it came, the first of each address" {
	printf 'HTTP://A:80\nhttp://a/\nhttp://a/#x\nfoo\nhttp://b\nfoo\n' |
		bloomdedup --url >out 2>err
	printf 'HTTP://A:80\nfoo\nhttp://b\n' | cmp - out
	echo 'bloomdedup: 2 lines are not URLs, and were compared whole; the first is line 4 of standard input' |
		cmp - err
}

@test "--url-ignore leaves out parameters by name" {
	same 'http://a/?utm_source=x&id=1&gclid=y' 'http://a/?id=1' \
		--url-ignore='utm_*,gclid'
	same 'http://a/?utm_source=x' 'http://a/' --url-ignore='utm_*'
	same 'http://a/?utm_source=x#y' 'http://a' --url-ignore='utm_*'
	same 'http://a/?%75tm_a' 'http://a/' --url-ignore='utm_*'
	same 'http://a/?a[]=1&a%5b%5D' 'http://a/' --url-ignore='a[]'
	same 'http://a/?a=1' 'http://a/' --url-ignore='*'
	same 'http://a/?' 'http://a/' --url-ignore='*'
	same 'http://a/?&#x' 'http://a/' --url-ignore='a,*'
	same 'http://a/?100%=1&%zz&c' 'http://a/?c' --url-ignore='100%,%z*'
	same 'http://a/?%4%31' 'http://a/' --url-ignore='%4%31'
	same 'http://a/?%zza' 'http://a/' --url-ignore='*a'
	run ! same 'http://a/?%4%31' 'http://a/' --url-ignore=A
	same 'http://a/?xaybz=1&c' 'http://a/?c' --url-ignore='x*y*z'
	same 'http://a/?b&a&b=2' 'http://a/?a' --url-ignore='b'
	run ! same 'http://a/?id=1' 'http://a/?id=2' --url-ignore='i,d,id_*'
	run ! same 'http://a/?utm=1' 'http://a/' --url-ignore='utm_*'
	run ! same 'http://a/?xaybzc=1' 'http://a/' --url-ignore='x*y*z'
	run ! same 'http://a/?ID=1' 'http://a/' --url-ignore='id'
	run ! same 'http://a/?' 'http://a/' --url-ignore='id'
	run ! same 'http://a/?&' 'http://a/?' --url-ignore='id'
	run ! same 'http://a/?b=id' 'http://a/?b' --url-ignore='id'
	for list in '' , a, ,a a,,b a=b 'a&b' $'a\nb' $'a\x7f'; do
		fails 2 --url-ignore bloomdedup --url --url-ignore="$list"
	done
	fails 2 'add --url' bloomdedup --url-ignore=a
}

@test "--url-sort ignores the order of names, not of values of one name" {
	same 'http://a/?b=1&a=2' 'http://a/?a=2&b=1' --url-sort
	same 'http://a/?b&a=2&c=%41&a=1' 'http://a/?a=2&a=1&b&c=A' --url-sort
	same 'http://a/?a-=1&a=2' 'http://a/?a=2&a-=1' --url-sort
	same 'http://a/?b&&a' 'http://a/?&a&b' --url-sort
	same 'http://a/?c&x&b&a' 'http://a/?x&a&b&c' --url-sort --url-ignore=x
	run ! same 'http://a/?a=2&a=1' 'http://a/?a=1&a=2' --url-sort
	run ! same 'http://a/?b&a' 'http://a/?a&b'
	# against a model
	python3 - >in <<-'PYTHON'
		import random
		random.seed(5)
		for _ in range(3000):
		    print("http://a/?" + "&".join(random.choice("abc") +
		        random.choice(("", "=", "=1", "=2")) for _ in
		        range(random.randint(1, 5))))
	PYTHON
	bloomdedup --url --url-sort in >out
	python3 - >want <<-'PYTHON'
		seen = set()
		for line in open("in"):
		    query = line.rstrip("\n").partition("?")[2].split("&")
		    key = tuple(sorted(query, key=lambda p: p.partition("=")[0]))
		    if key not in seen:
		        print(line, end="")
		    seen.add(key)
	PYTHON
	cmp want out
	fails 2 'add --url' bloomdedup --url-sort
}

@test "each byte at each place, whether the rest is in its normal form or not" {
	perl -e 'for my $n (0, 1, 14 .. 17, 30 .. 33, 61 .. 66) {
		my $long = "a" x $n;
		for my $c (grep $_ != 10, 1 .. 255) {
			print "http://b$_\nHTTP://b$_\n" for map sprintf($_, $c),
			    "$long%cc/d", "/$long%cc", "/$long/%c", "/?$long%cc",
			    "/$long%%%02x";
		} }' >in
	# neither spelling of these is in its normal form
	sed s/^http/Http/ in | bloomdedup --url 2>err | sed s/^Http/http/ >want
	grep -q 'not URLs' err
	[ "$(wc -l <want)" -gt 20000 ]
	for set in avx512 avx2 plain; do
		BLOOMDEDUP_INSTRUCTIONS=$set bloomdedup --url <in 2>now >out
		cmp want out
		cmp err now
	done
}

@test "addresses of 100 KB, and of a million parameters" {
	long=$(head -c 100000 /dev/zero | tr '\0' a)
	printf 'HTTP://a/%s/../%s\nhttp://a/%s\nhttp://a/%sb\n' \
		"$long" "$long" "$long" "$long" >in
	[ "$(bloomdedup --url in | wc -l)" -eq 2 ]
	for order in '' -r; do
		printf 'http://a/?'
		seq 1000000 | sort $order | tr '\n' '&'
		echo
	done >in
	[ "$(bloomdedup --url --url-sort in | wc -l)" -eq 1 ]
	[ "$(bloomdedup --url in | wc -l)" -eq 2 ]
	perl -e 'print "http://a", "/b/.." x 30000, "\n", "http://a/\n"' |
		bloomdedup --url >out
	[ "$(wc -l <out)" -eq 1 ]
}

@test "any bytes are a line, and NUL and control bytes no part of a URL" {
	printf 'http://a/\0b\nhttp://a/\0b\nhttp://a/\1b\nhttp://a/\177\n' |
		bloomdedup --url 2>err >out
	printf 'http://a/\0b\nhttp://a/\1b\nhttp://a/\177\n' | cmp - out
	grep -q '4 lines are not URLs' err
	head -c 300000 /dev/urandom >in
	echo >>in
	bloomdedup --url in 2>err | cmp - <(bloomdedup in)
}

@test "the URL may be a field, and several of CSV" {
	printf 'a,HTTP://B\nc,http://b/\n' | bloomdedup --url -t, -k2 >out
	printf 'a,HTTP://B\n' | cmp - out
	printf '"HTTP://B","x"\nhttp://b/,x\nhttp://b/,y\n"http://b/?""",x\nhttp://b/?%%22,x\n' |
		bloomdedup --url --csv -k1,2 >out 2>err
	printf '"HTTP://B","x"\nhttp://b/,y\n"http://b/?""",x\n' | cmp - out
	[ ! -s err ]
	# what the other options cut is the normal form
	printf 'HTTP://abc\nhttp://abd\nhttp://b\n' |
		bloomdedup --url -w 9 >out
	printf 'HTTP://abc\nhttp://b\n' | cmp - out
	printf '%s\n' HTTP://a/B http://a/b | bloomdedup --url -i >out
	echo HTTP://a/B | cmp - out
	fails 2 'one field' bloomdedup --url -k1,2
}

@test "the filter keeps it, and info says so" {
	bloomdedup create -n 100 --url --url-sort --url-ignore='b,utm_*' seen
	bloomdedup info seen | grep -qF -e "--url --url-ignore='b,utm_*' --url-sort"
	printf 'http://a?d&c\nhttp://a/?c&d&b\n' | bloomdedup -f seen >out
	echo 'http://a?d&c' | cmp - out
	echo 'HTTP://A/?c&d' | bloomdedup check -f seen | grep -q A
	fails 2 "made with --url-ignore='b,utm_*', which contradicts --url-ignore=b" \
		bloomdedup -f seen --url-ignore=b
	bloomdedup create -n 100 plain
	fails 2 'made without --url, which contradicts --url' bloomdedup -f plain --url
	# what has no room in the filter is told from what is not allowed
	fails 2 '--url-ignore: too long' bloomdedup --url \
		--url-ignore="$(seq -s, 1000 1205)"
	fails 2 '--json: too long' bloomdedup --json="/$(seq -s, 1000 1205)"
	fails 2 '--key: too long' bloomdedup --csv --header \
		-k "$(seq -s x 1000 1205)"
}

@test "--strict-keys stops before the first line that is no URL" {
	printf 'http://a\nhttp://b\nfoo\nhttp://c\n' >in
	run -3 --separate-stderr bloomdedup -f seen --url --strict-keys in
	[ "$output" = $'http://a\nhttp://b' ]
	[ "$stderr" = 'bloomdedup: in: line 3 is not a URL, which --strict-keys does not allow' ]
	bloomdedup check -v -f seen in >out 2>/dev/null
	printf 'foo\nhttp://c\n' | cmp - out
	# far behind, with several threads, in the second file
	seq -f 'http://a/%.0f' 30000 >many
	for threads in 1 2 4; do
		run -3 --separate-stderr bloomdedup -j "$threads" --url \
			--strict-keys many in
		[ "${#lines[@]}" -eq 30002 ]
		[[ $stderr == *': in: line 3 is not a URL'* ]]
	done
}

@test "the first line that is no URL is named with its file" {
	printf 'http://a\n' >one
	printf 'http://b\nfoo\nbar\n' >two
	bloomdedup --url one two one 2>err >out
	grep -qF '2 lines are not URLs, and were compared whole; the first is line 2 of two' err
	bloomdedup --url <two one - 2>err >out
	grep -qF 'the first is line 2 of standard input' err
	# a record may have several lines, and the header is one
	printf 'id,u\n1,http://a\n"2\n",x\n3,y\n' >table.csv
	bloomdedup --csv --header -k u --url one table.csv 2>err >out ||
		[ $? -eq 3 ]
	grep -qF 'the keys of 2 records are not URLs, and were compared as they are; the first is record 3 of table.csv' err
	run -3 --separate-stderr bloomdedup --csv --header -k u --url \
		--strict-keys table.csv
	[ "$stderr" = 'bloomdedup: table.csv: the key of record 3 is not a URL, which --strict-keys does not allow' ]
}

@test "a key that is no URL is compared as it is, and the message says so" {
	printf 'a,foo\nb,foo\nc,bar\n' >in
	bloomdedup --url -t, -k2 in 2>err | cmp - <(sed 2d in)
	grep -qF 'the keys of 3 lines are not URLs, and were compared as they are; the first is line 1 of in' err
	printf 'xyzabc\nxyzabd\n' >in
	bloomdedup --url -w3 in 2>err | cmp - <(sed 2d in)
	grep -qF 'the keys of 2 lines are not URLs' err
}

@test "a run that a signal ends tells of lines that are no URLs, too" {
	mkfifo in.fifo
	"$BLOOMDEDUP" --url <in.fifo >out 2>err 3>&- &
	run=$!
	exec 9>in.fifo
	echo foo >&9
	until_true test -s out
	kill -TERM "$run"
	exec 9>&-
	wait "$run" || [ $? -eq 143 ]
	grep -qF 'line 1 is not a URL' err
}

@test "--stats counts lines that are no URLs" {
	printf 'http://a\nfoo\nbar\n' | bloomdedup --url --stats=json 2>err >out
	grep -q '"not_urls": 2' err
	printf 'http://a\nfoo\n' | bloomdedup --url --stats 2>err >out
	grep -qE '^not urls +1$' err
	# by several threads, in order
	{ seq -f 'http://a/%.0f' 20000; seq 20000; } >in
	for threads in 1 3; do
		bloomdedup -j "$threads" --url in 2>err >out
		grep -qF '20,000 lines are not URLs, and were compared whole; the first is line 20,001 of in' err
	done
}

@test "--url-ignore: lists add up, and patterns match names as they read" {
	printf 'http://a/?x=1&y=2\nhttp://a/?y=3\nhttp://a/\n' >in
	bloomdedup --url --url-ignore=x --url-ignore=y in >out
	head -n 1 in | cmp - out
	printf 'http://a/?c[]=1\nhttp://a/\n' >in
	# %5D is ], not a D
	bloomdedup --url --url-ignore='*D' in | cmp in -
	bloomdedup --url --url-ignore='*5*' in | cmp in -
	bloomdedup --url --url-ignore='*]' in >out
	head -n 1 in | cmp - out
}

@test "byte order marks and blanks around a URL: in the order of the manual" {
	cat >model.py <<-'PYTHON'
		import itertools, sys
		MARK, BLANKS = b"\xef\xbb\xbf", b"\t\n\v\f\r "
		pieces = [MARK, b" ", b"\t", b"\x01"]
		lines = [b"".join(before) + b"http://A.example/" + after
		         for n in range(5)
		         for before in itertools.product(pieces, repeat=n)
		         for after in (b"", b" ", b"\x01\t")]
		def url(value):
		    text = value.removeprefix(MARK).strip(bytes(range(0x21)))
		    if text == b"http://A.example/":
		        return b"http://a.example/"
		    return value
		def key(line, options):
		    if "--trim" in options:
		        line = line.strip(BLANKS)
		    if "-k1" in options: # a record of one field
		        line = line.removeprefix(MARK)
		    if "--trim-fields" in options:
		        line = line.strip(BLANKS)
		    return url(line)
		open("in", "wb").write(b"".join(line + b"\n" for line in lines))
		for i, options in enumerate(open("options")):
		    with open("want.%d" % i, "wb") as out:
		        for line in lines:
		            out.write(key(line, options.split()) + b"\n")
	PYTHON
	cat >options <<-'END'
		--url
		--url --trim
		--csv --url
		--csv --url --trim
		--csv -k1 --url
		--csv -k1 --url --trim
		--csv -k1 --url --trim-fields
		--csv -k1 --url=form --trim --trim-fields
	END
	python3 model.py
	[ "$(wc -l <in)" -gt 1000 ]
	n=0
	while read -r options; do
		# shellcheck disable=SC2086
		bloomdedup key $options in >out 2>err
		cmp "want.$n" out
		grep -q '^http://a.example/$' out
		n=$((n + 1))
	done <options
}

@test "parameters are sorted as in short URLs if they are megabytes" {
	needs python3
	cat >model.py <<-'PYTHON'
		import random
		random.seed(11)
		lines, sorted_lines = [], []
		for _ in range(12):
		    text = ["%s=%d" % (random.choice([
		        "k%d" % random.randrange(100000), "a", "b"]),
		        random.randrange(100)) for _ in range(200000)]
		    for _ in range(random.randrange(4)):
		        text.insert(random.randrange(len(text)), "k%d=%s" % (
		            random.randrange(100000), random.choice("xyz") *
		            random.choice([16384, 16385, 500000, 2000000])))
		    if random.random() < 0.3:
		        text.sort()
		    lines.append("http://a/?" + "&".join(text))
		    text.sort(key=lambda p: p.split("=")[0])
		    sorted_lines.append("http://a/?" + "&".join(text))
		open("in", "w").write("\n".join(lines) + "\n")
		open("want", "w").write("\n".join(sorted_lines) + "\n")
	PYTHON
	python3 model.py
	bloomdedup key --url --url-sort in | cmp want -
}

@test "a long URL needs room for its line and its key, not for more" {
	skip_if_sanitized
	# one parameter of 32 MiB; millions of them, as long in all
	{
		printf 'http://a/?%%41='
		head -c 33554432 /dev/zero | tr '\0' x
		echo
	} >one
	{
		printf 'http://a/?'
		seq 4200000 -1 1 | tr '\n' '&'
		echo
	} >many
	for options in --url=form '--url --url-sort' '--url --url-ignore=b' \
		--url=form,tracking --url=values; do
		for in in one many; do
			# shellcheck disable=SC2086
			"$HELPER" peak $((2 * 32 * 1024 + 15625)) \
				"$BLOOMDEDUP" $options $in >out
			cmp $in out
		done
	done
}
