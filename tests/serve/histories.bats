# What clients saw of serve, and runs of a shared filter: an order explains it.
# tests/serve/histories records and judges it.
load ../common
load server

@test "the checker of histories finds faults, and takes what is right" {
	needs python3
	python3 "$BATS_TEST_DIRNAME/histories" --self-test
}

@test "an order explains what clients saw, with restarts, kills and leases" {
	needs python3
	mkdir -p histories && cd histories && rm -rf filters && mkdir filters
	timeout 600 python3 "$BATS_TEST_DIRNAME/histories" "$BLOOMDEDUP" \
		filters socket "$(short_or_long 5 60)" $RANDOM >out ||
		{ cat out; return 1; }
	cat out
	read -r requests _ undecided _ <out
	[ "$requests" -gt "$(short_or_long 500 100000)" ]
	[ "$((undecided * 1000))" -le "$requests" ]
}
