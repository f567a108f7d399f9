/*
 * The operations of a filter with a window that differ from those of a plain
 * one. A window moves on when lines are looked up: generations that are over
 * are dropped, and the next one begins. model/window.h has the arithmetic.
 *
 * In a shared file, lines are marked under the lock of the table, which says
 * when the last one was: so no other run drops the generation meanwhile.
 */
#include <inttypes.h>
#include <time.h>

#include "layers/inside.h"
#include "model/growth.h"
#include "model/window.h"

/* After how many seconds room for the next generation is looked for again. */
#define RETRY_SECONDS 60

/* Append a layer in a gap of the file, which is cleared, or at its end. */
static int
append_in_gap(struct layers *f, struct table *table, uint64_t wanted,
    struct error *error)
{
	struct layer_entry layer;
	uint64_t nbytes, end;

	if (growth_layer(&f->filter, table, wanted, f->max_bytes, &layer,
	    error) < 0)
		return -1;
	nbytes = layer.geometry.pages * PAGE_BYTES;
	if (layers_in_file(f) &&
	    file_clear(&f->file, layer.offset, nbytes, error) < 0)
		return -1;
	table->layers[table->count++] = layer;
	end = layer.offset + nbytes;
	if (end > table->file_bytes)
		table->file_bytes = end;
	return 0;
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
	int result = append_in_gap(f, next, lines, error);

	if (result < 0 && error_is_full(error) && lines != announced)
		result = append_in_gap(f, next, announced, error);
	return result;
}

/*
 * `next`, which lacks the first `dropped` layers, becomes the filter's table.
 * Both slots say which generations are left, and are on the disk, before the
 * space of a dropped layer is cleared: no older slot can refer to space that is
 * used again.
 */
