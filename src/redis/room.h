/*
 * Is there room for more lines in a filter on a server? The server's own
 * filters grow, unless --on-full says that they do not; bit strings never do.
 * Several clients fill them at once: each counts again what is there before it
 * could have used much of the room that it knew of.
 */
#ifndef REDIS_ROOM_H
#define REDIS_ROOM_H

#include "redis/remote.h"

/* Carry out filter_reserve. */
enum room room_reserve(struct remote *remote, uint64_t wanted, uint64_t *room,
    struct error *error);

/*
 * With --on-full=warn, look how full the filter is if that may have changed
 * much, and warn the user. To be called when no request is under way and no
 * line waits. Returns 0, or -1 with `error` filled.
 */
int room_watch(struct remote *remote, struct error *error);

#endif
