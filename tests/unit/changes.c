/*
 * Goal: changed lines are found, copied into their pages and forgotten as a
 * plain list of them would be, for a few lines and for as many as fit.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "disk/changes.h"
#include "random64.h"
#include "tap.h"

#define PAGES 3000
#define LINES ((uint64_t)PAGES * PAGE_CACHE_LINES)

static uint8_t *original, *model;
static uint8_t changed[LINES];

static uint64_t
add(struct changes *c, uint64_t line)
{
	uint64_t at = line * CACHE_LINE_BYTES, byte = below(CACHE_LINE_BYTES);
	int known = changed[line];
	uint64_t room = changes_room(c);
	uint8_t *copy = changes_add(c, line, original + at);

	copy[byte] ^= 5;
	model[at + byte] ^= 5;
	changed[line] = 1;
	return (uint64_t)(known ? 0 : 1) == room - changes_room(c) &&
	    (uintptr_t)copy % CACHE_LINE_BYTES == 0;
}

/* Is everything as in the model? */
static int
right(const struct changes *c)
{
	uint8_t *pages = malloc(LINES * CACHE_LINE_BYTES);
	int good = pages != NULL;

	for (uint64_t page = 0; page < PAGES; page++) {
		int any_line = memchr(changed + page * PAGE_CACHE_LINES, 1,
		    PAGE_CACHE_LINES) != NULL;

		good = good && changes_have(c, page) == any_line;
	}
	for (uint64_t line = 0; line < LINES; line++) {
		const uint8_t *copy = changes_find(c, line);

		good = good && (copy != NULL) == changed[line] &&
		    (copy == NULL || memcmp(copy,
		    model + line * CACHE_LINE_BYTES, CACHE_LINE_BYTES) == 0);
	}
	if (!good)
		return 0;
	/* some of them, and the others are left as they are */
	memcpy(pages, original, LINES * CACHE_LINE_BYTES);
	changes_apply(c, 7, PAGES - 17, pages + 7 * PAGE_BYTES);
	good = memcmp(pages, original, 7 * PAGE_BYTES) == 0 &&
	    memcmp(pages + 7 * PAGE_BYTES, model + 7 * PAGE_BYTES,
	    (PAGES - 17) * PAGE_BYTES) == 0 &&
	    memcmp(pages + (PAGES - 10) * PAGE_BYTES, original +
	    (PAGES - 10) * PAGE_BYTES, 10 * PAGE_BYTES) == 0;
	free(pages);
	return good;
}

/* Lines of `pages` pages, `limit` in all. */
static void
check(uint64_t pages, uint64_t limit)
{
	void *memory = mmap(NULL, (size_t)changes_memory(limit), PROT_READ |
	    PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct changes *c = changes_new(PAGES, limit, memory);
	uint64_t most;
	int good = memory != MAP_FAILED;

	tap_ok(good && changes_room(c) == limit && changes_bytes(c) == 0,
	    "%d lines: there is room", (int)limit);
	for (int again = 0; good && again < 3; again++) {
		memcpy(model, original, LINES * CACHE_LINE_BYTES);
		memset(changed, 0, sizeof changed);
		good = good && right(c);
		while (changes_room(c) > limit / 2)
			good = add(c, below(pages * PAGE_CACHE_LINES)) && good;
		good = good && right(c);
		while (changes_room(c) > 0)
			good = add(c, below(pages * PAGE_CACHE_LINES)) && good;
		good = good && right(c);
		most = changes_bytes(c);
		changes_clear(c);
		good = good && changes_room(c) == limit && most >= limit *
		    CACHE_LINE_BYTES && changes_bytes(c) == most;
	}
	tap_ok(good, "%d lines of %d pages are the model's", (int)limit,
	    (int)pages);
	changes_free(c);
}

int
main(void)
{
	original = malloc(LINES * CACHE_LINE_BYTES);
	model = malloc(LINES * CACHE_LINE_BYTES);
	if (original == NULL || model == NULL) {
		tap_ok(0, "memory");
		return tap_end();
	}
	for (uint64_t i = 0; i < LINES * CACHE_LINE_BYTES; i++)
		original[i] = (uint8_t)below(256);
	check(PAGES, 10);
	check(PAGES, 4096);
	check(PAGES, 50000);
	check(100, 6000);
	check(5, 300);
	changes_free(NULL);
	free(original);
	free(model);
	return tap_end();
}
