# Honest figures before there is a filter: what `size` and `try` say is what
# `create` makes, to the byte.
load ../common

# as_told OPTION...: does `create` make a file of exactly that size?
as_told() {
	local bytes
	bytes=$(told "$@")
	rm -f made
	bloomdedup create "$@" made
	if [ "$(stat -c %s made)" -ne "$bytes" ]; then
		echo "$* was told to take $bytes bytes and takes:"
		stat -c %s made
		return 1
	fi
}

@test "try 1e8 0.00001 shows the textbook's 17 functions and 299.5 MB" {
	bloomdedup try 1e8 0.00001 >out
	grep -q '^100,000,000 lines' out
	grep -q '1e-5' out
	grep -q '(1 new line in 100,000)' out
	grep -Eq '^hash functions \(k\) .* 17$' out
	grep -Eq ' 299\.5 MB$' out
	grep -Eq ' 285\.7 MiB$' out
	grep -Eq '^bits per line .* 23\.96$' out
	grep -Eq ' 299,533,075$' out
}

@test "try says the same as size" {
	bloomdedup try 1e8 0.00001 | head -n -2 >tried
	bloomdedup size -n 1e8 -p 0.00001 | cmp - tried
	bloomdedup try 12345 0.1% --json >tried
	bloomdedup size -p 1/1000 -n 12345 --json | cmp - tried
	bloomdedup try --on-full=warn --hashes=9 1e6 1e-3 | head -n -2 >tried
	bloomdedup size --on-full=warn --hashes=9 -n 1e6 -p 1e-3 | cmp - tried
}

@test "our file is the size that is shown" {
	bloomdedup try 1e6 1e-4 >out
	bloomdedup create -n 1e6 -p 1e-4 made
	shown=$(sed -n 's/^filter file, bytes *\([0-9,]*\) .*/\1/p' out)
	[ "${shown//,/}" -eq "$(stat -c %s made)" ]
}

@test "create makes the size told for lines and rate" {
	for n in 1 2 77 1000 10k 99999 100000 1e6 3.3M; do
		for p in 0.5 1e-2 1/1234 1e-6 1e-12; do
			as_told -n "$n" -p "$p"
		done
	done
}

@test "create makes the size told for lines, or a rate, alone" {
	as_told -n 50000
	as_told -p 0.03
}

@test "create makes the size told for memory" {
	for m in 16K 16385 20480 100000 1M 5MB 12.5MiB; do
		as_told -m "$m"
		as_told -m "$m" -p 1e-2
		as_told -m "$m" -n 1000
		as_told -m "$m" -p 1e-9 --on-full=fail
	done
}

@test "create makes the size told for a filter that doesn't grow" {
	for full in grow warn fail; do
		for n in 1 5000 1e6; do
			as_told -n "$n" -p 1e-4 --on-full=$full
		done
	done
	[ "$(told -n 1e6 -p 1e-4 --on-full=warn)" -eq \
		"$(told -n 1e6 -p 1e-4 --on-full=fail)" ]
	[ "$(told -n 1e6 -p 1e-4 --on-full=warn)" -lt \
		"$(told -n 1e6 -p 1e-4 --on-full=grow)" ]
}

@test "create makes the size told for a given number of hash functions" {
	for k in 1 2 5 8 9 16 23 64; do
		as_told -n 20000 -p 1e-2 --hashes=$k
		as_told -n 20000 -p 1e-2 --hashes=$k --on-full=fail
		as_told -m 300K -p 1e-2 --hashes=$k
		as_told -m 300K -n 20000 --hashes=$k
		bloomdedup create -n 20000 -p 1e-2 --hashes=$k made$k
		bloomdedup info --json made$k | grep -q "\"k\": $k,"
	done
}

@test "create uses the memory given, to a page, and no more" {
	for m in 16384 20479 20480 1000000 10MB; do
		bloomdedup create -m $m -p 1e-3 made$m
		bytes=$(stat -c %s made$m)
		[ "$bytes" -le "$(told -m $m)" ]
		[ "$((bytes % 4096))" -eq 0 ]
	done
	[ "$(stat -c %s made20479)" -eq 16384 ]
	[ "$(stat -c %s made20480)" -eq 20480 ]
	[ "$(stat -c %s made10MB)" -eq 9998336 ]
}

