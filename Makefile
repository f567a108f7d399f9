# bloomdedup: GNU make, no configure step. CC, CFLAGS, CPPFLAGS and LDFLAGS are
# yours; what the program needs is in the variables that begin with REQUIRED.

PREFIX = /usr/local
DESTDIR =
CC = cc
CFLAGS = -O2 -g
INSTALL = install
BUILD = build
PROGRAM = bloomdedup

REQUIRED_CPPFLAGS = -D_DEFAULT_SOURCE -D_FILE_OFFSET_BITS=64 -Isrc
REQUIRED_CFLAGS = -std=c11 -Wno-psabi
WARNINGS = -Wall -Wextra -Wconversion -Wshadow
LDLIBS = -lz -lm

# WERROR=1: every warning is an error, as in CI
ifdef WERROR
WARNINGS += -Werror
endif

objects = $(patsubst src/%.c,$(BUILD)/%.o,$(wildcard src/*.c))
library = $(filter-out $(BUILD)/main.o,$(objects))
units = $(patsubst tests/unit/%.c,$(BUILD)/unit/%.test,$(wildcard tests/unit/*.c))

COMPILE = $(CC) $(REQUIRED_CPPFLAGS) $(CPPFLAGS) $(REQUIRED_CFLAGS) \
	$(WARNINGS) $(CFLAGS) -MMD -MP

all: $(PROGRAM)

$(PROGRAM): $(objects)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(objects) $(LDLIBS)

$(BUILD)/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	$(COMPILE) -c -o $@ $<

# Tests: unit tests and the helper are linked with all of the program but main.

$(BUILD)/unit/%.test: tests/unit/%.c $(library) Makefile
	@mkdir -p $(@D)
	$(COMPILE) $(LDFLAGS) -o $@ $< $(library) $(LDLIBS)

$(BUILD)/helper: tests/helper.c $(library) Makefile
	$(COMPILE) $(LDFLAGS) -o $@ $< $(library) $(LDLIBS)

tests: $(PROGRAM) $(units) $(BUILD)/helper

check: tests
	BUILD='$(abspath $(BUILD))' BLOOMDEDUP='$(abspath $(PROGRAM))' tests/run

# The same under the address and undefined-behaviour sanitizers.
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
check-asan:
	$(MAKE) check BUILD=$(BUILD)/asan PROGRAM=$(BUILD)/asan/bloomdedup \
		CFLAGS='-O1 -g $(SANITIZE)'

clean:
	rm -rf $(BUILD) $(PROGRAM)

-include $(objects:.o=.d) $(units:.test=.d) $(BUILD)/helper.d

.PHONY: all tests check check-asan clean
.DELETE_ON_ERROR:

deps:
	@:
