/*
 * Making, replacing and removing a filter on a server. A shard that no header
 * names expires in an hour, whenever a client is killed: it is made so, and
 * stays (shards_keep) only once there is a header; and before a header goes,
 * its shards expire. A generation's always do.
 */
#ifndef REDIS_MAKE_H
#define REDIS_MAKE_H

#include "redis/place.h"

/*
 * Make a filter and take it; its shards do not stay yet. Returns 1 if there is
 * one, unless it is to be replaced, or -1.
 */
int make_filter(struct place *place, int replace,
    const struct filter_design *plan, struct error *error);

/* Remove the filter that is there. Returns 1 if there is none, or -1. */
int make_remove(struct place *place, struct error *error);

#endif
