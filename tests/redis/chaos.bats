# Clients that claim, while connections, memory and rights go and come.
load ../common
load servers

# chaos SEED CUTS [WINDOW]: as chaos.py says
chaos() {
	local name=$kind$1
	bloomdedup create --force -n 1e5 ${3:+--window="$3s"} "$URL/$name" \
		2>notes
	timeout 600 python3 -IS "$ROOT/tests/redis/chaos.py" "$BLOOMDEDUP" \
		"$PORT" "$name" "$1" "$(short_or_long 6 40)" \
		"$(short_or_long 10000 100000)" "$2" ${3:+"$3"} 3>&- ||
		{ echo "seed $1"; return 1; }
}

@test "connections that are cut: printed twice is only what was reported" {
	for kind in $KINDS; do
		start
		for seed in $(seq 1 "$(short_or_long 1 10)"); do
			chaos "$seed" 0.05
		done
	done
	every_kind
}

@test "late answers, no memory, no rights: each line is printed once" {
	for kind in $KINDS; do
		start
		for seed in $(seq 1 "$(short_or_long 1 10)"); do
			chaos "$seed" 0
		done
	done
	every_kind
}

@test "the same with windows of seconds, which turn meanwhile" {
	needs_bloom
	start
	for seed in $(seq 1 "$(short_or_long 2 20)"); do
		chaos "$seed" 0 8
	done
	for seed in $(seq 1 "$(short_or_long 1 10)"); do
		chaos "$seed" 0.02 20
	done
}
