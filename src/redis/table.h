/*
 * A filter's header, table of layers and counters on a server; and how filters
 * are created, replaced and removed there. redis_layout.h has the names of the
 * keys.
 *
 * Creating: the header, if there is none; the chunks; the table last. A client
 * that finds a header without a table finishes that filter. Replacing: the
 * chunks with a new id, then header and table at once, then the old chunks are
 * removed.
 *
 * Functions return 0, or -1 with `error` filled; exceptions are stated.
 */
#ifndef REDIS_TABLE_H
#define REDIS_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "disk/format.h"
#include "redis/server.h"

/*
 * Read header, table and counters. Returns 1 if there is no filter. An
 * unfinished one is finished if `finish`, else refused.
 */
int table_load(struct server *server, int finish, struct header *header,
    struct table *table, struct error *error);

/*
 * Has the table changed? The request is sent at once; the answer is there when
 * all requests are finished.
 */
struct table_question {
	int is_there;
	uint8_t id[FORMAT_ID_BYTES];
	uint64_t generation;
};
int table_ask(struct server *server, struct table_question *question,
    struct error *error);

/* Load the table again, after another client changed it. */
int table_reload(struct server *server, struct table *table,
    struct error *error);

/* Make a new filter; returns 1 if there is one already. */
int table_create(struct server *server, const struct header *header,
    const struct table *table, struct error *error);

/*
 * Make the chunks of a new filter, which has no name yet; then give it the
 * name, in place of an old one if `replace`, else return 1 if there is one.
 */
int table_prepare(struct server *server, const struct table *table,
    struct error *error);
int table_publish(struct server *server, const struct header *header,
    const struct table *table, int replace, struct error *error);

/*
 * Publish `next` in place of the table of this generation. If its last layer
 * was `added`, that is made first, and the one before it closed. Returns 1,
 * with the server's table in `next`, if another client was faster.
 */
int table_change(struct server *server, uint64_t generation,
    struct table *next, int added, struct error *error);

/*
 * The number of a layer that is to be added to `next`, which follows `table`.
 * With a window it is the same if several clients do the same at once, and
 * never used again: a late mark would be in a layer that it isn't meant for.
 */
uint64_t table_next_number(const struct table *table,
    const struct table *next);

/* Remove the filter, or what is left of one; returns 1 if there is none. */
int table_remove(struct server *server, struct error *error);

/* Add to the counter of a layer, given by its number; `*after` becomes it. */
int table_count(struct server *server, uint64_t layer, int64_t lines,
    uint64_t *after, struct error *error);

#endif
