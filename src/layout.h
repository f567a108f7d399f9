/*
 * Where a digest's bits are, as inline functions: what the hot loops
 * (kernel.c) and the slow ones (block.c) share. bloomdedup(5), "From a key to
 * bits", says the same in words.
 *
 * A cache line is one vector of eight lanes: a shift makes the mask, one
 * and-not tests all of its bits. The vectors are GCC's, so the compiler splits
 * them into what the machine has.
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stdint.h>

#include "geometry.h"
#include "hash.h"

#define INLINE static inline __attribute__((always_inline))

typedef uint64_t lanes
    __attribute__((vector_size(LINE_BYTES), aligned(LINE_BYTES), may_alias));

/* Bit b of a little-endian 64-bit word, as this machine loads it. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define NATIVE_BIT 56
#else
#define NATIVE_BIT 0
#endif

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)

/* floor(a * b / 2^64) */
INLINE uint64_t
multiply_high(uint64_t a, uint64_t b)
{
	return (uint64_t)((unsigned __int128)a * b >> 64);
}

/* The 64 bits that place a key in its j-th cache line. */
INLINE uint64_t
line_word(struct digest d, unsigned j)
{
	uint64_t x = d.low ^ (2 * (uint64_t)j + 1) * GOLDEN;
	uint64_t y = d.high ^ (2 * (uint64_t)j + 2) * GOLDEN;
	unsigned __int128 product = (unsigned __int128)x * y;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

INLINE unsigned
line_index(uint64_t word, unsigned t, unsigned j)
{
	unsigned first = geometry_group(t, j);
	unsigned size = geometry_group(t, j + 1) - first;

	return first + (unsigned)((word >> 51) * size >> 13);
}

INLINE lanes
line_mask(uint64_t word, unsigned bits)
{
	const lanes number = { 0, 1, 2, 3, 4, 5, 6, 7 };
	const lanes one = { 1, 1, 1, 1, 1, 1, 1, 1 };
	lanes position = ((word >> number * 6) & 63) ^ NATIVE_BIT;
	lanes mask = one << position;

	if (bits < LINE_LANES) {
		uint64_t rotation = word >> 48 & 7;
		mask &= (lanes)(((number - rotation) & 7) < bits);
	}
	return mask;
}

#endif
