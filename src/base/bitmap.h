/* Bits in an array of 64-bit words: bit i of word i / 64 is bit i % 64. */
#ifndef BASE_BITMAP_H
#define BASE_BITMAP_H

#include <stdint.h>

static inline int
bitmap_get(const uint64_t *bits, uint64_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static inline void
bitmap_set(uint64_t *bits, uint64_t i)
{
	bits[i / 64] |= (uint64_t)1 << i % 64;
}

static inline void
bitmap_clear(uint64_t *bits, uint64_t i)
{
	bits[i / 64] &= ~((uint64_t)1 << i % 64);
}

#endif
