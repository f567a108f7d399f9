# The commands, their options, and what they say about wrong ones.
load ../common

@test "add remembers and prints nothing" {
	printf 'a\nb\na\n' >in
	bloomdedup add -f seen in >out
	[ ! -s out ]
	printf 'b\nc\n' | bloomdedup -f seen >out
	echo c | cmp - out
	printf 'd\n' | bloomdedup add -f seen >out
	[ ! -s out ]
	echo d | bloomdedup -f seen >out
	[ ! -s out ]
}

@test "check prints what is in the filter, in order, repeats too" {
	printf 'a\nb\n' | bloomdedup add -f seen
	printf 'x\nb\na\ny\nb' >in
	bloomdedup check -f seen in >out
	printf 'b\na\nb\n' | cmp - out
	bloomdedup check -f seen <in >out
	printf 'b\na\nb\n' | cmp - out
	# nothing is remembered
	cp seen copy
	bloomdedup check -v -f seen in >out
	printf 'x\ny\n' | cmp - out
	bloomdedup check --invert -f seen in in >out
	printf 'x\ny\nx\ny\n' | cmp - out
	cmp copy seen
}

@test "exit statuses: check" {
	echo a | bloomdedup add -f seen
	echo a >in
	echo b >not
	bloomdedup check -f seen in >out
	run -1 bloomdedup check -f seen not
	run -1 bloomdedup check -f seen /dev/null
	run -1 bloomdedup check -v -f seen in
	run -0 bloomdedup check -v -f seen not in
	run -0 bloomdedup check -f seen not in
	for arguments in '-q' '-qv' '-q -v'; do
		# shellcheck disable=SC2086
		{
			run -0 bloomdedup check $arguments -f seen not in
			[ -z "$output" ]
		}
	done
	run -0 bloomdedup check -q -f seen in
	run -1 bloomdedup check -q -f seen not
	run -1 bloomdedup check -qv -f seen in
	run -0 bloomdedup check -qv -f seen not
	# a file that failed is more than an answer
	run -3 bloomdedup check -q -f seen missing in
	run -3 bloomdedup check -q -f seen missing not
}

@test "exit statuses: -q" {
	echo a >in
	run -0 bloomdedup -q -f seen in
	[ -z "$output" ]
	run -1 bloomdedup -q -f seen in
	run -1 bloomdedup add -q -f seen in
	echo b >new
	run -0 bloomdedup add -q -f seen in new in
	run -1 bloomdedup -q -f seen in new
	run -1 bloomdedup -q /dev/null
	run -0 bloomdedup -q in
	run -3 bloomdedup -q -f seen missing new
	# without -q nothing new is no failure
	run -0 bloomdedup -f seen in
	run -0 bloomdedup add -f seen in
}

@test "create and info" {
	bloomdedup create -n 1e5 -p 0.001 filter >out
	[ ! -s out ]
	bloomdedup info filter >out
	head -n 1 out | grep -qx 'filter'
	grep -q '100,000 lines at an error rate of 0.001' out
	grep -q 'remembers  *about 0 lines' out
	grep -q '^  error rate  *0 now$' out
	"$HELPER" lines 50000 | bloomdedup add -f filter
	bloomdedup info filter >out
	lines=$(sed -n 's/,//; s/.*about \([0-9]*\) lines/\1/p' out)
	[ "$lines" -gt 49000 ]
	[ "$lines" -lt 51000 ]
	bloomdedup create -z other
	bloomdedup info other filter >out
	grep -qx other out
	grep -qx filter out
	[ "$(grep -c -- '--zero-terminated' out)" -eq 1 ]
}

@test "info shows names without what could drive the terminal" {
	name=$'a\x1b[2J\xc2\x9b31m\x9bK\x7f \xc3\xa9\xe9\xe2\x82\xac'
	bloomdedup create -n 1000 "$name"
	bloomdedup info "$name" | head -n 1 >out
	printf 'a\\x1b[2J\\xc2\\x9b31m\\x9bK\\x7f \xc3\xa9\xe9\xe2\x82\xac\n' |
		cmp - out
	bloomdedup info "${name}2" 2>err || true
	grep -q '^bloomdedup: a\\x1b\[2J\\xc2\\x9b31m\\x9bK\\x7f' err
}

