# One name for each thing: src/README.md, section "Words", has the list. These
# tests see the words that are not used any more, the form of help, and comments
# behind code that are no statements.
load ../common

setup() {
	cd "$ROOT" || return 1
}

# What is said otherwise now: an extended regular expression, and what to say.
old_words() {
	cat <<-'END'
		folders?	directory
		power.cuts?	power failure
		(by|more|many|few|no) mistakes?	false positive, or error rate
		mistaken	taken for
		parts? of (the|a|its) window	quarter
		\w+n't|\w+'(re|ve|ll)|(it|that|there|what|who|here)'s	is not, cannot, ...
		(bits|bytes|(cache )?lines|requests) an? (line|second|lookup|key)	per
	END
}

# find_old FILE: its lines with such a word, except those that tell of one. Each
# line is FILE:LINE: TEXT.
find_old() {
	local words what status=1

	while IFS=$'\t' read -r words what; do
		if grep -inE "(^|[^[:alnum:]_-])($words)($|[^[:alnum:]_-])" "$1"
		then
			echo "say: $what"
			status=0
		fi
	done < <(old_words)
	return "$status"
}

# Comments and string literals of C, one a line, from files of C.
c_texts() {
	awk -v comments="$1" '
		function add(text) {
			gsub(/\\[nrt]/, " ", text)
			printf "%s%s", text == "" || started ? "" : FILENAME ":" \
				FNR ": ", text
			started = started || text != ""
		}
		function end() {
			if (started)
				print ""
			started = 0
		}
		FNR == 1 { end(); inside = 0 }
		/^[ \t]*#/ && !inside { end(); next }
		{
			line = $0
			while (line != "") {
				if (inside) {
					at = index(line, "*/")
					text = at ? substr(line, 1, at - 1) : line
					sub(/^[ \t]*\*/, "", text)
					sub(/^[ \t]+/, " ", text)
					if (comments)
						add(text)
					if (!at)
						break
					line = substr(line, at + 2)
					inside = 0
					if (comments)
						end()
				} else if (match(line, /"([^"\\]|\\.)*"|\/\*/)) {
					between = substr(line, 1, RSTART - 1)
					text = substr(line, RSTART + 1, RLENGTH - 2)
					is_comment = substr(line, RSTART, 2) == "/*"
					line = substr(line, RSTART + RLENGTH)
					if (between ~ /[^ \t]/)
						end()
					if (is_comment)
						inside = 1
					else if (!comments)
						add(text)
				} else {
					if (line ~ /[^ \t]/)
						end()
					break
				}
			}
		}
		END { end() }' "${@:2}"
}

# every_help: that of the program, short and long, and of each command.
every_help() {
	local command

	"$BLOOMDEDUP" </dev/null 2>&1 || true
	for command in '' add check create info key merge partition remove size \
		try serve help version; do
		"$BLOOMDEDUP" $command --help
	done
}

@test "help has no words that are not used any more" {
	every_help >"$BATS_TEST_TMPDIR/help"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/help")" -gt 300 ]
	run find_old "$BATS_TEST_TMPDIR/help"
	echo "$output"
	[ "$status" -ne 0 ]
}

@test "messages have no words that are not used any more" {
	c_texts 0 src/*.c src/*/*.c >"$BATS_TEST_TMPDIR/texts"
	grep -q 'there is no such filter' "$BATS_TEST_TMPDIR/texts"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/texts")" -gt 1000 ]
	run find_old "$BATS_TEST_TMPDIR/texts"
	echo "$output"
	[ "$status" -ne 0 ]
}

