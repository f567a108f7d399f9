#!/bin/bash
# The new lines of a day, with GNU parallel, on one machine or on several:
#
#     parts-parallel.sh [-S MACHINE,...] FILTERS DAY FILE...
#
# The directory FILTERS has one filter per part. Create them once, with KEYS
# such as --url if lines are not compared as a whole. Choose the number of parts
# here:
#
#     for i in {1..8}; do
#         bloomdedup create -n 1e8 $KEYS --part=$i/8 FILTERS/part-$i.bloom
#     done
#
# The command creates the directory DAY. When it succeeds, DAY/new-1, DAY/new-2
# and so on, one file per part, have the lines of the FILEs that no earlier day
# had, and the filters remember these lines. With a header
# (KEYS='--csv --header -k mail'), DAY/new-1 begins with it.
#
# You may stop the command at any moment. Repeat it, with the same FILEs, until
# it succeeds, and only then begin the next day. If a process of a run that you
# stopped is still working, the next run waits for it. Files that come late need
# a day of their own.
#
# With -S, the work is done on these machines. ssh must reach them without a
# password, as a user whose shell is bash. Each part has a fixed machine: the
# filter of part 1 is on the first machine, the filter of part 2 on the second,
# and so on, and after the last machine again from the first. So never change
# the list. FILTERS is a directory on a local disk of each machine, with the
# same name everywhere. DAY and the FILEs are in a directory that all machines
# have mounted. ":" is this machine.
set -eu -o pipefail
exec </dev/null

say() {
	echo "parts-parallel.sh: $*" >&2
}

refuse() {
	say "$@"
	exit 2
}

# --- functions that run on the machines

# about_filter I: print the parameters of the filter of part I, as JSON.
about_filter() {
	bloomdedup info --json "$FILTERS/part-$1.bloom"
}

# check_filter I: succeed if the filter of part I is here, and made for this
# part.
check_filter() {
	local about
	about=$(about_filter "$1") || return
	[[ $about == *"\"part=$1/$PARTS\""* ]] || {
		echo "$FILTERS/part-$1.bloom: not made with --part=$1/$PARTS" >&2
		return 2
	}
}

# split_file NUMBER FILE: write one file per part, all of them or none.
split_file() {
	set -euf # KEYS are words, not patterns
	cd "$DAY/work"
	[ ! -e "split-$1" ] || return 0
	bloomdedup partition --parts="$PARTS" $KEYS --atomic -o "in-$1-%d" "$2"
	: >"split-$1"
}

# look_up I: write the new lines of part I to work/new-I. This only reads the
# filter, so it may fail, or run twice. The first attempt that succeeds makes
# work/new-I; it is never replaced, because the filter may then remember its
# lines.
look_up() {
	local attempt=work/attempt-$1-$HOSTNAME-$$
	[ ! -e "work/new-$1" ] || return 0
	printf '%s\0' work/in-*-"$1" | bloomdedup --dry-run --strict-part \
		-f "$FILTERS/part-$1.bloom" --files0-from=- >"$attempt"
	sync "$attempt"
	ln "$attempt" "work/new-$1" 2>/dev/null || [ -e "work/new-$1" ]
	rm "$attempt"
}

# header FILE: print its header, which may have several lines while a quote is
# open.
header() {
	LC_ALL=C awk '{ print; quotes += gsub(/"/, "") }
		quotes % 2 == 0 { exit }' "$1"
}

# publish I: give the lines of part I, which are remembered now, their final
# name. Only the first part keeps the header.
publish() {
	local attempt=work/attempt-$1-$HOSTNAME-$$ length
	if [ -z "$HEADER" ] || [ "$1" -eq 1 ]; then
		ln -f "work/new-$1" "new-$1"
		return
	fi
	length=$(header "work/new-$1" | wc -c)
	tail -c +$((length + 1)) "work/new-$1" >"$attempt"
	sync "$attempt"
	mv "$attempt" "new-$1"
}

# new_lines I: do all steps for part I. Adding lines twice changes nothing.
new_lines() {
	set -eu -o pipefail
	cd "$DAY"
	[ ! -e "new-$1" ] || return 0
	look_up "$1"
	bloomdedup add --sync --strict-part -f "$FILTERS/part-$1.bloom" \
		"work/new-$1"
	publish "$1"
}

# --- functions that run here

# key_options: print the key options, except --part, of the filter whose
# `info --json` is on standard input.
key_options() {
	sed 's/.*"key": \[//; s/"part=.*//'
}

