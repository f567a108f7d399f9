# The recipes of bloomdedup(7), but for those in web-recipes.bats, and the files
# in man/examples.
load examples

PAGE=$ROOT/man/bloomdedup.7
EXAMPLES=$ROOT/man/examples

@test "LISTS TO EXCLUDE: what the statuses mean" {
	recipe 'LISTS TO EXCLUDE' filtered
	# a filter that is missing is a failure, and nothing is lost by it
	printf 'bacon\n' >urls
	mv blocked.bloom away
	run ! bash filtered
	mv away blocked.bloom
	bash filtered
	[ "$(tail -n 1 new)" = bacon ]
	mv seen.bloom away
	echo 'not a filter' >seen.bloom
	run ! bash filtered
}

@test "COMPARING LISTS: a list that grows, killed at any moment, and without its filter" {
	recipe 'What is new since the last scan, in a list that you can read'
	rm hosts.*
	"$HELPER" lines 100000 >all
	kills=0
	scan() {
		exec bloomdedup -f hosts.bloom --tee=hosts.txt "$@"
	}
	for ((i = 0; i < $(times 20 200); i++)); do
		(scan all) >>shown 2>said 3>&- &
		any_moment $i
		! kill -KILL $! 2>/dev/null || ((++kills))
		wait $! || true
		# now and then, begin again, or lose the filter
		case $((i % 10)) in
		4)
			# cut off what the kill may have torn
			(scan /dev/null) 2>said || true
			bloomdedup --atomic -o hosts.txt hosts.txt
			rm -f hosts.bloom*
			bloomdedup add -f hosts.bloom hosts.txt
			;;
		9) rm -f hosts.* shown ;;
		esac
	done
	[ $kills -gt 0 ]
	# two of them at once
	(scan all) >>shown 3>&- &
	(scan all) >shown-too
	wait $!
	sort -u hosts.txt | cmp - <(sort all)
	sort -u shown shown-too | cmp - <(sort all)
	bloomdedup --atomic -o hosts.txt hosts.txt
	sort hosts.txt | cmp - <(sort all)
	# made again from the list
	rm hosts.bloom
	bloomdedup add -f hosts.bloom hosts.txt
	echo new >>all
	[ "$(scan all)" = new ]
	[ "$(tail -n 1 hosts.txt)" = new ]
}

@test "EVERY COPY: dropped, in order" {
	recipe 'EVERY COPY'
	"$HELPER" lines 3000 3 >list
	sed -n '1~3p' list >again
	cat again >>list
	rm repeated.bloom
	bloomdedup -d list | bloomdedup add -f repeated.bloom
	bloomdedup check -v -f repeated.bloom list |
		cmp - <(head -n 3000 list | sed '1~3d')
}

@test "DATA SETS: a corpus whose loop is killed anywhere has each line once" {
	recipe 'A corpus file by file' shards
	rm -r unique corpus.bloom ./*.jsonl
	"$HELPER" lines 4000 | sed 's/.*/{"text": "&"}/' >all
	split -l 1000 --additional-suffix=.jsonl all part-
	cat all >part-again.jsonl
	bloomdedup create --json=/text -n 1e5 corpus.bloom
	# "output in place and nothing remembered" is a state of its own
	mkdir unique
	cp part-aa.jsonl unique
	for ((i = 0; i < $(times 30 300); i++)); do
		timeout -s KILL 0.0$((RANDOM % 90 + 10)) sh shards || true
	done
	sh shards
	cat unique/part-a?.jsonl | cmp all -
	[ ! -s unique/part-again.jsonl ]
	[ "$(find unique -name '*.done' | wc -l)" -eq 5 ]
}

@test "DATA SETS: JSON Lines and CSV" {
	recipe 'JSON Lines and CSV' texts.jsonl people.csv
}

