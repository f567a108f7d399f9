/*
 * Goal: a private layer is what a plain array would be: what is read, changed,
 * written back, gathered in memory, dropped and read again, in any order, in
 * memory and in the file; and no byte of the file changes that nobody changed.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "disk/pages.h"
#include "random64.h"
#include "tap.h"

/* Two chunks of 512 pages and a part of a third. */
#define COUNT 1100
#define OFFSET (3 * PAGE_BYTES)
#define NBYTES ((size_t)COUNT * PAGE_BYTES)

static struct file store = FILE_NONE;
static uint8_t *model, *file;
static struct error error;

static int
file_is_model(void)
{
	return file_read(&store, file, NBYTES, OFFSET, &error) == 0 &&
	    memcmp(file, model, NBYTES) == 0;
}

/* Set a bit. */
static int
change(struct pages *p, uint64_t page)
{
	size_t at = below(PAGE_BYTES);
	uint8_t bit = (uint8_t)(1 << below(8));

	if (p->changes != NULL && changes_room(p->changes) == 0 &&
	    (below(2) == 0 ? pages_gather(p, &error) :
	    pages_write_back(p, &error) < 0 || pages_drop(p, &error)) != 0)
		return -1;
	if (p->changes != NULL)
		pages_change_cache_line(p, page,
		    (unsigned)(at / CACHE_LINE_BYTES))[at % CACHE_LINE_BYTES]
		    |= bit;
	else
		p->base[page * PAGE_BYTES + at] |= bit;
	pages_touch(p, &page, 1);
	model[page * PAGE_BYTES + at] |= bit;
	return 0;
}

/* Load some pages, compare them, and set a bit in some of those. */
static int
work(struct pages *p, uint64_t pages)
{
	uint64_t numbers[40], first = below(COUNT - pages + 1);
	size_t n = 1 + below(40);

	for (size_t i = 0; i < n; i++)
		numbers[i] = first + below(pages);
	pages_load(p, numbers, n);
	for (size_t i = 0; i < n; i++) {
		const uint8_t *wanted = model + numbers[i] * PAGE_BYTES;
		unsigned line = below(PAGE_CACHE_LINES);

		if (memcmp(pages_page(p, numbers[i]), wanted, PAGE_BYTES) != 0)
			return -1;
		if (p->changes != NULL && memcmp(pages_cache_line(p, numbers[i],
		    line), wanted + line * CACHE_LINE_BYTES,
		    CACHE_LINE_BYTES) != 0)
			return -1;
	}
	for (size_t some = below(n + 1), i = 0; i < some; i++) {
		if (change(p, numbers[i]) < 0)
			return -1;
	}
	return 0;
}

/* `pages`: how many neighbours are worked on at a time. */
static void
check(enum pages_kind kind, uint64_t pages, const char *what)
{
	struct pages p;
	int good = 1, apart = 0, gathered = 0; /* how often changes were */

	memset(model, 0, NBYTES);
	for (size_t i = 0; kind != PAGES_FRESH && i < NBYTES;
	    i += 1 + below(64))
		model[i] = (uint8_t)below(256);
	if (file_write(&store, model, NBYTES, OFFSET, &error) < 0 ||
	    pages_map(&p, &store, OFFSET, COUNT, kind, &error) < 0) {
		tap_ok(0, "%s: %s", what, error.text);
		return;
	}
	for (int i = 0; i < 1500 && good; i++) {
		good = work(&p, pages) == 0;
		apart += p.changes != NULL;
		gathered += p.changes == NULL;
		if (good && below(20) == 0)
			good = pages_write_back(&p, &error) == 0 &&
			    p.dirty_count == 0 && file_is_model();
		if (good && p.changes != NULL && below(200) == 0)
			good = pages_gather(&p, &error) == 0;
		if (good && p.dirty_count == 0 && below(3) == 0)
			good = pages_drop(&p, &error) == 0;
	}
	tap_ok(good, "%s: pages are the model's", what);
	tap_ok(kind == PAGES_SHARED ? apart == 0 : apart > 0 && gathered > 0,
	    "%s: changes apart %d times, in place %d times", what, apart,
	    gathered);
	tap_ok(pages_write_back(&p, &error) == 0 && file_is_model(),
	    "%s: and so is the file", what);
	pages_unmap(&p);
}

/* What a file that was cut off doesn't hold is an error, and is not zeros. */
static void
check_cut_off(void)
{
	struct pages p;
	int good;

	memset(model, 1, NBYTES);
	good = file_write(&store, model, NBYTES, OFFSET, &error) == 0 &&
	    pages_map(&p, &store, OFFSET, COUNT, PAGES_PRIVATE, &error) == 0;
	for (uint64_t page = 512; good && page < 600; page++) {
		pages_change_cache_line(&p, page, 0)[0] |= 2;
		pages_touch(&p, &page, 1);
	}
	good = good && ftruncate(store.fd, OFFSET + 600 * PAGE_BYTES) == 0;
	tap_ok(good && pages_gather(&p, &error) < 0 && p.changes != NULL,
	    "a layer that is not all there can't be read: %s", error.text);
	tap_ok(good && pages_page(&p, 512)[0] == 3 &&
	    pages_page(&p, 511)[0] == 1, "and what is there still is");
	tap_ok(good && pages_write_back(&p, &error) < 0 &&
	    p.dirty_count == 88, "what was changed can't be written back: %s",
	    error.text);
	tap_ok(good && file_read(&store, file, 600 * PAGE_BYTES, OFFSET,
	    &error) == 0 && file[512 * PAGE_BYTES] == 1 && file[0] == 1,
	    "and the file is left as it is");
	pages_unmap(&p);
}

/* Map a file of ones, of which nothing is in memory. Returns 0, or -1. */
static int
map_cold(struct pages *p, enum pages_kind kind, const char *what)
{
	memset(model, 1, NBYTES);
	if (file_write(&store, model, NBYTES, OFFSET, &error) < 0 ||
	    fsync(store.fd) < 0 ||
	    posix_fadvise(store.fd, 0, 0, POSIX_FADV_DONTNEED) != 0 ||
	    pages_map(p, &store, OFFSET, COUNT, kind, &error) < 0) {
		tap_ok(0, "%s: %s", what, error.text);
		return -1;
	}
	return 0;
}

/* The same; if the file is in memory all the same, the check is skipped. */
static int
map_absent(struct pages *p, enum pages_kind kind, const char *what)
{
	if (map_cold(p, kind, what) < 0)
		return -1;
	if (p->present != NULL)
		return 0;
	tap_ok(1, "%s # skip this file system has all of its files in memory",
	    what);
	pages_unmap(p);
	return -1;
}

/*
 * Of a large file, what is not in memory is asked for once, and a piece at a
 * time when much of it was.
 */
static void
check_large(enum pages_kind kind, const char *what)
{
	struct pages p;
	uint64_t numbers[] = { 3, 700, 3, COUNT - 1 };
	int good = 1;

	if (map_cold(&p, kind, what) < 0)
		return;
	if (p.present != NULL) {
		pages_load(&p, numbers, 4);
		pages_load(&p, numbers, 4);
		tap_ok(p.absent == COUNT - 3, "%s: three pages are asked for",
		    what);
		for (uint64_t page = 512; page < 575; page++)
			pages_load(&p, &page, 1);
		good = p.absent == COUNT - 3 - 63;
		pages_load(&p, &(uint64_t){ 600 }, 1);
		tap_ok(good && p.absent == COUNT - 2 - 512,
		    "%s: then 2 MiB at once", what);
	} else {
		tap_ok(1, "%s: asked for # skip this file system has all of"
		    " its files in memory", what);
		tap_ok(1, "%s: 2 MiB at once # skip the same", what);
	}
	good = change(&p, 700) == 0 && change(&p, 3) == 0;
	for (uint64_t i = 0; i < COUNT; i++)
		good = good && memcmp(pages_page(&p, i), model +
		    i * PAGE_BYTES, PAGE_BYTES) == 0;
	tap_ok(good && pages_write_back(&p, &error) == 0 &&
	    p.dirty_count == 0 && file_is_model() &&
	    pages_drop(&p, &error) == 0,
	    "%s: it is the file, also where that is changed", what);
	pages_unmap(&p);
	if (pages_map(&p, &store, OFFSET, COUNT, kind, &error) < 0) {
		tap_ok(0, "%s: %s", what, error.text);
		return;
	}
	tap_ok(p.present == NULL, "%s: nothing is asked for when all of it"
	    " is in memory", what);
	pages_unmap(&p);
}

/* How many pages of the mapped file are in memory? */
static uint64_t
resident(const struct pages *p)
{
	const size_t unit = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t count = 0;

	for (uint64_t i = 0; i < p->count; i++) {
		uint8_t *page = p->base + i * PAGE_BYTES;
		unsigned char in_memory = 0;

		mincore(page - (uintptr_t)page % unit, 1, &in_memory);
		count += in_memory & 1;
	}
	return count;
}

/* Of a layer that is not in memory, only what was changed is read again. */
static void
check_write_back(void)
{
	struct pages p;
	uint64_t changed = 0, read = 0;
	int good = 1;

	if (map_absent(&p, PAGES_PRIVATE, "written back") < 0)
		return;
	/* neighbours, which the kernel would read beyond */
	for (uint64_t page = 0; good && page < COUNT; page++) {
		if (page % 100 >= 50)
			continue;
		good = change(&p, page) == 0;
		changed++;
	}
	/* Nobody has the pages any more. */
	madvise(p.base - OFFSET % (size_t)sysconf(_SC_PAGESIZE), NBYTES,
	    MADV_DONTNEED);
	good = good && fsync(store.fd) == 0 &&
	    posix_fadvise(store.fd, 0, 0, POSIX_FADV_DONTNEED) == 0 &&
	    resident(&p) == 0 && pages_write_back(&p, &error) == 0;
	read = resident(&p);
	tap_ok(good && read >= changed && read < changed + changed / 4,
	    "written back: of %llu pages that were changed, %llu are read",
	    (unsigned long long)changed, (unsigned long long)read);
	tap_ok(good && file_is_model(), "and they are the model's");
	pages_unmap(&p);
}

