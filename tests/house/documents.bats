# What is written about the program is true of it: README, manual, --help and
# completions. Examples run with stand-ins for what needs a network or root.
load examples

README=$ROOT/README.md
MANUAL=$ROOT/man/bloomdedup.1
SERVE_MANUAL=$ROOT/man/bloomdedup-serve.1
BASH_COMPLETION=$ROOT/completions/bloomdedup.bash
ZSH_COMPLETION=$ROOT/completions/_bloomdedup
FISH_COMPLETION=$ROOT/completions/bloomdedup.fish

# blocks KIND WORD: README's blocks of this kind (sh or console) with WORD in
# them; with "!WORD", those without it.
blocks() {
	awk -v fence="\`\`\`$1" -v word="${2#!}" -v wanted="${2%%[!!]*}" '
		$0 == fence { inside = 1; text = ""; next }
		/^```$/ { if (inside && (wanted == "!") != (index(text, word) > 0))
				printf "%s", text
			inside = 0 }
		inside { text = text $0 "\n" }' "$README"
}

# example WORD: run the block of shell code in README that has WORD in it.
example() {
	blocks sh "$1" >example.sh
	if [ ! -s example.sh ]; then
		echo "README has no example with '$1'"
		return 1
	fi
	bash -e -o pipefail example.sh
}

# Every example of README.

@test "README: the transcripts are what the program prints" {
	blocks console '!redis-cli' >readme
	transcript readme
}

@test "README: a filter in Redis" {
	# shellcheck source=tests/redis/servers.bash
	. "$ROOT/tests/redis/servers.bash"
	need_redis
	start
	blocks sh redis:// | sed "s|redis://localhost/|$URL/|" >example.sh
	seq 3 >urls.txt
	bash -e example.sh
	seq 4 >urls.txt
	bash -e example.sh
	seq 4 | cmp - new.txt
	stop
}

@test "README: a server, and a client of it" {
	needs redis-cli
	bloomdedup --version | grep -q serve || skip "built without serve"
	# They meet at a socket, since the port may be taken, and redis-cli
	# prints what it prints on a terminal.
	rm bin/bloomdedup
	stand_in bloomdedup <<-END
		[ "\$1" != serve ] || set -- "\$@" -l unix:socket
		exec '$BLOOMDEDUP' "\$@"
	END
	stand_in redis-cli <<-END
		[ "\$1 \$2" = '-p 12345' ] && shift 2
		exec '$(command -v redis-cli)' --no-raw -s socket "\$@"
	END
	blocks sh 'bloomdedup serve' | sed 's/bloomdedup serve/exec &/' >serve.sh
	bash -e serve.sh 2>said 3>&- &
	until_true [ -S socket ] || cat said
	blocks console 'redis-cli -p 12345' >readme
	transcript readme
	kill $!
	wait $!
}

@test "README: the command that builds it and uses it" {
	cp bin/bloomdedup bloomdedup
	for name in apt-get make; do
		echo "echo $name \"\$@\" >>calls" | stand_in "$name"
	done
	stand_in apt-cache <<-'END'
		for page in one two one; do
			echo "Package: $page"
			echo "Homepage: https://example.org/$page"
		done
	END
	example apt-cache
	printf 'https://example.org/%s\n' one two | cmp - homepages.txt
	printf '%s\n' 'apt-get update' 'apt-get install -y make' \
		'make deps all' | cmp - calls
	cp homepages.txt before
	example apt-cache
	cmp before homepages.txt
}

@test "README: how to install it" {
	for name in apt pipx tar make; do
		echo "echo $name \"\$@\" >>calls" | stand_in "$name"
	done
	mkdir -p build/packages
	touch build/packages/{bloomdedup_1_amd64.deb,bloomdedup-1-{x86_64.tar.gz,any_x86_64.whl}}
	example 'all install'
	printf '%s\n' 'apt install ./build/packages/bloomdedup_1_amd64.deb' \
		'pipx install ./build/packages/bloomdedup-1-any_x86_64.whl' \
		'tar -C /usr/local --strip-components=1 -xzf build/packages/bloomdedup-1-x86_64.tar.gz' \
		'make deps all install' | cmp - calls
}

@test "README: what it is, an example, how to get it, and promises come first" {
	head -n 65 "$README" >screen
	grep -n '^#\|^```' screen | cut -d : -f 2 >order
	printf '%s\n' '# bloomdedup' '```console' '```' \
		'## Try it' '```sh' '```' '```sh' '```' '## Install' '```sh' \
		'```' '## What it promises' | cmp - <(head -n 12 order)
	grep -q '^make deps all install  ' screen
	grep -q 'make uninstall' screen
	grep -q '^plum$' screen
	[ "$(grep -c '^- \*\*' screen)" -eq 4 ]
}

@test "README: the tests" {
	echo 'echo make "$@" >>calls' | stand_in make
	example 'make deps check'
	echo 'make deps check' | cmp - calls
}

@test "README: the links that were never in the feed before" {
	needs xmlstarlet
	stand_in_web
	mkdir feed
	cp "$ROOT/man/examples/feed.sh" feed
	blocks crontab feed.xml | sed -n 's/^0 \* \* \* \* //p' >job
	[ -s job ]
	a_feed https://example.org/1 https://example.org/2
	sh -c "$(cat job)"
	a_feed https://example.org/2 https://example.org/3
	sh -c "$(cat job)"
	printf 'https://example.org/%d\n' 1 2 3 | cmp - feed/new-links
}

@test "README: a file in place" {
	printf '%s\n' b a b >list.txt
	example 'list.txt list.txt'
	printf '%s\n' b a | cmp - list.txt
}

@test "README: runs that share a filter" {
	printf 'https://example.org/%s\n' 1 2 1 >feed-1.txt
	printf 'https://example.org/%s\n' 3 4 3 >feed-2.txt
	example --shared
	example --shared
	printf 'https://example.org/%s\n' 1 2 | cmp - new-1.txt
	printf 'https://example.org/%s\n' 3 4 | cmp - new-2.txt
}

@test "README: a crawler" {
	stand_in_web
	cp "$ROOT/man/examples/once.sh" "$ROOT/man/examples/fetch.sh" .
	printf "https://example.org/%s\n" 1 "it's" down 1 >urls.txt
	run ! example fetch.sh
	[ "$(find pages -type f | wc -l)" -eq 2 ]
	bloomdedup check -v -f done.bloom urls.txt | cmp - <(sed -n 3p urls.txt)
	sed -i '/down/d' urls.txt
	example fetch.sh
}

@test "README: again after 30 days" {
	needs faketime
	skip_if_sanitized # faketime is a library that must come first
	printf 'https://example.org/%s\n' 1 2 1 >urls.txt
	example month.bloom
	printf 'https://example.org/%s\n' 1 2 | cmp - to-fetch.txt
	example month.bloom
	printf 'https://example.org/%s\n' 1 2 | cmp - to-fetch.txt
	sed -i 's/^bloomdedup/faketime -f +38d bloomdedup/' example.sh
	bash -e example.sh
	printf 'https://example.org/%s\n' 1 2 1 2 | cmp - to-fetch.txt
}

@test "README: a corpus of JSON Lines by its text" {
	needs_zstd
	printf '{"id":%d,"text":"%s"}\n' 1 a 2 b | zstd -q >part-1.jsonl.zst
	printf '{"text": "%s", "id":%d}\n' b 3 c 4 | zstd -q >part-2.jsonl.zst
	example part-
	{
		printf '{"id":%d,"text":"%s"}\n' 1 a 2 b
		printf '{"text": "c", "id":4}\n'
	} | cmp - unique.jsonl
}

# The expected numbers: n * p, and n^2 / 2 / 2^64, for each row of the table.
@test "README and manual: how many lines are lost, in all" {
	for p in 1e-6 1e-9 1e-12; do
		bloomdedup size --json -n 1e9 -p $p | json_value bits_per_line
	done | awk '{ printf("%s%.1f", (NR > 1 ? " | " : ""), $1) }' >bits
	sed -n '/^## How exact/,/^## How fast/p' "$README" >section
	grep -qF "| bits per line | $(cat bits) |" section
	grep -E '^\| 1e[0-9]+ ' section | tr -d ' ,' >rows
	[ "$(wc -l <rows)" -eq 5 ]
	awk -F '|' '
		function about(is, wanted) { return is > 0.95 * wanted && is < 1.05 * wanted }
		!about($3, $2 * 1e-6) || !about($4, $2 * 1e-9) ||
		    !about($5, $2 * 1e-12) || !about($6, $2 ^ 2 / 2 ^ 65) ||
		    !about($7, $2 ^ 2 / 2 ^ 129) { print; bad = 1 }
		END { exit bad }' rows
	# the manual has the same rows
	needs groff
	groff -mdoc -Tascii -P-cbou "$MANUAL" 2>/dev/null |
		sed -n 's/^ *\(1e[0-9]* .*\)/\1/p' | tr -d , | tr -s ' ' >manual
	sed 's/^|//; s/|$//; s/|/ /g' rows | cmp - manual
}

@test "README: every example is run here" {
	[ "$(grep -c '^```sh$' "$README")" -eq 10 ]
	[ "$(grep -c '^```' "$README")" -eq \
		$((2 * $(grep -cE '^```(sh|console|crontab)$' "$README"))) ]
}

@test "README: no line is wider than 80 columns but tables" {
	awk 'length > 80 && !/^\|/ { print; wide = 1 } END { exit wide }' \
		"$README"
}

@test "README: its table and picture of figures are those that were measured" {
	needs python3
	picture=$(sed -n 's/^!\[.*\](\(.*\.svg\))$/\1/p' "$README")
	"$ROOT/tests/bench/draw" "$ROOT/${picture%.svg}.tsv" --picture >drawn
	diff "$ROOT/$picture" drawn
	"$ROOT/tests/bench/draw" "$ROOT/${picture%.svg}.tsv" --table >table
	sed -n '/^<!-- tests\/bench\/draw -->$/,/^<!-- end -->$/p' "$README" |
		sed '1d;$d' | diff - table
	grep -q bloomdedup table
}

@test "README: what it links to is there, with the section that it names" {
	grep -oE '\]\([^)#]*\)' "$README" | tr -d '()]' | grep -v : >links
	[ "$(wc -l <links)" -ge 10 ]
	while read -r link; do
		ls -d "$ROOT/$link"
	done <links
	# in the last table, ", SECTION" behind a page
	sed -nE 's/.*\((man\/[^)]*)\), ([A-Z ]+) \|$/\1 \2/p' "$README" >sections
	[ "$(wc -l <sections)" -ge 7 ]
	while read -r page section; do
		grep -qx "\.Sh $section" "$ROOT/$page"
	done <sections
}

# Every example of the manual.

@test "manual: examples come before all that is long" {
	[ "$(page_examples "$MANUAL" EXAMPLES | grep -c '^\$ .*bloomdedup')" -ge 5 ]
	# one page or two of a terminal
	[ "$(grep -n '^\.Sh EXAMPLES' "$MANUAL" | cut -d : -f 1)" -lt 150 ]
}

@test "manual: HISTORY has the version of -V" {
	version=$(bloomdedup -V | sed 's/^bloomdedup \([0-9.]*\).*/\1/')
	sed -n '/^\.Sh HISTORY/,/^\.Sh AUTHORS/p' "$MANUAL" | tr '\n' ' ' |
		grep -qF "This is .Nm $version;"
}

@test "manual: the examples are what the program prints" {
	# displays of commands are less indented than others
	sed 's/^\.Bd -literal -offset indent/.Bd -text/' "$MANUAL" >page
	sed -n 's/^\.Sh //p' page >sections
	while read -r section; do
		page_examples page "$section"
	done <sections >manual
	[ "$(grep -c '^\$ ' manual)" -eq "$(grep -c '^\$ ' "$MANUAL")" ]
	given manual log people.csv
	transcript manual
}

# In mdoc: ".Sx NAME" of the page itself, which becomes a link; that of another
# page is ".Em NAME" with "in" and ".Xr PAGE" behind it, or behind ".Xr PAGE ,".
@test "manual: the sections that the pages refer to are there" {
	needs python3
	python3 - "$ROOT"/man/*.[157] <<-'END'
		import re, sys
		pages = {}
		for path in sys.argv[1:]:
		    pages[path.rpartition("/")[2]] = open(path).read()
		sections = {name: set(re.findall(r"^\.S[hs] (.*)", text, re.M))
		            for name, text in pages.items()}
		count = others = 0
		for name, text in pages.items():
		    assert not re.search(r"^\.Xr .* ,\n\.Sx|^\.Sx .*\nin\n\.Xr", text, re.M), name
		    for match in re.finditer(
		            r"^\.(?:It |Pq )?Sx (.*?)(?: [.,;:)]+)*\n", text, re.M):
		        count += 1
		        assert match[1] in sections[name], (name, match[0])
		    for match in re.finditer(
		            r"^\.Xr (\S+ \d) ,\n\.Em (.*?)(?: [.,;:)]+)*\n|"
		            r"^\.Em (.*)\nin\n\.Xr (\S+ \d)", text, re.M):
		        page = (match[1] or match[4]).replace(" ", ".")
		        others += 1
		        assert (match[2] or match[3]) in sections[page], (name, match[0])
		assert count > 30 and others >= 8, (count, others)
	END
}

@test "manual: no line is wider than 80 columns" {
	needs groff
	for page in "$ROOT"/man/*.[157]; do
		groff -mdoc -Tascii -P-cbou "$page" |
			awk 'length > 80 { print; wide = 1 } END { exit wide }'
	done
}

@test "manual: each heading is printed as it is written" {
	needs groff
	for page in "$ROOT"/man/*.[157]; do
		groff -mdoc -Tascii -P-cbou "$page" | sed 's/^ *//' >printed
		sed -n 's/^\.S[hs] //p' "$page" | sed 's/\\&//g; s/\\-/-/g' |
			grep -vxFf printed >missing || true
		cat missing
		[ ! -s missing ]
	done
}

# Options, a line each: the command that takes it (filter for none), the option.

commands=$("$BUILD/options" | awk -F'\t' '$1 == "command" { print $2 }' |
	tr '\n' ' ')
commands=${commands% }

# words COMMAND: how it is written
words() {
	[ "$1" = filter ] || echo "$1"
}

help_options() {
	local command
	for command in $commands; do
		# shellcheck disable=SC2046 # no word, or one
		bloomdedup $(words "$command") --help | sed -nE 's/^ +(-[A-Za-z], )?(--[a-z0-9-]+).*/\1\2/p' |
			sed 's/, /\n/' | sed "s/^/$command /"
	done | sort -u
}

# entries PAGE: the options that have an entry in its section OPTIONS
entries() {
	awk '/^\.S[hs]/ { inside = $0 ~ /^\.Sh OPTIONS/ || inside && /^\.Ss/ }
		inside && /^\.It.* Fl |^\.It Fl / && !/ Ta / {
			for (i = 2; i < NF; i++)
				if ($i == "Fl")
					print "-" $(i + 1)
		}' "$1" | sort -u
}

