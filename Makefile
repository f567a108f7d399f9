# bloomdedup: GNU make, no configure step. CC, CFLAGS, CPPFLAGS and LDFLAGS are
# yours; what the program needs is in the variables that begin with REQUIRED.

MAKEFLAGS += --no-builtin-rules

PREFIX = /usr/local
DESTDIR =
CC = cc
CFLAGS = -O2 -g
INSTALL = install
BUILD = build
PROGRAM = bloomdedup

REQUIRED_CPPFLAGS = -D_DEFAULT_SOURCE -D_FILE_OFFSET_BITS=64 -Isrc
REQUIRED_CFLAGS = -std=c11 -pthread -Wno-psabi
WARNINGS = -Wall -Wextra -Wconversion -Wshadow
LDLIBS = -lz -lm -pthread

# WERROR=1: every warning is an error, as in CI
ifdef WERROR
WARNINGS += -Werror
endif

# The hot loops (src/kernel.c), once for each instruction set that a run may
# find; the names are those in src/kernels.c.
kernels = plain
ifneq (,$(filter x86_64%,$(shell $(CC) -dumpmachine 2>/dev/null || uname -m)))
kernels += avx2 avx512
endif
KERNEL_FLAGS_avx2 = -mavx2 -mbmi -mbmi2
KERNEL_FLAGS_avx512 = $(KERNEL_FLAGS_avx2) -mavx512f -mavx512bw -mavx512dq \
	-mavx512vl -mprefer-vector-width=512

