# bloomdedup: GNU make, no configure step. CC, CFLAGS, CPPFLAGS and LDFLAGS are
# yours; what the program needs is in the variables that begin with REQUIRED.

MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL = all

PREFIX = /usr/local
prefix = $(PREFIX)
DESTDIR =
# for the program alone, such as -Wl,-Map=FILE
PROGRAM_LDFLAGS =
CC = cc
CFLAGS = -O2 -g
INSTALL = install
BUILD = build
PROGRAM = bloomdedup

REQUIRED_CPPFLAGS = -D_DEFAULT_SOURCE -D_FILE_OFFSET_BITS=64 -Isrc \
	$(COMPONENTS_CPPFLAGS)
REQUIRED_CFLAGS = -std=c11 -pthread -Wno-psabi
WARNINGS = -Wall -Wextra -Wconversion -Wshadow
LDLIBS = $(COMPONENTS_LIBS) -lz -lm -pthread

# WERROR=1: every warning is an error, as in CI
ifdef WERROR
WARNINGS += -Werror
endif

# A stack of 64 KiB is enough for the program. Sanitizers take more.
ifeq (,$(findstring -fsanitize,$(CFLAGS)))
FRAMES = -Wframe-larger-than=8192
endif

# Optional components, each with its libraries (pkg-config's names and headers)
# and the sources that are left out without them. What is there is built in,
# except for what WITHOUT names: make WITHOUT="serve redis". Sources see WITH_SERVE, ...
COMPONENTS = serve redis tls zstd
LIBRARY_serve = libevent_core
HEADER_serve = event2/event.h
SOURCES_serve = src/serve/% tests/unit/serve-% tests/fuzz/protocol.c \
	tests/fuzz/resp.c
LIBRARY_redis = hiredis
HEADER_redis = hiredis/hiredis.h
SOURCES_redis = $(filter-out src/redis/address.c,$(wildcard src/redis/*.c)) \
	tests/unit/redis-% tests/fuzz/redis-%
LIBRARY_tls = hiredis_ssl openssl
HEADER_tls = hiredis/hiredis.h hiredis/hiredis_ssl.h openssl/ssl.h
SOURCES_tls = src/redis/tls.c
LIBRARY_zstd = libzstd
HEADER_zstd = zstd.h
SOURCES_zstd = src/stream/unzstd.c
WITHOUT =
PKG_CONFIG = pkg-config

# TLS is that of connections to Redis.
wanted_components = $(filter-out $(WITHOUT) \
	$(if $(filter redis,$(WITHOUT)),tls),$(COMPONENTS))

# $(BUILD)/components.mk says what was found: components, COMPONENTS_CPPFLAGS and
# COMPONENTS_LIBS. Make updates it before all else and begins again if it has
# changed; several may do so at once.
ifneq (,$(filter-out clean deps deps-tests deps-packages dist deb static wheel check-packages uninstall,$(or $(MAKECMDGOALS),all)))
include $(BUILD)/components.mk
endif

# A library counts as found if a program with it can be linked: pkg-config does
# not know of another compiler, or of LDFLAGS=-static.
find_component = if cflags=$$($(PKG_CONFIG) --cflags $(LIBRARY_$1) 2>/dev/null) && \
		libs=$$($(PKG_CONFIG) $(if $(filter -static,$(LDFLAGS)),--static) \
			--libs $(LIBRARY_$1) 2>/dev/null) && \
		{ printf '\#include <%s>\n' $(HEADER_$1); \
			echo 'int main(void) { return 0; }'; } | \
			$(CC) $(CPPFLAGS) $$cflags $(CFLAGS) $(LDFLAGS) \
			-x c -o "$$try" - $$libs 2>/dev/null; \
	then \
		echo "components += $1"; \
		echo "COMPONENTS_LIBS += $$libs"; \
		echo "COMPONENTS_CPPFLAGS += -DWITH_$(shell echo $1 | tr a-z A-Z) $$cflags"; \
	fi;

$(BUILD)/components.mk: FORCE
	@printf '#include <%s>\n' stdio.h zlib.h xxhash.h | \
		$(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 || { \
		echo "The C compiler $(CC), zlib.h or xxhash.h is missing:" \
			"run 'make deps' first" >&2; \
		exit 1; \
	}
	@mkdir -p $(@D)
	@new=$@.$$$$; try=$$new.try; \
	{ :; $(foreach component,$(wanted_components),\
		$(call find_component,$(component))) \
	} >$$new; \
	rm -f $$try; \
	if cmp -s $$new $@; then rm $$new; else mv $$new $@; fi

left_out = $(foreach component,$(filter-out $(components),$(COMPONENTS)),\
	$(SOURCES_$(component)))
sources = $(filter-out $(left_out),$(wildcard $1))

# The machine that the compiler builds for; this one before `make deps`.
machine := $(shell $(CC) $(CFLAGS) -dM -E - </dev/null 2>/dev/null)
ifeq (,$(machine))
machine := __$(patsubst i%86,i386,$(shell uname -m 2>/dev/null))__
endif

# Doubles of 64 bits, as everywhere else: sizes must not depend on the machine.
ifneq (,$(filter __i386__,$(machine)))
REQUIRED_CFLAGS += -msse2 -mfpmath=sse
endif

# The hot loops are compiled once for each instruction set that a run may find;
# the names are those in src/bits/dispatch.c.
hot = bits/loops bits/scan
instructions = plain
ifneq (,$(filter __x86_64__,$(machine)))
instructions += avx2 avx512
endif
FLAGS_avx2 = -mavx2 -mbmi -mbmi2
FLAGS_avx512 = $(FLAGS_avx2) -mavx512f -mavx512bw -mavx512dq -mavx512vl \
	-mprefer-vector-width=512

objects = $(patsubst src/%.c,$(BUILD)/%.o,$(filter-out $(hot:%=src/%.c),\
	$(call sources,src/*.c src/*/*.c))) \
	$(foreach set,$(instructions),$(hot:%=$(BUILD)/%-$(set).o))
