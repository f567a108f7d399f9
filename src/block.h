/*
 * The bits of one layer: where a digest's bits are, setting and testing them.
 * Works on memory that somebody else owns and mapped; knows nothing of files.
 * All functions take digests in batches, since what costs is the wait for
 * memory: who prefetches a batch first pays for one wait, not for each.
 */
#ifndef BLOCK_H
#define BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "geometry.h"
#include "hash.h"

struct block_array {
	uint8_t *pages; /* geometry.pages * PAGE_BYTES, aligned to a page */
	struct geometry geometry;
};

/* The numbers of the pages that n digests belong to. */
void block_pages(const struct geometry *geometry,
    const struct digest *digests, size_t n, uint64_t *numbers);

/* In which of so many ranges of pages a digest lies, about. */
static inline unsigned
block_part(struct digest digest, unsigned parts)
{
	return (unsigned)((digest.high >> 32) * parts >> 32);
}

/* Bring the cache lines of n digests on their way from memory. */
void block_prefetch(const struct block_array *array,
    const struct digest *digests, size_t n);

/* Set found[i] to 1 where all bits of digest i are set; leave the others. */
void block_probe(const struct block_array *array,
    const struct digest *digests, size_t n, uint8_t *found);

/* The same as block_mark, beside other processes that mark. */
void block_mark_shared(const struct block_array *array,
    const struct digest *digests, size_t n);

/* Set the bits of n digests. */
void block_mark(const struct block_array *array,
    const struct digest *digests, size_t n);

/*
 * Of those, only the ones that lie in one part of the pages: no page belongs to
 * two parts, so each may be marked by a thread of its own.
 */
void block_mark_part(const struct block_array *array,
    const struct digest *digests, size_t n, unsigned part, unsigned parts);

/*
 * What the bits of one page say: the number that are set, and the rate at
 * which unseen keys of this page are found: the product over the groups of
 * the mean over their lines (and rotations) of the lanes' shares.
 */
struct block_page_fill {
	uint64_t bits;
	double rate;
};
struct block_page_fill block_page_fill(const struct geometry *geometry,
    const uint8_t *page);

/*
 * Where digest's bits are, one by one, for the tests of the format: calls
 * `visit` for each with the page, the cache line in it, the lane and the bit.
 */
void block_visit(const struct geometry *geometry, struct digest digest,
    void (*visit)(void *context, uint64_t page, unsigned line, unsigned lane,
    unsigned bit), void *context);

#endif