@test "info --json: one object a line, with these names" {
	bloomdedup create -n 1000 'a "name"\'
	bloomdedup create -n 1000 two
	bloomdedup info --json 'a "name"\' two >out
	[ "$(wc -l <out)" -eq 2 ]
	for key in bytes capacity error_rate error_rate_now lines room layers \
		k cache_lines fill on_full hash key; do
		[ "$(grep -c "\"$key\": " out)" -eq 2 ]
	done
	grep -qF '"a \"name\"\\"' out
	[ "$(sed -n '2s/.*"bytes": \([0-9]*\), "cap.*/\1/p' out)" -eq \
		"$(stat -c %s two)" ]
	grep -q '"capacity": 1000,' out
	grep -q '"lines": 0,' out
	grep -q '"room": 1000,' out
	grep -q '"error_rate_now": 0,' out
	if command -v python3 >/dev/null; then
		python3 -c 'import json, sys
for line in sys.stdin: json.loads(line)' <out
	fi
}

@test "info --json: what create was told can be read from it" {
	bloomdedup create -n 100 -k 2,4 -t , -i --on-full=warn \
		--hash=siphash fields
	bloomdedup info --json fields | grep -F '"on_full": "warn",' |
		grep -F '"hash": "siphash",' |
		grep -F '"key": ["key=2,4", "field-separator=2c", "ignore-case"]'
	bloomdedup create -n 100 --json='/a"' --json=/b pointers
	bloomdedup info --json pointers | grep -F '"on_full": "grow",' |
		grep -F '"hash": "xxh3",' |
		grep -F '"key": ["json=/a\"", "json=/b"]'
	bloomdedup create -n 100 lines
	bloomdedup info --json lines | grep -F '"key": []'
}

@test "a filter that is not there: the same words from all commands" {
	local command
	for command in 'check -f' info remove 'merge -o out'; do
		# shellcheck disable=SC2086 # several words
		fails 3 'missing: No such file or directory' \
			bloomdedup $command missing </dev/null
	done
}

@test "info of several, one of them missing: the others are shown, status 3" {
	bloomdedup create -n 1000 one
	bloomdedup create -n 1000 two
	status=0
	bloomdedup info one missing two >out 2>err || status=$?
	[ "$status" -eq 3 ]
	grep -qx one out
	grep -qx two out
	[ "$(wc -l <err)" -eq 1 ]
	grep -q '^bloomdedup: missing: ' err
}

@test "a file that has a command's name: ./add or -- add" {
	for name in add check create info size try; do
		echo "in $name" >$name
		bloomdedup ./$name >out
		cmp $name out
		bloomdedup -- $name >out
		cmp $name out
		bloomdedup -f seen -- $name >out
		cmp $name out
	done
	echo x >file
	bloomdedup file add >out
	printf 'x\nin add\n' | cmp - out
	bloomdedup add -f other add
	bloomdedup check -f other check add >out
	cmp add out
	# only whole names
	echo y >ad
	bloomdedup ad >out
	cmp ad out
}

@test "options stand anywhere, in all their forms" {
	printf 'a\nb\n' >in
	bloomdedup in -f seen >out
	cmp in out
	bloomdedup in --filter seen >out
	[ ! -s out ]
	bloomdedup -fseen in >out
	[ ! -s out ]
	bloomdedup --filter=seen in >out
	[ ! -s out ]
	run -1 bloomdedup in -qf seen
	bloomdedup -f seen check in >out
	cmp in out
	bloomdedup check in -f seen >out
	cmp in out
	run -1 bloomdedup check in -vqfseen
	# behind -- nothing is an option
	echo dash >-f
	bloomdedup -- -f >out
	cmp ./-f out
	bloomdedup check -f seen -- in >out
	cmp in out
}

@test "an option that is given twice, and differently, is refused" {
	echo a >in
	fails 2 "-f, --filter: given twice: 'one' and 'two'" \
		bloomdedup -f one -f two in
	fails 2 "-o, --output: given twice" bloomdedup -o one --output=two in
	fails 2 "--duplicates: given twice" \
		bloomdedup --duplicates=one --duplicates=two in
	fails 2 "--output: given twice" bloomdedup merge -o one -o two seen
	fails 2 "-n, --capacity: given twice: '1' and '5'" \
		bloomdedup -n 1 -n 5 -f one in
	fails 2 "-t, --field-separator: given twice: ',' and ';'" \
		bloomdedup -k 1 '-t,' '-t;' in
	fails 2 "-s, --skip-chars: given twice" bloomdedup -s 1 -s 2 in
	fails 2 "-w, --check-chars: given twice" bloomdedup -w 1 -w 2 in
	fails 2 "--stats: given twice" bloomdedup --stats --stats=json in
	[ ! -e one ]
	[ ! -e two ]
	bloomdedup -f seen -f seen -o out --output=out in
	cmp in out
}

@test "options that don't exist are named" {
	echo a >in
	fails 2 '-x' bloomdedup -x in
	fails 2 '--nonsense' bloomdedup --nonsense in
	fails 2 '--nonsense' bloomdedup --nonsense=5 in
	fails 2 '-x' bloomdedup -qx in
	fails 2 '-X' bloomdedup -Xq in
	fails 2 ' -X;' bloomdedup --quiet -Xq in
	fails 2 ' -X;' bloomdedup --no-decompress -qXz in
	fails 2 '--quiet' bloomdedup --quiet=yes in
	fails 2 '--zz' bloomdedup add --zz -f seen in
	[ ! -e seen ]
}

@test "options of another command are refused" {
	echo a >in
	bloomdedup create -n 1000 seen
	cp seen copy
	fails 2 '--invert' bloomdedup -v in
	fails 2 '--capacity' bloomdedup check -f seen -n 5 in
	fails 2 '--error-rate' bloomdedup check -f seen -p 0.1 in
	fails 2 '--on-full' bloomdedup check -f seen --on-full=fail in
	fails 2 '--output' bloomdedup add -f seen -o x in
	fails 2 '--invert' bloomdedup add -f seen -v in
	fails 2 '--filter' bloomdedup merge -f seen -o x
	fails 2 '--filter' bloomdedup size -f seen
	fails 2 '--json' bloomdedup --json in
	fails 2 '--force' bloomdedup --force in
	fails 2 '--memory' bloomdedup -m 5M in
	fails 2 '--table' bloomdedup info --table seen
	fails 2 '--quiet' bloomdedup info -q seen
	fails 2 'not an option of bloomdedup, but of create and merge; see' \
		bloomdedup --force in
	fails 2 '--filter is not an option of bloomdedup merge; see' \
		bloomdedup merge -f seen -o x
	cmp copy seen
	[ ! -e x ]
}

@test "arguments that are missing, or too many" {
	echo a >in
	fails 2 '-f' bloomdedup -f
	fails 2 '--filter' bloomdedup --filter
	fails 2 '-n' bloomdedup in -qn
	fails 2 '--max-size' bloomdedup --max-size
	fails 2 '-f FILTER' bloomdedup add in
	fails 2 '-f FILTER' bloomdedup check in
	fails 2 'create' bloomdedup create
	fails 2 'create' bloomdedup create one two
	fails 2 'info' bloomdedup info
	fails 2 '--filter' bloomdedup -f '' in
	fails 2 '--output' bloomdedup -o '' in
	[ ! -e one ]
}

@test "an empty operand, such as a variable that isn't set, is refused" {
	local wrong="'' is not allowed as an operand"
	fails 2 "$wrong" bloomdedup ''
	fails 2 "$wrong" bloomdedup -f f ''
	for command in info create remove key size; do
		fails 2 "$wrong" bloomdedup "$command" ''
	done
	for command in add check; do
		fails 2 "$wrong" bloomdedup "$command" -f f ''
	done
	fails 2 "$wrong" bloomdedup merge -o g f ''
	[ ! -e f ]
}

@test "-h and -V of all commands" {
	for command in '' add check create info merge size try help version; do
		# shellcheck disable=SC2086
		{
			bloomdedup $command -h >out
			bloomdedup $command --help >help
			bloomdedup $command -V >version
			bloomdedup $command --version >version2
		}
		case $command in
		'' | create | size | try) ;; # they omit what few need
		*) cmp out help ;;
		esac
		grep -q "^Usage: bloomdedup ${command:-\[-f FILTER\]}" help
		[ "$(tail -n 1 help)" = 'The manual: man bloomdedup' ]
		[ "$(wc -L <out)" -le 80 ]
		[ "$(wc -l <version)" -eq 1 ]
		grep -q '^bloomdedup [0-9][0-9.]*' version
		cmp version version2
	done
	[ "$(wc -c <version)" -gt 12 ]
	[ "$(bloomdedup serve -h | tail -n 1)" = 'The manual: man bloomdedup-serve' ]
	# help wins over what is missing
	bloomdedup add --help | grep -q Usage
	bloomdedup check -f missing --help | grep -q Usage
}

