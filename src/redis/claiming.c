/*
 * Claims go to the newest layer. `settled` counts, for each digest, the layers
 * that are known not to have it, since they were closed when they were probed.
 * If a layer turns out to be closed, the claim goes to the next one.
 */
#include "redis/filter.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bits/block.h"
#include "redis/chunks.h"

/* The undecided digests of a batch, and how far they were probed. */
struct claiming {
	struct redis *redis;
	const struct digest *digests;
	uint32_t *items;     /* their numbers, in order */
	size_t count;
	uint8_t *settled;    /* of each digest: as redis.settled */
	uint8_t *taken;      /* of each digest: what filter_claim says */
	struct digest *some; /* a part of them, */
	uint32_t *which;     /* the places of their numbers in `items`, */
	uint8_t *state;      /* the states of the part, */
	uint8_t *decided;    /* and which places are done */
	uint64_t uncertain;
	unsigned dropped;    /* redis.dropped, when `settled` was right */
};

static void
drop_decided(struct claiming *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->count; i++) {
		c->items[kept] = c->items[i];
		kept += !c->decided[i];
	}
	c->count = kept;
}

/* Probe a closed layer for digests not probed there since it was closed. */
static int
settle_layer(struct claiming *c, unsigned layer, struct error *error)
{
	struct redis *r = c->redis;
	struct redis_layer place = chunks_layer(&r->server, &r->table, layer);
	struct error damage = { .status = STATUS_OK };
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++) {
		c->some[n] = c->digests[c->items[i]];
		c->which[n] = (uint32_t)i;
		n += c->settled[c->items[i]] <= layer;
	}
	if (n == 0)
		return 0;
	if (fetch_lines(&r->fetches[layer], &r->server, &r->mirrors[layer],
	    place.number, c->some, n, &damage, error) < 0 ||
	    redis_net_finish(r->server.net, error) < 0)
		return -1;
	memset(c->state, 0, n);
	memset(c->decided, 0, c->count);
	block_probe(&r->mirrors[layer].array, c->some, n, c->state);
	for (size_t i = 0; i < n; i++) {
		c->decided[c->which[i]] = c->state[i];
		c->settled[c->items[c->which[i]]] = (uint8_t)(layer + 1);
	}
	drop_decided(c);
	/* The chunks of a generation that is over by now may be gone. */
	if (damage.status == STATUS_OK || redis_layer_is_over(&place))
		return 0;
	*error = damage;
	return -1;
}

/* If the connection was lost, the lines may be marked or not: mark them. */
static int
mark_uncertain(struct claiming *c, unsigned layer, size_t n,
    struct error *error)
{
	struct redis *r = c->redis;
	struct redis_layer place = chunks_layer(&r->server, &r->table, layer);
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		c->some[count] = c->some[i];
		count += c->state[i] == CLAIM_UNCERTAIN;
	}
	c->uncertain += count;
	if (count == 0 || r->claim_use != FILTER_CLAIMS_OURS)
		return 0;
	return marks_send(&r->marks, &r->server,
	    &r->table.layers[layer].geometry, &place, c->some, count,
	    error) < 0 ? -1 : redis_net_finish(r->server.net, error);
}

/* Take the states of the first n items; *closed: how many are undecided. */
static size_t
take_states(struct claiming *c, size_t n, unsigned layer, size_t *closed)
{
	int keep = c->redis->claim_use == FILTER_CLAIMS_OURS;
	size_t ours = 0;

	*closed = 0;
	memset(c->decided, 0, c->count);
	for (size_t i = 0; i < n; i++) {
		uint32_t item = c->items[i];
		int mine = c->state[i] == CLAIM_NEW ||
		    (c->state[i] == CLAIM_UNCERTAIN && keep);

		c->decided[i] = c->state[i] != CLAIM_CLOSED;
		c->taken[item] = !mine;
		c->settled[item] = (uint8_t)(layer + 1);
		*closed += c->state[i] == CLAIM_CLOSED;
		ours += (size_t)mine;
	}
	return ours;
}

/*
 * Claim the first n in the newest layer; *closed becomes how many it refused.
 */