library = $(filter-out $(BUILD)/main.o,$(objects))
helpers = $(BUILD)/helper $(BUILD)/adversary $(BUILD)/options $(BUILD)/recorder
units = $(patsubst tests/unit/%.c,$(BUILD)/unit/%.test,$(call sources,tests/unit/*.c))

COMPILE = $(CC) $(REQUIRED_CPPFLAGS) $(CPPFLAGS) $(REQUIRED_CFLAGS) \
	$(WARNINGS) $(CFLAGS) -MMD -MP

all: $(PROGRAM)

$(PROGRAM): $(objects)
	$(CC) $(CFLAGS) $(LDFLAGS) $(PROGRAM_LDFLAGS) -o $@ $(objects) $(LDLIBS)

$(BUILD)/%.o: src/%.c Makefile $(BUILD)/components.mk
	@mkdir -p $(@D)
	$(COMPILE) $(FRAMES) -c -o $@ $<

define compile_hot
$$(BUILD)/%-$1.o: src/%.c Makefile $$(BUILD)/components.mk
	@mkdir -p $$(@D)
	$$(COMPILE) $$(FRAMES) $$(FLAGS_$1) -DINSTRUCTIONS=$1 -c -o $$@ $$<
endef
$(foreach set,$(instructions),$(eval $(call compile_hot,$(set))))

# Tests: unit tests and helpers are linked with all of the program but main.

# Its model makes thousands of layers, and remembers their shapes.
$(BUILD)/unit/window-model.test: override LDFLAGS += -Wl,--wrap=sizing_layer
$(BUILD)/unit/%.test: tests/unit/%.c $(library) Makefile
	@mkdir -p $(@D)
	$(COMPILE) $(LDFLAGS) -o $@ $< $(library) $(LDLIBS)

$(helpers): $(BUILD)/%: tests/helpers/%.c $(library) Makefile
	$(COMPILE) $(LDFLAGS) -o $@ $< $(library) $(LDLIBS)

# Loaded into the program by tests that let its memory run out. Flags of its
# own: those for a static or sanitized program don't fit a library.
$(BUILD)/preload.so: tests/helpers/preload.c Makefile
	@mkdir -p $(@D)
	$(CC) $(REQUIRED_CPPFLAGS) $(CPPFLAGS) $(REQUIRED_CFLAGS) $(WARNINGS) \
		-O1 -g -fPIC -shared -o $@ $< -ldl

# Fuzz targets with a plain main, which feeds files to them.

targets = $(filter-out replay,$(patsubst tests/fuzz/%.c,%,\
	$(call sources,tests/fuzz/*.c)))
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

# The inputs that fuzzing begins with.
seeds = $(BUILD)/fuzz/seeds.written
$(seeds): tests/fuzz/seeds.py tests/keys/url.txt $(wildcard tests/fuzz/found/*/*)
	rm -rf $(BUILD)/fuzz/seeds
	python3 tests/fuzz/seeds.py $(BUILD)/fuzz/seeds
	touch $@

tests: $(PROGRAM) $(units) $(helpers) $(BUILD)/preload.so $(replays) $(seeds)

# The lists in the completions, which are kept in the tree, from the options.
completion_files = completions/bloomdedup.bash completions/bloomdedup.fish \
	completions/_bloomdedup
completions: $(BUILD)/options
	$(BUILD)/options | completions/generate.py $(completion_files)

# TESTS='tests/behaviour/stream.bats build/unit/number.test': only these
TESTS =
# They are built as they are run: as many at once as there are processors, unless
# there is another -j.
at_once = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,\
	-j$(shell nproc 2>/dev/null || echo 2))
