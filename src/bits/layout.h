/*
 * Where a digest's bits are, as inline functions shared by the hot loops
 * (loops.c) and the slow ones (block.c). bloomdedup(5), "From a key to bits",
 * says the same in words.
 *
 * A cache line is one vector of eight lanes: a shift makes the mask, one
 * and-not tests all of its bits. The vectors are GCC's, so the compiler splits
 * them into what the machine has.
 */
#ifndef BITS_LAYOUT_H
#define BITS_LAYOUT_H

#include <stdint.h>

#include "bits/geometry.h"
#include "bits/hash.h"

#define INLINE static inline __attribute__((always_inline))

typedef uint64_t lanes
    __attribute__((vector_size(CACHE_LINE_BYTES),
    aligned(CACHE_LINE_BYTES), may_alias));

typedef uint64_t unaligned_lanes
    __attribute__((vector_size(CACHE_LINE_BYTES), aligned(8), may_alias));

/* Bit b of a little-endian 64-bit word is bit b ^ NATIVE_BIT once loaded. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define NATIVE_BIT 56
#else
#define NATIVE_BIT 0
#endif

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)

/* The two halves of a product of 128 bits. */
struct product {
	uint64_t low, high;
};

INLINE struct product
multiply(uint64_t a, uint64_t b)
{
#if defined __SIZEOF_INT128__
	unsigned __int128 product = (unsigned __int128)a * b;

	return (struct product){ (uint64_t)product, (uint64_t)(product >> 64) };
#else
	/* As on paper, with digits of 32 bits: no sum exceeds 64 bits. */
	uint64_t a0 = (uint32_t)a, a1 = a >> 32;
	uint64_t b0 = (uint32_t)b, b1 = b >> 32;
	uint64_t carried = (a0 * b0 >> 32) + a1 * b0;
	uint64_t middle = (uint32_t)carried + a0 * b1;

	return (struct product){ a * b,
		a1 * b1 + (carried >> 32) + (middle >> 32) };
#endif
}

/* Returns the 64 bits that place a key in its j-th cache line. */
INLINE uint64_t
cache_line_word(struct digest d, unsigned j)
{
	uint64_t x = d.low ^ (2 * (uint64_t)j + 1) * GOLDEN;
	uint64_t y = d.high ^ (2 * (uint64_t)j + 2) * GOLDEN;
	struct product product = multiply(x, y);

	return product.low ^ product.high;
}

INLINE unsigned
cache_line_index(uint64_t word, unsigned t, unsigned j)
{
	unsigned first = geometry_group(t, j);
	unsigned size = geometry_group(t, j + 1) - first;

	return first + (unsigned)((word >> 51) * size >> 13);
}

/* All ones in the first `bits` of eight lanes, twice over. */
#define LANE(bits, l) (l < bits ? ~(uint64_t)0 : 0)
#define HALF(bits) LANE(bits, 0), LANE(bits, 1), LANE(bits, 2), \
	LANE(bits, 3), LANE(bits, 4), LANE(bits, 5), LANE(bits, 6), \
	LANE(bits, 7)
#define ROW(bits) { HALF(bits), HALF(bits) }

/* Returns the lanes in use, `bits` of them from lane `rotation` on. */
INLINE lanes
lanes_in_use(unsigned bits, unsigned rotation)
{
	static const uint64_t rows[CACHE_LINE_LANES + 1]
	    [2 * CACHE_LINE_LANES] = { ROW(0), ROW(1), ROW(2), ROW(3), ROW(4),
		ROW(5), ROW(6), ROW(7), ROW(8) };

	return *(const unaligned_lanes *)
	    (const void *)&rows[bits][CACHE_LINE_LANES - rotation];
}

#define BIT(n) ((uint64_t)1 << (n))
#define EIGHT_BITS(n) BIT(n), BIT(n + 1), BIT(n + 2), BIT(n + 3), \
	BIT(n + 4), BIT(n + 5), BIT(n + 6), BIT(n + 7)

/*
 * Returns one bit in each lane: the l-th six bits of the word are its number.
 */
INLINE lanes
lane_bits(uint64_t word)
{
#if defined __SSE2__ && !defined __AVX2__
	/* SSE2 cannot shift each lane by its own count. */
	static const uint64_t single[64] = { EIGHT_BITS(0), EIGHT_BITS(8),
		EIGHT_BITS(16), EIGHT_BITS(24), EIGHT_BITS(32), EIGHT_BITS(40),
		EIGHT_BITS(48), EIGHT_BITS(56) };

	return (lanes){ single[word & 63], single[word >> 6 & 63],
		single[word >> 12 & 63], single[word >> 18 & 63],
		single[word >> 24 & 63], single[word >> 30 & 63],
		single[word >> 36 & 63], single[word >> 42 & 63] };
#else
	const lanes shifts = { 0, 6, 12, 18, 24, 30, 36, 42 };
	const lanes one = { 1, 1, 1, 1, 1, 1, 1, 1 };

	return one << (((word >> shifts) & 63) ^ NATIVE_BIT);
#endif
}

/* Returns a key's mask in a cache line where it has `bits` bits. */
INLINE lanes
cache_line_mask(uint64_t word, unsigned bits)
{
	lanes mask = lane_bits(word);

	if (!__builtin_constant_p(bits) || bits != CACHE_LINE_LANES)
		mask &= lanes_in_use(bits, word >> 48 & 7);
	return mask;
}

#undef LANE
#undef HALF
#undef ROW
#undef BIT
#undef EIGHT_BITS

#endif
