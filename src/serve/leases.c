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

/* Together 17 minutes. */
#define BUCKETS 4096
#define NONE UINT32_C(0)
/* How often expired leases of a lessor are reported, in seconds. */
#define REPORTS 60

struct lease {
	struct digest digest;
	uint64_t deadline;
	uint32_t lessor;         /* LESSOR_NONE: the place is free */
	uint32_t chained;        /* the next of its chain, or free place */
	uint32_t next, previous; /* in the ring of its bucket */
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
	struct leases *l = memory_or_die(calloc(1, sizeof *l));

	l->most = (uint32_t)most;
	l->chains = map_zeros(chains_bytes(most), error);
	if (l->chains != NULL)
		l->leases = map_zeros(leases_bytes(most), error);
	if (l->leases == NULL) {
		leases_free(l);
		return NULL;
	}
	for (uint32_t i = 0; i < BUCKETS; i++)
		l->leases[i].next = l->leases[i].previous = i;
	l->used = BUCKETS;
	l->lessor_count = 1;
	return l;
}

void
leases_free(struct leases *l)
{
	if (l == NULL)
		return;
	if (l->chains != NULL)
		munmap(l->chains, (size_t)chains_bytes(l->most));
	if (l->leases != NULL)
		munmap(l->leases, (size_t)leases_bytes(l->most));
	free(l->lessors);
	free(l);
}

/* --- lessors */

uint32_t
leases_add_lessor(struct leases *l, const char *name)
{
	uint32_t number = l->free_lessor;

	if (number != NONE) {
		l->free_lessor = l->lessors[number].chained;
	} else {
		l->lessors = memory_grow(l->lessors, &l->lessor_room,
		    (size_t)l->lessor_count + 1, sizeof *l->lessors);
		number = l->lessor_count++;
	}
	l->lessors[number] = (struct lessor){ .name = name };
	return number;
}

/* A dropped lessor's number is free when no lease has it any more. */
static void
free_if_over(struct leases *l, uint32_t number)
{
	struct lessor *lessor = &l->lessors[number];

	if (lessor->name != NULL || lessor->live > 0)
		return;
	lessor->chained = l->free_lessor;
	l->free_lessor = number;
}

void
leases_drop_lessor(struct leases *l, uint32_t number)
{
	if (number == LESSOR_NONE)
		return;
	l->lessors[number].name = NULL;
	l->lessors[number].expired = 0;
	l->counters.live -= l->lessors[number].live;
	l->lost += l->lessors[number].live;
	free_if_over(l, number);
}

uint64_t
leases_of_lessor(const struct leases *l, uint32_t number)
{
	return number == LESSOR_NONE ? 0 : l->lessors[number].live;
}

const char *
leases_report(struct leases *l, uint32_t *at, uint64_t second,
    uint64_t *expired)
{
	while (++*at < l->lessor_count) {
		struct lessor *lessor = &l->lessors[*at];

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
leave_bucket(struct leases *l, uint32_t i)
{
	struct lease *lease = &l->leases[i];

	l->leases[lease->previous].next = lease->next;
	l->leases[lease->next].previous = lease->previous;
}

/* The lease has its deadline, and is in no bucket. */
static void
enter_bucket(struct leases *l, uint32_t i)
{
	struct lease *lease = &l->leases[i], *head;
	uint64_t tick = lease->deadline / LEASES_LATE;
	uint32_t bucket;

	if (tick < l->tick)
		tick = l->tick;
	if (tick >= l->tick + BUCKETS)
		tick = l->tick + BUCKETS - 1;
	bucket = (uint32_t)(tick % BUCKETS);
	head = &l->leases[bucket];
	lease->next = bucket;
	lease->previous = head->previous;
	l->leases[head->previous].next = i;
	head->previous = i;
}

/* --- the table */

/* Digests look random: these bits choose a chain evenly. */
static uint32_t *
chain_of(const struct leases *l, struct digest digest)
{
	return &l->chains[(digest.low >> 32) * l->most >> 32];
}

/* The place of a lease, ended or not, or NONE. */
static uint32_t
find_lease(const struct leases *l, uint32_t lessor, struct digest digest)
{
	uint32_t i;

	if (digest_is_none(digest))
		return NONE;
	for (i = *chain_of(l, digest); i != NONE; i = l->leases[i].chained) {
		const struct lease *lease = &l->leases[i];

		if (lease->digest.low == digest.low &&
		    lease->digest.high == digest.high &&
		    lease->lessor == lessor)
			break;
	}
	return i;
}

/* Free the place of a lease. */
static void
remove_lease(struct leases *l, uint32_t i)
{
	struct lease *lease = &l->leases[i];
	struct lessor *lessor = &l->lessors[lease->lessor];
	uint32_t *link = chain_of(l, lease->digest);

	while (*link != i)
		link = &l->leases[*link].chained;
	*link = lease->chained;
	leave_bucket(l, i);
	lease->chained = l->free;
	l->free = i;
	if (lessor->name != NULL)
		l->counters.live--;
	else
		l->lost--;
	lessor->live--;
	free_if_over(l, lease->lessor);
	lease->lessor = LESSOR_NONE;
}

/*
 * Free places of leases whose lessor was dropped: look at `count` places, or at
 * fewer if none is lost any more.
 */
static void
free_lost_places(struct leases *l, uint32_t count)
{
	for (; count > 0 && l->lost > 0; count--) {
		uint32_t lessor;

		if (l->cursor < BUCKETS || l->cursor >= l->used)
			l->cursor = BUCKETS;
		lessor = l->leases[l->cursor].lessor;
		if (lessor != LESSOR_NONE && l->lessors[lessor].name == NULL)
			remove_lease(l, l->cursor);
		l->cursor++;
	}
}

/* Its deadline has come. */
static void
drop_ended(struct leases *l, uint32_t i)
{
	struct lessor *lessor = &l->lessors[l->leases[i].lessor];

	if (lessor->name != NULL) {
		l->counters.expired++;
		lessor->expired++;
	}
	remove_lease(l, i);
}

/* The place of a lease that has not ended, or NONE. */
static uint32_t
find_live(const struct leases *l, uint32_t lessor, struct digest digest,
    uint64_t now)
{
	uint32_t i = find_lease(l, lessor, digest);

	return i != NONE && l->leases[i].deadline > now ? i : NONE;
}

void
leases_prefetch(const struct leases *l, const struct digest *digests,
    size_t n)
{
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(chain_of(l, digests[i]));
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(&l->leases[*chain_of(l, digests[i])]);
}

uint64_t
leases_left(const struct leases *l, uint32_t lessor, struct digest digest,
    uint64_t now)
{
	uint32_t i = find_live(l, lessor, digest, now);

	return i == NONE ? 0 : l->leases[i].deadline - now;
}

/* Give a subkey that has no lease one. There must be a place. */
static void
insert_lease(struct leases *l, uint32_t lessor, struct digest digest,
    uint64_t deadline)
{
	uint32_t *chain = chain_of(l, digest), i;

	while (l->free == NONE && l->used == BUCKETS + l->most)
		free_lost_places(l, 1);
	i = l->free;
	if (i != NONE)
		l->free = l->leases[i].chained;
	else
		i = l->used++;
	l->leases[i] = (struct lease){ .digest = digest, .lessor = lessor,
		.deadline = deadline, .chained = *chain };
	*chain = i;
	enter_bucket(l, i);
	l->counters.live++;
	l->lessors[lessor].live++;
}

enum lease_grant
leases_grant(struct leases *l, uint32_t lessor, struct digest digest,
    uint64_t now, uint64_t length)
{
	enum lease_grant result = LEASE_GRANTED;
	uint32_t i;

	if (digest_is_none(digest))
		return result;
	i = find_lease(l, lessor, digest);
	if (i != NONE)
		drop_ended(l, i); /* it has ended, and was not swept yet */
	if (l->counters.live == l->most)
		result = LEASE_NO_PLACE;
	else if (l->lessors[lessor].live >= (l->most + 1) / 2)
		result = LEASE_NO_SHARE;
	if (result != LEASE_GRANTED) {
		l->counters.refused++;
		return result;
	}
	l->counters.granted++;
	insert_lease(l, lessor, digest, now + length);
	return result;
}

int
leases_renew(struct leases *l, uint32_t lessor, struct digest digest,
    uint64_t now, uint64_t length)
{
	uint32_t i = find_live(l, lessor, digest, now);

	if (i == NONE)
		return 0;
	leave_bucket(l, i);
	l->leases[i].deadline = now + length;
	enter_bucket(l, i);
	l->counters.renewed++;
	return 1;
}

/* How many leases have ended like this. */
static uint64_t *
counter_of(struct leases *l, enum lease_end how)
{
	return how == LEASE_COMMITTED ? &l->counters.committed :
	    &l->counters.returned;
}

int
leases_end(struct leases *l, uint32_t lessor, struct digest digest,
    uint64_t now, enum lease_end how)
{
	uint32_t i = find_live(l, lessor, digest, now);

	if (i == NONE)
		return 0;
	++*counter_of(l, how);
	remove_lease(l, i);
	return 1;
}

void
leases_restore(struct leases *l, uint32_t lessor, struct digest digest,
    uint64_t now, uint64_t left, enum lease_end how)
{
	if (l->counters.live == l->most ||
	    find_lease(l, lessor, digest) != NONE)
		return;
	--*counter_of(l, how);
	insert_lease(l, lessor, digest, now + left);
}

void
leases_sweep(struct leases *l, uint64_t now)
{
	uint64_t tick = now / LEASES_LATE;

	free_lost_places(l, LEASES_A_SWEEP);
	if (l->counters.live + l->lost == 0 && l->tick < tick)
		l->tick = tick;
	for (int n = 0; n < LEASES_A_SWEEP && l->tick < tick; ) {
		uint32_t bucket = (uint32_t)(l->tick % BUCKETS);
		uint32_t i = l->leases[bucket].next;

		if (i == bucket) {
			l->tick++;
			continue;
		}
		n++;
		if (l->leases[i].deadline <= now) {
			drop_ended(l, i);
		} else {
			leave_bucket(l, i);
			enter_bucket(l, i);
		}
	}
}

struct lease_counters *
leases_counters(struct leases *l)
{
	return &l->counters;
}

void
leases_reset_counters(struct leases *l)
{
	l->counters = (struct lease_counters){ .live = l->counters.live };
}

uint64_t
leases_most(const struct leases *l)
{
	return l->most;
}