@test "DATA SETS: many files, by names on standard input, and by xargs" {
	recipe 'Many files'
	# the next run adds what is new, below the one header
	printf 'id,mail\n5,a\n6,d\n' >tables/3.csv
	page_examples "$PAGE" 'Many files' | sed -n '/xargs/,/append$/p' |
		cut -c 3- >again
	bash again
	tail -n 2 mail.csv | cmp - <(printf '4,c\n6,d\n')
	[ "$(grep -c id,mail mail.csv)" -eq 1 ]
	# killed at any moment
	rm tables/* mail.csv mails
	for ((i = 0; i < 20; i++)); do
		{ echo id,mail && seq $((i * 1000)) $((i * 1000 + 1499)) |
			sed 's/.*/&,&/'; } >tables/$i.csv
	done
	killed any_moment bash again
	bash again
	[ "$(grep -c id,mail mail.csv)" -eq 1 ]
	[ "$(head -n 1 mail.csv)" = id,mail ]
	tail -n +2 mail.csv | sort -u |
		cmp - <(seq -f '%g' 0 20499 | sed 's/.*/&,&/' | sort)
}

@test "DATA SETS: records of several lines" {
	recipe 'Records of several lines'
	"$HELPER" lines 4000 5 | tr -d '\t' >reads
	paste - - - - <reads | shuf --random-source=reads | tr '\t' '\n' |
		cat reads - | gzip >reads.gz
	for threads in 1 2; do
		gzip -dc reads.gz | paste - - - - |
			bloomdedup -j $threads -t $'\t' -k 2 | tr '\t' '\n' |
			cmp reads -
	done
}

@test "DATA SETS: compressed output, killed at any moment" {
	recipe 'Compressed output' compressed
	rm ./*.gz seen.bloom
	"$HELPER" lines 100000 >all
	# shellcheck disable=SC2016 # a name for each
	killed any_moment sh -c 'exec sh compressed $$.gz all'
	sh compressed last.gz all
	gzip -dc ./*.gz | sort -u | cmp - <(sort all)
	run -2 sh compressed last.gz all
}

@test "DATA SETS: compressed output, two runs with one name" {
	recipe 'Compressed output' compressed
	rm ./*.gz seen.bloom
	mkfifo input
	sh compressed both.gz input 2>said 3>&- &
	exec 7>input
	echo a >&7
	until [ -e both.gz.new ]; do sleep 0.01; done
	# it passes the first look, and then waits for the filter
	status=0
	sh -x compressed both.gz <(echo b) 2>refused 3>&- 7>&- &
	until grep -q '^+ bloomdedup' refused; do sleep 0.01; done
	exec 7>&-
	wait $! || status=$?
	[ "$status" -eq 1 ]
	gzip -dc both.gz >out
	echo a | cmp - out
	# what the second one had is not remembered
	[ "$(echo b | bloomdedup -f seen.bloom)" = b ]
}

@test "DATA SETS: decontamination, by equal texts and by runs of words" {
	needs jq
	recipe Decontamination tests.jsonl corpus.jsonl runs
}

@test "COMPARING LISTS: gone, new and changed, and again after a kill" {
	recipe 'COMPARING LISTS'
	page_examples "$PAGE" 'COMPARING LISTS' | sed -n 's/^[$>] //p' |
		sed '/printf/d; /monday/,$d' >compare
	grep -q whole.bloom compare
	"$HELPER" lines 30000 | sed 's/,/;/g; s/.*/&,a/' >old.csv
	sed '1~3d; 2~3s/a$/b/' old.csv >new.csv
	echo new,a >>new.csv
	for ((i = 0; i < $(times 20 200); i++)); do
		timeout -s KILL 0.0$((RANDOM % 100)) bash compare >out || true
	done
	bash compare >out
	{ sed -n '1~3p' old.csv && echo new,a && sed -n '2~3s/a$/b/p' old.csv; } |
		sed '/^new,a$/!b' >wanted
	sort wanted | cmp - <(sort out)
	# two at once, with filters of their own
	sed 's/\([a-z]*\)\.bloom/too-\1.bloom/g' compare >compare-too
	bash compare >out 3>&- &
	bash compare-too >out-too
	wait $!
	sort wanted | cmp - <(sort out)
	sort wanted | cmp - <(sort out-too)
}