# make_it N P [OPTION...]: is the command that `try` ends with one that makes a
# file of the size that it told?
make_it() {
	local command
	command=$(bloomdedup try "$@" | sed -n 's/^Make it: bloomdedup //p')
	echo "try $* says: $command"
	[ -n "$command" ]
	rm -f FILTER
	# shellcheck disable=SC2086
	bloomdedup $command
	[ "$(stat -c %s FILTER)" -eq "$(told -n "$1" -p "$2" "${@:3}")" ]
}

@test "the command that try proposes makes what it told" {
	make_it 1e6 1e-4
	make_it 1234 1/3
	make_it 1e6 1/700
	make_it 1e6 1e-4 --on-full=fail
	make_it 1e6 1e-3 --hashes=5
	make_it 1e6 1e-3 --hashes=5 --on-full=warn
	bloomdedup try 1e6 1e-3 --on-full=warn |
		grep -q '^Make it: .* --on-full=warn'
}

@test "a larger filter for more lines, for a lower rate" {
	last=0
	for n in 1 1000 1e4 1e5 1e6 1e7 1e9 1e12 1e15; do
		bytes=$(told -n $n -p 1e-6)
		[ "$bytes" -ge "$last" ]
		last=$bytes
	done
	last=0
	for p in 0.5 0.1 1e-2 1e-3 1e-4 1e-6 1e-8 1e-10 1e-12; do
		bytes=$(told -n 1e7 -p $p)
		[ "$bytes" -gt "$last" ]
		last=$bytes
	done
}

@test "at most 13 % above the textbook" {
	for n in 1e6 1e7 1e9; do
		for p in 1e-2 1e-3 1e-4 1e-5 1e-6 1e-7 1e-8 1e-12; do
			bloomdedup size -n $n -p $p --json |
				sed 's/[^0-9]*"[a-z_]*": / /g; s/}//' |
				awk '{ exit !($3 <= 1.13 * $7) }'
		done
	done
}

@test "figures of every size are answered or refused" {
	for n in 1 1e6 1e12 9007199254740992; do
		for p in 1e-12 1e-6 0.5; do
			bloomdedup size -n $n -p $p --json >>out
		done
	done
	[ "$(wc -l <out)" -eq 12 ]
	{
		bloomdedup size -n 1 -m 1000P --json
		bloomdedup size -n 9007199254740992 -m 100P --json
		bloomdedup size -p 0.5 -m 1000P --json
	} >>out
	[ "$(wc -l <out)" -eq 15 ]
	run ! grep -Ei 'nan|inf|-[0-9]{5}|e\+' out
}

@test "the table of sizes" {
	bloomdedup size --table >table
	grep -q '^lines  *1e-2  *1e-3 .* 1e-8$' table
	[ "$(grep -c '^1e' table)" -eq 5 ]
	# a cell is what size says
	cell=$(bloomdedup size -n 1e8 -p 1e-5 |
		sed -n 's/^  *\([0-9.]* MB\) .*/\1/p')
	grep '^1e8 ' table | grep -qF " $cell "
}

@test "the classical table of rates" {
	bloomdedup size --table=k >table
	# row and column of a cell: "b k rate"
	while read -r b k rate; do
		awk -v b="$b" -v k="$k" -v rate="$rate" '
			$1 == b { found = ($(k + 1) + 0 == rate + 0) }
			END { exit !found }' table || {
			echo "not $rate for $b bits per line, k = $k"
			return 1
		}
	done <<-'END'
		2 1 0.393
		2 2 0.4
		3 3 0.253
		4 3 0.147
		5 3 0.0918
		6 4 0.0561
		8 1 0.118
		8 2 0.0489
		8 3 0.0306
		8 4 0.024
		8 5 0.0217
		8 6 0.0216
		8 7 0.0229
		8 8 0.0255
		10 7 0.00819
		12 8 0.00314
		16 8 0.000574
		32 8 5.73e-06
	END
}

@test "the table of rates writes small rates as people do" {
	bloomdedup size --table=k >table
	run ! grep -q 'e-0' table
	grep -q '5.73e-6' table
}

