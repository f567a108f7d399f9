# --url=LIST: what else of URLs is ignored, and what is none of a URL.
load ../common

# same_by SWITCHES A B, differ_by SWITCHES A B
same_by() {
	[ "$(printf '%s\n' "${@:2}" | bloomdedup --url="$1" | wc -l)" -eq 1 ] ||
		{ echo "$@"; return 1; }
}
differ_by() {
	[ "$(printf '%s\n' "${@:2}" | bloomdedup --url="$1" | wc -l)" -eq 2 ] ||
		{ echo "$@"; return 1; }
}

@test "--url=form: how parameters are written, and their order" {
	same_by form 'http://a/?b=2&a=1' 'http://a/?a=1&b=2'
	same_by form 'http://a/?a=2&a=1' 'http://a/?a=1&a=2'
	same_by form 'http://a/?long_name=b&long_name=a' \
		'http://a/?long_name=a&long_name=b'
	same_by form 'http://a/?a=b%20c' 'http://a/?a=b+c'
	same_by form 'http://a/?a' 'http://a/?a='
	same_by form 'http://a/?&a=1&&b=2&' 'http://a/?a=1&b=2'
	same_by form 'http://a/?a=1,2:3/4' 'http://a/?a=1%2c2%3A3%2F4'
	same_by form 'http://a/?a=b=c' 'http://a/?a=b%3Dc'
	same_by form 'http://a/?a=b=c=d' 'http://a/?a=b%3Dc%3Dd'
	same_by form 'http://a/?' 'http://a/'
	same_by form 'http://a/?&&#x' 'http://a'
	same_by form 'mailto:a?b&c=' 'mailto:a?c&b='
	differ_by form 'http://a/?a%3Db=c' 'http://a/?a=b=c'
	differ_by form 'http://a/?a=b%2Bc' 'http://a/?a=b+c'
	differ_by form 'http://a/?a=b%26c' 'http://a/?a=b&c'
	differ_by form 'http://a/?a=1&a=1' 'http://a/?a=1'
	differ_by form 'http://a/?A=1' 'http://a/?a=1'
	differ_by form 'http://a/b%20c' 'http://a/b+c'
	differ_by form 'http://a/b%2Fc' 'http://a/b/c'
	differ_by form 'http://a/?=1' 'http://a/?1'
	# a percent sign that encodes nothing is a byte of the text
	same_by form 'HTTP://a/?b=100%&a=%zz' 'http://a/?a=%25zz&b=100%25'
	same_by form 'http://a/?a=%4%31' 'http://a/?a=%2541'
	differ_by form 'http://a/?a=%4%31' 'http://a/?a=A'
	# it decides the order, too
	printf 'http://a/?b=2&b=1\nhttp://a/?b=1&b=2\n' >in
	[ "$(bloomdedup --url=form --url-sort in | wc -l)" -eq 1 ]
}

@test "--url=scheme, www, slash: which of a site's addresses it is" {
	same_by scheme http://a/b https://A:443/b
	same_by scheme HTTP://a:80 https://a#x
	differ_by scheme http://a/b ftp://a/b
	differ_by scheme http://a:443/ https://a/
	differ_by scheme http:a https:a
	same_by www http://www.a.b/c http://a.b/c
	same_by www http://WWW2.a.b/c http://www17.a.b/c
	same_by www http://u@www.a.b:81/c http://u@a.b:81/c
	same_by www ftp://www.a.b/c ftp://a.b/c
	differ_by www http://www.www.a/ http://a/
	same_by www http://www.www.a/ http://www2.www.a
	differ_by www http://www./ http://./
	differ_by www http://www/ http://w/
	differ_by www http://wwwa.b/ http://a.b/
	differ_by www http://a.www.b/ http://a.b/
	differ_by www mailto:www.a mailto:a
	same_by www http://a.b./c http://a.b/c
	same_by www HTTP://www.a.b.:80/c http://a.b/c
	same_by www 'http://a.b.?c' 'http://a.b/?c'
	same_by www http://www.a./b http://a/b
	differ_by www http://a../b http://a/b
	differ_by www http://./b http:///b
	differ_by www mailto:a. mailto:a
	differ_by scheme http://a.b./c http://a.b/c
	same_by slash http://a/b/ http://a/b
	same_by slash 'http://a/b/?c/' 'http://a/b?c/'
	same_by slash http://a/b/. http://a/b#/
	differ_by slash http://a/b// http://a/b
	differ_by slash 'http://a/b?c/' 'http://a/b?c'
	differ_by slash x:a/ x:a
	same_by slash http://a/ http://a
	same_by scheme,www,slash,form 'https://www1.a/b/?d&c=%2f' \
		'http://a/b?c=/&d='
}

@test "--url=values, numbers: which kind of page it is" {
	same_by values 'http://a/?b=1&a=2' 'http://a/?a=3&b&a=4'
	same_by values 'http://a/?' 'http://a/?&=x'
	differ_by values 'http://a/?a=1' 'http://a/?a=1&b'
	differ_by values 'http://a/?a+b=1' 'http://a/?a%20b=1'
	same_by values,form 'http://a/?a+b=1' 'http://a/?a%20b=1'
	same_by numbers http://a/12/b/3 http://a/0/b/4567
	same_by numbers http://a/12/ http://a/3/
	same_by numbers 'http://a/12?b=1' 'http://a/3?b=1'
	differ_by numbers 'http://a/12?b=1' 'http://a/3?b=2'
	differ_by numbers http://a/12 http://a/12a
	differ_by numbers http://a/12/ http://a//
	differ_by numbers http://a:1/ http://a:2/
	differ_by numbers tel:12 tel:34
	same_by numbers,values 'http://a/12?b=1' 'http://a/3?b=2'
}

@test "--url=fragment: the fragment is compared" {
	differ_by fragment 'http://a/#/b' 'http://a/#/c'
	differ_by fragment 'http://a/#!b' http://a/
	differ_by fragment 'http://a/#b' 'http://a/?#b'
	differ_by fragment 'http://a/##' 'http://a/#'
	differ_by fragment 'http://a/#a%23' 'http://a/#a#'
	same_by fragment 'http://a/#' http://a
	same_by fragment 'HTTP://A:80/b/..#%7e%2f ' 'http://a/#~%2F'
	same_by fragment 'http://a/#é"%' 'http://a/#%C3%a9%22%'
	same_by fragment,form 'http://a/?b&a#/c' 'http://A/?a=&b=#/c'
	same_by fragment,slash,scheme 'https://a/b/#/c/' 'http://a/b#/c/'
	differ_by fragment,slash 'http://a/b/#/c/' 'http://a/b#/c'
	differ_by fragment,form 'http://a/?b&a#/c' 'http://a/?a&b'
	same_by fragment mailto:a#b mailto:%61#b
	# bytes that are in no URL
	printf 'http://a/#\x01b\nhttp://a/?b#\x7f\n' >in
	bloomdedup --url=fragment in 2>err | cmp - in
	grep -q '2 lines are not URLs' err
	bloomdedup --url=fragment,form in 2>err | cmp - in
	grep -q '2 lines are not URLs' err
}

@test "--url=tracking: parameters that say where a visitor came from" {
	local name
	for name in utm_source utm_ utm_x gclid gclsrc dclid gbraid wbraid \
		fbclid msclkid twclid ttclid yclid igshid mc_cid mc_eid _hsenc \
		_hsmi mkt_tok oly_anon_id oly_enc_id vero_id wickedid _ga _gl; do
		same_by tracking "http://a/?b=1&$name=x" 'http://a/?b=1'
		same_by tracking "http://a/?$name" 'http://a/'
		same_by tracking,form "http://a/?c&$name=x%2c&b=1" 'http://a/?b=1&c'
		same_by tracking,values "http://a/?c&$name=x&b=1" 'http://a/?b=2&c'
		differ_by tracking "http://a/?${name^^}=1" 'http://a/'
		differ_by form "http://a/?$name=1" 'http://a/'
		[ "$name" = utm_ ] && continue
		differ_by tracking,form "http://a/?x$name=1" 'http://a/'
		differ_by tracking "http://a/?b=$name" 'http://a/?b'
		[[ $name == utm_* ]] && continue
		differ_by tracking "http://a/?${name}s=1" 'http://a/'
		differ_by tracking,form "http://a/?${name%?}=1" 'http://a/'
	done
	differ_by tracking 'http://a/?utm=1' 'http://a/'
	same_by tracking 'http://a/?%75tm_a=1#x' 'http://a/'
	differ_by tracking 'http://a/?' 'http://a/'
	# it adds to --url-ignore, and keeps the order of the others
	[ "$(printf '%s\n' 'http://a/?gclid=1&s=2&b' 'http://a/?b' |
		bloomdedup --url=tracking --url-ignore=s | wc -l)" -eq 1 ]
	differ_by tracking 'http://a/?b&a&gclid=1' 'http://a/?a&b'
	[ "$(printf '%s\n' 'http://a/?b&a&gclid' 'http://a/?a&b' |
		bloomdedup --url=tracking --url-sort | wc -l)" -eq 1 ]
}