@test "EVERY COPY: the last copy instead of the first" {
	recipe 'The last copy instead of the first'
}

@test "LOGS: the first time that something is seen, at once" {
	recipe 'The first time that something is seen' logins.csv
	needs_faketime
	mkfifo in
	bloomdedup -f logins.bloom <in >alerts 3>&- &
	exec 7>in
	echo '09:30,bob,192.0.2.7,web' >&7
	echo '09:40,bob,198.51.100.4,web' >&7
	until_true grep -q 09:40 alerts
	exec 7>&-
	wait $!
	[ "$(wc -l <alerts)" -eq 1 ]
	# what is seen again is not remembered longer by that
	echo '1,ann,192.0.2.1' >line
	for day in 50 89; do
		[ -z "$(faketime -f "+${day}d" "$BLOOMDEDUP" -f logins.bloom line)" ]
	done
	[ -n "$(faketime -f +120d "$BLOOMDEDUP" -f logins.bloom line)" ]
}

# after CHANGE COMMAND...: what is in `out` and `out.1` if CHANGE is done between
# the first line of the command and the second
after() {
	rm -f in out out.1 seen.bloom
	mkfifo in
	bash -c "$2" <in 3>&- &
	exec 7>in
	echo a >&7
	until_true grep -q a out
	eval "$1"
	echo b >&7
	exec 7>&-
	wait $!
}

@test "LOGS: a file that is renamed or truncated during a run" {
	needs perl
	for command in 'bloomdedup -f seen.bloom >>out' \
		'bloomdedup -f seen.bloom >out' \
		'bloomdedup -f seen.bloom -o out --append'; do
		after 'mv out out.1' "$command"
		printf 'a\nb\n' | cmp - out.1
		[ ! -e out ]
		after 'cp out out.1; : >out' "$command"
		printf 'b\n' | cmp - out
	done
	# stopped and started again, in the place of systemctl restart
	seq 3000000 >numbers
	rm -f seen.bloom out
	"$BLOOMDEDUP" -p 1e-12 -f seen.bloom numbers >>out 3>&- &
	until_true test -s out
	mv out out.1
	kill -TERM $! || true
	wait $! || true
	bloomdedup -f seen.bloom numbers >>out
	cat out.1 out | cmp numbers -
}

@test "WHEN SOMETHING WENT WRONG: the answers, one after the other" {
	recipe 'WHEN SOMETHING WENT WRONG'
}

# What can go wrong in a day is in days.bats.
@test "SEVERAL MACHINES: two days with GNU parallel, and with faults" {
	needs parallel
	cp "$EXAMPLES/parts-parallel.sh" .
	recipe 'SEVERAL MACHINES'
	cat day-1/new-* | sort -n | cmp - monday
	# an input that ends too early
	seq 1 3 2000 | gzip >whole
	head -c 500 whole >wednesday
	run ! bash parts-parallel.sh . day-3 wednesday
	[ ! -e day-3/new-1 ]
	[[ $output == *"wednesday: "* ]]
	# the right one is another file
	bash parts-parallel.sh . day-4 whole
	cat day-4/new-* | sort -n | cmp - <(seq 1 3 2000 | awk '$1 > 1500')
	# filters at each other's places
	mv part-1.bloom away
	mv part-2.bloom part-1.bloom
	mv away part-2.bloom
	run ! bash parts-parallel.sh . day-5 monday
	[[ $output == *"part-1.bloom: not made with --part=1/"* ]]
	[ ! -e day-5 ]
}

