# kill -9 at any moment: no line is lost, and the filter is a whole one.
load common

# times N: so many in a short run of the tests, twenty times as many in a long.
times() {
	echo $(($1 * (${BLOOMDEDUP_SLOW:+19} + 1)))
}

# numbered N: N lines of the same length, so that none begins as another.
numbered() {
	seq -f 'https://example.org/%010.0f' "$1"
}

# How long a command takes from begin to end, in $took.
measure() {
	local start=${EPOCHREALTIME/[.,]/}
	"$@"
	took=$((${EPOCHREALTIME/[.,]/} - start))
}

# killed COMMAND...: it is killed at a random moment, or it ends well before;
# $kills counts.
killed() {
	local status=0
	"$HELPER" kill-after $(((RANDOM * 32768 + RANDOM) % (took * 5 / 4))) \
		"$@" || status=$?
	if [ "$status" -eq 137 ]; then
		kills=$((kills + 1))
	elif [ "$status" -ne 0 ]; then
		echo "exit status $status from: $*"
		return 1
	fi
}

# came_out IN OUT BATCH: every line of IN is in OUT; what else is there is the
# torn beginning of a line, one for each of the $kills; and lines that came
# twice are at most BATCH a kill.
came_out() {
	perl -e '
		my ($in, $out, $batch, $kills) = @ARGV;
		my (%line, $repeats, $torn);
		open(my $f, "<", $in) or die;
		while (<$f>) { $line{$_} = 0; }
		open($f, "<", $out) or die;
		while (<$f>) {
			if (exists $line{$_}) { $repeats += $line{$_}++ > 0; next; }
			chomp;
			$torn++;
			my $start = $_;
			die "glued: $start\n" unless
			    grep { substr($_, 0, length $start) eq $start } keys %line;
		}
		my @lost = grep { $line{$_} == 0 } keys %line;
		die scalar(@lost) . " lines lost, such as $lost[0]" if @lost;
		die "$torn torn lines from $kills kills\n" if $torn > $kills;
		die "$repeats repeats from $kills kills\n"
		    if $repeats > $kills * $batch;
	' "$1" "$2" "$3" "$kills"
}

# whole FILTER: it can be opened, read and written; no line of IN is missing
# that a run on it, now, does not print.
whole() {
	bloomdedup info "$1" >/dev/null
	bloomdedup check -q -f "$1" /dev/null || [ $? -eq 1 ]
}

leftovers() {
	local found
	found=$(find . -name '.bloomdedup-*' | wc -l)
	if [ "$found" -gt "$1" ]; then
		echo "$found temporary files are left behind"
		return 1
	fi
	find . -name '.bloomdedup-*' -exec rm {} +
}

append() {
	"$BLOOMDEDUP" -f seen in >>all 2>>err
}

@test "a run that appends to a file" {
	skip_if_sanitized # what it says when it is killed is not ours
	numbered 60000 >in
	bloomdedup create -p 1e-12 empty
	cp empty seen
	: >all
	measure append
	rounds=$(times 8)
	for ((i = 0; i < rounds; i++)); do
		cp empty seen
		: >all
		kills=0
		for ((j = 0; j < 5; j++)); do
			killed "$BLOOMDEDUP" -f seen in >>all 2>>err
			whole seen
		done
		append
		came_out in all 1024
	done
	run ! grep -qv 'torn by an earlier run' err
}

@test "a run that appends to a file, and whose filter grows" {
	numbered 30000 >in
	bloomdedup create -n 100 -p 1e-12 empty
	cp empty seen
	: >all
	measure append
	rounds=$(times 6)
	for ((i = 0; i < rounds; i++)); do
		cp empty seen
		: >all
		kills=0
		for ((j = 0; j < 6; j++)); do
			killed "$BLOOMDEDUP" -f seen in >>all 2>>err
			whole seen
		done
		append
		came_out in all 1024
	done
}

