/*
 * Growth ahead of need, for a caller that must not wait for it: allocating a
 * layer and syncing dirty pages takes as long as the disk wants. A thread does
 * it with copies of all that describes the file; meanwhile lines go into the
 * room that is left, and nobody else writes the file's table. When it is done,
 * the filter takes over the new table, but keeps its own counters.
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
	struct file file;
	struct tables tables;
	struct table table;
	uint64_t nbytes;  /* of the layer */
	int result;
	struct error error;
};

static void *
grow(void *context)
{
	struct layers_ahead *a = context;
	struct layer_entry layer = a->table.layers[a->table.count];

	a->result = file_extend(&a->file, layer.offset, a->nbytes, &a->error);
	if (a->result == 0) {
		a->table.count++;
		a->result = tables_publish(&a->tables, &a->table, &a->error);
	}
	a->done = 1;
	return NULL;
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
	    growth_layer(f->filter.name, &f->header, &f->table, 0, &layer,
	    &ignored) < 0)
		return;
	a = memory_or_die(calloc(1, sizeof *a));
	a->file = f->file;
	a->tables = f->tables;
	a->tables.file = &a->file;
	a->table = f->table;
	a->nbytes = layer.geometry.pages * PAGE_BYTES;
	layer.offset = format_table_end(&f->table);
	a->table.layers[a->table.count] = layer;
	if (thread_start(&a->thread, grow, a) < 0) {
		/* then it grows when the room is needed */
		free(a);
		return;
	}
	f->ahead = a;
}

uint64_t
layers_coming_bytes(const struct filter *filter)
{
	const struct layers *f = layers_of_const(filter);

	return f->ahead == NULL ? 0 : f->ahead->nbytes;
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
	f->file.length = a->file.length;
	if (a->file.unsafe != 0)
		f->file.unsafe = a->file.unsafe;
	f->tables.newest = a->tables.newest;
	f->table.serial = a->table.serial;
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