@test "blanks at both ends and a byte order mark are no part of a URL" {
	printf '\xef\xbb\xbfhttp://a/\r\nhttp://a/b\r\nHTTP://a\r\n \t\0http://a/b\n' \
		>in
	for url in '' =form =scheme,www,slash; do
		bloomdedup --url$url in >out 2>err
		head -n 2 in | cmp - out
		[ ! -s err ]
	done
	# what is no URL is compared as it is
	printf 'foo \nfoo\n \n\xef\xbb\xbf\n\n' >in
	bloomdedup --url in 2>err | cmp - in
	grep -q '5 lines are not URLs' err
	# a mark is one only at the beginning
	printf ' \xef\xbb\xbfhttp://a\nhttp://a\n' >in
	bloomdedup --url in 2>err | cmp - in
	# the fragment ends before them
	printf '%s\n' 'http://a/b%20' 'http://a/b #c ' >in
	[ "$(bloomdedup --url in | wc -l)" -eq 1 ]
}

@test "switches: any order, each once or more, lists that add up" {
	local list
	for list in '' , form, ,form form,,www Form 'form ' forms form=1; do
		fails 2 "--url: '" bloomdedup --url="$list"
	done
	bloomdedup create -n 100 --url=www,form --url=www seen
	bloomdedup info seen | grep -qF -- '--url=form,www'
	bloomdedup -f seen --url=form,www </dev/null
	bloomdedup -f seen --url=www --url --url=form </dev/null
	fails 2 'made with --url=form,www, which contradicts --url:' \
		bloomdedup -f seen --url
	fails 2 'made with --url=form,www, which contradicts --url=form:' \
		bloomdedup -f seen --url=form
	bloomdedup create -n 100 --url plain
	fails 2 'made with --url, which contradicts --url=form:' \
		bloomdedup -f plain --url=form
	# what decides the order stays said
	bloomdedup create -n 100 --url=form --url-sort sorted
	bloomdedup -f sorted --url=form --url-sort </dev/null
	bloomdedup info sorted | grep -qF -- '--url=form --url-sort'
}

@test "switches in a field, several columns, JSON, parts and partition" {
	printf 'x,https://www.a/b/\ny,http://a/b\n' >in.csv
	bloomdedup -t, -k2 --url=scheme,www,slash in.csv >out
	head -n 1 in.csv | cmp - out
	printf 'u,n,v\n"http://a/?b&a",1,"http://b/""?"\nhttp://a/?a=&b=,1,http://b/%%22\n' \
		>in.csv
	bloomdedup --csv --header -k u,v,n --url=form in.csv >out
	head -n 2 in.csv | cmp - out
	printf '%s\n' '{"url":"http:\/\/a\/?b&a"}' '{"url":"http://a/?a&b"}' >in
	bloomdedup --json=/url --url=form in >out
	head -n 1 in | cmp - out
	# the parts are those of the keys
	seq -f 'http://www.a/%.0f/' 1000 >in
	sed 's/www\.//; s/.$//; s/http/https/' in >respelled
	bloomdedup partition --parts=3 --url=scheme,www,slash in | cut -f 1 >one
	bloomdedup partition --parts=3 --url=scheme,www,slash respelled |
		cut -f 1 | cmp one -
	for part in 1 2 3; do
		bloomdedup --url=scheme,www,slash --part=$part/3 in respelled
	done | sort | cmp - <(sort in)
	# every line with --keep-empty, -s, -w and -i has the cut key
	printf '%s\n' http://www.a/BC https://a/bd >in
	bloomdedup --url=scheme,www -s 2 -w 3 -i in >out
	head -n 1 in | cmp - out
}

# Addresses of all kinds, most of them odd.
odd_urls() {
	python3 -S - "$@" <<-'END'
		import random, sys
		random.seed(int(sys.argv[1]))
		pick = random.choice
		def some(most, make, between=""):
		    return between.join(make() for _ in range(random.randint(0, most)))
		def byte():
		    return pick(["a", "b", "Z", "1", "0", ".", "-", "+", "=", "&", "%41",
		                 "%", "%4", "%31", "#",
		                 "%2f", "%3D", "%26", "%20", "%2B", " ", ":", "@", ",",
		                 "/", "?", "%c3", "\u00e9", "|", "~", "%7e", "!"])
		def word():
		    return pick(["a", "b", "1", "42", "", ".", "..", "a.b", "7x"]) \
		        if pick([0, 1, 1]) else some(4, byte)
		def parameter():
		    return pick([lambda: "a", lambda: "b=1", lambda: "utm_x=2",
		                 lambda: pick(["gclid", "_ga", "mc_eid", "mc_e", "oly_enc_id"]) + "=3",
		                 lambda: word() + "=" + word(), word])()
		for _ in range(int(sys.argv[2])):
		    print(pick(["", "", "", "\ufeff", " ", "\t"]) +
		          pick(["http", "https", "HTTP", "ftp", "ws", "tel", "x"]) +
		          pick(["://", "://", "://", "://", ":", ":/"]) +
		          pick(["", "", "", "", "u@", "u:p@"]) +
		          pick(["www.", "www2.", "", "", "WWW.", "www.www."]) +
		          pick(["a.b", "A", "b", "", "a.b", "[::1]", "1.2.3.4", "a.b.", "A.",
		                "[1:0:0::F]", "[::ffff:1.2.3.4]", "[0:0::]",
		                "[2:0:0:3:0:0:4:5]", "[1:2:3:4:5:6:7::]"]) +
		          pick(["", "", "", ":", ":80", ":443", ":0081"]) +
		          pick(["", "/", "/"]) + some(4, word, "/") +
		          pick(["", "", "/", "//"]) +
		          pick(["", "?", "?"]) + some(pick([2, 5, 80]), parameter, "&") +
		          pick(["", "", "#x", "\r", " ", "#", "#/" + word()]))
	END
}

