/*
 * Room for new lines: growth, also ahead; allotments in a shared file; and how
 * a window moves on, of which model/window.h has the arithmetic.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/thread.h"
#include "layers/inside.h"
#include "model/growth.h"
#include "model/window.h"

/*
 * Growth ahead of need, for a caller that must not wait for it: allocating a
 * layer and syncing dirty pages takes as long as the disk wants. A thread does
 * it with copies of all that describes the file; meanwhile lines go into the
 * room that is left, and nobody else writes the file's table. When it is done,
 * the filter takes over the new table, but keeps its own counters.
 */
struct layers_ahead {
	pthread_t thread;
	atomic_int done;
	struct file file;
	struct slots slots;
	struct table table;
	int result;
	struct error error;
};

static void *
make_ahead(void *context)
{
	struct layers_ahead *a = context;
	const struct layer_entry *layer = &a->table.layers[a->table.count];

	a->result = file_extend(&a->file, layer->offset,
	    layer->geometry.pages * PAGE_BYTES, &a->error);
	if (a->result == 0) {
		a->table.count++;
		a->result = slots_publish(&a->slots, &a->table, &a->error);
	}
	a->done = 1;
	return NULL;
}

int
layers_ahead_take(struct layers *f, int wait, struct error *error)
{
	struct layers_ahead *a = f->ahead;
	int result = 0;

	if (a == NULL || (!wait && !a->done))
		return 0;
	pthread_join(a->thread, NULL);
	f->ahead = NULL;
	f->coming_bytes = 0;
	f->file.length = a->file.length;
	if (a->file.unsafe != 0)
		f->file.unsafe = a->file.unsafe;
	f->slots.newest = a->slots.newest;
	f->slots.head.serial = a->slots.head.serial;
	/* A failure is retried, and reported, when the room is needed. */
	if (a->result == 0) {
		f->table.layers[f->table.count] =
		    a->table.layers[f->table.count];
		f->table.count++;
		result = layers_map(f, 1, error);
	}
	free(a);
	return result;
}

void
layers_grow_ahead(struct filter *filter)
{
	struct layers *f = layers_of(filter);
	struct layers_ahead *a;
	struct layer_entry layer;
	struct error ignored;

	if (f->ahead != NULL) {
		/* there may be enough room now: the caller looks again */
		layers_ahead_take(f, 0, &ignored);
		return;
	}
	if (!layers_in_file(f) || !f->marking || f->shared ||
	    layers_is_windowed(f) || f->filter.growth != GROWTH_GROW ||
	    growth_layer(filter, &f->table, 0, UINT64_MAX, &layer,
	    &ignored) < 0)
		return;
	a = memory_or_die(calloc(1, sizeof *a));
	a->file = f->file;
	a->slots = f->slots;
	a->slots.file = &a->file;
	a->table = f->table;
	a->table.layers[a->table.count] = layer;
	if (thread_start(&a->thread, make_ahead, a) < 0) {
		/* then it grows when the room is needed */
		free(a);
		return;
	}
	f->ahead = a;
	f->coming_bytes = layer.geometry.pages * PAGE_BYTES;
}

int
layers_begin_marking(struct layers *f, struct error *error)
{
	int result;

	if (!layers_in_file(f) || f->marking)
		return 0;
	if (layers_lock_table(f, error) < 0)
		return -1;
	f->slots.head.marking = f->shared ? MARKING_SHARED : MARKING_ALONE;
	result = slots_write(&f->slots, &f->table, error);
	f->marking = result == 0;
	slots_unlock(&f->slots);
	return result;
}

/*
 * Append a layer for `wanted` lines (growth_layer) to `table`, which is not the
 * filter's yet. Its place in the file, where neither table has a layer, is all
 * zero and allocated. On failure the table is unchanged.
 */
static int
append(struct layers *f, struct table *table, uint64_t wanted,
    struct error *error)
{
	struct layer_entry layer;
	uint64_t nbytes;

