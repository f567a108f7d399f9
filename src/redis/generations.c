#include "redis/generations.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/number.h"
#include "model/window.h"

/* How old a sample may be. */
#define SAMPLE_AGE (60 * CLOCK_SECOND)
/* A sample that took longer than this is repeated some times. */
#define SAMPLE_WIDTH CLOCK_SECOND
#define SAMPLE_TRIES 3
/* Two clocks differ by less than this share of the time between. */
#define DRIFT 1000
/* So near to the end of a generation, an older sample is not enough. */
#define NEAR_TURN 1000000 /* microseconds */

void
generations_begin(struct generations *g, const struct shards *like,
    const struct window *window)
{
	*g = (struct generations){ .like = *like, .first = -1, .last = -1 };
	if (window->kind != WINDOW_NONE) {
		g->quarter = (int64_t)(window->length + 3) / 4;
	} else {
		g->set[g->count++] = *like;
		g->due = g->set;
	}
}

/* Time */

/* A number in an answer to TIME. Microseconds of so many seconds fit in an
 * int64_t, with others beside them. */
static int
number_of(const redisReply *word, uint64_t *number)
{
	const char *at = word->str;

	if (at == NULL)
		return -1;
	return number_digits(&at, NULL, INT64_MAX / 2000000, number);
}

/* Ask the server for its time once, after all else is answered. */
static int
take_sample(struct generations *g, struct time_sample *sample,
    struct error *error)
{
	char key[LAYOUT_KEY_MAX];
	uint64_t seconds, rest;
	redisReply *reply;
	int result = 0;

	if (net_finish(g->like.net, error) < 0)
		return -1;
	layout_header_key(key, g->like.name);
	sample->asked = clock_now();
	reply = net_call(g->like.net, key, error, "TIME");
	if (reply == NULL)
		return -1;
	sample->answered = clock_now();
	if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
	    number_of(reply->element[0], &seconds) == 0 &&
	    number_of(reply->element[1], &rest) == 0)
		sample->microseconds = (int64_t)(1000000 * seconds + rest);
	else
		result = shards_odd(&g->like, reply, error);
	freeReplyObject(reply);
	return result;
}

/* Ask the node for its time, until an answer is narrow enough. */
static int
ask_time(struct generations *g, struct error *error)
{
	struct time_sample best = { 0 }, sample;

	for (int i = 0; i < SAMPLE_TRIES; i++) {
		if (take_sample(g, &sample, error) < 0)
			return -1;
		if (i == 0 || sample.answered - sample.asked <
		    best.answered - best.asked)
			best = sample;
		if (best.answered - best.asked <= SAMPLE_WIDTH)
			break;
	}
	/*
	 * Its keys still expire when they should, but all lines would seem to
	 * be forgotten.
	 */
	if (best.microseconds / 1000000 < WINDOW_CLOCK_LEAST)
		return error_set(error, STATUS_FAILED, "%s: the server's clock"
		    " is before 2026, so it is wrong, and a window of time goes"
		    " by it", g->like.shown);
	g->sample = best;
	return 0;
}

/* The bounds of the time now, in microseconds, by a sample. */
static struct turn_time
bounds(const struct time_sample *sample)
{
	uint64_t now = clock_now(), shortest = now - sample->answered;
	uint64_t longest = now - sample->asked;

	shortest -= shortest / DRIFT;
	longest += longest / DRIFT;
	/* The node cuts off nanoseconds. */
	return (struct turn_time){ sample->microseconds +
	    (int64_t)(shortest / 1000), sample->microseconds +
	    (int64_t)(longest / 1000) + 2 };
}

static int64_t
generation_at(const struct generations *g, int64_t microseconds)
{
	return turn_first((struct turn_time){ microseconds / 1000000, 0 },
	    g->quarter);
}

/* The bounds of the time now, in seconds: near a turn by a new sample. */
static int
read_time(struct generations *g, struct turn_time *seconds,
    struct error *error)
{
	struct turn_time now = { 0, 0 };
	int ask = g->sample.answered == 0 ||
	    clock_now() - g->sample.answered > SAMPLE_AGE;

	if (!ask) {
		now = bounds(&g->sample);
		ask = generation_at(g, now.lower - NEAR_TURN) !=
		    generation_at(g, now.upper + NEAR_TURN);
	}
	if (ask && ask_time(g, error) < 0)
		return -1;
	now = bounds(&g->sample);
	*seconds = (struct turn_time){ now.lower / 1000000,
		now.upper / 1000000 };
	return 0;
}

/* Generations */

