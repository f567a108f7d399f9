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

# is_old: is the other program 0.1.0's?
is_old() {
	[[ "$("${OTHER_BLOOMDEDUP-:}" --version)" == *' 0.1.0 '* ]]
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
		is_old || continue
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

# killed_at N CALL PROGRAM ARGUMENT...: it is killed at the Nth such call. Fails
# if it makes fewer.
killed_at() {
	local n=$1 call=$2 status=0
	shift 2
	strace -f -qq -o trace -e trace="$call" \
		-e inject="$call:signal=KILL:when=$n" "$@" 2>err || status=$?
	[ $status -eq 137 ]
}

@test "0.1.0 refuses the journal of a killed run with outputs, and does it no harm" {
	needs_strace
	local call n how journals=0 command
	seq 1000 >in
	for how in '-o out' '-o out --overwrite' '-o out --append'; do
		for call in fsync fdatasync linkat rename unlink fcntl; do
			for n in {1..12}; do
				rm -f new.bloom* out
				[ "$how" = '-o out' ] || echo old >out
				# shellcheck disable=SC2086 # words
				killed_at $n $call "$BLOOMDEDUP" --atomic \
					-f new.bloom $how in || break
				[ -s new.bloom.journal ] || continue
				journals=$((journals + 1))
				# the version: 0.1.0 knows 1, and refuses others
				[ "$(od -An -tu1 -j16 -N4 new.bloom.journal)" = \
					'   2   0   0   0' ]
				is_old || continue
				cp new.bloom before
				cp new.bloom.journal before.journal
				for command in '' check add; do
					run -3 "$OTHER_BLOOMDEDUP" $command \
						-f new.bloom in
					[[ "$output" == *new.bloom.journal:* ]]
				done
				cmp before new.bloom
				cmp before.journal new.bloom.journal
			done
		done
	done
	[ $journals -gt 20 ]
}

@test "a journal that 0.1.0 left is finished if it is whole, and else removed" {
	local size commit cut
	take journal
	cp journal.bloom start
	cp journal.bloom.journal whole
	# what is in it
	lines 2 20 3000 >in
	bloomdedup check -f journal.bloom in | cmp - in
	rm journal.bloom.journal
	bloomdedup check -f journal.bloom in >without || true
	run ! cmp -s in without
	size=$(stat -c %s whole)
	# the last frame is the commit
	commit=$(LC_ALL=C grep -obUaP '\x89bdj' whole | tail -n 1 | cut -d: -f1)
	for cut in 0 1 3 4 20 35 36 37 1000 $commit $((commit + 20)) $size; do
		cp start journal.bloom
		head -c $cut whole >journal.bloom.journal
		bloomdedup add -f journal.bloom </dev/null 2>err
		[ ! -e journal.bloom.journal ]
		bloomdedup check -f journal.bloom in >found || true
		if [ $cut -eq $size ]; then
			cmp found in
		else
			cmp found without
		fi
	done
	is_old || return 0
	needs_strace
	left_by_old
}

# left_by_old: the same of runs of 0.1.0 that are killed here.
left_by_old() {
	local call n kills=0
	seq 1000 >in
	for call in fsync fdatasync linkat rename unlink pwrite64 close munmap; do
		for n in {1..20}; do
			rm -f old.bloom* out
			killed_at $n $call "$OTHER_BLOOMDEDUP" --atomic \
				-f old.bloom -o out in || break
			[ -e old.bloom ] || continue
			kills=$((kills + 1))
			bloomdedup add -f old.bloom </dev/null 2>err
			[ ! -e old.bloom.journal ]
			bloomdedup check -f old.bloom in >known || true
			[ ! -s known ] || cmp known out
		done
	done
	[ $kills -gt 20 ]
}
