/*
 * Reading from the server into the mirror: the cache lines that digests need,
 * or the whole chunk if many of them are in one. Each chunk's trailer is read,
 * too, to find a chunk that is missing, truncated or recreated by a stray
 * write.
 */
#ifndef REDIS_FETCH_H
#define REDIS_FETCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/group.h"
#include "redis/mirror.h"
#include "redis/table.h"

/* What is requested of one layer; all zero at first. */
struct fetch {
	struct server *server;
	struct mirror *mirror;
	uint64_t layer; /* its number */
	struct group group;
	const struct digest *digests; /* not owned */
	size_t n;
	struct error *damage; /* of a chunk: STATUS_OK if there is none */
};

/*
 * Request what n digests need of a layer, given by its number. `digests` and
 * `fetch` must stay valid until all requests are finished. A damaged chunk is
 * reported in `damage`, not as a failure: the filter may have been removed.
 */
int fetch_lines(struct fetch *fetch, struct server *server,
    struct mirror *mirror, uint64_t layer, const struct digest *digests,
    size_t n, struct error *damage, struct error *error);

/* Prepare a request: sort the digests by chunk. */
void fetch_begin(struct fetch *fetch, struct server *server,
    struct mirror *mirror, uint64_t layer, const struct digest *digests,
    size_t n, struct error *damage);

/*
 * For one chunk, whose digests are the entries [first, end) of a group: add the
 * commands that get what they need to a request (returns their number;
 * *reply_bytes becomes the replies' approximate length), and put the replies
 * into the mirror (returns -1, with `damage` filled, if the chunk is damaged).
 */
size_t fetch_add_commands(struct fetch *fetch, const char *key, size_t length,
    size_t first, size_t end, size_t *reply_bytes);
int fetch_take_replies(struct fetch *fetch, size_t first, size_t end,
    redisReply *const *replies, size_t count, int *closed);

/* Read pages of a layer, and wait for them. */
int fetch_pages(struct server *server, const struct geometry *geometry,
    uint64_t layer, uint64_t first, size_t pages, uint8_t *to,
    struct error *error);

/* Write pages of a layer that is being made; doesn't wait. */
int fetch_put_pages(struct server *server, const struct redis_layer *layer,
    uint64_t first, size_t pages, const uint8_t *from, struct error *error);

#endif
