/*
 * What this process has seen of a layer on a server: an anonymous, sparse
 * mapping of the layer's pages, on which the hot loops work as on any layer.
 * Bits are only ever set, so a digest found in it is in the filter; one that
 * isn't found may be in the filter, too. It may be dropped at any time.
 */
#ifndef REDIS_MIRROR_H
#define REDIS_MIRROR_H

#include <stdint.h>

#include "base/error.h"
#include "bits/block.h"

struct mirror {
	struct block_array array;
	uint64_t *touched;  /* a bit for each page in use */
	uint64_t pages;     /* how many are in use */
};

int mirror_map(struct mirror *mirror, const struct geometry *geometry,
    struct error *error);
void mirror_unmap(struct mirror *mirror);

/* Note that page `page` is about to be written; returns its address. */
uint8_t *mirror_page(struct mirror *mirror, uint64_t page);

/* Forget all contents. */
void mirror_drop(struct mirror *mirror);

#endif
