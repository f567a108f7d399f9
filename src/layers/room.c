/*
 * Room for new lines, with a window or without: the file says that it is being
 * marked, and the table gets more layers.
 */
#include "layers/inside.h"
#include "model/growth.h"

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
	if (*room >= wanted) { /* as almost always: don't copy the table */
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
