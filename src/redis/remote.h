/*
 * A filter on a server while this client uses it: what it has opened, what it
 * knows of it, what trouble with a shard means for the run, and whether there
 * is room for more lines. The server's own filters grow, unless --on-full says
 * that they do not; bit strings never do. Several clients fill them at once:
 * each counts again what is there before it could have used much of the room
 * that it knew of.
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
#include "redis/stored.h"

struct remote {
	struct filter filter;
	struct stored stored;
	struct generations generations;
	struct table table;    /* the layers, as remote_describe found them */
	int makes;             /* it makes generations that are due */
	int claiming;          /* lines are claimed, not looked up and marked */

	/* The next two are about the generation that is due. */
	uint64_t counted;      /* its number of lines when they were last
			        * counted */
	struct estimate fill;  /* estimate from the pages of bit strings that
			        * were read last; all zero at first */

	uint64_t confirmed;    /* clock_now when the header was read last */
	int unconfirmed;       /* lines were marked since then */

	int failed;            /* nothing can be asked any more */
	struct error why;
};

/* Returns the remote whose filter this is. */
struct remote *remote_of(struct filter *filter);
const struct remote *remote_of_const(const struct filter *filter);

/* Ask for nothing more from now on, and keep the reason. Returns -1. */
int remote_fail(struct remote *remote, const struct error *why);

/* Has it failed before? Returns 1 with `error` filled, or 0. */
int remote_has_failed(const struct remote *remote, struct error *error);

/* Fail if the answers received so far report an error. */
int remote_check(struct remote *remote, struct error *error);

/* Wait until all requests are answered, and check the answers. */
int remote_finish(struct remote *remote, struct error *error);

/* Does the same once this client's new lines are also added to the counters. */
int remote_settle(struct remote *remote, struct error *error);

/* Count the lines of all generations on the server. */
int remote_count(struct remote *remote, struct error *error);

/* Fill in the table from what is known of the lines of all generations. */
void remote_describe(struct remote *remote);

/*
 * Find out whether another generation is due, and if so, which ones are looked
 * up now. Fails if the filter is no longer there.
 */
int remote_advance(struct remote *remote, struct error *error);

/*
 * Fail if the filter is no longer there, because no run would find the lines.
 * Does nothing if no lines were marked since the header was read last.
 */
int remote_confirm(struct remote *remote, struct error *error);

/* Carry out filter_reserve. */
enum room remote_reserve(struct remote *remote, uint64_t wanted, uint64_t *room,
    struct error *error);

/*
 * Tell the user, at the end of a run, how many lines may not be remembered,
 * and before a signal why.
 */
void remote_tell_losses(struct remote *remote);

#endif
