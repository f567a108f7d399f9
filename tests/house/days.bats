# The recipes for the new lines of a day, in parts, with stand-ins for ssh, GNU
# parallel, Hadoop and Spark. `make check-engines` has the real ones; some of the
# tests, and all in their long form, use GNU parallel itself.
load examples

EXAMPLES=$ROOT/man/examples
ENGINES='parallel hadoop spark'

teardown() {
	[ ! -p gate ] || [ -z "${first-}" ] ||
		kill -KILL "$first" "$second" 2>/dev/null || :
}

# The engine's command for FILTERS DAY FILE... With start=setsid, what it starts is
# of one group, whose number is that of the command.
start=
day_with() {
	local engine=$1
	shift
	case $engine in
	parallel) exec $start bash "$EXAMPLES/parts-parallel.sh" "$@" ;;
	hadoop) exec $start bash "$EXAMPLES/parts-hadoop.sh" "$@" ;;
	spark) exec $start python3 "$EXAMPLES/parts-spark.py" "$@" ;;
	esac
}

# run_day ENGINE FILTERS DAY FILE...: with KEYS; its messages go to `said`.
run_day() {
	(day_with "$@") >said 2>&1
}

# new_lines ENGINE DAY: what the day has.
new_lines() {
	case $1 in
	hadoop) bash "$EXAMPLES/parts-hadoop.sh" --print "$2" ;;
	*) cat "$2"/new-* ;;
	esac
}

# make_filters PARTS OPTION...: in the directory `filters`.
make_filters() {
	local parts=$1
	shift
	rm -rf filters
	mkdir filters
	for ((i = 1; i <= parts; i++)); do
		bloomdedup create -n 10000 "$@" --part=$i/"$parts" \
			filters/part-$i.bloom
	done
}

needs_engine() {
	case $1 in
	parallel) needs flock ;;
	spark) needs python3 ;;
	esac
}

