/*
 * A filter's place on a server: the connection, and the header in its key.
 *
 * Functions return 0, or -1 with `error` filled.
 */
#ifndef REDIS_PLACE_H
#define REDIS_PLACE_H

#include "base/error.h"
#include "model/plan.h"
#include "redis/shards.h"

struct place {
	struct address address;
	struct net *net;
	struct header header;   /* of the filter that is open, */
	struct shards shards;   /* as each of its generations has them, */
	struct trouble trouble; /* what is wrong with any of them, */
	struct shard_batch batch; /* and what is asked of them */
	void (*notice)(const char *text);
};

/* Connect; on failure there is nothing to close. `place` must not move. */
int place_open(struct place *place, const char *location,
    const struct filter_use *use, struct error *error);
void place_close(struct place *place);

/* Tell the user, if there is somebody to be told. */
void place_tell(const struct place *place, const struct error *text);

/* A header as it was found. */
struct found {
	int exists;
	struct header header;
	struct layout layout;
};

/* What a reply says that was in the header's key; frees it, NULL: failed. */
int place_read(const struct place *place, redisReply *reply,
    struct found *found, struct error *error);

/* The header that is there. */
int place_find(struct place *place, struct found *found, struct error *error);

/* Is it that of the filter that is open? */
int place_is_ours(const struct place *place, const struct found *found);

/* The filter with place->header is open from now on. */
void place_take(struct place *place, const struct layout *layout);

#endif
