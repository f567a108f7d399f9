# Can the tests see? Each file in mutants/ breaks the program in one place, and
# a test that it names must fail then: see the head of mutants/run.
load ../common

@test "each mutant still applies, and names a test that exists" {
	"$ROOT"/tests/mutants/run --check
	[ "$(find "$ROOT/tests/mutants" -name '*.mutant' | wc -l)" -ge 30 ]
}

@test "a mutant that doesn't apply any more is told" {
	head='broken
Test: unit.test'
	printf '%s\nFile: src/main.c\n-no such line\n+\n' "$head" >gone.mutant
	run -1 "$ROOT"/tests/mutants/run --check gone.mutant
	[[ $output == *'gone.mutant: src/main.c: no lines "no such line"'* ]]
	printf '%s\nFile: src/main.c\n-}\n+\n' "$head" >twice.mutant
	run -1 "$ROOT"/tests/mutants/run --check "$PWD/twice.mutant"
	[[ $output == *'twice.mutant: src/main.c: '*' places "}"'* ]]
}

@test "each mutant of the program is killed by a test" {
	is_slow ||
		skip "long form only: an hour"
	skip_if_sanitized
	"$ROOT"/tests/mutants/run >table 2>&1 || {
		cat table
		return 1
	}
	sed 's/^/# /' table >&3
	killed=$(sed -n 's/^\([0-9]*\) killed, 0 not$/\1/p' table)
	[ "$killed" -ge 30 ]
}
