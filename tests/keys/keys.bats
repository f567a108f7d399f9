# What of a line is compared: -k -t -s -w -i --trim --strip-cr. What goes out
# is always the line as it came.
load ../common

# random_lines COUNT SEED SEPARATORS: lines of 0 to 5 short fields, some empty,
# with one of the bytes of SEPARATORS between them.
random_lines() {
	perl -e '
		my ($count, $seed, $separators) = @ARGV;
		srand $seed;
		for (1 .. $count) {
			my $line = "";
			my $fields = int rand 6;
			for my $i (1 .. $fields) {
				$line .= substr $separators,
					int rand length $separators, 1
					if $i > 1;
				$line .= join "", map {
					substr "abAB.", int rand 5, 1
				} 1 .. int rand 3;
			}
			print "$line\n";
		}' "$@"
}

# key_out WANT INPUT OPTION...: INPUT and WANT as printf has them.
key_out() {
	local want=$1 input=$2
	shift 2
	# shellcheck disable=SC2059
	printf "$input" | bloomdedup "$@" >out
	# shellcheck disable=SC2059
	printf "$want" | cmp - out
}

@test "-k 1,2 is what awk does with a separator, on random lines" {
	random_lines 20000 1 , >in
	awk -F, '!seen[$1 "\034" $2]++' in >want
	bloomdedup -t, -k 1,2 in >out
	cmp want out
	[ "$(wc -l <out)" -gt 100 ]
	[ "$(wc -l <out)" -lt 15000 ]
}

@test "without -t fields are awk's, on random lines" {
	random_lines 20000 2 '  	' >in
	awk '!seen[$1 "\034" $2]++' in >want
	bloomdedup -k 1,2 in >out
	cmp want out
	awk '!seen[$2]++' in >want
	bloomdedup -k2 in >out
	cmp want out
	[ "$(wc -l <out)" -gt 10 ]
}

@test "lists, open ends and ranges are what awk does with them" {
	random_lines 5000 3 ': ' >in
	while read -r list fields; do
		awk -F: '{ key = "" } {
			n = split("'"$fields"'", f, ",")
			for (i = 1; i <= n; i++)
				key = key "\034" $f[i]
		} !seen[key]++' in >want
		bloomdedup -t: -k "$list" in >out
		cmp want out
		[ "$(wc -l <out)" -gt 10 ]
	done <<-'END'
		1 1
		2 2
		2,4 2,4
		-2 1,2
		2-3 2,3
		2- 2,3,4,5,6
		1- 1,2,3,4,5,6
		-1,3- 1,3,4,5,6
		1-2,2-3 1,2,3
	END
}

@test "the order of a list doesn't matter: -k 3,1 is -k 1,3" {
	random_lines 5000 4 , >in
	bloomdedup -t, -k 1,3 in >want
	bloomdedup -t, -k 3,1 in >out
	cmp want out
	bloomdedup -f seen -t, -k 1,3 in >out
	cmp want out
	bloomdedup -f seen -t, -k 3,1 in >out
	[ ! -s out ]
	bloomdedup -f seen -t, -k 3,3,1 in >out
	[ ! -s out ]
}

@test "different fields never make the same key" {
	key_out 'a,bc\nab,c\nabc\n' 'a,bc\nab,c\nabc\n' -t, -k 1,2
	key_out 'a bc\nab c\nabc\n' 'a bc\nab c\nabc\n' -k 1-
	key_out ',a\na,\n' ',a\na,\na\n' -t, -k 1,2
	key_out 'a,,b\na,b\n' 'a,,b\na,b\na,b,\n' -t, -k 1-
	key_out 'a,1,b\na,1\n' 'a,1,b\na,1\na,2,b\na,2,\n' -t, -k 1,3
}

@test "a field that a line doesn't have is empty, as in sort" {
	key_out 'a\n1,2\n' 'a\nb\n\n1,2\nc,\n3,2\n' -t, -k2
	key_out '\na b\n' '\na\n  \na b\nx b \n' -k2
	key_out 'a b c\nb\n' 'a b c\nb\na\n' -k 1,1000000000
}

@test "every byte can be the separator, also several ones in a row" {
	key_out 'a,,x\nb,,y\n' 'a,,x\nb,,y\nc,z,x\n' -t, -k3
	key_out 'a\tx\n' 'a\tx\nb\tx\n' -t '\t' -k2
	key_out 'a\tx\n' 'a\tx\nb\tx\n' -t '	' -k2
	key_out 'a\0x\n' 'a\0x\nb\0x\n' -t '\0' -k2
	key_out 'a\\x\n' 'a\\x\nb\\x\n' -t '\' -k2
	key_out 'a x\n x\n' 'a x\n x\na y\n' -t ' ' -k1
	key_out 'a"x\n' 'a"x\nb"x\n' -t '"' -k2
	LC_ALL=C key_out 'a\xffx\n' 'a\xffx\nb\xffx\n' -t $'\xff' -k2
}

@test "a separator of more bytes than one is refused" {
	fails 2 "'ab'" bloomdedup -k1 -t ab
	fails 2 "'é'" bloomdedup -k1 -t é
	fails 2 "''" bloomdedup -k1 -t ''
	fails 2 "'\\n'" bloomdedup -k1 -t '\n'
}

@test "the separator must differ from the line end" {
	fails 2 --field-separator bloomdedup -k1 -t '
'
	fails 2 --field-separator bloomdedup -z -k1 -t '\0'
	printf 'a\nx\0b\nx\0' | bloomdedup -z -k2 -t '
' >out
	printf 'a\nx\0' | cmp - out
}

@test "-t without -k is refused" {
	fails 2 --key bloomdedup -t,
	fails 2 --key bloomdedup create -t, filter
	[ ! -e filter ]
}

@test "lists that cut would refuse are refused" {
	local list
	for list in '' 0 - ',' '1,' ',1' 1,,2 0-1 1-0 2-1 1-2-3 a 1a 1.5 1e1 0x1 \
		' 1' '1 ' +1 -1- 99999999999999999999; do
		fails 2 "'$list'" bloomdedup -k "$list"
	done
}

@test "-s leaves out the first bytes of the key, -w what is beyond" {
	key_out 'xabc\nxabd\n' 'xabc\nyabc\nxabd\n' -s1
	key_out 'abc\nb\n' 'abc\nabd\nb\n' -w2
	key_out 'xabc\n' 'xabc\nyabd\n' -s1 -w2
	key_out 'abc\n' 'abc\nde\n\n' -s3
	key_out 'a\nab\n' 'a\nab\nabc\n' -w2
	key_out 'abc\n' 'abc\nde\n\n' -s1e18
	key_out 'abc\nabd\n' 'abc\nabd\nabc\n' -w1e18
	fails 2 --skip-chars bloomdedup -s -1
	fails 2 --check-chars bloomdedup -w x
	fails 2 --check-chars bloomdedup -w 0
}

@test "-s and -w are what cut -b does, on random lines" {
	random_lines 5000 5 , >in
	perl -ne 'chomp; $k = length > 2 ? substr $_, 2, 3 : "";
		print "$_\n" unless $s{$k}++' in >want
	bloomdedup -s2 -w3 in >out
	cmp want out
	[ "$(wc -l <out)" -gt 10 ]
}

@test "-i takes large and small letters of ASCII as the same, no others" {
	key_out 'Abc\nabd\n' 'Abc\naBC\nabd\nABC\n' -i
	key_out '[\n{\n@\n`\n' '[\n{\n@\n`\n' -i
	key_out '\xc3\x84\n\xc3\xa4\n\xe9\n\xc9\n' \
		'\xc3\x84\n\xc3\xa4\n\xe9\n\xc9\n' -i
	random_lines 5000 6 ' ' >in
	perl -ne 'print unless $s{lc $_}++' in >want
	bloomdedup -i in >out
	cmp want out
}

@test "--trim leaves out blanks at both ends" {
	key_out '  a\na b\n' '  a\na\t\na b\n a b\r\n' --trim
	key_out ' \n' ' \n\n\t\t\n' --trim
}

@test "--strip-cr leaves out one CR at the end" {
	key_out 'a\r\nb\na\r\r\n' 'a\r\na\nb\nb\r\na\r\r\n' --strip-cr
	key_out '\r\n' '\r\n\n' --strip-cr
	printf 'a\r\0a\0a\r\n\0' | bloomdedup -z --strip-cr >out
	printf 'a\r\0a\r\n\0' | cmp - out
}

@test "the steps come in this order: strip-cr, trim, -k, -s, -w, -i" {
	# CR before the blank is not at the end, until trim has taken it
	key_out 'a \r\na\n' 'a \r\na\n' --strip-cr
	key_out 'a \r\n' 'a \r\na\n' --strip-cr --trim
	# with trim first the blank in front makes no field
	key_out ' a b\n' ' a b\na c\n' --trim -t ' ' -k1
	key_out ' a b\na c\n' ' a b\na c\n' -t ' ' -k1
	# -s and -w count in the field, not in the line
	key_out 'abc,xyz\n' 'abc,xyz\nabd,qyz\n' -t, -k2 -s1
	key_out 'abc,xyz\n' 'abc,xyz\nabd,xyq\n' -t, -k2 -w2
	key_out 'a,XYZ\n' 'a,XYZ\nb,xyQ\n' -t, -k2 -w2 -i
	key_out 'A,xB\na,yc\n' 'A,xB\na,yb\na,yc\n' -t, -k2 -s1 -i
	# and the order on the command line is all the same
	key_out 'A,xB\na,yc\n' 'A,xB\na,yb\na,yc\n' -i -s1 -k2 -t,
}

@test "what goes out is the line as it came" {
	printf '  Ab,C \r\n\tab,c\nx\0y,C\r\n' >in
	head -n1 in >want
	tail -n1 in >>want
	bloomdedup --strip-cr --trim -k1 -t, -s0 -w9 -i in >out
	cmp want out
}

@test "all of it works with -z" {
	random_lines 5000 7 ',;' | tr '\n;' '\0\n' >in
	perl -0ne 'chomp; @f = split /,/, $_, -1; print "$_\0" unless
		$s{"$f[0],$f[2]"}++' in >want
	bloomdedup -z -t, -k 1,3 in >out
	cmp want out
	[ -s out ]
	printf ' \nA b\0a b\0A\n\0' | bloomdedup -z --trim -i >out
	printf ' \nA b\0A\n\0' | cmp - out
	printf 'x\nb\0y b\0' | bloomdedup -z -k2 >out
	printf 'x\nb\0' | cmp - out
	printf 'abc\0xbd\0' | bloomdedup -z -s1 -w1 >out
	printf 'abc\0' | cmp - out
}

@test "keys are found also when the input comes in pieces" {
	random_lines 20000 8 , >in
	bloomdedup -t, -k 1,3 in >want
	"$HELPER" pieces 1 <in | bloomdedup -t, -k 1,3 >out
	cmp want out
	gzip -c in | "$HELPER" pieces 2 | bloomdedup -t, -k 1,3 >out
	cmp want out
}

@test "huge lines, huge fields and many fields" {
	perl -e 'print "a" x 3000000, ",", "b" x 3000000, ",c\n";
		print "x", "," x 3000000, "\n";
		print "a" x 3000000, ",", "B" x 3000000, ",d\n";
		print "y", "," x 3000000, "z\n"' >in
	sed -n '1,2p;4p' in >want
	bloomdedup -t, -k2- -w 6000000 in >out
	cmp in out
	bloomdedup -t, -k2 -i in >out
	sed -n 1,2p in | cmp - out
	bloomdedup -t, -k 2,3000001 -i in >out
	cmp want out
}

@test "the recipe is kept in the filter and later runs inherit it" {
	key_out 'a,1\nb,2\n' 'a,1\nb,2\nc,1\n' -f seen -t, -k2
	key_out 'e,3\n' 'd,2\ne,3\n' -f seen
	key_out 'e,4\n' 'd,2\ne,4\n' -f seen -k2
	key_out 'e,5\n' 'd,2\ne,5\n' -f seen -t,
	echo 'x,5' | bloomdedup check -f seen >out
	echo 'x,5' | cmp - out
	echo 'f,6' | bloomdedup add -f seen
	[ -z "$(echo 'g,6' | bloomdedup -f seen)" ]
}

@test "create writes the recipe, too, with all of its options" {
	bloomdedup create -z --strip-cr --trim -t, -k 2- -s1 -w4 -i filter
	printf 'a,xABcd?\r \0b,yabCD!\0c,yab\0' | bloomdedup -f filter >out
	printf 'a,xABcd?\r \0c,yab\0' | cmp - out
	bloomdedup info filter >out
	bloomdedup -z --strip-cr --trim -t, -k 2- -s1 -w4 -i -f filter </dev/null
}

