/* Numbers that look random, the same in each run (Knuth's MMIX generator). */
#ifndef BELOW_H
#define BELOW_H

#include <stdint.h>

/* At least 0 and less than n, which is at most 2^31. */
static inline unsigned
below(uint64_t n)
{
	static uint64_t state = 1;

	state = state * UINT64_C(6364136223846793005) +
	    UINT64_C(1442695040888963407);
	return (unsigned)((state >> 33) % n);
}

#endif
