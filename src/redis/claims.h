/*
 * Claims: lines are marked before they are printed, and the answers say which
 * of them were new. With a window, a claim may go to several generations
 * (turn.h).
 */
#ifndef REDIS_CLAIMS_H
#define REDIS_CLAIMS_H

#include "redis/remote.h"

/*
 * Carry out filter_claim. If there is no room for all of the lines, they are
 * looked up first, and those that were seen before need none. Lines whose claim
 * is uncertain are reported before this returns, and so before they are
 * printed.
 */
int claims_make(struct remote *remote, const struct digest *digests, size_t n,
    uint8_t *taken, struct error *error);

#endif