# documents: those that users and developers read.
documents() {
	ls man/*.[157] README.md NEWS.md SECURITY.md packaging/README.md \
		src/README.md tests/README.md tests/bench/README.md
}

@test "documents have no words that are not used any more" {
	[ "$(documents | wc -l)" -ge 12 ]
	for file in $(documents); do
		# the list of words itself names them in its last column
		sed -E '/^## Words/,/^## /s/\|[^|]*\|$/|/' "$file" \
			>"$BATS_TEST_TMPDIR/document"
		if find_old "$BATS_TEST_TMPDIR/document" >"$BATS_TEST_TMPDIR/found"
		then
			echo "$file:"
			cat "$BATS_TEST_TMPDIR/found"
			bad=1
		fi
	done
	[ -z "${bad:-}" ]
}

@test "what the search for old words would find" {
	cat >"$BATS_TEST_TMPDIR/text.c" <<-'END'
		/* of a power
		 * cut */
		puts("it can"
		    "not"); puts("so it doesn"
		    "'t");
		puts("bytes a second");
	END
	c_texts 1 "$BATS_TEST_TMPDIR/text.c" >"$BATS_TEST_TMPDIR/comments"
	c_texts 0 "$BATS_TEST_TMPDIR/text.c" >"$BATS_TEST_TMPDIR/texts"
	[ "$(find_old "$BATS_TEST_TMPDIR/comments" | grep -c 'of a power cut')" -eq 1 ]
	find_old "$BATS_TEST_TMPDIR/texts" >"$BATS_TEST_TMPDIR/found"
	[ "$(grep -c '^[0-9]' "$BATS_TEST_TMPDIR/found")" -eq 2 ]
	grep -q "so it doesn't" "$BATS_TEST_TMPDIR/found"
	grep -q 'say: per' "$BATS_TEST_TMPDIR/found"
}

# phrases: "OPTION TEXT" or "COMMAND TEXT" for each that the help in standard
# input has.
phrases() {
	sed -nE '/^(  -., |      )--[a-z0-9-]+[^ ]*$/ { N; s/\n */  / }
		s/^(  -., |      )(--[a-z0-9-]+[^ ]*)  +([^ ].*)$/\2 \3/p
		s/^  ([a-z]+)  +([^ ].*)$/\1 \2/p'
}

# The verbs that phrases of help begin with. Is yours missing? Is it a verb, and
# does the phrase say what the option does?
verbs='(also )?(accept|add|allow|close|compare|compute|count|describe|do|drop|end|exit|fail|feed|forget|give|grow|ignore|lease|let|limit|listen|look|make|merge|name|plan|print|read|remember|remove|replace|separate|serve|share|show|split|stop|sync|take|use|wait|write)'

@test "each phrase of help begins with a verb" {
	every_help | phrases >"$BATS_TEST_TMPDIR/phrases"
	[ "$(grep -c '^-' "$BATS_TEST_TMPDIR/phrases")" -gt 200 ]
	[ "$(grep -c '^[a-z]' "$BATS_TEST_TMPDIR/phrases")" -eq 13 ]
	run grep -vE "^[^ ]+ $verbs[ ,]" "$BATS_TEST_TMPDIR/phrases"
	echo "$output"
	[ "$status" -eq 1 ]
}

# Words that a comment behind a member must not begin with: with one of them, it
# only continues the member's name, or the comment before.
continues='(of|by|as|with|without|which|for|that|when|where|in|on|at|to|from|and|or|but|if|after|before|how|what|who|whose|until|so|since|because|under|over|per|likewise)'

# telegrams FILE...: comments behind code that begin with such a word.
telegrams() {
	grep -nE "^[^#]*[^[:space:]#].*/\* $continues\b" "$@"
}

@test "the comment on a member is complete in itself" {
	run telegrams src/*/*.[ch]
	echo "$output"
	[ "$status" -eq 1 ]
	[ "$(grep -cE '[;,].*/\* [a-z]' src/*/*.[ch] | awk -F: '{ sum += $2 }
		END { print sum }')" -gt 500 ]
}

@test "a comment that only continues a member's name would be found" {
	printf 'struct {\n\tint a; /* of the file */\n\tint b; /* name */\n};\n' \
		>"$BATS_TEST_TMPDIR/text.h"
	run telegrams "$BATS_TEST_TMPDIR/text.h"
	[ "$output" = $'2:\tint a; /* of the file */' ]
}

@test "comments in headers have no words that are not used any more" {
	c_texts 1 src/*/*.h >"$BATS_TEST_TMPDIR/comments"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/comments")" -gt 1000 ]
	run find_old "$BATS_TEST_TMPDIR/comments"
	echo "$output"
	[ "$status" -ne 0 ]
}
