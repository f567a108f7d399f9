#include "redis/remote.h"

#include "base/clock.h"
#include "base/number.h"
#include "base/signals.h"
#include "model/growth.h"
#include "model/window.h"

/* Lines are counted whenever this client may have used such a part of the room
 * that there was when they were counted last. */
#define LOOKS 8

/* Pages that are read to see how full bit strings are. */
#define FILL_PAGES 32

struct remote *
remote_of(struct filter *filter)
{
	return (struct remote *)(void *)filter;
}

const struct remote *
remote_of_const(const struct filter *filter)
{
	return (const struct remote *)(const void *)filter;
}

int
remote_fail(struct remote *r, const struct error *why)
{
	if (!r->failed)
		r->why = *why;
	r->failed = 1;
	net_abandon(r->stored.net);
	return -1;
}

int
remote_has_failed(const struct remote *r, struct error *error)
{
	if (!r->failed)
		return 0;
	*error = r->why;
	error->repeated = 1;
	return 1;
}

/* Trouble with shards */

/* Is the filter still there? Returns 1; 0 with `error` filled if it was
 * replaced or removed; -1 with `error` filled if that can't be found out. */
static int
is_there(struct remote *r, struct error *error)
{
	const char *what = "it was removed";
	struct found found;

	if (stored_find(&r->stored, &found, error) < 0)
		return -1;
	r->confirmed = clock_now();
	r->unconfirmed = 0;
	if (stored_is_ours(&r->stored, &found))
		return 1;
	if (found.exists)
		what = "another one has replaced it";
	error_set(error, STATUS_FAILED, "%s: the filter is no longer there: %s",
	    r->filter.name, what);
	return 0;
}

/* A shard is missing: say why. */
static void
explain_missing(struct remote *r, struct error *error)
{
	int there = is_there(r, error);
	struct error unused;

	if (there > 0)
		error_set(error, STATUS_FAILED, "%s: damaged: the key %s is"
		    " missing, with all lines in it (does the server's"
		    " maxmemory-policy evict keys?); bloomdedup create --force"
		    " replaces the filter with an empty one", r->filter.name,
		    r->stored.trouble.missing);
	/* A mark of bits may have made some of the shards again of a filter
	   that was replaced or removed. */
	if (there == 0 && r->makes &&
	    r->stored.shards.layout.kind == SHARDS_BITS)
		(void)shards_each(&r->stored.shards, shards_delete, &unused);
}

/* Lines that the server didn't take when they were marked: they are printed. */
static void
explain_refused(const struct remote *r, struct error *error)
{
	const struct trouble *trouble = &r->stored.trouble;
	char text[NUMBER_TEXT];

	error_set(error, STATUS_FULL, "%s: %s lines are not remembered: the"
	    " server says: %s", r->filter.name, number_format_count(text,
	    trouble->refused), trouble->why);
}

int
remote_check(struct remote *r, struct error *error)
{
	const struct trouble *trouble = &r->stored.trouble;

	if (trouble->failure.status != 0) {
		*error = trouble->failure;
		return remote_fail(r, error);
	}
	if (trouble->missing[0] != '\0') {
		explain_missing(r, error);
		return remote_fail(r, error);
	}
	/* What becomes of claims that were refused, redis.c decides. */
	if (trouble->refused == 0 || r->claiming)
		return 0;
	explain_refused(r, error);
	return remote_fail(r, error);
}

int
remote_finish(struct remote *r, struct error *error)
{
	if (net_finish(r->stored.net, error) < 0)
		return remote_fail(r, error);
	return remote_check(r, error);
}

int
remote_confirm(struct remote *r, struct error *error)
{
	if (r->unconfirmed && is_there(r, error) <= 0)
		return remote_fail(r, error);
	return 0;
}

void
remote_tell_losses(struct remote *r)
{
	const struct trouble *trouble = &r->stored.trouble;
	char text[NUMBER_TEXT];

	if (!r->failed)
		return;
	/* A run that dies of a signal prints no error. */
	if (signals_stop)
		error_notify(r->stored.notice, "%s", r->why.text);
	if (trouble->unanswered > 0)
		error_notify(r->stored.notice, "%s: the server did not"
		    " confirm that it remembers the last %s new lines: a later"
		    " run may print them again", r->filter.name,
		    number_format_count(text, trouble->unanswered));
}

/* What it has */

void
remote_describe(struct remote *r)
{
	const struct generations *g = &r->generations;

	r->table = (struct table){ 0 };
	for (unsigned i = g->count; i-- > 0; ) {
		const struct shards *s = &g->set[i];
		uint64_t lines = s->lines;

		/* Most of those that are on their way are new. */
		if (s == g->due)
			lines += r->stored.trouble.unanswered;
		if (g->quarter > 0)
			r->table.generations[r->table.generation_count++] =
			    (struct generation){ s->generation,
			    s->generation * g->quarter,
			    (s->generation + 1) * g->quarter };
		layout_table(&s->layout, &r->stored.header, lines, &r->table);
	}
	/* A window that was never used has none yet. */
	if (g->count == 0)
		layout_table(&r->stored.shards.layout, &r->stored.header, 0,
		    &r->table);
}

int
remote_count(struct remote *r, struct error *error)
{
	for (unsigned i = 0; i < r->generations.count; i++) {
		if (shards_count(&r->generations.set[i], error) < 0)
			return remote_fail(r, error);
	}
	r->counted = 0;
	if (r->generations.due != NULL)
		r->counted = r->generations.due->lines;
	remote_describe(r);
	return remote_check(r, error);
}

int
remote_settle(struct remote *r, struct error *error)
{
	struct generations *g = &r->generations;

	if (remote_finish(r, error) < 0)
		return -1;
	if (g->due != NULL && shards_note(g->due, error) < 0)
		return remote_fail(r, error);
	if (remote_finish(r, error) < 0)
		return -1;
	remote_describe(r);
	return 0;
}

int
remote_advance(struct remote *r, struct error *error)
{
	int due = generations_are_due(&r->generations, error);

	if (due == 0)
		return 0;
	if (due < 0 || is_there(r, error) <= 0 ||
	    generations_advance(&r->generations, r->makes, error) < 0)
		return remote_fail(r, error);
	return remote_count(r, error);
}

/* Room for more lines */

/* How many lines the generation that is due is made for. */
static uint64_t
capacity_of(const struct remote *r)
{
	uint64_t capacity = r->stored.header.capacity;

	if (r->generations.quarter == 0)
		return capacity;
	return window_generation_capacity(capacity);
}

/* How many lines it has, with those that are on their way. */
static uint64_t
used(const struct remote *r)
{
	return r->generations.due->lines + r->stored.trouble.unanswered;
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
recount(struct remote *r, struct error *error)
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
remote_reserve(struct remote *r, uint64_t wanted, uint64_t *room,
    struct error *error)
{
	uint64_t capacity = capacity_of(r), left = 0;

	*room = 0;
	if (remote_has_failed(r, error))
		return ROOM_SHORT;
	if (r->filter.growth == GROWTH_GROW) {
		*room = wanted;
		return ROOM_ENOUGH;
	}
	if (must_look(r, wanted) && recount(r, error) < 0)
		return ROOM_SHORT;
	if (used(r) < capacity)
		left = capacity - used(r);
	if (wanted <= left) {
		*room = wanted;
		return ROOM_ENOUGH;
	}
	*room = left;
	growth_is_full(&r->filter, capacity, error);
	return ROOM_SHORT;
}
