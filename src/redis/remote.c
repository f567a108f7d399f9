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
remote_fail(struct remote *remote, const struct error *why)
{
	if (!remote->failed)
		remote->why = *why;
	remote->failed = 1;
	net_abandon(remote->stored.net);
	return -1;
}

int
remote_has_failed(const struct remote *remote, struct error *error)
{
	if (!remote->failed)
		return 0;
	*error = remote->why;
	error->repeated = 1;
	return 1;
}

/* Trouble with shards */

/* Is the filter still there? Returns 1; 0 with `error` filled if it was
 * replaced or removed; -1 with `error` filled if that can't be found out. */
static int
is_there(struct remote *remote, struct error *error)
{
	const char *what = "it was removed";
	struct found found;

	if (stored_find(&remote->stored, &found, error) < 0)
		return -1;
	remote->confirmed = clock_now();
	remote->unconfirmed = 0;
	if (stored_is_ours(&remote->stored, &found))
		return 1;
	if (found.exists)
		what = "another one has replaced it";
	error_set(error, STATUS_FAILED, "%s: the filter is no longer there: %s",
	    remote->filter.name, what);
	return 0;
}

/* Fill in why a shard is missing. */
static void
explain_missing(struct remote *remote, struct error *error)
{
	int there = is_there(remote, error);
	struct error unused; /* `error` may be error_ignored(), and is read */

	if (there > 0)
		error_set(error, STATUS_FAILED, "%s: damaged: the key %s is"
		    " missing, with all lines in it (does the server's"
		    " maxmemory-policy evict keys?); bloomdedup create --force"
		    " replaces the filter with an empty one",
		    remote->filter.name, remote->stored.trouble.missing);
	/* A mark of bits may have made some of the shards again of a filter
	   that was replaced or removed. */
	if (there == 0 && remote->makes &&
	    remote->stored.shards.layout.kind == SHARDS_BITS)
		(void)shards_each(&remote->stored.shards, shards_delete,
		    &unused);
}

/* Lines that the server didn't take when they were marked: they are printed. */
static void
explain_refused(const struct remote *remote, struct error *error)
{
	const struct trouble *trouble = &remote->stored.trouble;
	char text[NUMBER_TEXT];

	error_set(error, STATUS_FULL, "%s: %s lines are not remembered: the"
	    " server says: %s", remote->filter.name, number_format_count(text,
	    trouble->refused), trouble->why);
}

int
remote_check(struct remote *remote, struct error *error)
{
	const struct trouble *trouble = &remote->stored.trouble;

	if (trouble->failure.status != 0) {
		*error = trouble->failure;
		return remote_fail(remote, error);
	}
	if (trouble->missing[0] != '\0') {
		explain_missing(remote, error);
		return remote_fail(remote, error);
	}
	/* What becomes of claims that were refused, redis.c decides. */
	if (trouble->refused == 0 || remote->claiming)
		return 0;
	explain_refused(remote, error);
	return remote_fail(remote, error);
}

int
remote_finish(struct remote *remote, struct error *error)
{
	if (net_finish(remote->stored.net, error) < 0)
		return remote_fail(remote, error);
	return remote_check(remote, error);
}

int
remote_confirm(struct remote *remote, struct error *error)
{
	if (remote->unconfirmed && is_there(remote, error) <= 0)
		return remote_fail(remote, error);
	return 0;
}

void
remote_tell_losses(struct remote *remote)
{
	const struct trouble *trouble = &remote->stored.trouble;
	char text[NUMBER_TEXT];

	if (!remote->failed)
		return;
	/* A run that dies of a signal prints no error. */
	if (signals_stop)
		error_notify(remote->stored.notice, "%s", remote->why.text);
	if (trouble->unanswered > 0)
		error_notify(remote->stored.notice, "%s: the server did not"
		    " confirm that it remembers the last %s new lines: a later"
		    " run may print them again", remote->filter.name,
		    number_format_count(text, trouble->unanswered));
}

/* What it has */

void
remote_describe(struct remote *remote)
{
	const struct generations *g = &remote->generations;
	struct table *table = &remote->table;

	*table = (struct table){ 0 };
	for (unsigned i = g->count; i-- > 0; ) {
		const struct shards *shards = &g->set[i];
		uint64_t lines = shards->lines;

		/* Most of those that are on their way are new. */
		if (shards == g->due)
			lines += remote->stored.trouble.unanswered;
		if (g->quarter > 0)
			table->generations[table->generation_count++] =
			    (struct generation){ shards->generation,
			    shards->generation * g->quarter,
			    (shards->generation + 1) * g->quarter };
		layout_table(&shards->layout, &remote->stored.header, lines,
		    table);
	}
	/*
	 * A window that was never used has no generations, and an empty table.
	 */
	if (g->count == 0)
		layout_table(&remote->stored.shards.layout,
		    &remote->stored.header, 0, table);
}

