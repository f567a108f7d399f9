/*
 * The table of a filter's layers, with a window or without: reading it, growing
 * it, and the counters and checksums in it.
 *
 * A layer that is full, with another one after it, is never written again, so
 * its checksum can be stored in the table. It is computed while later lines
 * come, a piece at a time, so that neither the stream nor the exit waits for a
 * layer to be read. The table has the progress, too, and the next run goes on
 * from there.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "base/clock.h"
#include "bits/sizing.h"
#include "layers/inside.h"
#include "layers/layers.h"
#include "model/estimate.h"
#include "model/growth.h"
#include "model/window.h"

/* Pages in a sample: they tell a layer's lines to some tenths of a percent. */
#define SAMPLE_PAGES 1000
/* Above this share of the capacity, a sample says that there are more lines. */
#define SURELY_OVERFILLED 1.05

/* How long a reader, who has no lock, goes on without a look at the slots. */
#define READER_PAUSE CLOCK_MILLISECOND

/* How many pages are read at a time for a checksum. */
#define PIECE_PAGES 64
/*
 * What each run reads at least, so that many small runs finish one, too; and
 * bytes to read for each new line. A layer has up to 9 bytes a line, and the
 * next one takes twice as many lines: so a layer has its checksum when the next
 * one is a quarter or half full.
 */
#define LEAST_BUDGET (16 * PAGE_BYTES)
#define LINE_BUDGET 16

struct layers *
layers_of(struct filter *filter)
{
	return (struct layers *)(void *)filter;
}

const struct layers *
layers_of_const(const struct filter *filter)
{
	return (const struct layers *)(const void *)filter;
}

int
layers_in_file(const struct layers *f)
{
	return f->file.fd >= 0;
}

int
layers_is_windowed(const struct layers *f)
{
	return f->header.window.kind != WINDOW_NONE;
}

int
layers_never_full(const struct layers *f)
{
	return f->header.window.kind == WINDOW_LINES &&
	    f->step != WINDOW_NO_ROOM;
}

enum growth
layers_growth(const struct layers *f)
{
	return layers_never_full(f) ? GROWTH_FAIL : f->filter.growth;
}

uint64_t
layers_room(const struct layers *f, unsigned i)
{
	return table_layer_room(&f->table, i, layers_growth(f));
}

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

/* Layer i is changed: its checksum, even an unfinished one, is wrong. */
static void
drop_checksum(struct layers *f, unsigned i)
{
	f->table.layers[i].sealed = 0;
	f->table.layers[i].checksum = 0;
	if (f->slots.head.sealing.layer == i + 1)
		f->slots.head.sealing = (struct sealing){ 0 };
}

void
layers_forget_checksum(struct layers *f, unsigned i)
{
	f->marked[i] = 1;
	/* Only a journal names a layer that has a checksum. */
	drop_checksum(f, i);
}

/*
 * Another run has written `newer`: it becomes our table. A window may have
 * moved, so that the first layers are others; without a window, layers are only
 * added.
 */
static int
take_newer(struct layers *f, const struct table *newer, struct error *error)
{
	int same = newer->count >= f->arrays.count;

	for (unsigned i = 0; same && i < f->arrays.count; i++)
		same = newer->layers[i].offset == f->table.layers[i].offset &&
		    geometry_is_same(&newer->layers[i].geometry,
		    &f->table.layers[i].geometry);
	if (!same && !layers_is_windowed(f))
		return error_set(error, STATUS_FAILED, "%s: it was overwritten"
		    " by an older copy while it was in use", f->file.path);
	if (!same)
		arrays_drop(&f->arrays, f->arrays.count);
	f->table = *newer;
	for (unsigned i = 0; i < f->table.count; i++) {
		if (f->marked[i])
			drop_checksum(f, i);
	}
	return layers_map(f, 1, error);
}

/* Under the table's lock: read it again, if it isn't ours. */
static int
update(struct layers *f, struct error *error)
{
	struct table newer;
	uint64_t newest;

	if (slots_newest_serial(&f->slots, &newest, error) < 0)
		return -1;
	/* Most often it is ours: to read and check both slots takes longer. */
	if (newest == f->slots.head.serial)
		return 0;
	if (slots_read(&f->slots, &newer, 0, error) < 0)
		return -1;
	return take_newer(f, &newer, error);
}

int
layers_lock_table(struct layers *f, struct error *error)
{
	if (!f->shared)
		return 0;
	if (slots_lock(&f->slots, error) < 0)
		return -1;
	if (update(f, error) == 0)
		return 0;
	slots_unlock(&f->slots);
	return -1;
}