@test "JSON: one object a line, with all names" {
	local i='[0-9]+' d='[0-9]+[.][0-9]+' e='[0-9]+([.][0-9]+)?(e-[0-9]+)?'
	local object="^[{]\"capacity\": $i, \"error_rate\": $e, \"bytes\": $i, \
\"bits_per_line\": $d, \"k\": $i, \"cache_lines\": $i, \
\"textbook_bytes\": $i, \"textbook_k\": $i, \"first_bytes\": ${i}[}]\$"
	for options in '-n 1e8 -p 1e-5' '-n 1 -p 0.5' '-n 1e6 -m 3M' \
		'-m 3M -p 1e-12' '-n 9007199254740992 -p 1e-12' \
		'-n 1 -m 1000P' '-n 1e6 -p 1/3 --hashes=3'; do
		# shellcheck disable=SC2086
		bloomdedup size $options --json >out
		[ "$(wc -l <out)" -eq 1 ]
		if ! grep -Eq "$object" out; then
			cat out
			return 1
		fi
	done
	bloomdedup try --json 1e8 1e-5 >out
	grep -Eq "$object" out
	grep -q '"capacity": 100000000, "error_rate": 1e-05,' out
	grep -q '"textbook_bytes": 299533075, "textbook_k": 17, ' out
}

@test "JSON: the rate that is told makes the same file" {
	for m in 100K 1M 3M; do
		bloomdedup size -n 30000 -m $m --json >out
		p=$(json_value error_rate <out)
		holds=$(told -n 30000 -p "$p")
		[ "$holds" -le "$(told -n 30000 -m $m)" ]
	done
}

@test "refused: too many figures, or none" {
	fails 2 'give two' bloomdedup size -n 1e6 -p 1e-3 -m 1M
	fails 2 'give two' bloomdedup create -n 1e6 -p 1e-3 -m 1M made
	fails 2 'give --capacity' bloomdedup size
	fails 2 'give --capacity' bloomdedup size --json
	fails 2 'try' bloomdedup try
	fails 2 'try' bloomdedup try 1e8
	fails 2 'try' bloomdedup try 1e8 1e-5 1e-6
	fails 2 "unexpected operand '1e8'" bloomdedup size 1e8
	fails 2 "'made'" bloomdedup size -n 1e8 made
	[ ! -e made ]
}

@test "refused: too little memory" {
	fails 2 '16384' bloomdedup size -n 1 -m 1
	fails 2 '16384' bloomdedup size -n 1 -m 16383
	fails 2 '16384' bloomdedup create -m 16383 made
	fails 2 '--memory: ' bloomdedup size -n 1 -m 16383
	fails 2 '--memory: ' bloomdedup size -n 1e6 -m 100K
	fails 2 '--memory: ' bloomdedup size -p 1e-12 -m 16K --hashes=1
	fails 2 'too little' bloomdedup size -n 1e6 -m 100K
	fails 2 'too little' bloomdedup create -n 1e6 -m 100K made
	fails 2 'too little' bloomdedup size -p 1e-12 -m 16K --hashes=1
	fails 2 '--max-size: ' bloomdedup -f made --max-size=1K
	fails 2 '--max-size: ' bloomdedup add -f made --max-size=16383
	[ ! -e made ]
}

@test "refused: too much" {
	fails 2 'too many' bloomdedup size -p 0.1 -m 18446744073709551000
	fails 2 'too many' bloomdedup size -p 0.1 -m 16383P
	fails 2 'too large' bloomdedup size -n 9007199254740992 -p 1e-12 \
		--hashes=1
	fails 2 '--max-size' bloomdedup -f made -n 1e6 --max-size=1M
	[ ! -e made ]
}

@test "refused: a size as a power of 1024 that is too large, by its letter" {
	fails 2 'too many' bloomdedup size -p 0.1 -m 8E
	fails 2 'too many' bloomdedup size -p 0.1 -m 8EiB
	fails 2 '--memory: ' bloomdedup size -p 0.1 -m 8EiB
	fails 2 '--memory' bloomdedup size -p 0.1 -m 16E
}

@test "refused: numbers that are none, for every option, with its name" {
	for value in '' ' ' ' 1' '1 ' -1 +1 nan inf 0x10 1e400 12abc 1e 1..2 \
		. 1,000 $'1\n'; do
		fails 2 '--capacity' bloomdedup size -n "$value"
		fails 2 '--capacity' bloomdedup size --capacity="$value"
		fails 2 '--error-rate' bloomdedup size -p "$value"
		fails 2 '--memory' bloomdedup size -m "$value"
		fails 2 '--hashes' bloomdedup size -n 1 --hashes="$value"
		fails 2 '--capacity' bloomdedup create -n "$value" made
		fails 2 '--error-rate' bloomdedup create -p "$value" made
		fails 2 '--max-size' bloomdedup -f made --max-size="$value"
		fails 2 '--capacity' bloomdedup try -- "$value" 1e-5
		fails 2 '--error-rate' bloomdedup try -- 1e8 "$value"
	done
	[ ! -e made ]
}

