# merge: one filter of several, and create --like, which makes them fit.
load ../common

@test "a merged filter knows what each of its parts knows" {
	echo a | bloomdedup -f one >out
	bloomdedup create --like=one two
	printf 'a\nb\n' | bloomdedup -f two >out
	cp one one.before
	cp two two.before
	bloomdedup merge -o both one two >out 2>err
	[ ! -s err ]
	printf 'a\nb\nc\n' | bloomdedup -f both >out
	echo c | cmp - out
	cmp one one.before
	cmp two two.before
	no_leftovers
}

@test "merged parts are the bytes of one run, with create --like" {
	local i
	bloomdedup create -n 1e5 all
	for i in 1 2 3; do
		bloomdedup create --like=all "part$i"
		cmp -s all "part$i" && false
		cmp -i 12288 all "part$i"
	done
	# not quite full: the sampled error rate varies, and must not exceed p
	"$HELPER" lines 95000 >lines
	bloomdedup add -f all lines
	split -n l/3 -d --additional-suffix=.txt lines piece
	for i in 1 2 3; do
		bloomdedup add -f "part$i" "piece0$((i - 1)).txt"
	done
	bloomdedup merge -o merged part1 part2 part3 >out
	cmp -i 12288 all merged
	[ "$(layers merged)" -eq 1 ]
	# some lines were lost in the one and not in the other, at most
	{
		cat lines
		"$HELPER" lines 100000 9
	} >ask
	bloomdedup check -f all ask >want
	bloomdedup check -f merged ask >out
	cmp want out
	[ "$(wc -l <out)" -ge 95000 ]
	[ "$(wc -l <out)" -lt 95010 ]
}

@test "create --like takes the shape whatever it came from" {
	while read -r options; do
		rm -f one two
		# shellcheck disable=SC2086
		bloomdedup create $options one
		bloomdedup create --like=one two
		[ "$(stat -c %s one)" -eq "$(stat -c %s two)" ]
		echo a,a | bloomdedup add -f one
		echo b,b | bloomdedup add -f two
		bloomdedup merge -o both --force one two >out 2>err
		[ "$(layers both)" -eq 1 ]
		[ ! -s err ]
		echo a,a | bloomdedup -f both >out
		echo b,b | bloomdedup -f both >>out
		[ ! -s out ]
	done <<-'END'
		-n 1
		-n 100 -p 1e-3
		-n 12345 -p 0.5
		-n 1e6 -p 1e-6
		-n 1e5 -m 300K
		-p 1e-9 -m 1M
		-n 1e5 -p 1e-4 --hashes=3
		-n 1e5 -p 1e-12
		-n 1e5 --on-full=warn
		-n 1e5 -p 1e-3 --on-full=fail
		-z --trim -k 1,3- -t, -s1 -w5 -i --strip-cr
		--csv -k2
	END
}

@test "create --like with another capacity keeps the secret and the rate" {
	bloomdedup create -n 1e5 -p 1e-3 -k1 one
	bloomdedup create --like=one -n 2e5 two
	[ "$(figure capacity two)" -eq 200000 ]
	echo 'a x' | bloomdedup add -f one
	echo 'b x' | bloomdedup add -f two
	bloomdedup merge -o both one two >out 2>err
	[ "$(layers both)" -eq 2 ]
	printf 'a y\nb y\nc y\n' | bloomdedup -f both >out
	echo 'c y' | cmp - out
}

@test "create --like refuses what would not fit" {
	bloomdedup create -n 1000 -k1 one
	fails 2 --like bloomdedup create --like=one -p 1e-3 two
	fails 2 --like bloomdedup create --like=one -m 1M two
	fails 2 --like bloomdedup create --like=one --hashes=3 two
	fails 2 --like bloomdedup create --like=one --on-full=warn two
	fails 2 --key=2 bloomdedup create --like=one -k2 two
	fails 2 --trim bloomdedup create --like=one --trim two
	fails 3 nowhere bloomdedup create --like=nowhere two
	echo 'not a filter' >text
	fails 3 text bloomdedup create --like=text two
	[ ! -e two ]
	no_leftovers
}

@test "layers are joined where the rate stays, and stand side by side where not" {
	bloomdedup create -n 10000 -p 1e-3 one
	bloomdedup create --like=one two
	bloomdedup create --like=one three
	"$HELPER" lines 5000 1 | bloomdedup add -f one
	"$HELPER" lines 4000 2 | bloomdedup add -f two
	"$HELPER" lines 9000 3 | bloomdedup add -f three
	bloomdedup merge -o fits one two >out
	[ "$(layers fits)" -eq 1 ]
	bloomdedup merge -o full one three >out 2>err
	[ "$(layers full)" -eq 2 ]
	bloomdedup merge -o all one two three >out 2>err
	[ "$(layers all)" -eq 2 ]
	"$HELPER" lines 5000 1 | bloomdedup check -v -f all >out || true
	[ ! -s out ]
	"$HELPER" lines 4000 2 | bloomdedup check -v -f all >out || true
	[ ! -s out ]
	"$HELPER" lines 9000 3 | bloomdedup check -v -f all >out || true
	[ ! -s out ]
}

@test "filters that grew are merged with all of their layers" {
	bloomdedup create -n 1000 -p 1e-4 one
	bloomdedup create --like=one two
	"$HELPER" lines 10000 1 >lines1
	"$HELPER" lines 5000 2 >lines2
	bloomdedup add -f one lines1 2>err
	bloomdedup add -f two lines2 2>err
	bloomdedup merge -o both one two >out 2>err
	bloomdedup check -v -f both lines1 lines2 >out || true
	[ ! -s out ]
	# it can be used further, and grows
	"$HELPER" lines 50000 3 >lines3
	bloomdedup -f both lines3 >new 2>err
	[ "$(wc -l <new)" -gt 49900 ]
	bloomdedup -f both lines3 >out
	[ ! -s out ]
	bloomdedup check -v -f both lines1 lines2 lines3 >out || true
	[ ! -s out ]
	[ "$(layers both)" -gt "$(layers one)" ]
}

@test "the rate that is stated is the one that is had" {
	bloomdedup create -n 40000 -p 0.01 one
	bloomdedup create --like=one two
	bloomdedup create --like=one three
	local i=0 part
	for part in one two three; do
		i=$((i + 1))
		"$HELPER" lines 40000 "$i" | bloomdedup add -f "$part"
	done
	bloomdedup merge -o all one two three >out 2>err
	[ "$(wc -l <err)" -eq 1 ]
	grep -q '^bloomdedup: all: .*above.*0\.01' err
	sed 's/.*error rate now \([0-9.e-]*\)$/\1/' out >stated
	"$HELPER" lines 200000 9 | bloomdedup check -f all >found
	python3 - "$(cat stated)" "$(wc -l <found)" <<-'PYTHON'
		import sys
		stated, found = float(sys.argv[1]), int(sys.argv[2])
		print(stated, found)
		assert 0.018 < stated < 0.027
		assert abs(found - stated * 200000) < 5 * (stated * 200000) ** .5 + 100
	PYTHON
}

@test "a merge within the rate warns of nothing" {
	bloomdedup create -n 20000 -p 0.01 one
	bloomdedup create --like=one two
	"$HELPER" lines 9000 1 | bloomdedup add -f one
	"$HELPER" lines 9000 2 | bloomdedup add -f two
	bloomdedup merge -o both one two >out 2>err
	[ ! -s err ]
	grep -q '^both: 2 filters, about 1[78],[0-9]* lines in 1 layer; error rate now ' out
}

@test "one full filter, copied by merge, warns of nothing" {
	local i growth
	for growth in grow warn fail; do
		for i in 1 2 3 4 5 6; do
			rm -f one copy
			bloomdedup create -n 2000 -p 0.01 --on-full=$growth one
			"$HELPER" lines 2000 "$i" | bloomdedup add -f one
			bloomdedup merge -o copy one >out 2>err
			[ ! -s err ]
		done
	done
}