@test "a run that makes its filter: it is whole, or not there" {
	numbered 2000 >in
	: >all
	measure "$BLOOMDEDUP" -f seen -n 1000 -p 1e-12 in >>all
	rounds=$(times 25)
	for ((i = 0; i < rounds; i++)); do
		rm -f seen
		: >all
		kills=0
		killed "$BLOOMDEDUP" -f seen -n 1000 -p 1e-12 in >>all \
			2>>err
		[ ! -e seen ] || whole seen
		leftovers 1
		"$BLOOMDEDUP" -f seen -n 1000 -p 1e-12 in >>all 2>>err
		came_out in all 2000
	done
}

@test "a pipe into a recorder" {
	numbered 40000 >in
	bloomdedup create -n 1000 -p 1e-12 empty
	cp empty seen
	took=60000
	measure bash -c '"$1" -f seen in 2>err | cat >all' bash "$BLOOMDEDUP"
	rounds=$(times 5)
	for ((i = 0; i < rounds; i++)); do
		cp empty seen
		: >all
		kills=0
		for ((j = 0; j < 5; j++)); do
			killed "$BLOOMDEDUP" -f seen in 2>>err > >(cat >part)
			wait $!
			# the recorder ends a torn line
			perl -pe 's/\n?\z/\n/' part >>all
			whole seen
		done
		"$BLOOMDEDUP" -f seen in >>all 2>>err
		came_out in all 1024
	done
}

@test "-o, whose file is kept after each run" {
	numbered 40000 >in
	bloomdedup create -n 1000 -p 1e-12 empty
	cp empty seen
	measure "$BLOOMDEDUP" -f seen -o part in 2>err
	rounds=$(times 5)
	for ((i = 0; i < rounds; i++)); do
		cp empty seen
		: >all
		kills=0
		for ((j = 0; j < 5; j++)); do
			: >part
			killed "$BLOOMDEDUP" -f seen -o part in 2>>err
			perl -pe 's/\n?\z/\n/' part >>all
			whole seen
		done
		"$BLOOMDEDUP" -f seen in >>all 2>>err
		came_out in all 1024
	done
}

@test "--sync, appending" {
	numbered 300000 >in
	bloomdedup create -n 1000 -p 1e-12 empty
	cp empty seen
	measure "$BLOOMDEDUP" --sync -f seen in >all 2>err
	rounds=$(times 2)
	for ((i = 0; i < rounds; i++)); do
		cp empty seen
		: >all
		kills=0
		for ((j = 0; j < 4; j++)); do
			killed "$BLOOMDEDUP" --sync -f seen in >>all 2>>err
			whole seen
		done
		"$BLOOMDEDUP" --sync -f seen in >>all 2>>err
		# what was held back comes again: half a list of 256 Ki, and more
		came_out in all 140000
	done
}

@test "--sync -o" {
	numbered 100000 >in
	bloomdedup create -n 1000 -p 1e-12 empty
	cp empty seen
	measure "$BLOOMDEDUP" --sync -f seen -o part in 2>err
	rounds=$(times 4)
	for ((i = 0; i < rounds; i++)); do
		cp empty seen
		: >all
		kills=0
		for ((j = 0; j < 3; j++)); do
			: >part
			killed "$BLOOMDEDUP" --sync -f seen -o part in 2>>err
			perl -pe 's/\n?\z/\n/' part >>all
			whole seen
		done
		"$BLOOMDEDUP" -f seen in >>all 2>>err
		came_out in all 140000
	done
}

@test "while recovering a journal: all of its lines, then or later" {
	numbered 50000 >in
	bloomdedup create -n 100000 -p 1e-12 empty
	"$HELPER" journal empty <in
	cp empty seen
	cp empty.journal seen.journal
	measure "$BLOOMDEDUP" add -f seen /dev/null 2>err
	rounds=$(times 12)
	for ((i = 0; i < rounds; i++)); do
		cp empty seen
		cp empty.journal seen.journal
		kills=0
		killed "$BLOOMDEDUP" add -f seen /dev/null 2>>err
		bloomdedup check -f seen in | cmp in -
		killed "$BLOOMDEDUP" add -f seen /dev/null 2>>err
		bloomdedup check -f seen in | cmp in -
		"$BLOOMDEDUP" add -f seen /dev/null 2>>err
		[ ! -e seen.journal ]
		bloomdedup check -f seen in | cmp in -
	done
}

