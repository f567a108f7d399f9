/* Digests sorted by the chunks that they belong to. */
#ifndef REDIS_GROUP_H
#define REDIS_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "bits/geometry.h"
#include "bits/hash.h"

struct group {
	size_t room;
	uint64_t *items, *other; /* chunk << 32 | number of the digest */
};

/* The most chunks that a layer can have. */
#define GROUP_CHUNKS_MAX UINT32_MAX

void group_free(struct group *group);

/* Sort the numbers of n digests by chunk, stably: n entries of group->items. */
void group_sort(struct group *group, const struct geometry *geometry,
    const struct digest *digests, size_t n);

/* The end of the entries that have the same chunk as entry `first`. */
size_t group_end(const struct group *group, size_t first, size_t n);

static inline uint64_t
group_chunk(const struct group *group, size_t i)
{
	return group->items[i] >> 32;
}

static inline size_t
group_item(const struct group *group, size_t i)
{
	return group->items[i] & UINT32_MAX;
}

#endif
