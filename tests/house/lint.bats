# Rules that hold for the source itself. `make lint` adds compilers and
# analyzers.
load ../common

setup() {
	cd "$ROOT" || return 1
}

# directories: those of src, the lowest first, as src/README.md lists them;
# src/main.c is above all.
directories() {
	sed -nE 's/^\| `([a-z]+)\/` \|.*/\1/p' "$ROOT/src/README.md" | tac
	echo .
}

# includes: "FILE INCLUDED" for each include of a file of ours, from src on.
includes() {
	(cd src && grep -E '^[[:space:]]*#[[:space:]]*include "' \
		./*.[ch] ./*/*.[ch]) |
		sed -E 's/^\.\/([^:]*):.*"(.*)".*/\1 \2/'
}

@test "the table of directories in src/README.md is what there is" {
	directories | grep -vx . | sort >"$BATS_TEST_TMPDIR/stated"
	(cd src && printf '%s\n' */) | tr -d / | sort >"$BATS_TEST_TMPDIR/found"
	diff "$BATS_TEST_TMPDIR/stated" "$BATS_TEST_TMPDIR/found"
}

# upwards FILE: those of its lines "FILE OTHER" where OTHER is in a directory
# above.
upwards() {
	directories >"$BATS_TEST_TMPDIR/directories"
	awk 'FNR == NR { height[$1] = FNR; next }
		function directory(file) {
			return file ~ "/" ? substr(file, 1,
				index(file, "/") - 1) : "."
		}
		!(directory($2) in height) ||
			height[directory($2)] > height[directory($1)]' \
		"$BATS_TEST_TMPDIR/directories" "$1"
}

# circles FILE: the circles in its lines "FILE OTHER".
circles() {
	{ awk '$1 != $2' "$1" | tsort >/dev/null; } 2>&1
}

@test "directories include only downwards, and files not in a circle" {
	includes >"$BATS_TEST_TMPDIR/includes"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/includes")" -gt 100 ]
	run upwards "$BATS_TEST_TMPDIR/includes"
	echo "$output"
	[ -z "$output" ]
	# A .c file and its header are one.
	sed -E 's/\.[ch]\b//g' "$BATS_TEST_TMPDIR/includes" \
		>"$BATS_TEST_TMPDIR/files"
	run circles "$BATS_TEST_TMPDIR/files"
	echo "$output"
	[ -z "$output" ]
}

# symbols TYPES OBJECT...: "FILE SYMBOL" for each that an object uses and another
# one defines, as one of nm's TYPES: T are functions, the others data.
symbols() {
	local types=$1
	shift
	nm -A -P "$@" | awk -v types="$types" '
		{
			sub(/(-[a-z0-9]+)?\.o:$/, "", $1)
		}
		index(types, $3) { defined[$2] = $1 }
		$3 == "U" { used[$1 " " $2] = $2 }
		END {
			for (i in used) {
				split(i, file)
				if (used[i] in defined)
					print file[1], defined[used[i]]
			}
		}' | sort -u
}

@test "directories call only downwards, and files not in a circle" {
	needs nm
	# whatever headers declare: this is what the linker sees
	cd "$BUILD"
	objects=()
	for file in "$ROOT"/src/*.c "$ROOT"/src/*/*.c; do
		file=${file#"$ROOT"/src/}
		for object in "${file%.c}".o "${file%.c}"-*.o; do
			[ ! -e "$object" ] || objects+=("$object")
		done
	done
	symbols TWDBRV "${objects[@]}" >"$BATS_TEST_TMPDIR/uses"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/uses")" -gt 300 ]
	run upwards "$BATS_TEST_TMPDIR/uses"
	echo "$output"
	[ -z "$output" ]
	# The table of commands is data, which help reads.
	symbols TW "${objects[@]}" >"$BATS_TEST_TMPDIR/calls"
	run circles "$BATS_TEST_TMPDIR/calls"
	echo "$output"
	[ -z "$output" ]
}