check:
	$(MAKE) $(at_once) tests
	BUILD='$(abspath $(BUILD))' BLOOMDEDUP='$(abspath $(PROGRAM))' \
		tests/run $(TESTS)

# More kills, faults and hostile files of the same kinds: several hours.
check-slow: tests
	BLOOMDEDUP_SLOW=1 BUILD='$(abspath $(BUILD))' \
		BLOOMDEDUP='$(abspath $(PROGRAM))' tests/run $(TESTS)

# The tests under the address and undefined-behaviour sanitizers.
SANITIZE = -fsanitize=address,undefined,float-cast-overflow \
	-fno-sanitize-recover=all -fno-omit-frame-pointer
check-asan:
	$(MAKE) check BUILD=$(BUILD)/asan PROGRAM=$(BUILD)/asan/bloomdedup \
		CFLAGS='-O1 -g $(SANITIZE)'

# What concerns threads, under the thread sanitizer. It may not run where
# addresses are as random as in Debian 12: setarch -R makes them fixed.
TSAN_TESTS = $(or $(TESTS),tests/behaviour/gzip.bats \
	tests/behaviour/zstd.bats tests/behaviour/threads.bats \
	tests/behaviour/shared.bats tests/serve/filters.bats)
check-tsan:
	@mkdir -p $(BUILD)/tsan
	@echo 'int main(void) { return 0; }' >$(BUILD)/tsan/try.c
	@$(CC) -fsanitize=thread -o $(BUILD)/tsan/try $(BUILD)/tsan/try.c || { \
		echo "check-tsan: $(CC) has no thread sanitizer" >&2; \
		exit 1; \
	}
	@fixed="setarch $$(uname -m) -R"; \
	$$fixed true 2>/dev/null || fixed=; \
	$$fixed $(BUILD)/tsan/try || { \
		echo "check-tsan: the thread sanitizer can't run here" >&2; \
		exit 1; \
	}; \
	$(MAKE) $(at_once) tests BUILD=$(BUILD)/tsan PROGRAM=$(BUILD)/tsan/bloomdedup \
		CFLAGS='-O1 -g -fsanitize=thread' && \
	BUILD='$(abspath $(BUILD))/tsan' \
		BLOOMDEDUP='$(abspath $(BUILD))/tsan/bloomdedup' \
		$$fixed tests/run $(TSAN_TESTS)

# Clients of memcached that no distribution has, against serve.
check-clients: $(PROGRAM) $(BUILD)/helper
	BLOOMDEDUP='$(abspath $(PROGRAM))' tests/serve/clients/run \
		'$(BUILD)/clients'

# The recipes for engines, against the engines. ENGINE_LINES: how many lines.
ENGINE_LINES = 20000000
check-engines: $(PROGRAM)
	BLOOMDEDUP='$(abspath $(PROGRAM))' ENGINE_LINES=$(ENGINE_LINES) \
		tests/engines/run '$(BUILD)/engines'

# Some of the tests under valgrind.
check-valgrind:
	@command -v valgrind >/dev/null || \
		{ echo 'check-valgrind: valgrind is not installed' >&2; exit 1; }
	$(MAKE) $(at_once) tests
	BUILD='$(abspath $(BUILD))' BLOOMDEDUP='$(abspath $(PROGRAM))' \
		tests/valgrind '$(BUILD)/valgrind' $(TESTS)

# Fuzzing with libFuzzer, which clang has: tests/README.md. FUZZ_SEED, unless it
# is 0, makes a second run try the same inputs as the first.
FUZZ_SECONDS = 60
FUZZ_SEED = 0
FUZZ_JOBS = $(shell nproc 2>/dev/null || echo 1)
fuzzers = $(targets:%=$(BUILD)/%.fuzzer)

