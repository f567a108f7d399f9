/*
 * The shape of a layer, and the error rate that follows from it.
 *
 * A layer is an array of pages of 4096 bytes; a page has 64 cache lines of 512
 * bits, a cache line eight lanes of 64 bits. A key belongs to one page. It has
 * `cache_lines` (t) of its cache lines, the j-th one in the j-th of t groups of
 * neighbouring ones, and in each of them at most one bit a lane: k bits in all,
 * split as evenly as possible. Which of the eight lanes are unused rotates
 * with the hash.
 *
 *     page   |0 ........ 20|21 ....... 41|42 ........ 63|    t = 3
 *     key    |      #      |  #          |            # |    one # a group
 *     #      [ 64 | 64 | 64 | 64 | 64 | 64 | 64 | 64 ]       one bit a lane
 *
 * So a key costs one page (one fault, one TLB miss) and t cache lines in place
 * of k.
 */
#ifndef BITS_GEOMETRY_H
#define BITS_GEOMETRY_H

#include <stdint.h>

#define PAGE_BYTES 4096u
#define PAGE_CACHE_LINES 64u
#define CACHE_LINE_BYTES 64u
#define CACHE_LINE_LANES 8u
#define CACHE_LINES_MAX 8u
#define K_MAX (CACHE_LINE_LANES * CACHE_LINES_MAX)

/* With more pages, the number of bits would overflow 64 bits. */
#define PAGES_MAX (((uint64_t)1 << 61) / PAGE_BYTES - 16)

struct geometry {
	uint64_t pages;       /* 1 to PAGES_MAX */
	unsigned k;           /* bits per key: cache_lines to 8 * cache_lines */
	unsigned cache_lines; /* cache lines per key, t: 1 to 8 */
};

/* Returns the first cache line of group j of t; group t is the end. */
static inline unsigned
geometry_group(unsigned t, unsigned j)
{
	return PAGE_CACHE_LINES * j / t;
}

/* Returns how many of the k bits are in the j-th of t cache lines. */
static inline unsigned
geometry_cache_line_bits(unsigned k, unsigned t, unsigned j)
{
	return k / t + (j < k % t);
}

static inline int
geometry_is_same(const struct geometry *a, const struct geometry *b)
{
	return a->pages == b->pages && a->k == b->k &&
	    a->cache_lines == b->cache_lines;
}

/* Returns 0 if all members are in their ranges, else -1. */
int geometry_check(const struct geometry *geometry);

/*
 * Returns the share of unseen keys that the layer takes for seen after `lines`
 * keys were added: exact for this layout and this number of pages, up to
 * rounding of some 1e-14 in the factor of one cache line.
 *
 * Over the number N of keys in a page, binomial (lines, 1/pages), it is the
 * mean of the product over the groups of the rate in one cache line. That
 * follows by inclusion and exclusion over the sets S of the lanes that the
 * query looks at (geometry.c).
 */
double geometry_rate(const struct geometry *geometry, uint64_t lines);

/*
 * Returns an estimate of the keys that were added, from the share of bits (0 to
 * 1) that are set in the whole layer: the inverse of geometry_fill. Infinite if
 * all bits are set.
 */
double geometry_lines(const struct geometry *geometry, double fill);

/*
 * Returns the expected share of bits that are set after `lines` keys were
 * added.
 */
double geometry_fill(const struct geometry *geometry, double lines);

#endif
