/*
 * Goal: a private layer is what a plain array would be: what is read, changed,
 * written back, dropped and read again, in any order, in memory and in the
 * file; and no byte of the file changes that nobody changed.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "disk/mapping.h"
#include "disk/pages.h"
#include "tap.h"

/* Two chunks of 512 pages and a part of a third. */
#define COUNT 1100
#define OFFSET (3 * PAGE_BYTES)
#define NBYTES ((size_t)COUNT * PAGE_BYTES)

static uint64_t state = 1;

static uint64_t
any(uint64_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % below;
}

static struct file store = FILE_NONE;
static uint8_t *model, *file;
static struct error error;

static int
file_is_model(void)
{
	return file_read(&store, file, NBYTES, OFFSET, &error) == 0 &&
	    memcmp(file, model, NBYTES) == 0;
}

/* Load some pages, compare them, and set a bit in some of those. */
static int
work(struct pages *p, uint64_t pages)
{
	uint64_t numbers[40], first = any(COUNT - pages + 1);
	size_t n = 1 + (size_t)any(40);

	for (size_t i = 0; i < n; i++)
		numbers[i] = first + any(pages);
	if (pages_load(p, numbers, n, &error) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		size_t at = (size_t)numbers[i] * PAGE_BYTES;

		if (memcmp(p->base + at, model + at, PAGE_BYTES) != 0)
			return -1;
	}
	n = (size_t)any(n + 1);
	pages_touch(p, numbers, n);
	for (size_t i = 0; i < n; i++) {
		size_t at = (size_t)(numbers[i] * PAGE_BYTES +
		    any(PAGE_BYTES));
		uint8_t bit = (uint8_t)(1 << any(8));

		p->base[at] |= bit;
		model[at] |= bit;
	}
	return 0;
}

/* `pages`: how many neighbours are worked on at a time. */
static void
check(enum pages_kind kind, uint64_t pages, const char *what)
{
	struct pages p;
	uint64_t least = COUNT; /* absent, at any time */
	int good = 1;

	memset(model, 0, NBYTES);
	for (size_t i = 0; kind != PAGES_FRESH && i < NBYTES;
	    i += 1 + (size_t)any(64))
		model[i] = (uint8_t)any(256);
	if (file_write(&store, model, NBYTES, OFFSET, &error) < 0 ||
	    pages_map(&p, &store, OFFSET, COUNT, kind, &error) < 0) {
		tap_ok(0, "%s: %s", what, error.text);
		return;
	}
	for (int i = 0; i < 1500 && good; i++) {
		good = work(&p, pages) == 0;
		least = p.absent < least ? p.absent : least;
		if (good && any(100) == 0)
			good = pages_write_back(&p, &error) == 0 &&
			    p.dirty_count == 0 && file_is_model();
		if (good && p.dirty_count == 0 && any(3) == 0)
			pages_drop(&p);
	}
	tap_ok(good, "%s: pages are the model's", what);
	tap_ok(least < COUNT - pages / 2,
	    "%s: %d of %d pages are absent at last", what, (int)least, COUNT);
	tap_ok(pages_write_back(&p, &error) == 0 && file_is_model(),
	    "%s: and so is the file", what);
	pages_unmap(&p);
}

