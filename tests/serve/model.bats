# serve against a model: tests/serve/model says what is tried.
load ../common
load server

@test "random requests in random pieces, in both protocols at once" {
	needs python3
	start_server --max-value=2000 -n 40 -p 1e-12
	seed=$RANDOM
	echo "seed $seed"
	timeout 600 python3 "$BATS_TEST_DIRNAME/model" "$SOCKET" \
		"$(short_or_long 5 120)" $seed
	# and the filters are right
	stop_server
	for file in filters/*.bloom; do
		bloomdedup info --verify "$file"
	done
}