@test "-h of a command leaves out what few need, and says so" {
	for option in 'create --hashes' 'create --secret-file' 'size --hashes' \
		'size =k' 'try --hashes'; do
		bloomdedup "${option% *}" -h >out
		bloomdedup "${option% *}" --help >help
		run ! grep -e "${option#* }" out
		grep -e "${option#* }" help
		grep -qx "All options: bloomdedup ${option% *} --help" out
		run ! grep '^All options' help
	done
	# the rest stays
	bloomdedup size -h | grep -q '^      --table  *print the sizes for many'
	bloomdedup info -h | cmp - <(bloomdedup info --help)
	bloomdedup help size | cmp - <(bloomdedup size --help)
	bloomdedup create --hashes=3 --secret-file="$BLOOMDEDUP" seen
}

@test "-h fits on a screen of 80 by 24" {
	bloomdedup -h >out
	[ "$(wc -l <out)" -le 23 ]
	[ "$(wc -L <out)" -le 79 ]
	grep -q '^Usage: bloomdedup' out
	[ "$(grep -c '^ *-., --\|^      --' out)" -eq 11 ]
	for option in --no-create --append --dry-run; do
		grep -q -- "$option" out
	done
	bloomdedup --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' >names
	[ "$(wc -l <names)" -ge 11 ]
	while read -r name; do
		grep -qw "$name" <(grep -A 1 '^Commands:' out)
	done <names
	tail -n 1 out | grep -q 'man bloomdedup$'
	# what is in it is in --help, too
	grep -o -- '--[a-z-]*' out | sort -u | while read -r option; do
		bloomdedup --help | grep -q -- "$option"
	done
	bloomdedup help | cmp - <(bloomdedup --help)
	# the examples work
	seq 3 >urls.txt
	seq 5 >more.txt
	printf 'id,mail\n1,a\n2,a\n' >people.csv
	sed -n 's/^  \(bloomdedup .*[^ ]\)   *[a-z].*/\1/p' out >commands
	[ "$(wc -l <commands)" -eq 4 ]
	while read -r line; do
		eval "$line"
	done <commands >printed
	cmp urls.txt new.txt
	printf '4\n5\nid,mail\n1,a\n' | cmp - <(head -n 4 printed)
	grep -q '^100,000,000 lines' printed
}

