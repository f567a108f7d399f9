#include "redis/redis.h"

#include <stdlib.h>

#include "base/clock.h"
#include "model/window.h"
#include "redis/claims.h"
#include "redis/room.h"

/*
 * The more lines of a batch are in a shard, the fewer commands they take; a
 * batch of this size waits for the server as long as it is read.
 */
#define BATCH_LINES (64 * 1024)

/* Marks are answered while input is waited for: milliseconds. */
#define IDLE_AFTER 5

/* How often a run that rests sees whether the filter is still there. */
#define CONFIRM_EVERY CLOCK_SECOND

/* The most pages for an estimate: 1 MiB, a few milliseconds of the server's
 * time. */
#define SAMPLE_PAGES 256

static const struct filter_operations bloom, bits;

/* Opening */

/* Connect; NULL on failure, with `error` filled. */
static struct remote *
attach(const char *location, const struct filter_use *use,
    struct error *error)
{
	struct remote *r = memory_or_die(calloc(1, sizeof *r));

	if (location_open(&r->location, location, use, error) < 0) {
		free(r);
		return NULL;
	}
	r->filter = (struct filter){ .operations = &bloom,
		.bottom = &r->filter, .header = &r->location.header,
		.table = &r->table, .name = r->location.address.shown };
	r->claiming = use->claim;
	r->makes = use->writable;
	return r;
}

static void
detach(struct remote *r)
{
	location_close(&r->location);
	free(r);
}

/* May the filter be used so? */
static int
check_use(struct remote *r, const struct filter_use *use,
    struct error *error)
{
	const struct header *header = &r->location.header;

	r->filter.growth = header->growth;
	if (use->growth >= 0)
		r->filter.growth = (enum growth)use->growth;
	if (use->writable &&
	    format_check_writable(header, r->filter.name, error) < 0)
		return -1;
	if (r->filter.growth == GROWTH_WARN && header->growth == GROWTH_GROW)
		return error_set(error, STATUS_USAGE, "%s: the server lets it"
		    " grow, which --on-full=warn cannot change; make another"
		    " filter: bloomdedup create --on-full=warn",
		    r->filter.name);
	return 0;
}

/* Begin to use the filter that its location has open. */
static int
begin(struct remote *r, const struct filter_use *use, struct error *error)
{
	if (check_use(r, use, error) < 0)
		return -1;
	if (r->location.shards.layout.kind == SHARDS_BITS)
		r->filter.operations = &bits;
	generations_begin(&r->generations, &r->location.shards,
	    &r->location.header.window);
	/* A window counts its lines when it advances, as it does now. */
	if (r->generations.quarter > 0)
		return remote_advance(r, error);
	/* New shards stay from now on, and those that were to be deleted. */
	if (r->makes &&
	    shards_each(&r->location.shards, shards_keep, error) < 0)
		return -1;
	return remote_count(r, error);
}

/* Open the header's filter. Returns 1 if there is none. */
static int
open_found(struct remote *r, const struct filter_use *use,
    struct error *error)
{
	struct found found;

	if (location_find(&r->location, &found, error) < 0)
		return -1;
	if (!found.exists)
		return 1;
	location_take(&r->location, &found);
	return begin(r, use, error);
}

int
redis_open(struct filter **filter, const char *location,
    const struct filter_use *use, struct error *error)
{
	struct remote *r = attach(location, use, error);
	int result;

	*filter = NULL;
	if (r == NULL)
		return -1;
	result = open_found(r, use, error);
	if (result == 0)
		*filter = &r->filter;
	else
		detach(r);
	return result;
}

int
redis_create(struct filter **filter, const char *location, int replace,
    const struct filter_design *design, const struct filter_use *use,
    struct error *error)
{
	struct remote *r = attach(location, use, error);
	int result;

	*filter = NULL;
	if (r == NULL)
		return -1;
	result = location_make(&r->location, replace, design, error);
	if (result == 0)
		result = begin(r, use, error);
	if (result == 0)
		*filter = &r->filter;
	else
		detach(r);
	return result;
}

static struct filter_costs
costs_of(const struct location *location)
{
	const struct layout *layout = &location->shards.layout;

	return (struct filter_costs){ .shards = layout->shards,
		.own_shards = layout->kind == SHARDS_BLOOM };
}

int
redis_foresee(const char *location, const struct filter_design *design,
    struct filter_costs *costs, uint64_t *bytes, struct error *error)
{
	const struct filter_use use = FILTER_READ;
	struct location there;
	int result;

	if (location_open(&there, location, &use, error) < 0)
		return -1;
	result = location_design(&there, design, error);
	if (result == 0) {
		*costs = costs_of(&there);
		*bytes = layout_bytes(&there.shards.layout, &there.header);
		/* The next generation is made before the oldest expires. */
		if (there.header.window.kind != WINDOW_NONE)
			*bytes *= WINDOW_PLACES + 1;
	}
	location_close(&there);
	return result;
}

