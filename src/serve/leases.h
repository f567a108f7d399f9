/*
 * The leases of a server: which subkeys somebody works on at the moment, and
 * until when. A lease is known by its filter, the lessor, and the digest of its
 * subkey. It ends at its deadline: from then on, no function finds it any more.
 * Knows nothing of filters, clients and clocks: the caller says what time it
 * is, in nanoseconds of a clock that never goes back.
 *
 * All memory is mapped at the start and touched only as leases use it, so that
 * no request ever waits until a table has been made larger. The place of a
 * lease that has ended is free again after leases_sweep, within LEASES_LATE.
 *
 * A subkey without a key (DIGEST_NONE) is like no other: it is never leased.
 */
#ifndef SERVE_LEASES_H
#define SERVE_LEASES_H

#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "bits/hash.h"

/* The most leases that a table may be made for. */
#define LEASES_MAX 1000000000
/* Leases that one leases_sweep looks at: other clients wait for it. */
#define LEASES_A_SWEEP 10000
/* Nanoseconds for which a lease that has ended may still take its place. */
#define LEASES_LATE (CLOCK_SECOND / 4)

struct leases;

/* A lessor is known by its number; this one is none. */
#define LESSOR_NONE UINT32_C(0)

/*
 * Numbers of leases since the start, or since they were set to zero; `live` is
 * the present number.
 */
struct lease_counters {
	uint64_t live;      /* leases that have a place, also for a moment after
			     * their end */
	uint64_t granted;
	uint64_t renewed;
	uint64_t committed; /* leases that ended because the subkey was
			     * remembered */
	uint64_t returned;  /* leases that ended because the client gave them
			     * back */
	uint64_t expired;   /* leases that ended at their deadline */
	uint64_t refused;   /* leases refused for lack of room, here or in the
			     * filter */
};

enum lease_grant {
	LEASE_GRANTED,
	LEASE_NO_PLACE, /* all places are taken */
	LEASE_NO_SHARE  /* the lessor has half of all places */
};

/* Why a lease ends before its deadline. */
enum lease_end {
	LEASE_COMMITTED,
	LEASE_RETURNED
};

/*
 * Returns a table with room for `most` leases; NULL with `error` filled if it
 * cannot be mapped.
 */
struct leases *leases_new(uint64_t most, struct error *error);
void leases_free(struct leases *leases); /* NULL is none */

/*
 * Returns a new lessor. Its name, for leases_report, must stay until it is
 * dropped.
 */
uint32_t leases_add_lessor(struct leases *leases, const char *name);

/*
 * Forget a lessor and its leases, whose places are free at once. LESSOR_NONE is
 * none.
 */
void leases_drop_lessor(struct leases *leases, uint32_t lessor);

/*
 * Returns the number of leases that the lessor has, counted as in
 * lease_counters.live.
 */
uint64_t leases_of_lessor(const struct leases *leases, uint32_t lessor);

/*
 * Start fetching from memory what functions with these digests will need. It
 * waits for a part of that itself, so it pays for several at once.
 */
void leases_prefetch(const struct leases *leases, const struct digest *digests,
    size_t n);

/*
 * Returns the nanoseconds for which a subkey is still leased; 0 if it is not.
 */
uint64_t leases_left(const struct leases *leases, uint32_t lessor,
    struct digest digest, uint64_t now);

/*
 * Lease a subkey, which must not be leased, for `length` nanoseconds. If there
 * is no place for it, nothing changes, and it is counted as refused.
 */
enum lease_grant leases_grant(struct leases *leases, uint32_t lessor,
    struct digest digest, uint64_t now, uint64_t length);

/*
 * Make the lease of a subkey last `length` nanoseconds from now on. Returns 1,
 * or 0 if there is none.
 */
int leases_renew(struct leases *leases, uint32_t lessor, struct digest digest,
    uint64_t now, uint64_t length);

/*
 * End the lease of a subkey before its deadline, and count it as ended in this
 * way. Returns 1, or 0 if there is none.
 */
int leases_end(struct leases *leases, uint32_t lessor, struct digest digest,
    uint64_t now, enum lease_end how);

/*
 * Undo leases_end: the lease goes on, and ends `left` nanoseconds from now.
 * `how` is what it was ended with. Does nothing if there is no place for it.
 */
void leases_restore(struct leases *leases, uint32_t lessor,
    struct digest digest, uint64_t now, uint64_t left, enum lease_end how);

/* Free the places of leases that have ended, of at most LEASES_A_SWEEP. */
void leases_sweep(struct leases *leases, uint64_t now);

/*
 * Find the next lessor that has leases that expired since they were reported
 * last, a minute ago or more. `second` is the present time in seconds, and not
 * 0. Returns the lessor's name, and sets *expired to the number of these
 * leases, which are then reported; NULL if there is none. *at is 0 before the
 * first call, and belongs to this function.
 */
const char *leases_report(struct leases *leases, uint32_t *at, uint64_t second,
    uint64_t *expired);

/* Returns the counters, of which other files may change `refused`. */
struct lease_counters *leases_counters(struct leases *leases);

/* Set all counters to zero but that of live leases. */
void leases_reset_counters(struct leases *leases);

/* Returns the number of leases that there is room for. */
uint64_t leases_most(const struct leases *leases);

#endif