static struct shards
one(const struct generations *g, int64_t number)
{
	struct shards shards = g->like;
	int64_t left;

	shards.over = 0;
	shards.generation = number;
	shards.expires = (number + 6) * g->quarter;
	/* The clock has room for centuries; nobody sees a longer one end. */
	if (g->quarter <= UINT32_MAX / 4) {
		left = (number + 5) * g->quarter * 1000000 -
		    bounds(&g->sample).lower;
		shards.over = clock_now() + (left < 0 ? 0 :
		    1000 * (uint64_t)left);
	}
	return shards;
}

/* Make a command with a generation's key. Returns 0 if the answer is nil. */
static int
with_key(const struct shards *shards, const char *format, struct error *error)
{
	char key[LAYOUT_KEY_MAX];
	redisReply *reply;
	int result;

	layout_generation_key(key, shards->name, shards->id,
	    shards->generation);
	reply = net_call(shards->net, key, error, format, key,
	    (long long)shards->expires);
	if (reply == NULL)
		return -1;
	if (reply->type == REDIS_REPLY_ERROR)
		result = shards_odd(shards, reply, error);
	else
		result = reply->type != REDIS_REPLY_NIL;
	freeReplyObject(reply);
	return result;
}

/*
 * Was it made, and so a missing shard is damage? Its key says so, and if that
 * was evicted, the lines in it: nobody marks any before.
 */
static int
was_made(struct shards shards, struct error *error)
{
	int there = with_key(&shards, "GET %s", error);
	struct trouble unused = { 0 };

	if (there != 0)
		return there;
	shards.trouble = &unused;
	if (shards_count(&shards, error) < 0)
		return -1;
	return shards.lines > 0;
}

/* Another client may do the same: all may be repeated. Returns 1, or -1. */
static int
make_generation(struct shards *shards, struct error *error)
{
	if (shards_each(shards, shards->kind->make, error) < 0 ||
	    with_key(shards, "SET %s 1 NX EXAT %lld", error) < 0)
		return -1;
	return 1;
}

/* Find a generation, or make it. Returns 1, 0 if it doesn't exist, or -1. */
static int
find_or_make(struct shards *shards, int make, struct error *error)
{
	int there = was_made(*shards, error);

	if (there != 0 || !make)
		return there;
	return make_generation(shards, error);
}

int
generations_are_due(struct generations *g, struct error *error)
{
	struct turn_time now;
	struct shards shards;

	if (g->quarter == 0)
		return 0;
	if (read_time(g, &now, error) < 0)
		return -1;
	if (turn_first(now, g->quarter) != g->first ||
	    turn_goes_on(now, g->quarter, g->last)) {
		g->first = turn_first(now, g->quarter);
		g->last = g->first + turn_goes_on(now, g->quarter, g->first);
		g->due = NULL;
		return 1;
	}
	/* A reader makes nothing, and looks whether somebody has made it. */
	shards = one(g, g->first);
	return g->due != NULL ? 0 : with_key(&shards, "GET %s", error);
}

int
generations_advance(struct generations *g, int make, struct error *error)
{
	if (net_finish(g->like.net, error) < 0)
		return -1;
	g->count = 0;
	for (int64_t i = g->last; i > g->first - 5; i--) {
		struct shards shards = one(g, i);
		int there = find_or_make(&shards, make && i == g->first, error);

		if (there < 0)
			return -1;
		if (!there)
			continue;
		g->set[g->count] = shards;
		if (i == g->first)
			g->due = &g->set[g->count];
		g->count++;
	}
	return 0;
}

int
generations_next(struct generations *g, int64_t number, struct shards *next,
    struct error *error)
{
	struct turn_time now;

	if (g->quarter == 0)
		return 0;
	if (read_time(g, &now, error) < 0)
		return -1;
	if (!turn_goes_on(now, g->quarter, number))
		return 0;
	number++;
	/*
	 * Generations that are over meanwhile would remember nothing for
	 * anybody.
	 */
	if (number < turn_first(now, g->quarter) - 4)
		number = turn_first(now, g->quarter) - 4;
	*next = one(g, number);
	return find_or_make(next, 1, error);
}

int
generations_delete(struct generations *g, struct error *error)
{
	struct turn_time time;
	int64_t now;

	if (read_time(g, &time, error) < 0)
		return -1;
	now = time.upper / g->quarter;
	for (int64_t i = now + 1; i > now - 7; i--) {
		struct shards shards = one(g, i);
		int there = with_key(&shards, "GET %s", error);

		if (there < 0 || (there &&
		    (shards_each(&shards, shards_delete, error) < 0 ||
		    with_key(&shards, "UNLINK %s", error) < 0)))
			return -1;
	}
	return 0;
}