static int
claim_some(struct claiming *c, size_t n, size_t *closed, struct error *error)
{
	struct redis *r = c->redis;
	unsigned layer = r->table.count - 1;
	struct redis_layer place = chunks_layer(&r->server, &r->table, layer);
	size_t ours;

	for (size_t i = 0; i < n; i++)
		c->some[i] = c->digests[c->items[i]];
	redis_mark_begin(r);
	if (claims_make(&r->claims, &r->server, &r->mirrors[layer], &place,
	    c->some, n, c->state, error) < 0)
		return -1;
	ours = take_states(c, n, layer, closed);
	redis_mark_mirror(&r->mirrors[layer], c->some, n);
	redis_room_use(r, layer, ours);
	r->table.layers[layer].lines += ours;
	drop_decided(c);
	return mark_uncertain(c, layer, n, error);
}

/* Room in the newest layer, if it has any. */
static int
room_in_newest(struct redis *r, uint64_t wanted, uint64_t *room,
    struct error *error)
{
	unsigned newest = r->table.count - 1;

	if (r->reserved[newest] < wanted && !r->full[newest] &&
	    redis_room_reserve_in(r, newest, wanted - r->reserved[newest],
	    error) < 0)
		return -1;
	*room = r->reserved[newest];
	return 0;
}

/*
 * The newest layer is full or `closed`: use the next one, or make it. A filter
 * that doesn't grow is closed by a turn, which we finish.
 */
static int
go_to_next_layer(struct redis *r, int closed, struct error *error)
{
	uint64_t generation = r->table.generation;

	if (redis_window_reload(r, error) < 0)
		return redis_failed(r, error);
	if (r->table.generation != generation)
		return 0;
	if (closed && redis_is_windowed(r) && r->filter.growth !=
	    GROWTH_GROW && redis_window_turn(r, error) < 0)
		return -1;
	return r->table.generation != generation ? 0 :
	    redis_room_grow(r, error);
}

/* Layers were dropped from the beginning of the table. */
static void
shift_settled(struct claiming *c)
{
	unsigned more = c->redis->dropped - c->dropped;

	for (size_t i = 0; i < c->count && more > 0; i++) {
		uint8_t *settled = &c->settled[c->items[i]];

		*settled = (uint8_t)(*settled > more ? *settled - more : 0);
	}
	c->dropped = c->redis->dropped;
}

static int
claim_all(struct claiming *c, struct error *error)
{
	struct redis *r = c->redis;

	while (c->count > 0) {
		uint64_t room;
		size_t closed = 0;

		if (redis_window_prepare(r, error) < 0)
			return -1;
		shift_settled(c);
		for (unsigned i = 0; i + 1 < r->table.count; i++) {
			if (settle_layer(c, i, error) < 0)
				return redis_failed(r, error);
		}
		if (room_in_newest(r, c->count, &room, error) < 0)
			return -1;
		if (room > 0 && claim_some(c, room < c->count ? (size_t)room :
		    c->count, &closed, error) < 0)
			return redis_failed(r, error);
		if (c->uncertain > 0 && r->claim_use == FILTER_CLAIMS_STOP)
			return error_set(error, STATUS_FAILED, "%s: the"
			    " connection was lost: %" PRIu64 " lines may be"
			    " remembered and were not printed (--claim=print"
			    " prints such lines)", redis_name(r), c->uncertain);
		if (c->count > 0 && (room == 0 || closed > 0) &&
		    go_to_next_layer(r, closed > 0, error) < 0)
			return -1;
	}
	return 0;
}

int
redis_claiming(struct filter *filter, const struct digest *digests, size_t n,
    uint8_t *taken, struct error *error)
{
	struct redis *r = redis_of(filter);
	struct claiming c = { .redis = r, .digests = digests, .count = n,
		.dropped = r->dropped,
		.items = memory_or_die(malloc((n + 1) * sizeof *c.items)),
		.settled = memory_or_die(malloc(n + 1)), .taken = taken,
		.some = memory_or_die(malloc((n + 1) * sizeof *c.some)),
		.which = memory_or_die(malloc((n + 1) * sizeof *c.which)),
		.state = memory_or_die(malloc(n + 1)),
		.decided = memory_or_die(malloc(n + 1)) };
	int result;

	for (size_t i = 0; i < n; i++)
		c.items[i] = (uint32_t)i;
	memset(c.settled, (int)r->settled, n);
	memset(taken, 1, n);
	result = claim_all(&c, error);
	if (result == 0 && r->replicas > 0)
		result = redis_mark_settle(r, error);
	free(c.items);
	free(c.settled);
	free(c.some);
	free(c.which);
	free(c.state);
	free(c.decided);
	return result;
}