int
remote_count(struct remote *remote, struct error *error)
{
	for (unsigned i = 0; i < remote->generations.count; i++) {
		if (shards_count(&remote->generations.set[i], error) < 0)
			return remote_fail(remote, error);
	}
	remote->counted = 0;
	if (remote->generations.due != NULL)
		remote->counted = remote->generations.due->lines;
	remote_describe(remote);
	return remote_check(remote, error);
}

int
remote_settle(struct remote *remote, struct error *error)
{
	struct generations *g = &remote->generations;

	if (remote_finish(remote, error) < 0)
		return -1;
	if (g->due != NULL && shards_note(g->due, error) < 0)
		return remote_fail(remote, error);
	if (remote_finish(remote, error) < 0)
		return -1;
	remote_describe(remote);
	return 0;
}

int
remote_advance(struct remote *remote, struct error *error)
{
	int due = generations_are_due(&remote->generations, error);

	if (due == 0)
		return 0;
	if (due < 0 || is_there(remote, error) <= 0 ||
	    generations_advance(&remote->generations, remote->makes, error) < 0)
		return remote_fail(remote, error);
	return remote_count(remote, error);
}

/* Room for more lines */

/* How many lines the generation that is due is made for. */
static uint64_t
capacity_of(const struct remote *remote)
{
	uint64_t capacity = remote->stored.header.capacity;

	if (remote->generations.quarter == 0)
		return capacity;
	return window_generation_capacity(capacity);
}

/* How many lines it has, with those that are on their way. */
static uint64_t
used(const struct remote *remote)
{
	return remote->generations.due->lines +
	    remote->stored.trouble.unanswered;
}

/* Is it time to see what others have added, before so many lines are added? */
static int
must_look(const struct remote *remote, uint64_t wanted)
{
	uint64_t capacity = capacity_of(remote), spare = capacity;

	if (remote->counted < capacity)
		spare -= remote->counted;
	return used(remote) - remote->counted + wanted > spare / LOOKS;
}

/* See from pages of bit strings how full they are. */
static int
look_at_bits(struct remote *remote, struct error *error)
{
	struct error why = { .status = STATUS_OK };
	uint64_t lines;

	remote->fill = estimate_layer(&remote->filter, 0, FILL_PAGES, &why);
	if (why.status != STATUS_OK) {
		*error = why;
		return remote_fail(remote, error);
	}
	lines = estimate_lines(&remote->fill, UINT64_MAX);
	remote->generations.due->lines = lines;
	remote->counted = lines;
	remote_describe(remote);
	return remote_check(remote, error);
}

/*
 * Count all lines. A counter lacks those that were marked by clients which were
 * killed before they had counted them: whenever an eighth of the capacity was
 * added, bit strings are looked at, too.
 */
static int
recount(struct remote *remote, struct error *error)
{
	double added, eighth = (double)capacity_of(remote) / LOOKS;

	if (remote_settle(remote, error) < 0 || remote_count(remote, error) < 0)
		return -1;
	if (remote->filter.operations->sample == NULL)
		return 0;
	added = (double)remote->generations.due->lines - remote->fill.lines;
	if (remote->fill.share > 0 && added < eighth)
		return 0;
	return look_at_bits(remote, error);
}

enum room
remote_reserve(struct remote *remote, uint64_t wanted, uint64_t *room,
    struct error *error)
{
	uint64_t capacity = capacity_of(remote), left = 0;

	*room = 0;
	if (remote_has_failed(remote, error))
		return ROOM_SHORT;
	if (remote->filter.growth == GROWTH_GROW) {
		*room = wanted;
		return ROOM_ENOUGH;
	}
	if (must_look(remote, wanted) && recount(remote, error) < 0)
		return ROOM_SHORT;
	if (used(remote) < capacity)
		left = capacity - used(remote);
	if (wanted <= left) {
		*room = wanted;
		return ROOM_ENOUGH;
	}
	*room = left;
	growth_is_full(&remote->filter, capacity, error);
	return ROOM_SHORT;
}
