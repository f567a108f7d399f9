#include "redis/claim.h"

#include <string.h>

#include "bits/block.h"
#include "redis/chunks.h"
#include "redis/cluster.h"

void
claims_free(struct claims *c)
{
	marks_free(&c->marks);
	group_free(&c->fetch.group);
}

static void
set_state(struct claims *c, size_t first, size_t end, enum claim_state state)
{
	for (size_t i = first; i < end; i++)
		c->state[group_item(&c->marks.group, i)] = (uint8_t)state;
}

static void
keep_damage(struct claims *c, uint64_t chunk, const char *what)
{
	chunk_damaged(c->marks.server, c->marks.layer.number, chunk, what,
	    &c->damage);
}

static int
refused(const struct claims *c, uint64_t chunk, const char *text,
    struct error *error)
{
	return chunk_refused(c->marks.server, c->marks.layer.number, chunk,
	    text, error);
}

/* With a window, the last command of each request is EXPIRE. */
static int
is_expiry(const struct claims *c, size_t i, size_t count)
{
	return c->marks.layer.kept > 0 && i + 1 == count;
}

/* Bit by bit */

/* The state of digest number `i` of a BITFIELD, by its old bits. */
static enum claim_state
state_of(const struct claims *c, const redisReply *reply, size_t i)
{
	unsigned k = c->marks.geometry.k;

	for (unsigned bit = 0; bit < k; bit++) {
		if (reply->element[2 + i * k + bit]->integer == 0)
			return reply->element[0]->integer != 0 ?
			    CLAIM_CLOSED : CLAIM_NEW;
	}
	return CLAIM_SEEN;
}

static int
take_bits(void *context, size_t first, enum redis_outcome outcome,
    redisReply *const *replies, size_t count, struct error *error)
{
	struct claims *c = context;
	const struct group *group = &c->marks.group;
	size_t end = group_end(group, first, c->marks.n), i = first;
	uint64_t chunk = group_chunk(group, first);

	if (outcome == REDIS_LOST)
		set_state(c, first, end, CLAIM_UNCERTAIN);
	for (size_t r = 0; r < count; r++) {
		const redisReply *reply = replies[r];

		if (reply->type == REDIS_REPLY_ERROR)
			return refused(c, chunk, reply->str, error);
		if (is_expiry(c, r, count))
			continue;
		if (reply->elements < 2 || reply->element[1]->integer != 'b') {
			keep_damage(c, chunk, "is missing or cut short");
			return 0;
		}
		for (size_t j = 0; 2 + (j + 1) * c->marks.geometry.k <=
		    reply->elements; j++, i++)
			c->state[group_item(group, i)] =
			    (uint8_t)state_of(c, reply, j);
	}
	return 0;
}

static int
send_bits(struct claims *c, const char *key, size_t length, size_t first,
    size_t end, struct error *error)
{
	struct redis_net *net = c->marks.server->net;

	redis_net_begin(net, cluster_slot(key, length), REQUEST_ERRORS |
	    REQUEST_ONCE, take_bits, c, first);
	marks_add_bits(&c->marks, key, length, first, end);
	return redis_net_end(net, 5 * (end - first) * c->marks.geometry.k,
	    error);
}

/* A chunk at once */

/* The digests' states by the mirror, which has the bits as they were before. */
static void
ask_mirror(struct claims *c, size_t first, size_t end, int closed)
{
	for (size_t i = first; i < end; i++) {
		size_t item = group_item(&c->marks.group, i);
		uint8_t found = 0;

		block_probe(&c->fetch.mirror->array, c->marks.digests + item,
		    1, &found);
		c->state[item] = (uint8_t)(found ? CLAIM_SEEN : closed ?
		    CLAIM_CLOSED : CLAIM_NEW);
	}
}

/*
 * The replies are those to SET, to MULTI, to each command that was queued, and
 * to EXEC: what was read, BITOP's length, 1 if the scratch key was there, and
 * with a window, EXPIRE's.
 */
