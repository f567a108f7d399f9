/* Numbers that look random, the same in each run. */
#ifndef TESTS_UNIT_RANDOM64_H
#define TESTS_UNIT_RANDOM64_H

#include <stdint.h>

#include "bits/hash.h"

/* A test may set it, to have the same numbers again. */
static uint64_t random_state;

/* SplitMix64 (Steele, Lea, Flood 2014) */
static inline uint64_t
random64(void)
{
	uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

/* At least 0 and less than n, which is at most 2^31. */
static inline unsigned
below(uint64_t n)
{
	return (unsigned)(random64() % n);
}

static inline struct digest
random_digest(void)
{
	uint64_t low = random64();

	return (struct digest){ low, random64() };
}

static inline void
draw(struct digest *digests, size_t n)
{
	for (size_t i = 0; i < n; i++)
		digests[i] = random_digest();
}

#endif
