/*
 * A filter on a Redis server, or spread over the nodes of a cluster: S shards
 * (layout.h), each a filter of the server's own or a bit string. Many clients
 * use it at once: each asks for the lines of a batch, writes those that are
 * new, and marks them, or claims them first.
 *
 * What a client has in memory is a batch and the requests that are under way.
 */
#ifndef REDIS_REDIS_H
#define REDIS_REDIS_H

#include "base/error.h"
#include "model/design.h"
#include "model/use.h"

struct filter;

/* Carry out filter_open and filter_create. */
int redis_open(struct filter **filter, const char *location,
    const struct filter_use *use, struct error *error);
int redis_create(struct filter **filter, const char *location, int replace,
    const struct filter_design *design, const struct filter_use *use,
    struct error *error);

/* Carry out filter_foresee. */
int redis_foresee(const char *location, const struct filter_design *design,
    struct filter_costs *costs, uint64_t *bytes, struct error *error);

/*
 * Is there a filter that can be removed? Returns 1 if there is none. And remove
 * it.
 */
int redis_check_removal(const char *location, const struct lock_wait *wait,
    struct error *error);
int redis_remove(const char *location, const struct lock_wait *wait,
    struct error *error);

#endif