zsh_options() {
	sed -nE "s/^[[:space:]]*'([a-z ]+)\|(\([^)]*\))?(--?[A-Za-z0-9-]+).*/\1|\3/p" \
		"$ZSH_COMPLETION" | sed 's/-$//' | each_command
}

fish_options() {
	sed -nE "s/.*__bloomdedup_takes ([a-z ]+)' (-s (.) )?(-l ([a-z0-9-]+) )?.*/\1|-\3 --\5/p" \
		"$FISH_COMPLETION" | each_command
}

# "add check|-f --filter" becomes four lines
each_command() {
	awk -F'|' '{
		n = split($1, command, " ")
		m = split($2, option, " ")
		for (i = 1; i <= n; i++)
			for (j = 1; j <= m; j++)
				if (option[j] ~ /[a-zA-Z]/)
					print command[i], option[j]
	}' | sort -u
}

# bash_completes WORD...: the answers to a tab behind the last word
bash_completes() {
	# shellcheck disable=SC2016 # is for the other shell
	bash --norc -c '
		source "$0"
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_bloomdedup
		[ ${#COMPREPLY[@]} -eq 0 ] || printf "%s\n" "${COMPREPLY[@]}"
	' "$BASH_COMPLETION" "$@"
}

bash_options() {
	local command
	for command in $commands; do
		# shellcheck disable=SC2046 # no word, or one
		bash_completes bloomdedup $(words "$command") - |
			sed -e 's/=$//' -e "s/^/$command /"
	done | sort -u
}

@test "--help has the options of every command" {
	help_options >options
	for command in $commands; do
		grep -qx -- "$command --help" options
	done
	grep -qx -- 'check -v' options
	grep -qx -- 'create --strip-cr' options
	[ "$(wc -l <options)" -ge 150 ]
}

@test "--help fits into 80 columns" {
	for command in $commands; do
		# shellcheck disable=SC2046 # no word, or one
		bloomdedup $(words "$command") --help |
			awk 'length > 80 { print; wide = 1 } END { exit wide }'
	done
}

@test "every option has its entry in the manual, and no others" {
	help_options | grep -v '^serve ' | sed 's/^[^ ]* //' | sort -u >options
	entries "$MANUAL" | diff -u options -
	# --help and --version have theirs there
	help_options | sed -n 's/^serve //p' |
		grep -vxE -e '-[hV]|--help|--version' | sort -u >options
	entries "$SERVE_MANUAL" | diff -u options -
}

@test "every entry of an option with a default ends with it" {
	bloomdedup serve --help | tr -s ' \n' ' ' | grep -oE -- '--[a-z-]+=[A-Z]+ [^[]*\[[^]]*\]' |
		sed -E 's/.*--([a-z-]+)=.*/\1/' | sort -u >options
	[ -s options ]
	while read -r option; do
		echo "$option"
		sed -n "/^\.It Fl .*Fl -$option Ns\|^\.It Fl -$option Ns/,/^\.It /p" \
			"$SERVE_MANUAL" | grep -q '^Default:'
	done <options
}

@test "the completion for bash has the options of --help, and no others" {
	help_options >help
	bash_options | diff -u help -
}

@test "the completion for zsh has the options of --help, and no others" {
	help_options >help
	zsh_options | diff -u help -
}

@test "the completion for fish has the options of --help, and no others" {
	help_options >help
	fish_options | diff -u help -
}

@test "every command of --help is in manual and completions" {
	bloomdedup --help | sed -n '/^Commands:/,/^$/p' |
		sed -n 's/^  \([a-z]*\) .*/\1/p' | sort >listed
	echo "$commands" | tr ' ' '\n' | grep -v filter | sort | cmp - listed
	bash_completes bloomdedup '' | sed '/^bin$/d' | sort >bash
	while read -r command; do
		grep -q "^\.It Cm $command\$" "$MANUAL"
		grep -qx "$command" bash
		grep -q "^		'$command:" "$ZSH_COMPLETION"
		grep -q -- "-a $command -d" "$FISH_COMPLETION"
	done <listed
}

@test "completions and manual are what make completions writes" {
	needs python3
	cp "$ROOT"/completions/* "$MANUAL" .
	"$BUILD/options" | python3 generate.py bloomdedup.bash bloomdedup.fish \
		_bloomdedup bloomdedup.1
	diff -u "$MANUAL" bloomdedup.1
	for name in bloomdedup.bash bloomdedup.fish _bloomdedup; do
		diff -u "$ROOT/completions/$name" "$name"
	done
}

# Completions at work.

@test "bash completes commands, and files as first operand" {
	touch chapter
	bash_completes bloomdedup ch | sort >out
	printf 'chapter\ncheck\n' | cmp - out
	bash_completes bloomdedup -f cr cr >out
	echo create | cmp - out
	bash_completes bloomdedup -q --output = add ch | sort >out
	printf 'chapter\ncheck\n' | cmp - out
}

@test "bash completes the values of options" {
	bash_completes bloomdedup --on-full = >out
	printf 'grow\nwarn\nfail\n' | cmp - out
	bash_completes bloomdedup add --on-full w >out
	echo warn | cmp - out
	bash_completes bloomdedup size --on-full = f >out
	echo fail | cmp - out
	bash_completes bloomdedup add --stats = >out
	echo json | cmp - out
	bash_completes bloomdedup add --stats '' >out
	[ ! -s out ]
	bash_completes bloomdedup --to-command xarg | grep -qx xargs
	bash_completes bloomdedup -k add --progress --repe >out
	echo --repeated | cmp - out
}

@test "bash completes file names by itself after -f and behind a command" {
	touch some.bloom
	for words in '-f s' 'check --filter = s' 'info s' 'add -f x s'; do
		# shellcheck disable=SC2086 # words
		bash_completes bloomdedup $words >out
		[ ! -s out ]
	done
	grep -q 'complete .*-o default .*bloomdedup$' "$BASH_COMPLETION"
}

@test "bash knows the command behind options and their arguments" {
	bash_completes bloomdedup -f add --zero-terminated check --inv >out
	echo --invert | cmp - out
	bash_completes bloomdedup -j add check --inv >out
	echo --invert | cmp - out
	bash_completes bloomdedup -- check --inv >out
	[ ! -s out ]
	bash_completes bloomdedup file check --inv >out
	[ ! -s out ]
}

@test "zsh gets the options of the command on the line" {
	needs zsh
	zsh -n "$ZSH_COMPLETION"
	# shellcheck disable=SC2016 # is for the other shell
	for command in $commands; do
		zsh -f -c '
			_arguments() { print -rl -- "${@[3,-1]}" }
			words=(bloomdedup -f size -j add $2 "") CURRENT=$#words
			[[ $2 = (size|try|info|create|help|version) ]] &&
				words=(bloomdedup $2 "") CURRENT=$#words
			file=$1; set --; source $file
		' zsh "$ZSH_COMPLETION" "$(words "$command")" |
			sed -nE 's/^(\([^)]*\))?(--?[A-Za-z0-9-]+).*/\2/p' |
			sed -e 's/-$//' -e "s/^/$command /"
	done | sort -u >out
	help_options | diff -u - out
}

@test "zsh completes a command after help" {
	needs zsh
	# shellcheck disable=SC2016 # is for the other shell
	timeout 60 zsh -f -c '
		zmodload zsh/zpty || exit
		zpty z zsh -f -i
		zpty -w z "fpath=(\"$1\" \$fpath); autoload -Uz compinit"
		zpty -w z "compinit -u -D; PS1=ready:"
		zpty -r z out "*ready:*"
		zpty -w -n z "bloomdedup help me"$'"'\t'"'
		zpty -r z out "*help merge*"
		zpty -d z
	' zsh "${ZSH_COMPLETION%/*}"
}

@test "fish completes options, values and commands" {
	needs fish
	fish --no-execute "$FISH_COMPLETION"
	fish_completes() {
		fish --no-config -c "source '$FISH_COMPLETION'
			complete -C '$1'" | sed 's/\t.*//'
	}
	fish_completes 'bloomdedup -f add check --inv' >out
	echo --invert | cmp - out
	fish_completes 'bloomdedup -j add check --inv' >out
	echo --invert | cmp - out
	fish_completes 'bloomdedup add --on-full ' | sort >out
	printf 'fail\ngrow\nwarn\n' | cmp - out
	fish_completes 'bloomdedup --to-command xarg' | grep -qx xargs
	fish_completes 'bloomdedup -k add --repe' >out
	echo --repeated | cmp - out
	fish_completes 'bloomdedup chec' >out
	echo check | cmp - out
	fish_completes 'bloomdedup info --inv' >out
	[ ! -s out ]
	fish_completes 'bloomdedup add --stats=' >out
	echo --stats=json | cmp - out
	grep -q -- "-l header -d 'take names for -k" "$FISH_COMPLETION"
}

# The Makefile's targets around the program.

@test "make deps does nothing where nothing is missing" {
	for name in apt-get dnf apk pacman brew sudo; do
		echo "echo $name >>calls; exit 1" | stand_in "$name"
	done
	make --no-print-directory -C "$ROOT" deps >out
	[ ! -s out ]
	[ ! -e calls ]
}

@test "make deps installs what is missing, after an update if needed" {
	stand_in apt-get <<-'END'
		echo apt-get "$@" >>calls
		case $* in *update*) touch updated ;; esac
		[ -e updated ]
	END
	echo 'exec "$@"' | stand_in sudo
	sed -i "s|>>calls|>>'$PWD/calls'|; s|updated|'$PWD/updated'|g" \
		bin/apt-get
	run make --no-print-directory -C "$ROOT" deps CC=no-such-compiler
	[ "$status" -ne 0 ]
	[[ $output == *'still missing: no-such-compiler'* ]]
	[ "$(wc -l <calls)" -eq 3 ]
	sed -n 1p calls | grep -q 'install .*zlib1g-dev libxxhash-dev bats'
	sed -n 2p calls | grep -q 'update$'
	sed -n 3p calls | cmp - <(sed -n 1p calls)
}

@test "make install puts everything below PREFIX, make uninstall removes it" {
	arguments=(--no-print-directory -C "$ROOT" "BUILD=$BUILD"
		"PROGRAM=$BLOOMDEDUP" "DESTDIR=$PWD/root" PREFIX=/usr)
	make "${arguments[@]}" install >out
	(cd root/usr && find . -type f | sort) >files
	{
		(cd "$ROOT/man/examples" &&
			printf './share/doc/bloomdedup/examples/%s\n' *)
		cat <<-'END'
		./bin/bloomdedup
		./share/bash-completion/completions/bloomdedup
		./share/doc/bloomdedup/NEWS.md
		./share/fish/vendor_completions.d/bloomdedup.fish
		./share/man/man1/bloomdedup-serve.1
		./share/man/man1/bloomdedup.1
		./share/man/man5/bloomdedup.5
		./share/man/man7/bloomdedup-redis.7
		./share/man/man7/bloomdedup.7
		./share/zsh/site-functions/_bloomdedup
		END
	} | sort >expected
	diff -u expected files
	echo a | root/usr/bin/bloomdedup | cmp - <(echo a)
	make "${arguments[@]}" uninstall >out
	[ -z "$(find root -type f)" ]
}

@test "make dist names the archive by the version" {
	version=$(bloomdedup --version | sed 's/bloomdedup \([^ ]*\).*/\1/')
	make --no-print-directory -n -C "$ROOT" dist >out
	grep -qF "archive '$version'" out
	grep -qF "## $version" "$ROOT/NEWS.md"
}