@test "create --force: the old filter or the new one" {
	echo old | bloomdedup add -n 50000 -f first
	echo old >line
	cp first seen
	measure "$BLOOMDEDUP" create --force -n 60000 seen
	rounds=$(times 15)
	for ((i = 0; i < rounds; i++)); do
		cp first seen
		kills=0
		killed "$BLOOMDEDUP" create --force -n 60000 seen
		leftovers 1
		if ! cmp -s first seen; then
			bloomdedup info seen | grep -q 'for  *60,000 lines'
			bloomdedup check -v -f seen line >out
			cmp line out
		fi
		bloomdedup add -f seen line
	done
}

@test "merge in place: the old filter or the union" {
	numbered 20000 >in
	head -n 10000 in >first
	tail -n 10000 in >second
	bloomdedup add -n 50000 -p 1e-12 -f one first
	bloomdedup create --like=one two
	bloomdedup add -f two second
	cp one seen
	measure "$BLOOMDEDUP" merge -o seen seen two >/dev/null
	rounds=$(times 15)
	for ((i = 0; i < rounds; i++)); do
		cp one seen
		kills=0
		killed "$BLOOMDEDUP" merge -o seen seen two >/dev/null
		leftovers 1
		bloomdedup check -f seen in >known
		cmp in known || cmp first known
		bloomdedup merge -o seen seen two >/dev/null
		bloomdedup check -f seen in | cmp in -
	done
}

@test "merge into a new file: the union, or nothing, with journals, too" {
	skip_if_sanitized # its leak checker fails under strace
	numbered 20000 >in
	head -n 5000 in >first
	tail -n 10000 in >second
	sed -n 5001,10000p in >third
	bloomdedup add -n 50000 -p 1e-12 -f one first
	bloomdedup create --like=one two
	bloomdedup add -f two second
	"$HELPER" journal one <third
	measure "$BLOOMDEDUP" merge -o union one two >/dev/null
	rounds=$(times 15)
	for ((i = 0; i < rounds; i++)); do
		rm -f union
		kills=0
		killed "$BLOOMDEDUP" merge -o union one two >/dev/null
		leftovers 1
		if [ -e union ]; then
			bloomdedup check -f union in >known
			cmp in known
		fi
	done
}

# --- before and after each system call

# calls COMMAND...: a list of its system calls, each with its number among
# those of its name.
calls() {
	strace -f -qq -o trace "$@" >/dev/null 2>err || true
	sed -n 's/^\([0-9]* *\)\{0,1\}\([a-z_0-9]*\)(.*/\2/p' trace |
		awk '!/^(execve|exit_group|arch_prctl|rseq|brk|munmap)$/ {
			print $1, ++seen[$1] }'
}

# at_each CHECK COMMAND...: kill -9 at each of its system calls; before each
# time `before` is called, after it CHECK. In a short run of the tests, at some
# of them.
at_each() {
	local check=$1 call n status hits=0 total some
	shift
	command -v strace >/dev/null || skip "needs strace"
	before
	calls "$@" >list
	grep -qE '^(write|pwrite64|fdatasync) ' list || skip "may not trace"
	total=$(wc -l <list)
	some=$(((total + 15) / 16))
	[ -z "${BLOOMDEDUP_SLOW:-}" ] || some=1
	awk "NR % $some == 0" list >chosen
	while read -r call n; do
		before
		status=0
		{
			strace -f -qq -o trace \
				-e inject="$call":signal=KILL:when="$n" \
				"$@" >>stdout 2>err || status=$?
		} 2>/dev/null
		echo "$call $n: exit status $status"
		[ "$status" -ne 137 ] || hits=$((hits + 1))
		if [ "$status" -ne 137 ] && [ "$status" -ne 0 ]; then
			cat err
			return 1
		fi
		kills=1
		$check || return 1
	done <chosen
	[ "$hits" -ge $(($(wc -l <chosen) * 3 / 4)) ]
}

# Each line comes out, in the killed run or in the next one.
appended() {
	perl -pe 's/\n?\z/\n/' stdout >all || return 1
	[ ! -e seen ] || whole seen || return 1
	leftovers 1 || return 1
	"$BLOOMDEDUP" -f seen -n 100 -p 1e-12 in >>all 2>err || return 1
	came_out in all 2500
}

@test "at each system call of a run that makes a filter and grows" {
	skip_if_sanitized # its leak checker fails under strace
	numbered 2500 >in
	before() {
		rm -f seen
		: >stdout
	}
	at_each appended "$BLOOMDEDUP" -f seen -n 100 -p 1e-12 in
}

@test "at each system call of a run with --sync" {
	skip_if_sanitized # its leak checker fails under strace
	numbered 2500 >in
	bloomdedup create -n 100 -p 1e-12 empty
	before() {
		cp empty seen
		rm -f part
		: >stdout
	}
	synced() {
		[ ! -e part ] || cat part >stdout
		appended
	}
	at_each synced "$BLOOMDEDUP" --sync -o part -f seen in
}

@test "at each system call of a run with --atomic" {
	skip_if_sanitized # its leak checker fails under strace
	numbered 2500 >in
	bloomdedup create -n 100 -p 1e-12 empty
	before() {
		cp empty seen
		rm -f seen.journal
		echo old >file
		: >stdout
	}
	atomic() {
		leftovers 1 || return 1
		echo old | cmp -s - file || cmp in file || return 1
		bloomdedup check -f seen in >known || [ $? -eq 1 ] || return 1
		if [ -s known ]; then
			cmp in known || return 1
			cmp in file || return 1
		fi
		cp known was
		bloomdedup add -f seen /dev/null 2>/dev/null || return 1
		[ ! -e seen.journal ] || return 1
		bloomdedup check -f seen in >known || [ $? -eq 1 ] || return 1
		cmp was known
	}
	at_each atomic "$BLOOMDEDUP" --atomic -o file -f seen in
}

@test "at each system call while a journal is recovered" {
	skip_if_sanitized # its leak checker fails under strace
	numbered 2500 >in
	bloomdedup create -n 3000 -p 1e-12 empty
	"$HELPER" journal empty <in
	before() {
		cp empty seen
		cp empty.journal seen.journal
		: >stdout
	}
	recovered() {
		bloomdedup check -f seen in | cmp in - || return 1
		bloomdedup add -f seen /dev/null 2>/dev/null || return 1
		[ ! -e seen.journal ] || return 1
		bloomdedup check -f seen in | cmp in -
	}
	at_each recovered "$BLOOMDEDUP" add -f seen /dev/null
}

@test "at each system call of a merge in place" {
	skip_if_sanitized # its leak checker fails under strace
	numbered 2000 >in
	head -n 1000 in >first
	tail -n 1000 in >second
	bloomdedup add -n 2500 -p 1e-12 -f one first
	bloomdedup create --like=one two
	bloomdedup add -f two second
	before() {
		cp one seen
		: >stdout
	}
	merged() {
		leftovers 1 || return 1
		bloomdedup check -f seen in >known || return 1
		cmp -s in known || cmp first known
	}
	at_each merged "$BLOOMDEDUP" merge -o seen seen two
}

@test "at each system call of a merge into a new file, with a journal" {
	skip_if_sanitized # its leak checker fails under strace
	numbered 2000 >in
	head -n 1000 in >first
	tail -n 1000 in >second
	bloomdedup add -n 2500 -p 1e-12 -f one first
	bloomdedup create --like=one two
	"$HELPER" journal two <second
	before() {
		rm -f union
		: >stdout
	}
	united() {
		leftovers 1 || return 1
		[ -e union ] || return 0
		bloomdedup check -f union in >known || return 1
		cmp in known
	}
	at_each united "$BLOOMDEDUP" merge -o union one two
}

