/*
 * The operations of a filter without a window that differ from those of one
 * that has a window.
 *
 * In a shared file, room is ours once the file's counters include it: a run
 * takes what it wants, and some more if layers are large, so that the table is
 * rarely written. Unused room is given back at the end; a kill wastes it.
 */
#include "layers/inside.h"
#include "model/growth.h"

int
plain_probe(struct filter *filter, const struct digest *digests, size_t n,
    uint8_t *found, struct error *error)
{
	struct layers *f = layers_of(filter);

	if (layers_follow_table(f, error) < 0)
		return -1;
	arrays_probe(&f->arrays, digests, n, found);
	return 0;
}

void
plain_prefetch(const struct filter *filter, const struct digest *digests,
    size_t n)
{
	arrays_prefetch(&layers_of_const(filter)->arrays, digests, n);
}

/* Append a layer at the end of the file. */
static int
append(struct layers *f, struct table *table, uint64_t wanted,
    struct error *error)
{
	struct layer_entry layer;

	if (growth_layer(&f->filter, table, wanted, f->max_bytes, &layer,
	    error) < 0)
		return -1;
	if (layers_in_file(f) && file_extend(&f->file, layer.offset,
	    layer.geometry.pages * PAGE_BYTES, error) < 0)
		return -1;
	table->layers[table->count++] = layer;
	return 0;
}

static uint64_t
all_allotted(const struct layers *f)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < f->table.count; i++)
		sum += f->allotted[i];
	return sum;
}

/* Take `room` lines, or more, for this run. */
static int
allot(struct layers *f, uint64_t room, struct error *error)
{
	for (unsigned i = 0; i < f->table.count && room > 0; i++) {
		struct layer_entry *layer = &f->table.layers[i];
		uint64_t more = layer->capacity / 128;
		uint64_t free = layers_room(f, i);

		more = more > room ? more : room;
		more = more < free ? more : free;
		f->allotted[i] += more;
		layer->lines += more;
		room -= more < room ? more : room;
	}
	return slots_write(&f->slots, &f->table, error);
}

/* In a shared file: room that others can't take. */
static enum room
reserve_shared(struct layers *f, uint64_t wanted, uint64_t *room,
    struct error *error)
{
	uint64_t have = all_allotted(f);
	enum room answer;

	if (have >= wanted) {
		*room = wanted;
		return ROOM_ENOUGH;
	}
	if (layers_lock_table(f, error) < 0)
		return ROOM_SHORT;
	answer = layers_make_room(f, wanted - have, append, room, error);
	if (allot(f, *room, error) < 0) {
		*room = 0;
		answer = ROOM_SHORT;
	} else {
		have = all_allotted(f);
		*room = have < wanted ? have : wanted;
	}
	slots_unlock(&f->slots);
	return answer;
}

enum room
plain_reserve(struct filter *filter, uint64_t wanted, uint64_t *room,
    struct error *error)
{
	struct layers *f = layers_of(filter);
	int enough = table_room(&f->table, layers_growth(f)) >= wanted;

	if (layers_begin_marking(f, error) < 0 ||
	    layers_ahead_take(f, !enough, error) < 0)
		return ROOM_SHORT;
	/*
	 * A layer is still being made: it was not waited for, so the room is
	 * enough without it. Until it is done, table and checksums belong to
	 * the thread that makes it.
	 */
	if (f->ahead != NULL) {
		*room = wanted;
		return ROOM_ENOUGH;
	}
	if (f->shared)
		return reserve_shared(f, wanted, room, error);
	if (layers_go_on_with_checksums(f, wanted, error) < 0)
		return ROOM_SHORT;
	return layers_make_room(f, wanted, append, room, error);
}

/* An atomic mark takes several times as long as one of a run alone. */
static int
mark_shared(struct layers *f, unsigned i, const struct digest *digests,
    size_t n, struct error *error)
{
	int result, alone = layers_take_turn(f, error);

	if (alone < 0)
		return -1;
	result = layers_mark_bits(f, i, digests, n, alone ? 0 : ARRAYS_SHARED,
	    error);
	slots_end_turn(&f->slots);
	return result;
}

int
plain_mark_layer(void *layers, unsigned i, const struct digest *digests,
    size_t n, struct error *error)
{
	struct layers *f = layers;

	if (n == 0)
		return 0;
	/* Counted first: a failure leaves a counter too high, not too low. */
	if (f->shared) {
		f->allotted[i] -= n < f->allotted[i] ? n : f->allotted[i];
		return mark_shared(f, i, digests, n, error);
	}
	f->table.layers[i].lines += n;
	return layers_mark_bits(f, i, digests, n, 0, error);
}

/* In line order, each in the first layer with room. */
int
plain_mark(struct filter *filter, const struct digest *digests, size_t n,
    struct error *error)
{
	struct layers *f = layers_of(filter);

	for (unsigned i = 0; n > 0 && i < f->table.count; i++) {
		uint64_t room = f->shared ? f->allotted[i] : layers_room(f, i);
		size_t some = room < n ? (size_t)room : n;

		if (plain_mark_layer(f, i, digests, some, error) < 0)
			return -1;
		digests += some;
		n -= some;
	}
	return 0;
}
