/* The clock of all measurements and timeouts. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_SECOND UINT64_C(1000000000)
#define CLOCK_MILLISECOND UINT64_C(1000000)

/* Returns the nanoseconds of a monotonic clock. */
static inline uint64_t
clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * CLOCK_SECOND + (uint64_t)now.tv_nsec;
}

#endif