@test "at each system call of create" {
	skip_if_sanitized # its leak checker fails under strace
	echo x >in
	before() {
		rm -f seen
		: >stdout
	}
	created() {
		leftovers 1 || return 1
		[ ! -e seen ] || whole seen
	}
	at_each created "$BLOOMDEDUP" create -n 1000 seen
}

# --- what must be on the disk before what, for a power cut

# in_order PATTERN...: lines of `trace` match them one after the other.
in_order() {
	local at=0 next pattern
	for pattern; do
		next=$(tail -n +$((at + 1)) trace | grep -nE -m 1 "$pattern" |
			cut -d: -f1)
		if [ -z "$next" ]; then
			echo "no '$pattern' behind line $at of"
			cat trace
			return 1
		fi
		at=$((at + next))
	done
}

trace_syncs() {
	command -v strace >/dev/null || skip "needs strace"
	strace -y -qq -o trace -e \
		trace=fsync,fdatasync,rename,unlink,write,pwrite64,link,exit_group \
		"$@" 2>err || true
	grep -q exit_group trace || skip "may not trace"
}

@test "--sync: first the output is on the disk, then the filter" {
	skip_if_sanitized # its leak checker fails under strace
	numbered 2500 >in
	bloomdedup create -n 3000 seen
	trace_syncs "$BLOOMDEDUP" --sync -f seen -o part in
	in_order 'write\([0-9]*<.*/part>' 'fsync\([0-9]*<.*/part>' \
		'fdatasync\([0-9]*<.*/seen>' exit_group
	# and its last sync is behind all that was written to it
	grep -nE '/(seen|part)>' trace | grep -vE ':(fsync|fdatasync)' |
		grep part | tail -n 1 | cut -d: -f1 >last
	tail -n +"$(cat last)" trace | grep -qE '^fsync\([0-9]*<.*/part>'
	# in a long run, too: no sync of the filter that has marks before one
	# of the output
	"$HELPER" lines 300000 >in
	trace_syncs "$BLOOMDEDUP" --sync -f seen -o part in
	in_order 'write\([0-9]*<.*/part>' 'fsync\([0-9]*<.*/part>' \
		'fdatasync\([0-9]*<.*/seen>' 'write\([0-9]*<.*/part>' \
		'fsync\([0-9]*<.*/part>' 'fdatasync\([0-9]*<.*/seen>' exit_group
}

@test "--atomic: output, name, journal, its commit, filter, no journal" {
	skip_if_sanitized # its leak checker fails under strace
	numbered 2500 >in
	bloomdedup create -n 3000 seen
	trace_syncs "$BLOOMDEDUP" --atomic -f seen -o part in
	in_order 'write\([0-9]*<.*/\.bloomdedup-' \
		'fsync\([0-9]*<.*/\.bloomdedup-' '^rename\(' \
		'fdatasync\([0-9]*<.*/seen\.journal>' \
		'pwrite64\([0-9]*<.*/seen\.journal>' \
		'fsync\([0-9]*<.*/seen\.journal>' \
		'fdatasync\([0-9]*<.*/seen>' \
		'^unlink\(.*seen\.journal' exit_group
}

@test "a filter has its name when it is on the disk, and new layers, too" {
	skip_if_sanitized # its leak checker fails under strace
	numbered 2500 >in
	trace_syncs "$BLOOMDEDUP" -f seen -n 100 -o part in
	in_order 'pwrite64\(' '^fdatasync\(' '^link\(' '^fsync\(' \
		'pwrite64\(' '^fdatasync\(' 'pwrite64\(' '^fdatasync\(' \
		'pwrite64\(' '^fdatasync\(' '^write\(.*/part>'
}