static int
take_transaction(struct claims *c, size_t first, size_t end,
    const redisReply *exec)
{
	size_t reads = exec->elements - 2 - (c->marks.layer.kept > 0);
	uint64_t chunk = group_chunk(&c->marks.group, first);
	int closed;

	if (exec->element[reads + 1]->integer != 1)
		return REDIS_AGAIN;
	if (fetch_take_replies(&c->fetch, first, end, exec->element, reads,
	    &closed) < 0)
		return 0;
	if (exec->element[reads]->integer != (long long)(TRAILER_BYTES +
	    chunk_bytes(c->marks.geometry.pages, chunk)))
		keep_damage(c, chunk, "is missing or cut short");
	ask_mirror(c, first, end, closed);
	return 0;
}

static int
take_chunk(void *context, size_t first, enum redis_outcome outcome,
    redisReply *const *replies, size_t count, struct error *error)
{
	struct claims *c = context;
	const struct group *group = &c->marks.group;
	size_t end = group_end(group, first, c->marks.n);
	uint64_t chunk = group_chunk(group, first);
	char key[REDIS_KEY_MAX];

	if (outcome == REDIS_MIGRATING)
		return send_bits(c, key, key_chunk(key, &c->marks.server->keys,
		    c->marks.layer.number, chunk), first, end, error);
	if (outcome == REDIS_LOST) {
		set_state(c, first, end, CLAIM_UNCERTAIN);
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		if (replies[i]->type == REDIS_REPLY_ERROR)
			return refused(c, chunk, replies[i]->str, error);
	}
	if (replies[count - 1]->type != REDIS_REPLY_ARRAY ||
	    replies[count - 1]->elements < 3u + (c->marks.layer.kept > 0))
		return refused(c, chunk, "EXEC was refused", error);
	for (size_t i = 0; i < replies[count - 1]->elements; i++) {
		const redisReply *reply = replies[count - 1]->element[i];

		if (reply->type == REDIS_REPLY_ERROR)
			return refused(c, chunk, reply->str, error);
	}
	return take_transaction(c, first, end, replies[count - 1]);
}

static int
send_chunk(struct claims *c, const char *key, size_t length, size_t first,
    size_t end, struct error *error)
{
	struct redis_net *net = c->marks.server->net;
	char scratch[MARKS_SCRATCH_MAX];
	size_t reply;

	redis_net_begin(net, cluster_slot(key, length), REQUEST_ERRORS |
	    REQUEST_ONCE | REQUEST_SEVERAL_KEYS, take_chunk, c, first);
	marks_add_scratch(&c->marks, key, first, end, scratch);
	redis_net_command(net, 1);
	redis_net_text(net, "MULTI");
	fetch_add_commands(&c->fetch, key, length, first, end, &reply);
	marks_add_join(&c->marks, key, length, scratch);
	redis_net_command(net, 1);
	redis_net_text(net, "EXEC");
	return redis_net_end(net, reply, error);
}

int
claims_make(struct claims *c, struct server *server, struct mirror *mirror,
    const struct redis_layer *layer, const struct digest *digests, size_t n,
    uint8_t *state, struct error *error)
{
	size_t end;

	c->state = state;
	c->damage.status = STATUS_OK;
	memset(state, CLAIM_CLOSED, n);
	marks_begin(&c->marks, server, &mirror->array.geometry, layer, digests,
	    n);
	fetch_begin(&c->fetch, server, mirror, layer->number,
	    c->marks.digests, n, &c->damage);
	for (size_t first = 0; first < n; first = end) {
		char key[REDIS_KEY_MAX];
		size_t length = key_chunk(key, &server->keys, layer->number,
		    group_chunk(&c->marks.group, first));

		end = group_end(&c->marks.group, first, n);
		if ((marks_are_few(end - first) ? send_bits : send_chunk)(c,
		    key, length, first, end, error) < 0)
			return -1;
	}
	if (redis_net_finish(server->net, error) < 0)
		return -1;
	/* A chunk that is gone as its generation is over counts as closed. */
	if (c->damage.status == STATUS_OK || redis_layer_is_over(layer))
		return 0;
	*error = c->damage;
	return -1;
}
