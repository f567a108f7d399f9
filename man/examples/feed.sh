#!/bin/sh
# Appends the new links of a feed to the file new-links in this directory:
#
#     feed.sh https://example.org/feed.xml
#
# Reads RSS and Atom. Needs curl and xmlstarlet: the packages have these names in
# Debian, Fedora and Alpine.
#
# A round that fails prints why, and its status is not 0; the next round finds
# the links that are left. If the previous round has not finished (status 75),
# this one exits with 0 and prints nothing.
set -u

fail() {
	echo "feed.sh: $1" >&2
	exit "${2-1}"
}

[ $# -eq 1 ] || { echo "usage: feed.sh URL" >&2; exit 2; }
for program in bloomdedup curl xmlstarlet; do
	command -v "$program" >/dev/null || fail "$program: not found in \
PATH=$PATH: install it, or set PATH (in a crontab, on a line of its own)" 127
done

files=$(mktemp -d) || exit
trap 'rm -rf "$files"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# Relative links refer to the address behind all redirects.
address=$(curl -gfsSL --max-time 300 -o "$files/page" -w '%{url_effective}' \
	-- "$1") || exit

# One encoding, and no entities, which could name files of this machine.
xmlstarlet fo -D -n -e UTF-8 "$files/page" >"$files/feed" 2>"$files/said" || {
	head -n 4 "$files/said" >&2
	fail "$1: not XML"
}

# The word "feed", and for each item a line: each xml:base that its link has, and
# the link, separated by tabs.
tab=$(printf '\t')
text_link='*[local-name()="link"][normalize-space()]'
atom_link='*[local-name()="link"][@href][not(@rel) or @rel="alternate"]'
guid='*[local-name()="guid"][not(@isPermaLink="false")]'
xmlstarlet sel -T -t \
	-m '/*[local-name()="rss" or local-name()="RDF" or local-name()="feed"]' \
	-o feed -n \
	-m 'channel/item | *[local-name()="item" or local-name()="entry"]' \
	-m "($text_link | $atom_link | ${guid}[not(../$text_link)])[1]" \
	-m 'ancestor-or-self::*[@xml:base]' -v @xml:base -o "$tab" -b \
	-v 'normalize-space(concat(., @href))' -b -n \
	"$files/feed" >"$files/items" 2>"$files/said"
# its status is 1 if it has printed nothing
[ $? -le 1 ] || {
	head -n 4 "$files/said" >&2
	fail "$1: not XML"
}
[ -s "$files/items" ] || fail "$1: neither RSS nor Atom"

# The links, each resolved against the address before it (RFC 3986, 5.2).
LC_ALL=C awk -F '\t' -v address="$address" '
	function resolve(base, link, origin, directory) {
		if (link ~ /^[A-Za-z][A-Za-z0-9+.-]*:/)
			return link
		sub(/#.*/, "", base)
		if (link == "" || link ~ /^#/)
			return base link
		if (link ~ /^\/\//)
			return substr(base, 1, index(base, ":")) link
		sub(/\?.*/, "", base)
		if (link ~ /^\?/)
			return base link
		match(base, /^[^:]*:(\/\/[^\/]*)?/)
		origin = substr(base, 1, RLENGTH)
		if (link ~ /^\//)
			return origin link
		directory = substr(base, RLENGTH + 1)
		sub(/[^\/]*$/, "", directory)
		if (directory == "")
			directory = "/"
		while (match(link, /^\.\.?\//)) {
			if (RLENGTH == 3)
				sub(/[^\/]+\/$/, "", directory)
			link = substr(link, RLENGTH + 1)
		}
		return origin directory link
	}
	NR > 1 && $NF != "" {
		link = address
		for (i = 1; i <= NF; i++)
			link = resolve(link, $i)
		print link
		links++
	}
	END { exit NR > 1 && !links }' "$files/items" >"$files/links" ||
	fail "$1: has items, but none has a link"

said=$(bloomdedup -f links.bloom --lock-timeout=0 -o new-links --append \
	"$files/links" 2>&1)
status=$?
[ "$status" -ne 75 ] || exit 0
[ -z "$said" ] || printf '%s\n' "$said" >&2
exit "$status"
