# The recipes of bloomdedup(7) that use the network, with a web of their own.
load examples

PAGE=$ROOT/man/bloomdedup.7
EXAMPLES=$ROOT/man/examples

teardown() {
	[ -z "${web_server-}" ] || kill "$web_server" 2>/dev/null || true
}

# once FILTER FILE COMMAND...: in $status, with what it says in `said`
once() {
	status=0
	sh "$EXAMPLES/once.sh" "$@" 2>said || status=$?
}

@test "CRAWLERS: which links are one page, and how large the filter is" {
	stand_in_web
	cp "$EXAMPLES"/once.sh "$EXAMPLES"/fetch.sh .
	recipe CRAWLERS links urls
	command=$(sed -n 's/^\.Ql \(bloomdedup size .*\) \.$/\1/p' "$PAGE")
	$command >size
	grep -qE '^ +534\.2 MB +495\.7 MB$' size
}

@test "CRAWLERS: what is done, what is gone, and what comes again" {
	start_web
	for page in page/1 moved/page/2 found/page/3 status/404 status/410 status/451 \
		'page/[1-3]' 'page/{a,b}' status/204 \
		loop status/403 status/429 status/500 status/503 torn/4 flaky/5; do
		echo "$web/$page"
	done >urls
	echo "$refused/6" >>urls
	echo "file://$PWD/urls" >>urls
	once done.bloom urls sh "$EXAMPLES/fetch.sh"
	[ "$status" -eq 1 ]
	bloomdedup check -v -f done.bloom urls | cmp - <(tail -n 9 urls)
	grep -qF "$web/torn/4: not complete: curl: (18) " said
	# of several at a time, each says its sentence at once
	[ "$(wc -l <said)" -eq 10 ]
	[ "$(grep -cE '^[^ ]+: ([0-9]+$|not complete: curl: \([0-9]+\) [A-Z]?[a-z])' \
		said)" -eq 9 ]
	grep -qxF "$web/status/429: 429" said
	grep -q ' 9 lines are left' said
	# each page has its own text, whatever it was redirected by
	find pages -type f -size +0 -exec cat {} + | sort |
		cmp - <(printf 'page %s\n' 1 2 3 '[1-3]' '{a,b}')
	[ "$(find pages -type f | wc -l)" -eq 6 ]
	# the next round asks for no page again that was done
	once done.bloom urls sh "$EXAMPLES/fetch.sh"
	bloomdedup check -v -f done.bloom urls |
		cmp - <(tail -n 9 urls | sed '/flaky/d')
	for page in /page/1 /moved/page/2 /status/404 '/page/[1-3]'; do
		[ "$(requested "$page")" -eq 1 ]
	done
	[ "$(requested /torn/4)" -eq 2 ]
	[ "$(requested /flaky/5)" -eq 2 ]
	stop_web
}

@test "CRAWLERS: a dead host does not stop a crawl" {
	start_web
	printf "$web/page/%d\n" {1..40} | sed "10s|.*|$refused/10|" >urls
	once done.bloom urls sh "$EXAMPLES/fetch.sh"
	[ "$status" -eq 1 ]
	bloomdedup check -v -f done.bloom urls | cmp - <(echo "$refused/10")
	[ "$(find pages -type f | wc -l)" -eq 39 ]
	once done.bloom urls sh "$EXAMPLES/fetch.sh"
	[ "$status" -eq 1 ]
	[ "$(wc -l <requests)" -eq 39 ]
	sed -i 10d urls
	once done.bloom urls sh "$EXAMPLES/fetch.sh"
	[ "$status" -eq 0 ]
	[ ! -s said ]
	stop_web
}

@test "CRAWLERS: a command that ends with 255, as ssh does, stops no other" {
	printf 'host-%d\n' {1..40} >hosts
	export JOBS=1
	once done.bloom hosts sh -c '[ "$1" != host-3 ] || exit 255' sh
	[ "$status" -eq 1 ]
	bloomdedup check -v -f done.bloom hosts | cmp - <(echo host-3)
	grep -q ' 1 lines are left' said
}

