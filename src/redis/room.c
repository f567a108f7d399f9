/* Room for lines: reserved by a layer's counter before they are written. */
#include "redis/filter.h"


#include "model/growth.h"
#include "redis/chunks.h"
#include "model/window.h"

/* Reserve room in parts of a layer, so that it rarely costs a round trip. */
#define RESERVED_PARTS 128

/* Append a layer to the table. */
static int
add_layer(const struct redis *r, struct table *next, struct error *error)
{
	struct layer_entry layer;

	if (growth_layer(redis_name(r), &r->header, next, 0, &layer,
	    error) < 0 ||
	    growth_place(redis_name(r), next, next, &layer, r->max_bytes,
	    error) < 0)
		return -1;
	layer.number = table_next_number(&r->table, next);
	growth_append(next, &layer);
	return 0;
}

int
redis_room_grow(struct redis *r, struct error *error)
{
	struct table next = r->table;
	int result;

	if (r->filter.growth == GROWTH_FAIL)
		return growth_is_full(redis_name(r), &r->table, error);
	if (add_layer(r, &next, error) < 0)
		return -1;
	result = table_change(&r->server, r->table.generation, &next, 1,
	    error);
	if (result < 0 || redis_window_take(r, &next, error) < 0)
		return redis_failed(r, error);
	if (result > 0)
		redis_probe_count(r);
	return redis_room_leave(r, error);
}

static uint64_t
all_reserved(const struct redis *r)
{
	uint64_t sum = 0;

	for (unsigned i = window_first_layer(&r->table); i < r->table.count;
	    i++)
		sum += r->reserved[i];
	return sum;
}

/* Reserve room in layer i; what isn't available is given back. */
int
redis_room_reserve_in(struct redis *r, unsigned i, uint64_t wanted,
    struct error *error)
{
	struct layer_entry *layer = &r->table.layers[i];
	uint64_t part = layer->capacity / RESERVED_PARTS;
	uint64_t after, before, room, got;

	wanted = wanted > part ? wanted : part;
	if (table_count(&r->server, layer->number, (int64_t)wanted, &after,
	    error) < 0)
		return redis_failed(r, error);
	before = after > wanted ? after - wanted : 0;
	room = before >= layer->capacity ? 0 : layer->capacity - before;
	got = room < wanted ? room : wanted;
	if (r->filter.growth == GROWTH_WARN && i + 1 == r->table.count) {
		r->beyond += wanted - got;
		got = wanted;
	}
	r->full[i] = got < wanted;
	if (got < wanted && table_count(&r->server, layer->number,
	    -(int64_t)(wanted - got), &after, error) < 0)
		return redis_failed(r, error);
	layer->lines = before - (r->reserved[i] < before ? r->reserved[i] :
	    before);
	r->reserved[i] += got;
	return 0;
}

uint64_t
redis_room_reserve(struct filter *filter, uint64_t wanted, struct error *error)
{
	struct redis *r = redis_of(filter);
	uint64_t have;

	while ((have = all_reserved(r)) < wanted) {
		unsigned i = window_first_layer(&r->table);

		while (i < r->table.count && r->full[i])
			i++;
		if ((i == r->table.count ? redis_room_grow(r, error) :
		    redis_room_reserve_in(r, i, wanted - have, error)) < 0)
			break;
	}
	return have < wanted ? have : wanted;
}

/* `lines` lines were marked in reserved room. */
void
redis_room_use(struct redis *r, unsigned i, uint64_t lines)
{
	r->reserved[i] -= lines;
	if (r->beyond > r->reserved[i]) {
		r->filter.overfilled += r->beyond - r->reserved[i];
		r->beyond = r->reserved[i];
	}
}

int
redis_room_renew(struct redis *r, uint64_t lines, struct error *error)
{
	unsigned last;
	uint64_t got = redis_room_reserve(&r->filter, lines, error), after;

	if (got == lines)
		return 0;
	if (r->failed)
		return -1;
	last = r->table.count - 1;
	if (table_count(&r->server, r->table.layers[last].number,
	    (int64_t)(lines - got), &after, error) < 0)
		return redis_failed(r, error);
	r->reserved[last] += lines - got;
	r->beyond += lines - got;
	return 0;
}

/* Not where the counter may be gone: it would be made again, for ever. */
static int
give_back(struct redis *r, unsigned first, unsigned end, struct error *error)
{
	for (unsigned i = first; i < end; i++) {
		struct redis_layer layer = chunks_layer(&r->server, &r->table,
		    i);
		uint64_t after;

		if (r->reserved[i] > 0 && !redis_layer_is_over(&layer) &&
		    table_count(&r->server, layer.number,
		    -(int64_t)r->reserved[i], &after, error) < 0)
			return -1;
		r->reserved[i] = 0;
	}
	return 0;
}

int
redis_room_leave(struct redis *r, struct error *error)
{
	return give_back(r, 0, window_first_layer(&r->table), error) < 0 ?
	    redis_failed(r, error) : 0;
}

int
redis_room_give_back(struct redis *r, struct error *error)
{
	return give_back(r, 0, r->table.count, error);
}