# parallel [OPTION]... FUNCTION [{1} {2}] ::: ARGUMENT... [::: ARGUMENT...]: all
# at once, on this machine.
make_parallel() {
	if is_slow; then
		needs parallel
		return
	fi
	stand_in parallel <<-'END'
		tries=1
		while :; do
			case $1 in
			--halt | --env | -S) shift 2 ;;
			--retries) tries=$2; shift 2 ;;
			--link | --hostgroups) shift ;;
			*) break ;;
			esac
		done
		function=$1
		until [ "$1" = ::: ]; do shift; done
		shift
		first=() second=()
		while [ $# -gt 0 ] && [ "$1" != ::: ]; do
			first+=("${1%@m0}")
			shift
		done
		[ $# -eq 0 ] || { shift; second=("$@"); }
		jobs=()
		for i in "${!first[@]}"; do
			for ((try = 1; try <= tries; try++)); do
				bash -c '"$@"' job "$function" "${first[i]}" \
					${second[i]+"${second[i]}"} && exit
				# nobody has succeeded
				[ "$try" -lt "$tries" ] || exit 1
			done &
			jobs+=($!)
		done
		status=0
		for job in "${jobs[@]}"; do
			wait "$job" || status=1
		done
		exit "$status"
	END
	sed -i '1s/.*/#!\/bin\/bash/' bin/parallel
}

# The engines, as far as the recipes use them. A name of hdfs is one here.
make_engines() {
	make_parallel
	stand_in hdfs <<-'END'
		# hdfs dfs -OPERATION ARGUMENT...
		operation=$2
		shift 2
		missing() { echo "$1: No such file or directory" >&2; exit 1; }
		exists() { echo "$1: File exists" >&2; exit 1; }
		case $operation in
		-ls)
			option=$1
			shift
			for name; do [ -e "$name" ] || missing "$name"; done
			case $option in
			-C) find "$1" -mindepth 1 -maxdepth 1 ;;
			-R) find "$@" -type f -printf \
				'-rw-r--r--   1 a b %s %TY-%Tm-%Td %TH:%TM %p\n' ;;
			esac ;;
		-mkdir) mkdir "$@" ;;
		-put)
			[ ! -e "$2" ] || exists "$2"
			cat "${1#-}" >"$2._COPYING_$$" 2>/dev/null ||
				cat >"$2._COPYING_$$"
			mv "$2._COPYING_$$" "$2" ;;
		-get) cp "$1" "$2" ;;
		-cat) cat $* ;;
		-mv)
			for target; do :; done
			while [ $# -gt 1 ]; do
				to=$target
				[ ! -d "$to" ] || to=$to/${1##*/}
				[ ! -e "$to" ] || exists "$to"
				[ -e "$1" ] || missing "$1"
				mv "$1" "$to"
				shift
			done ;;
		-rm) shift 2; rm -rf $* ;;
		-touchz) : >"$1" ;;
		-test) [ -e "$2" ] ;;
		*) echo "$operation: unknown" >&2; exit 1 ;;
		esac
	END
	# Two attempts of the reducer, of which the first is killed.
	stand_in mapred <<-'END'
		inputs=
		while [ $# -gt 0 ]; do
			case $1 in
			-input) inputs="$inputs $2" ;;
			-output) output=$2 ;;
			-mapper) mapper=$2 ;;
			-reducer) reducer=$2 ;;
			-files) script=${2%%#*} ;;
			esac
			shift
		done
		[ ! -e "$output" ] || { echo "$output exists" >&2; exit 1; }
		mkdir "$output"
		task=$(mktemp -d)
		trap 'rm -rf "$task"' EXIT
		cp "$script" "$task/parts-hadoop.sh"
		find $inputs -type f -exec readlink -f {} + >"$task/files"
		cd "$task" || exit
		while read -r file; do
			sh -c "$mapper" <"$file" >>lines || exit
		done <files
		LC_ALL=C sort -s -t '	' -k 1,1 lines >sorted
		for attempt in 1 2; do
			export mapreduce_task_output_dir=$output/_temporary/$attempt
			mkdir -p "$mapreduce_task_output_dir"
			sh -c "$reducer" <sorted \
				>"$mapreduce_task_output_dir/part-00000" || exit
		done
		mv "$mapreduce_task_output_dir"/* "$output"
		rm -r "$output/_temporary"
		: >"$output/_SUCCESS"
	END
	sed -i 's|part-00000" |&\|\| [ $attempt -eq 1 ] |' bin/mapred
	mkdir python
	cat >python/pyspark.py <<-'END'
		class SparkContext:
		    def __enter__(self):
		        return self
		    def __exit__(self, *what):
		        pass
		    def parallelize(self, items, slices):
		        self.items = list(items)
		        assert slices == len(self.items) > 0
		        return self
		    def foreach(self, function):
		        for item in self.items:
		            function(item)
		            function(item) # it may run twice
	END
	export PYTHONPATH=$PWD/python
}

# state DIRECTORY...: every file in it, with what it holds. GNU parallel makes
# notes in the home directory.
state() {
	find "$@" ! -path './.parallel*' -type f -exec sha256sum {} + | sort
	find "$@" ! -path './.parallel*' | sort
}

# refuses ENGINE TEXT ARGUMENT...: with status 2 and this text, and nothing is
# made, removed or changed.
refuses() {
	local engine=$1 text=$2 status=0
	shift 2
	rm -f said
	state . >"$BATS_TEST_TMPDIR.before"
	(day_with "$engine" "$@") >"$BATS_TEST_TMPDIR.said" 2>&1 || status=$?
	state . | diff "$BATS_TEST_TMPDIR.before" -
	cat "$BATS_TEST_TMPDIR.said"
	[ "$status" -eq 2 ]
	grep -qF -e "$text" "$BATS_TEST_TMPDIR.said"
}

arguments() {
	local here
	needs_engine "$1"
	make_engines
	make_filters 3
	here=$PWD
	mkdir inputs
	seq 100 >inputs/monday
	refuses "$1" 'usage: '
	refuses "$1" 'usage: ' "$here/filters" "$here/inputs"
	refuses "$1" 'usage: ' "$here/filters" "$here/inputs/monday"
	# in another order
	refuses "$1" "$here/day-1: " "$here/filters" "$here/inputs" "$here/day-1"
	refuses "$1" "$here/inputs: has something else in it" \
		"$here/filters" "$here/inputs" "$here/inputs/monday"
	refuses "$1" "$here/filters: has something else in it" \
		"$here/day-1" "$here/filters" "$here/inputs/monday"
	refuses "$1" 'part-1.bloom' "$here/inputs" "$here/day-1" \
		"$here/inputs/monday"
	# what isn't there
	refuses "$1" "$here/tuesday: " "$here/filters" "$here/day-1" \
		"$here/inputs/monday" "$here/tuesday"
	mv filters/part-2.bloom away
	refuses "$1" "part-2.bloom" "$here/filters" "$here/day-1" \
		"$here/inputs/monday"
	mv away filters/part-2.bloom
	if [ "$1" != hadoop ]; then
		KEYS='-k 2' refuses "$1" "KEYS='-k 2': the filters were not made" \
			"$here/filters" "$here/day-1" "$here/inputs/monday"
	fi
	run_day "$1" "$here/filters" "$here/day-1" "$here/inputs/monday" ||
		{ cat said; false; }
	new_lines "$1" "$here/day-1" | sort -n | cmp - inputs/monday
}

late_files() {
	local here=$PWD
	needs_engine "$1"
	make_engines
	make_filters 2
	seq 100 >monday
	seq 80 200 >late
	run_day "$1" "$here/filters" "$here/day-1" "$here/monday" ||
		{ cat said; false; }
	# the same command changes nothing
	state day-1 filters >before
	run_day "$1" "$here/filters" "$here/day-1" "$here/monday"
	state day-1 filters | diff before -
	refuses "$1" "give late files a new day" "$here/filters" "$here/day-1" \
		"$here/monday" "$here/late"
	seq 300 >>monday
	refuses "$1" "they have changed since" "$here/filters" "$here/day-1" \
		"$here/monday"
	run_day "$1" "$here/filters" "$here/day-2" "$here/late"
	new_lines "$1" "$here/day-2" | sort -n | cmp - <(seq 101 200)
}

# stopping_at N WHOM BEFORE PROGRAM...: commands in the directory `counted`, of
# which the Nth call kills the recipe, and goes on with what it was called for, as
# children do; or it kills all that the recipe has started, too. If BEFORE is
# false, it has written a part of its output by then, and fails.
stopping_at() {
	local n=$1 whom=$2 before=$3 program sign=
	shift 3
	[ "$whom" = recipe ] || sign=-
	rm -rf calls killed counted
	mkdir counted
	for program; do
		cat >"counted/$program" <<-END
			#!/bin/sh
			exec 8>>'$PWD/calls.lock'
			flock 8
			echo >>'$PWD/calls'
			number=\$(wc -l <'$PWD/calls')
			exec 8>&-
			if [ \$number -eq $n ]; then
				$before || '$(type -P "$program")' "\$@" | head -c 100
				: >'$PWD/killed'
				kill -s KILL -- $sign\$(cat '$PWD/pid')
				$before || exit 1
			fi
			exec '$(type -P "$program")' "\$@"
		END
		chmod +x "counted/$program"
	done
}

# Two days, stopped at some of the calls, or in the long form at each of them: the
# recipe alone is killed, or its children, too, and the same command is given again.
stopped() {
	local engine=$1 here=$PWD n=0 day step whom before
	shift
	needs_engine "$engine"
	needs flock setsid
	make_engines
	seq 900 >day-1.1
	seq 500 1000 >day-1.2
	seq 700 1200 >day-2.1
	seq 1 3 1500 >day-2.2
	sort -nu day-1.? >want-1
	sort -nu day-2.? | grep -vxFf want-1 >want-2
	step=$(short_or_long 20 1)
	while ((n += 1 + RANDOM % step)); do
		make_filters 2
		rm -rf day-1 day-2
		whom=recipe
		((RANDOM % 2)) || whom=all
		before=true
		((RANDOM % 2)) || before=false
		stopping_at $n "$whom" "$before" "$@"
		for day in 1 2; do
			until
				(echo "$BASHPID" >pid
				PATH=$PWD/counted:$PATH start=setsid
				day_with "$engine" "$here/filters" \
				"$here/day-$day" "$here/day-$day.1" \
				"$here/day-$day.2") >said 2>&1
			do
				[ -e killed ] && ! [ -e killed-before ] ||
					{ echo "call $n, $whom, before: $before"; cat said; return 1; }
				: >killed-before
			done
			rm -f killed-before
			new_lines "$engine" "$here/day-$day" | sort -n |
				diff - "want-$day" || return 1
		done
		# nothing is left but what the recipe says
		find day-2 -name 'attempt*' -o -name 'work*' >left
		[ ! -s left ] || { cat left; return 1; }
		[ -e killed ] || break
	done
	echo "$n calls"
	[ "$n" -ge 10 ]
}

@test "parallel: all arguments are checked before anything is touched" {
	arguments parallel
}

@test "parallel: a line end in the name of a file is refused" {
	needs flock
	make_engines
	make_filters 2
	seq 10 >$'mon\nday'
	refuses parallel 'its name has a line end' filters day-1 $'mon\nday'
}

@test "Hadoop: a copy that was cut short does not make a directory another's" {
	make_engines
	make_filters 2
	seq 10 >monday
	mkdir day-1
	echo 3 >day-1/inputs._COPYING_
	run_day hadoop "$PWD/filters" "$PWD/day-1" "$PWD/monday" ||
		{ cat said; false; }
	new_lines hadoop day-1 | sort -n | cmp - monday
}

@test "Hadoop: all arguments are checked before anything is touched" {
	arguments hadoop
}

@test "Spark: all arguments are checked before anything is touched" {
	arguments spark
}

@test "parallel: a late file in a finished day is refused" {
	late_files parallel
}

@test "Hadoop: a late file in a finished day is refused" {
	late_files hadoop
}

@test "Spark: a late file in a finished day is refused" {
	late_files spark
}

# Tables of which each file has a header: the day has one, on top.
headers() {
	local here=$PWD
	needs_engine "$1"
	make_engines
	export KEYS='--csv --header -k mail'
	make_filters 4 --csv --header -k mail
	{
		printf 'id,"e\n""mail","mail"\n' >header
		cat header
		printf '%d,"x\ny",%d@example.org\n' {1..200}{,}
	} >monday
	{
		cat header
		printf '%d,"x\ny",%d@example.org\n' {150..300}{,}
	} | gzip >more
	run_day "$1" "$here/filters" "$here/day-1" "$here/monday" "$here/more" ||
		{ cat said; false; }
	new_lines "$1" "$here/day-1" >got
	head -n 2 got | cmp - header
	tail -n +3 got | sort | cmp - \
		<(printf '%d,"x\ny",%d@example.org\n' {1..300}{,} | sort)
	{ cat header; printf '%d,,%d@example.org\n' 5 5 500 500; } >tuesday
	run_day "$1" "$here/filters" "$here/day-2" "$here/tuesday"
	new_lines "$1" "$here/day-2" >got
	{ cat header; echo 500,,500@example.org; } | cmp - got
}

@test "parallel: tables with headers have one, on top" {
	headers parallel
}

@test "Spark: tables with headers have one, on top" {
	headers spark
}

@test "Hadoop: a day waits until the one before is finished" {
	make_engines
	make_filters 2
	seq 10 >monday
	seq 5 20 >tuesday
	mv bin/mapred mapred
	stand_in mapred <<<'exit 1'
	run ! run_day hadoop "$PWD/filters" "$PWD/day-1" "$PWD/monday"
	mv mapred bin/mapred
	refuses hadoop "$PWD/day-1 is not finished" "$PWD/filters" "$PWD/day-2" \
		"$PWD/tuesday"
	run_day hadoop "$PWD/filters" "$PWD/day-1" "$PWD/monday"
	run_day hadoop "$PWD/filters" "$PWD/day-2" "$PWD/tuesday"
	new_lines hadoop day-2 | sort -n | cmp - <(seq 11 20)
}

@test "Hadoop: a header is refused" {
	make_engines
	make_filters 2
	seq 10 >monday
	export KEYS='--csv --header -k mail'
	refuses hadoop 'not with Hadoop' "$PWD/filters" "$PWD/day-1" "$PWD/monday"
}

@test "Hadoop: keys of several words, and lines that Hadoop would change" {
	make_engines
	export KEYS='-t , -k 2'
	make_filters 3 -t , -k 2
	printf '%s\n' a,x $'b\r,x' $'c,\ty%09\r' $'d,\ty%09\r' e,100% >monday
	run_day hadoop "$PWD/filters" "$PWD/day-1" "$PWD/monday" ||
		{ cat said; false; }
	new_lines hadoop "$PWD/day-1" | sort |
		cmp - <(printf '%s\n' a,x $'c,\ty%09\r' e,100%)
}

@test "Spark: why a task has failed is in the driver's log" {
	needs python3
	make_engines
	make_filters 2
	seq 100 | gzip | head -c 50 >monday
	run ! run_day spark filters day-1 monday
	grep -q 'monday: bloomdedup ended with status 3: .*monday: ' said
	seq 100 >monday
	run ! run_day spark filters day-1 monday
	grep -q 'give late files a new day' said
	run_day spark filters day-2 monday || :
	grep -q "day-1 is not finished" said
}

# blocked ENGINE: a run whose first look-up waits until `gate` is opened.
blocked() {
	mkfifo gate
	mv bin/bloomdedup real
	stand_in bloomdedup <<-END
		case "\$*" in
		*--strict-part*)
			if mkdir '$PWD/blocked' 2>/dev/null; then
				: >'$PWD/gate'
			fi ;;
		esac
		exec '$PWD/real' "\$@"
	END
	(day_with "$1" filters day-1 monday) >said-first 2>&1 3>&- &
	first=$!
	until_true [ -d blocked ]
	(day_with "$1" filters day-1 monday) >said-second 2>&1 3>&- &
	second=$!
}

@test "parallel: a second command waits for what the first, killed, has left" {
	needs parallel flock
	make_filters 3
	seq 3000 >monday
	blocked parallel
	until_true grep -q 'waiting for another run' said-second
	kill -KILL $first
	run ! wait $first
	: <gate
	wait $second
	cat day-1/new-* | sort -n | cmp - monday
}

@test "Spark: a second command waits for the first" {
	needs python3
	make_engines
	make_filters 3
	seq 3000 >monday
	blocked spark
	until_true grep -q 'waiting for another run' said-second
	: <gate
	wait $first
	wait $second
	cat day-1/new-* | sort -n | cmp - monday
}

# A machine is a directory: the one where its filters are. Its processes see it
# at the place of `disk`.
@test "parallel: on several machines, each part has its place" {
	needs parallel unshare
	unshare -m true 2>/dev/null || skip "needs the right to mount"
	stand_in ssh <<-END
		# ssh [-l USER] MACHINE -- WORD...
		[ "\$1" != -l ] || shift 2
		machine=\$1
		shift 2
		echo "\$machine" >>'$PWD/asked'
		exec env -i PATH="\$PATH" HOME=/ SHELL=/bin/bash unshare -m sh -c '
			mount --bind "\$1" "\$2" && exec bash -c "\$3"' \
			sh '$PWD'/"\$machine" '$PWD/disk' "\$*"
	END
	mkdir disk a b a/filters b/filters
	for i in 1 2 3; do
		machine=a
		((i % 2)) || machine=b
		bloomdedup create -n 10000 --part=$i/3 $machine/filters/part-$i.bloom
	done
	seq 2000 >monday
	seq 1000 3000 | gzip >monday.gz
	export PARALLEL_SSH=$PWD/bin/ssh
	bash "$EXAMPLES/parts-parallel.sh" -S a,me@b "$PWD/disk/filters" \
		day-1 monday monday.gz >said 2>&1 || { cat said; false; }
	cat day-1/new-* | sort -n | cmp - <(seq 3000)
	[ "$(sort -u asked | xargs)" = 'a b' ]
	[ -z "$(ls disk)" ]
	# each remembers the lines of its parts
	for i in a:1 b:2 a:3; do
		bloomdedup check -f "${i%:*}/filters/part-${i#*:}.bloom" \
			"day-1/new-${i#*:}" | cmp - "day-1/new-${i#*:}"
	done
	# another list: the filters aren't at their places, and nothing is done
	run ! bash "$EXAMPLES/parts-parallel.sh" -S me@b,a "$PWD/disk/filters" \
		day-2 monday
	[[ $output == *"part-1.bloom: "* ]]
	[ ! -e day-2 ]
}

@test "parallel: stopped anywhere and repeated, no line is lost or there twice" {
	untraced stopped parallel bloomdedup sync ln mv rm
}

@test "Hadoop: stopped anywhere and repeated, no line is lost or there twice" {
	untraced stopped hadoop hdfs mapred
}

@test "Spark: stopped anywhere and repeated, no line is lost or there twice" {
	untraced stopped spark bloomdedup
}
