/*
 * Changed cache lines of a layer, apart from its pages: a hash table by page,
 * with a copy of each. A few of a large layer cost little memory.
 *
 * A cache line's number is that of its page times PAGE_CACHE_LINES, plus its
 * index in the page.
 */
#ifndef DISK_CHANGES_H
#define DISK_CHANGES_H

#include <stdint.h>

#include "bits/geometry.h"

struct changes;

/*
 * Begin with no changes of a layer of `pages` pages, of which at most `limit`
 * cache lines, up to CHANGES_MAX, can be changed. Takes over `memory`, which is
 * zeroed memory of mmap(2) with changes_memory(limit) bytes. Never fails.
 */
#define CHANGES_MAX (UINT32_MAX - 1)
uint64_t changes_memory(uint64_t limit);
struct changes *changes_new(uint64_t pages, uint64_t limit, void *memory);

/* Free all of it, with its memory. NULL does nothing. */
void changes_free(struct changes *changes);

/* Is any cache line of this page changed? */
int changes_have(const struct changes *changes, uint64_t page);

/* Start fetching what is needed to find the changes of this page. */
void changes_prefetch(const struct changes *changes, uint64_t page);

/*
 * Returns the copy of a cache line, aligned to CACHE_LINE_BYTES, which stays
 * where it is until changes_clear; NULL if there is none.
 */
uint8_t *changes_find(const struct changes *changes, uint64_t cache_line);

/*
 * Returns the copy of a cache line, like changes_find. If there is none, it
 * copies `original`, of CACHE_LINE_BYTES bytes, for which there must be room.
 */
uint8_t *changes_add(struct changes *changes, uint64_t cache_line,
    const uint8_t *original);

/*
 * Return the number of changed cache lines, and of further ones that there is
 * room for.
 */
uint64_t changes_count(const struct changes *changes);
uint64_t changes_room(const struct changes *changes);

/*
 * Copy the changed cache lines of `count` pages, from number `first` on, to the
 * bytes of those pages at `to`.
 */
void changes_apply(const struct changes *changes, uint64_t first,
    uint64_t count, uint8_t *to);

/*
 * Forget all changes. changes_clear keeps their memory for others, and
 * changes_release gives it back to the system.
 */
void changes_clear(struct changes *changes);
void changes_release(struct changes *changes);

/*
 * Returns the memory of the most changes since it was given back last, in
 * bytes.
 */
uint64_t changes_bytes(const struct changes *changes);

#endif
