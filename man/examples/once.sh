#!/bin/sh
# Runs a command once for each new line of a file, and remembers a line only when
# its command has succeeded:
#
#     once.sh FILTER FILE COMMAND [ARGUMENT...]
#
# The line is the last argument of the command. JOBS commands run at a time (8).
# The status is 0 if all lines are done, 1 if some are left: the next round tries
# these again. If the previous round has not finished, this one exits with 0 and
# does nothing.
set -u

fail() {
	echo "once.sh: $1" >&2
	exit "$2"
}

[ $# -ge 3 ] || {
	echo "usage: once.sh FILTER FILE COMMAND [ARGUMENT...]" >&2
	exit 2
}
for program in bloomdedup flock; do
	command -v "$program" >/dev/null || fail "$program: not found in \
PATH=$PATH: install it, or set PATH (in a crontab, on a line of its own)" 127
done
filter=$1
lines=$2
shift 2
# It is read twice, which a pipe cannot be.
[ -f "$lines" ] || fail "$lines: not a regular file" 3
[ -r "$lines" ] || fail "$lines: cannot be read" 3

# All commands inherit the lock, so a round ends when its last command ends.
(: >>"$filter.lock") || exit 3
exec 9>>"$filter.lock"
flock -n 9 || exit 0

# make the filter, if there is none
bloomdedup add -f "$filter" </dev/null || exit

# The commands print here, not into the pipe, which takes the lines that are done.
# An argument can have 128 KiB. Status 255, which ssh has, would end xargs.
exec 3>&1
bloomdedup --dry-run -f "$filter" -- "$lines" |
	LC_ALL=C awk 'length < 100000' | tr '\n' '\0' |
	xargs -r -0 -n 1 -P "${JOBS-8}" sh -c '
		for line; do :; done
		"$@" >&3 && printf "%s\n" "$line" || exit 1' once.sh "$@" |
	bloomdedup add -f "$filter"

# What is left says whether all went well. Status 1 of check: no line.
left=$(bloomdedup check -v -f "$filter" -- "$lines" | wc -l)
bloomdedup check -v -q -f "$filter" -- "$lines"
case $? in
1) exit 0 ;;
0) fail "$left lines are left: the next round tries them again" 1 ;;
*) exit 3 ;;
esac
