#include "redis/redis.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/signals.h"
#include "model/estimate.h"
#include "model/growth.h"
#include "model/operations.h"
#include "model/design.h"
#include "model/window.h"
#include "redis/claims.h"
#include "redis/generations.h"
#include "redis/place.h"

/*
 * The more lines of a batch are in a shard, the fewer commands they take; a
 * batch of this size waits for the server as long as it is read.
 */
#define BATCH_LINES (64 * 1024)

/* Marks are answered while input is waited for: milliseconds. */
#define IDLE_AFTER 5

/* A client counts the lines of a filter that doesn't grow whenever it has used
 * such a part of the room that there was. */
#define LOOKS 8

/* Pages that are read to see how full bit strings are. */
#define FILL_PAGES 32
/* The most for an estimate: 1 MiB, a few milliseconds of the server's time. */
#define SAMPLE_PAGES 256

/* What the user knows of a filter with --on-full=warn. */
enum overfill {
	OVERFILL_NONE,
	OVERFILL_BEGUN,  /* that it has more lines than it was made for, */
	OVERFILL_TENFOLD /* and makes ten times as many mistakes */
};

struct redis {
	struct filter filter;
	struct place place;
	struct generations generations;
	struct table table;
	int makes;             /* it makes generations that are due */
	int claiming;          /* lines are claimed, not looked up and marked */
	struct claims claims;
	int warned;            /* of lines that are not remembered */
	uint64_t counted;      /* lines of the generation that is due when they
	                          were counted last */
	struct estimate fill;  /* of bit strings, when pages of them were read
	                          last; all zero at first */
	enum overfill overfill;
	int failed;            /* nothing can be asked any more, */
	struct error why;      /* for this reason */
};

static const struct filter_operations bloom, bits;

static struct redis *
redis_of(struct filter *filter)
{
	return (struct redis *)(void *)filter;
}

static void
release(struct redis *r)
{
	place_close(&r->place);
	claims_free(&r->claims);
	free(r);
}

/* From now on no requests are made, and the reason is kept. Returns -1. */
static int
failed(struct redis *r, const struct error *why)
{
	if (!r->failed)
		r->why = *why;
	r->failed = 1;
	net_abandon(r->place.net);
	return -1;
}

static int
failed_before(const struct redis *r, struct error *error)
{
	if (!r->failed)
		return 0;
	*error = r->why;
	error->repeated = 1;
	return 1;
}

/* Trouble with shards */

/* Fails if the filter was replaced or removed. */
static int
check_header(struct redis *r, struct error *error)
{
	struct found found;

	if (place_find(&r->place, &found, error) < 0)
		return -1;
	if (place_is_ours(&r->place, &found))
		return 0;
	return error_set(error, STATUS_FAILED, "%s: the filter is no longer"
	    " there: %s", r->filter.name, found.exists ?
	    "another one has replaced it" : "it was removed");
}

/* Lines that the server didn't take when they were marked: they are printed. */
static int
explain_refused(struct redis *r, struct error *error)
{
	char text[NUMBER_TEXT];

	error_set(error, STATUS_FULL, "%s: %s lines are not remembered: the"
	    " server says: %s", r->filter.name, number_format_count(text,
	    r->place.trouble.refused), r->place.trouble.why);
	if (r->filter.growth != GROWTH_WARN)
		return -1;
	if (!r->warned)
		place_tell(&r->place, error);
	r->warned = 1;
	return 0;
}

/* After answers: is all well? */
static int
check(struct redis *r, struct error *error)
{
	const struct trouble *trouble = &r->place.trouble;
	struct error unused;

	if (trouble->failure.status != 0) {
		*error = trouble->failure;
	} else if (trouble->missing[0] == '\0') {
		if (r->claiming || trouble->refused == 0 ||
		    explain_refused(r, error) == 0)
			return 0;
	} else if (check_header(r, error) == 0) {
		error_set(error, STATUS_FAILED, "%s: damaged: the key %s is"
		    " missing (does the server's maxmemory-policy evict"
		    " keys?), and all lines in it; only create --force makes"
		    " the filter whole again, and empty", r->filter.name,
		    trouble->missing);
	} else if (r->makes && r->place.shards.layout.kind == SHARDS_BITS) {
		/* The filter was replaced or removed, and a mark of bits may
		   have made some of its shards again. */
		(void)shards_each(&r->place.shards, shards_delete, &unused);
	}
	return failed(r, error);
}

