# Filters that 0.1.0 made (format/0.1.0/make) open for ever, answer what they
# answered there, mistakes included, and get the same bits for the same lines.
# OTHER_BLOOMDEDUP names a program of another version, or for another machine,
# that then reads what this one wrote.
load ../common

OLD=$ROOT/tests/format/0.1.0
. "$OLD/lines.bash"

# take NAME: a copy of that filter, with its journal if it has one
take() {
	local suffix
	for suffix in .bloom .bloom.journal; do
		[ ! -e "$OLD/$1$suffix" ] || cp "$OLD/$1$suffix" "$1$suffix"
	done
	chmod u+w "$1".bloom*
}

# What each of them was given, and is asked for, is the same for most.
setup_file() {
	local what name
	for what in given asked added; do
		for name in bits24 zero others; do
			$what $name >"$BATS_FILE_TMPDIR/$what.$name"
		done
	done
}

# use WHAT NAME: WHAT.txt has its lines.
use() {
	local name=$2
	[[ $name == bits24 || $name == zero ]] || name=others
	ln -sf "$BATS_FILE_TMPDIR/$1.$name" "$1.txt"
}

each_filter() {
	cut -d ' ' -f 1 "$OLD/expected"
}

# expected NAME: "CRC SIZE CRC SIZE" of what it finds and of its layers then
expected() {
	sed -n "s/^$1 //p" "$OLD/expected"
}

# found NAME [PROGRAM]: CRC and size of what check finds
found() {
	"${2:-$BLOOMDEDUP}" check -f "$1.bloom" asked.txt | cksum
}

# same_elsewhere NAME: does the other program, if there is one, find the same?
same_elsewhere() {
	[ -z "${OTHER_BLOOMDEDUP-}" ] ||
		[ "$(found "$1")" = "$(found "$1" "$OTHER_BLOOMDEDUP")" ]
}

# layers_of FILTER NAME: CRC and size of the layers that NAME had in 0.1.0
layers_of() {
	layers "$OLD/$2.bloom" "$1.bloom" | cksum
}

@test "there is a filter of each kind" {
	[ "$(each_filter | wc -l)" -eq 9 ]
	for name in $(each_filter); do
		take "$name"
		bloomdedup info "$name.bloom" >>info
	done
	[ -e journal.bloom.journal ]
	grep -q 'SipHash' info
	grep -q '24 bits in 3 cache lines' info
	grep -q 'layer 4' info
	grep -q 'then it is full' info
	grep -q ' of them are still in' info
	grep -q 'key  *--key=2-3 --field-separator=, --csv --ignore-case$' info
	grep -q 'key  *--zero-terminated$' info
}

@test "a filter of 0.1.0 finds what it found there" {
	for name in $(each_filter); do
		take "$name"
		use asked "$name"
		echo "$name"
		[[ "$(expected "$name")" == "$(found "$name") "* ]]
		cmp "$OLD/$name.bloom" "$name.bloom"
	done
}

@test "a filter of 0.1.0 gets the bits that it got there" {
	for name in $(each_filter); do
		take "$name"
		use asked "$name"
		use added "$name"
		echo "$name"
		bloomdedup add -f "$name.bloom" added.txt 2>messages
		[[ "$(expected "$name")" == *" $(layers_of "$name" "$name")" ]]
		[ ! -e "$name.bloom.journal" ]
		bloomdedup check -v -f "$name.bloom" added.txt >missing || true
		[ ! -s missing ]
		same_elsewhere "$name"
	done
}

@test "a filter of 0.1.0 grows by this version's layers" {
	take grown
	lines 100001 1 150000 >many
	lines 200001 1 250000 >unseen
	bloomdedup add -f grown.bloom many 2>messages
	grep -q 'grew to' messages
	use given grown
	cat given.txt >>many
	bloomdedup check -f grown.bloom many | cmp - many
	[ "$(bloomdedup check -f grown.bloom unseen | wc -l)" -lt 2500 ]
	cp many asked.txt
	same_elsewhere grown
}

@test "create --like a filter of 0.1.0, and a union of both" {
	for name in $(each_filter); do
		[ "$name" != journal ] || continue # it must be finished first
		take "$name"
		bloomdedup create --like="$name.bloom" new.bloom
		use added "$name"
		use given "$name"
		use asked "$name"
		bloomdedup add -f new.bloom added.txt 2>messages
		bloomdedup merge -o both.bloom "$name.bloom" new.bloom >out 2>&1
		bloomdedup check -v -f both.bloom given.txt added.txt \
			>missing || true
		[ ! -s missing ]
		same_elsewhere both
		# where neither has grown, the union has the bits of one run
		case $name in
		grown | bits24) ;;
		*) [[ "$(expected "$name")" == *" $(layers_of both "$name")" ]] ;;
		esac
		rm -f both.bloom new.bloom
	done
}

@test "a filter of the default rate keeps its three cache lines" {
	take bits24
	bloomdedup create --like=bits24.bloom new.bloom
	bloomdedup info new.bloom | grep -q '24 bits in 3 cache lines'
	bloomdedup create --like=bits24.bloom -n 2e6 larger.bloom
	bloomdedup info larger.bloom | grep -q ' in 2 cache lines'
}

# What 0.1.0 knew of a key recipe; it refuses any other line of it.
KNOWN='zero-terminated|strip-cr|trim|key|field-separator|csv|skip-chars|check-chars|ignore-case'

@test "0.1.0 refuses a filter of URLs, and does it no harm" {
	local option command
	for option in --url '--url --url-sort' '--url --url-ignore=a' \
		--url={form,scheme,www,slash,values,numbers}; do
		# shellcheck disable=SC2086 # words
		bloomdedup create --force -n 100 $option new.bloom
		echo http://a/ | bloomdedup add -f new.bloom
		# the recipe in the header: bloomdedup(5)
		tail -c +321 new.bloom | head -c 40 | tr -d '\0' >recipe
		grep -q '^url' recipe
		grep -qvE "^($KNOWN)(=|$)" recipe
		[[ "$("${OTHER_BLOOMDEDUP-:}" --version)" == *' 0.1.0 '* ]] ||
			continue
		cp new.bloom before.bloom
		for command in '' check add 'create --like=new.bloom'; do
			[[ $command == create* ]] || command+=' -f'
			# shellcheck disable=SC2086 # words
			run -3 "$OTHER_BLOOMDEDUP" $command new.bloom </dev/null
			[ "$output" = 'bloomdedup: new.bloom: its key options'` \
				`' are unknown to this version of bloomdedup' ]
		done
		cmp before.bloom new.bloom
	done
}
