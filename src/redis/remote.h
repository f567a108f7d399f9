/*
 * A filter on a server while this client uses it: what it has opened, what it
 * knows of it, and what trouble with a shard means for the run. room.h says
 * whether there is room for more lines, and claims.h claims them.
 *
 * After a failure nothing is asked of the server any more. Functions return 0,
 * or -1 with `error` filled; exceptions are stated.
 */
#ifndef REDIS_REMOTE_H
#define REDIS_REMOTE_H

#include <stdint.h>

#include "model/estimate.h"
#include "model/operations.h"
#include "redis/generations.h"
#include "redis/location.h"

/* What the user was told of a filter with --on-full=warn. */
enum overfill {
	OVERFILL_NONE,   /* nothing */
	OVERFILL_BEGUN,  /* it has more lines than it was made for */
	OVERFILL_TENFOLD /* it makes ten times as many mistakes as it should */
};

struct remote {
	struct filter filter;
	struct location location;
	struct generations generations;
	struct table table;    /* the layers, as remote_describe found them */
	int makes;             /* it makes generations that are due */
	int claiming;          /* lines are claimed, not looked up and marked */
	int warned;            /* the user knows that lines aren't remembered */

	/* Of the generation that is due (room.c): */
	uint64_t counted;      /* its lines when they were counted last */
	struct estimate fill;  /* of bit strings, when pages of them were read
	                          last; all zero at first */
	enum overfill overfill;

	uint64_t confirmed;    /* when the header was read last (clock_now) */
	int unconfirmed;       /* lines were marked since then */

	int failed;            /* nothing can be asked any more */
	struct error why;      /* the reason for that */
};

/* The remote whose filter this is. */
struct remote *remote_of(struct filter *filter);
const struct remote *remote_of_const(const struct filter *filter);

/* Ask for nothing more from now on, and keep the reason. Returns -1. */
int remote_fail(struct remote *remote, const struct error *why);

/* Has it failed before? Returns 1 with `error` filled, or 0. */
int remote_has_failed(const struct remote *remote, struct error *error);

/* Fail if the answers that have come say that something is wrong. */
int remote_check(struct remote *remote, struct error *error);

/* Wait until all requests are answered, and check the answers. */
int remote_finish(struct remote *remote, struct error *error);

/* The same, once this client's new lines are added to the counters, too. */
int remote_settle(struct remote *remote, struct error *error);

/* Count the lines of all generations on the server. */
int remote_count(struct remote *remote, struct error *error);

/* Fill in the table from what is known of the lines of all generations. */
void remote_describe(struct remote *remote);

/*
 * What is remembered follows time: find out whether another generation is due,
 * and if so, which ones count now. Fails if the filter is no longer there.
 */
int remote_advance(struct remote *remote, struct error *error);

/*
 * If lines were marked since the header was read last: fail if the filter is no
 * longer there, since then nobody will find them.
 */
int remote_confirm(struct remote *remote, struct error *error);

/* At the end of a run, tell the user which lines are not remembered. */
void remote_tell_losses(struct remote *remote);

#endif
