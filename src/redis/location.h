/*
 * A filter's location on a server: the connection, and the header in its key;
 * how a filter is made, replaced and removed. A shard that no header names
 * expires in an hour, whenever a client is killed: it is made so, and stays
 * (shards_keep) only once there is a header; and before a header goes, its
 * shards expire. A generation's always do.
 *
 * Functions return 0, or -1 with `error` filled.
 */
#ifndef REDIS_LOCATION_H
#define REDIS_LOCATION_H

#include "base/error.h"
#include "model/design.h"
#include "model/use.h"
#include "redis/shards.h"

struct location {
	struct address address;
	char key[LAYOUT_KEY_MAX]; /* the key of the header */
	struct net *net;
	struct header header;   /* the header of the filter that is open */
	struct shards shards;   /* shards of that filter; those of generations
				 * are like them */
	struct trouble trouble; /* trouble found in any of the shards */
	struct shard_batch batch; /* batch that requests to the shards are
				   * about */
	void (*notice)(const char *text); /* tells the user, or NULL */
};

/* Connect; on failure there is nothing to close. `location` must not move. */
int location_open(struct location *location, const char *text,
    const struct filter_use *use, struct error *error);
void location_close(struct location *location);

/* The contents of the key of a header. */
struct found {
	int exists;           /* else the rest is unset */
	struct header header;
	struct layout layout;
};

/* Read the header. That there is none is no failure. */
int location_find(struct location *location, struct found *found,
    struct error *error);

/* Is this the header of the filter that is open? */
int location_is_ours(const struct location *location,
    const struct found *found);

/* Open the filter with this header; asks nothing. */
void location_take(struct location *location, const struct found *found);

/* Design a filter for this server and open it; nothing is made. */
int location_design(struct location *location,
    const struct filter_design *design, struct error *error);

/*
 * Make a filter and open it; its shards still expire in an hour. Returns 1 if
 * there is one already and `replace` is 0.
 */
int location_make(struct location *location, int replace,
    const struct filter_design *design, struct error *error);

/* Remove the filter. Returns 1 if there is none. */
int location_remove(struct location *location, struct error *error);

#endif
