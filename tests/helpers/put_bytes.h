/* Fields of any length that tests overwrite in a little-endian format. */
#ifndef HELPERS_PUT_BYTES_H
#define HELPERS_PUT_BYTES_H

#include <string.h>

#include "base/le.h"

/* Write the lowest `nbytes` bytes of a value, at most eight. */
static inline void
put_bytes(uint8_t *p, uint64_t value, size_t nbytes)
{
	uint8_t bytes[8];

	le_put64(bytes, value);
	memcpy(p, bytes, nbytes);
}

#endif