$(fuzzers): $(BUILD)/%.fuzzer: tests/fuzz/%.c $(library) Makefile
	$(COMPILE) -MF $@.d -fsanitize=fuzzer $(LDFLAGS) \
		$(if $(filter lines,$*),$(FUZZ_LDFLAGS)) -o $@ $< $(library) $(LDLIBS)

fuzzers: $(fuzzers) $(seeds)

fuzz:
	@command -v clang >/dev/null || \
		{ echo 'fuzz: clang is not installed' >&2; exit 1; }
	@mkdir -p $(BUILD)/fuzz
	@echo 'int LLVMFuzzerTestOneInput(const char *p, unsigned long n)' \
		'{ return !p && !n; }' >$(BUILD)/fuzz/try.c
	@clang $(SANITIZE) -fsanitize=fuzzer -o $(BUILD)/fuzz/try \
		$(BUILD)/fuzz/try.c 2>/dev/null || { \
		echo 'fuzz: clang has no libFuzzer or no sanitizers; in Debian,' \
			'they are in libclang-rt-dev' >&2; \
		exit 1; \
	}
	$(MAKE) $(at_once) fuzzers BUILD=$(BUILD)/fuzz CC=clang \
		CFLAGS='-O2 -g $(SANITIZE) -fsanitize=fuzzer-no-link \
		-fsanitize-ignorelist=tests/fuzz/ignored \
		-fsanitize-coverage-ignorelist=tests/fuzz/ignored'
	FUZZ_SECONDS='$(FUZZ_SECONDS)' FUZZ_JOBS='$(FUZZ_JOBS)' \
		FUZZ_SEED='$(FUZZ_SEED)' \
		tests/fuzz/run '$(BUILD)/fuzz' $(targets)

# The tests that run the program, built for another machine, under qemu
# (Debian): 64 bits, 32 bits, big-endian.
machines = arm64 armhf i386 s390x
$(machines:%=check-%): check-%:
	MAKE='$(MAKE) $(at_once)' tests/emulated $* '$(BUILD)/$*' $(TESTS)

# The tests of the program built against musl, the C library of Alpine.
check-musl:
	MAKE='$(MAKE) $(at_once)' tests/musl '$(BUILD)/musl' $(TESTS)

# How fast, beside the neighbours that are installed: tests/bench/README.md.
# SECTIONS: which of its sections, all by default.
SECTIONS =
bench: $(PROGRAM)
	BLOOMDEDUP='$(abspath $(PROGRAM))' BENCH_DIR='$(abspath $(BUILD))/bench' \
		CC='$(CC)' tests/bench/run $(SECTIONS)

clean:
	rm -rf $(BUILD) $(PROGRAM)

# Install what is missing: to build and to run the tests, with the libraries of
# the optional components; what else tests can use; what packages need.
# (packaging/deps; TLS comes with hiredis.)
deps:
	@CC='$(CC)' CPPFLAGS='$(CPPFLAGS)' PKG_CONFIG='$(PKG_CONFIG)' \
		packaging/deps build $(foreach component,\
		$(filter-out tls,$(wanted_components)),$(LIBRARY_$(component)))

deps-tests: deps
	@packaging/deps tests

deps-packages: deps
	@packaging/deps packages

# `make deps check` installs before it looks and builds, with -j too.
$(BUILD)/components.mk: | $(filter deps deps-%,$(MAKECMDGOALS))

# Install below $(prefix), or below $(DESTDIR)$(prefix) to make a package.
# Directories that are given by name (make install bindir=/opt/bin) are below
# $(DESTDIR), too.

