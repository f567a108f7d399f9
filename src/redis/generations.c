#include "redis/generations.h"

#include <stdlib.h>

#include "base/clock.h"

/* How often the node is asked for its time. */
#define ASK_TIME_EVERY (60 * CLOCK_SECOND)

static void
free_set(struct generations *g)
{
	for (unsigned i = 0; i < g->count; i++)
		shards_free(&g->set[i]);
	g->count = 0;
}

void
generations_begin(struct generations *g, const struct shards *like,
    const struct window *window)
{
	*g = (struct generations){ .like = *like,
		.quarter = window->kind == WINDOW_NONE ? 0 :
		(int64_t)(window->length + 3) / 4 };
	if (g->quarter == 0)
		g->set[g->count++] = *like;
}

void
generations_free(struct generations *g)
{
	free_set(g);
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
		reply = net_call(g->like.net, key, 0, error, "TIME");
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

/* Has it been made? Its shards are there, too, or it is damaged. */
static int
is_there(struct generations *g, int64_t number, struct error *error)
{
	char key[LAYOUT_KEY_MAX];
	redisReply *reply;
	int there;

	layout_generation_key(key, g->like.name, g->like.id, number);
	reply = net_call(g->like.net, key, 0, error, "GET %s", key);
	if (reply == NULL)
		return -1;
	there = reply->type != REDIS_REPLY_NIL;
	freeReplyObject(reply);
	return there;
}

static struct shards
one(const struct generations *g, int64_t number)
{
	struct shards s = g->like;

	s.generation = number;
	s.expires = (number + 6) * g->quarter;
	return s;
}

/* Another client may do the same: all commands may be repeated. */
static int
make_newest(struct generations *g, int64_t number,
    const struct shard_operations *kind, struct error *error)
{
	struct shards s = one(g, number);
	char key[LAYOUT_KEY_MAX];
	redisReply *reply;

	if (shards_make(&s, kind, error) < 0)
		return -1;
	layout_generation_key(key, s.name, s.id, number);
	reply = net_call(s.net, key, 0, error, "SET %s 1 NX EXAT %lld", key,
	    (long long)s.expires);
	if (reply == NULL)
		return -1;
	freeReplyObject(reply);
	return 1;
}

int
generations_turn(struct generations *g, const struct shard_operations *kind,
    int make, struct error *error)
{
	unsigned before = g->count;
	int64_t now, newest;
	int turned;

	if (g->quarter == 0)
		return 0;
	if (find_time(g, &now, error) < 0)
		return -1;
	newest = now / g->quarter;
	if (g->complete && newest == g->newest)
		return 0;
	if (net_finish(g->like.net, error) < 0)
		return -1;
	free_set(g);
	for (int64_t i = newest; i > newest - (int64_t)GENERATIONS_MAX; i--) {
		int there = is_there(g, i, error);

		if (there == 0 && make && i == newest)
			there = make_newest(g, i, kind, error);
		if (there < 0)
			return -1;
		if (i == newest)
			g->complete = there;
		if (there)
			g->set[g->count++] = one(g, i);
	}
	turned = newest != g->newest || g->count != before;
	g->newest = newest;
	return turned;
}

int
generations_delete(struct generations *g, struct error *error)
{
	char key[LAYOUT_KEY_MAX];
	redisReply *reply;
	int64_t now;

	if (g->quarter == 0)
		return shards_delete(&g->like, error);
	if (find_time(g, &now, error) < 0)
		return -1;
	now /= g->quarter;
	for (int64_t i = now + 1; i > now - 7; i--) {
		struct shards s = one(g, i);
		int there = is_there(g, i, error);

		if (there < 0 || (there && shards_delete(&s, error) < 0))
			return -1;
		layout_generation_key(key, s.name, s.id, i);
		reply = there ? net_call(s.net, key, 0, error, "UNLINK %s",
		    key) : NULL;
		if (there && reply == NULL)
			return -1;
		if (reply != NULL)
			freeReplyObject(reply);
	}
	return 0;
}