@test "contradictions are errors that name both sides" {
	bloomdedup create -t, -k2 plain
	fails 2 --key=2 bloomdedup -f plain -k3 </dev/null
	grep -qF -- --key=3 fails.err
	grep -qF plain fails.err
	fails 2 --field-separator=, bloomdedup -f plain -t';' </dev/null
	grep -qF -- "--field-separator=';'" fails.err
	fails 2 'without --trim' bloomdedup -f plain --trim </dev/null
	fails 2 'without --strip-cr' bloomdedup -f plain --strip-cr </dev/null
	fails 2 'without --ignore-case' bloomdedup -f plain -i </dev/null
	fails 2 'without --csv' bloomdedup -f plain --csv </dev/null
	fails 2 --zero-terminated bloomdedup -f plain -z </dev/null
	fails 2 --skip-chars=1 bloomdedup -f plain -s1 </dev/null
	fails 2 --check-chars=1 bloomdedup -f plain -w1 </dev/null
	fails 2 'without --trim' bloomdedup add -f plain --trim </dev/null
	fails 2 'without --trim' bloomdedup check -f plain --trim </dev/null
	bloomdedup create whole
	fails 2 'whole line' bloomdedup -f whole -k1 </dev/null
	bloomdedup create -s1 -w2 numbers
	fails 2 --skip-chars=1 bloomdedup -f numbers -s2 </dev/null
	grep -qF -- --skip-chars=2 fails.err
	fails 2 --check-chars=2 bloomdedup -f numbers -w1 </dev/null
	grep -qF -- --check-chars=1 fails.err
}

@test "-s 0 contradicts a filter that skips bytes" {
	bloomdedup create -s1 filter
	fails 2 --skip-chars bloomdedup -f filter -s0 </dev/null
}

@test "a contradiction leaves filter and output as they were" {
	echo a,b | bloomdedup -f filter -t, -k2 >out
	cp filter before
	echo keep >kept
	echo c,d >in
	fails 2 --key bloomdedup -f filter -k1 -o kept in
	cmp before filter
	echo keep | cmp - kept
}

@test "keys keep their lines: an unfinished last line gets its end" {
	printf 'a,1\nb,1\nc,2' | bloomdedup -t, -k2 >out
	printf 'a,1\nc,2\n' | cmp - out
	printf 'a,1\0b,2' | bloomdedup -z -t, -k2 >out
	printf 'a,1\0b,2\0' | cmp - out
}

@test "on a terminal an inherited recipe is told once, elsewhere never" {
	bloomdedup create --trim filter
	printf 'a\nb\n' >in
	on_terminal "$BLOOMDEDUP -f filter -q in in"
	[ "$(grep -c trim terminal)" -eq 1 ]
	grep -q '^bloomdedup: filter: .*trim' terminal
	bloomdedup -f filter in >out 2>err || true
	[ ! -s err ]
}

@test "on a terminal nothing is told of a recipe that was given" {
	printf 'a,b\n' >in
	on_terminal "$BLOOMDEDUP --csv -k1 -q in"
	[ ! -s terminal ]
	bloomdedup create --trim -t, -k1 filter
	on_terminal "$BLOOMDEDUP -f filter --trim -t, -k1 -q in"
	[ ! -s terminal ]
	bloomdedup create --csv -k1 csv
	on_terminal "$BLOOMDEDUP -f csv --csv -k1 -q in"
	[ ! -s terminal ]
}

@test "without a recipe nothing is told on a terminal" {
	printf 'a,b\n' >in
	bloomdedup -f filter in >/dev/null
	on_terminal "$BLOOMDEDUP -f filter -q in"
	[ ! -s terminal ]
}

@test "-s and -i after joined fields leave every byte of the key in it" {
	# keys of all lengths, each two of which differ in one byte
	perl -e '
		for my $length (1 .. 70) {
			for my $at (0 .. $length - 1) {
				my $key = "Q" x $length;
				substr($key, $at, 1) = "W";
				print "ABC$key,0,$length\n";
			}
		}' >in
	for skip in 0 1 2 3; do
		bloomdedup -t, -k1,3 -s "$skip" -i in >out
		cmp in out
	done
}

@test "info shows the key options" {
	local options shown
	while IFS='|' read -r options shown; do
		# shellcheck disable=SC2086 # words
		bloomdedup create --force -n 100 $options seen
		[ "$(bloomdedup info seen | sed -n 's/^  key           //p')" = \
			"$shown" ] ||
			{ echo "$options"; bloomdedup info seen; return 1; }
	done <<-'END'
		|the whole line
		-s 0|the whole line
		-i -z|--zero-terminated --ignore-case
		--strip-cr --trim -s 4 -w 50|--strip-cr --trim --skip-chars=4 --check-chars=50
		-k 2|--key=2
		-k 1-2,4-6,8- -t \t|--key=1-2,4-6,8- --field-separator='\t'
		--csv|--field-separator=, --csv
		--csv --header -k "id","1",2|--key='id,"1",2' --field-separator=, --csv --header
		--json=/b --json=/a~1b --json=|--json=/b --json=/a~1b --json=
		--url --url-sort --url-ignore=a,b_*|--url --url-ignore='a,b_*' --url-sort
		--keep-empty --part=2/3|--keep-empty --part=2/3
	END
}