bindir = $(prefix)/bin
mandir = $(prefix)/share/man
docdir = $(prefix)/share/doc/bloomdedup
exampledir = $(docdir)/examples
bashdir = $(prefix)/share/bash-completion/completions
zshdir = $(prefix)/share/zsh/site-functions
fishdir = $(prefix)/share/fish/vendor_completions.d
# man/NAME.N goes to $(mandir)/manN
manuals = $(notdir $(wildcard man/*.[1-8]))
manual_directories = $(sort $(patsubst .%,$(mandir)/man%,$(suffix $(manuals))))
examples = $(notdir $(wildcard man/examples/*))
directories = '$(bindir)' $(manual_directories:%='%') '$(docdir)' '$(exampledir)' \
	'$(bashdir)' '$(zshdir)' '$(fishdir)'

install: all
	for directory in $(directories); do \
		$(INSTALL) -d '$(DESTDIR)'"$$directory" || exit; \
	done
	$(INSTALL) -m 755 $(PROGRAM) '$(DESTDIR)$(bindir)/bloomdedup'
	for page in $(manuals); do \
		$(INSTALL) -m 644 man/$$page \
			'$(DESTDIR)$(mandir)'/man$${page##*.} || exit; \
	done
	$(INSTALL) -m 644 $(examples:%=man/examples/%) '$(DESTDIR)$(exampledir)'
	for unit in $(filter %.service,$(examples)); do \
		sed -e 's|/usr/local/bin|$(bindir)|' -e \
			's|/usr/local/share/doc/bloomdedup/examples|$(exampledir)|' \
			man/examples/$$unit \
			>'$(DESTDIR)$(exampledir)'/$$unit || exit; \
	done
	$(INSTALL) -m 644 NEWS.md '$(DESTDIR)$(docdir)'
	$(INSTALL) -m 644 completions/bloomdedup.bash \
		'$(DESTDIR)$(bashdir)/bloomdedup'
	$(INSTALL) -m 644 completions/_bloomdedup '$(DESTDIR)$(zshdir)'
	$(INSTALL) -m 644 completions/bloomdedup.fish '$(DESTDIR)$(fishdir)'

# With the variables of `make install`. Directories that are empty then go, too,
# up to $(prefix), but for those that every system has.
uninstall:
	rm -f '$(DESTDIR)$(bindir)/bloomdedup' \
		$(foreach page,$(manuals),\
		'$(DESTDIR)$(mandir)/man$(subst .,,$(suffix $(page)))/$(page)') \
		$(examples:%='$(DESTDIR)$(exampledir)/%') \
		'$(DESTDIR)$(docdir)/NEWS.md' \
		'$(DESTDIR)$(bashdir)/bloomdedup' \
		'$(DESTDIR)$(zshdir)/_bloomdedup' \
		'$(DESTDIR)$(fishdir)/bloomdedup.fish'
	for directory in $(directories); do \
		while case $$directory in \
			/usr | /usr/local | /usr/local/bin | /usr/local/share | \
			/usr/local/share/man) false ;; \
			'$(prefix)' | '$(prefix)'/*) ;; \
			*) false ;; \
			esac && rmdir '$(DESTDIR)'"$$directory" 2>/dev/null; \
		do \
			directory=$$(dirname "$$directory"); \
		done; \
	done

# Packages, in $(BUILD)/packages: packaging/README.md.

VERSION = $(shell sed -n 's/^\#define VERSION "\(.*\)"$$/\1/p' src/cli/version.h)
packages = $(BUILD)/packages
export MAKE

dist:
	packaging/archive '$(VERSION)' '$(packages)'
	$(checksums)

deb:
	packaging/deb '$(VERSION)' '$(packages)'
	$(checksums)

static:
	packaging/static '$(VERSION)' '$(packages)'
	$(checksums)

# Of the machines for which there is a static program.
wheel: static
	for machine in x86_64 aarch64; do \
		tree='$(BUILD)'/static-$$machine/tree; \
		[ ! -e "$$tree" ] || packaging/wheel.py wheel '$(VERSION)' \
			"$$tree"/*/bin/bloomdedup \
			py3-none-manylinux_2_17_$$machine.musllinux_1_1_$$machine \
			'$(packages)' || exit 1; \
	done
	$(checksums)

checksums = cd '$(packages)' && sha256sum $$(ls | grep -v SHA256SUMS) >SHA256SUMS

# All of them: built twice, compared, installed and used in a bare root.
check-packages:
	BUILD='$(abspath $(BUILD))' tests/run tests/packages.bats

# What can be said of the source without running it, by .ci/lint.
linted = $(call sources,src/*.c src/*/*.c tests/helpers/*.c tests/unit/*.c \
	tests/fuzz/*.c)
CHECKED = $(REQUIRED_CPPFLAGS) $(CPPFLAGS) $(REQUIRED_CFLAGS) $(WARNINGS) \
	-Werror -DINSTRUCTIONS=plain
lint: $(objects)
	@CHECKED='$(CHECKED)' .ci/lint $(linted)

-include $(objects:.o=.d) $(units:.test=.d) $(helpers:=.d)
-include $(BUILD)/fuzz/replay.d $(replays:=.d) $(fuzzers:=.d)

.PHONY: FORCE all tests completions check check-slow check-asan check-tsan check-clients check-engines check-valgrind check-musl $(machines:%=check-%) fuzz fuzzers bench clean deps deps-tests deps-packages install uninstall dist deb static wheel check-packages lint
.DELETE_ON_ERROR:
