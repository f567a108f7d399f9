/* Room for lines: reserved by a layer's counter before they are written. */
#include "filter/redis_filter.h"

#include "filter/growth.h"

/* Reserve room in parts of a layer, so that it rarely costs a round trip. */
#define RESERVED_PARTS 128

/* Append a layer to the table. */
static int
add_layer(struct redis *r, struct error *error)
{
	struct table *table = &r->table;
	struct layer_entry layer;

	if (growth_layer(redis_name(r), &r->header, table, &layer, error) < 0 ||
	    growth_place(redis_name(r), table, table, &layer, r->max_bytes,
	    error) < 0)
		return -1;
	table->layers[table->count++] = layer;
	return 0;
}

int
redis_room_grow(struct redis *r, struct error *error)
{
	int result;

	if (r->filter.growth == GROWTH_FAIL)
		return growth_is_full(redis_name(r), &r->table, error);
	if (add_layer(r, error) < 0)
		return -1;
	result = table_grow(&r->server, &r->table, error);
	if (result < 0) {
		r->table.count--;
		return redis_failed(r, error);
	}
	if (result > 0)
		redis_probe_count(r);
	return redis_probe_map(r, error);
}

static uint64_t
all_reserved(const struct redis *r)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < r->table.count; i++)
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
	if (table_count(&r->server, i, (int64_t)wanted, &after, error) < 0)
		return redis_failed(r, error);
	before = after > wanted ? after - wanted : 0;
	room = before >= layer->capacity ? 0 : layer->capacity - before;
	got = room < wanted ? room : wanted;
	if (r->filter.growth == GROWTH_WARN && i + 1 == r->table.count) {
		r->beyond += wanted - got;
		got = wanted;
	}
	r->full[i] = got < wanted;
	if (got < wanted && table_count(&r->server, i, -(int64_t)(wanted -
	    got), &after, error) < 0)
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
		unsigned i = 0;

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

/* Give back room that was reserved and not used. */
int
redis_room_give_back(struct redis *r, struct error *error)
{
	uint64_t after;

	for (unsigned i = 0; i < r->table.count; i++) {
		if (r->reserved[i] > 0 && table_count(&r->server, i,
		    -(int64_t)r->reserved[i], &after, error) < 0)
			return -1;
		r->reserved[i] = 0;
	}
	return 0;
}