/* What a file that was cut off doesn't hold is an error, and is not zeros. */
static void
check_cut_off(void)
{
	struct pages p;
	uint64_t number = 700;
	int good;

	memset(model, 1, NBYTES);
	good = file_write(&store, model, NBYTES, OFFSET, &error) == 0 &&
	    pages_map(&p, &store, OFFSET, COUNT, PAGES_PRIVATE, &error) == 0 &&
	    ftruncate(store.fd, OFFSET + 600 * PAGE_BYTES) == 0;
	tap_ok(good && pages_load(&p, &number, 1, &error) < 0,
	    "a page that is not there can't be loaded: %s", error.text);
	tap_ok(good && p.absent == COUNT, "and is not present");
	/* One after the other, until the whole chunk is asked for. */
	for (number = 512; good && number < 600; number++) {
		if (pages_load(&p, &number, 1, &error) < 0)
			break;
		pages_touch(&p, &number, 1);
		p.base[number * PAGE_BYTES] |= 2;
	}
	tap_ok(good && number > 512 && number < 600,
	    "a chunk that is not all there can't be loaded: %s", error.text);
	tap_ok(good && pages_write_back(&p, &error) < 0 &&
	    p.dirty_count > 0, "what was changed can't be written back: %s",
	    error.text);
	tap_ok(good && file_read(&store, file, 600 * PAGE_BYTES, OFFSET,
	    &error) == 0 && file[512 * PAGE_BYTES] == 1 && file[0] == 1,
	    "and the file is left as it is");
	pages_unmap(&p);
}

/* A large file is mapped as it is; what isn't in memory is asked for once. */
static void
check_large(void)
{
	struct pages p;
	uint64_t numbers[] = { 3, 700, 3, COUNT - 1 };
	int asked;

	memset(model, 1, NBYTES);
	if (file_write(&store, model, NBYTES, OFFSET, &error) < 0 ||
	    fsync(store.fd) < 0 ||
	    posix_fadvise(store.fd, 0, 0, POSIX_FADV_DONTNEED) != 0 ||
	    pages_map(&p, &store, OFFSET, COUNT, PAGES_LARGE, &error) < 0) {
		tap_ok(0, "large: %s", error.text);
		return;
	}
	asked = p.present != NULL;
	if (asked)
		tap_ok(pages_load(&p, numbers, 4, &error) == 0 &&
		    pages_load(&p, numbers, 4, &error) == 0 &&
		    p.absent == COUNT - 3, "large: three pages are asked for");
	else
		tap_ok(1, "large: asked for # skip this file system has all of"
		    " its files in memory");
	pages_touch(&p, numbers, 4);
	p.base[700 * PAGE_BYTES] |= 2;
	model[700 * PAGE_BYTES] |= 2;
	tap_ok(memcmp(p.base, model, NBYTES) == 0 && p.dirty_count == 0 &&
	    pages_write_back(&p, &error) == 0 && file_is_model(),
	    "large: it is the file, also where that is changed");
	pages_drop(&p);
	pages_unmap(&p);
	if (pages_map(&p, &store, OFFSET, COUNT, PAGES_LARGE, &error) < 0) {
		tap_ok(0, "large: %s", error.text);
		return;
	}
	tap_ok(p.present == NULL, "large: nothing is asked for when all of it"
	    " is in memory");
	pages_unmap(&p);
}

/* More than the addresses can name, on any machine. */
static void
test_too_large(void)
{
	tap_ok(mapping_of_memory(UINT64_C(1) << 63, 1, &error) == NULL &&
	    strstr(error.text, "9223372036854775808 bytes is too large for"
	    " addresses of") != NULL, "too large a layer: %s", error.text);
}

int
main(void)
{
	char path[] = "/tmp/bloomdedup-pages-XXXXXX";

	model = malloc(NBYTES);
	file = malloc(NBYTES);
	store.fd = mkstemp(path);
	store.path = path;
	store.writable = 1;
	if (model == NULL || file == NULL || store.fd < 0) {
		tap_ok(0, "a temporary file");
		return tap_end();
	}
	unlink(path);
	check(PAGES_SHARED, COUNT, "shared");
	check(PAGES_PRIVATE, COUNT, "private, all over");
	check(PAGES_PRIVATE, 100, "private, neighbours");
	check(PAGES_PRIVATE, 20, "private, close neighbours");
	check(PAGES_FRESH, COUNT, "fresh, all over");
	check(PAGES_FRESH, 100, "fresh, neighbours");
	check_cut_off();
	check_large();
	close(store.fd);
	free(model);
	free(file);
	test_too_large();
	return tap_end();
}