@test "CRAWLERS: two rounds at once fetch each page once" {
	start_web
	printf "$web/slow/%d\n" {1..20} >urls
	JOBS=3 sh "$EXAMPLES/once.sh" done.bloom urls sh "$EXAMPLES/fetch.sh" \
		3>&- &
	round=$!
	three_requests() { [ -e requests ] && [ "$(wc -l <requests)" -eq 3 ]; }
	until_true three_requests
	once done.bloom urls sh "$EXAMPLES/fetch.sh"
	[ "$status" -eq 0 ]
	[ ! -s said ]
	touch go
	wait $round
	[ "$(sort -u requests | wc -l)" -eq 20 ]
	[ "$(wc -l <requests)" -eq 20 ]
	stop_web
}

# Without a group of its own, what it has started would go on.
@test "CRAWLERS: killed at any moment, only what was in work comes again" {
	start_web
	printf "$web/page/%d\n" {1..60} >urls
	: >requests
	bloomdedup create done.bloom
	while read -r url; do
		digest=$(printf %s "$url" | sha256sum)
		echo "pages/${digest%% *} $url"
	done <urls | sort -k 2 >names
	kills=0
	for ((i = 0; i < $(times 20 200); i++)); do
		JOBS=4 setsid sh "$EXAMPLES/once.sh" done.bloom urls \
			sh "$EXAMPLES/fetch.sh" 2>said 3>&- &
		in_a_moment
		! kill -KILL -$! 2>/dev/null || ((++kills))
		wait $! || true
		bloomdedup check -f done.bloom urls >known || true
		requests=$(wc -l <requests)
		# a page that is remembered is there, and is not fetched again
		join -2 2 <(sort known) names | cut -d ' ' -f 2 >files
		[ "$(wc -l <files)" -eq "$(wc -l <known)" ]
		[ ! -s files ] || xargs -n 1 test -s <files
		: >again
		[ $i -eq 0 ] || comm -12 <(sort known_before) \
			<(tail -n "+$((requests_before + 1))" requests |
				sed "s|^GET |$web|" | sort) >again
		[ ! -s again ]
		mv known known_before
		requests_before=$requests
	done
	[ $kills -gt 0 ]
	# until the last of them has ended
	flock done.bloom.lock true
	once done.bloom urls sh "$EXAMPLES/fetch.sh"
	[ "$status" -eq 0 ]
	[ "$(find pages -type f ! -name '*.new' | wc -l)" -eq 60 ]
	[ "$(sort -u requests | wc -l)" -eq 60 ]
	stop_web
}

@test "ONCE FOR EACH LINE: the new ones, and those that failed" {
	stand_in_web
	cp "$EXAMPLES/once.sh" .
	recipe 'ONCE FOR EACH LINE' notify notify-one
	printf 'a.example.orgb.example.orgc.example.org' >wanted
	printf '%s\n' a.example.org b.example.org c.example.org >>wanted
	cmp sent wanted
}

@test "ONCE FOR EACH LINE: a message that is refused is sent again, and only that" {
	start_web
	page_examples "$PAGE" 'ONCE FOR EACH LINE' >manual
	given manual notify notify-one
	sed -i "s|https://[^ )]*|$web/hook|" notify notify-one
	bloomdedup create told.bloom
	seq 1 5 >lines
	round() {
		bloomdedup --dry-run -f told.bloom lines | sh notify 2>said |
			bloomdedup add -f told.bloom
	}
	touch down
	round
	[ "$(wc -l <requests)" -eq 5 ]
	rm down
	round
	round
	echo '@6' >>lines # which curl would take for a file
	once told.bloom lines sh notify-one
	[ "$status" -eq 0 ]
	printf 'POST %s\n' 'refused '{1..5} {1..5} @6 | cmp requests -
	# what the server answers is not taken for a line
	run ! bloomdedup check -q -f told.bloom <<<answer
	stop_web
}

