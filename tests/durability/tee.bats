# The list of --tee after kills, failed writes and other writers: what is
# remembered is in the list, as a line of its own, and was printed.
load ../common

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	seq -f 'https://example.org/some/long/path/%.0f' 30000 >in
}

# with_fault STATUS VARIABLE=VALUE... -- ARGUMENT...: a run of the program in
# which a fault happens, and which ends so.
with_fault() {
	local want=$1 status=0 faults=()
	shift
	while [ "$1" != -- ]; do
		faults+=("$1")
		shift
	done
	shift
	rm -f fired
	env "${faults[@]}" "${PRELOADED[@]}" "$BLOOMDEDUP" "$@" 2>err ||
		status=$?
	[ $status -eq "$want" ]
	[ -e fired ]
}

# no_line_twice FILE: each is there once.
no_line_twice() {
	[ -z "$(sort "$1" | uniq -d)" ]
}

@test "a list that a kill tore is cut back, and has each line once" {
	needs_preload
	local bytes
	for bytes in 1 70 70001 1000000; do
		rm -f seen* list
		with_fault 137 TORN=$bytes TORN_FILE=list -- -f seen \
			--tee=list in >out
		[ "$(wc -c <list)" -eq $bytes ]
		bloomdedup -f seen --tee=list in >>out 2>err
		is_message err 'list: cut back to its last whole line'
		sort -u list | cmp - <(sort in)
		sort -u out | cmp - <(sort in)
		# what was not printed comes again: the batch that was torn
		[ "$(sort list | uniq -d | wc -l)" -le 1024 ]
	done
}

@test "-q: a list that a kill tore has each line once or, of the last batch, twice" {
	needs_preload
	with_fault 137 TORN=70001 TORN_FILE=list -- -f seen -q --tee=list in
	bloomdedup -f seen -q --tee=list in 2>err
	is_message err 'list: cut back to its last whole line'
	sort -u list | cmp - <(sort in)
}

@test "killed between the list and the output: the line comes again, and none is lost" {
	needs_strace
	local n status
	head -n 5 in >few
	for n in 1 2 3; do
		rm -f seen* list out
		while read -r line; do
			echo "$line" | bloomdedup -f seen --tee=list -o out \
				--append
		done < <(head -n 2 few)
		status=0
		strace -f -qq -o trace -P out -e trace=write \
			-e inject=write:signal=KILL "$BLOOMDEDUP" -f seen \
			--tee=list -o out --append few 2>err || status=$?
		[ $status -eq 137 ]
		cmp few list
		bloomdedup -f seen --tee=list -o out --append few 2>err
		sort -u list | cmp - <(sort few)
		sort -u out | cmp - <(sort few)
		all_known few
	done
}

@test "a write to the list that fails: what it has is printed and remembered, and nothing twice" {
	needs_preload
	local q
	for q in '' -q; do
		rm -f seen* list
		with_fault 3 FULL=70001 TORN_FILE=list -- -f seen $q --tee=list \
			in >out
		is_message err "list: $(reason ENOSPC)"
		[ "$(tail -c 1 list | wc -l)" -eq 1 ]
		[ -n "$q" ] || cmp list out
		all_known list
		bloomdedup -f seen $q --tee=list in >>out
		cmp in list
		[ -n "$q" ] || cmp in out
	done
}

@test "a write to the output that fails: nothing is remembered that it has not" {
	needs_preload
	with_fault 3 FULL=70001 TORN_FILE=out -- -f seen --tee=list -o out in
	all_known out
	bloomdedup -f seen --tee=list -o out --append in
	cmp in out
	sort -u list | cmp - <(sort in)
}

@test "the reader of the output has gone: the next run prints what it did not read" {
	"$HELPER" defaults "$BLOOMDEDUP" -f seen --tee=list in 2>err |
		head -n 1 >first || true
	bloomdedup -f seen --tee=list in >rest
	sort -u list | cmp - <(sort in)
	no_line_twice rest
}

@test "another program writes to the list: no line of either is glued or lost" {
	needs_preload
	echo whole >list
	bloomdedup create seen
	with_fault 0 FOREIGN=$'other\npart' FOREIGN_AT=1 -- -j1 -f seen \
		--tee=list in >out
	cmp in out
	# the half line may have got the first of ours, which then come again
	[ "$(head -n 2 list)" = $'whole\nother' ]
	tail -n +3 list | grep -v ^part | sort -u | cmp - <(sort in)
}