@test "every option of the help is known, and every command" {
	for command in '' add check create info merge size try help version; do
		# shellcheck disable=SC2086
		bloomdedup $command --help |
			grep -o '^ *\(-., \)\?--[a-z-]*[=a-zA-Z[]*' |
			sed 's/.*--/--/' >options
		[ -s options ]
		while read -r option; do
			case ${option%%[=[]*} in --help | --version) continue ;; esac
			status=0
			# shellcheck disable=SC2086
			bloomdedup $command "${option%%[=[]*}" </dev/null \
				>out 2>err || status=$?
			run ! grep -q 'unknown option\|is not an option' err
		done <options
	done
}

# bad OPTION VALUE...: each value is refused, in a line that names the option,
# the value and what is allowed.
bad() {
	untraced bad_values "$@"
}

bad_values() {
	local option=$1 value
	shift
	for value; do
		fails 2 "'${value//$'\n'/\\x0a}' is not allowed; give " \
			bloomdedup $command "$option=$value" $operands ||
			return 1
		if ! grep -qF -- "$option: " fails.err; then
			echo "no '$option' in: $(cat fails.err)"
			return 1
		fi
	done
}

nonsense=(-1 nan inf NaN Infinity -inf 0x10 1e400 12abc '' ' ' ' 1' '1 '
	+1 1,000 1e 1e+ . .e1 -0 1e-400x $'1\n' ١ 1e99999999999999999999
	99999999999999999999999999 1..2 1.2.3 1e5.5 0b1 0 0.0 -n '*' %s)

# For options of which another command was asked all of it.
some_nonsense=(-1 nan '' 0x10 12abc 99999999999999999999999999)

@test "counts that are not: -n" {
	command=create operands=filter
	bad --capacity "${nonsense[@]}" 0e5 1.5 1e-1 1e16 9007199254740993 \
		18446744073709551616 18446744073709551615 1e19 1G1 1MM 1KiB \
		1B 0k 20000T 1/2 50%
	command='' operands=
	bad --capacity "${some_nonsense[@]}" 1.5
	command='add -f filter'
	bad --capacity "${some_nonsense[@]}" 1.5
	[ ! -e filter ]
	fails 2 '-n, --capacity' bloomdedup -n nan
}

