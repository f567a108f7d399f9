/*
 * Changed cache lines of a layer, apart from its pages: a hash table by page,
 * with a copy of each line. Few lines of a large layer cost little memory.
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
 * For a layer of `pages` pages and at most `limit` lines, up to CHANGES_MAX.
 * Takes over `memory` of mmap(2), changes_memory(limit) bytes.
 */
#define CHANGES_MAX (UINT32_MAX - 1)
uint64_t changes_memory(uint64_t limit);
struct changes *changes_new(uint64_t pages, uint64_t limit, void *memory);

/* NULL does nothing. */
void changes_free(struct changes *changes);

/* Is any line of this page here? */
int changes_have(const struct changes *changes, uint64_t page);

/* Start fetching what is needed to find lines of this page. */
void changes_prefetch(const struct changes *changes, uint64_t page);

/* A line's copy, aligned to CACHE_LINE_BYTES; NULL if it isn't here. */
uint8_t *changes_find(const struct changes *changes, uint64_t line);

/* The same; if it isn't here, it is copied from `original`: needs room. */
uint8_t *changes_add(struct changes *changes, uint64_t line,
    const uint8_t *original);

/* How many lines there are, and how many more have room. */
uint64_t changes_count(const struct changes *changes);
uint64_t changes_room(const struct changes *changes);

/* Copy the changed lines of `count` pages from `first` on to those at `to`. */
void changes_apply(const struct changes *changes, uint64_t first,
    uint64_t count, uint8_t *to);

/* Forget all lines; their memory is kept for others, or freed. */
void changes_clear(struct changes *changes);
void changes_release(struct changes *changes);

/* The memory of lines, in bytes: of the most there were since it was freed. */
uint64_t changes_bytes(const struct changes *changes);

#endif
