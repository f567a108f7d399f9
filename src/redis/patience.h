/*
 * Waiting for a server: never for longer than `patience` nanoseconds of
 * silence, or PATIENCE_AT_END after a signal that asks to stop.
 *
 * Functions return 0, or -1 with `error` filled (STATUS_FAILED); exceptions are
 * stated.
 */
#ifndef REDIS_PATIENCE_H
#define REDIS_PATIENCE_H

#include <hiredis/hiredis.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "redis/address.h"

#define PATIENCE_AT_END CLOCK_SECOND

/* A signal may wake another thread: how often to look whether there was one. */
#define PATIENCE_LOOK_MS 100

/*
 * Returns the nanoseconds for which to go on waiting for a server that has been
 * silent since `since` (clock_now); 0 if the patience is at its end.
 */
uint64_t patience_left(uint64_t since, uint64_t patience);

/*
 * Wait until the connection's socket is ready for `events` (poll(2)); the
 * patience began at `since`, so that a server which sends byte by byte does not
 * get it anew for each.
 */
int patience_wait(const struct address *location, const redisContext *context,
    short events, uint64_t since, uint64_t patience, struct error *error);

/* Fill `error`: the server did not answer in time. Returns -1. */
int patience_end(const struct address *location, struct error *error);

#endif
