#!/bin/bash
# The new lines of a day, with Hadoop Streaming:
#
#     parts-hadoop.sh FILTERS DAY FILE...
#     parts-hadoop.sh --print DAY
#
# All names are paths of `hdfs dfs`. FILTERS has one filter per part. Create
# them once, as parts-parallel.sh says, and put them there:
#
#     hdfs dfs -mkdir FILTERS; hdfs dfs -put part-*.bloom FILTERS
#
# The first command creates the directory DAY. After it has succeeded, the
# second one prints the lines of the FILEs (files or directories) that no
# earlier day had.
#
# You may stop the command at any moment. Repeat it, with the same FILEs, until
# it succeeds; until then, no other day can begin. Files that come late need a
# day of their own.
#
# A reduce task copies the filter of its part to its own disk, and looks up and
# remembers its lines there. The new filter is a part of the task's output,
# which Hadoop commits once, whatever fails or runs twice. At the end, the new
# filters are renamed to the old ones. So each filter is copied twice a day, and
# a reduce task needs memory for one filter.
#
# KEYS are the key options that the filters were made with; OPTIONS are more
# options for the job, such as '-D mapreduce.reduce.memory.mb=16000'. Tasks need
# bloomdedup and hdfs. They see pieces of files, in lines that end in a newline,
# so neither --header nor -z is possible.
set -eu -o pipefail
export LC_ALL=C

say() {
	echo "parts-hadoop.sh: $*" >&2
}

refuse() {
	say "$@"
	exit 2
}

# Hadoop takes a CR for the end of a line, and a tab for the end of a key.
escape() { sed "s/%/%25/g; s/\r/%0D/g; s/\t/%09/$1"; }
unescape() { sed 's/\t$//; s/%0D/\r/g; s/%09/\t/g; s/%25/%/g'; }

# --- functions that run in tasks

# map PARTS KEY-OPTION...: print the number of its part before each line.
map() {
	local parts=$1
	shift
	bloomdedup partition --parts="$parts" "$@" | escape 2g
}

# reduce PARTS FILTERS: run new_lines for each part; its lines come together.
reduce() {
	PARTS=$1 FILTERS=$2 SCRIPT=$0 awk '
		function finish() {
			if (part != "" && close(command) != 0)
				failed = 1
		}
		{ number = substr($0, 1, index($0, "\t") - 1) }
		number != part {
			finish()
			part = number
			command = "bash \"$SCRIPT\" --new-lines " part
		}
		{
			line = substr($0, length(part) + 2)
			gsub(/%0D/, "\r", line)
			gsub(/%09/, "\t", line)
			gsub(/%25/, "%", line)
			print line | command
		}
		END { finish(); exit failed }' | escape g
}

# new_lines I: print the new lines of part I, and put the new filter into the
# task's output directory. The job gets its files when the task succeeds.
new_lines() {
	local filter=part-$1.bloom
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	hdfs dfs -get "$FILTERS/$filter" "$scratch/$filter"
	bloomdedup -f "$scratch/$filter" --part="$1/$PARTS" --strict-part
	hdfs dfs -put "$scratch/$filter" "${mapreduce_task_output_dir:?}/$filter"
}

# --- functions that run here

# has NAME: succeed if the directory DAY has this name.
has() {
	grep -qxF "$1" <<<"$found"
}

# names_in DIRECTORY: print the names of its files, or none if it does not
# exist.
names_in() {
	hdfs dfs -ls -C "$1" 2>"$messages" | sed 's|.*/||' ||
		grep -q 'No such file or directory' "$messages" ||
		{ cat "$messages" >&2; return 1; }
}

print() {
	found=$(names_in "$1")
	has finished || refuse "$1: is not finished: repeat the command"
	hdfs dfs -cat "$1/new/part-?????" | unescape
}