# in_a_moment: wait for less than 300 ms, since the web takes its time.
in_a_moment() {
	sleep "0.$((RANDOM % 3))$((RANDOM % 10))"
}

@test "ONCE FOR EACH LINE: killed at any moment, each message is sent, few twice" {
	start_web
	page_examples "$PAGE" 'ONCE FOR EACH LINE' >manual
	given manual notify
	sed -i "s|https://[^ )]*|$web/hook|" notify
	bloomdedup create told.bloom
	seq 200 >lines
	cat >round <<-'END'
		bloomdedup --dry-run -f told.bloom lines | sh notify |
			bloomdedup add -f told.bloom
	END
	killed in_a_moment sh round
	sh round
	sort -u requests | cmp - <(seq -f 'POST %g' 200 | sort)
	# what was just sent, and what was on its way through the pipe
	[ "$(wc -l <requests)" -le $((200 + 2 * kills)) ]
	stop_web
}

@test "ONCE FOR EACH LINE: what commands are given, and what the status says" {
	bloomdedup create lines.bloom
	head -c 200000 /dev/zero | tr '\0' x >long
	{ printf ' a  b\n-x\n*\n"q\n\\n\n' && cat long && printf '\nz'; } >lines
	once lines.bloom lines printf '<%s>\n' >out
	# one is longer than an argument can be: it is left, and does not stop the rest
	[ "$status" -eq 1 ]
	grep -q '1 lines are left' said
	sort out | cmp - <(printf '<%s>\n' ' a  b' -x '*' '"q' '\n' z | sort)
	once lines.bloom lines false
	bloomdedup check -v -f lines.bloom lines | cmp - <(cat long; echo)
	once lines.bloom missing true
	[ "$status" -eq 3 ]
	# what can be read only once
	once lines.bloom <(seq 3) true
	[ "$status" -eq 3 ]
	once nowhere/lines.bloom lines true
	[ "$status" -eq 3 ]
	once
	[ "$status" -eq 2 ]
	echo damage >lines.bloom
	once lines.bloom lines true
	[ "$status" -eq 3 ]
	# what cron's PATH may lack
	rm bin/bloomdedup
	run -127 env PATH=/usr/bin:/bin sh "$EXAMPLES/once.sh" f lines true
	[[ $output == *'bloomdedup: not found in PATH=/usr/bin:/bin'* ]]
}

# in_cron: the job of the page, with cron's shell, in the home directory
in_cron() {
	sh -c "$(cat job)"
}

@test "CRON: rounds, a feed that is down, and a round that is still at work" {
	needs xmlstarlet
	start_web
	page_examples "$PAGE" CRON >page
	mkdir feed
	cp "$EXAMPLES/feed.sh" feed
	sed -n 's/^0 \* \* \* \* //p' page |
		sed "s|https://example.org/feed.xml|$web/file/feed.xml|" >job
	grep -qF "$web" job
	a_feed https://example.org/1 https://example.org/2
	in_cron
	in_cron
	printf 'https://example.org/%d\n' 1 2 | cmp - feed/new-links
	mv feed.xml away
	status=0
	in_cron >out 2>err || status=$?
	[ "$status" -ne 0 ]
	[ -s err ]
	a_feed https://example.org/3
	# without a word, of which cron would make a mail
	perl -e 'open F, "<", shift or die; flock F, 2 or die;
		exit(system(@ARGV) >> 8)' feed/links.bloom sh -c "$(cat job)" \
		>out 2>&1
	[ ! -s out ]
	[ "$(wc -l <feed/new-links)" -eq 2 ]
	in_cron
	printf 'https://example.org/%d\n' 1 2 3 | cmp - feed/new-links
	echo damage >feed/links.bloom
	run ! in_cron
	[[ $output == *links.bloom* ]]
	run ! sh "$EXAMPLES/feed.sh"
	[[ $output == 'usage: '* ]]
	stop_web
}

