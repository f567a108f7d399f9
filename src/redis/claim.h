/*
 * Claims: marks that return what was set before, so that of all clients that
 * claim a line, one learns that it is new. Made by BITFIELD, which returns the
 * old bits, or for many digests by a transaction that reads and then sets.
 *
 * A layer is closed for claims, in the trailer of each chunk, before the next
 * one is published: a claim in a closed chunk doesn't count, and must be made
 * in the newest layer.
 */
#ifndef REDIS_CLAIM_H
#define REDIS_CLAIM_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/fetch.h"
#include "redis/marks.h"
#include "redis/mirror.h"
#include "redis/table.h"

enum claim_state {
	CLAIM_NEW,       /* ours */
	CLAIM_SEEN,
	CLAIM_CLOSED,    /* was not there before, but the layer is closed */
	CLAIM_UNCERTAIN  /* the connection was lost */
};

/* All zero at first. */
struct claims {
	struct marks marks;
	struct fetch fetch;
	struct error damage;
	uint8_t *state;  /* of each digest; not owned */
};

/* Claim n digests in a layer, and wait. Sets state[i] for digest i. */
int claims_make(struct claims *claims, struct server *server,
    struct mirror *mirror, const struct redis_layer *layer,
    const struct digest *digests, size_t n, uint8_t *state,
    struct error *error);
void claims_free(struct claims *claims);

#endif
