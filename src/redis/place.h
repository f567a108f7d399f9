/*
 * A filter's place on a server: the connection, and the header in its key; how
 * a filter is made, replaced and removed. A shard that no header names expires
 * in an hour, whenever a client is killed: it is made so, and stays
 * (shards_keep) only once there is a header; and before a header goes, its
 * shards expire. A generation's always do.
 *
 * Functions return 0, or -1 with `error` filled.
 */
#ifndef REDIS_PLACE_H
#define REDIS_PLACE_H

#include "base/error.h"
#include "model/design.h"
#include "model/use.h"
#include "redis/shards.h"

struct place {
	struct address address;
	char key[LAYOUT_KEY_MAX]; /* the key of the header */
	struct net *net;
	struct header header;   /* the header of the filter that is open */
	struct shards shards;   /* its shards; each generation has such ones */
	struct trouble trouble; /* what is wrong with any of them */
	struct shard_batch batch; /* what is asked of them */
	void (*notice)(const char *text); /* tells the user, or NULL */
};

/* Connect; on failure there is nothing to close. `place` must not move. */
int place_open(struct place *place, const char *location,
    const struct filter_use *use, struct error *error);
void place_close(struct place *place);

/* What was found in the key of a header. */
struct found {
	int exists;           /* else the rest is unset */
	struct header header;
	struct layout layout;
};

/* Read the header. That there is none is no failure. */
int place_find(struct place *place, struct found *found, struct error *error);

/* Is this the header of the filter that is open? */
int place_is_ours(const struct place *place, const struct found *found);

/* Open the filter with this header; asks nothing. */
void place_take(struct place *place, const struct found *found);

/* Plan a filter for this server and open it; nothing is made. */
int place_plan(struct place *place, const struct filter_design *design,
    struct error *error);

/*
 * Make a filter and open it; its shards still expire in an hour. Returns 1 if
 * there is one already and `replace` is 0.
 */
int place_make(struct place *place, int replace,
    const struct filter_design *design, struct error *error);

/* Remove the filter. Returns 1 if there is none. */
int place_remove(struct place *place, struct error *error);

#endif