static int
finish(struct redis *r, struct error *error)
{
	if (net_finish(r->place.net, error) < 0)
		return failed(r, error);
	return check(r, error);
}

/* The table that says what all generations have. */
static void
describe(struct redis *r)
{
	const struct generations *g = &r->generations;

	r->table = (struct table){ 0 };
	for (unsigned i = g->count; i-- > 0; ) {
		const struct shards *s = &g->set[i];
		uint64_t lines = s->lines;

		/* Most of those that are on their way are new. */
		if (s == g->due)
			lines += r->place.trouble.unanswered;
		if (g->quarter > 0)
			r->table.generations[r->table.generation_count++] =
			    (struct generation){ s->generation,
			    s->generation * g->quarter,
			    (s->generation + 1) * g->quarter };
		layout_table(&s->layout, &r->place.header, lines, &r->table);
	}
	/* One that was never used yet. */
	if (g->count == 0)
		layout_table(&r->place.shards.layout, &r->place.header, 0,
		    &r->table);
}

static int
count(struct redis *r, struct error *error)
{
	for (unsigned i = 0; i < r->generations.count; i++) {
		if (shards_count(&r->generations.set[i], error) < 0)
			return failed(r, error);
	}
	r->counted = 0;
	if (r->generations.due != NULL)
		r->counted = r->generations.due->lines;
	describe(r);
	return check(r, error);
}

/* Wait until all is answered and counted. */
static int
settle(struct redis *r, struct error *error)
{
	struct generations *g = &r->generations;

	if (finish(r, error) < 0)
		return -1;
	if (g->due != NULL && shards_note(g->due, error) < 0)
		return failed(r, error);
	if (finish(r, error) < 0)
		return -1;
	describe(r);
	return 0;
}

/*
 * What is remembered follows time; marks go into the newest generation, unless
 * the filter is no longer there.
 */
static int
advance(struct redis *r, struct error *error)
{
	int due = generations_are_due(&r->generations, error);

	if (due == 0)
		return 0;
	if (due < 0 || check_header(r, error) < 0 ||
	    generations_advance(&r->generations, r->makes, error) < 0)
		return failed(r, error);
	return count(r, error);
}

/* Opening */

static int
begin_use(struct redis *r, const struct filter_use *use, struct error *error)
{
	const struct header *header = &r->place.header;

	r->filter.growth = use->growth < 0 ? header->growth :
	    (enum growth)use->growth;
	if (use->writable &&
	    format_check_writable(header, r->filter.name, error) < 0)
		return -1;
	if (r->filter.growth == GROWTH_WARN && header->growth == GROWTH_GROW)
		return error_set(error, STATUS_USAGE, "%s: the server lets it"
		    " grow, which --on-full=warn can't change; create makes"
		    " one that doesn't grow", r->filter.name);
	if (r->place.shards.layout.kind == SHARDS_BITS)
		r->filter.operations = &bits;
	r->makes = use->writable;
	generations_begin(&r->generations, &r->place.shards, &header->window);
	/* New ones stay from now on, and those that were to be deleted. */
	if (r->makes && r->generations.quarter == 0 &&
	    shards_each(&r->place.shards, shards_keep, error) < 0)
		return -1;
	/* A window counts its lines when it advances, as it does now. */
	if (r->generations.quarter > 0)
		return advance(r, error);
	return count(r, error);
}

/* Open it, or with a design make it. Returns 1 if it isn't there, or is. */
static int
begin(struct filter **filter, const char *location, int replace,
    const struct filter_design *design, const struct filter_use *use,
    struct error *error)
{
	struct redis *r = memory_or_die(calloc(1, sizeof *r));
	struct found found;
	int result;

