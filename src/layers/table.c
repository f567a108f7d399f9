/* The table of a filter's layers, and the counters in it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bits/sizing.h"
#include "layers/inside.h"
#include "model/estimate.h"
#include "model/growth.h"
#include "model/window.h"

/* Pages in a sample: they tell a layer's lines to some tenths of a percent. */
#define SAMPLE_PAGES 1000
/* Above this share of the capacity, a sample says that there are more lines. */
#define SURELY_OVERFILLED 1.05

int
layers_map(struct layers *f, int fresh, struct error *error)
{
	for (unsigned i = f->arrays.count; i < f->table.count; i++) {
		if (arrays_add(&f->arrays, &f->table.layers[i], fresh,
		    error) < 0)
			return -1;
	}
	return 0;
}

int
layers_append(struct layers *f, struct table *table, uint64_t wanted,
    struct error *error)
{
	struct layer_entry layer;
	uint64_t nbytes;

	if (growth_layer(f->filter.name, &f->header, table, &f->table, wanted,
	    f->max_bytes, &layer, error) < 0)
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

int
layers_publish(struct layers *f, struct table *next, struct error *error)
{
	if (layers_in_file(f) && tables_publish(&f->tables, next, error) < 0)
		return -1;
	f->table = *next;
	return layers_map(f, 1, error);
}

/*
 * With a window, another run may have moved it: are the mapped layers the newer
 * table's first ones?
 */
static int
begins_with_mapped(const struct table *newer, const struct layers *f)
{
	for (unsigned i = 0; i < f->arrays.count; i++) {
		const struct layer_entry *a = &f->table.layers[i];
		const struct layer_entry *b = &newer->layers[i];

		if (i == newer->count || a->offset != b->offset ||
		    !geometry_is_same(&a->geometry, &b->geometry))
			return 0;
	}
	return 1;
}

int
layers_lock_table(struct layers *f, struct error *error)
{
	struct table newer;

	if (!f->shared)
		return 0;
	if (tables_lock(&f->tables, error) < 0)
		return -1;
	if (tables_look(&f->tables, &newer, error) < 0)
		goto fail;
	if (!begins_with_mapped(&newer, f))
		arrays_drop(&f->arrays, f->arrays.count);
	f->table = newer;
	for (unsigned i = 0; i < f->table.count; i++) {
		if (f->marked[i])
			layers_forget_checksum(f, i);
	}
	if (layers_map(f, 1, error) == 0)
		return 0;
fail:
	tables_unlock(&f->tables);
	return -1;
}

int
layers_forget(struct layers *f)
{
	unsigned layers;

	if (!layers_is_windowed(f))
		return 1;
	layers = window_forget(&f->table, &f->header.window, time(NULL),
	    &f->all_over);
	f->forgotten += layers;
	if (f->arrays.count >= layers)
		arrays_drop(&f->arrays, layers);
	return !f->all_over;
}

/* Recount the lines of layers with room by their bits; no counter decreases. */
static int
count_again(struct layers *f, struct error *error)
{
	error->status = STATUS_OK;
	for (unsigned i = 0; i < f->table.count; i++) {
		struct layer_entry *layer = &f->table.layers[i];
		struct estimate estimate;
		uint64_t lines, less = 0;

		/* Not those of a generation that takes no more. */
		if (layers_is_windowed(f) && layers_room(f, i) == 0)
			continue;
		estimate = estimate_layer(&f->filter, i, SAMPLE_PAGES, error);
		if (error->status != STATUS_OK)
			return -1;
		lines = estimate_lines(&estimate, estimate.lines >
		    SURELY_OVERFILLED * (double)layer->capacity ?
		    SIZING_CAPACITY_MAX : layer->capacity);
		/*
		 * A generation that ends too early would forget too much: a
		 * lower bound. An estimate's error is about sqrt(lines) / 5.
		 */
		if (layers_is_windowed(f))
			less = lines / 64 + (uint64_t)sqrt((double)lines);
		if (lines > less && lines - less > layer->lines)
			layer->lines = lines - less;
	}
	return 0;
}

/*
 * Count again under the table's lock, and write the result if the file is
 * shared, so that no other run marks meanwhile. Counters of a shared file
 * include what runs were allotted.
 */
int
layers_recount(struct layers *f, int take_over, struct error *error)
{
	int result = 0;

	if (layers_lock_table(f, error) < 0)
		return -1;
	if (!take_over || !f->shared || f->table.marking == MARKING_ALONE) {
		result = count_again(f, error);
		if (result == 0 && f->shared) {
			f->table.marking = MARKING_SHARED;
			result = tables_write(&f->tables, &f->table, error);
		}
	}
	tables_unlock(&f->tables);
	return result;
}

/*
 * After a run that was killed, or if a slot of the table was lost, the counters
 * may be old.
 */
int
layers_take_table(struct layers *f, struct error *error)
{
	int behind;

	if (tables_lock(&f->tables, error) < 0)
		return -1;
	behind = tables_read(&f->tables, &f->table, error);
	tables_unlock(&f->tables);
	if (behind < 0)
		return -1;
	if (window_check(&f->table, &f->header.window, f->header.capacity,
	    error) < 0) {
		return error_set(error, error->status, "%s: %s", f->file.path,
		    error->text);
	}
	f->forgotten = 0;
	if (!f->writable)
		layers_forget(f);
	if (layers_map(f, 0, error) < 0)
		return -1;
	return f->table.marking != MARKING_NONE || behind ?
	    layers_recount(f, !behind, error) : 0;
}

int
layers_refresh(struct layers *f, struct error *error)
{
	uint64_t newest;

	if (!f->shared)
		return 0;
	if (tables_newest(&f->tables, &newest, error) < 0)
		return -1;
	if (newest == f->table.serial)
		return 0;
	if (layers_lock_table(f, error) < 0)
		return -1;
	tables_unlock(&f->tables);
	return 0;
}
