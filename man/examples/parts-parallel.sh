#!/bin/bash
# The new lines of a day, in 8 parts, with GNU parallel:
#
#     parts-parallel.sh DAY FILE...
#
# DAY/new-1 to DAY/new-8 become the lines of the files that no earlier day had.
# Each part has a filter here; make them once, with KEYS such as --url if lines
# are not compared whole:
#
#     for i in {1..8}; do
#         bloomdedup create -n 1e8 $KEYS --part=$i/8 part-$i.bloom
#     done
#
# It may be stopped at any moment, and the same command goes on: a part that is
# in DAY is not looked up again, and to add lines twice changes nothing. Finish
# a day before you begin the next.
set -eu
mkdir -p "$1"
export DAY=$1 KEYS=${KEYS:-}
shift

# Sort the lines of file number $1 into parts.
sort_out() {
	set -o pipefail
	gzip -dcf "$2" | bloomdedup partition --parts=8 $KEYS -o "$DAY/in-$1-%d"
}

# Look up the lines of part $1. This only reads the filter, so it may fail, or
# run twice.
look_up() {
	set -eu -o pipefail
	[ ! -e "$DAY/new-$1" ] || return 0
	cat "$DAY"/in-*-"$1" | bloomdedup --dry-run --strict-part \
		-f "part-$1.bloom" >"$DAY/looked-up-$1"
	sync "$DAY/looked-up-$1"
	mv "$DAY/looked-up-$1" "$DAY/new-$1"
}

# Remember what was printed.
remember() {
	bloomdedup add -f "part-$1.bloom" "$DAY/new-$1"
}

export -f sort_out look_up remember
export SHELL=/bin/bash
parallel --halt soon,fail=1 --retries 3 sort_out '{#}' '{}' ::: "$@"
parallel --halt soon,fail=1 --retries 3 look_up ::: {1..8}
parallel --halt soon,fail=1 --retries 3 remember ::: {1..8}
rm -f "$DAY"/in-*