/* In memory, all lines are looked at together, however few were read before. */
static void
check_gathered(void)
{
	struct pages p;
	int good;

	memset(model, 1, NBYTES);
	good = file_write(&store, model, NBYTES, OFFSET, &error) == 0 &&
	    pages_map(&p, &store, OFFSET, COUNT, PAGES_PRIVATE, &error) == 0;
	tap_ok(good && p.state == PAGES_PIECEMEAL &&
	    pages_cache_line(&p, 5, 5)[0] == 1 && changes_have(p.changes, 5) &&
	    pages_gather(&p, &error) == 0 && p.state == PAGES_GATHERED &&
	    memcmp(p.base, model, NBYTES) == 0,
	    "gathered at once: nothing is read by itself any more");
	tap_ok(good && pages_drop(&p, &error) == 0 &&
	    p.state == PAGES_OVERLAY && memcmp(p.base, model, NBYTES) == 0,
	    "and it can be dropped");
	if (good)
		pages_unmap(&p);
}

/* Lines are read one by one only at first. */
static void
check_single_lines(void)
{
	struct pages p;
	uint64_t left, lines = 0;
	int good;

	memset(model, 1, NBYTES);
	good = file_write(&store, model, NBYTES, OFFSET, &error) == 0 &&
	    pages_map(&p, &store, OFFSET, COUNT, PAGES_PRIVATE, &error) == 0;
	left = good ? p.piecemeal_left : 0;
	for (; good && p.state == PAGES_PIECEMEAL && lines <= left; lines++)
		good = pages_cache_line(&p, lines % COUNT,
		    (unsigned)(lines / COUNT))[0] == 1;
	tap_ok(good && lines == left && p.state == PAGES_OVERLAY &&
	    changes_count(p.changes) == left,
	    "%llu lines are read one by one", (unsigned long long)left);
	tap_ok(good && pages_cache_line(&p, 1, 60)[0] == 1 &&
	    changes_count(p.changes) == left, "and further ones are mapped");
	if (good)
		pages_unmap(&p);
}

/* A cold layer that all was asked for is like any other mapped one. */
static void
check_warmed(void)
{
	struct pages p;
	int good;

	if (map_cold(&p, PAGES_LARGE, "a cold layer") < 0)
		return;
	good = p.state == PAGES_MAPPED && change(&p, 7) == 0 &&
	    file_read(&store, file, NBYTES, OFFSET, &error) == 0;
	for (uint64_t page = 0; page < COUNT; page++)
		pages_load(&p, &page, 1);
	if (p.present == NULL)
		tap_ok(1, "a cold layer # skip this file system has all of its"
		    " files in memory");
	else
		tap_ok(good && !pages_are_cold(&p) && p.state == PAGES_MAPPED,
		    "a cold layer is warm once all was asked for");
	tap_ok(good && change(&p, 8) == 0 && file_is_model(),
	    "and can be changed before and after");
	pages_unmap(&p);
}

/*
 * Where memory can't hold the layer, pages are asked for one by one, and again
 * once half of the memory was asked for.
 */
static void
check_small_memory(void)
{
	struct pages p;
	int good;

	if (map_absent(&p, PAGES_LARGE, "a small memory") < 0)
		return;
	p.memory = COUNT / 2;
	for (uint64_t page = 0; page < p.memory / 2; page++)
		pages_load(&p, &page, 1);
	good = p.absent == COUNT - p.memory / 2;
	pages_load(&p, &(uint64_t){ 1000 }, 1);
	tap_ok(good && p.absent == COUNT, "a small memory: no 2 MiB at once,"
	    " and half of it is forgotten");
	good = change(&p, 5) == 0 && change(&p, 1000) == 0;
	tap_ok(good && file_is_model(), "and all pages can be changed");
	pages_unmap(&p);
}

/* More than the addresses can name, on any machine. */
static void
test_too_large(void)
{
	struct pages p;

	tap_ok(pages_map(&p, NULL, 0, (UINT64_C(1) << 63) / PAGE_BYTES,
	    PAGES_MEMORY, &error) < 0 && strstr(error.text, "cannot map"
	    " 9223372036854775808 bytes of memory") != NULL,
	    "too large a layer: %s", error.text);
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
	check_large(PAGES_LARGE, "large");
	check_large(PAGES_PRIVATE, "private and large");
	check_gathered();
	check_single_lines();
	check_warmed();
	check_small_memory();
	check_write_back();
	check_cut_off();
	close(store.fd);
	free(model);
	free(file);
	test_too_large();
	return tap_end();
}
