#!/bin/sh
# Appends the new links of a feed to the file new-links in this directory:
#
#     feed.sh https://example.org/feed.xml
#
# A round that fails prints why and exits with the status of the command that
# failed; the next round finds the links that are left. If the previous round
# has not finished (status 75), this one exits with 0 and prints nothing.
set -u
[ $# -eq 1 ] || { echo "usage: feed.sh URL" >&2; exit 2; }
page=$(curl -fsS -- "$1") || exit
said=$(printf '%s\n' "$page" | grep -o 'https://[^<"[:space:]]*' | sed 's/&amp;/\&/g' |
	bloomdedup -f links.bloom --lock-timeout=0 -o new-links --append 2>&1)
status=$?
[ "$status" -ne 75 ] || exit 0
[ -z "$said" ] || printf '%s\n' "$said" >&2
exit "$status"