	*filter = NULL;
	if (place_open(&r->place, location, use, error) < 0) {
		free(r);
		return -1;
	}
	r->filter = (struct filter){ .operations = &bloom,
		.bottom = &r->filter, .header = &r->place.header,
		.table = &r->table, .name = r->place.address.shown };
	r->claiming = use->claim;
	if (design != NULL) {
		result = place_make(&r->place, replace, design, error);
	} else {
		result = place_find(&r->place, &found, error);
		if (result == 0 && !found.exists)
			result = 1;
		if (result == 0)
			place_take(&r->place, &found);
	}
	if (result == 0)
		result = begin_use(r, use, error);
	if (result == 0)
		*filter = &r->filter;
	else
		release(r);
	return result;
}

int
redis_open(struct filter **filter, const char *location,
    const struct filter_use *use, struct error *error)
{
	return begin(filter, location, 0, NULL, use, error);
}

int
redis_create(struct filter **filter, const char *location, int replace,
    const struct filter_design *design, const struct filter_use *use,
    struct error *error)
{
	return begin(filter, location, replace, design, use, error);
}

static struct filter_costs
costs_of(const struct place *place)
{
	const struct layout *layout = &place->shards.layout;

	return (struct filter_costs){ .shards = layout->shards,
		.own_shards = layout->kind == SHARDS_BLOOM };
}

int
redis_foresee(const char *location, const struct filter_design *design,
    struct filter_costs *costs, uint64_t *bytes, struct error *error)
{
	const struct filter_use use = FILTER_READ;
	struct place place;
	int result;

	if (place_open(&place, location, &use, error) < 0)
		return -1;
	result = place_plan(&place, design, error);
	if (result == 0) {
		*costs = costs_of(&place);
		*bytes = layout_bytes(&place.shards.layout, &place.header);
		/* The next generation is made before the oldest expires. */
		if (place.header.window.kind != WINDOW_NONE)
			*bytes *= WINDOW_PLACES + 1;
	}
	place_close(&place);
	return result;
}

int
redis_remove(const char *location, const struct lock_wait *wait,
    struct error *error)
{
	struct filter_use use = FILTER_WRITE;
	struct place place;
	int result;

	use.wait = *wait;
	if (place_open(&place, location, &use, error) < 0)
		return -1;
	result = place_remove(&place, error);
	place_close(&place);
	return result;
}

/* Lines */

/*
 * A mark that is made again, since its server was busy or its connection lost,
 * may come after the question: then that is asked again.
 */
static int
probe(struct filter *filter, const struct digest *digests, size_t n,
    uint8_t *found, struct error *error)
{
	struct redis *r = redis_of(filter);
	struct generations *g = &r->generations;
	const struct shard_operations *kind = r->place.shards.kind;
	int marks = net_is_busy(r->place.net);
	uint64_t repeats = net_repeats(r->place.net), now;

	if (failed_before(r, error) || advance(r, error) < 0)
		return -1;
	/* A claim is a question, too. */
	if (r->claiming && r->place.shards.layout.kind == SHARDS_BLOOM &&
	    g->quarter == 0)
		return 0;
	shards_sort(&r->place.shards, digests, n, found);
	for (int again = 1; again; repeats = now) {
		for (unsigned i = 0; i < g->count; i++) {
			if (shards_parts(&g->set[i], kind->ask, error) < 0)
				return failed(r, error);
		}
		if (finish(r, error) < 0)
			return -1;
		now = net_repeats(r->place.net);
		again = marks && now != repeats;
		marks = 0;
	}
	return 0;
}

/* Room */

/* How many lines the generation that is due is made for. */
static uint64_t
capacity_of(const struct redis *r)
{
	uint64_t capacity = r->place.header.capacity;

	if (r->generations.quarter == 0)
		return capacity;
	return window_generation_capacity(capacity);
}

/* How many lines it has, with those that are on their way. */
static uint64_t
used(const struct redis *r)
{
	return r->generations.due->lines + r->place.trouble.unanswered;
}

/* So many lines were added by this client since they were counted last, or are
 * to be: is it time to see what others have added? */
static int
must_look(const struct redis *r, uint64_t wanted)
{
	uint64_t capacity = capacity_of(r), spare = capacity;

	if (r->counted < capacity)
		spare -= r->counted;
	return used(r) - r->counted + wanted > spare / LOOKS;
}

