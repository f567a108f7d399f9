# Functions for tests that run the examples of README and the manual pages.
load ../common

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	mkdir bin
	ln -s "$BLOOMDEDUP" bin/bloomdedup
	PATH=$PWD/bin:$PATH
	export PATH HOME=$PWD LC_ALL=C
	unset MAKEFLAGS MAKELEVEL MFLAGS
}

# stand_in NAME: a command whose body is on standard input.
stand_in() {
	{ echo '#!/bin/sh' && cat; } >"bin/$1"
	chmod +x "bin/$1"
}

# killed MOMENT COMMAND...: 20 times, each after `MOMENT I`, with all that it has
# started; $kills counts those that were met.
killed() {
	local moment=$1 i
	shift
	kills=0
	for ((i = 0; i < $(times 20 200); i++)); do
		setsid "$@" >>out 2>said 3>&- &
		$moment $i
		! kill -KILL -$! 2>/dev/null || ((++kills))
		wait $! || true
	done
	[ $kills -gt 0 ]
}

# transcript FILE: run its lines that begin with "$ ", with those that begin
# with "> " directly below them, and compare what they print with the lines
# below them. Figures that chance has a hand in, and times, may differ.
transcript() {
	awk '
		function quote(text) {
			gsub(/\047/, "\047\\\047\047", text)
			return "\047" text "\047"
		}
		function flush() {
			if (command != "") {
				print "status=$?; printf \"%s\\n\" " quote(shown)
				print "(exit $status)"
				print command
			}
			command = ""
		}
		/^\$ / { flush(); shown = $0; command = substr($0, 3); next }
		/^> / && command != "" {
			shown = shown "\n" $0
			command = command "\n" substr($0, 3)
			next
		}
		{ flush() }
		END { flush() }' "$1" >transcript.sh
	mask <"$1" >expected
	bash transcript.sh 2>&1 </dev/null | mask >printed
	grep -q bloomdedup expected
	grep -q '^\$ ' expected
	diff -u expected printed
}

# given FILE NAME...: make the files that a transcript shows with cat before
# anything could have made them.
given() {
	local name transcript=$1
	shift
	for name; do
		awk -v line="\$ cat $name" '
			/^\$ / { inside = !seen && $0 == line
				seen = seen || inside; next }
			inside' "$transcript" >"$name"
		[ -s "$name" ]
		case $(head -c 2 "$name") in '#!') chmod +x "$name" ;; esac
	done
}

mask() {
	sed -E -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]+ UTC/DATE/' \
		-e 's/about [0-9,]+ lines/about N lines/' \
		-e 's/(room +)[0-9,]+/\1N/' \
		-e 's/(error rate +)[0-9.e-]+ now/\1N now/' \
		-e 's/(error rate now )[0-9.e-]+/\1N/' \
		-e 's/\[[#.]+\] +[0-9]+ %/[BAR]/' \
		-e 's/"lines": [0-9]+/"lines": N/'
}

# page_examples PAGE SECTION: the text of the examples of a section, with those of
# its subsections, or of a subsection, as it is shown
page_examples() {
	awk -v section="$2" '
		/^\.Sh/ { inside = 0; whole = wanted = substr($0, 5) == section }
		/^\.Ss/ { inside = 0; wanted = whole || substr($0, 5) == section }
		/^\.Bd -literal/ { inside = wanted; next }
		/^\.Ed/ { inside = 0 }
		inside' "$1" |
		sed -e 's/^\\&//' -e "s/\\\\(aq/'/g" -e 's/\\(ga/`/g' \
			-e 's/\\(ha/^/g' -e 's/\\(ti/~/g' -e 's/\\-/-/g' \
			-e 's/\\e/\\/g'
}

# recipe SECTION FILE...: what a recipe of bloomdedup(7) prints is what the page shows. The files are
# those that it shows with cat before anything could have made them.
recipe() {
	page_examples "$ROOT/man/bloomdedup.7" "$1" >recipe
	[ -s recipe ]
	shift
	[ $# -eq 0 ] || given recipe "$@"
	transcript recipe
}

# A web with a feed, which is the file feed.xml, pages, and addresses that take
# what is sent to them.
stand_in_web() {
	stand_in curl <<-END
		feed='$PWD/feed.xml'
	END
	cat >>bin/curl <<-'END'
		while [ $# -gt 1 ]; do
			case $1 in
			-o) file=$2 ;;
			*@-) is_message=1 ;;
			esac
			shift
		done
		if [ -n "${is_message-}" ]; then
			cat >>sent
			exit
		fi
		case $1 in
		*/gone) printf 404 ;;
		*/down) exit 7 ;;
		*/feed.xml) cat "$feed" >"$file" && printf %s "$1" ;;
		*) echo page >"$file" && printf 200 ;;
		esac
	END
}

# a_feed LINK...: makes feed.xml, with these links
a_feed() {
	{
		echo '<rss version="2.0"><channel><link>https://example.org</link>'
		printf '<item><link>%s</link></item>\n' "$@"
		echo '</channel></rss>'
	} >feed.xml
}

# start_web: the web of web.py, with $web, its address, and $refused, one that
# refuses connections. The file `requests` has what it was asked for.
start_web() {
	needs python3
	needs curl
	export no_proxy='*'
	python3 "$ROOT/tests/house/web.py" requests >ports 3>&- &
	web_server=$!
	until_true [ -s ports ]
	read -r web refused <ports
	web=http://127.0.0.1:$web
	refused=http://127.0.0.1:$refused
}

# requested PATH: how often it was asked for
requested() {
	grep -cFx "GET $1" requests || true
}

stop_web() {
	kill $web_server
	wait $web_server || true
}
