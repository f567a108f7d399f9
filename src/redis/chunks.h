/*
 * The chunks of a filter's layers on a server, as a whole: making, closing and
 * removing them. Functions return 0, or -1 with `error` filled.
 */
#ifndef REDIS_CHUNKS_H
#define REDIS_CHUNKS_H

#include <stdint.h>

#include "base/error.h"
#include "disk/format.h"
#include "redis/server.h"

/* Layer i of a table, as it is named on the server and lives there. */
struct redis_layer chunks_layer(const struct server *server,
    const struct table *table, unsigned i);

/* Is its generation over, so that its keys may be gone? */
int redis_layer_is_over(const struct redis_layer *layer);

/* Make a layer's missing chunks, all zero, and wait. */
int chunks_make(struct server *server, const struct table *table,
    unsigned layer, struct error *error);

/* Close a layer for claims, and wait. */
int chunks_close(struct server *server, const struct table *table,
    unsigned layer, struct error *error);

/* With a window: let a layer's keys live as long as its table says now. */
int chunks_keep(struct server *server, const struct table *table,
    unsigned layer, struct error *error);

/* Remove the chunks and counters of all layers of a table. */
int chunks_discard(struct server *server, const struct table *table,
    struct error *error);

/* Request that bytes of a chunk become these; redis_net_finish waits. */
int chunk_write(struct server *server, const struct redis_layer *layer,
    uint64_t chunk, size_t at, const void *bytes, size_t nbytes,
    struct error *error);

/*
 * With a window: add the command by which a layer's key expires to a request.
 * BITOP removes a key's expiry, so it must be set again in the same step.
 */
void chunk_add_expiry(struct redis_net *net, const struct redis_layer *layer,
    const char *key, size_t length);

/* The error for a damaged chunk: `what` is wrong with it. */
int chunk_damaged(const struct server *server, uint64_t layer, uint64_t chunk,
    const char *what, struct error *error);

/* The error for an error reply about a chunk. */
int chunk_refused(const struct server *server, uint64_t layer, uint64_t chunk,
    const char *text, struct error *error);

#endif
