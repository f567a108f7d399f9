/*
 * Sending marks to the server. Those of a chunk go into a scratch key, which
 * BITOP OR joins into the chunk; a few are set by BITFIELD instead. Both may be
 * repeated. With a window, the chunk's expiry is set again in the same step;
 * marks in a generation that is over meanwhile may find no chunk.
 */
#ifndef REDIS_MARKS_H
#define REDIS_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/group.h"
#include "redis/table.h"

/* All zero at first. */
struct marks {
	struct server *server;
	struct geometry geometry;
	struct redis_layer layer;
	struct group group;
	struct digest *digests; /* a copy: of those that are under way */
	size_t n, room;
	uint8_t *chunk;         /* bits of a chunk, aligned to a cache line */
	uint64_t client, scratch; /* make the names of scratch keys unique */
};

/*
 * Set the bits of n digests in a layer. Doesn't wait; earlier requests with the
 * same `marks` must be finished.
 */
int marks_send(struct marks *marks, struct server *server,
    const struct geometry *geometry, const struct redis_layer *layer,
    const struct digest *digests, size_t n, struct error *error);
void marks_free(struct marks *marks);

/*
 * For claims, which get what was set before in the same request: the digests of
 * a layer in the order of chunks; the words of BITFIELD that set their bits,
 * with a window followed by EXPIRE; and a scratch key with the bits of a chunk,
 * whose name is left in `scratch`.
 */
void marks_begin(struct marks *marks, struct server *server,
    const struct geometry *geometry, const struct redis_layer *layer,
    const struct digest *digests, size_t n);
void marks_add_bits(struct marks *marks, const char *key, size_t length,
    size_t first, size_t end);
#define MARKS_SCRATCH_MAX (REDIS_KEY_MAX + 64)
void marks_add_scratch(struct marks *marks, const char *key, size_t first,
    size_t end, char scratch[MARKS_SCRATCH_MAX]);
void marks_add_join(struct marks *marks, const char *key, size_t length,
    const char *scratch);

/* Are this many digests of a chunk set bit by bit? */
int marks_are_few(size_t digests);

#endif
