/*
 * The pages of one layer in memory, and how bits set there get into the file.
 * There are two ways.
 *
 * Shared: the file itself is mapped. Best while it is small: the kernel writes
 * changed pages when it likes, and a bit survives kill -9 as soon as it is set.
 *
 * Private: a process that changes more pages of a mapped file than the kernel
 * can write (vm.dirty_ratio) is slowed to a hundredth. So changes of a large
 * layer are kept in private memory, and written back in order, now and then.
 * Bits are only ever set, so any mixture of older and newer pages in the file
 * is a valid layer; after a kill, lines since the last write are printed again,
 * and none is lost.
 *
 * At first, only cache lines that were changed are in memory (changes.h); what
 * is looked up is in the file, which is mapped, and the first few cache lines
 * are read one by one. Once many were changed since the last write, the whole
 * layer is read: it can then be changed in place, and nothing is as fast as
 * that.
 */
#ifndef DISK_PAGES_H
#define DISK_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bits/geometry.h"
#include "disk/changes.h"
#include "disk/file.h"

/*
 * The states of a layer's pages:
 *
 *   state         base is           bits are looked up in     and set in
 *   ------------  ----------------  ------------------------  ----------
 *   IN_MEMORY     memory            base                      base
 *   MAPPED        the mapped file   base                      base
 *   PIECEMEAL     the mapped file   changes, into which each  changes
 *                                   cache line is read by
 *                                   itself
 *   OVERLAY       the mapped file   base and changes          changes
 *   ZEROS         memory, all zero  base and changes          changes
 *   GATHERED      memory, which     base                      base
 *                 has all of it
 *
 * From PIECEMEAL on they are private: pages_write_back takes what was set to
 * the file. These are all transitions:
 *
 *   pages_map         to IN_MEMORY, MAPPED, PIECEMEAL or ZEROS
 *   pages_cache_line  PIECEMEAL to OVERLAY, after enough of them
 *   pages_gather      PIECEMEAL, OVERLAY, ZEROS to GATHERED
 *   pages_drop        ZEROS, GATHERED to OVERLAY
 *
 * Two facts are independent of the state: some pages can be dirty, if they are
 * private; and the layer can be cold, if the file is mapped: then the kernel is
 * told which pages a batch needs before the first of them is touched.
 */
enum pages_state {
	PAGES_IN_MEMORY,
	PAGES_MAPPED,
	PAGES_PIECEMEAL,
	PAGES_OVERLAY,
	PAGES_ZEROS,
	PAGES_GATHERED
};

struct pages {
	enum pages_state state;
	uint8_t *base;       /* the first of `count` pages */
	uint64_t count;
	struct file *file; /* not owned */
	uint64_t offset;     /* offset of the layer in the file, in bytes */
	/* The next members are for a layer that is cold, or was. */
	uint64_t absent;     /* pages not asked for yet; 0: it is not cold */
	uint64_t *present;   /* a bit for each page: asked for, and likely to
	                        be in memory still? */
	uint16_t *singles;   /* pages asked for one by one, of each 2 MiB */
	uint64_t asked;      /* pages, since none was present */
	uint64_t memory;     /* pages that the available memory has room for */
	/* The rest is for a private layer. */
	struct changes *changes; /* NULL if it is gathered */
	uint64_t piecemeal_left; /* cache lines that may still be read one by
				  * one, which is cheaper than mapping pages of
				  * `base` */
	uint64_t *dirty;     /* a bit for each page: newer than the file? */
	uint64_t dirty_count;
	uint8_t *buffer;     /* room for some pages with their changes */
};

/* Are bits set in `changes`, not in `base`? */
static inline int
pages_have_changes(const struct pages *pages)
{
	return pages->state == PAGES_PIECEMEAL ||
	    pages->state == PAGES_OVERLAY || pages->state == PAGES_ZEROS;
}

static inline int
pages_are_private(const struct pages *pages)
{
	return pages->state >= PAGES_PIECEMEAL;
}

static inline int
pages_are_cold(const struct pages *pages)
{
	return pages->absent > 0;
}

/* The purposes that pages are mapped for. */
enum pages_kind {
	PAGES_MEMORY,  /* pages in memory, without a file */
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

/* Is there room for so many more pages among the addresses of the process? */
int pages_can_map(uint64_t count);

/*
 * Bring all pages of a layer into memory at once, if it is mapped; its file,
 * which nobody else changes, has nothing but zeros there. That takes a fifth of
 * the time that the pages take one by one, when they are first changed.
 */
int pages_fill(struct pages *pages, struct error *error);

/* Discards changes not written back. Does nothing if all fields are zero. */
void pages_unmap(struct pages *pages);

/*
 * Ask the kernel to begin reading these pages of a cold layer; call it before
 * probing or changing them. Once all pages were asked for, the layer is no
 * longer cold.
 */
void pages_load(struct pages *pages, const uint64_t *numbers, size_t n);

/* Note that these pages were changed, if they are private. */
void pages_touch(struct pages *pages, const uint64_t *numbers, size_t n);

/*
 * Return a cache line of a page as it is now, valid until the next call; or the
 * same to be changed, for which there must be room (changes_room). `cache_line`
 * is its index in the page. Only if pages_have_changes.
 */
const uint8_t *pages_cache_line(struct pages *pages, uint64_t page,
    unsigned cache_line);
uint8_t *pages_change_cache_line(struct pages *pages, uint64_t page,
    unsigned cache_line);

/* Returns a page as it is now, until the next call. */
const uint8_t *pages_page(const struct pages *pages, uint64_t number);

/* Write the dirty pages to the file. Returns 0, or -1 with `error` filled. */
int pages_write_back(struct pages *pages, struct error *error);

/*
 * Read all pages into memory, to be changed in place (GATHERED). Only if
 * pages_have_changes. Returns 0; 1 if there is not enough memory, or -1 with
 * `error` filled: then nothing has changed.
 */
int pages_gather(struct pages *pages, struct error *error);

/*
 * Free the private memory, if there is any; `base` is then the mapped file. No
 * page may be dirty. Returns 0; or -1 with `error` filled, and then nothing has
 * changed.
 */
int pages_drop(struct pages *pages, struct error *error);

/* Returns the private memory in use, in bytes. */
uint64_t pages_private_bytes(const struct pages *pages);

#endif
