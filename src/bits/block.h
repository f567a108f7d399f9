/*
 * The bits of one layer: where a digest's bits are, setting and testing them,
 * where loops.h does not. Works on memory that the caller has mapped; knows
 * nothing of files.
 */
#ifndef BITS_BLOCK_H
#define BITS_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "bits/geometry.h"
#include "bits/hash.h"
#include "bits/loops.h"

/* Store in numbers[i] the number of the page that digest i belongs to. */
void block_pages(const struct geometry *geometry,
    const struct digest *digests, size_t n, uint64_t *numbers);

/*
 * Set the bits of n digests, like loops()->mark, but with atomic operations, so
 * that no bit is lost while other processes mark in the same pages.
 */
void block_mark_shared(const struct block_array *array,
    const struct digest *digests, size_t n);

/*
 * Compute the cache lines in which a digest has bits: geometry->cache_lines
 * numbers, each from 0 to PAGE_CACHE_LINES - 1 in the digest's page.
 */
void block_cache_lines(const struct geometry *geometry, struct digest digest,
    unsigned numbers[CACHE_LINES_MAX]);

/*
 * block_probe_cache_line returns 1 if all bits that a digest has in its j-th
 * cache line are set in the one at `at`, else 0; block_probe_cache_lines does
 * the same for all of them, in the order of block_cache_lines. Each is aligned
 * to CACHE_LINE_BYTES, and need not be in a page: these functions are for
 * single cache lines that were copied or fetched.
 */
int block_probe_cache_line(const struct geometry *geometry,
    struct digest digest, unsigned j, const uint8_t *at);
int block_probe_cache_lines(const struct geometry *geometry,
    struct digest digest, const uint8_t *const at[]);

/* Set the bits of a digest in its cache lines, given in the same way. */
void block_mark_cache_lines(const struct geometry *geometry,
    struct digest digest, uint8_t *const at[]);

/*
 * Statistics of one page: the number of bits set, and the rate at which unseen
 * keys of this page are found. The rate is the product over the groups of the
 * mean over their cache lines (and rotations) of the lanes' shares.
 */
struct block_page_fill {
	uint64_t bits;
	double rate;
};
struct block_page_fill block_page_fill(const struct geometry *geometry,
    const uint8_t *page);

/* Call `visit` for each bit of a digest: page, cache line in it, lane, bit. */
void block_visit(const struct geometry *geometry, struct digest digest,
    void (*visit)(void *context, uint64_t page, unsigned cache_line,
    unsigned lane, unsigned bit), void *context);

#endif