/* Say how far it is overfilled, once for each step. */
static void
tell_overfill(struct redis *r, uint64_t wanted)
{
	uint64_t capacity = capacity_of(r);
	double rate = r->place.header.error_rate;
	char text[NUMBER_TEXT];
	struct error told;

	if (r->overfill == OVERFILL_NONE && used(r) + wanted > capacity) {
		error_set(&told, 0, "%s: the filter's capacity of %s lines is"
		    " used up, and it can't grow: more and more new lines are"
		    " dropped by mistake (--on-full=warn)", r->filter.name,
		    number_format_count(text, capacity));
		place_tell(&r->place, &told);
		r->overfill = OVERFILL_BEGUN;
	}
	if (r->overfill == OVERFILL_BEGUN && r->fill.error_rate >= 10 * rate) {
		error_set(&told, 0, "%s: new lines are now dropped by mistake"
		    " at a rate of about %.2g, not %g", r->filter.name,
		    r->fill.error_rate, rate);
		place_tell(&r->place, &told);
		r->overfill = OVERFILL_TENFOLD;
	}
}

/*
 * Count all lines. A counter may lack some that were marked by clients which
 * were killed: now and then, bit strings are looked at, too.
 */
static int
look(struct redis *r, struct error *error)
{
	uint64_t capacity = capacity_of(r);
	struct shards *due = r->generations.due;
	struct error why = { .status = STATUS_OK };

	if (settle(r, error) < 0 || count(r, error) < 0)
		return -1;
	if (r->filter.operations->sample == NULL)
		return 0;
	if (r->fill.share > 0 && (double)due->lines < r->fill.lines +
	    (double)capacity / LOOKS)
		return 0;
	r->fill = estimate_layer(&r->filter, 0, FILL_PAGES, &why);
	if (why.status != STATUS_OK) {
		*error = why;
		return failed(r, error);
	}
	due->lines = r->counted = estimate_lines(&r->fill, UINT64_MAX);
	describe(r);
	return check(r, error);
}

/* The server's own filters grow, unless --on-full says that they don't. */
static enum room
reserve(struct filter *filter, uint64_t wanted, uint64_t *room,
    struct error *error)
{
	struct redis *r = redis_of(filter);
	uint64_t capacity = capacity_of(r), left;

	*room = 0;
	if (failed_before(r, error))
		return ROOM_SHORT;
	if (filter->growth != GROWTH_GROW && must_look(r, wanted) &&
	    look(r, error) < 0)
		return ROOM_SHORT;
	if (filter->growth == GROWTH_WARN)
		tell_overfill(r, wanted);
	left = capacity > used(r) ? capacity - used(r) : 0;
	if (filter->growth != GROWTH_FAIL || left >= wanted) {
		*room = wanted;
		return ROOM_ENOUGH;
	}
	*room = left;
	growth_is_full(&r->filter, capacity, error);
	return ROOM_SHORT;
}

static int
mark(struct filter *filter, const struct digest *digests, size_t n,
    struct error *error)
{
	struct redis *r = redis_of(filter);
	struct shards *due;

	if (failed_before(r, error))
		return -1;
	r->place.trouble.unanswered += n;
	if (advance(r, error) < 0)
		return -1;
	due = r->generations.due;
	shards_sort(&r->place.shards, digests, n, NULL);
	if (shards_note(due, error) < 0 ||
	    shards_parts(due, due->kind->mark, error) < 0 ||
	    net_flush(r->place.net, error) < 0)
		return failed(r, error);
	describe(r);
	return check(r, error);
}

/*
 * What was learnt of the claims becomes the caller's (enum claim): what is
 * uncertain is printed, and reported at once.
 */
static void
tell_claims(struct redis *r, size_t n, uint8_t *taken)
{
	static const uint8_t claims[] = {
		[CLAIMED_NEW] = CLAIM_OURS, [CLAIMED_SEEN] = CLAIM_TAKEN,
		[CLAIMED_NOT] = CLAIM_UNDONE, [CLAIMED_UNCERTAIN] = CLAIM_OURS
	};
	uint64_t uncertain = 0;
	char text[NUMBER_TEXT];
	struct error told;

	for (size_t i = 0; i < n; i++) {
		uncertain += taken[i] == CLAIMED_UNCERTAIN;
		taken[i] = claims[taken[i]];
	}
	if (uncertain == 0)
		return;
	error_set(&told, 0, "%s: %s of the next lines may be printed by another"
	    " client, too: the connection was lost before the server's answer",
	    r->filter.name, number_format_count(text, uncertain));
	place_tell(&r->place, &told);
}