	if (growth_layer(&f->filter, table, wanted, f->max_bytes, &layer,
	    error) < 0)
		return -1;
	nbytes = layer.geometry.pages * PAGE_BYTES;
	if (layers_in_file(f) && (layers_is_windowed(f) ?
	    file_clear(&f->file, layer.offset, nbytes, error) :
	    file_extend(&f->file, layer.offset, nbytes, error)) < 0)
		return -1;
	table->layers[table->count++] = layer;
	if (layers_is_windowed(f) && layer.offset + nbytes > table->file_bytes)
		table->file_bytes = layer.offset + nbytes;
	return 0;
}

/* The table with enough layers for `wanted` lines, as far as it may grow. */
static int
grow(struct layers *f, struct table *next, uint64_t wanted,
    struct error *error)
{
	enum growth growth = layers_growth(f);
	uint64_t room = table_room(next, growth);
	int result = 0;

	while (result == 0 && room < wanted) {
		if (f->filter.growth == GROWTH_FAIL && !layers_never_full(f))
			result = growth_is_full(&f->filter,
			    table_capacity(next), error);
		else
			result = append(f, next, wanted - room, error);
		room = table_room(next, growth);
	}
	return result;
}

/* Room in all layers: grows as far as it must and may. */
static enum room
make_room(struct layers *f, uint64_t wanted, uint64_t *room,
    struct error *error)
{
	struct table next;
	int result;

	*room = table_room(&f->table, layers_growth(f));
	if (*room >= wanted) { /* as almost always: don't copy the table */
		*room = wanted;
		return ROOM_ENOUGH;
	}
	next = f->table;
	result = grow(f, &next, wanted, error);
	/* Only a table that is in both slots, synced, is the filter's. */
	if (next.count > f->table.count) {
		if (layers_in_file(f) &&
		    slots_publish(&f->slots, &next, error) < 0)
			return ROOM_SHORT;
		f->table = next;
		if (layers_map(f, 1, error) < 0)
			return ROOM_SHORT;
		*room = table_room(&f->table, layers_growth(f));
	}
	*room = *room < wanted ? *room : wanted;
	return result < 0 ? ROOM_SHORT : ROOM_ENOUGH;
}

/* By lines, a full generation ends before the next line. */
static enum room
make_room_in_turn(struct layers *f, uint64_t wanted, uint64_t *room,
    struct error *error)
{
	uint64_t left;
	enum room answer;

	if (!layers_never_full(f) || f->filter.held)
		return make_room(f, wanted, room, error);
	left = window_lines_left(&f->table, &f->header.window);
	if (wanted <= left)
		return make_room(f, wanted, room, error);
	answer = make_room(f, left, room, error);
	return answer == ROOM_ENOUGH ? ROOM_AGAIN : answer;
}

/*
 * Append the generation's first layer: as large as the others need to be, else
 * of the size that was announced when the filter was made.
 */
static int
append_first(struct layers *f, struct table *next, struct error *error)
{
	uint64_t announced = window_generation_capacity(f->header.capacity);
	uint64_t lines = growth_generation_lines(&f->filter);
	int result;

	do {
		result = append(f, next, lines, error);
		if (lines == announced)
			break;
		lines = announced;
	} while (result < 0 && error_is_full(error));
	return result;
}

/*
 * Both slots of the table say which generations are left, and are on the disk,
 * before the space of a dropped layer is cleared: no older slot can refer to
 * space that is used again.
 */
static int
publish_move(struct layers *f, struct table *next, unsigned dropped,
    struct error *error)
{
	struct table old = f->table;

	f->slots.head.sealing = (struct sealing){ 0 };
	if (layers_in_file(f) &&
	    (slots_publish(&f->slots, next, error) < 0 ||
	    file_sync(&f->file, error) < 0))
		return -1;
	f->table = *next;
	arrays_drop(&f->arrays, dropped);
	for (unsigned i = 0; i < dropped && layers_in_file(f); i++)
		file_punch(&f->file, old.layers[i].offset,
		    old.layers[i].geometry.pages * PAGE_BYTES);
	return layers_map(f, 1, error);
}