@test "rates that are not: -p" {
	command=create operands=filter
	bad --error-rate "${nonsense[@]}" 1 0.6 0.51 51% 9.9e-13 1e-13 1e-400 \
		1/0 0/5 1/ /5 1//2 1/1 1/-5 1/nan 5%% 1%/5 5k 0.1x 1e-6f
	command='' operands=
	bad --error-rate "${some_nonsense[@]}" 2
	[ ! -e filter ]
	fails 2 '-p, --error-rate' bloomdedup -p 0
}

@test "sizes that are not: -m and --max-size" {
	command=create operands=filter
	bad --memory "${nonsense[@]}" 16E 18446744073709551616 1e20 1KK 1KiBs \
		1kib 1iB 0.5 0K 1Q 1K1 1b 5%
	command='' operands=
	bad --max-size "${nonsense[@]}" 16E 18446744073709551616 1e20 1KK \
		1KiBs 1kib 0.5 1b
	[ ! -e filter ]
	# bits that overflow
	for size in 15E 8E 4E; do
		fails 2 '' bloomdedup create -m $size -p 0.01 filter
	done
}

@test "numbers of hash functions that are not: --hashes" {
	command=create operands=filter
	bad --hashes "${nonsense[@]}" 65 1.5 1e9 4294967297 18446744073709551617
	[ ! -e filter ]
}

@test "seconds that are not: --lock-timeout" {
	command='' operands=
	zero=()
	for value in "${nonsense[@]}"; do
		case $value in
		0 | 0.0) ;;
		*) zero+=("$value") ;;
		esac
	done
	bad --lock-timeout "${zero[@]}" 1e10 1s 1m 18446744073709551616
	echo a >in
	for value in 0 0.0 1 0.5 1e3 60.25 1e9; do
		bloomdedup -f seen --lock-timeout=$value in
	done
}

@test "words that are not: --on-full" {
	command='' operands=
	bad --on-full '' Grow grows gro 0 'warn,fail' ' warn'
}

@test "numbers as people write them, and in any locale" {
	for n in 100000 1e5 100k 100K 0.1M 1.0e5 0.1e+6 00100000 10000000e-2 \
		100000.000; do
		rm -f filter
		bloomdedup create -n $n filter
		bloomdedup info --json filter | grep -q '"capacity": 100000,'
	done
	for p in 0.001 1e-3 0.1% 1/1000 .001 1E-3 10e-4 0.10%; do
		rm -f filter
		bloomdedup create -p $p filter
		bloomdedup info --json filter | grep -q '"error_rate": 0.001,'
	done
	for locale in $(locale -a 2>/dev/null | grep -i 'de_\|fr_' | head -n 2); do
		rm -f filter
		LC_ALL=$locale "$BLOOMDEDUP" create -p 0.5 -n 1.5e3 filter
		LC_ALL=$locale "$BLOOMDEDUP" info --json filter |
			grep -q '"error_rate": 0.5,'
	done
	rm -f filter
	bloomdedup create -p 1e-12 -n 1 filter
	rm -f filter
	bloomdedup create -p 0.5 -n 1 filter
}

@test "POSIXLY_CORRECT doesn't change where options stand" {
	printf 'a\n' >in
	POSIXLY_CORRECT=1 "$BLOOMDEDUP" in -f seen >out
	cmp in out
	[ -e seen ]
}

@test "options in front of a command, and those that can't stand there" {
	printf '{"a":1}\n' >in
	bloomdedup -f seen --json /a add in
	bloomdedup --json /a check -f seen in >out
	cmp in out
	bloomdedup -q -fseen check - <in
	bloomdedup --jso=/a -- in >out
	cmp in out
	# -d and --json are different ones for some commands
	mkdir directory
	fails 2 'serve: not a file; the command comes first: bloomdedup serve' \
		bloomdedup -d directory serve
	fails 2 'the command comes first' bloomdedup -qd directory serve
	fails 2 "-d, --directory: 'serve' is the command, which comes first" \
		bloomdedup -d serve directory
	fails 2 "--json: 'info' is not allowed; give a JSON pointer" \
		bloomdedup --json info seen
	bloomdedup info --json seen >out
	# but not where it is a file, a filter, or after --
	echo x >serve
	bloomdedup -d in serve serve >out
	cmp serve out
	rm serve
	bloomdedup -d -f serve in >out
	[ -e serve ]
	rm serve
	fails 3 'serve: No such file' bloomdedup -d in -- serve
}

