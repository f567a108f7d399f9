/* How a window moves on: window.h has the arithmetic. */
#include "model/growth.h"
#include "layers/inside.h"
#include "model/window.h"

/*
 * Readers leave out generations that are over, though the file still has them.
 * Returns whether any is left.
 */
int
layers_forget(struct layers *f)
{
	unsigned layers;

	if (!layers_is_windowed(f))
		return 1;
	layers = window_forget(&f->table, &f->header.window, layers_now(),
	    &f->all_over);
	if (f->arrays.count >= layers)
		arrays_drop(&f->arrays, layers);
	return !f->all_over;
}

/* The next layer's shape and place; `among` has those that use the file. */
static int
plan_generation(struct layers *f, struct table *next,
    const struct table *among, struct layer_entry *layer, struct error *error)
{
	if (growth_generation(&f->header, next, layer, error) < 0)
		return -1;
	return layers_place(f, next, among, layer, error);
}

/*
 * Drop the generations that are over, and begin the next one if it is due. Both
 * slots of the table say so, and are on the disk, before the space of a dropped
 * layer is cleared: no older slot can refer to space that is used again.
 */
static int
turn_locked(struct layers *f, int64_t now, struct error *error)
{
	struct table next = f->table, old;
	struct layer_entry layer;
	struct window_turn turn = window_turn(&next, &f->header.window, now);

	if (turn.back > 0)
		window_tell_clock(layers_name(f), turn.back,
		    f->file.lock.wait.notice);
	if (turn.due && plan_generation(f, &next, &f->table, &layer,
	    error) < 0)
		return -1;
	if (turn.due)
		next.layers[next.count++] = layer;
	next.sealing = (struct sealing){ 0 };
	if (layers_in_file(f) &&
	    (tables_publish(&f->tables, &next, error) < 0 ||
	    file_sync(&f->file, error) < 0))
		return -1;
	old = f->table;
	f->table = next;
	arrays_drop(&f->arrays, turn.dropped);
	for (unsigned i = 0; i < turn.dropped && layers_in_file(f); i++)
		file_punch(&f->file, old.layers[i].offset,
		    old.layers[i].geometry.pages * PAGE_BYTES);
	return layers_map(f, 1, error);
}

int
layers_turn(struct layers *f, struct error *error)
{
	const struct window *window = &f->header.window;
	int64_t now = layers_now();
	struct table trial = f->table;
	int result;

	if (window_shift(&trial, window, now) == 0 &&
	    window_over(&trial, window, now) == 0 &&
	    !window_is_due(&trial, window, now))
		return 0;
	if (tables_lock(&f->tables, error) < 0)
		return -1;
	result = arrays_write_back(&f->arrays, 1, error);
	if (result == 0)
		result = layers_update_table(f, error);
	if (result == 0)
		result = turn_locked(f, now, error);
	tables_unlock(&f->tables);
	return result;
}
