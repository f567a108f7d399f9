# Power cuts, replayed: runs are cut at each of their events, what was not
# synced is kept, dropped or torn at random, and the program goes on from there
# (power.py). No filter is refused, and what was promised is kept.
load ../common

# cut CASE...: a few states of the disk, many in the long form of the tests.
# BLOOMDEDUP_SEED chooses others. Python needs no packages (-S): to look for them
# can take longer than all the rest of its start.
cut() {
	skip_if_sanitized # its leak checker fails under ptrace
	skip_if_emulated "no ptrace"
	"$HELPER" kill-at 0 note true || skip "may not trace"
	BUILD=$BUILD BLOOMDEDUP=$BLOOMDEDUP \
		python3 -S "$BATS_TEST_DIRNAME/power.py" \
		-s "${BLOOMDEDUP_SEED:-1}" \
		-n "$(short_or_long 3 160)" "$@"
}

@test "runs that grow a filter; the replay sees lines that are lost" {
	cut growth growth-new growth-private
}

@test "several runs with no sync between them" {
	cut two-runs two-runs-room plain-then-sync
}

@test "--sync" {
	cut sync sync-new sync-room sync-private
}

@test "--sync, two runs" {
	cut sync-twice
}

@test "--atomic: all of its lines are remembered, or none" {
	cut atomic atomic-room atomic-private
}

@test "--atomic -o: the file is the old one or the new one" {
	cut atomic-output
}

@test "--atomic --append: the file has each line once, after the next run" {
	cut atomic-append
}

@test "--atomic, two runs" {
	cut atomic-twice
}

@test "--to-command, which syncs what it writes" {
	cut to-command
}

@test "while a journal is recovered: all of its lines are remembered" {
	cut recovery recovery-private
}

@test "create, with --force too" {
	cut create create-force
}

@test "merge: new, in place, with --force" {
	cut merge merge-in-place merge-force
}

@test "runs that share a filter, which grows" {
	cut shared
}

@test "a window that moves on" {
	cut window window-private window-sync window-atomic window-shared
}

@test "a window of a day that grows: the same as without, in each mode" {
	cut growth-day growth-private-day two-runs-day sync-day \
		sync-private-day atomic-day atomic-private-day \
		atomic-output-day to-command-day recovery-day shared-day
}

@test "windows of a day that are merged" {
	cut merge-day merge-in-place-day
}

@test "a server, which grows beside its clients, with --sync too" {
	needs_serve
	cut serve serve-sync
}

@test "a server whose windows grow and move on" {
	needs_serve
	cut serve-window serve-day serve-sync-day
}
