/*
 * A hash table and a timer wheel over one array of leases.
 *
 *     chains    digest -> first lease; the others follow by `chained`
 *     leases    BUCKETS list heads, then a place for each lease; places that
 *               were used and are free are chained, the rest was never touched
 *     lessors   number -> name and counts
 *
 * The wheel has a bucket for each LEASES_LATE of time: a ring of leases whose
 * deadlines lie in it. A deadline beyond the wheel's last bucket goes into that
 * one, and is moved on when its turn comes. The wheel only frees places; that
 * a lease has ended is seen by its deadline, at every look.
 *
 * A lease never moves, so ending one leaves all others as they are: with the
 * table open instead of chained, each end would move others, and mend the rings
 * that they are in. Both take the same memory when all are used: 44 bytes a
 * lease here, 43 with a table of 32 bytes a place that is three quarters full.
 */
#include "serve/leases.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/error.h"

/* The wheel has a bucket for each quarter of a second, 17 minutes together. */
#define BUCKETS 4096
#define NONE UINT32_C(0)
/* How often expired leases of a lessor are reported, in seconds. */
#define REPORTS 60

struct lease {
	struct digest digest;
	uint64_t deadline;
	uint32_t lessor;         /* LESSOR_NONE: the place is free */
	uint32_t chained;        /* the next of its chain, or free place */
	uint32_t next, previous; /* neighbours in the ring of its bucket */
};

struct lessor {
	const char *name;  /* NULL: dropped, or free */
	uint64_t live;
	uint64_t expired;  /* leases that ended since the last report */
	uint64_t reported; /* second of the last report, or 0 */
	uint32_t chained;  /* the next free number */
};

struct leases {
	uint32_t most;
	uint32_t *chains;      /* `most` of them: the first lease, or NONE */
	struct lease *leases;
	uint32_t used;         /* places, of the array's, that were touched */
	uint32_t free;         /* the first free place of those, or NONE */
	uint64_t tick;         /* the bucket that is emptied next */
	uint64_t lost;         /* leases of dropped lessors that are still in
	                        * places; counters.live is without them */
	uint32_t cursor;       /* the place where the search for them goes on */
	struct lessor *lessors;
	uint32_t lessor_count; /* numbers given so far; the first is none */
	size_t lessor_room;    /* number of lessors that there is room for */
	uint32_t free_lessor;  /* the first free number of those, or NONE */
	struct lease_counters counters;
};

/* Memory that is zero, and taken page by page as it is used. */
static void *
map_zeros(uint64_t nbytes, struct error *error)
{
	void *at = MAP_FAILED;

	if (nbytes <= PTRDIFF_MAX)
		at = mmap(NULL, (size_t)nbytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	else
		errno = ENOMEM;
	if (at != MAP_FAILED)
		return at;
	error_system(error, errno, "room for leases (--max-leases)");
	return NULL;
}

static uint64_t
chains_bytes(uint64_t most)
{
	return most * sizeof(uint32_t);
}

static uint64_t
leases_bytes(uint64_t most)
{
	return (BUCKETS + most) * sizeof(struct lease);
}

struct leases *
leases_new(uint64_t most, struct error *error)
{
	struct leases *leases = memory_or_die(calloc(1, sizeof *leases));

	leases->most = (uint32_t)most;
	leases->chains = map_zeros(chains_bytes(most), error);
	if (leases->chains != NULL)
		leases->leases = map_zeros(leases_bytes(most), error);
	if (leases->leases == NULL) {
		leases_free(leases);
		return NULL;
	}
	for (uint32_t i = 0; i < BUCKETS; i++)
		leases->leases[i].next = leases->leases[i].previous = i;
	leases->used = BUCKETS;
	leases->lessor_count = 1;
	return leases;
}

void
leases_free(struct leases *leases)
{
	if (leases == NULL)
		return;
	if (leases->chains != NULL)
		munmap(leases->chains, (size_t)chains_bytes(leases->most));
	if (leases->leases != NULL)
		munmap(leases->leases, (size_t)leases_bytes(leases->most));
	free(leases->lessors);
	free(leases);
}

/* --- lessors */

uint32_t
leases_add_lessor(struct leases *leases, const char *name)
{
	uint32_t number = leases->free_lessor;

	if (number != NONE) {
		leases->free_lessor = leases->lessors[number].chained;
	} else {
		leases->lessors = memory_grow(leases->lessors,
		    &leases->lessor_room, (size_t)leases->lessor_count + 1,
		    sizeof *leases->lessors);
		number = leases->lessor_count++;
	}
	leases->lessors[number] = (struct lessor){ .name = name };
	return number;
}

/* A dropped lessor's number is free when no lease has it any more. */
static void
free_if_over(struct leases *leases, uint32_t number)
{
	struct lessor *lessor = &leases->lessors[number];

	if (lessor->name != NULL || lessor->live > 0)
		return;
	lessor->chained = leases->free_lessor;
	leases->free_lessor = number;
}

void
leases_drop_lessor(struct leases *leases, uint32_t number)
{
	if (number == LESSOR_NONE)
		return;
	leases->lessors[number].name = NULL;
	leases->lessors[number].expired = 0;
	leases->counters.live -= leases->lessors[number].live;
	leases->lost += leases->lessors[number].live;
	free_if_over(leases, number);
}

uint64_t
leases_of_lessor(const struct leases *leases, uint32_t number)
{
	return number == LESSOR_NONE ? 0 : leases->lessors[number].live;
}

const char *
leases_report(struct leases *leases, uint32_t *at, uint64_t second,
    uint64_t *expired)
{
	while (++*at < leases->lessor_count) {
		struct lessor *lessor = &leases->lessors[*at];

		if (lessor->expired == 0 || (lessor->reported != 0 &&
		    second - lessor->reported < REPORTS))
			continue;
		*expired = lessor->expired;
		lessor->expired = 0;
		lessor->reported = second;
		return lessor->name;
	}
	return NULL;
}

/* --- the wheel */

static void
leave_bucket(struct leases *leases, uint32_t i)
{
	struct lease *lease = &leases->leases[i];

	leases->leases[lease->previous].next = lease->next;
	leases->leases[lease->next].previous = lease->previous;
}

/* The lease has its deadline, and is in no bucket. */
static void
enter_bucket(struct leases *leases, uint32_t i)
{
	struct lease *lease = &leases->leases[i], *head;
	uint64_t tick = lease->deadline / LEASES_LATE;
	uint32_t bucket;

	if (tick < leases->tick)
		tick = leases->tick;
	if (tick >= leases->tick + BUCKETS)
		tick = leases->tick + BUCKETS - 1;
	bucket = (uint32_t)(tick % BUCKETS);
	head = &leases->leases[bucket];
	lease->next = bucket;
	lease->previous = head->previous;
	leases->leases[head->previous].next = i;
	head->previous = i;
}

/* --- the table */

/* Digests look random, so these bits choose a chain evenly. */
static uint32_t *
chain_of(const struct leases *leases, struct digest digest)
{
	return &leases->chains[(digest.low >> 32) * leases->most >> 32];
}

/* The place of a lease, ended or not, or NONE. */
static uint32_t
find_lease(const struct leases *leases, uint32_t lessor, struct digest digest)
{
	uint32_t i;

	if (digest_is_none(digest))
		return NONE;
	for (i = *chain_of(leases, digest); i != NONE;
	    i = leases->leases[i].chained) {
		const struct lease *lease = &leases->leases[i];

		if (lease->digest.low == digest.low &&
		    lease->digest.high == digest.high &&
		    lease->lessor == lessor)
			break;
	}
	return i;
}

/* Free the place of a lease. */
static void
remove_lease(struct leases *leases, uint32_t i)
{
	struct lease *lease = &leases->leases[i];
	struct lessor *lessor = &leases->lessors[lease->lessor];
	uint32_t *link = chain_of(leases, lease->digest);

	while (*link != i)
		link = &leases->leases[*link].chained;
	*link = lease->chained;
	leave_bucket(leases, i);
	lease->chained = leases->free;
	leases->free = i;
	if (lessor->name != NULL)
		leases->counters.live--;
	else
		leases->lost--;
	lessor->live--;
	free_if_over(leases, lease->lessor);
	lease->lessor = LESSOR_NONE;
}

/*
 * Free places of leases whose lessor was dropped: look at `count` places, or at
 * fewer if none is lost any more.
 */
static void
free_lost_places(struct leases *leases, uint32_t count)
{
	for (; count > 0 && leases->lost > 0; count--) {
		uint32_t lessor;

		if (leases->cursor < BUCKETS || leases->cursor >= leases->used)
			leases->cursor = BUCKETS;
		lessor = leases->leases[leases->cursor].lessor;
		if (lessor != LESSOR_NONE &&
		    leases->lessors[lessor].name == NULL)
			remove_lease(leases, leases->cursor);
		leases->cursor++;
	}
}

/* Drop a lease whose deadline has come. */
static void
drop_ended(struct leases *leases, uint32_t i)
{
	struct lessor *lessor = &leases->lessors[leases->leases[i].lessor];

	if (lessor->name != NULL) {
		leases->counters.expired++;
		lessor->expired++;
	}
	remove_lease(leases, i);
}

/* The place of a lease that has not ended, or NONE. */
static uint32_t
find_live(const struct leases *leases, uint32_t lessor, struct digest digest,
    uint64_t now)
{
	uint32_t i = find_lease(leases, lessor, digest);

	return i != NONE && leases->leases[i].deadline > now ? i : NONE;
}

void
leases_prefetch(const struct leases *leases, const struct digest *digests,
    size_t n)
{
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(chain_of(leases, digests[i]));
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(&leases->leases[*chain_of(leases,
		    digests[i])]);
}

uint64_t
leases_left(const struct leases *leases, uint32_t lessor, struct digest digest,
    uint64_t now)
{
	uint32_t i = find_live(leases, lessor, digest, now);

	return i == NONE ? 0 : leases->leases[i].deadline - now;
}

/* Give a subkey that has no lease one. There must be a place. */
static void
insert_lease(struct leases *leases, uint32_t lessor, struct digest digest,
    uint64_t deadline)
{
	uint32_t *chain = chain_of(leases, digest), i;

	while (leases->free == NONE && leases->used == BUCKETS + leases->most)
		free_lost_places(leases, 1);
	i = leases->free;
	if (i != NONE)
		leases->free = leases->leases[i].chained;
	else
		i = leases->used++;
	leases->leases[i] = (struct lease){ .digest = digest, .lessor = lessor,
		.deadline = deadline, .chained = *chain };
	*chain = i;
	enter_bucket(leases, i);
	leases->counters.live++;
	leases->lessors[lessor].live++;
}

enum lease_grant
leases_grant(struct leases *leases, uint32_t lessor, struct digest digest,
    uint64_t now, uint64_t length)
{
	enum lease_grant result = LEASE_GRANTED;
	uint32_t i;

	if (digest_is_none(digest))
		return result;
	i = find_lease(leases, lessor, digest);
	if (i != NONE)
		drop_ended(leases, i); /* it has ended, and was not swept yet */
	if (leases->counters.live == leases->most)
		result = LEASE_NO_PLACE;
	else if (leases->lessors[lessor].live >= (leases->most + 1) / 2)
		result = LEASE_NO_SHARE;
	if (result != LEASE_GRANTED) {
		leases->counters.refused++;
		return result;
	}
	leases->counters.granted++;
	insert_lease(leases, lessor, digest, now + length);
	return result;
}

int
leases_renew(struct leases *leases, uint32_t lessor, struct digest digest,
    uint64_t now, uint64_t length)
{
	uint32_t i = find_live(leases, lessor, digest, now);

	if (i == NONE)
		return 0;
	leave_bucket(leases, i);
	leases->leases[i].deadline = now + length;
	enter_bucket(leases, i);
	leases->counters.renewed++;
	return 1;
}

/* Return the counter of leases that ended like this. */
static uint64_t *
counter_of(struct leases *leases, enum lease_end how)
{
	return how == LEASE_COMMITTED ? &leases->counters.committed :
	    &leases->counters.returned;
}

int
leases_end(struct leases *leases, uint32_t lessor, struct digest digest,
    uint64_t now, enum lease_end how)
{
	uint32_t i = find_live(leases, lessor, digest, now);

	if (i == NONE)
		return 0;
	++*counter_of(leases, how);
	remove_lease(leases, i);
	return 1;
}

void
leases_restore(struct leases *leases, uint32_t lessor, struct digest digest,
    uint64_t now, uint64_t left, enum lease_end how)
{
	if (leases->counters.live == leases->most ||
	    find_lease(leases, lessor, digest) != NONE)
		return;
	--*counter_of(leases, how);
	insert_lease(leases, lessor, digest, now + left);
}

void
leases_sweep(struct leases *leases, uint64_t now)
{
	uint64_t tick = now / LEASES_LATE;

	free_lost_places(leases, LEASES_A_SWEEP);
	if (leases->counters.live + leases->lost == 0 && leases->tick < tick)
		leases->tick = tick;
	for (int n = 0; n < LEASES_A_SWEEP && leases->tick < tick; ) {
		uint32_t bucket = (uint32_t)(leases->tick % BUCKETS);
		uint32_t i = leases->leases[bucket].next;

		if (i == bucket) {
			leases->tick++;
			continue;
		}
		n++;
		if (leases->leases[i].deadline <= now) {
			drop_ended(leases, i);
		} else {
			leave_bucket(leases, i);
			enter_bucket(leases, i);
		}
	}
}

struct lease_counters *
leases_counters(struct leases *leases)
{
	return &leases->counters;
}

void
leases_reset_counters(struct leases *leases)
{
	leases->counters = (struct lease_counters){
		.live = leases->counters.live };
}

uint64_t
leases_most(const struct leases *leases)
{
	return leases->most;
}
