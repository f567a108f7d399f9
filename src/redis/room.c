#include "redis/room.h"

#include "base/number.h"
#include "model/growth.h"
#include "model/window.h"

/* Lines are counted whenever this client may have used such a part of the room
 * that there was when they were counted last. */
#define LOOKS 8

/* Pages that are read to see how full bit strings are. */
#define FILL_PAGES 32

/* How many lines the generation that is due is made for. */
static uint64_t
capacity_of(const struct remote *r)
{
	uint64_t capacity = r->location.header.capacity;

	if (r->generations.quarter == 0)
		return capacity;
	return window_generation_capacity(capacity);
}

/* How many lines it has, with those that are on their way. */
static uint64_t
used(const struct remote *r)
{
	return r->generations.due->lines + r->location.trouble.unanswered;
}

/* Is it time to see what others have added, before so many lines are added? */
static int
must_look(const struct remote *r, uint64_t wanted)
{
	uint64_t capacity = capacity_of(r), spare = capacity;

	if (r->counted < capacity)
		spare -= r->counted;
	return used(r) - r->counted + wanted > spare / LOOKS;
}

/* Tell the user how far it is overfilled, once for each step. */
static void
tell_overfill(struct remote *r, uint64_t wanted)
{
	uint64_t capacity = capacity_of(r);
	double rate = r->location.header.error_rate;
	char text[NUMBER_TEXT];

	if (r->overfill == OVERFILL_NONE && used(r) + wanted > capacity) {
		error_notify(r->location.notice, "%s: the filter's capacity of"
		    " %s lines is used up, and it cannot grow: its error rate"
		    " rises (--on-full=warn)",
		    r->filter.name, number_format_count(text, capacity));
		r->overfill = OVERFILL_BEGUN;
	}
	if (r->overfill == OVERFILL_BEGUN && r->fill.error_rate >= 10 * rate) {
		error_notify(r->location.notice, "%s: its error rate is now"
		    " about %.2g instead of %g",
		    r->filter.name, r->fill.error_rate, rate);
		r->overfill = OVERFILL_TENFOLD;
	}
}

/* See from pages of bit strings how full they are. */
static int
look_at_bits(struct remote *r, struct error *error)
{
	struct error why = { .status = STATUS_OK };
	uint64_t lines;

	r->fill = estimate_layer(&r->filter, 0, FILL_PAGES, &why);
	if (why.status != STATUS_OK) {
		*error = why;
		return remote_fail(r, error);
	}
	lines = estimate_lines(&r->fill, UINT64_MAX);
	r->generations.due->lines = lines;
	r->counted = lines;
	remote_describe(r);
	return remote_check(r, error);
}

/*
 * Count all lines. A counter lacks those that were marked by clients which were
 * killed before they had counted them: whenever an eighth of the capacity was
 * added, bit strings are looked at, too.
 */
static int
look(struct remote *r, struct error *error)
{
	double added, eighth = (double)capacity_of(r) / LOOKS;

	if (remote_settle(r, error) < 0 || remote_count(r, error) < 0)
		return -1;
	if (r->filter.operations->sample == NULL)
		return 0;
	added = (double)r->generations.due->lines - r->fill.lines;
	if (r->fill.share > 0 && added < eighth)
		return 0;
	return look_at_bits(r, error);
}

enum room
room_reserve(struct remote *r, uint64_t wanted, uint64_t *room,
    struct error *error)
{
	uint64_t capacity = capacity_of(r), left = 0;

	*room = 0;
	if (remote_has_failed(r, error))
		return ROOM_SHORT;
	if (r->filter.growth != GROWTH_GROW && must_look(r, wanted) &&
	    look(r, error) < 0)
		return ROOM_SHORT;
	if (r->filter.growth == GROWTH_WARN)
		tell_overfill(r, wanted);
	if (used(r) < capacity)
		left = capacity - used(r);
	if (r->filter.growth != GROWTH_FAIL || wanted <= left) {
		*room = wanted;
		return ROOM_ENOUGH;
	}
	*room = left;
	growth_is_full(&r->filter, capacity, error);
	return ROOM_SHORT;
}

int
room_watch(struct remote *r, struct error *error)
{
	if (r->filter.growth != GROWTH_WARN || r->generations.due == NULL ||
	    !must_look(r, 0))
		return 0;
	if (look(r, error) < 0)
		return -1;
	tell_overfill(r, 0);
	return 0;
}
