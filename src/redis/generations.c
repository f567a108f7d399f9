#include "redis/generations.h"

#include <stdlib.h>

#include "base/clock.h"

/* How often the node is asked for its time. */
#define ASK_TIME_EVERY (60 * CLOCK_SECOND)

void
generations_begin(struct generations *g, const struct shards *like,
    const struct window *window)
{
	*g = (struct generations){ .like = *like,
		.quarter = window->kind == WINDOW_NONE ? 0 :
		(int64_t)(window->length + 3) / 4 };
	g->newest = -1;
	if (g->quarter == 0)
		g->set[g->count++] = *like;
}

/* The time of the node that has the header, in seconds since 1970. */
static int
find_time(struct generations *g, int64_t *now, struct error *error)
{
	uint64_t here = clock_now();
	char key[LAYOUT_KEY_MAX];
	redisReply *reply;
	int result = 0;

	if (g->told_at == 0 || here - g->told_at > ASK_TIME_EVERY) {
		layout_header_key(key, g->like.name);
		reply = net_call(g->like.net, key, error, "TIME");
		if (reply == NULL)
			return -1;
		if (reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 &&
		    reply->element[0]->str != NULL)
			g->told = strtoll(reply->element[0]->str, NULL, 10);
		else
			result = shards_odd(&g->like, reply, error);
		freeReplyObject(reply);
		g->told_at = here;
	}
	*now = g->told + (int64_t)((here - g->told_at) / CLOCK_SECOND);
	return result;
}

static struct shards
one(const struct generations *g, int64_t number)
{
	struct shards s = g->like;

	s.over = 0;
	s.generation = number;
	s.expires = (number + 6) * g->quarter;
	/* The clock has room for centuries; nobody sees a longer one end. */
	if (g->quarter <= UINT32_MAX / 4)
		s.over = g->told_at + (uint64_t)((number + 5) * g->quarter -
		    g->told) * CLOCK_SECOND;
	return s;
}

/* Make a command with a generation's key. Returns 0 if the answer is nil. */
static int
with_key(const struct shards *s, const char *format, struct error *error)
{
	char key[LAYOUT_KEY_MAX];
	redisReply *reply;
	int result;

	layout_generation_key(key, s->name, s->id, s->generation);
	reply = net_call(s->net, key, error, format, key,
	    (long long)s->expires);
	if (reply == NULL)
		return -1;
	if (reply->type == REDIS_REPLY_ERROR)
		result = shards_odd(s, reply, error);
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
is_there(struct shards s, struct error *error)
{
	int there = with_key(&s, "GET %s", error);
	struct trouble unused = { 0 };

	if (there != 0)
		return there;
	s.trouble = &unused;
	if (shards_count(&s, error) < 0)
		return -1;
	return s.lines > 0;
}

int
generations_are_due(struct generations *g, struct error *error)
{
	struct shards s;
	int64_t now;

	if (g->quarter == 0)
		return 0;
	if (find_time(g, &now, error) < 0)
		return -1;
	now /= g->quarter;
	if (now != g->newest) {
		g->newest = now;
		g->complete = 0;
		return 1;
	}
	/* A reader waits for somebody who makes it. */
	s = one(g, now);
	return g->complete ? 0 : with_key(&s, "GET %s", error);
}

/* Another client may do the same: all may be repeated. Returns 1, or -1. */
static int
make_generation(struct shards *s, struct error *error)
{
	if (shards_each(s, s->kind->make, error) < 0 ||
	    with_key(s, "SET %s 1 NX EXAT %lld", error) < 0)
		return -1;
	return 1;
}

int
generations_advance(struct generations *g, int make, struct error *error)
{
	if (net_finish(g->like.net, error) < 0)
		return -1;
	g->count = 0;
	for (int64_t i = g->newest; i > g->newest - (int64_t)GENERATIONS_MAX;
	    i--) {
		struct shards s = one(g, i);
		int there = is_there(s, error);

		if (there == 0 && make && i == g->newest)
			there = make_generation(&s, error);
		if (there < 0)
			return -1;
		if (i == g->newest)
			g->complete = there;
		if (there)
			g->set[g->count++] = s;
	}
	return 0;
}

int
generations_delete(struct generations *g, struct error *error)
{
	int64_t now;

	if (find_time(g, &now, error) < 0)
		return -1;
	now /= g->quarter;
	for (int64_t i = now + 1; i > now - 7; i--) {
		struct shards s = one(g, i);
		int there = with_key(&s, "GET %s", error);

		if (there < 0 || (there &&
		    (shards_each(&s, shards_delete, error) < 0 ||
		    with_key(&s, "UNLINK %s", error) < 0)))
			return -1;
	}
	return 0;
}