@test "CRON: killed at any moment, and no link of a feed is lost" {
	needs xmlstarlet
	start_web
	a_feed $(seq -f 'https://example.org/%g' 3000)
	export TMPDIR=$PWD
	killed in_a_moment sh "$EXAMPLES/feed.sh" "$web/file/feed.xml"
	sh "$EXAMPLES/feed.sh" "$web/file/feed.xml"
	sort -u new-links | cmp - <(seq -f 'https://example.org/%g' 3000 | sort)
	stop_web
}

@test "CRON: what cron's PATH lacks is named, and the page's line adds it" {
	needs xmlstarlet
	needs curl
	[ ! -e /usr/bin/bloomdedup ] || skip 'bloomdedup is in /usr/bin'
	mkdir empty
	run -127 env PATH=/usr/bin:/bin sh "$EXAMPLES/feed.sh" file:///dev/null
	[[ $output == 'feed.sh: bloomdedup: not found in PATH=/usr/bin:/bin'* ]]
	page_examples "$PAGE" CRON | grep -qx 'PATH=/usr/local/bin:/usr/bin:/bin'
}

# links FEED LINK...: the feed, at a redirected address, gives these links
links() {
	local feed=$1
	shift
	rm -f links.bloom new-links
	sh "$EXAMPLES/feed.sh" "$web/moved/file/$feed"
	[ $# -eq 0 ] || printf '%s\n' "$@" | diff - new-links
}

# refuses TEXT FEED: the message ends so, and nothing is remembered
refuses() {
	run -1 sh "$EXAMPLES/feed.sh" "$web/file/$2"
	[[ $output == *"$1" ]]
	[ ! -e new-links ]
	[ ! -e links.bloom ]
}

@test "CRON: the links of feeds of each kind" {
	needs xmlstarlet
	start_web
	# RSS 0.91 and 2.0: CDATA, entities, blanks, attributes in single quotes,
	# guids, other links, an unknown prefix
	cat >rss.xml <<-'END'
		<?xml version='1.0'?>
		<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "http://my.netscape.com/publish/formats/rss-0.91.dtd">
		<rss version='2.0' xmlns:atom='http://www.w3.org/2005/Atom'><channel>
		<link>https://example.org/</link>
		<atom:link rel='self' href='https://example.org/feed'/>
		<image><url>https://example.org/image.png</url><link>https://example.org/image</link></image>
		<item><link>https://example.org/1?a=1&amp;b=2</link><comments>https://example.org/c</comments>
			<enclosure url='https://example.org/1.mp3'/></item>
		<item><link><![CDATA[ https://example.org/2?a=1&b=2 ]]></link></item>
		<item><link>https://example.org/3&#038;x=&#x26;</link></item>
		<item><guid isPermaLink='true'>https://example.org/guid-4</guid><atom:link rel='replies' href='https://example.org/r'/></item>
		<item><guid>https://example.org/guid-5</guid><link>
			https://example.org/5
		</link></item>
		<item><guid isPermaLink='false'>6</guid><title>without a link</title></item>
		<item><none:such/><description>&lt;a href="https://example.org/d"></description><link>7.html</link></item>
		</channel></rss>
	END
	links rss.xml 'https://example.org/1?a=1&b=2' 'https://example.org/2?a=1&b=2' \
		'https://example.org/3&x=&' https://example.org/guid-4 \
		https://example.org/5 "$web/file/7.html"
	cat >rdf.xml <<-'END'
		<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
		<channel rdf:about="https://example.org/"><link>https://example.org/</link>
		<items><rdf:Seq><rdf:li resource="https://example.org/1"/></rdf:Seq></items></channel>
		<item rdf:about="https://example.org/1"><link>https://example.org/1</link></item>
		</rdf:RDF>
	END
	links rdf.xml https://example.org/1
	sed 's|http://purl.org/rss/1.0/|http://my.netscape.com/rdf/simple/0.9/|' \
		rdf.xml >rss-0.90.xml
	links rss-0.90.xml https://example.org/1
	# Atom: xml:base in xml:base, and each form of a relative link
	cat >atom.xml <<-'END'
		<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://example.org/x/y/z">
		<link href="/self" rel="self"/>
		<entry xml:base="2006/"><link rel="edit" href="no"/><link rel="alternate" href="../a.html?q#f"/>
			<source><link href="no"/></source></entry>
		<entry><link href="?q=1"/></entry>
		<entry><link href="//example.com/2"/></entry>
		<entry><link href="/r"/></entry>
		<entry><link href="./b"/><link rel="enclosure" href="no"/></entry>
		<entry><link href="../../../c"/></entry>
		<entry><link href="https://example.org/é"/></entry>
		<entry xml:base="https://example.com"><link href="d"/></entry>
		<entry><id>without a link</id></entry>
		</feed>
	END
	printf 'https://%s\n' 'example.org/x/y/a.html?q#f' 'example.org/x/y/z?q=1' \
		example.com/2 example.org/r example.org/x/y/b example.org/c \
		example.org/é example.com/d >wanted
	mapfile -t wanted <wanted
	links atom.xml "${wanted[@]}"
	# the same with a prefix, a byte order mark, and in other encodings
	sed 's|<\(/*\)\([a-z]\)|<\1a:\2|g; s|xmlns=|xmlns:a=|' atom.xml >prefix.xml
	links prefix.xml "${wanted[@]}"
	{ printf '\xef\xbb\xbf' && cat atom.xml; } >mark.xml
	links mark.xml "${wanted[@]}"
	iconv -f UTF-8 -t UTF-16 atom.xml >utf-16.xml
	links utf-16.xml "${wanted[@]}"
	{
		echo '<?xml version="1.0" encoding="ISO-8859-1"?>'
		iconv -f UTF-8 -t ISO-8859-1 atom.xml
	} >latin-1.xml
	links latin-1.xml "${wanted[@]}"
	# no items
	echo '<rss><channel><link>https://example.org/</link></channel></rss>' >none.xml
	links none.xml
	[ ! -s new-links ]
	stop_web
}

@test "CRON: what is not a feed, or has no links, is an error" {
	needs xmlstarlet
	start_web
	echo '<html><body><p>hello' >html.xml
	refuses ': not XML' html.xml
	echo '<html><link>https://example.org/1</link></html>' >xhtml.xml
	refuses ': neither RSS nor Atom' xhtml.xml
	: >empty.xml
	refuses ': not XML' empty.xml
	echo '<rss><channel><item><title>t</title></item></channel></rss>' >no-links.xml
	refuses ': has items, but none has a link' no-links.xml
	# an entity must not become the contents of a file
	echo secret >secret
	cat >entity.xml <<-END
		<!DOCTYPE rss [<!ENTITY file SYSTEM "file://$PWD/secret">]>
		<rss><channel><item><link>https://example.org/&file;</link></item></channel></rss>
	END
	refuses ': not XML' entity.xml
	run -22 sh "$EXAMPLES/feed.sh" "$web/status/404"
	run -7 sh "$EXAMPLES/feed.sh" "$refused/feed"
	run -18 sh "$EXAMPLES/feed.sh" "$web/torn/feed"
	stop_web
}

# stored COMMAND...: with the filter at $web/store/f; its status
stored() {
	status=0
	sh "$EXAMPLES/stored-filter.sh" "$web/store/f" "$@" 2>said || status=$?
}

@test "MACHINES WITHOUT A DISK: a filter in an object store" {
	start_web
	seq 3 >lines
	stored sh -c 'bloomdedup -f seen.bloom lines >>out'
	[ "$status" -eq 0 ]
	# another machine, which has nothing
	rm seen.*
	stored sh -c '{ cat lines; echo 4; } | bloomdedup -f seen.bloom >>out'
	[ "$status" -eq 0 ]
	cmp out <(seq 4)
	# a command that fails, a server that does: the old filter stays
	stored sh -c 'seq 5 | bloomdedup -f seen.bloom >>out; exit 9'
	[ "$status" -eq 9 ]
	touch down
	stored sh -c 'seq 5 | bloomdedup -f seen.bloom >>out'
	[ "$status" -eq 1 ]
	grep -q 'status 500' said
	rm down
	stored sh -c 'seq 5 | bloomdedup -f seen.bloom >>out'
	cmp out <(seq 4; echo 5; echo 5; echo 5)
	# another machine is faster
	mkdir slow
	(cd slow && stored sh -c 'touch begun; until [ -e ../go ]; do sleep 0.01; done
		seq 6 | bloomdedup -f seen.bloom >out' && echo "$status" >status) 3>&- &
	until_true [ -e slow/begun ]
	stored sh -c 'seq 7 | bloomdedup -f seen.bloom >>out'
	[ "$status" -eq 0 ]
	touch go
	wait $!
	[ "$(cat slow/status)" -eq 1 ]
	grep -q 'another run was faster' slow/said
	# an error is not an empty store
	run -1 sh "$EXAMPLES/stored-filter.sh" "$web/status/403" true
	[[ $output == *'status 403' ]]
	run -2 sh "$EXAMPLES/stored-filter.sh" "$web/store/f"
	stop_web
}

@test "MACHINES WITHOUT A DISK: killed at any moment, no line is lost" {
	start_web
	seq 3000 >lines
	: >delivered
	echo 'bloomdedup -f seen.bloom "$1" >new && cat new >>delivered' >job
	for ((i = 1; i <= $(times 20 200); i++)); do
		head -n $((i * 10)) lines >some
		setsid sh "$EXAMPLES/stored-filter.sh" "$web/store/f" \
			sh job some 2>said 3>&- &
		any_moment $i
		kill -KILL -$! 2>/dev/null || true
		wait $! || true
	done
	# what the last of them has sent may arrive only now
	succeeds() { stored sh job lines && [ "$status" -eq 0 ]; }
	until_true succeeds
	sort -n -u delivered | cmp lines -
	stored sh job lines
	[ ! -s new ]
	stop_web
}

@test "MACHINES WITHOUT A DISK: the examples for Actions and Kubernetes are YAML" {
	needs python3
	python3 -c 'import yaml' || skip 'PyYAML is not installed'
	page_examples "$PAGE" 'GitHub Actions' >actions.yaml
	python3 - actions.yaml "$EXAMPLES/cronjob.yaml" <<-'END'
		import sys, yaml
		actions = yaml.safe_load(open(sys.argv[1]))
		assert actions["steps"][1]["with"]["path"] == "seen.bloom"
		claim, job = yaml.safe_load_all(open(sys.argv[2]))
		assert claim["spec"]["accessModes"] == ["ReadWriteOncePod"]
		assert job["spec"]["concurrencyPolicy"] == "Forbid"
		pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
		for container in pod["initContainers"] + pod["containers"]:
		    assert container["securityContext"]["readOnlyRootFilesystem"]
		    assert container["volumeMounts"][0]["mountPath"] == "/data"
	END
}

# As in a container whose root is read-only, with two volumes.
@test "MACHINES WITHOUT A DISK: nothing is written but the filter's directory" {
	needs_strace
	mkdir data
	for option in '' --sync --shared --atomic --dry-run; do
		seq 10 | strace -f -o trace -e trace=%file,%desc \
			"$BLOOMDEDUP" -f data/seen.bloom $option >out
		grep -E '^[0-9]+ +(open|openat|creat)\(.*(O_WRONLY|O_RDWR|O_CREAT)' \
			trace | grep -vE '"(/work|[^"]*/)?data|"/dev/|= -1' >written || true
		cat written
		[ ! -s written ]
		rm -f data/*
		[ "$option" != --dry-run ] || break
		"$BLOOMDEDUP" create data/seen.bloom
	done
}