# put_back: move each new filter to the place of the old one. A rename cannot
# replace a file, so the old one is moved away first. Filters that an earlier
# run has moved are not moved again.
put_back() {
	local name new there old_paths=() new_paths=()
	new=$(names_in "$DAY/new" | sed -n '/\.bloom$/p')
	there=$(names_in "$FILTERS")
	for name in $new; do
		new_paths+=("$DAY/new/$name")
		! grep -qx "$name" <<<"$there" || old_paths+=("$FILTERS/$name")
	done
	[ ${#new_paths[@]} -gt 0 ] || return 0
	hdfs dfs -mkdir -p "$DAY/old-filters"
	[ ${#old_paths[@]} -eq 0 ] ||
		hdfs dfs -mv "${old_paths[@]}" "$DAY/old-filters"
	hdfs dfs -mv "${new_paths[@]}" "$FILTERS"
}

case ${1-} in
--map | --reduce | --new-lines)
	function=${1#--}
	shift
	"${function//-/_}" "$@"
	exit ;;
esac
messages=$(mktemp)
trap 'rm -f "$messages"' EXIT
if [ "${1-}" = --print ]; then
	[ $# -eq 2 ] || refuse "usage: parts-hadoop.sh --print DAY"
	print "$2"
	exit
fi

# Check the arguments first: until all are right, nothing is created or changed.
[ $# -ge 3 ] && [ -n "$1" ] && [ -n "$2" ] ||
	refuse "usage: parts-hadoop.sh FILTERS DAY FILE..."
for tool in hdfs mapred; do
	command -v "$tool" >/dev/null || refuse "$tool is not installed"
done
case " ${KEYS=} " in *' --header '* | *' -z '* | *' --zero-terminated '*)
	refuse "KEYS=$KEYS: not with Hadoop, whose tasks see parts of files" ;;
esac
FILTERS=$1 DAY=$2
shift 2
# size, day, time and name of each file
inputs=$(hdfs dfs -ls -R "$@" | sed -n 's/^-\([^ ]* *\)\{4\}//p' | sort) ||
	refuse "a FILE is missing: nothing was done"
[ -n "$inputs" ] || refuse "$*: no files"
found=$(names_in "$DAY")
if has inputs; then
	[ "$(hdfs dfs -cat "$DAY/inputs")" = "$inputs" ] ||
		refuse "$DAY: was begun with other files, or they have changed" \
			"since ($DAY/inputs has their sizes, times and names):" \
			"finish it with those, and give late files a new day"
elif [ -n "$found" ] && [ "$found" != inputs._COPYING_ ]; then
	refuse "$DAY: has something else in it: name a new directory"
fi
! has finished || exit 0
filters=$(names_in "$FILTERS")
if grep -qx unfinished <<<"$filters"; then
	other=$(hdfs dfs -cat "$FILTERS/unfinished")
	[ "$other" = "$DAY" ] ||
		refuse "$other is not finished: repeat its command first"
fi
if ! has new; then
	PARTS=$(grep -cxE 'part-[0-9]+\.bloom' <<<"$filters") ||
		refuse "$FILTERS: no filters part-1.bloom and so on"
	for ((i = 1; i <= PARTS; i++)); do
		grep -qx "part-$i.bloom" <<<"$filters" ||
			refuse "$FILTERS/part-$i.bloom is missing, of $PARTS"
	done
fi

hdfs dfs -mkdir -p "$DAY"
has inputs || hdfs dfs -put - "$DAY/inputs" <<<"$inputs"
grep -qx unfinished <<<"$filters" ||
	hdfs dfs -put - "$FILTERS/unfinished" <<<"$DAY"

# The job of a run that was stopped may continue: each job has a directory of
# its own, and the first that is complete is used.
if ! has new; then
	attempt=$DAY/attempt-$HOSTNAME-$$-$(date +%s)
	input=()
	for file; do
		input+=(-input "$file")
	done
	# shellcheck disable=SC2086 # words
	mapred streaming -files "$(realpath "$0")#parts-hadoop.sh" \
		-D mapreduce.job.reduces="$PARTS" \
		-D textinputformat.record.delimiter=$'\n' \
		-D mapreduce.input.fileinputformat.input.dir.recursive=true \
		${OPTIONS-} "${input[@]}" -output "$attempt" \
		-mapper "bash parts-hadoop.sh --map $PARTS $KEYS" \
		-reducer "bash parts-hadoop.sh --reduce $PARTS '$FILTERS'" </dev/null
	hdfs dfs -test -e "$DAY/new" || hdfs dfs -mv "$attempt" "$DAY/new"
fi
put_back
hdfs dfs -rm -r -f "$DAY/attempt-*" "$DAY/old-filters" "$FILTERS/unfinished"
hdfs dfs -touchz "$DAY/finished"
