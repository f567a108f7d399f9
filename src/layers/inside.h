/*
 * The parts of a filter in a file or in memory, only for this folder: layers.c
 * opens, creates, probes and marks it, room.c makes room and moves its window
 * on, table.c reads and writes its table. Each calls only those after it.
 *
 * Functions return 0, or -1 with `error` filled; exceptions are stated.
 */
#ifndef LAYERS_INSIDE_H
#define LAYERS_INSIDE_H

#include <stdint.h>

#include "base/error.h"
#include "disk/file.h"
#include "disk/table.h"
#include "disk/slots.h"
#include "layers/arrays.h"
#include "model/operations.h"

struct layers_ahead;

struct layers {
	struct filter filter;
	struct header header;
	struct table table;
	struct file file;
	struct slots slots;
	struct arrays arrays;
	int writable;
	int marking;         /* this run marks, and the file says so */
	uint64_t max_bytes;
	uint64_t checksum_budget; /* bytes to be read for checksums */
	int shared;          /* other runs mark, too */
	uint64_t allotted[TABLE_LAYERS_MAX]; /* if so: room that is ours, which
	                        the file's counters count as marked */
	struct layers_ahead *ahead; /* a layer that is being made, or NULL, */
	uint64_t coming_bytes; /* and its size, or 0 */
	int64_t stays;       /* then there was no place for the next generation:
	                        the last one goes on, for a minute; or 0 */
	int all_over;        /* for a reader: all generations are over, */
	unsigned forgotten;  /* or so many of the first layers in the file */
	uint8_t marked[TABLE_LAYERS_MAX]; /* by this run: no checksum is
	                        right, whatever the file says */
};

static inline struct layers *
layers_of(struct filter *filter)
{
	return (struct layers *)(void *)filter;
}

static inline const struct layers *
layers_of_const(const struct filter *filter)
{
	return (const struct layers *)(const void *)filter;
}

static inline int
layers_in_file(const struct layers *f)
{
	return f->file.fd >= 0;
}

static inline int
layers_is_windowed(const struct layers *f)
{
	return f->header.window.kind != WINDOW_NONE;
}

/*
 * A window of lines is never full: it forgets. Its generations grow only for
 * lines that were held back, and are never overfilled, if the last can go.
 */
static inline int
layers_never_full(const struct layers *f)
{
	return f->header.window.kind == WINDOW_LINES && !f->stays;
}

/* What tells how much room its layers have. */
static inline enum growth
layers_growth(const struct layers *f)
{
	return layers_never_full(f) ? GROWTH_FAIL : f->filter.growth;
}

static inline uint64_t
layers_room(const struct layers *f, unsigned i)
{
	return table_layer_room(&f->table, i, layers_growth(f));
}

/* table.c */

/* Map the layers of the table that aren't mapped yet. */
int layers_map(struct layers *f, int fresh, struct error *error);

/* Read the table when the file is opened, and map its layers. */
int layers_take_table(struct layers *f, struct error *error);

/* For readers: leave out generations that are over. Returns if any is left. */
int layers_forget(struct layers *f);

/*
 * If the file is shared: lock its table, until slots_unlock, and read it
 * again. On failure it is not locked.
 */
int layers_lock_table(struct layers *f, struct error *error);

/*
 * Count lines again from the bits; if we `take_over` from a run that was
 * killed, only if counters may be too low.
 */
int layers_recount(struct layers *f, int take_over, struct error *error);

/* Before `lines` new lines: do their share of the work on checksums. */
int layers_go_on_with_checksums(struct layers *f, uint64_t lines,
    struct error *error);

/* Layer i was changed: drop its checksum, even an unfinished one. */
void layers_forget_checksum(struct layers *f, unsigned i);

/* room.c */

/* The operations: filter_reserve, filter_grow_ahead. */
enum room layers_reserve(struct filter *filter, uint64_t wanted,
    uint64_t *room, struct error *error);
void layers_grow_ahead(struct filter *filter);

/* Note in the file that a run marks, before the first bit is set. */
int layers_begin_marking(struct layers *f, struct error *error);

/* Take over the layer made ahead, if done or `wait`; -1: can't be mapped. */
int layers_ahead_take(struct layers *f, int wait, struct error *error);

/* To call before lines are looked up: move the window on, if it is due. */
int layers_move_on(struct layers *f, struct error *error);

#endif
