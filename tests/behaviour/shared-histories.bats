# What several runs with --shared and check said of lines could be so.
# tests/behaviour/shared-histories records and judges it.
load ../common

@test "the checker of shared histories finds faults, and takes what is right" {
	needs python3
	python3 "$BATS_TEST_DIRNAME/shared-histories" --self-test
}

@test "what runs with --shared and check say, with kills and growth, can be" {
	needs python3
	bloomdedup create -n 100 -p 1e-9 seen
	timeout 600 python3 "$BATS_TEST_DIRNAME/shared-histories" \
		"$BLOOMDEDUP" seen "$(short_or_long 10000 1000000)" $RANDOM >out ||
		{ cat out; return 1; }
	cat out
	bloomdedup info seen | grep -q 'layer 2'
}
