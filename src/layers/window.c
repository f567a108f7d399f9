/* How a window moves on: model/window.h has the arithmetic. */
#include <inttypes.h>

#include "layers/inside.h"
#include "model/growth.h"
#include "model/window.h"

/*
 * Append the generation's first layer: as large as the others need to be, else
 * of the size that was announced when the filter was made.
 */
static int
append_first(struct layers *f, struct table *next, const struct table *among,
    struct error *error)
{
	uint64_t announced = window_generation_capacity(f->header.capacity);
	uint64_t lines = growth_generation_lines(&f->header, &f->table);
	int result;

	do {
		result = layers_append(f, next, among, lines, error);
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

	next->sealing = (struct sealing){ 0 };
	if (layers_in_file(f) &&
	    (tables_publish(&f->tables, next, error) < 0 ||
	    file_sync(&f->file, error) < 0))
		return -1;
	f->table = *next;
	arrays_drop(&f->arrays, dropped);
	for (unsigned i = 0; i < dropped && layers_in_file(f); i++)
		file_punch(&f->file, old.layers[i].offset,
		    old.layers[i].geometry.pages * PAGE_BYTES);
	return layers_map(f, 1, error);
}

/* The clock went back by so many seconds. */
static void
tell_clock(const struct layers *f, int64_t back)
{
	struct error told;

	error_set(&told, STATUS_OK, "%s: the clock went back by %" PRId64
	    " s: all lines keep their age", f->filter.name, back);
	if (f->file.lock.wait.notice != NULL)
		f->file.lock.wait.notice(told.text);
}

/* The current generation goes on, until there is place for the next one. */
static int
stay(struct layers *f, const struct error *reason)
{
	struct error told;

	if (!f->stays && f->file.lock.wait.notice != NULL) {
		error_set(&told, STATUS_OK, "%s; no room for the next part of"
		    " the window: lines are remembered for longer",
		    reason->text);
		f->file.lock.wait.notice(told.text);
	}
	f->stays = 1;
	return 0;
}

/* Drop the generations that are over, and begin the next one if it is due. */
static int
move_locked(struct layers *f, int64_t now, struct error *error)
{
	const struct window *window = &f->header.window;
	struct table next = f->table;
	struct window_move move = window_move(&next, window, now, 1);

	if (move.back > 0)
		tell_clock(f, move.back);
	if (move.due && append_first(f, &next, &f->table, error) < 0) {
		if (!error_is_full(error))
			return -1;
		/*
		 * There is no place beside the generations that are over:
		 * first free theirs, if there are any.
		 */
		next = f->table;
		move.dropped = window_move(&next, window, now, 0).dropped;
		return move.dropped == 0 ? stay(f, error) :
		    publish_move(f, &next, move.dropped, error) < 0 ? -1 :
		    move_locked(f, now, error);
	}
	if (move.due)
		f->stays = 0;
	return publish_move(f, &next, move.dropped, error);
}

int
layers_move_on(struct layers *f, struct error *error)
{
	const struct window *window = &f->header.window;
	int64_t now = layers_now();
	struct table trial = f->table;
	int result;

	if (window_shift(&trial, window, now) == 0 &&
	    window_over(&trial, window, now) == 0 &&
	    (f->stays || !window_is_due(&trial, window, now)))
		return 0;
	if (arrays_write_back(&f->arrays, 1, error) < 0 ||
	    layers_lock_table(f, error) < 0)
		return -1;
	result = move_locked(f, now, error);
	tables_unlock(&f->tables);
	return result;
}
