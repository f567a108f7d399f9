/*
 * A filter on a server, as the parts of redis.c see it: probing, room, marks
 * and claims, one file each. Functions return 0, or -1 with `error` filled;
 * those that are operations have the contracts of backend.h.
 */
#ifndef REDIS_FILTER_H
#define REDIS_FILTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "disk/format.h"
#include "model/operations.h"
#include "model/plan.h"
#include "redis/claim.h"
#include "redis/fetch.h"
#include "redis/marks.h"
#include "redis/mirror.h"
#include "redis/table.h"

struct redis {
	struct filter filter;
	struct server server;
	struct header header;
	struct table table;
	struct mirror mirrors[FORMAT_LAYERS_MAX];
	unsigned mirror_count;
	struct fetch fetches[FORMAT_LAYERS_MAX];
	struct marks marks;
	struct claims claims;
	enum filter_claims claim_use;
	unsigned replicas;         /* that must have what is remembered, */
	uint64_t wait_ms;          /* how long to wait for them, */
	int unconfirmed;           /* and whether they may lack some of it */
	uint64_t marked_losses;    /* lost connections, before those marks */
	unsigned settled;          /* layers that were closed before they were
	                              probed: a miss there is final */
	int writable;              /* this client may change the filter */
	void (*notice)(const char *text);
	int all_over;              /* all generations of a window are over */
	unsigned dropped;          /* layers, since it was opened */
	uint64_t max_bytes;
	uint64_t mirror_max;       /* bytes that all mirrors may have */
	uint64_t losses;           /* lost connections that are known */
	uint64_t reserved[FORMAT_LAYERS_MAX]; /* room that is ours; a table's
	                              lines don't count it */
	uint64_t beyond;           /* of that, beyond the capacity */
	int full[FORMAT_LAYERS_MAX];
	uint64_t mirrored;         /* lines that the mirror found */
	int published;             /* it has its name */
	int failed;                /* nothing can be asked any more, */
	struct error why;          /* for this reason */
	size_t room;               /* of the arrays that follow */
	struct digest *unknown;    /* of a batch: not in the mirror, */
	uint32_t *items;           /* their numbers in it, */
	uint8_t *found;            /* and whether they are in the filter */
};

static inline struct redis *
redis_of(struct filter *filter)
{
	return (struct redis *)(void *)filter;
}

static inline const struct redis *
const_redis_of(const struct filter *filter)
{
	return (const struct redis *)(const void *)filter;
}

static inline const char *
redis_name(const struct redis *r)
{
	return r->server.address.shown;
}

static inline int
redis_is_windowed(const struct redis *r)
{
	return r->header.window.kind != WINDOW_NONE;
}

/* From now on no requests are made, and the reason is kept. Returns -1. */
static inline int
redis_failed(struct redis *r, const struct error *why)
{
	if (!r->failed)
		r->why = *why;
	r->failed = 1;
	return -1;
}

/* Map mirrors for the layers that have none yet; forget what all have. */
int redis_probe_map(struct redis *redis, struct error *error);
void redis_probe_drop(struct redis *redis);

/* Subtract our unused room from the counters of a table just read. */
void redis_probe_count(struct redis *redis);

int redis_probe(struct filter *filter, const struct digest *digests, size_t n,
    uint8_t *found, struct error *error);

uint64_t redis_room_reserve(struct filter *filter, uint64_t wanted,
    struct error *error);

/* Reserve room in one layer: as much as is wanted, or as there is. */
int redis_room_reserve_in(struct redis *redis, unsigned layer,
    uint64_t wanted, struct error *error);

/* `lines` lines were marked in a layer, in reserved room. */
void redis_room_use(struct redis *redis, unsigned layer, uint64_t lines);

/* Append a layer, or take over the one of a client that was faster. */
int redis_room_grow(struct redis *redis, struct error *error);

/*
 * Reserve room for `lines` lines that are written already: beyond the capacity
 * if the filter can't grow.
 */
int redis_room_renew(struct redis *redis, uint64_t lines, struct error *error);

/* Give back room in generations that take no more lines. */
int redis_room_leave(struct redis *redis, struct error *error);

/* Give back room that was reserved and not used. */
int redis_room_give_back(struct redis *redis, struct error *error);

int redis_mark(struct filter *filter, const struct digest *digests, size_t n,
    struct error *error);
int redis_mark_layer(struct filter *filter, unsigned layer,
    const struct digest *digests, size_t n, struct error *error);
int redis_mark_idle_after(const struct filter *filter);
int redis_mark_write_back(struct filter *filter, int all,
    struct error *error);
int redis_mark_sync(struct filter *filter, struct error *error);

/* Call it before marks are sent. */
void redis_mark_begin(struct redis *redis);

/* Mark digests in the mirror, too. */
void redis_mark_mirror(struct mirror *mirror, const struct digest *digests,
    size_t n);

/*
 * Wait until all requests are answered and, with --wait, until the replicas
 * have what is remembered.
 */
int redis_mark_settle(struct redis *redis, struct error *error);

/* Will redis_mark_sync work? */
int redis_mark_check_sync(struct redis *redis, struct error *error);

/* redis_window.c; without a window, only the first two do something. */

/* A table from the server is now ours, without what is over. */
int redis_window_take(struct redis *redis, const struct table *newer,
    struct error *error);

/* Load the table again. */
int redis_window_reload(struct redis *redis, struct error *error);

/*
 * Leave out generations that are over and, if this client may, begin the next
 * one when it is due. Layers may get other places in the table.
 */
int redis_window_move(struct redis *redis, struct error *error);

/* Before marks: the same, and the last generation ends no earlier than now. */
int redis_window_prepare(struct redis *redis, struct error *error);

/* Begin the next generation though our clock is not there yet. */
int redis_window_turn(struct redis *redis, struct error *error);

/* The operation `claim`. */
int redis_claiming(struct filter *filter, const struct digest *digests,
    size_t n, uint8_t *taken, struct error *error);

#endif
