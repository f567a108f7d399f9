#!/bin/sh
# Runs a command with a filter that is kept on a web server or object store, on a
# machine that has no disk of its own:
#
#     stored-filter.sh URL COMMAND [ARGUMENT...]
#
# Gets the filter seen.bloom from URL into this directory, runs the command, and
# if it succeeds puts the filter back, unless another machine has done so
# meanwhile (If-Match, which S3 and others have). The command delivers its output
# before it exits: whatever fails or is killed, the next run then only delivers
# lines again. Options for curl, such as --aws-sigv4 and --user, can be in
# ~/.curlrc.
set -u

fail() {
	echo "stored-filter.sh: $1" >&2
	exit 1
}

[ $# -ge 2 ] || {
	echo "usage: stored-filter.sh URL COMMAND [ARGUMENT...]" >&2
	exit 2
}
url=$1
shift
rm -f seen.bloom seen.etag
answer=$(curl -gsSL -o seen.new --etag-save seen.etag -w '%{http_code}' -- "$url") ||
	fail "$url: cannot get the filter"
case $answer in
200)
	mv seen.new seen.bloom || exit
	[ -s seen.etag ] || fail "$url: the server sends no ETag"
	condition="If-Match: $(cat seen.etag)"
	;;
404)
	condition="If-None-Match: *"
	;;
*)
	fail "$url: cannot get the filter: status $answer"
	;;
esac
"$@" || exit
answer=$(curl -gsS -T seen.bloom -H "$condition" -o seen.answer \
	-w '%{http_code}' -- "$url") || fail "$url: cannot put the filter back"
case $answer in
2??) ;;
409 | 412) fail "$url: another run was faster: the next run prints lines again" ;;
*) fail "$url: cannot put the filter back: status $answer" ;;
esac