@test "CAPACITY PLANNING: the size, and a hundred small parts in place of large ones" {
	recipe 'CAPACITY PLANNING'
	# a part has 10,000 lines, and five deviations are 500
	"$HELPER" lines 1000000 9 >in
	bloomdedup partition --parts=100 -o 'part-%d' in
	"$HELPER" lines 300000 8 >others
	bloomdedup partition --parts=100 -o 'other-%d' others
	untraced each_part_fits
	# none of them has grown
	bloomdedup size --json -n 10500 -p 1e-3 | json_value bytes >told
	stat -c %s filter-* | sort -u | cmp - told
	# a part's rate is that of any filter: 300 mistakes, and five deviations
	n=$(cat found-* | wc -l)
	[ "$n" -le 390 ]
}

# One in a hundred of 1e12 lines, as the page says it: what the fullest of the
# parts of 2,000 such filters is most likely to exceed the mean by.
@test "CAPACITY PLANNING: a thousandth more than the mean is enough for every part" {
	needs python3
	grep -q 'at most a few hundred thousand more' "$PAGE"
	python3 - 1.001e10 <<-'END'
		import statistics, sys
		mean, parts, room = 1e10, 100, float(sys.argv[1])
		deviation = (mean * (1 - 1 / parts)) ** 0.5
		most = statistics.NormalDist(mean, deviation).inv_cdf(
		    1 - 1 / (parts * 2000))
		assert 2e5 < most - mean < 7e5, most
		assert most < room
	END
}

each_part_fits() {
	for ((i = 1; i <= 100; i++)); do
		bloomdedup create -n 10500 -p 1e-3 --part=$i/100 filter-$i &&
			bloomdedup add --strict-part -f filter-$i part-$i ||
			return 1
		# status 1: none was found
		bloomdedup check --strict-part -f filter-$i other-$i \
			>found-$i || [ $? -eq 1 ] || return 1
	done
}

@test "LARGER THAN MEMORY: parts, one after the other, and in order" {
	recipe 'LARGER THAN MEMORY' in-order
	many_lines 2000 4 | sed '1~7s/^/\t/; 2~7s/$/\t/' >in
	sed -n '1~3p' in >again
	cat again >>in
	bash in-order in | cmp - <(head -n 2000 in)
	run ! bash in-order missing
}

@test "NO FALSE POSITIVES: by sorting, in order" {
	recipe 'NO FALSE POSITIVES' exact
	many_lines 2000 4 | sed '1~7s/^/\t/; 2~7s/$/\t/' >in
	sed -n '1~3p' in >again
	cat again >>in
	bash exact in | cmp - <(head -n 2000 in)
	run ! bash exact missing
}

