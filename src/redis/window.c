/*
 * How the window of a filter on a server moves on; window.h has the arithmetic.
 *
 * Each client decides by the table and its own clock what is over, and leaves
 * that out. The first that finds the next generation due makes its layer and
 * publishes a table with it; the others meet that table. Nothing is removed:
 * the keys of what is over expire.
 */
#include "redis/filter.h"

#include <string.h>
#include <time.h>

#include "model/growth.h"
#include "redis/chunks.h"
#include "model/window.h"

/* Another client has changed the table: all is to be considered anew. */
#define AGAIN 1

/* How many of our layers, the first ones, aren't in a newer table. */
static unsigned
count_dropped(const struct redis *r, const struct table *newer)
{
	unsigned dropped = 0;

	while (dropped < r->table.count &&
	    r->table.layers[dropped].number != newer->layers[0].number)
		dropped++;
	return dropped;
}

/* Forget what is known of the first layers of our table. */
static void
drop_layers(struct redis *r, unsigned dropped)
{
	unsigned left = r->table.count - dropped;

	for (unsigned i = 0; i < dropped && i < r->mirror_count; i++)
		mirror_unmap(&r->mirrors[i]);
	r->mirror_count -= dropped < r->mirror_count ? dropped :
	    r->mirror_count;
	memmove(r->mirrors, r->mirrors + dropped, left * sizeof *r->mirrors);
	memset(r->mirrors + left, 0, dropped * sizeof *r->mirrors);
	memmove(r->reserved, r->reserved + dropped,
	    left * sizeof *r->reserved);
	memset(r->reserved + left, 0, dropped * sizeof *r->reserved);
	memmove(r->full, r->full + dropped, left * sizeof *r->full);
	memset(r->full + left, 0, dropped * sizeof *r->full);
	r->settled -= dropped < r->settled ? dropped : r->settled;
	r->dropped += dropped;
}

/* The number of the last layer. */
static uint64_t
newest(const struct table *table)
{
	return table->count == 0 ? 0 : table->layers[table->count - 1].number;
}

int
redis_window_take(struct redis *r, const struct table *newer,
    struct error *error)
{
	struct table next = *newer;
	unsigned dropped;

	/* Room beyond the capacity was in a layer that takes no more. */
	if (redis_is_windowed(r) && newest(&r->table) != newest(&next))
		r->beyond = 0;
	if (redis_is_windowed(r))
		window_forget(&next, &r->header.window, (int64_t)time(NULL),
		    &r->all_over);
	dropped = count_dropped(r, &next);
	if (dropped > 0)
		drop_layers(r, dropped);
	r->table = next;
	if (r->all_over)
		redis_probe_drop(r);
	return redis_probe_map(r, error);
}

int
redis_window_reload(struct redis *r, struct error *error)
{
	struct table newer;

	if (table_reload(&r->server, &newer, error) < 0 ||
	    redis_window_take(r, &newer, error) < 0)
		return -1;
	redis_probe_count(r);
	return redis_room_leave(r, error);
}

/* The first layer of the generation that was begun. */
static int
add_layer(const struct redis *r, struct table *next, struct error *error)
{
	struct layer_entry layer;

	if (growth_generation(redis_name(r), &r->header, next,
	    growth_generation_lines(&r->header, &r->table), &layer,
	    error) < 0 ||
	    growth_place(redis_name(r), next, &r->table, &layer, r->max_bytes,
	    error) < 0)
		return -1;
	layer.number = table_next_number(&r->table, next);
	growth_append(next, &layer);
	return 0;
}

/* Dates have changed: so has the time for which keys must be kept. */
static int
keep_longer(struct redis *r, const struct table *next, struct error *error)
{
	for (unsigned i = 0; i < next->count; i++) {
		if (chunks_keep(&r->server, next, i, error) < 0)
			return -1;
	}
	return 0;
}

/* Publish a table, or take over that of a client that was faster. */
static int
publish(struct redis *r, struct table *next, int added, struct error *error)
{
	int result = table_change(&r->server, r->table.generation, next, added,
	    error);

	if (result < 0 || redis_window_take(r, next, error) < 0)
		return redis_failed(r, error);
	if (result > 0)
		redis_probe_count(r);
	return redis_room_leave(r, error) < 0 ? -1 : result;
}

/*
 * A turn at the time `now`, if one is due. May return AGAIN.
 */
static int
turn(struct redis *r, int64_t now, struct error *error)
{
	struct table next = r->table;
	struct window_turn t = window_turn(&next, &r->header.window, now);

	if (t.back == 0 && !t.due && t.dropped == 0)
		return 0;
	if (t.due && add_layer(r, &next, error) < 0)
		return -1;
	if (t.back > 0 && keep_longer(r, &next, error) < 0)
		return redis_failed(r, error);
	switch (publish(r, &next, t.due, error)) {
	case 0:
		if (t.back > 0)
			window_tell_clock(redis_name(r), t.back, r->notice);
		return 0;
	case 1:
		return AGAIN;
	default:
		return -1;
	}
}

int
redis_window_move(struct redis *r, struct error *error)
{
	int result = AGAIN;

	if (!redis_is_windowed(r))
		return 0;
	if (!r->writable) {
		struct table same = r->table;

		return redis_window_take(r, &same, error);
	}
	while (result == AGAIN)
		result = turn(r, (int64_t)time(NULL), error);
	return result;
}

int
redis_window_turn(struct redis *r, struct error *error)
{
	return turn(r, window_border(&r->table, &r->header.window), error) < 0 ?
	    -1 : 0;
}

/* The last generation ends no earlier than now. */
static int
extend(struct redis *r, struct error *error)
{
	int result = AGAIN;

	while (result == AGAIN) {
		struct table next = r->table;

		if (!window_extend(&next, &r->header.window,
		    (int64_t)time(NULL)))
			return 0;
		if (keep_longer(r, &next, error) < 0)
			return redis_failed(r, error);
		result = publish(r, &next, 0, error);
	}
	return result;
}

/*
 * As a turn precedes marks that are late, none extends a generation, unless
 * --max-size forbids the turn, or six are alive, since clocks disagree.
 */
int
redis_window_prepare(struct redis *r, struct error *error)
{
	if (!redis_is_windowed(r))
		return 0;
	if (redis_window_move(r, error) < 0 &&
	    (r->failed || error->status != STATUS_FULL))
		return -1;
	return extend(r, error);
}
