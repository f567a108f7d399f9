# Can the tests see? Each patch in mutants/ breaks the program in one place,
# and a test that it names must fail then: see the head of mutants/run.
load common

@test "each mutant of the program is killed by a test" {
	[ -n "${BLOOMDEDUP_SLOW:-}" ] ||
		skip "minutes: make check-slow, or tests/mutants/run"
	skip_if_sanitized
	"$ROOT"/tests/mutants/run >table 2>&1 || {
		cat table
		return 1
	}
	sed 's/^/# /' table >&3
	killed=$(sed -n 's/^\([0-9]*\) killed, 0 not$/\1/p' table)
	[ "$killed" -ge 30 ]
}
