#!/bin/sh
# Fetches a page into the directory pages, where its name is the SHA-256 of its
# address. For a crawler that fetches each page of a list once:
#
#     once.sh done.bloom urls.txt sh fetch.sh
#
# Redirects are followed. The status is 0 if the page is complete, and if it is
# gone for good (404, 410, 451). Anything else comes again in the next round: no
# connection, a page that breaks off, and all other answers, such as 429 and 503.
# To wait as long as a server asks (Retry-After), give curl the options
# --retry 3 --retry-max-time 60.
set -u
[ $# -eq 1 ] || { echo "usage: fetch.sh URL" >&2; exit 2; }
page=pages/$(printf %s "$1" | sha256sum | cut -c 1-64)
mkdir -p pages || exit
: >"$page.new" || exit
# -g: no lists in brackets; --proto: no files of this machine
answer=$(curl -gsSL --proto '=http,https' --max-time 300 -o "$page.new" \
	-w '%{http_code}' -- "$1" 2>&1) ||
	answer="not complete: ${answer%?[0-9][0-9][0-9]}"
case $answer in
2??)
	mv "$page.new" "$page"
	exit
	;;
404 | 410 | 451)
	rm -f "$page.new"
	exit 0
	;;
esac
rm -f "$page.new"
echo "$1: $answer" >&2
exit 1
