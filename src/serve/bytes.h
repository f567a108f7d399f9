/* Bytes of a request; they belong to somebody else. */
#ifndef BYTES_H
#define BYTES_H

#include <stddef.h>
#include <stdint.h>

struct bytes {
	const uint8_t *data;
	size_t nbytes;
};

#endif