objects = $(patsubst src/%.c,$(BUILD)/%.o,\
	$(filter-out src/kernel.c,$(wildcard src/*.c))) $(kernels:%=$(BUILD)/kernel-%.o)
library = $(filter-out $(BUILD)/main.o,$(objects))
helpers = $(BUILD)/helper $(BUILD)/adversary
units = $(patsubst tests/unit/%.c,$(BUILD)/unit/%.test,$(wildcard tests/unit/*.c))

COMPILE = $(CC) $(REQUIRED_CPPFLAGS) $(CPPFLAGS) $(REQUIRED_CFLAGS) \
	$(WARNINGS) $(CFLAGS) -MMD -MP

all: $(PROGRAM)

$(PROGRAM): $(objects)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(objects) $(LDLIBS)

$(BUILD)/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	$(COMPILE) -c -o $@ $<

$(kernels:%=$(BUILD)/kernel-%.o): $(BUILD)/kernel-%.o: src/kernel.c Makefile
	@mkdir -p $(@D)
	$(COMPILE) $(KERNEL_FLAGS_$*) -DKERNEL=$* -c -o $@ $<

# Tests: unit tests and helpers are linked with all of the program but main.

$(BUILD)/unit/%.test: tests/unit/%.c $(library) Makefile
	@mkdir -p $(@D)
	$(COMPILE) $(LDFLAGS) -o $@ $< $(library) $(LDLIBS)

$(helpers): $(BUILD)/%: tests/%.c $(library) Makefile
	$(COMPILE) $(LDFLAGS) -o $@ $< $(library) $(LDLIBS)

# Loaded into the program by tests that let its memory run out. Flags of its
# own: those for a static or sanitized program don't fit a library.
$(BUILD)/preload.so: tests/preload.c Makefile
	@mkdir -p $(@D)
	$(CC) $(REQUIRED_CPPFLAGS) $(CPPFLAGS) $(REQUIRED_CFLAGS) $(WARNINGS) \
		-O1 -g -fPIC -shared -o $@ $< -ldl

# Fuzz targets with a plain main, which feeds files to them.

targets = $(filter-out replay,$(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c)))
replays = $(targets:%=$(BUILD)/fuzz/replay-%)
# lines.c decides how much each read(2) of the source gives.
FUZZ_LDFLAGS = -Wl,--wrap=read

$(BUILD)/fuzz/replay.o: tests/fuzz/replay.c Makefile
	@mkdir -p $(@D)
	$(COMPILE) -c -o $@ $<

$(replays): $(BUILD)/fuzz/replay-%: tests/fuzz/%.c $(BUILD)/fuzz/replay.o \
		$(library) Makefile
	$(COMPILE) -MF $@.d $(LDFLAGS) $(if $(filter lines,$*),$(FUZZ_LDFLAGS)) \
		-o $@ $< $(BUILD)/fuzz/replay.o $(library) $(LDLIBS)

tests: $(PROGRAM) $(units) $(helpers) $(BUILD)/preload.so $(replays)

# TESTS='tests/stream.bats build/unit/num.test': only these
TESTS =
check: tests
	BUILD='$(abspath $(BUILD))' BLOOMDEDUP='$(abspath $(PROGRAM))' \
		tests/run $(TESTS)

# More kills, faults and hostile files of the same kinds: half an hour.
check-slow: tests
	BLOOMDEDUP_SLOW=1 BUILD='$(abspath $(BUILD))' \
		BLOOMDEDUP='$(abspath $(PROGRAM))' tests/run $(TESTS)

# The tests under the address and undefined-behaviour sanitizers.
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
check-asan:
	$(MAKE) check BUILD=$(BUILD)/asan PROGRAM=$(BUILD)/asan/bloomdedup \
		CFLAGS='-O1 -g $(SANITIZE)'

# What concerns threads, under the thread sanitizer. It may not run where
# addresses are as random as in Debian 12: setarch -R makes them fixed.
check-tsan:
	@mkdir -p $(BUILD)/tsan
	@echo 'int main(void) { return 0; }' >$(BUILD)/tsan/try.c
	@if ! $(CC) -fsanitize=thread -o $(BUILD)/tsan/try $(BUILD)/tsan/try.c; \
	then \
		echo "check-tsan: $(CC) has no thread sanitizer: skipped"; \
		exit 0; \
	fi; \
	fixed="setarch $$(uname -m) -R"; \
	$$fixed true 2>/dev/null || fixed=; \
	if ! $$fixed $(BUILD)/tsan/try; then \
		echo "check-tsan: the thread sanitizer can't run here: skipped"; \
		exit 0; \
	fi; \
	$(MAKE) tests BUILD=$(BUILD)/tsan PROGRAM=$(BUILD)/tsan/bloomdedup \
		CFLAGS='-O1 -g -fsanitize=thread' && \
	BUILD='$(abspath $(BUILD))/tsan' \
		BLOOMDEDUP='$(abspath $(BUILD))/tsan/bloomdedup' \
		$$fixed tests/run $(BUILD)/tsan/unit/worker.test \
		$(BUILD)/tsan/unit/team.test tests/gzip.bats tests/threads.bats

# Some of the tests under valgrind.
check-valgrind: tests
	BUILD='$(abspath $(BUILD))' BLOOMDEDUP='$(abspath $(PROGRAM))' \
		tests/valgrind '$(BUILD)/valgrind'

# Fuzzing with libFuzzer, which clang has: tests/README.md.
FUZZ_SECONDS = 60
FUZZ_JOBS = $(shell nproc 2>/dev/null || echo 1)
fuzzers = $(targets:%=$(BUILD)/%.fuzzer)

$(fuzzers): $(BUILD)/%.fuzzer: tests/fuzz/%.c $(library) Makefile
	$(COMPILE) -MF $@.d -fsanitize=fuzzer $(LDFLAGS) \
		$(if $(filter lines,$*),$(FUZZ_LDFLAGS)) -o $@ $< $(library) $(LDLIBS)

fuzzers: $(fuzzers)

fuzz:
	@command -v clang >/dev/null || \
		{ echo 'fuzz: clang is not installed' >&2; exit 1; }
	$(MAKE) fuzzers BUILD=$(BUILD)/fuzz CC=clang \
		CFLAGS='-O2 -g $(SANITIZE) -fsanitize=fuzzer-no-link \
		-fsanitize-ignorelist=tests/fuzz/ignored \
		-fsanitize-coverage-ignorelist=tests/fuzz/ignored'
	FUZZ_SECONDS='$(FUZZ_SECONDS)' FUZZ_JOBS='$(FUZZ_JOBS)' \
		tests/fuzz/run '$(BUILD)/fuzz' $(targets)

# The tests that run the program, built for arm64, under qemu (Debian).
check-arm64:
	MAKE='$(MAKE)' tests/arm64 '$(BUILD)/arm64'

# How fast, beside the neighbours that are installed: tests/bench/README.md.
bench: $(PROGRAM)
	BLOOMDEDUP='$(abspath $(PROGRAM))' BENCH_DIR='$(abspath $(BUILD))/bench' \
		CC='$(CC)' tests/bench/run

clean:
	rm -rf $(BUILD) $(PROGRAM)

# Install what is missing to build and test. Does nothing, without a network,
# where all of it is there. As root it calls the package manager by itself,
# otherwise through sudo.

APT = gcc libc6-dev zlib1g-dev libxxhash-dev bats python3 perl-base
DNF = gcc make zlib-devel xxhash-devel bats python3 perl-interpreter \
	diffutils findutils gawk
APK = build-base zlib-dev xxhash-dev bats bash python3 perl \
	coreutils diffutils findutils grep
PACMAN = gcc zlib xxhash bash-bats python perl diffutils
BREW = xxhash zlib bats-core python3

deps:
	@missing() { \
		for tool in $(firstword $(CC)) bats python3 perl; do \
			command -v "$$tool" >/dev/null || echo "$$tool"; \
		done; \
		for header in stdio.h zlib.h xxhash.h; do \
			echo "#include <$$header>" | \
				$(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 || \
				echo "$$header"; \
		done; \
	}; \
	has() { command -v "$$1" >/dev/null; }; \
	[ -n "$$(missing)" ] || exit 0; \
	echo "deps: missing:" $$(missing); \
	sudo=; [ "$$(id -u)" -eq 0 ] || sudo=sudo; \
	if has apt-get; then \
		apt="$$sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y"; \
		apt="$$apt --no-install-recommends install $(APT)"; \
		$$apt || { $$sudo apt-get -q update && $$apt; }; \
	elif has dnf; then \
		$$sudo dnf -y install $(DNF); \
	elif has apk; then \
		$$sudo apk add --no-cache $(APK); \
	elif has pacman; then \
		pacman="$$sudo pacman --noconfirm --needed"; \
		$$pacman -S $(PACMAN) || $$pacman -Sy $(PACMAN); \
	elif has brew; then \
		brew install $(BREW); \
	else \
		echo "deps: none of apt-get, dnf, apk, pacman, brew is here;" \
			"install a C compiler, zlib, xxHash (both with" \
			"headers), bats, Python 3 and Perl" >&2; \
		exit 1; \
	fi || exit 1; \
	[ -z "$$(missing)" ] || { \
		echo "deps: still missing:" $$(missing) >&2; \
		echo "deps: for headers in a folder of their own:" \
			"make CPPFLAGS=-I/folder LDFLAGS=-L/folder" >&2; \
		exit 1; \
	}

# `make deps check` installs before it builds, with -j too.
ifneq ($(filter deps,$(MAKECMDGOALS)),)
$(objects): | deps
endif

# Install under $(DESTDIR)$(PREFIX).

bindir = $(DESTDIR)$(PREFIX)/bin
mandir = $(DESTDIR)$(PREFIX)/share/man
bashdir = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
zshdir = $(DESTDIR)$(PREFIX)/share/zsh/site-functions
fishdir = $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d

install: all
	$(INSTALL) -d '$(bindir)' '$(mandir)/man1' '$(mandir)/man5' \
		'$(bashdir)' '$(zshdir)' '$(fishdir)'
	$(INSTALL) -m 755 $(PROGRAM) '$(bindir)/bloomdedup'
	$(INSTALL) -m 644 man/bloomdedup.1 '$(mandir)/man1'
	$(INSTALL) -m 644 man/bloomdedup.5 '$(mandir)/man5'
	$(INSTALL) -m 644 completions/bloomdedup.bash '$(bashdir)/bloomdedup'
	$(INSTALL) -m 644 completions/_bloomdedup '$(zshdir)'
	$(INSTALL) -m 644 completions/bloomdedup.fish '$(fishdir)'

uninstall:
	rm -f '$(bindir)/bloomdedup' '$(mandir)/man1/bloomdedup.1' \
		'$(mandir)/man5/bloomdedup.5' '$(bashdir)/bloomdedup' \
		'$(zshdir)/_bloomdedup' '$(fishdir)/bloomdedup.fish'

# The last commit as a tar archive.

VERSION = $(shell sed -n 's/^\#define VERSION "\(.*\)"$$/\1/p' src/main.c)

dist:
	git archive --format=tar.gz --prefix='bloomdedup-$(VERSION)/' \
		-o 'bloomdedup-$(VERSION).tar.gz' HEAD

# What can be said of the source without running it: both compilers with
# warnings as errors, two analyzers, and tests/lint.bats, which `make check`
# runs too. What isn't installed is skipped with a word.

linted = $(wildcard src/*.c tests/*.c tests/unit/*.c tests/fuzz/*.c)
CHECKED = $(REQUIRED_CPPFLAGS) $(CPPFLAGS) $(REQUIRED_CFLAGS) $(WARNINGS) \
	-Werror -DKERNEL=plain
# Tests that fail leave what they have to the end of the program.
LEAKS = -Wno-analyzer-malloc-leak -Wno-analyzer-file-leak

lint:
	@has() { \
		command -v "$$1" >/dev/null || \
			{ echo "lint: $$1 is not installed: skipped"; false; }; \
	}; \
	status=0; \
	for cc in gcc clang; do \
		! has $$cc || $$cc $(CHECKED) -fsyntax-only $(linted) || status=1; \
	done; \
	! has gcc || for file in $(linted); do \
		case $$file in \
		tests/*) flags='$(CHECKED) $(LEAKS)' ;; \
		*) flags='$(CHECKED)' ;; \
		esac; \
		gcc $$flags -O1 -fanalyzer -S -o /dev/null $$file || status=1; \
	done; \
	! has cppcheck || cppcheck --quiet --std=c11 --error-exitcode=1 \
		--enable=warning,performance,portability --inline-suppr \
		--suppress=missingIncludeSystem -Isrc $(linted) || status=1; \
	! has bats || bats tests/lint.bats || status=1; \
	exit $$status

-include $(objects:.o=.d) $(units:.test=.d) $(helpers:=.d)
-include $(BUILD)/fuzz/replay.d $(replays:=.d) $(fuzzers:=.d)

.PHONY: all tests check check-slow check-asan check-tsan check-valgrind check-arm64 fuzz fuzzers bench clean deps install uninstall dist lint
.DELETE_ON_ERROR:
