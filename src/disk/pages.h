/*
 * The pages of one layer in memory, and how bits set there get into the file.
 * The filter sets bits, and need not know which of two ways is used.
 *
 * Shared: the file itself is mapped. Best while it is small: the kernel writes
 * changed pages when it likes, and a bit survives kill -9 as soon as it is set.
 *
 * If a large file is not in the page cache, the kernel is told which pages a
 * batch needs before the first of them is touched.
 *
 * Private: a process that changes more pages of a mapped file than the kernel
 * can write (vm.dirty_ratio) is slowed to a hundredth. So a large layer is kept
 * in private memory. A page is read when it is first needed; once it is clear
 * that all will be, 2 MiB are read at a time, into a huge page. Changed pages
 * are written back in order, now and then. Bits are only ever set, so any
 * mixture of older and newer pages in the file is a valid layer; after a kill,
 * lines since the last write are printed again, and none is lost.
 */
#ifndef PAGES_H
#define PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bits/geometry.h"
#include "disk/file.h"

struct pages {
	uint8_t *base;       /* of `count` pages */
	uint64_t count;
	struct file *file; /* not owned */
	uint64_t offset;     /* in the file */
	uint64_t absent;     /* not asked for yet; 0 unless private or large */
	uint64_t *present;   /* if so, a bit for each page; else NULL */
	/* Private ones, else NULL. */
	uint64_t *dirty;     /* a bit for each page */
	uint16_t *singles;   /* pages read one by one, of each 2 MiB */
	uint64_t dirty_count;
	int fresh;           /* the file has only zeros */
};

enum pages_kind {
	PAGES_MEMORY,  /* without a file */
	PAGES_SHARED,
	PAGES_LARGE,   /* shared, and large */
	PAGES_PRIVATE,
	PAGES_FRESH    /* private, of a range that is all zero */
};

/*
 * Map `count` pages of the file, which must exist, from `offset`. Returns 0, or
 * -1 with `error` filled. Keeps the pointer to `file`.
 */
int pages_map(struct pages *pages, struct file *file, uint64_t offset,
    uint64_t count, enum pages_kind kind, struct error *error);

/* Discards changes not written back. Does nothing if all fields are zero. */
void pages_unmap(struct pages *pages);

/*
 * Make the pages with these numbers present, before they are probed or changed.
 * Tells the kernel of all of them before it reads the first.
 */
int pages_load(struct pages *pages, const uint64_t *numbers, size_t n,
    struct error *error);

/* Note that these pages, which are present, are going to be changed. */
void pages_touch(struct pages *pages, const uint64_t *numbers, size_t n);

/* Write changed pages to the file. */
int pages_write_back(struct pages *pages, struct error *error);

/* Free the memory, when no page is dirty; pages are read again when needed. */
void pages_drop(struct pages *pages);

#endif