@test "where filters can't be merged the message names the field and both values" {
	bloomdedup create one
	bloomdedup create two
	fails 2 'one and two can never be merged: they were made apart' \
		bloomdedup merge -o out.bloom one two
	grep -q 'create --like=one' fails.err
	# the same secret in filters that differ in one thing each
	local name options
	while read -r name options; do
		# shellcheck disable=SC2086
		bloomdedup create $options "$name"
		copy_secret one "$name"
	done <<-'END'
		rate -p 1e-3
		key -k 1,3
		other-key --trim -i
		growth --on-full=warn
		zero -z
		alike
	END
	bloomdedup merge -o out.bloom one alike >/dev/null
	rm out.bloom
	fails 2 'error rate' bloomdedup merge -o out.bloom one rate
	grep -q '1e-06\|1e-6\|0.000001' fails.err
	grep -q '0.001' fails.err
	fails 2 'the key' bloomdedup merge -o out.bloom one key
	grep -q 'the whole line' fails.err
	grep -q 'key=1,3' fails.err
	fails 2 trim bloomdedup merge -o out.bloom key other-key
	grep -q -e '--trim --ignore-case' fails.err
	fails 2 --on-full bloomdedup merge -o out.bloom one growth
	grep -q 'grow.*warn' fails.err
	fails 2 zero-terminated bloomdedup merge -o out.bloom one zero
	[ ! -e out.bloom ]
	no_leftovers
}

# copy_secret FROM TO: the 192 bytes from 128 on, as bloomdedup(5) has it.
copy_secret() {
	"$HELPER" poke "$2" 128 \
		"$(od -An -v -tx1 -j128 -N192 "$1" | tr -d ' \n')"
	"$HELPER" fix-crc "$2"
}

@test "merge in place: the output is one of the inputs" {
	bloomdedup create -n 1000 one
	bloomdedup create --like=one two
	seq 1 300 | bloomdedup add -f one
	seq 301 600 | bloomdedup add -f two
	bloomdedup merge -o one one two >out
	seq 1 600 | bloomdedup check -v -f one >out || true
	[ ! -s out ]
	[ "$(layers one)" -eq 1 ]
	bloomdedup merge -o two one two two >out
	seq 1 600 | bloomdedup check -v -f two >out || true
	[ ! -s out ]
	no_leftovers
}

@test "a filter that is named twice counts once" {
	bloomdedup create -n 1000 one
	seq 1 900 | bloomdedup add -f one
	ln -s one link
	ln one hard
	bloomdedup merge -o out.bloom one one link hard ./one >out 2>err
	[ ! -s err ]
	cmp -i 12288 one out.bloom
}

@test "merge never overwrites without --force" {
	bloomdedup create one
	echo a | bloomdedup add -f one
	echo precious >file
	fails 3 --force bloomdedup merge -o file one
	echo precious | cmp - file
	bloomdedup merge --force -o file one >out
	echo a | bloomdedup check -q -f file
	no_leftovers
}

@test "merge needs an output and inputs that are filters" {
	bloomdedup create one
	fails 2 'needs an output' bloomdedup merge one
	fails 2 'needs an output' bloomdedup merge -o new.bloom
	fails 3 nowhere bloomdedup merge -o new.bloom one nowhere
	fails 3 nowhere bloomdedup merge -o nowhere nowhere one
	echo text >text
	fails 3 text bloomdedup merge -o new.bloom one text
	fails 3 none bloomdedup merge -o none/such one
	fails 3 '' bloomdedup merge -o . one
	[ ! -e new.bloom ]
	no_leftovers
}

@test "a damaged input is refused and nothing is made" {
	bloomdedup create -n 1000 one
	bloomdedup create --like=one two
	truncate -s -1 two
	fails 3 two bloomdedup merge -o new.bloom one two
	[ ! -e new.bloom ]
	cp one before
	fails 3 two bloomdedup merge -o one one two
	cmp one before
	no_leftovers
}