@test "CRON: systemd accepts the units" {
	needs systemd-analyze
	mkdir units
	cp "$EXAMPLES"/*.service "$EXAMPLES"/*.socket "$EXAMPLES"/*.timer units
	# they name the files of make install
	sed -i "s|/usr/local/bin/|$PWD/bin/|
		s|/usr/local/share/doc/bloomdedup/examples/|$EXAMPLES/|" units/*
	grep -q "$PWD" units/bloomdedup.service
	grep -q "$EXAMPLES/feed.sh" units/bloomdedup-feed.service
	SYSTEMD_UNIT_PATH=$PWD/units: systemd-analyze verify --man=no units/* \
		>out 2>&1
	cat out
	[ ! -s out ]
	# and a mistake isn't
	sed -i 's/^ExecStart=/&no\/path/' units/bloomdedup.service
	run ! env SYSTEMD_UNIT_PATH="$PWD/units:" systemd-analyze verify \
		--man=no units/bloomdedup.service
}

@test "SERVICES: the server answers on the socket that it is given" {
	needs_serve
	needs systemd-socket-activate python3
	mkdir filters
	command=$(sed -n 's/^ExecStart=[^ ]* //p' "$EXAMPLES/bloomdedup.service")
	command=${command/\/var\/lib\/bloomdedup/filters}
	# shellcheck disable=SC2086 # words
	systemd-socket-activate -l "$PWD/socket" bin/bloomdedup $command \
		2>err 3>&- &
	server=$!
	until_true [ -S socket ]
	python3 - <<-'END'
		import socket
		s = socket.socket(socket.AF_UNIX)
		s.connect("socket")
		s.sendall(b"add urls 0 0 11\r\n100000|1e-6\r\n"
		          b"add urls|a 0 0 1\r\n1\r\nadd urls|a 0 0 1\r\n1\r\n")
		answers = s.makefile("rb")
		assert [next(answers) for i in range(3)] == \
		    [b"STORED\r\n", b"STORED\r\n", b"NOT_STORED\r\n"]
	END
	kill -TERM $server
	wait $server
	[ "$(echo a | bloomdedup check -f filters/urls.bloom)" = a ]
}

# What Redpanda Connect's dedupe sends by its cache, as recorded from its core
# with gomemcache, its client: `add` of the key, with its default expiration of
# 300 seconds, which a filter ignores, and the value t.
@test "SERVICES: Redpanda Connect's cache passes each record once" {
	needs_serve
	needs python3
	grep -q '^      prefix: "urls|"$' "$EXAMPLES/redpanda-connect.yaml"
	# dedupe drops, in silence, a record whose key it can't compute
	grep -qF '(json("url") | content()).string()' \
		"$EXAMPLES/redpanda-connect.yaml"
	mkdir filters
	# as its comment says
	command=$(sed -n 's/^#  *\(bloomdedup create\)/\1/p' \
		"$EXAMPLES/redpanda-connect.yaml")
	eval "${command/\/var\/lib\/bloomdedup/filters}"
	"$BLOOMDEDUP" serve -d filters -l unix:socket 2>err 3>&- &
	server=$!
	until_true [ -S socket ]
	python3 - <<-'END'
		import hashlib, socket
		s = socket.socket(socket.AF_UNIX)
		s.connect("socket")
		answers = s.makefile("rb")
		passed = []
		for url in "a", "b", "a":
		    key = "urls|" + hashlib.sha256(url.encode()).hexdigest()
		    s.sendall(b"add %s 0 300 1\r\nt\r\n" % key.encode())
		    passed.append(next(answers))
		assert passed == [b"STORED\r\n", b"STORED\r\n", b"NOT_STORED\r\n"]
	END
	kill -TERM $server
	wait $server
}

# make check-clients installs it; here it may be there.
@test "CRAWLERS: two spiders of Scrapy fetch each page once" {
	needs_serve
	needs python3
	# Debian's Python has them where another one comes first
	for python in python3 /usr/bin/python3 none; do
		# found, not imported: that takes a second
		! $python -c 'from importlib.util import find_spec
assert find_spec("scrapy") and find_spec("pymemcache")' 2>/dev/null || break
	done
	[ $python != none ] || skip "Python with Scrapy and pymemcache is not installed"
	mkdir filters
	"$BLOOMDEDUP" serve -d filters -l 127.0.0.1:0 2>err 3>&- &
	server=$!
	until_true grep -q ' on 127' err
	PYTHONPATH=$EXAMPLES $python \
		"$ROOT/tests/serve/clients/scrapy_spiders.py" \
		"$(sed -n 's/.* on 127\.0\.0\.1://p' err)"
	kill -TERM $server
	wait $server
}

@test "every recipe has a test, and the page names every example" {
	sed -n 's/^\.Sh //p' "$PAGE" |
		grep -vxE 'NAME|DESCRIPTION|SEE ALSO|AUTHORS' >sections
	[ -s sections ]
	while read -r section; do
		echo "$section"
		cat "$ROOT"/tests/house/*recipes.bats | grep -qF "@test \"$section: "
	done <sections
	for file in "$EXAMPLES"/*; do
		name=${file##*/}
		echo "$name"
		grep -qF "${name//-/\\-}" "$PAGE" || grep -qF "$name" "$PAGE"
	done
}

# start_leases: a server with leases and the filter pages, and $address
start_leases() {
	mkdir filters
	"$BLOOMDEDUP" create -n 1e5 filters/pages.bloom
	"$BLOOMDEDUP" serve -d filters --lease=10m -l 127.0.0.1:0 2>err 3>&- &
	server=$!
	until_true grep -q ' on 127' err
	address=127.0.0.1:$(sed -n 's/.* on 127\.0\.0\.1://p' err)
}