@test "refused: numbers out of range, with the range" {
	for value in 0 0.5 1.5 9007199254740993 18446744073709551616 1e20 \
		99999999T 1e-5 0.1% 1/2; do
		fails 2 '1 to 9007199254740992' bloomdedup size -n $value
	done
	for value in 0 1 0.51 51% 2/3 1e-13 1e-400 1/0 2/1 1K; do
		fails 2 '1e-12 to 0.5' bloomdedup size -p $value
	done
	for value in 0 65 1.5 1e9 18446744073709551617; do
		fails 2 '1 to 64' bloomdedup size -n 1 --hashes=$value
	done
	for value in 0 0.1 1KiBx 10% 18446744073709551616 16E 1Z; do
		fails 2 '--memory' bloomdedup size -m $value
	done
	fails 2 'grow, warn or fail' bloomdedup size -n 1 --on-full=stop
	fails 2 '--table' bloomdedup size --table=x
	fails 2 '--json' bloomdedup size --table --json
	for figure in -n5 -p0.1 -m1M --window=30d; do
		fails 2 '--table' bloomdedup size --table $figure
		fails 2 '--table' bloomdedup size --table=k $figure
	done
	fails 2 '--table=k' bloomdedup size --table=k --hashes=3
	fails 2 '--table=k' bloomdedup size --table=k --on-full=warn
}

@test "numbers are the same in every locale" {
	for locale in de_DE.UTF-8 fr_FR.UTF-8 tr_TR.UTF-8; do
		LC_ALL=$locale bloomdedup size -n 1.5e6 -p 0.25% >out
		LC_ALL=C bloomdedup size -n 1500000 -p 1/400 | cmp - out
		LC_ALL=$locale fails 2 '--error-rate' \
			bloomdedup size -p 0,25
	done
}

@test "forms of the same number give the same filter" {
	want=$(told -n 1000000 -p 0.001)
	for n in 1e6 1M 1000k 1000K 0.001G 1.0e6 10e5 1E6 1e+6 000001000000; do
		[ "$(told -n $n -p 0.001)" -eq "$want" ]
	done
	for p in 1e-3 .001 0.1% 1/1000 1/1e3 10e-4 1E-3 0.0010; do
		[ "$(told -n 1e6 -p $p)" -eq "$want" ]
	done
	[ "$(told -m 2M)" -eq "$(told -m 2048K)" ]
	[ "$(told -m 2MiB)" -eq "$(told -m 2097152)" ]
	[ "$(told -m 2MB)" -eq "$(told -m 2000kB)" ]
	[ "$(told -m 2MB)" -lt "$(told -m 2M)" ]
}

@test "a rate below the lowest one takes no more memory than that one" {
	bloomdedup create -m 1G -n 1000 seen
	[ "$(stat -c %s seen)" -eq "$(told -n 1000 -p 1e-12)" ]
	[ "$(told -m 1G -n 1000)" -eq "$(told -n 1000 -p 1e-12)" ]
	[ "$(told -m 1G -n 1000 --hashes=40)" -eq \
		"$(told -n 1000 -p 1e-12 --hashes=40)" ]
	# but all of what is allowed where it lowers the rate
	[ "$(told -m 1G -n 2e8)" -gt 1073000000 ]
}

@test "size says what the first line too many costs, and what a window does" {
	for n in 7 1000 30000; do
		bloomdedup create -n $n seen
		seq $((n + 1)) | bloomdedup add -f seen 2>err
		bloomdedup size -n $n | tr -d , | tail -n 1 >told
		grep -Eqx "bytes once it grows *$(stat -c %s seen)" told
		rm seen
	done
	run ! grep -q 'once it grows' <(bloomdedup size -n 1000 --on-full=fail)
	for window in 30d 1e5; do
		bloomdedup create -n 1e5 --window=$window seen
		bloomdedup size -n 1e5 --window=$window | tr -d , >told
		grep -Eqx "filter file at first *$(stat -c %s seen)" told
		run ! grep -q 'once it grows' told
		[ "$(bloomdedup size --json -n 1e5 --window=$window |
			json_value first_bytes)" -eq "$(stat -c %s seen)" ]
		rm seen
	done
}