/*
 * A run of version 0.1.0 takes no turn. Before it marks, it says in the table
 * that it shares the file, and the table is locked for as long as a run marks
 * alone. Nobody takes that back while others have the file open.
 */
int
layers_take_turn(struct layers *f, struct error *error)
{
	if (f->slots.head.marking == MARKING_SHARED)
		return 0;
	if (!slots_try_turn(&f->slots))
		return slots_share_turn(&f->slots, error);
	if (update(f, error) < 0) {
		slots_end_turn(&f->slots);
		return -1;
	}
	return f->slots.head.marking != MARKING_SHARED;
}

/* Read the newer table for a reader, who takes no lock. */
static int
read_newer(struct layers *f, struct error *error)
{
	struct table newer;

	if (slots_read(&f->slots, &newer, 0, error) < 0)
		return -1;
	f->forgotten = 0;
	if (layers_is_windowed(f))
		f->forgotten = window_forget(&newer, &f->header.window,
		    time(NULL), &f->all_over);
	return take_newer(f, &newer, error);
}

int
layers_follow_table(struct layers *f, struct error *error)
{
	uint64_t newest, now;

	if (!layers_in_file(f) || (f->writable && !f->shared))
		return 0;
	if (!f->writable) {
		now = clock_now();
		if (now - f->looked < READER_PAUSE)
			return 0;
		f->looked = now;
	}
	if (slots_newest_serial(&f->slots, &newest, error) < 0)
		return -1;
	if (newest == f->slots.head.serial)
		return 0;
	if (!f->writable)
		return read_newer(f, error);
	if (layers_lock_table(f, error) < 0)
		return -1;
	slots_unlock(&f->slots);
	return 0;
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

/* Estimate the lines of layer i from its bits; its counter never decreases. */
static int
recount_layer(struct layers *f, unsigned i, struct error *error)
{
	struct layer_entry *layer = &f->table.layers[i];
	uint64_t lines, limit = layer->capacity, less = 0;
	struct estimate estimate;

	error->status = STATUS_OK;
	estimate = estimate_layer(&f->filter, i, SAMPLE_PAGES, error);
	if (error->status != STATUS_OK)
		return -1;
	if (estimate.lines > SURELY_OVERFILLED * (double)layer->capacity)
		limit = SIZING_CAPACITY_MAX;
	lines = estimate_lines(&estimate, limit);
	/*
	 * A generation that ends too early would forget too much: a lower
	 * bound. An estimate's error is about sqrt(lines) / 5.
	 */
	if (layers_is_windowed(f))
		less = lines / 64 + (uint64_t)sqrt((double)lines);
	if (lines > less && lines - less > layer->lines)
		layer->lines = lines - less;
	return 0;
}

/*
 * Recount the layers that take more lines; without a window, all. Those of a
 * generation that takes no more don't matter.
 */
static int
recount_layers(struct layers *f, struct error *error)
{
	for (unsigned i = 0; i < f->table.count; i++) {
		if (layers_is_windowed(f) && layers_room(f, i) == 0)
			continue;
		if (recount_layer(f, i, error) < 0)
			return -1;
	}
	return 0;
}

/*
 * Under the table's lock, and written if the file is shared, so that no other
 * run marks meanwhile: its counters include what runs were allotted.
 */
int
layers_recount(struct layers *f, int take_over, struct error *error)
{
	int result = 0;

	if (layers_lock_table(f, error) < 0)
		return -1;
	if (!take_over || !f->shared ||
	    f->slots.head.marking == MARKING_IN_TURN) {
		result = recount_layers(f, error);
		if (result == 0 && f->shared)
			result = slots_write(&f->slots, &f->table, error);
	}
	slots_unlock(&f->slots);
	return result;
}

/*
 * Is layer i as it was made, all zeros? Then it need not be read. Both must say
 * so, the table and the file system: if one is wrong, lines would be lost.
 */
static int
is_untouched(const struct layers *f, unsigned i)
{
	const struct layer_entry *layer = &f->table.layers[i];

	return f->writable && f->slots.head.marking == MARKING_NONE &&
	    layer->lines == 0 && !file_may_have_data(&f->file, layer->offset,
	    layer->geometry.pages * PAGE_BYTES);
}

/*
 * After a run that was killed, or with a lost slot, counters may be old. Of the
 * runs that share a file, the first one counts again.
 */
int
layers_take_table(struct layers *f, struct error *error)
{
	int behind, is_first;

	if (slots_lock(&f->slots, error) < 0)
		return -1;
	behind = slots_read(&f->slots, &f->table, f->writable, error);
	slots_unlock(&f->slots);
	if (behind < 0)
		return -1;
	if (window_check(&f->table, &f->header.window, f->header.capacity,
	    error) < 0)
		return error_prefix(error, f->file.path);
	is_first = !f->shared || slots_try_first(&f->slots);
	f->forgotten = 0;
	if (!f->writable)
		layers_forget(f);
	for (unsigned i = 0; i < f->table.count; i++) {
		if (arrays_add(&f->arrays, &f->table.layers[i],
		    is_untouched(f, i), error) < 0)
			return -1;
	}
	if ((behind || (is_first && f->slots.head.marking != MARKING_NONE)) &&
	    layers_recount(f, !behind, error) < 0)
		return -1;
	return f->shared ? slots_join(&f->slots, error) : 0;
}

int
layers_begin_marking(struct layers *f, struct error *error)
{
	int result;

	if (!layers_in_file(f) || f->marking)
		return 0;
	if (layers_lock_table(f, error) < 0)
		return -1;
	if (!f->shared || f->slots.head.marking != MARKING_SHARED)
		f->slots.head.marking = MARKING_IN_TURN;
	result = slots_write(&f->slots, &f->table, error);
	f->marking = result == 0;
	slots_unlock(&f->slots);
	return result;
}

/* Append layers to `next` for `wanted` lines, as far as the filter may grow. */
static int
grow(struct layers *f, struct table *next, uint64_t wanted,
    layers_append *append, struct error *error)
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

enum room
layers_make_room(struct layers *f, uint64_t wanted, layers_append *append,
    uint64_t *room, struct error *error)
{
	struct table next;
	int result;

	*room = table_room(&f->table, layers_growth(f));
	if (*room >= wanted) { /* almost always: don't copy the table */
		*room = wanted;
		return ROOM_ENOUGH;
	}
	next = f->table;
	result = grow(f, &next, wanted, append, error);
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

/* Add the next pages of a layer, `pages` of them, to a checksum. */
static int
add_to_checksum(struct layers *f, const struct layer_entry *layer,
    struct sealing *s, uint64_t pages, struct error *error)
{
	const size_t nbytes = (size_t)(pages * PAGE_BYTES);
	uint8_t *piece = memory_or_die(malloc(nbytes));
	int result = file_read(&f->file, piece, nbytes,
	    layer->offset + s->pages * PAGE_BYTES, error);

	if (result == 0)
		s->checksum = (uint32_t)crc32(s->checksum, piece,
		    (uInt)nbytes);
	free(piece);
	return result;
}

/* Add the next pages of layer i to its checksum, as the budget allows. */
static int
add_pages(struct layers *f, unsigned i, struct error *error)
{
	struct layer_entry *layer = &f->table.layers[i];
	struct sealing *s = &f->slots.head.sealing;
	uint64_t pages = f->checksum_budget / PAGE_BYTES, left;

	if (s->layer != i + 1)
		*s = (struct sealing){ .layer = i + 1,
			.checksum = (uint32_t)crc32(0, NULL, 0) };
	left = layer->geometry.pages - s->pages;
	pages = pages < PIECE_PAGES ? pages : PIECE_PAGES;
	pages = pages < left ? pages : left;
	if (add_to_checksum(f, layer, s, pages, error) < 0)
		return -1;
	s->pages += pages;
	f->checksum_budget -= pages * PAGE_BYTES;
	if (pages == left) {
		layer->sealed = 1;
		layer->checksum = s->checksum;
		*s = (struct sealing){ 0 };
	}
	return 0;
}

/* The next layer to get a checksum; the number of layers if there is none. */
static unsigned
next_layer(const struct layers *f)
{
	for (unsigned i = 0; i + 1 < f->table.count; i++) {
		if (!f->table.layers[i].sealed && layers_room(f, i) == 0)
			return i;
	}
	return f->table.count;
}

int
layers_go_on_with_checksums(struct layers *f, uint64_t lines,
    struct error *error)
{
	unsigned i = next_layer(f);

	if (!layers_in_file(f) || i == f->table.count)
		return 0;
	if (f->checksum_budget == 0)
		f->checksum_budget = LEAST_BUDGET;
	f->checksum_budget += lines * LINE_BUDGET;
	for (; i < f->table.count && f->checksum_budget >= PAGE_BYTES;
	    i = next_layer(f)) {
		/* Only what is in the file counts; the rest is written soon. */
		if (f->arrays.pages[i].dirty_count > 0) {
			f->checksum_budget = LEAST_BUDGET;
			break;
		}
		if (add_pages(f, i, error) < 0)
			return -1;
	}
	return 0;
}
