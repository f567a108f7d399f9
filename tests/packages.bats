# Packages: each is built from a clone and from the source archive, unpacked in a
# directory with spaces in its name, compared, installed as README says, and used
# where nothing else of the project is. They need Debian's tools, a registry and
# root's rights, so they are not part of `make check`, but of `make
# check-packages`.
load common

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	git -C "$ROOT" rev-parse --git-dir >/dev/null 2>&1 || return 0
	git clone -q "$ROOT" one
	# README's first command makes such a file
	echo https://example.org/ >one/homepages.txt
	make -s -C one dist >out 2>&1 || { cat out; return 1; }
	mkdir 'two and more'
	tar -xzf one/build/packages/*.tar.gz -C 'two and more' --strip-components=1
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
	needs git
	[ -d one ] || skip "needs a git checkout"
	packages=$PWD/one/build/packages
	export MAINTAINER='A Maintainer <maintainer@example.org>'
	version=$(sed -n 's/^#define VERSION "\(.*\)"$/\1/p' \
		"$ROOT/src/cli/version.h")
}

teardown() {
	[ -z "${names:-}" ] || kill "$names"
}

# in_both TARGET FILE...: make it in both directories; the files are the same.
in_both() {
	local file target=$1
	shift
	make -s -C one "$target" >out 2>&1 || { cat out && return 1; }
	make -s -C 'two and more' "$target" >out 2>&1 || { cat out && return 1; }
	for file; do
		[ -s "one/build/packages/$file" ]
		cmp "one/build/packages/$file" "two and more/build/packages/$file"
	done
	(cd one/build/packages && sha256sum --quiet -c SHA256SUMS)
}

# bare_root RELEASE: a minimal Debian at $root, made once for all tests, with
# what shows manual pages and completes, and with this checkout.
bare_root() {
	[ "$(id -u)" -eq 0 ] || skip "needs to be root"
	needs debootstrap
	root=$PWD/root-$1
	[ ! -e "$root/root/bloomdedup" ] || return 0
	"$ROOT/tests/bare-root" "$1" "$root"
	in_root sh -c 'apt-get -q update && apt-get -q -y \
		--no-install-recommends install man-db bash-completion' \
		>out 2>&1 || { cat out && return 1; }
	git clone -q "$ROOT" "$root/root/clone"
	mkdir -p "$root/root/clone/build"
	mv "$root/root/clone" "$root/root/bloomdedup"
}

in_root() {
	chroot "$root" env -i HOME=/root \
		PATH=/root/.local/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# readme_block HEADING KIND: README's first block of this kind below the heading.
readme_block() {
	awk -v heading="$1" -v fence="\`\`\`$2" '
		$0 == heading { there = 1 }
		there && $0 == "```" { exit }
		inside { print }
		there && $0 == fence { inside = 1 }' "$ROOT/README.md"
}

# does_as_readme_says WORD: the line of Install that begins with it, as it stands
# there, in the checkout; every question is answered with yes.
does_as_readme_says() {
	local line
	cp -r "$packages" "$root/root/bloomdedup/build"
	line=$(readme_block '## Install' sh | grep "^$1 ")
	in_root sh -c "cd /root/bloomdedup && yes | $line" >out 2>&1 ||
		{ cat out && return 1; }
}

# is_at_hand: the program that is found in PATH says which it is, does what README
# begins with, has its manual pages, completes options, and brings the examples
# and the news.
is_at_hand() {
	local page share
	in_root bloomdedup --version | grep "^bloomdedup $version (.*serve, redis"
	readme_block '# bloomdedup' console >block
	[ -s block ]
	in_root sh -ec "cd \$(mktemp -d); $(sed -n 's/^\$ //p' block)" |
		diff <(grep -v '^\$ ' block) -
	for page in 1:bloomdedup 1:bloomdedup-serve 5:bloomdedup \
		7:bloomdedup 7:bloomdedup-redis; do
		in_root man -P cat "${page%:*}" "${page#*:}" >page 2>err ||
			{ cat err && return 1; }
		grep -q "^${page#*:}.${page%:*}.\|^NAME" page
	done
	# shellcheck disable=SC2016 # for the other shell
	in_root bash -c '
		. /usr/share/bash-completion/bash_completion
		_completion_loader bloomdedup
		function=$(complete -p bloomdedup | sed "s/.* -F \([^ ]*\).*/\1/")
		COMP_WORDS=(bloomdedup add --syn) COMP_CWORD=2
		$function bloomdedup
		echo "${COMPREPLY[@]}"' >completed
	grep -qx -e '--sync *' completed
	# shellcheck disable=SC2016
	share=$(in_root sh -c 'readlink -f "$(command -v bloomdedup)"')
	share=$root${share%/bin/*}/share/doc/bloomdedup
	[ -s "$share/examples/feed.sh" ]
	[ -s "$share/NEWS.md" ] || [ -s "$share/NEWS.md.gz" ]
}

# does_its_job COMMAND...: new lines are printed, and remembered.
does_its_job() {
	[ "$(printf 'a\nb\na\n' | "$@" -f /seen.bloom)" = $'a\nb' ]
	[ "$(printf 'b\nc\n' | "$@" -f /seen.bloom)" = c ]
}

# linked FILE NAME...: a bill of materials has these libraries.
linked() {
	local file=$1
	shift
	python3 - "$packages/$file" "$@" <<-'END'
		import json, sys
		bill = json.load(open(sys.argv[1]))
		names = [p["name"] for p in bill["packages"]]
		assert bill["spdxVersion"] == "SPDX-2.3"
		for wanted in "bloomdedup", "xxhash", *sys.argv[2:]:
		    assert wanted in names, (wanted, names)
		for package in bill["packages"]:
		    assert package["versionInfo"], package
		    assert package["licenseDeclared"] != "NOASSERTION", package
	END
}

@test "dist: clone and archive give the same archive, which builds" {
	in_both dist "bloomdedup-$version.tar.gz"
	tar -xzf "$packages/bloomdedup-$version.tar.gz"
	make -s -j2 -C "bloomdedup-$version"
	"bloomdedup-$version/bloomdedup" --version | grep -qF " $version "
}

@test "dist: changes that are not committed are refused" {
	git clone -q "$ROOT" changed
	echo >>changed/README.md
	touch changed/untracked
	run ! make -s -C changed dist
	[[ $output == *"dist: commit these changes first"*README.md* ]]
	[[ $output != *untracked* ]]
	[ ! -e changed/build/packages ] || [ -z "$(ls changed/build/packages)" ]
}

@test "deb: clone and archive give the same package, and lintian is content" {
	needs dpkg-buildpackage
	needs lintian
	deb=bloomdedup_${version}_$(dpkg --print-architecture)
	in_both deb "$deb.deb" "$deb.spdx.json"
	linked "$deb.spdx.json" libhiredis libevent_core libz libzstd libc
	# without git, nobody is known who answers for it
	MAINTAINER='' run ! make -s -C 'two and more' deb
	[[ $output == *"make deb MAINTAINER="* ]]
	lintian --fail-on error,warning "$packages"/*.deb >out 2>&1 ||
		{ cat out && false; }
	run ! grep -E '^[EW]:' out
}

# deb_in RELEASE: installed as README says, used and removed.
deb_in() {
	[ -n "$(find "$packages" -name '*.deb')" ] || skip "there is no package"
	bare_root "$1"
	does_as_readme_says apt
	is_at_hand
	in_root bloomdedup try 1e8 0.00001 | grep -q MB
	in_root apt-get -q -y remove bloomdedup >out 2>&1
	[ ! -e "$root/usr/bin/bloomdedup" ]
}

@test "README: deb: installed, used and removed in a bare Debian 12" {
	deb_in bookworm
}

@test "README: deb: the same package in a bare Debian 13" {
	deb_in trixie
}

@test "README: source: installed, used and uninstalled in a bare Debian 12" {
	bare_root bookworm
	in_root apt-get -q -y --no-install-recommends install make >out 2>&1
	touch "$root/start"
	does_as_readme_says make
	is_at_hand
	in_root make -C /root/bloomdedup uninstall >out 2>&1
	find "$root/usr/local" -newer "$root/start" ! -type d >left
	[ ! -s left ] || { cat left; false; }
}

# Beside the files of this machine, which has a systemd.
@test "deb: systemd accepts the units as they are installed" {
	needs systemd-analyze unshare
	[ -n "$(find "$packages" -name '*.deb')" ] || skip "there is no package"
	rm -rf unpacked
	dpkg-deb -x "$packages"/*.deb unpacked
	unshare -m mount -t overlay -o "lowerdir=unpacked/usr:/usr" none /usr ||
		skip "needs the right to mount"
	grep -rh '^Exec' unpacked/usr/share/doc/bloomdedup/examples >commands
	[ "$(wc -l <commands)" -eq 2 ]
	run ! grep /usr/local commands
	# shellcheck disable=SC2016 # for the other shell
	unshare -m sh -c '
		mount -t overlay -o "lowerdir=unpacked/usr:/usr" none /usr
		cd /usr/share/doc/bloomdedup/examples
		SYSTEMD_UNIT_PATH=$PWD: systemd-analyze verify --man=no \
			*.service *.socket *.timer' >out 2>&1 || { cat out; false; }
	cat out
	[ ! -s out ]
}

# empty_root MACHINE: a root with the static program and nothing else.
empty_root() {
	[ "$(id -u)" -eq 0 ] || skip "needs to be root"
	rm -rf empty
	mkdir -p empty/etc
	tar -xzf "$packages/bloomdedup-$version-$1.tar.gz" -C empty \
		--strip-components=2 "bloomdedup-$version-$1/bin/bloomdedup"
	printf '127.0.0.7 by-hosts\n' >empty/etc/hosts
	printf 'nameserver 127.0.0.77\n' >empty/etc/resolv.conf
}

@test "static: clone and archive give the same programs" {
	needs aarch64-linux-gnu-gcc
	in_both static "bloomdedup-$version"-{x86_64,aarch64}.{tar.gz,spdx.json}
	for machine in x86_64 aarch64; do
		linked "bloomdedup-$version-$machine.spdx.json" \
			libhiredis libevent_core libz libzstd libc
	done
	# in another directory than README's
	mkdir -p local
	tar -xzf "$packages/bloomdedup-$version-x86_64.tar.gz" -C local \
		--strip-components=1
	file local/bin/bloomdedup 2>/dev/null | grep -q 'statically linked'
	[ -s local/share/man/man1/bloomdedup.1 ]
	[ -s local/share/man/man7/bloomdedup-redis.7 ]
	[ -s local/share/doc/bloomdedup/LICENSE ]
	grep -rh '^Exec' local/share/doc/bloomdedup/examples >commands
	[ "$(grep -c /usr/local/ commands)" -eq 2 ]
}

@test "README: static: unpacked and used in a bare Debian 12" {
	bare_root bookworm
	does_as_readme_says tar
	is_at_hand
	rm -rf "$root/usr/local"
}

@test "static: without a cross compiler, this machine's program alone" {
	mkdir -p tools
	# everything but that
	for directory in /usr/bin /bin; do
		for tool in "$directory"/*; do
			case $tool in *aarch64*) ;; *) ln -sf "$tool" tools ;; esac
		done
	done
	PATH=$PWD/tools "$PWD/one/packaging/static" "$version" "$PWD/alone/packages" \
		>out 2>&1 || { cat out; false; }
	grep -q "left out aarch64: .*'make deps-packages' installs it" out
	cmp alone/packages/bloomdedup-"$version"-x86_64.tar.gz \
		"$packages/bloomdedup-$version-x86_64.tar.gz"
}

@test "static: it needs nothing in its root" {
	empty_root x86_64
	does_its_job chroot empty /bloomdedup
	chroot empty /bloomdedup --version | grep -q 'serve, redis'
}

@test "static: the program for arm64 does its job, too" {
	needs qemu-aarch64-static
	empty_root aarch64
	cp "$(command -v qemu-aarch64-static)" empty/qemu
	does_its_job chroot empty /qemu /bloomdedup
}

@test "static: names are found with nothing but hosts and resolv.conf" {
	empty_root x86_64
	needs python3
	mkdir empty/filters
	# a name server that knows one name: 127.0.0.8
	python3 - >dns.log 2>&1 3>&- <<-'END' &
		import socket
		server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		server.bind(("127.0.0.77", 53))
		print("listening", flush=True)
		while True:
		    question, client = server.recvfrom(512)
		    end = question.index(b"\0", 12) + 5
		    found = question[end - 4:end - 2] == b"\0\1"
		    answer = question[:2] + b"\x81\x80\0\1" + \
		        (b"\0\1" if found else b"\0\0") + b"\0\0\0\0" + \
		        question[12:end]
		    if found:
		        answer += b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4\x7f\0\0\x08"
		    server.sendto(answer, client)
	END
	names=$!
	until_true grep listening dns.log || { cat dns.log; false; }
	for host in by-hosts by-dns.example; do
		chroot empty /bloomdedup serve -d /filters -l "$host:22345" \
			>serve.log 2>&1 3>&- &
		server=$!
		until_true grep -q 127.0.0 serve.log || { cat serve.log; false; }
		kill "$server"
		wait "$server" || :
	done
	grep -q '127.0.0.8:22345' serve.log
}

@test "README: wheel: clone and archive give the same, pipx and pip install it in a bare Debian 13" {
	in_both wheel bloomdedup-"$version"-py3-none-manylinux_2_17_{x86_64.musllinux_1_1_x86_64,aarch64.musllinux_1_1_aarch64}.whl
	bare_root trixie
	in_root apt-get -q -y --no-install-recommends install pipx >out 2>&1 ||
		{ cat out && false; }
	does_as_readme_says pipx
	is_at_hand
	in_root pipx uninstall bloomdedup
	[ ! -e "$root/root/.local/bin/bloomdedup" ]
	# pip in a virtual environment
	in_root python3 -m venv /root/.local
	in_root sh -c '/root/.local/bin/pip install --no-index \
		/root/bloomdedup/build/packages/*_x86_64.whl' \
		>out 2>&1 || { cat out && false; }
	is_at_hand
	in_root /root/.local/bin/pip uninstall -y bloomdedup >out 2>&1
	[ ! -e "$root/root/.local/bin/bloomdedup" ]
}

@test "README: there is a test for each line of Install" {
	readme_block '## Install' sh | cut -d ' ' -f 1 >lines
	printf '%s\n' apt pipx tar make | cmp - lines
}

@test "wheel: pip takes them for musl and for arm64" {
	python3 -m venv venv
	for platform in manylinux_2_17_aarch64 musllinux_1_1_x86_64 \
		musllinux_1_1_aarch64; do
		rm -rf target
		venv/bin/pip install --no-index --find-links="$packages" \
			--only-binary=:all: --platform="$platform" \
			--target=target bloomdedup >out 2>&1 ||
			{ cat out && false; }
		[ -x target/bin/bloomdedup ]
	done
	run ! venv/bin/pip install --no-index --find-links="$packages" \
		--only-binary=:all: --platform=win_amd64 --target=other bloomdedup
}

@test "wheel: pip builds the program from the source archive" {
	python3 -m venv venv
	venv/bin/pip install --no-index "$packages/bloomdedup-$version.tar.gz" \
		>out 2>&1 || { cat out && false; }
	rm -f "$PWD/seen.bloom"
	[ "$(printf 'a\nb\na\n' | venv/bin/bloomdedup -f "$PWD/seen.bloom")" = \
		$'a\nb' ]
}
