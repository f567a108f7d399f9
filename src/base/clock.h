/* The clock of all measurements and timeouts. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

#define CLOCK_SECOND UINT64_C(1000000000)
#define CLOCK_MILLISECOND UINT64_C(1000000)

/* Nanoseconds of a monotonic clock. */
uint64_t clock_now(void);

#endif
