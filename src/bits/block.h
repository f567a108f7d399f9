/*
 * The bits of one layer: where a digest's bits are, setting and testing them,
 * where loops.h doesn't. Works on mapped memory; knows nothing of files.
 */
#ifndef BLOCK_H
#define BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "bits/geometry.h"
#include "bits/hash.h"
#include "bits/loops.h"

/* The numbers of the pages that n digests belong to. */
void block_pages(const struct geometry *geometry,
    const struct digest *digests, size_t n, uint64_t *numbers);

/* Like mark of loops.h, but safe while other processes mark, too. */
void block_mark_shared(const struct block_array *array,
    const struct digest *digests, size_t n);

/* The cache lines of its page where a digest has bits: cache_lines numbers. */
void block_lines(const struct geometry *geometry, struct digest digest,
    unsigned lines[CACHE_LINES_MAX]);

/*
 * Are all bits of a digest set in its j-th line; in its lines, as block_lines
 * has them? Each is aligned to LINE_BYTES.
 */
int block_probe_line(const struct geometry *geometry, struct digest digest,
    unsigned j, const uint8_t *line);
int block_probe_lines(const struct geometry *geometry, struct digest digest,
    const uint8_t *const lines[]);

/* Set the bits of a digest in its lines. */
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

/* Call `visit` for each bit of a digest: page, cache line, lane and bit. */
void block_visit(const struct geometry *geometry, struct digest digest,
    void (*visit)(void *context, uint64_t page, unsigned line, unsigned lane,
    unsigned bit), void *context);

#endif
