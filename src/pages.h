/*
 * The pages of one layer in memory, and how bits that are set there get into
 * the file. The filter sets bits; it need not know which of the two it has.
 *
 * Shared: the file itself is mapped. Best while it is small: the kernel writes
 * changed pages when it likes, and what is set is safe from kill -9 at once.
 *
 * Of a large one that is not in the page cache, the kernel is told which pages
 * a batch needs before the first of them is touched.
 *
 * Private: the kernel slows whoever changes more pages of a mapped file than
 * it can write (vm.dirty_ratio), to a hundredth. So a large layer is worked on
 * in memory of our own. A page is read when it is first needed, and 2 MiB at
 * a time, into a huge page, once it is clear that all will be. What changed is
 * written back in order, now and then. Bits are only ever set, so any mixture
 * of older and newer pages in the file is a valid layer; a kill repeats the
 * lines since the last time, and loses none.
 */
#ifndef PAGES_H
#define PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "geometry.h"
#include "store.h"

struct pages {
	uint8_t *base;       /* of `count` pages */
	uint64_t count;
	struct store *store; /* not ours */
	uint64_t offset;     /* in the file */
	uint64_t absent;     /* not asked for yet; 0 unless private or large */
	uint64_t *present;   /* if so, a bit for each page; else NULL */
	/* Private ones, else NULL. */
	uint64_t *dirty;     /* a bit for each page */
	uint16_t *singles;   /* pages read one by one, of each 2 MiB */
	uint64_t dirty_count;
	int fresh;           /* the file has but zeros */
};

enum pages_kind {
	PAGES_MEMORY,  /* without a file */
	PAGES_SHARED,
	PAGES_LARGE,   /* shared, and large */
	PAGES_PRIVATE,
	PAGES_FRESH    /* private, of a range that is all zero */
};

/*
 * Map `count` pages from `offset` on, which there are: 0, or -1 with `error`
 * filled. The store must stay where it is.
 */
int pages_map(struct pages *pages, struct store *store, uint64_t offset,
    uint64_t count, enum pages_kind kind, struct error *error);

/* Forgets what was not written back. Nothing is done if all is zero. */
void pages_unmap(struct pages *pages);

/*
 * Let the pages with these numbers be present, before they are looked at or
 * changed: those of them in one part of all pages, so that threads can do it
 * for each part at the same time. Tells the kernel of all of them before it
 * reads the first.
 */
int pages_load(struct pages *pages, const uint64_t *numbers, size_t n,
    unsigned part, unsigned parts, struct error *error);

/* These pages, which are present, are going to be changed. */
void pages_touch(struct pages *pages, const uint64_t *numbers, size_t n);

/* Write what has changed to the file. */
int pages_write_back(struct pages *pages, struct error *error);

/* Give the memory back; nothing is dirty, and all is read again. */
void pages_drop(struct pages *pages);

#endif
