/*
 * The operations of a filter without a window that differ from those of one
 * that has a window.
 *
 * It can grow before the room is needed, for a caller that must not wait for
 * it: allocating a layer and syncing dirty pages takes as long as the disk
 * wants. A thread does it with copies of all that describes the file; meanwhile
 * lines go into the room that is left, and nobody else writes the file's slots.
 * When it is done, the filter takes over what the thread changed (file.h,
 * slots.h) and the new layer, but keeps its own counters.
 *
 * In a shared file, room is ours once the file's counters include it: a run
 * takes what it wants, and some more if layers are large, so that the table is
 * rarely written. Unused room is given back at the end; a kill wastes it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/thread.h"
#include "layers/inside.h"
#include "model/growth.h"

struct layers_ahead {
	pthread_t thread;
	atomic_int done;
	/* These are copies that only the thread uses until it is done. */
	struct file file;
	struct slots slots;
	/* has the new layer once the thread has published it */
	struct table table;
	struct layer_entry layer;
	int result;
	struct error error;
};

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

void
layers_grow_large(struct filter *filter, uint64_t capacity)
{
	layers_of(filter)->large_capacity = capacity;
}

/* Make room for a layer at the end of the file, and append it to the table. */
static int
place_layer(struct layers *f, struct table *table,
    const struct layer_entry *layer, struct error *error)
{
	if (layers_in_file(f) && file_extend(&f->file, layer->offset,
	    layer->geometry.pages * PAGE_BYTES, error) < 0)
		return -1;
	table->layers[table->count++] = *layer;
	return 0;
}

/* Append the large layer that was asked for. Returns 0 if there is no room. */
static int
append_large(struct layers *f, struct table *table)
{
	const uint64_t lines = f->large_capacity - table_capacity(table);
	struct error *ignored = error_ignored();
	struct layer_entry layer;

	f->large_capacity = 0;
	return growth_layer(&f->filter, table, lines, f->max_bytes, &layer,
	    ignored) == 0 && pages_can_map(layer.geometry.pages) &&
	    place_layer(f, table, &layer, ignored) == 0;
}

/* Append a layer for the lines that are wanted, or more. */
static int
append_layer(struct layers *f, struct table *table, uint64_t wanted,
    struct error *error)
{
	struct layer_entry layer;

	if (f->large_capacity > table_capacity(table) + wanted &&
	    append_large(f, table))
		return 0;
	if (growth_layer(&f->filter, table, wanted, f->max_bytes, &layer,
	    error) < 0)
		return -1;
	return place_layer(f, table, &layer, error);
}

static void *
make_ahead(void *context)
{
	struct layers_ahead *a = context;

	a->result = file_extend(&a->file, a->layer.offset,
	    a->layer.geometry.pages * PAGE_BYTES, &a->error);
	if (a->result == 0) {
		a->table.layers[a->table.count++] = a->layer;
		a->result = slots_publish(&a->slots, &a->table, &a->error);
	}
	a->done = 1;
	return NULL;
}

int
plain_take_ahead(struct layers *f, int wait, struct error *error)
{
	struct layers_ahead *a = f->ahead;
	int result = 0;

	if (a == NULL || (!wait && !a->done))
		return 0;
	pthread_join(a->thread, NULL);
	f->ahead = NULL;
	f->coming_bytes = 0;
	file_take_over(&f->file, &a->file);
	slots_take_over(&f->slots, &a->slots);
	/* A failure is retried, and reported, when the room is needed. */
	if (a->result == 0) {
		f->table.layers[f->table.count++] = a->layer;
		result = layers_map(f, 1, error);
	}
	free(a);
	return result;
}

void
plain_grow_ahead(struct filter *filter)
{
	struct layers *f = layers_of(filter);
	struct layers_ahead *a;
	struct layer_entry layer;

	if (f->ahead != NULL) {
		/* The caller looks again for room, which may now be enough. */
		plain_take_ahead(f, 0, error_ignored());
		return;
	}
	/* A failure here is reported when the room is needed. */
	if (!layers_in_file(f) || !f->marking || f->shared ||
	    f->filter.growth != GROWTH_GROW ||
	    growth_layer(filter, &f->table, 0, UINT64_MAX, &layer,
	    error_ignored()) < 0)
		return;
	a = memory_or_die(calloc(1, sizeof *a));
	a->file = f->file;
	a->slots = f->slots;
	a->slots.file = &a->file;
	a->table = f->table;
	a->layer = layer;
	if (thread_start(&a->thread, make_ahead, a) < 0) {
		/*
		 * Without a thread, the filter grows when the room is needed.
		 */
		free(a);
		return;
	}
	f->ahead = a;
	f->coming_bytes = layer.geometry.pages * PAGE_BYTES;
}

static uint64_t
all_allotted(const struct layers *f)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < f->table.count; i++)
		sum += f->allotted[i];
	return sum;
}

/* Reserve room for that many lines, or more, for this run alone. */
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

/* Reserve room in a shared file, which other runs then cannot take. */
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
	answer = layers_make_room(f, wanted - have, append_layer, room, error);
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
	const unsigned layers = f->table.count;
	enum room answer;

	if (layers_begin_marking(f, error) < 0 ||
	    plain_take_ahead(f, !enough, error) < 0)
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
	answer = layers_make_room(f, wanted, append_layer, room, error);
	for (unsigned i = layers; i < f->table.count; i++) {
		if (answer == ROOM_ENOUGH &&
		    arrays_fill(&f->arrays, i, error) < 0) {
			*room = 0;
			answer = ROOM_SHORT;
		}
	}
	return answer;
}

/* An atomic mark takes several times as long as one of a run alone. */
static int
mark_shared(struct layers *f, unsigned i, const struct digest *digests,
    size_t n, struct error *error)
{
	int result, alone = layers_take_turn(f, error);

	if (alone < 0)
		return -1;
	result = arrays_mark(&f->arrays, i, digests, n,
	    alone ? 0 : ARRAYS_SHARED, error);
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
	layers_forget_checksum(f, i);
	/* Counted first: a failure leaves a counter too high, not too low. */
	if (f->shared) {
		f->allotted[i] -= n < f->allotted[i] ? n : f->allotted[i];
		return mark_shared(f, i, digests, n, error);
	}
	f->table.layers[i].lines += n;
	return arrays_mark(&f->arrays, i, digests, n, 0, error);
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
