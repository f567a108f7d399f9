/* Room for new lines: growth, and allotments in a shared file. */
#include "layers/inside.h"
#include "model/growth.h"
#include "model/window.h"

/* Append a layer for `wanted` lines to the table; not published yet. */
static int
grow(struct layers *f, struct table *table, uint64_t wanted,
    struct error *error)
{
	struct layer_entry layer;

	if (f->filter.growth == GROWTH_FAIL && !layers_never_full(f))
		return growth_is_full(f->filter.name, table, error);
	return growth_layer(f->filter.name, &f->header, table, wanted, &layer,
	    error) < 0 ? -1 : layers_append(f, table, table, &layer, error);
}

int
layers_begin_marking(struct layers *f, struct error *error)
{
	int result;

	if (!layers_in_file(f) || f->marking)
		return 0;
	if (layers_lock_table(f, error) < 0)
		return -1;
	f->table.marking = f->shared ? MARKING_SHARED : MARKING_ALONE;
	result = tables_write(&f->tables, &f->table, error);
	f->marking = result == 0;
	tables_unlock(&f->tables);
	return result;
}

/*
 * The room of all layers, up to `wanted`; grows as far as it must, by lines to
 * the end of the generation.
 */
static uint64_t
make_room(struct layers *f, uint64_t wanted, struct error *error)
{
	struct table next;
	uint64_t room, old;

	/* By lines, a full generation ends before the next line. */
	if (layers_never_full(f) && !f->filter.held) {
		uint64_t left = window_lines_left(&f->table,
		    &f->header.window);

		wanted = wanted < left ? wanted : left;
	}
	room = old = format_room(&f->table, layers_growth(f));
	if (room >= wanted) /* as almost always: don't copy the table */
		return wanted;
	next = f->table;
	while (room < wanted && grow(f, &next, wanted - room, error) == 0)
		room = format_room(&next, layers_growth(f));
	if (next.count > f->table.count && layers_publish(f, &next, error) < 0)
		room = old;
	return room < wanted ? room : wanted;
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
allot(struct layers *f, uint64_t wanted, struct error *error)
{
	uint64_t room;
	int result;

	if (layers_lock_table(f, error) < 0)
		return -1;
	room = make_room(f, wanted, error);
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
	result = tables_write(&f->tables, &f->table, error);
	tables_unlock(&f->tables);
	return result;
}

uint64_t
layers_reserve(struct filter *filter, uint64_t wanted, struct error *error)
{
	struct layers *f = layers_of(filter);
	uint64_t have, room;

	if (layers_begin_marking(f, error) < 0 ||
	    layers_ahead_take(f, format_room(&f->table, layers_growth(f)) <
	    wanted, error) < 0)
		return 0;
	/* The table and the checksums belong to another thread. */
	if (f->ahead != NULL)
		return wanted;
	/* What was held goes into the generation that is now the last one. */
	if (f->filter.held && layers_is_windowed(f) &&
	    layers_move_on(f, error) < 0)
		return 0;
	if (!f->shared && layers_go_on_with_checksums(f, wanted, error) < 0)
		return 0;
	/* In a shared window, lines are marked, and counted, under the lock. */
	if (!f->shared || layers_is_windowed(f)) {
		if (layers_lock_table(f, error) < 0)
			return 0;
		room = make_room(f, wanted, error);
		tables_unlock(&f->tables);
		return room;
	}
	have = all_allotted(f);
	if (have < wanted) {
		if (allot(f, wanted - have, error) < 0)
			return 0;
		have = all_allotted(f);
	}
	return have < wanted ? have : wanted;
}