@test "merge in place waits for a run that uses the filter" {
	bloomdedup create one
	bloomdedup create --like=one two
	mkfifo pipe
	bloomdedup -f one <pipe >out &
	exec 7>pipe
	echo a >&7
	until_true has_bytes 2 out
	fails 75 one bloomdedup merge --lock-timeout=0 -o one one two
	# reading it is no matter of waiting
	bloomdedup merge --lock-timeout=0 -o three one two >merged
	exec 7>&-
	wait $!
	bloomdedup merge --lock-timeout=0 -o one one two >merged
}

@test "--force waits for a run that uses the filter which it replaces" {
	bloomdedup create one
	bloomdedup create target
	mkfifo pipe
	bloomdedup -f target <pipe >out &
	exec 7>pipe
	echo a >&7
	until_true has_bytes 2 out
	local status=0
	bloomdedup merge --force --lock-timeout=0 -o target one \
		>merged 2>err || status=$?
	exec 7>&-
	wait $!
	[ "$status" -eq 75 ]
	echo a | bloomdedup check -q -f target
}

@test "a merge that is killed leaves the old file as it was" {
	bloomdedup create -n 3e6 one
	bloomdedup create --like=one two
	echo a | bloomdedup add -f one
	echo b | bloomdedup add -f two
	cp one before
	local i
	for i in 0.001 0.005 0.01 0.02 0.04; do
		"$BLOOMDEDUP" merge -o one one two >out 2>&1 &
		sleep "$i"
		kill -9 $! 2>/dev/null || true
		wait $! || true
		# the old one or the new one, whole
		if ! cmp -s one before; then
			printf 'a\nb\n' | bloomdedup check -v -f one >out ||
				true
			[ ! -s out ]
			bloomdedup info one >out
		fi
		cp before one
	done
	echo a | bloomdedup check -q -f one
}

@test "--force, where there was nothing: what comes meanwhile stays" {
	needs_strace
	seq 5 | bloomdedup add -f one
	seq 10 >in
	for command in "create --force three" "merge --force -o three one"; do
		rm -f three
		# shellcheck disable=SC2086
		strace -qq -o trace -e trace=link,linkat,rename \
			-e inject=link,linkat,rename:delay_enter=1500000 \
			"$BLOOMDEDUP" $command 2>err 3>&- &
		until_true find_temporary
		bloomdedup -f three in >out
		wait $! || [ $? -eq 3 ]
		bloomdedup -f three in >out
		[ ! -s out ]
	done
}

@test "a merge that is told to stop takes its temporary file away" {
	bloomdedup create -n 2e7 one
	bloomdedup create --like=one two
	cp one before
	local status=0
	"$HELPER" defaults "$BLOOMDEDUP" merge -o three one two >out 2>err &
	until_true find_temporary
	kill -TERM $!
	wait $! || status=$?
	if [ "$status" -ne 0 ]; then
		[ "$status" -eq 143 ]
		[ ! -e three ]
	fi
	no_leftovers
	cmp one before
}

find_temporary() {
	[ -e three ] || [ -n "$(find . -name '.bloomdedup-*')" ]
}

@test "a full disk is an error, and leaves nothing behind" {
	bloomdedup create -n 1e6 one
	bloomdedup create --like=one two
	cp one before
	local status=0
	(
		ulimit -f 100
		"$BLOOMDEDUP" merge -o one one two >out 2>err
	) || status=$?
	[ "$status" -eq 3 ]
	[ "$(wc -l <err)" -eq 1 ]
	cmp one before
	no_leftovers
}

@test "filters that don't grow stand side by side and keep their lines" {
	bloomdedup create -n 1000 -p 1e-3 --on-full=fail one
	bloomdedup create --like=one two
	"$HELPER" lines 1000 1 | bloomdedup add -f one
	"$HELPER" lines 1000 2 | bloomdedup add -f two
	bloomdedup merge -o both one two >out 2>err
	"$HELPER" lines 1000 1 | bloomdedup check -v -f both >out || true
	[ ! -s out ]
	"$HELPER" lines 1000 2 | bloomdedup check -v -f both >out || true
	[ ! -s out ]
}

@test "many filters, one after the other or all at once" {
	local i
	bloomdedup create -n 20000 -p 1e-3 part1
	bloomdedup create --like=part1 sum
	for ((i = 2; i <= 20; i++)); do
		bloomdedup create --like=part1 "part$i"
	done
	for ((i = 1; i <= 20; i++)); do
		seq "$((i * 900))" "$((i * 900 + 899))" |
			bloomdedup add -f "part$i"
		bloomdedup merge -o sum sum "part$i" >out
	done
	bloomdedup merge -o once part* >out
	cmp -i 12288 sum once
	seq 900 18899 | bloomdedup check -v -f once >out || true
	[ ! -s out ]
}

@test "a merged filter grows by layers as large as its largest" {
	bloomdedup create -n 100000 -p 1e-3 large
	bloomdedup create --like=large -n 100 small
	"$HELPER" lines 100000 1 | bloomdedup add -f large
	"$HELPER" lines 100 2 | bloomdedup add -f small
	bloomdedup merge -o both large small >out 2>err
	"$HELPER" lines 100000 3 | bloomdedup add -f both 2>err
	[ "$(layers both)" -le 5 ]
}

# A disk that fails can take seconds for each page.
@test "a merge ends at the first page that it can't read" {
	needs_strace
	skip_if_emulated "calls of its own"
	bloomdedup create -n 1e5 one
	bloomdedup create --like=one two
	status=0
	# of these files alone: an emulator or valgrind reads others
	strace -f -qq -o trace -P "$PWD/one" -P "$PWD/two" -e trace=pread64 \
		-e inject=pread64:error=EIO:when=20+ \
		"$BLOOMDEDUP" merge -o new one two 2>err || status=$?
	[ "$status" -eq 3 ]
	grep -q "$(reason EIO)" err
	[ "$(grep -c INJECTED trace)" -eq 1 ]
	[ ! -e new ]
	no_leftovers
}

# Each sync is late and fails: a name that doesn't wait for it comes too early.
@test "a sync that fails comes before the name: the old file or none" {
	needs_strace
	skip_if_emulated "calls of its own"
	seq 1000 >in
	seq 1001 2000 >more
	bloomdedup create -n 1000 one
	bloomdedup create --like=one two
	bloomdedup add -f one in
	bloomdedup add -f two more
	cp two old
	fail_sync() { # CALL WHEN OPERAND...
		rm -f new
		cp old two
		status=0
		strace -f -qq -o trace -e trace="$1,rename,link" \
			-e inject="$1:error=EIO:delay_enter=200000:when=$2" \
			"$BLOOMDEDUP" merge "${@:3}" one two 2>err || status=$?
		grep -q INJECTED trace
	}
	for operands in '-o new' '--force -o two'; do
		for ((n = 1; ; n++)); do
			fail_sync fdatasync $n $operands || break
			[ "$status" -eq 3 ]
			grep -q "$(reason EIO)" err
			[ ! -e new ]
			cmp old two
			no_leftovers
		done
		[ "$status" -eq 0 ]
		[ $n -gt 1 ]
		# of the directory, behind the name
		fail_sync fsync 1 $operands
		[ "$status" -eq 3 ]
		grep -q "$(reason EIO)" err
	done
	cat in more >all
	all_known all two
}

@test "filters with other key options: merge names both as options" {
	head -c 192 /dev/urandom >secret
	bloomdedup create --secret-file=secret -t , -k 2 -n 100 a
	bloomdedup create --secret-file=secret -i -n 100 b
	bloomdedup create --secret-file=secret -n 100 c
	fails 2 "a and b cannot be merged: the key is --key=2 --field-separator=, in one and --ignore-case in the other" \
		bloomdedup merge -o out a b
	fails 2 'the key is --ignore-case in one and the whole line in the other' \
		bloomdedup merge -o out b c
	[ ! -e out ]
}
