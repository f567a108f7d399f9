/*
 * Growth ahead of need, for a caller that must not wait for it: allocating a
 * layer and syncing dirty pages takes as long as the disk wants. A thread does
 * it with copies of all that describes the file; meanwhile lines go into the
 * room that is left, and nobody else writes the file's slots. When it is done,
 * the filter takes over what the thread changed (file.h, slots.h) and the new
 * layer, but keeps its own counters.
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
	/* Copies, the thread's alone until it is done. */
	struct file file;
	struct slots slots;
	struct table table;       /* with the new layer once it is published */
	struct layer_entry layer; /* the new layer */
	int result;
	struct error error;
};

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
layers_ahead_take(struct layers *f, int wait, struct error *error)
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
	struct error ignored;

	if (f->ahead != NULL) {
		/* there may be enough room now: the caller looks again */
		layers_ahead_take(f, 0, &ignored);
		return;
	}
	if (!layers_in_file(f) || !f->marking || f->shared ||
	    f->filter.growth != GROWTH_GROW ||
	    growth_layer(filter, &f->table, 0, UINT64_MAX, &layer,
	    &ignored) < 0)
		return;
	a = memory_or_die(calloc(1, sizeof *a));
	a->file = f->file;
	a->slots = f->slots;
	a->slots.file = &a->file;
	a->table = f->table;
	a->layer = layer;
	if (thread_start(&a->thread, make_ahead, a) < 0) {
		/* then it grows when the room is needed */
		free(a);
		return;
	}
	f->ahead = a;
	f->coming_bytes = layer.geometry.pages * PAGE_BYTES;
}