int
redis_remove(const char *location, const struct lock_wait *wait,
    struct error *error)
{
	struct filter_use use = FILTER_WRITE;
	struct location there;
	int result;

	use.wait = *wait;
	if (location_open(&there, location, &use, error) < 0)
		return -1;
	result = location_remove(&there, error);
	location_close(&there);
	return result;
}

/* Lines */

/* Ask all generations for the batch that was sorted. */
static int
ask(struct remote *r, struct error *error)
{
	struct generations *g = &r->generations;

	for (unsigned i = 0; i < g->count; i++) {
		if (shards_parts(&g->set[i], g->like.kind->ask, error) < 0)
			return remote_fail(r, error);
	}
	return remote_finish(r, error);
}

static int
probe(struct filter *filter, const struct digest *digests, size_t n,
    uint8_t *found, struct error *error)
{
	struct remote *r = remote_of(filter);
	const struct net *net = r->location.net;
	int has_marks = net_is_busy(net);
	uint64_t repeats = net_repeats(net);

	if (remote_has_failed(r, error) || remote_advance(r, error) < 0)
		return -1;
	/* A claim is a question, too. */
	if (r->claiming && r->location.shards.layout.kind == SHARDS_BLOOM &&
	    r->generations.quarter == 0)
		return 0;
	shards_sort(&r->location.shards, digests, n, found);
	if (ask(r, error) < 0)
		return -1;
	/* A mark that was made again, since its server was busy or its
	   connection lost, may have come after the question. */
	if (has_marks && net_repeats(net) != repeats)
		return ask(r, error);
	return 0;
}

static enum room
reserve(struct filter *filter, uint64_t wanted, uint64_t *room,
    struct error *error)
{
	return room_reserve(remote_of(filter), wanted, room, error);
}

static int
mark(struct filter *filter, const struct digest *digests, size_t n,
    struct error *error)
{
	struct remote *r = remote_of(filter);
	struct shards *due;

	if (remote_has_failed(r, error))
		return -1;
	r->location.trouble.unanswered += n;
	r->unconfirmed = 1;
	if (remote_advance(r, error) < 0)
		return -1;
	due = r->generations.due;
	shards_sort(&r->location.shards, digests, n, NULL);
	if (shards_note(due, error) < 0 ||
	    shards_parts(due, due->kind->mark, error) < 0 ||
	    net_flush(r->location.net, error) < 0)
		return remote_fail(r, error);
	remote_describe(r);
	return remote_check(r, error);
}

static int
claim(struct filter *filter, const struct digest *digests, size_t n,
    uint8_t *taken, struct error *error)
{
	return claims_make(remote_of(filter), digests, n, taken, error);
}

/* At rest, and at the end */

/* For how long it need not be seen whether the filter is still there. */
static uint64_t
until_confirmed(const struct remote *r)
{
	uint64_t age = clock_now() - r->confirmed;

	return age < CONFIRM_EVERY ? CONFIRM_EVERY - age : 0;
}

static int
idle_after(const struct filter *filter)
{
	const struct remote *r = remote_of_const(filter);

	if (net_is_busy(r->location.net))
		return IDLE_AFTER;
	if (r->unconfirmed && !r->failed)
		return (int)(until_confirmed(r) / CLOCK_MILLISECOND) + 1;
	return -1;
}

static int
write_back(struct filter *filter, int all, struct error *error)
{
	struct remote *r = remote_of(filter);

	if (!all || r->failed)
		return 0;
	if (remote_settle(r, error) < 0)
		return -1;
	if (until_confirmed(r) == 0 && remote_confirm(r, error) < 0)
		return -1;
	return room_watch(r, error);
}

static int
close_redis(struct filter *filter, struct error *error)
{
	struct remote *r = remote_of(filter);
	int result = write_back(filter, 1, error);

	if (result == 0 && !r->failed)
		result = remote_confirm(r, error);
	remote_tell_losses(r);
	detach(r);
	return result;
}

/* What it says of itself */

static struct filter_costs
costs(const struct filter *filter)
{
	return costs_of(&remote_of_const(filter)->location);
}

static int
sample(struct filter *filter, const uint64_t *numbers, size_t n, uint8_t *to,
    struct error *error)
{
	struct remote *r = remote_of(filter);
	struct shards *shards = &r->location.shards;

	if (remote_has_failed(r, error))
		return -1;
	if (shards->kind->read_pages(shards, numbers, n, to, error) < 0)
		return remote_fail(r, error);
	return 0;
}

#define OPERATIONS \
	.batch_lines = BATCH_LINES, \
	.probe = probe, \
	.reserve = reserve, \
	.mark = mark, \
	.claim = claim, \
	.idle_after = idle_after, \
	.write_back = write_back, \
	.costs = costs, \
	.close = close_redis

static const struct filter_operations bloom = { OPERATIONS };

static const struct filter_operations bits = { OPERATIONS,
	.sample = sample, .sample_pages = SAMPLE_PAGES };
