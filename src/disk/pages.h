/*
 * The pages of one layer in memory, and how bits set there get into the file.
 * There are two ways.
 *
 * Shared: the file itself is mapped. Best while it is small: the kernel writes
 * changed pages when it likes, and a bit survives kill -9 as soon as it is set.
 *
 * If a large file is not in the page cache, the kernel is told which pages a
 * batch needs before the first of them is touched.
 *
 * Private: a process that changes more pages of a mapped file than the kernel
 * can write (vm.dirty_ratio) is slowed to a hundredth. So changes of a large
 * layer are kept in private memory, and written back in order, now and then.
 * Bits are only ever set, so any mixture of older and newer pages in the file
 * is a valid layer; after a kill, lines since the last write are printed again,
 * and none is lost.
 *
 * At first, only cache lines that were changed are in memory (changes.h); what
 * is looked up is in the file, which is mapped, and the first few lines are
 * read one by one. Once many were changed since the last write, the whole layer
 * is read: it can then be changed in place, and nothing is as fast as that.
 */
#ifndef DISK_PAGES_H
#define DISK_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bits/geometry.h"
#include "disk/changes.h"
#include "disk/file.h"

struct pages {
	uint8_t *base;       /* of `count` pages */
	uint64_t count;
	struct file *file; /* not owned */
	uint64_t offset;     /* in the file */
	/* Of a large file that is not in the page cache, else 0 and NULL. */
	uint64_t absent;     /* pages not asked for yet */
	uint64_t *present;   /* a bit for each page: asked for? */
	uint16_t *singles;   /* pages asked for one by one, of each 2 MiB */
	/* Private ones, else NULL. */
	struct changes *changes; /* if so, `base` is not to be changed */
	uint64_t single_lines; /* how many are still read one by one; if any,
	                        that is cheaper than to have pages of `base`
	                        mapped */
	uint64_t *dirty;     /* a bit for each page: newer than the file? */
	uint64_t dirty_count;
	uint8_t *buffer;     /* for some pages with their changes */
	int in_memory;       /* `base` is not the file: all zeros at first, or
	                        all of the layer */
};

enum pages_kind {
	PAGES_MEMORY,  /* without a file */
	PAGES_SHARED,
	PAGES_LARGE,   /* shared, and large */
	PAGES_PRIVATE, /* large, too */
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

/* Before probing or changing pages: the kernel begins to read all of them. */
void pages_load(struct pages *pages, const uint64_t *numbers, size_t n);

/* Note that these pages were changed. */
void pages_touch(struct pages *pages, const uint64_t *numbers, size_t n);

/*
 * With `changes`: a cache line of a page as it is now; the same to be changed,
 * for which there must be room (changes_room). With them, `base` lacks changes
 * of those pages that changes_have.
 */
const uint8_t *pages_line(struct pages *pages, uint64_t page, unsigned line);
uint8_t *pages_change_line(struct pages *pages, uint64_t page, unsigned line);

/* A page as it is now, until the next call. */
const uint8_t *pages_page(const struct pages *pages, uint64_t number);

/* Write changed pages to the file. */
int pages_write_back(struct pages *pages, struct error *error);

/*
 * With `changes`: read all pages into memory, where `base` then is, to be
 * changed in place. Returns 1 if there is not enough memory.
 */
int pages_gather(struct pages *pages, struct error *error);

/*
 * When no page is dirty: free the memory; `base` is then the mapped file, and
 * there are `changes` again. Nothing happens if it isn't private, or after an
 * error.
 */
int pages_drop(struct pages *pages, struct error *error);

/* The private memory in use, in bytes. */
uint64_t pages_private_bytes(const struct pages *pages);

#endif