@test "a slip in the name of a command or option is guessed" {
	for slip in chek chekc inof helpp ceate crate mergee sizes versoin; do
		fails 2 'did you mean' bloomdedup $slip -f seen
		fails 2 'did you mean' bloomdedup $slip
	done
	fails 2 "did you mean 'check'" bloomdedup chek -f seen in
	fails 2 "did you mean --ignore-case" bloomdedup --ignorecase
	fails 2 "did you mean --key" bloomdedup --kye=1
	# a file is a file, whatever it is named
	echo x >chek
	bloomdedup chek >out
	cmp chek out
	run -3 bloomdedup chek inof
	fails 3 "inof: No such file" bloomdedup -- inof
	fails 3 "No such file" bloomdedup something
	[ ! -e seen ]
}

@test "an abbreviation that is ambiguous says what it could be" {
	fails 2 '--s could be' bloomdedup --s
	for option in --sync --stats --shared --strip-cr --skip-chars; do
		grep -qF -e " $option" fails.err
	done
	run ! grep -qF -e --secret-file fails.err
	fails 2 '--s could be --stats, --strip-cr, --skip-chars' \
		bloomdedup check --s
	fails 2 '--h could be --hashes, --hash, --header, --help;' \
		bloomdedup create --h=1
	# only one of the command's begins so, or is so
	bloomdedup create --hash=xxh3 filter
	bloomdedup info --v filter >out 2>err || true
	grep -q 'could be --verify, --version' err
	bloomdedup info --veri filter | grep -q checksums
	echo a | bloomdedup check --inv -f filter >out
	echo a | cmp - out
}

@test "help and version are commands, too" {
	for command in add check create info merge size try help version; do
		bloomdedup help $command >out
		bloomdedup $command --help | cmp - out
	done
	bloomdedup help >out
	bloomdedup --help | cmp - out
	bloomdedup version >out
	bloomdedup --version | cmp - out
	fails 2 "mean 'check'" bloomdedup help chekc
	fails 2 'nonsense: there is no such command' bloomdedup help nonsense
	fails 2 create bloomdedup help create info
	fails 2 x bloomdedup version x
}

@test "options and commands by habit: what to use instead" {
	seq 3 >in
	fails 2 '-c: bloomdedup does not count; sort | uniq -c does' \
		bloomdedup -c in
	fails 2 '-|: fields are separated with -t' bloomdedup '-d|' in
	fails 2 'fields are separated with -t' bloomdedup -d$'\t' in
	fails 2 '--delimiter: fields are separated with -t' \
		bloomdedup --delimiter=, in
	fails 2 '--ttl: --window=30d' bloomdedup --ttl 30 in
	fails 2 "stats: neither a command nor a file (did you mean 'info'?)" \
		bloomdedup stats
	while read -r word command; do
		fails 2 "$word: neither a command nor a file (did you mean '$command'?)" \
			bloomdedup "$word" -f seen in
	done <<-END
		lookup check
		query check
		test check
		contains check
		insert add
		ls info
	END
	[ ! -e seen ]
	seq 3 >list
	bloomdedup list | cmp in -
}

@test "-f names the filter of create and info, too" {
	bloomdedup create -f seen -n 1000
	bloomdedup info --filter=seen >out
	bloomdedup -f seen info | cmp out -
	bloomdedup create other
	bloomdedup info -f seen other | grep -c '^[a-z]' >count
	echo 2 | cmp count -
	fails 2 "unexpected operand 'other'" bloomdedup create -f third other
	bloomdedup remove seen other
	[ ! -e seen ]
	[ ! -e other ]
	fails 2 'remove takes the names of filters' bloomdedup remove
}

@test "a filter that is made is announced on a terminal" {
	seq 3 >in
	on_terminal "$BLOOMDEDUP -f typo in"
	grep -q '^bloomdedup: typo: new filter, for 1,000,000 lines' terminal
	on_terminal "$BLOOMDEDUP -f typo in"
	run ! grep -q 'new filter' terminal
	on_terminal "$BLOOMDEDUP add -n 5e6 -f 1 in"
	grep -q "^bloomdedup: 1: new filter, for 5,000,000 lines; uniq's -f 1 is -k 2-" terminal
	on_terminal "$BLOOMDEDUP -f 20261128 in"
	grep -q '^bloomdedup: 20261128: new filter, for 1,000,000 lines.\?$' terminal
	on_terminal "$BLOOMDEDUP -f month --window=30d in"
	grep -q 'month: new filter, for 1,000,000 lines; forgets after 30 days' terminal
	on_terminal "$BLOOMDEDUP -f both --window=8h -n 5e5 in"
	grep -q 'both: new filter, for 500,000 lines; forgets after 8 hours' terminal
	on_terminal "$BLOOMDEDUP -f last --window=1M in"
	grep -q 'last: new filter, for 1,000,000 lines; forgets after 1,000,000 lines' terminal
	on_terminal "$BLOOMDEDUP in"
	run ! grep -q 'new filter' terminal
	bloomdedup -f silent in 2>err >out
	[ ! -s err ]
}

@test "an equals sign after a letter is no part of a name" {
	seq 3 >in
	fails 2 '-f=seen: write -f seen or --filter=seen; a file of this name is ./=seen' \
		bloomdedup -f=seen in
	for command in 'add -f =seen' 'check -f=seen' 'create -f=seen'; do
		# shellcheck disable=SC2086
		fails 2 '-f=seen: write -f seen' bloomdedup $command in
	done
	fails 2 '-o=out: write -o out or --output=out' bloomdedup -o=out in
	[ ! -e =seen ]
	[ ! -e =out ]
	bloomdedup -f ./=seen in | cmp in -
	bloomdedup -f./=seen -o ./=out in
	[ -e =seen ]
	[ -e =out ]
	bloomdedup --csv -t = in | cmp in -
}

@test "a window of a few lines may have been meant as days" {
	seq 3 >in
	for command in '-f seen' 'add -f added'; do
		# shellcheck disable=SC2086
		bloomdedup --window=7 $command in >out 2>err
		is_message err '--window=7: 7 lines; for 7 days write 7d'
		# shellcheck disable=SC2086 # what was made is not announced again
		bloomdedup --window=7 $command in >out 2>err
		[ ! -s err ]
	done
	bloomdedup create --window=30 made 2>err
	is_message err '--window=30: 30 lines; for 30 days write 30d'
	bloomdedup create --window=1000 large 2>err
	[ ! -s err ]
	fails 2 'made with --window=32, which contradicts --window=7: leave' \
		bloomdedup --window=7 -f made in
}

@test "options that would mean nothing are refused, or are hints" {
	seq 3 >in
	fails 2 '-: a filter is a file; for one of this name, write ./-' \
		bloomdedup -f - in
	fails 2 '-: a filter is a file' bloomdedup check -f - in
	fails 2 '-: a filter is a file' bloomdedup create -
	bloomdedup create ./-
	fails 2 '-: a filter is a file' bloomdedup merge --force -o - ./-
	fails 2 '--window needs --filter' bloomdedup --window=5d in
	bloomdedup -n 1000 -f seen in | cmp in -
	bloomdedup -n 5 -f seen in >out 2>err
	[ ! -s out ]
	[ ! -s err ]
	on_terminal "$BLOOMDEDUP -n 5 -f seen in"
	grep -q 'seen: planned for 1,000 lines when it was made; --capacity=5 changes nothing' terminal
	fails 2 'contradicts --error-rate=0.1: leave the option out, or use another filter' \
		bloomdedup -p 0.1 -f seen in
	fails 3 'seen: the filter exists: it remembers about 3 lines and grows by itself; --force would forget them' \
		bloomdedup create seen
}

# same_number A B: 1e6 and 1,000,000, for one, are the same.
same_number() {
	awk -v a="${1//,/}" -v b="${2//,/}" \
		'BEGIN { exit !(a != "" && b != "" && a + 0 == b + 0) }'
}

@test "the defaults that help and the manual state are those of a filter" {
	bloomdedup create seen
	bloomdedup info --json seen >info
	lines=$(sed -E 's/.*"capacity": ([0-9]+), "error_rate".*/\1/' info)
	rate=$(sed -E 's/.*"error_rate": ([^,]*),.*/\1/' info)
	for command in '' add create serve; do
		# help wraps its texts
		bloomdedup $command --help | tr -s ' \n' ' ' >help
		stated=$(sed -E 's/.*--capacity=N [^[]*\[([0-9e]+).*/\1/' help)
		same_number "$stated" "$lines"
		stated=$(sed -E 's/.*--error-rate=P [^[]*\[([^]]+)\].*/\1/' help)
		same_number "$stated" "$rate"
	done
	stated=$(bloomdedup -h | sed -nE 's/.*share of new lines \[(.*)\].*/\1/p')
	same_number "$stated" "$rate"
	stated=$(sed -nE 's/^Default: ([0-9,]+), or more if .*/\1/p' \
		"$ROOT/man/bloomdedup.1")
	same_number "$stated" "$lines"
	stated=$(sed -nE 's/^Default: ([0-9]+e.*)\.$/\1/p' \
		"$ROOT/man/bloomdedup.1")
	same_number "$stated" "$rate"
}

@test "--no-create: a filter that is missing is an error" {
	seq 3 >in
	fails 3 'seen: No such file or directory' bloomdedup -f seen --no-create in
	fails 3 'seen: No such' bloomdedup add -f seen --no-create in
	fails 3 'seen: ' bloomdedup -f seen --no-create --atomic -o out in
	[ ! -e seen ] && [ ! -e out ]
	fails 2 '--no-create needs --filter' bloomdedup --no-create in
	bloomdedup create -n 100 seen
	bloomdedup -f seen --no-create in | cmp in -
}

@test "another capacity is a hint, and --on-full may only be stricter" {
	seq 3 >in
	bloomdedup create -n 1000 seen
	bloomdedup -f seen -n 1e6 in | cmp in -
	for full in grow warn fail; do
		bloomdedup create -n 1000 --on-full=$full $full
		for run in grow warn fail; do
			# --on-full=fail loses nothing, whatever was promised
			if [ $run = $full ] || [ $run = fail ]; then
				bloomdedup add -f $full --on-full=$run in
			else
				fails 2 "made with --on-full=$full, which contradicts --on-full=$run" \
					bloomdedup -f $full --on-full=$run in
			fi
		done
	done
}

@test "an abbreviation is not an option of other commands, nor a habit" {
	seq 3 >in
	fails 2 '--part is not an option of bloomdedup partition' \
		bloomdedup partition --part=3 in
	fails 2 '--part is not' bloomdedup partition --part 3/16 in
	fails 2 '--strip: --trim ignores blanks at both ends, --strip-cr a carriage' \
		bloomdedup --strip in
	bloomdedup --strip-c in | cmp in -
	bloomdedup partition --par=1 -o 'out%d' in
	cmp in out1
	for word in -0 --null; do
		fails 2 "$word: -z is for lines that end in NUL" bloomdedup $word in
	done
	# who takes an option is said where it is one or two
	fails 2 '--directory is not an option of bloomdedup, but of serve; see' \
		bloomdedup --directory=x in
	fails 2 '--table is not an option of bloomdedup info, but of size; see' \
		bloomdedup info --table in
	fails 2 '--force is not an option of bloomdedup add, but of create and merge; see' \
		bloomdedup add --force in
	fails 2 '-m, --memory is not an option of bloomdedup, but of create, size and serve; see' \
		bloomdedup -m 1K in
	fails 2 '--hashes is not an option of bloomdedup, but of create, size and try; see' \
		bloomdedup --hashes=3 in
	fails 2 '-p, --error-rate is not an option of bloomdedup check; see' \
		bloomdedup check -p 1e-3 in
}

@test "one line is a line" {
	echo a | bloomdedup add -f seen -n 100
	fails 3 'it remembers about 1 line and grows' bloomdedup create seen
	bloomdedup info seen | grep -qx '  remembers     about 1 line'
}

@test "a word for what no command does gets an answer" {
	local word
	for word in undo forget unsee delete rm reset clear; do
		fails 2 "$word: neither a command nor a file; a filter cannot forget single lines, but --dry-run shows what a run would remember; see" \
			bloomdedup $word
		# there is no command that the answer could lead to
		run ! grep -q remove fails.err
	done
	for word in list dump export; do
		fails 2 "$word: neither a command nor a file; a filter has no lines to list; info describes it; see" \
			bloomdedup $word
	done
	seq 3 >undo
	bloomdedup undo | cmp undo -
}

@test "size without a figure asks for one" {
	fails 2 'size: give --capacity, --error-rate or --memory, or --table' \
		bloomdedup size
	bloomdedup size -n 1e6 >out
	bloomdedup size -p 1e-3 >out
	bloomdedup size -m 1M >out
}
