# A run in the background on $URL/seen, which gets its lines one by one.

# begin [OPTION]...: a run with $URL/seen that reads what `say` gives it
begin() {
	rm -f in.fifo
	mkfifo in.fifo
	: >out # or "say" takes the output of the run before for this one's
	"$BLOOMDEDUP" -f "$URL/seen" "$@" <in.fifo >out 2>err 3>&- &
	RUN=$!
	exec 9>in.fifo
}

# say LINE...: to the run; it has read and printed them afterwards
say() {
	printf '%s\n' "$@" >&9
	until_true is_last "${!#}" || { cat err; return 1; }
}

# is_last LINE: is it the last one that the run has printed?
is_last() {
	local lines
	mapfile -t lines <out
	[ "${lines[*]: -1}" = "$1" ]
}

# is_remembered LINE: does the filter know it? It is marked after it was printed.
is_remembered() {
	bloomdedup check -q -f "$URL/seen" <<<"$1"
}

# try_to_say LINE: to the run, which may have ended
try_to_say() {
	(
		trap '' PIPE
		echo "$1" >&9
	) 2>/dev/null || true
}

# end [STATUS]: the run ends, with this status (0)
end() {
	local status=0
	exec 9>&-
	wait "$RUN" || status=$?
	[ "$status" -eq "${1:-0}" ] && return
	echo "exit status $status instead of ${1:-0}"
	cat err
	return 1
}