# check_keys: succeed if the filters were made with the options in KEYS.
check_keys() {
	(
		set -f # KEYS are words, not patterns
		scratch=$(mktemp -d)
		trap 'rm -rf "$scratch"' EXIT
		bloomdedup create -n 1000 $KEYS --part=1/2 "$scratch/filter"
		bloomdedup info --json "$scratch/filter"
	) | key_options | cmp -s - <(key_options <<<"$about")
}

# Check the arguments first: until all are right, nothing is created or changed.
machines=:
if [ "${1-}" = -S ]; then
	machines=${2-}
	shift $(($# < 2 ? $# : 2))
fi
[ $# -ge 3 ] && [ -n "$machines" ] && [ -n "$1" ] && [ -n "$2" ] ||
	refuse "usage: parts-parallel.sh [-S MACHINE,...] FILTERS DAY FILE..."
for tool in bloomdedup parallel flock; do
	command -v "$tool" >/dev/null || refuse "$tool is not installed"
done
FILTERS=$(realpath -ms -- "$1")
DAY=$(realpath -ms -- "$2")
shift 2
for file; do
	[ -f "$file" ] && [ -r "$file" ] ||
		refuse "$file: there is no such file, or it cannot be read"
	[[ $file != *$'\n'* ]] || refuse "$file: its name has a line end"
done
if [ -e "$DAY" ] && [ ! -e "$DAY/inputs" ]; then
	# a run that was stopped at its beginning leaves only these files
	others=$(find "$DAY" -mindepth 1 ! -path "$DAY/lock" ! -path "$DAY/work" \
		! -path "$DAY/inputs.new" | head -n 1) || others=$DAY
	[ -z "$others" ] ||
		refuse "$DAY: has something else in it: name a new directory"
fi

export FILTERS DAY KEYS=${KEYS-} PARTS=1 HEADER='' SHELL=/bin/bash
functions=(about_filter check_filter split_file look_up header publish new_lines)
export -f "${functions[@]}"
run=(parallel --halt "soon,fail=1")
for name in FILTERS DAY KEYS PARTS HEADER "${functions[@]}"; do
	run+=(--env "$name")
done
IFS=, read -r -a machines <<<"$machines"
for i in "${!machines[@]}"; do
	run+=(-S "@m$i/${machines[i]}")
done
# for arguments such as 3@m0: part 3, on the first machine
run_parts=("${run[@]}" --hostgroups)

about=$("${run_parts[@]}" about_filter ::: 1@m0) ||
	refuse "$FILTERS: its part-1.bloom says how many parts there are"
PARTS=$(sed -n 's|.*"part=1/\([0-9]*\)".*|\1|p' <<<"$about")
[ -n "$PARTS" ] ||
	refuse "$FILTERS/part-1.bloom: not made with --part=1/N"
check_keys ||
	refuse "KEYS='$KEYS': the filters were not made with these options"
[[ $about != *'"header"'* ]] || HEADER=yes
parts=()
for ((i = 1; i <= PARTS; i++)); do
	parts+=("$i@m$(((i - 1) % ${#machines[@]}))")
done
"${run_parts[@]}" check_filter ::: "${parts[@]}" ||
	refuse "a filter is missing, or is the one of another part: nothing was done"

# All processes that are started below inherit the lock.
mkdir -p "$DAY"
exec 9>>"$DAY/lock"
flock -n 9 || {
	say "$DAY: waiting for another run that is still working there"
	flock 9
}

# The FILEs, sorted by name, with their sizes and times.
mapfile -d '' -t files < <(realpath -zs -- "$@" | sort -zu)
inputs=$(stat -c '%s %Y %n' -- "${files[@]}")
if [ ! -e "$DAY/inputs" ]; then
	mkdir -p "$DAY/work"
	printf '%s\n' "$inputs" >"$DAY/inputs.new"
	sync "$DAY/inputs.new"
	mv "$DAY/inputs.new" "$DAY/inputs"
fi
[ "$inputs" = "$(cat "$DAY/inputs")" ] ||
	refuse "$DAY: was begun with other files, or they have changed since" \
		"($DAY/inputs has their sizes, times and names): finish it with" \
		"those, and give late files a new day"

# A day that is finished has no directory work.
[ -e "$DAY/work" ] || exit 0
numbers=("${!files[@]}")
"${run[@]}" --retries 3 --link split_file '{1}' '{2}' \
	::: "${numbers[@]}" ::: "${files[@]}"
"${run_parts[@]}" --retries 3 new_lines ::: "${parts[@]}"
rm -r "$DAY/work"