static int
publish_slot(struct layers *f, const struct table *next, unsigned dropped,
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

/* Drop the generations that are over, if they had any layers. */
static int
drop(struct layers *f, int64_t now, struct error *error)
{
	struct table next = f->table;
	unsigned dropped = window_drop_over(&next, &f->header.window, now);

	if (dropped == 0)
		return 0;
	return publish_slot(f, &next, dropped, error);
}

/*
 * Begin the next generation, and drop those that are over, with one table.
 * Returns 1, with `error` filled, if there is no room for its layer.
 */
static int
begin_generation(struct layers *f, int64_t now, struct error *error)
{
	struct table next = f->table;
	unsigned dropped = window_begin_next(&next, &f->header.window, now);

	if (append_first(f, &next, error) < 0)
		return error_is_full(error) ? 1 : -1;
	return publish_slot(f, &next, dropped, error);
}

/* The last generation goes on, since there is no room for the next one. */
static void
stay(struct layers *f, int64_t now, const struct error *full)
{
	if (f->step != WINDOW_NO_ROOM)
		error_notify(f->file.wait.notice, "%s; no room for the next"
		    " quarter of the window: lines are remembered for longer",
		    full->text);
	f->step = WINDOW_NO_ROOM;
	f->try_again = now + RETRY_SECONDS;
}

static int
take_step(struct layers *f, int64_t now, struct error *error)
{
	enum window_step step = window_next_step(&f->table,
	    &f->header.window, now);
	unsigned layers = f->table.count;
	int result;

	if (step == WINDOW_STAY)
		return 0;
	if (step == WINDOW_DROP)
		return drop(f, now, error);
	result = begin_generation(f, now, error);
	/* No room beside the generations that are over: first free theirs. */
	if (result == 1) {
		struct error full = *error;

		if (drop(f, now, error) < 0)
			return -1;
		if (f->table.count < layers)
			result = begin_generation(f, now, error);
		else
			*error = full;
	}
	if (result == 0)
		f->step = WINDOW_BEGIN;
	if (result == 1)
		stay(f, now, error);
	return result < 0 ? -1 : 0;
}

/* Dates that the clock can't have given are put right, which is said. */
static int
put_dates_right(struct layers *f, int64_t now, struct error *error)
{
	struct table next = f->table;
	int64_t back = window_put_dates_right(&next, &f->header.window, now);

	if (back > 0)
		error_notify(f->file.wait.notice, "%s: the clock went back by"
		    " %" PRId64 " s: all lines keep their age",
		    f->filter.name, back);
	else
		error_notify(f->file.wait.notice, "%s: the clock was ahead when"
		    " lines were remembered: they count as remembered now",
		    f->filter.name);
	return publish_slot(f, &next, 0, error);
}

/* Move the window on; the caller holds the table's lock. */
static int
move_locked(struct layers *f, int64_t now, struct error *error)
{
	if (!window_dates_are_right(&f->table, &f->header.window, now) &&
	    put_dates_right(f, now, error) < 0)
		return -1;
	return take_step(f, now, error);
}

/* Is it too early to look for room again? Also right if the clock goes back. */
static int
is_waiting(const struct layers *f, int64_t now)
{
	return f->step == WINDOW_NO_ROOM && now < f->try_again &&
	    now >= f->try_again - RETRY_SECONDS;
}

/* To call before lines are looked up: move the window on, if it is due. */
static int
move_on(struct layers *f, struct error *error)
{
	const struct window *window = &f->header.window;
	const int64_t clock = time(NULL);
	const int64_t now = window_now(&f->table, window, clock);
	int result;

	if (now != clock && !f->told_clock) {
		f->told_clock = 1;
		error_notify(f->file.wait.notice, "%s: the clock is before"
		    " 2026, so it is wrong: no line is forgotten, and new lines"
		    " count as remembered when the newest quarter of the window"
		    " began", f->filter.name);
	}

	if (window_dates_are_right(&f->table, window, now)) {
		enum window_step step = window_next_step(&f->table, window,
		    now);

		if (step == WINDOW_STAY) {
			f->step = step;
			return 0;
		}
		if (step == WINDOW_BEGIN && is_waiting(f, now) &&
		    window_over(&f->table, window, now) == 0)
			return 0;
	}
	if (arrays_write_back(&f->arrays, 1, error) < 0 ||
	    layers_lock_table(f, error) < 0)
		return -1;
	result = move_locked(f, now, error);
	slots_unlock(&f->slots);
	return result;
}

int
windowed_probe(struct filter *filter, const struct digest *digests, size_t n,
    uint8_t *found, struct error *error)
{
	struct layers *f = layers_of(filter);

	if (layers_follow_table(f, error) < 0)
		return -1;
	if (f->writable) {
		if (move_on(f, error) < 0)
			return -1;
	} else if (!layers_forget(f)) {
		return 0;
	}
	arrays_probe_chains(&f->arrays, digests, n, found);
	return 0;
}

/*
 * By lines, a full generation ends before the next line, unless lines were held
 * back.
 */
static enum room
room_in_generation(struct layers *f, uint64_t wanted, uint64_t *room,
    struct error *error)
{
	uint64_t left = UINT64_MAX;
	enum room answer;

	if (layers_never_full(f) && !f->filter.held)
		left = window_lines_left(&f->table, &f->header.window);
	if (wanted <= left)
		return layers_make_room(f, wanted, append_in_gap, room, error);
	answer = layers_make_room(f, left, append_in_gap, room, error);
	return answer == ROOM_ENOUGH ? ROOM_AGAIN : answer;
}

enum room
windowed_reserve(struct filter *filter, uint64_t wanted, uint64_t *room,
    struct error *error)
{
	struct layers *f = layers_of(filter);
	enum room answer;

	if (layers_begin_marking(f, error) < 0)
		return ROOM_SHORT;
	/* What was held goes into the generation that is now the last one. */
	if (f->filter.held && move_on(f, error) < 0)
		return ROOM_SHORT;
	if (layers_lock_table(f, error) < 0)
		return ROOM_SHORT;
	answer = room_in_generation(f, wanted, room, error);
	slots_unlock(&f->slots);
	return answer;
}

/* Write the last mark's time to the file, before marking. */
static int
extend(struct layers *f, struct error *error)
{
	int changed = window_extend(&f->table, &f->header.window, time(NULL));

	if (!changed || !layers_in_file(f))
		return 0;
	return slots_write(&f->slots, &f->table, error);
}

/*
 * Under the table's lock, if the file is shared: nobody else marks it, so its
 * bits need not be set atomically, which takes several times as long.
 */
static int
mark_layer(struct layers *f, unsigned i, const struct digest *digests,
    size_t n, struct error *error)
{
	if (n == 0)
		return 0;
	layers_forget_checksum(f, i);
	f->table.layers[i].lines += n;
	/* For absent digests, a chain fetched only one cache line. */
	return arrays_mark(&f->arrays, i, digests, n, ARRAYS_PREFETCH, error);
}

int
windowed_mark_layer(void *layers, unsigned i, const struct digest *digests,
    size_t n, struct error *error)
{
	struct layers *f = layers;
	int result;

	/* After a kill, nobody knows when the lines were printed. */
	if (n > 0 && f->filter.held && extend(f, error) < 0)
		return -1;
	if (slots_lock(&f->slots, error) < 0)
		return -1;
	result = mark_layer(f, i, digests, n, error);
	slots_unlock(&f->slots);
	return result;
}

/* In line order, each in the first layer with room. */
static int
mark_in_order(struct layers *f, const struct digest *digests, size_t n,
    struct error *error)
{
	for (unsigned i = 0; n > 0 && i < f->table.count; i++) {
		uint64_t room = layers_room(f, i);
		size_t some = room < n ? (size_t)room : n;

		/* Another run may have moved the window meanwhile. */
		if (i + 1 == f->table.count)
			some = n;
		if (mark_layer(f, i, digests, some, error) < 0)
			return -1;
		digests += some;
		n -= some;
	}
	return 0;
}

/*
 * The last generation ends no earlier than its last mark, and the file says so
 * before that. The lock keeps other runs from forgetting a layer, and reusing
 * its place, while it is being marked.
 */
int
windowed_mark(struct filter *filter, const struct digest *digests, size_t n,
    struct error *error)
{
	struct layers *f = layers_of(filter);
	int result;

	/* No line, no mark: the generation doesn't stay for longer. */
	if (n == 0)
		return 0;
	if (layers_lock_table(f, error) < 0)
		return -1;
	result = extend(f, error);
	if (result == 0)
		result = mark_in_order(f, digests, n, error);
	if (result == 0 && f->shared)
		result = slots_write(&f->slots, &f->table, error);
	slots_unlock(&f->slots);
	return result;
}
