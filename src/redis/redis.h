/*
 * A filter on a Redis server, or spread over the nodes of a cluster: the same
 * layers and pages as in a file, cut into chunks (redis_layout.h). This process
 * keeps a mirror of what it has seen of it, so that the server is asked only
 * for lines that are new to this process.
 *
 * Many clients use it at once. Each reserves room by the layer's counter before
 * it writes lines, and marks after it wrote them.
 */
#ifndef REDIS_H
#define REDIS_H

#include "base/error.h"
#include "disk/format.h"
#include "model/plan.h"

struct filter;

/* filter_open, filter_create and filter_prepare. */
int redis_open(struct filter **filter, const char *location,
    const struct filter_use *use, struct error *error);
int redis_create(struct filter **filter, const char *location, int replace,
    const struct filter_plan *plan, const struct filter_use *use,
    struct error *error);
int redis_prepare(struct filter **filter, const char *location,
    const struct header *header, const struct table *table,
    struct error *error);

/* Remove a filter, or what is left of one; returns 1 if there is none. */
int redis_remove(const char *location, const struct lock_wait *wait,
    struct error *error);

#endif
