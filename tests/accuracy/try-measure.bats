# try --measure: a filter is made, filled and asked, to see that it keeps what
# the sizing promises.
load ../common

# Python is called with -S: what that leaves out can take most of its time.

@test "the rate that is measured is the one that was predicted" {
	local figures
	for figures in '1e5 0.01' '1e4 0.1' '1e5 1e-3' '1 0.5' '100 0.001'; do
		# shellcheck disable=SC2086
		bloomdedup try $figures --measure --json
	done >out
	[ "$(wc -l <out)" -eq 5 ]
	python3 -S - <<-'PYTHON'
		import json
		for line in open("out"):
		    f = json.loads(line)
		    print(f)
		    expected = f["error_rate_predicted"] * f["lookups"]
		    # a filter of few lines is itself a matter of chance
		    slack = expected * 3 / f["capacity"] ** 0.5
		    if f["capacity"] >= 1e4:
		        assert abs(f["found"] - expected) < \
		            5 * expected ** 0.5 + slack
		    assert abs(f["error_rate_measured"] -
		        f["found"] / f["lookups"]) < 1e-5 * f["error_rate"] + 1e-9
		    assert f["error_rate_predicted"] <= f["error_rate"]
		    assert f["lookups"] >= 1e6
		    assert f["adds_per_second"] > 0
		    assert f["lookups_per_second"] > 0
	PYTHON
}

@test "the JSON has these names" {
	bloomdedup try 1000 0.01 --measure --json >out 2>err
	[ ! -s err ]
	[ "$(wc -l <out)" -eq 1 ]
	python3 -S - <<-'PYTHON'
		import json
		f = json.load(open("out"))
		assert sorted(f) == sorted(["capacity", "error_rate", "bytes",
		    "lookups", "found", "error_rate_measured",
		    "error_rate_predicted", "adds_per_second",
		    "lookups_per_second"]), f
		assert f["capacity"] == 1000 and f["error_rate"] == 0.01
	PYTHON
}

@test "its size is the one that try states, and create makes" {
	bloomdedup try 50000 1e-3 --measure --json >measured
	bloomdedup try 50000 1e-3 --json >stated
	bloomdedup create -n 50000 -p 1e-3 filter
	python3 -S - <<-'PYTHON'
		import json, os
		size = json.load(open("measured"))["bytes"]
		assert size == json.load(open("stated"))["bytes"]
		assert size == os.path.getsize("filter")
	PYTHON
}

@test "the text says what was asked for, predicted and measured, and how fast" {
	bloomdedup try 10000 0.01 --measure >out 2>err
	[ ! -s err ]
	grep -q '^capacity  *10,000$' out
	grep -q '^error rate  *0\.01$' out
	grep -q '^error rate predicted  *0\.00[0-9]*$' out
	grep -q '^error rate measured  *0\.00[0-9]*$' out
	grep -q '^lookups  *1,000,000$' out
	grep -q '^adds per second  *[0-9,]*$' out
	grep -q '^lookups per second  *[0-9,]*$' out
}

@test "on a terminal a live line shows how far it is, and goes in the end" {
	on_terminal "$BLOOMDEDUP try 1e6 1e-4 --measure"
	tr '\r' '\n' <terminal >lines
	grep -qE '^[0-9,]+ lines (added|looked up)  [0-9]+ %  0:[0-5][0-9]:[0-5][0-9] left  [0-9,]+/s' lines
	grep -qE '^[0-9,]+ lines looked up  ' lines
	run ! grep -E '% new|full' lines
	grep -q $'^\033\\[Kcapacity  *1,000,000$' lines
}

@test "with --hashes and --on-full the filter that is measured is that one" {
	bloomdedup try 10000 0.01 --hashes=3 --measure --json >out
	bloomdedup try 10000 0.01 --hashes=3 --json >stated
	python3 -S - <<-'PYTHON'
		import json
		assert json.load(open("out"))["bytes"] == \
		    json.load(open("stated"))["bytes"]
	PYTHON
	bloomdedup try 10000 0.01 --on-full=fail --measure --json >out
	python3 -S - <<-'PYTHON'
		import json
		f = json.load(open("out"))
		assert 0.0085 < f["error_rate_predicted"] <= 0.01, f
	PYTHON
}

@test "what doesn't fit into memory is refused, before it is tried" {
	fails 3 memory bloomdedup try 1e12 1e-6 --measure
	fails 3 memory bloomdedup try 1e12 1e-6 --measure --json
	bloomdedup try 1e12 1e-6 >out
	[ -s out ]
}

@test "no file is made" {
	mkdir empty
	cd empty
	"$BLOOMDEDUP" try 1000 0.01 --measure >../out
	[ -z "$(ls -A)" ]
}

@test "a signal ends it without half an answer" {
	local status=0
	"$HELPER" defaults "$BLOOMDEDUP" try 1e5 1e-12 --measure \
		>out 2>err &
	sleep 0.3
	kill -TERM $!
	wait $! || status=$?
	[ "$status" -eq 143 ]
	[ ! -s out ]
}

@test "--measure is for try alone" {
	fails 2 --measure bloomdedup size --measure
	fails 2 --measure bloomdedup --measure
}