@test "odd addresses have the same keys in both readers, by any switches" {
	local options n=0
	odd_urls 1 "$(short_or_long 3000 60000)" >in
	while read -r options; do
		# shellcheck disable=SC2086 # words
		bloomdedup create -n 100 $options "$((++n))"
		bloomdedup key -f "$n" in >ours 2>err
		python3 -S "$ROOT/tests/format/reader.py" --keys "$n" <in >theirs
		cmp ours theirs
		# shellcheck disable=SC2086 # words
		bloomdedup key $options in 2>err | cmp - ours
		[ "$(sort -u ours | wc -l)" -gt 1000 ]
	done <<-'END'
		--url
		--url --url-sort --url-ignore=*
		--url=form
		--url=form --url-ignore=utm_*,b
		--url=scheme
		--url=www
		--url=slash
		--url=values
		--url=values,form --url-ignore=a
		--url=numbers
		--url=form,scheme,www,slash
		--url=form,scheme,www,slash,values,numbers
		--url=fragment
		--url=fragment,www,slash
		--url=tracking
		--url=tracking --url-sort --url-ignore=b
		--url=form,fragment,tracking
		--url=form,scheme,www,slash,values,numbers,fragment,tracking
	END
	# with every instruction set
	bloomdedup key --url=form,slash in >ours 2>err
	for set in avx512 avx2 plain; do
		BLOOMDEDUP_INSTRUCTIONS=$set bloomdedup key --url=form,slash in \
			2>err | cmp - ours
	done
}

@test "the table of the manual, in both readers" {
	local switches line key count=0
	while IFS=$'\t' read -r switches line key; do
		count=$((count + 1))
		[ "$switches" != - ] || switches=
		rm -f seen
		bloomdedup create -n 100 --url${switches:+=$switches} seen
		[ "$(bloomdedup key -f seen <<<"$line")" = "$key" ]
		[ "$(python3 -S "$ROOT/tests/format/reader.py" --keys seen \
			<<<"$line")" = "$key" ]
	done < <(awk '/^\.It .* Ta Li .*:/ { line = $2 == "Li" ? $3 : $2; text = $NF }
		/^\.It Ta Li / { print line "\t" text "\t" $NF }' \
		"$ROOT/man/bloomdedup.5")
	[ "$count" -eq 9 ]
}

@test "a switch only joins, and a key is its own key" {
	local switches=(form scheme www slash values tracking) set bit list
	# each in another spelling, too, which is normalized in the long way
	odd_urls 2 "$(short_or_long 500 10000)" >odd
	# few of them are in their normal form
	printf '%s\n' http://a.b/a/ http://www.a.b/a http://a.b./a >>odd
	sed 's/^http/HTTP/' odd | cat odd - >in
	for ((set = 0; set < 64; set++)); do
		list=
		for bit in 0 1 2 3 4 5; do
			((set >> bit & 1)) || continue
			list+=${list:+,}${switches[bit]}
		done
		bloomdedup key --url${list:+=$list} in 2>err | tr '\t' ' ' \
			>keys.$set
		# www and slash leave out one of each, and there may be another
		grep -avE -e '//([^/?@]*@)?www[0-9]*\.' -e '^[^?]*/(\?|$)' \
			-e '//[^/?]*\.([:/?]|$)' \
			keys.$set >once
		bloomdedup key --url${list:+=$list} once 2>err | cmp once -
	done
	for ((set = 0; set < 64; set++)); do
		for bit in 0 1 2 3 4 5; do
			! ((set >> bit & 1)) || continue
			# no key of the one has two of the other
			echo "$set and ${switches[bit]}"
			paste keys.$set keys.$((set | 1 << bit)) | LC_ALL=C sort -u |
				cut -f 1 | uniq -d >apart
			[ ! -s apart ]
		done
	done
}