# lease_worker NAME: in the background, for the URLs in NAME; $! is its number
lease_worker() {
	AGAIN=0.1 "$python" "$EXAMPLES/lease_worker.py" "$address" pages \
		<"$1" >"$1.out" 2>"$1.err" 3>&- &
}

@test "SERVICES: workers with leases fetch each page once, and those of a killed one" {
	needs_serve
	needs python3
	for python in python3 /usr/bin/python3 none; do
		$python -c 'from importlib.util import find_spec
assert find_spec("pymemcache")' 2>/dev/null && break
	done
	[ $python != none ] || skip "Python with pymemcache is not installed"
	start_leases
	mkdir www
	for i in {1..30}; do
		echo "page $i" >www/$i
	done
	seq 30 | sed "s|^|file://$PWD/www/|" >first
	cp first second
	# one that can't be had: it is tried, and reported
	echo "file://$PWD/www/none" >>second
	# this one's first page never comes
	mkfifo www/stuck
	echo "file://$PWD/www/stuck" | cat - first >stuck
	lease_worker stuck
	worker=$!
	has_a_lease() { [ "$(ask_leases)" = 1 ]; }
	until_true has_a_lease
	lease_worker first
	one=$!
	lease_worker second
	wait $!
	wait $one
	grep 'www/none: ' second.err
	sort first.out second.out | cmp - <(sort first)
	[ ! -s stuck.out ]
	[ "$(find pages -type f | wc -l)" -eq 30 ]
	kill -KILL $worker
	# its page is given to the next one when the lease has ended, or now
	digest=$(printf 'file://%s' "$PWD/www/stuck" | sha256sum)
	rm www/stuck
	echo 'at last' >www/stuck
	lease_worker stuck
	worker=$!
	printf 'delete pages|%s\r\n' "${digest%% *}" | "$HELPER" ask "$address" |
		grep -q DELETED
	wait $worker
	[ "$(cat stuck.out)" = "file://$PWD/www/stuck" ]
	[ "$(ask_leases)" = 0 ]
	kill -TERM $server
	wait $server
}

# ask_leases: how many there are
ask_leases() {
	echo stats | "$HELPER" ask "$address" | tr -d '\r' |
		sed -n 's/^STAT leases //p'
}

# What Redpanda Connect sends with leases, as recorded from its core with
# gomemcache: `add` with the time of the cache, `set` with the same one, and an
# add that is answered with EXISTS again, until it is stored.
@test "SERVICES: Redpanda Connect's record passes again if its output failed" {
	needs_serve
	needs python3
	yaml=$EXAMPLES/redpanda-connect-leases.yaml
	for line in 'drop_on_err: false' 'reject_errored:' \
		'pattern: fan_out_sequential_fail_fast' 'default_ttl: 30s'; do
		grep -q "$line" "$yaml"
	done
	start_leases
	python3 - "${address#*:}" <<-'END'
		import socket, sys
		s = socket.create_connection(("127.0.0.1", sys.argv[1]))
		answers = s.makefile("rb")
		def ask(verb, time):
		    s.sendall(b"%s pages|0123abcd 0 %d 1\r\nt\r\n" % (verb, time))
		    return next(answers)
		# taken, failed and delivered again, and passed when it has ended
		assert ask(b"add", 30) == b"STORED\r\n"
		assert ask(b"add", 30) == b"EXISTS\r\n"
		s.sendall(b"touch pages|0123abcd -1\r\n")
		assert next(answers) == b"TOUCHED\r\n"
		assert ask(b"add", 30) == b"STORED\r\n"
		# written, and then remembered
		assert ask(b"set", 30) == b"STORED\r\n"
		assert ask(b"add", 30) == b"NOT_STORED\r\n"
	END
	kill -TERM $server
	wait $server
}
