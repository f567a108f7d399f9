# The targets of the Makefile: tests/README.md says of each where it runs.
load ../common

# rows: the table in tests/README.md, a line "TARGET HOW" for each target.
rows() {
	sed -nE '/^\| target \| in `\.ci\/run` \|$/,/^$/p' \
		"$ROOT/tests/README.md" | tail -n +3 |
		awk -F ' *[|] *' '{
			count = split($2, targets, ", ")
			for (i = 1; i <= count; i++) {
				gsub("`", "", targets[i])
				print targets[i], $3
			}
		}'
}

# phony: the targets that are no files, without FORCE, which nobody asks for.
phony() {
	env -u MAKEFLAGS make -s -C "$ROOT" -pn clean |
		sed -n 's/^\.PHONY: *//p' | tr ' ' '\n' | grep -vx FORCE
}

# ci: .ci/run without comments, and with continued lines joined.
ci() {
	sed -e 's/^[[:space:]]*#.*//' -e ':a' -e '/\\$/N' -e 's/\\\n//' -e 'ta' \
		"$ROOT/.ci/run"
}

# runs TARGET: does .ci/run make it?
runs() {
	ci | grep -qE "\<make( [^ ]+)* $1( |\$)"
}

# by HOW: the words of a row in backticks, in which the target runs
by() {
	grep -o '`[^`]*`' <<<"$1" | tr -d '`'
}

@test "tests/README.md says of each target where it runs" {
	rows | cut -d ' ' -f 1 | sort >stated
	[ -s stated ]
	phony | sort >there
	diff there stated
}

@test ".ci/run runs the targets that it is said to run, and no other" {
	while read -r target how; do
		case $how in
		'by hand'*)
			! runs "$target" || { echo "runs $target"; return 1; }
			continue
			;;
		esac
		if [ -z "$(by "$how")" ]; then
			runs "$target" || { echo "no $target"; return 1; }
			continue
		fi
		while read -r word; do
			[[ $word = */* ]] && [ -x "$ROOT/$word" ] &&
				ci | grep -qF "$word" && continue
			[[ $word = *.bats ]] &&
				grep -q "\<$target\>" "$ROOT/$word" && continue
			runs "$word" || { echo "$target: no $word"; return 1; }
		done < <(by "$how")
	done < <(rows)
}
