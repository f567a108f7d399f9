#!/bin/sh
# The new links of a feed are added to new-links in this directory:
#
#     feed.sh https://example.org/feed.xml
#
# A round that fails says why; the next one does its work. A round that finds the
# one before still at work leaves it to that, without a word.
set -u
[ $# -eq 1 ] || { echo "usage: feed.sh URL" >&2; exit 2; }
page=$(curl -fsS -- "$1") || exit
said=$(printf '%s\n' "$page" | grep -o 'https://[^<"[:space:]]*' | sed 's/&amp;/\&/g' |
	bloomdedup -f links.bloom --lock-timeout=0 -o new-links --append 2>&1)
status=$?
[ "$status" -ne 75 ] || exit 0
[ -z "$said" ] || printf '%s\n' "$said" >&2
exit "$status"