@test "a circle of calls, and a call upwards, would be found" {
	needs nm
	mkdir "$BATS_TEST_TMPDIR"/{base,bits,cli}
	make_object() {
		${CC:-cc} -x c -c -o "$BATS_TEST_TMPDIR/$1" -
	}
	make_object base/one.o <<<'int two(void); int one(void) { return two(); }'
	make_object bits/two.o <<<'int one(void); int two(void) { return one(); }'
	make_object cli/top.o <<<'int one(void); int top(void) { return one(); }'
	(cd "$BATS_TEST_TMPDIR" && symbols TW */*.o) >"$BATS_TEST_TMPDIR/calls"
	run upwards "$BATS_TEST_TMPDIR/calls"
	[ "$output" = 'base/one bits/two' ]
	run circles "$BATS_TEST_TMPDIR/calls"
	[[ $output = *base/one* && $output = *bits/two* ]]
	[[ $output != *cli/top* ]]
}

@test "what only Linux has is used in os_linux.c alone" {
	run grep -lE -e '<linux/|<sys/(random|syscall|sysmacros|vfs|xattr)\.h>' \
		-e '"/(proc|sys)/|\bst_mtim\b|\b(O_TMPFILE|SEEK_(DATA|HOLE))\b' \
		-e '\b(F_SETLEASE|F_OFD_|F_SETPIPE_SZ|POSIX_FADV_|TCP_KEEP)' \
		-e '\bMADV_(HUGEPAGE|POPULATE)' \
		-e '\bSOCK_(CLOEXEC|NONBLOCK)\b' \
		-e '\b(fallocate|fdatasync|getrandom|memrchr|pipe2|accept4)\(' \
		-e '\b(posix_fallocate|posix_fadvise|sched_getaffinity|syscall)\(' \
		-r src --include='*.[ch]'
	[ "$output" = src/base/os_linux.c ]
}

# compile_headers FILE...: does a source that includes only these compile?
compile_headers() {
	printf '#include "%s"\n' "${@#src/}" |
		${CC:-cc} -D_DEFAULT_SOURCE -D_FILE_OFFSET_BITS=64 -Isrc \
			-std=c11 -Wall -Wextra -Werror -Wno-psabi \
			-Wno-unused-function -fsyntax-only -x c -
}

@test "every header compiles alone, and twice" {
	# The build has compiled those alone with which their own source begins.
	grep -m 1 '^#include' src/*/*.c |
		sed -nE 's|^(src/(.*))\.c:#include "\2\.h"$|\1.h|p' \
			>"$BATS_TEST_TMPDIR/begun"
	mapfile -t others < <(printf '%s\n' src/*/*.h |
		grep -vxFf "$BATS_TEST_TMPDIR/begun")
	for header in "${others[@]}"; do
		compile_headers "$header"
	done
	for directory in src/*/; do
		compile_headers "$directory"*.h "$directory"*.h
	done
}

# guards: "FILE GUARD" for each header of ours, from src on.
guards() {
	(cd src && grep -m 1 '^#ifndef' ./*/*.h) |
		sed -E 's/^\.\/([^:]*):#ifndef (.*)/\1 \2/'
}

@test "the include guard of each header is its path" {
	# two headers with one guard hide each other
	guards >"$BATS_TEST_TMPDIR/guards"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/guards")" -gt 60 ]
	awk '{
			path = toupper($1)
			gsub(/[^A-Z0-9]/, "_", path)
		}
		$2 != path { print $1 ": the guard is " $2 ", not " path; bad = 1 }
		END { exit bad }' "$BATS_TEST_TMPDIR/guards"
	# and each header has one
	[ "$(wc -l <"$BATS_TEST_TMPDIR/guards")" = "$(ls src/*/*.h | wc -l)" ]
}

@test "only hash includes xxhash.h" {
	grep -l '<xxhash.h>' src/*/* | sed 's/.*\///' >"$BATS_TEST_TMPDIR/users"
	run ! grep -v '^hash' "$BATS_TEST_TMPDIR/users"
}

@test "only the commands print to standard output" {
	grep -lE '\b(printf|puts|putchar) ?\(|\bstdout\b' src/*/*.[ch] |
		grep -v '^src/cli/' >"$BATS_TEST_TMPDIR/printers" || true
	cat "$BATS_TEST_TMPDIR/printers"
	[ ! -s "$BATS_TEST_TMPDIR/printers" ]
}

# tags FILE...: "TAG FILE" for each struct, union or enum that a file defines.
tags() {
	grep -HE '^[[:blank:]]*(typedef |static |const )*(struct|union|enum) \w+ \{' \
		"$@" | sed -E 's/^([^:]*):.*(struct|union|enum) (\w+) \{.*/\3 \1/'
}

@test "the tag of a struct, union or enum is defined once" {
	tags src/*/*.[ch] >"$BATS_TEST_TMPDIR/tags"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/tags")" -gt 200 ]
	run awk 'seen[$1]++' "$BATS_TEST_TMPDIR/tags"
	echo "$output"
	[ -z "$output" ]
}

# statics FILE...: "NAME FILE" for each static function that a file defines.
statics() {
	awk '/^(static|INLINE) / && !/[;=]/ { before = FILENAME FNR + 1; next }
		FILENAME FNR == before && match($0, /^[a-z_0-9]+\(/) {
			print substr($0, 1, RLENGTH - 1), FILENAME
		}' "$@" | sort -u
}

# Static functions of two files that have one name, since they do the same to
# different things. All others have names of their own.
same_acts='allocate finish_header finish_prepared is_possible is_stopped keep_rest open_uninterrupted release'

@test "a static function's name is in one file, or for one act in two" {
	statics src/*.c src/*/*.c >"$BATS_TEST_TMPDIR/statics"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/statics")" -gt 1000 ]
	cut -d ' ' -f 1 "$BATS_TEST_TMPDIR/statics" | uniq -d |
		diff <(tr ' ' '\n' <<<"$same_acts") -
	run awk '++files[$1] > 2' "$BATS_TEST_TMPDIR/statics"
	echo "$output"
	[ -z "$output" ]
}

@test "a tag and a static function of two files would be found" {
	cd "$BATS_TEST_TMPDIR"
	printf 'static const struct row {\n\tint a;\n} rows[1];\n' >a.c
	printf 'enum row {\n\tA\n};\n\nstatic int\nmake(void)\n{\n}\n' >b.c
	printf 'INLINE struct row *\nmake(int a)\n{\n}\n' >c.c
	run tags a.c b.c c.c
	[ "$output" = $'row a.c\nrow b.c' ]
	run statics a.c b.c c.c
	[ "$output" = $'make b.c\nmake c.c' ]
}

@test "no line of the source is wider than 80 columns or ends in blanks" {
	awk '{
			# the width with tabs, each up to the next column of 8
			line = $0
			while (at = index(line, "\t"))
				line = substr(line, 1, at - 1) substr("        ",
					(at - 1) % 8 + 1) substr(line, at + 1)
		}
		# a line of help has quotes around it
		/^".*\\n"$/ { next }
		length(line) > 80 || /[ \t]$/ {
			print FILENAME ": " FNR; bad = 1
		}
		END { exit bad }' src/*.[ch] src/*/*.[ch] \
		tests/{helpers,unit,fuzz}/*.[ch]
	run ! grep -nE '[[:blank:]]$' Makefile README.md NEWS.md src/README.md \
		tests/README.md tests/*/*.bats tests/*.bash completions/* \
		man/*.* man/examples/*
}

@test "the manual pages are without a warning" {
	needs groff
	for page in man/*.[157]; do
		groff -mdoc -ww -Tutf8 -z "$page" >"$BATS_TEST_TMPDIR/out" 2>&1
		cat "$BATS_TEST_TMPDIR/out"
		[ ! -s "$BATS_TEST_TMPDIR/out" ]
	done
}

@test "the manual pages are without a warning of mandoc, too" {
	needs mandoc
	# but for what most look for, which comes before what is long
	mandoc -T lint -W warning man/*.[157] |
		sed -E '/out of conventional order: Sh (EXIT STATUS|ENVIRONMENT)$/d' >"$BATS_TEST_TMPDIR/out"
	cat "$BATS_TEST_TMPDIR/out"
	[ ! -s "$BATS_TEST_TMPDIR/out" ]
}

@test "the manual pages have one sentence a line" {
	for page in man/*.[157]; do
		awk -v page="$page" '
			/^\.Bd/ { literal = 1 } /^\.Ed/ { literal = 0 }
			!literal && !/^\./ && /[a-z)][.?!] +[A-Z]/ {
				print page ": " NR ": " $0; bad = 1
			}
			END { exit bad }' "$page"
	done
}

@test "the shell scripts are without a warning" {
	needs shellcheck
	# common.bash sets variables for those who load it
	shellcheck -S warning -e SC2034 -s bash tests/*.bash tests/*/*.bash \
		tests/run tests/engines/run tests/mutants/run tests/emulated \
		tests/house/statements/* \
		tests/valgrind tests/fuzz/run completions/bloomdedup.bash .ci/run \
		packaging/{archive,date,deb,libraries,static} man/examples/*.sh \
		tests/bench/{corpus,instructions,parts,parts-memory,redis,run,scale,serve,serve-growth}
}

@test "no test expects a failure in a way that is ignored" {
	needs shellcheck
	# Bash ignores the status of `! command` but at a test's end: `run !`
	grep -lE '^[[:space:]]*! ' tests/*/*.bats |
		xargs shellcheck -s bats -i SC2314,SC2315
}

# Literal translations and inverted clauses that crept in before.
@test "tests and CI speak plain English" {
	run ! grep -rnEw -e '"[Ww]ho [a-z]+' -e '^[[:blank:]]*(#|//|\*) Who [a-z]+' \
		-e 'together with' -e "can't be together" -e jump \
		--include='*.bats' --include='*.bash' --include='*.md' \
		--include='*.mutant' --exclude=lint.bats --exclude-dir=results tests .ci
}
