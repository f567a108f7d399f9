/* The bits of one layer in memory, for block.h and the hot loops. */
#ifndef BLOCK_ARRAY_H
#define BLOCK_ARRAY_H

#include <stdint.h>

#include "bits/geometry.h"

struct block_array {
	uint8_t *pages; /* geometry.pages * PAGE_BYTES, aligned to a page */
	struct geometry geometry;
};

#endif
