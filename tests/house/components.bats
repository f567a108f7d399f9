# Optional components: a build without them, and what it says.
load ../common

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	arguments=(-s --no-print-directory -C "$ROOT" "BUILD=$PWD/build"
		"PROGRAM=$PWD/program" CFLAGS=-O0)
}

# components ARGUMENT...: what a make with these arguments would build in.
components() {
	make "${arguments[@]}" "$@" "$PWD/build/components.mk"
	sed -n 's/^components += //p' build/components.mk | tr '\n' ' '
}

# without_components: the program without any optional component. What none of them
# changes is not compiled again: those objects of $BUILD for which no file with WITH_ was
# read, and none of hiredis, whose directory the compiler is told of for it.
without_components() {
	local objects
	[ -z "$(components WITHOUT='serve redis zstd')" ]
	(cd "$ROOT" && grep -rl WITH_ src && echo hiredis/) >changed
	(
		cd "$BUILD"
		objects=(./*.o ./*/*.o)
		grep -LFf "$OLDPWD/changed" "${objects[@]/%.o/.d}" |
			sed 's/\.d$/.o/' |
			xargs cp --parents -t "$OLDPWD/build"
	)
	make "${arguments[@]}" -j2 WITHOUT='serve redis zstd' 2>errors && return
	# those made for a sanitizer, for one, can't be linked so
	rm -r build
	make "${arguments[@]}" -j2 WITHOUT='serve redis zstd'
}

@test "WITHOUT leaves components out: --version and compressed input say so" {
	without_components
	./program --version >version
	cat version
	grep -qE '^bloomdedup [0-9.]+ \([a-z0-9]+\)$' version
	[ "$(printf 'a\nb\na\n' | ./program)" = $'a\nb' ]
	# without libzstd, compressed input is an error that says what to do
	needs zstd
	seq 10 | zstd -q >in
	fails 3 "in: it is compressed: pipe it through 'zstd -dc'" ./program in
	{ printf '\x50\x2a\x4d\x18\x01\0\0\0x'; cat in; } >more
	fails 3 "more: it is compressed: pipe it through 'zstd -dc'" \
		./program more
	zstd -dc more | ./program >out
	seq 10 | cmp - out
}

@test "without pkg-config, the program is built without optional components" {
	[ -z "$(components PKG_CONFIG=no-such-program)" ]
}

@test "a component is built in only if a program with its library can be linked" {
	found=$(components)
	[ -n "$found" ] || skip "no library of a component is here"
	[ -z "$(components LDFLAGS=--no-such-option)" ]
	[ "$(components)" = "$found" ]
}

@test "--version lists the optional components that were found" {
	bloomdedup --version >version
	for component in $(sed -n 's/^components += //p' "$BUILD/components.mk"); do
		grep -q "[(, ]$component[,)]" version
	done
}

# Make, before and after: what is missing, and where things go.

@test "make without a compiler says what to do" {
	run ! make -s -C "$ROOT" "BUILD=$PWD/build" CC=no-such-compiler
	[[ $output == *"no-such-compiler"*"run 'make deps' first"* ]]
	run ! make -s -C "$ROOT" "BUILD=$PWD/build" CPPFLAGS=-nostdinc
	[[ $output == *"zlib.h"*"run 'make deps' first"* ]]
}

# make_install TARGET ARGUMENT...: of the program under test.
make_install() {
	make -s -C "$ROOT" -o "$BLOOMDEDUP" "PROGRAM=$BLOOMDEDUP" \
		"BUILD=$PWD/build" "$@"
}

@test "make install and uninstall: prefix, directories by name, and nothing is left" {
	stage="$PWD/a stage"
	make_install install "DESTDIR=$stage" prefix=/opt/x bindir=/usr/bin
	cmp "$stage/usr/bin/bloomdedup" "$BLOOMDEDUP"
	[ -s "$stage/opt/x/share/man/man7/bloomdedup.7" ]
	[ ! -e "$stage/usr/local" ]
	# the units name what was installed
	units=$stage/opt/x/share/doc/bloomdedup/examples
	grep -q '^ExecStart=/usr/bin/bloomdedup ' "$units/bloomdedup.service"
	grep -q '/opt/x/share/doc/bloomdedup/examples/feed.sh ' \
		"$units/bloomdedup-feed.service"
	run ! grep -r /usr/local "$units" --include='*.service'
	make_install uninstall "DESTDIR=$stage" prefix=/opt/x bindir=/usr/bin
	[ -z "$(find "$stage" -type f)" ]
	[ ! -e "$stage/opt/x" ]
	# PREFIX is the same; other files and their directories stay
	make_install install "PREFIX=$PWD/there"
	there/bin/bloomdedup --version | grep -q bloomdedup
	touch there/share/other
	make_install uninstall "PREFIX=$PWD/there"
	[ "$(find there | sort | xargs)" = 'there there/share there/share/other' ]
}

@test "make deps-tests installs what is missing, and stops the servers that it installed" {
	needs dpkg-query
	mkdir bin
	for name in apt-get service systemctl; do
		printf '#!/bin/sh\necho %s "$@" >>%s\n' $name "'$PWD/calls'" >bin/$name
	done
	# redis-server and jq are not installed
	printf '#!/bin/sh\ncase $4 in redis-server | jq) ;; *) echo install ok installed ;; esac\n' \
		>bin/dpkg-query
	printf '#!/bin/sh\nexec "$@"\n' >bin/sudo
	# what comes from another registry can't be had
	printf '#!/bin/sh\nexit 1\n' >bin/python3
	chmod +x bin/*
	PATH=$PWD/bin:$PATH make -s -C "$ROOT" "BUILD=$PWD/build" deps-tests >out 2>&1
	cat out calls
	grep -q '^apt-get .* install redis-server jq$' calls
	grep -q '^systemctl disable --now redis-server$' calls
	run ! grep memcached calls
}

@test "make deps-packages installs what is missing, and only that" {
	needs dpkg-query
	mkdir bin
	printf '#!/bin/sh\necho "$@" >>%s\n' "'$PWD/calls'" >bin/apt-get
	printf '#!/bin/sh\ncase $4 in debhelper) ;; *) echo install ok installed ;; esac\n' \
		>bin/dpkg-query
	printf '#!/bin/sh\nexec "$@"\n' >bin/sudo
	chmod +x bin/*
	PATH=$PWD/bin:$PATH make -s -C "$ROOT" "BUILD=$PWD/build" deps-packages
	grep -q ' install debhelper$' calls
	[ "$(grep -c debhelper calls)" -eq 1 ]
}