/* Lines that were not claimed for want of room are not printed. */
static int
refuse_claims(struct redis *r, size_t left, struct error *error)
{
	struct trouble *trouble = &r->place.trouble;
	char text[NUMBER_TEXT];

	if (left == 0) {
		trouble->refused = 0;
		return 0;
	}
	return error_set(error, STATUS_FULL, "%s: %s new lines are not printed,"
	    " since they cannot be remembered: the server says: %s",
	    r->filter.name, number_format_count(text, left), trouble->why);
}

/* Where there is not enough room, lines that are known need none. */
static int
claim_lines(struct redis *r, const struct digest *digests, size_t n,
    uint8_t *claimed, struct error *error)
{
	struct claims *c = &r->claims;
	struct generations *g = &r->generations;
	uint64_t room = n;
	size_t left = n;
	struct error full;
	int is_full = reserve(&r->filter, n, &room, &full) != ROOM_ENOUGH;

	if (failed_before(r, error))
		return -1;
	if (is_full && claims_look_up(c, g, digests, n, claimed, &left,
	    error) < 0)
		return failed(r, error);
	is_full = is_full && left > room;
	if (shards_note(g->due, error) < 0 || claims_make(c, g, digests, n,
	    is_full ? (size_t)room : n, claimed, error) < 0)
		return failed(r, error);
	if (check(r, error) < 0)
		return -1;
	if (is_full) {
		*error = full;
		return -1;
	}
	if (r->place.trouble.refused == 0)
		return 0;
	if (claims_look_up(c, g, digests, n, claimed, &left, error) < 0)
		return failed(r, error);
	return refuse_claims(r, left, error);
}

static int
claim(struct filter *filter, const struct digest *digests, size_t n,
    uint8_t *taken, struct error *error)
{
	struct redis *r = redis_of(filter);
	int result;

	memset(taken, CLAIMED_NOT, n);
	result = failed_before(r, error) ? -1 :
	    claim_lines(r, digests, n, taken, error);
	tell_claims(r, n, taken);
	describe(r);
	return result;
}

static int
idle_after(const struct filter *filter)
{
	const struct redis *r = (const struct redis *)(const void *)filter;

	return net_is_busy(r->place.net) ? IDLE_AFTER : -1;
}

static int
write_back(struct filter *filter, int all, struct error *error)
{
	struct redis *r = redis_of(filter);

	if (!all || r->failed)
		return 0;
	if (settle(r, error) < 0)
		return -1;
	if (filter->growth != GROWTH_WARN || r->generations.due == NULL ||
	    !must_look(r, 0))
		return 0;
	if (look(r, error) < 0)
		return -1;
	tell_overfill(r, 0);
	return 0;
}

static int
close_redis(struct filter *filter, struct error *error)
{
	struct redis *r = redis_of(filter);
	int result = write_back(filter, 1, error);
	const struct trouble *trouble = &r->place.trouble;
	char text[NUMBER_TEXT];
	struct error told;

	if (r->warned && trouble->refused > 0) {
		explain_refused(r, &told);
		place_tell(&r->place, &told);
	}
	/* A run that dies of a signal prints no error. */
	if (r->failed && signals_stop)
		place_tell(&r->place, &r->why);
	if (r->failed && trouble->unanswered > 0) {
		error_set(&told, 0, "%s: the last %s new lines may not be"
		    " remembered, since the server did not confirm it: a later"
		    " run takes them for new again", r->filter.name,
		    number_format_count(text, trouble->unanswered));
		place_tell(&r->place, &told);
	}
	release(r);
	return result;
}

/* What it says of itself */

static struct filter_costs
costs(const struct filter *filter)
{
	return costs_of(&((const struct redis *)(const void *)filter)->place);
}

static int
sample(struct filter *filter, const uint64_t *numbers, size_t n, uint8_t *to,
    struct error *error)
{
	struct redis *r = redis_of(filter);
	struct shards *shards = &r->place.shards;

	if (failed_before(r, error))
		return -1;
	if (shards->kind->read_pages(shards, numbers, n, to, error) < 0)
		return failed(r, error);
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
