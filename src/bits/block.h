/*
 * The bits of one layer: where a digest's bits are, setting and testing them.
 * Works on memory that the caller has mapped; knows nothing of files. All
 * functions take digests in batches, since most of the time is spent waiting
 * for memory: a caller that prefetches a batch waits once, not for each digest.
 */
#ifndef BLOCK_H
#define BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "bits/block_array.h"
#include "bits/geometry.h"
#include "bits/hash.h"

/* The numbers of the pages that n digests belong to. */
void block_pages(const struct geometry *geometry,
    const struct digest *digests, size_t n, uint64_t *numbers);

/*
 * Start fetching the cache lines of n digests from memory. Another thread may
 * store other pages in the array meanwhile (__atomic_store_n).
 */
void block_prefetch(const struct block_array *array,
    const struct digest *digests, size_t n);

/* Set found[i] to 1 where all bits of digest i are set; leave the others. */
void block_probe(const struct block_array *array,
    const struct digest *digests, size_t n, uint8_t *found);

/*
 * The same in `count` arrays of one geometry: a digest in none of them costs
 * one cache line of each, one in the first array is found fastest. No prefetch
 * is needed, and digests found before are skipped.
 */
void block_probe_chain(const struct block_array *const *chain, unsigned count,
    const struct digest *digests, size_t n, uint8_t *found);

/* Like block_mark, but safe while other processes mark, too. */
void block_mark_shared(const struct block_array *array,
    const struct digest *digests, size_t n);

/* Set the bits of n digests. */
void block_mark(const struct block_array *array,
    const struct digest *digests, size_t n);

/* The cache lines of its page where a digest has bits: cache_lines numbers. */
void block_lines(const struct geometry *geometry, struct digest digest,
    unsigned lines[CACHE_LINES_MAX]);

/* Are all bits of a digest set in its lines, as block_lines has them? */
int block_probe_lines(const struct geometry *geometry, struct digest digest,
    const uint8_t *const lines[]);

/* Set the bits of a digest in its lines; each is aligned to LINE_BYTES. */
void block_mark_lines(const struct geometry *geometry, struct digest digest,
    uint8_t *const lines[]);

/*
 * Statistics of one page: the number of bits set, and the rate at which unseen
 * keys of this page are found: the product over the groups of the mean over
 * their lines (and rotations) of the lanes' shares.
 */
struct block_page_fill {
	uint64_t bits;
	double rate;
};
struct block_page_fill block_page_fill(const struct geometry *geometry,
    const uint8_t *page);

/*
 * Call `visit` for each bit of a digest, with the
 * page, the cache line in it, the lane and the bit.
 */
void block_visit(const struct geometry *geometry, struct digest digest,
    void (*visit)(void *context, uint64_t page, unsigned line, unsigned lane,
    unsigned bit), void *context);

#endif