/* Drop the generations that are over, and begin the next one if it is due. */
static int
move_locked(struct layers *f, int64_t now, struct error *error)
{
	const struct window *window = &f->header.window;
	void (*notice)(const char *text) = f->file.wait.notice;
	struct table next = f->table;
	struct window_move move = window_move(&next, window, now, 1);
	struct error told;

	if (move.back > 0 && notice != NULL) {
		error_set(&told, STATUS_OK, "%s: the clock went back by %"
		    PRId64 " s: all lines keep their age", f->filter.name,
		    move.back);
		notice(told.text);
	}
	if (move.due && append_first(f, &next, error) < 0) {
		if (!error_is_full(error))
			return -1;
		/*
		 * There is no place beside the generations that are over:
		 * first free theirs, if there are any. Else the current one
		 * goes on, and there may be place in a minute.
		 */
		next = f->table;
		move.dropped = window_move(&next, window, now, 0).dropped;
		if (move.dropped > 0)
			return publish_move(f, &next, move.dropped,
			    error) < 0 ? -1 : move_locked(f, now, error);
		if (!f->stays && notice != NULL) {
			error_set(&told, STATUS_OK, "%s; no room for the next"
			    " part of the window: lines are remembered for"
			    " longer", error->text);
			notice(told.text);
		}
		f->stays = now;
		return 0;
	}
	if (move.due)
		f->stays = 0;
	return publish_move(f, &next, move.dropped, error);
}

int
layers_move_on(struct layers *f, struct error *error)
{
	const struct window *window = &f->header.window;
	int64_t now = time(NULL);
	struct table trial = f->table;
	int result;

	if (window_shift(&trial, window, now) == 0 &&
	    window_over(&trial, window, now) == 0 &&
	    ((uint64_t)(now - f->stays) < 60 ||
	    !window_is_due(&trial, window, now)))
		return 0;
	if (arrays_write_back(&f->arrays, 1, error) < 0 ||
	    layers_lock_table(f, error) < 0)
		return -1;
	result = move_locked(f, now, error);
	slots_unlock(&f->slots);
	return result;
}

static uint64_t
all_allotted(const struct layers *f)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < f->table.count; i++)
		sum += f->allotted[i];
	return sum;
}

/*
 * In a shared file, room is ours once the file's counters include it: take
 * what is wanted, and some more if layers are large, so that the table's lock
 * is rarely taken. Unused room is given back at the end; a kill wastes it.
 */
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

enum room
layers_reserve(struct filter *filter, uint64_t wanted, uint64_t *room,
    struct error *error)
{
	struct layers *f = layers_of(filter);
	/* In a shared window, lines are marked, and counted, under the lock. */
	int allotting = f->shared && !layers_is_windowed(f);
	uint64_t have = 0;
	enum room answer;

	if (layers_begin_marking(f, error) < 0 ||
	    layers_ahead_take(f, table_room(&f->table, layers_growth(f)) <
	    wanted, error) < 0)
		return ROOM_SHORT;
	/* The table and the checksums belong to another thread. */
	if (f->ahead != NULL) {
		*room = wanted;
		return ROOM_ENOUGH;
	}
	/* What was held goes into the generation that is now the last one. */
	if (f->filter.held && layers_is_windowed(f) &&
	    layers_move_on(f, error) < 0)
		return ROOM_SHORT;
	if (!f->shared && layers_go_on_with_checksums(f, wanted, error) < 0)
		return ROOM_SHORT;
	if (allotting && (have = all_allotted(f)) >= wanted) {
		*room = wanted;
		return ROOM_ENOUGH;
	}
	if (layers_lock_table(f, error) < 0)
		return ROOM_SHORT;
	answer = make_room_in_turn(f, wanted - have, room, error);
	if (allotting && allot(f, *room, error) < 0) {
		*room = 0;
		answer = ROOM_SHORT;
	} else if (allotting) {
		have = all_allotted(f);
		*room = have < wanted ? have : wanted;
	}
	slots_unlock(&f->slots);
	return answer;
}
