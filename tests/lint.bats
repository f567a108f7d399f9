# Rules that hold for the source itself. `make lint` adds compilers and
# analyzers.
load common

setup() {
	cd "$ROOT" || return 1
}

# floors: "NAME FLOOR" for each file in the table of src/README.md; a name may
# have a star.
floors() {
	sed -nE 's/^\| ([0-9]+) \| ([^|]*) \|.*/\1 \2/p' src/README.md |
		tr -d '`' | while read -r floor names; do
		set -f
		for name in $names; do
			echo "$name $floor"
		done
	done
}

# floor_of NAME: set $floor to it
floor_of() {
	local pattern number
	floor=
	while read -r pattern number; do
		# shellcheck disable=SC2053 # is a pattern
		[[ $1 == $pattern ]] && floor=$number
	done <"$BATS_TEST_TMPDIR/floors"
	if [ -z "$floor" ]; then
		echo "$1 is not in the table of floors in src/README.md"
		return 1
	fi
}

@test "every source file has a floor, and every floor's files exist" {
	floors >"$BATS_TEST_TMPDIR/floors"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/floors")" -gt 10 ]
	for file in src/*.[ch]; do
		name=${file##*/}
		floor_of "${name%.?}"
	done
	while read -r pattern _; do
		compgen -G "src/$pattern.[ch]"
	done <"$BATS_TEST_TMPDIR/floors"
}

@test "no file includes one of a higher floor" {
	floors >"$BATS_TEST_TMPDIR/floors"
	wrong=0
	while IFS=: read -r file line; do
		name=${file##*/}
		included=$(sed -E 's/.*"(.*)".*/\1/' <<<"$line")
		floor_of "${name%.?}"
		mine=$floor
		floor_of "${included%.h}"
		if [ "$floor" -gt "$mine" ]; then
			echo "$file (floor $mine) includes $included ($floor)"
			wrong=1
		fi
	done < <(grep '^[[:space:]]*#[[:space:]]*include "' src/*.[ch])
	[ "$wrong" -eq 0 ]
}

@test "every header compiles alone, and twice" {
	for header in src/*.h; do
		printf '#include "%s"\n#include "%s"\n' \
			"${header#src/}" "${header#src/}" |
			${CC:-cc} -D_DEFAULT_SOURCE -D_FILE_OFFSET_BITS=64 \
				-Isrc -std=c11 -Wall -Wextra -Werror -Wno-psabi \
				-Wno-unused-function -fsyntax-only -x c -
	done
}

@test "only hash includes xxhash.h" {
	grep -l '<xxhash.h>' src/* | sed 's/.*\///' >"$BATS_TEST_TMPDIR/users"
	run ! grep -v '^hash' "$BATS_TEST_TMPDIR/users"
}

@test "only what is on the upper two floors prints to standard output" {
	floors >"$BATS_TEST_TMPDIR/floors"
	wrong=0
	while IFS= read -r file; do
		name=${file##*/}
		floor_of "${name%.?}"
		if [ "$floor" -lt 7 ]; then
			echo "$file prints"
			wrong=1
		fi
	done < <(grep -lE '\b(printf|puts|putchar) ?\(|\bstdout\b' src/*.[ch])
	[ "$wrong" -eq 0 ]
}

@test "no line of the source is wider than 80 columns or ends in blanks" {
	for file in src/*.[ch] tests/*.c tests/{unit,fuzz}/*.[ch]; do
		expand "$file" | awk -v file="$file" '
			# a line of help has quotes around it
			/^".*\\n"$/ { next }
			length > 80 || /[ \t]$/ { print file ": " NR; bad = 1 }
			END { exit bad }'
	done
	run ! grep -nE '[[:blank:]]$' Makefile README.md NEWS.md src/README.md \
		tests/README.md tests/*.bats tests/*.bash completions/* man/*
}

@test "the manual pages are without a warning" {
	command -v groff >/dev/null || skip "groff is not installed"
	for page in man/bloomdedup.[15]; do
		groff -mdoc -ww -Tutf8 -z "$page" >"$BATS_TEST_TMPDIR/out" 2>&1
		cat "$BATS_TEST_TMPDIR/out"
		[ ! -s "$BATS_TEST_TMPDIR/out" ]
	done
}

@test "the manual pages have one sentence a line" {
	for page in man/bloomdedup.[15]; do
		awk -v page="$page" '
			/^\.Bd/ { literal = 1 } /^\.Ed/ { literal = 0 }
			!literal && !/^\./ && /[a-z)][.?!] +[A-Z]/ {
				print page ": " NR ": " $0; bad = 1
			}
			END { exit bad }' "$page"
	done
}

@test "the shell scripts are without a warning" {
	command -v shellcheck >/dev/null || skip "shellcheck is not installed"
	# common.bash sets variables for those who load it
	shellcheck -S warning -e SC2034 -s bash tests/common.bash tests/run \
		tests/fuzz/run completions/bloomdedup.bash .ci/run
}
