/*
 * Keys that are set all at once, unless another client sets one of them
 * meanwhile: watch_begin, then read what is there, then watch_set, which says
 * if that must be done again; or watch_end, to leave the keys as they are.
 *
 * Functions return 0, or -1 with `error` filled; exceptions are stated.
 */
#ifndef REDIS_WATCH_H
#define REDIS_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/server.h"

#define WATCH_KEYS 2

/* All keys are in the server's slot. */
struct watch {
	size_t count;
	char keys[WATCH_KEYS][REDIS_KEY_MAX];
	const uint8_t *values[WATCH_KEYS]; /* what they become; not owned */
	size_t lengths[WATCH_KEYS];
	/* The rest is 0 at first. */
	uint64_t losses;                   /* of connections, at the start */
	struct retry retry;                /* of what the server refuses */
};

int watch_begin(struct watch *watch, struct server *server,
    struct error *error);

/* Returns 1 if a key was changed, or that is unknown. */
int watch_set(struct watch *watch, struct server *server,
    struct error *error);

int watch_end(struct server *server, struct error *error);

#endif
