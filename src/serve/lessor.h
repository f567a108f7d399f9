/*
 * The operations of a server with leases: each of its filters is a lessor,
 * whose subkeys are leased before they are remembered. A subkey is
 *
 *     unknown     neither of the others
 *     leased      somebody works on it; the table of leases has it
 *     remembered  the filter has it
 *
 * and a leased one never counts as remembered, not even if it is a false
 * positive of the filter.
 *
 * Operations that may meet a lease are carried out one by one, in the order of
 * their requests: each sees what those before it did.
 */
#ifndef SERVE_LESSOR_H
#define SERVE_LESSOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bits/hash.h"
#include "serve/service.h"

struct leases;
struct served;

/* A filter's share of a sweep; the arrays have `count` items. */
struct lessor_share {
	struct leases *leases;
	struct served *served;  /* the filter, which is open */
	uint64_t now;           /* now, by the clock of leases */
	size_t count;
	const struct digest *digests;
	const uint8_t *actions; /* an enum action for each digest */
	const uint64_t *lengths; /* lengths of the leases asked for, in
				  * nanoseconds */
	uint8_t *found;         /* scratch of lessor_carry_out, a byte for each
				 * digest */
	int8_t *results;        /* an enum result for each digest, to be filled
				 * in */
	uint64_t *left;         /* nanoseconds that each was still leased
				 * before, to be filled in */
	uint64_t marked;        /* number of subkeys that were new, to be added
				 * to */
};

/*
 * Carry out the operations. Items for which there is no room have a result that
 * says so; if it is RESULT_FULL, `error` has the reason. Returns 0, or -1 with
 * `error` filled if the filter has failed.
 */
int lessor_carry_out(struct lessor_share *share, struct error *error);

/*
 * Undo a share that failed after it was carried out, which all its clients will
 * be told: leases that it committed or gave back go on, and those that it
 * granted end. One that was renewed keeps its new deadline.
 */
void lessor_undo(struct lessor_share *share);

/*
 * Returns the length, in nanoseconds, of a lease for which a client asks for so
 * many milliseconds: at most what the server allows. The first client that asks
 * for more is reported.
 */
uint64_t lessor_length(struct service *service, uint64_t milliseconds);

/*
 * Does the same for a time as memcached's clients give it, in seconds: from now
 * on, or since 1970 if it is more than 30 days. 0 stands for the longest lease,
 * and a lease of a time below 0, from 2^31 on, or in the past, ends at once.
 */
uint64_t lessor_length_of_time(struct service *service, int64_t time);

/*
 * Report leases that expired, at most once a minute for each lessor. To be
 * called once a second.
 */
void lessor_report(struct service *service);

#endif
