/*
 * A filter that a server has: the connection, and the header in its key;
 * how a filter is made, replaced and removed. A shard that no header names
 * expires in an hour, whenever a client is killed: it is made so, and stays
 * (shards_keep) only once there is a header; and before a header goes, its
 * shards expire. A generation's always do.
 *
 * Functions return 0, or -1 with `error` filled.
 */
#ifndef REDIS_STORED_H
#define REDIS_STORED_H

#include "base/error.h"
#include "model/design.h"
#include "model/use.h"
#include "redis/shards.h"

struct stored {
	struct address address;
	char key[LAYOUT_KEY_MAX];
	struct net *net;
	struct header header;
	struct shards shards;   /* shards of that filter; those of generations
				 * are like them */
	struct trouble trouble; /* trouble found in any of the shards */
	struct shard_batch batch; /* batch that requests to the shards are
				   * about */
	void (*notice)(const char *text); /* tells the user, or NULL */
};

/* Connect; on failure there is nothing to close. `stored` must not move. */
int stored_open(struct stored *stored, const char *text,
    const struct filter_use *use, struct error *error);
void stored_close(struct stored *stored);

/* The contents of the key of a header. */
struct found {
	int exists;           /* else the rest is unset */
	struct header header;
	struct layout layout;
};

/* Read the header. That there is none is no failure. */
int stored_find(struct stored *stored, struct found *found,
    struct error *error);

/* Is this the header of the filter that is open? */
int stored_is_ours(const struct stored *stored,
    const struct found *found);

/* Open the filter with this header; asks nothing. */
void stored_take(struct stored *stored, const struct found *found);

/* Design a filter for this server and open it; nothing is made. */
int stored_design(struct stored *stored,
    const struct filter_design *design, struct error *error);

/*
 * Make a filter and open it; its shards still expire in an hour. Returns 1 if
 * there is one already and `replace` is 0.
 */
int stored_make(struct stored *stored, int replace,
    const struct filter_design *design, struct error *error);

/* Remove the filter. Returns 1 if there is none. */
int stored_remove(struct stored *stored, struct error *error);

#endif