@test "a run with --shared is killed in its line of the list: those of the others are whole" {
	needs_preload
	bloomdedup create seen
	head -n 100 in >first
	tail -n 100 in >second
	with_fault 137 TORN=90 TORN_FILE=list -- --shared -f seen --tee=list \
		first
	bloomdedup --shared -f seen --tee=list second >out 2>err
	is_message err 'its last line is torn'
	cmp second out
	sort second | comm -23 - <(sort list) | cmp - /dev/null
}

@test "a run that made the filter fails at its list: the next one goes on" {
	needs_preload
	head -n 10 in >few
	# others write half a line between all of its writes
	with_fault 3 FOREIGN=half FOREIGN_AT=1+ -- -j1 -f seen --tee=list few \
		>out
	[ ! -s out ]
	[ -s list ]
	bloomdedup -f seen --tee=list few >out 2>err
	cmp few out
	sort few | comm -23 - <(sort list) | cmp - /dev/null
}

# --- all or none

@test "--atomic, three outputs: if one fails, none has anything" {
	needs_preload
	local full
	cat in in >twice
	for full in out again list; do
		rm -f seen* out again list
		echo before | tee again list >out
		bloomdedup create seen
		with_fault 3 FULL=100 TORN_FILE=$full -- -f seen --atomic \
			--append -o out --duplicates=again --tee=list twice
		echo before | cmp - out
		cmp out again
		cmp out list
		[ ! -e seen.journal ]
		bloomdedup check -v -f seen in | cmp in -
		bloomdedup -f seen --atomic --append -o out --tee=list \
			--duplicates=again twice
		cat <(echo before) in | cmp - out
		cmp out again
		cmp out list
	done
}

@test "--atomic, killed while it appends: the next run completes the three" {
	needs_preload
	local torn bytes
	cat in in >twice
	for torn in out again list; do
		for bytes in 3 70001; do
			rm -f seen* out again list
			echo before | tee again list >out
			bloomdedup create seen
			with_fault 137 TORN=$bytes TORN_FILE=$torn -- -f seen \
				--atomic --append -o out --duplicates=again \
				--tee=list twice
			bloomdedup -f seen -q --tee=list </dev/null 2>err || true
			cat <(echo before) in | cmp - out
			cmp out again
			cmp out list
			all_known in
		done
	done
}

@test "--atomic, killed at any call: all of the three files or nothing, and each line once" {
	needs_strace
	local total n status
	seq 20 >few
	cat few few >twice
	rm -f seen* out again list
	strace -qq -o trace "$BLOOMDEDUP" -f seen --atomic -o out \
		--duplicates=again --tee=list twice
	total=$(wc -l <trace)
	for n in $(seq "$total" | some "$(short_or_long 6 1)"); do
		rm -f seen* out again list
		status=0
		strace -qq -o trace -e trace=all \
			-e inject=all:signal=KILL:when="$n" "$BLOOMDEDUP" \
			-f seen --atomic -o out --duplicates=again --tee=list \
			twice 2>err || status=$?
		[ $status -eq 137 ] || [ $status -eq 0 ]
		[ ! -s list ] || [ -e seen ]
		bloomdedup -f seen --atomic -o out --append --duplicates=again \
			--tee=list few 2>err
		cmp few out
		cmp few list
	done
}

@test "--atomic, the list is gone when the run ends: nothing is remembered, and no file has anything" {
	echo before >list
	bloomdedup create seen
	start_on_pipe -f seen --atomic -o result --tee=list
	cat in >&7
	until_idle $pid
	mv list moved
	ends_with 3
	is_message err 'list: it was removed, replaced or shortened'
	echo before | cmp - moved
	[ ! -s result ]
	[ ! -e list ]
	bloomdedup -f seen --tee=list in >out
	cmp in out
}

@test "the command that fills a lost filter can be given to a shell as it is" {
	local options list="it's \$1" said
	printf 'a,b c\n1,2\t3\n' >in
	while read -r options; do
		eval "set -- $options"
		rm -f 'the seen'
		cp in "$list"
		said=$(bloomdedup "$@" -f 'the seen' --tee="$list" in 2>&1) || true
		[[ $said == *'lines first, bloomdedup add -f '* ]]
		eval "${said##*lines first, }"
		bloomdedup "$@" -f 'the seen' --tee="$list" in >out
		# nothing but the header
		run ! grep -F 1,2 out
	done <<-'END'
		-i
		-t '\t' -k 2
		-t '|' --keep-empty -k 1
		-t "'" -k 1
		-t '"' -k 1 -z
		-t ' ' -k 1
		-t '\0' -k 1
		--csv --header -k 'b c'
		--json='/$HOME/x y' --keep-empty
		--url-ignore='a*,b_*' --url
	END
}
