/*
 * Shards that are the server's own Bloom filters: BF.* of RedisBloom (Redis 8,
 * Redis Stack, and the module before it) and valkey-bloom. An item is a digest,
 * 16 bytes. BF.MEXISTS of a missing key answers zeros, so each shard is born
 * with an item that every question asks for last. Nothing makes a shard but
 * BF.RESERVE.
 */
#include "redis/shards.h"

#include <stdio.h>
#include <string.h>

#include "base/le.h"

#define SENTINEL "bloomdedup"
/* Items of a command: one takes the server about a millisecond. */
#define ITEMS_MAX 2048u

static void
add_items(const struct shards *shards, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++) {
		struct digest digest = shards_digest(shards, i);
		uint8_t item[16];

		le_put64(item, digest.low);
		le_put64(item + 8, digest.high);
		net_word(shards->net, item, sizeof item);
	}
}

static void
begin_insert(struct shards *shards, enum care care, redis_answer *answer,
    size_t tag, size_t items)
{
	shards_begin(shards, care, answer, tag, 4 + items, "BF.INSERT");
	net_text(shards->net, "NOCREATE");
	net_text(shards->net, "ITEMS");
}

static int
is_missing(const redisReply *reply)
{
	return reply->type == REDIS_REPLY_ERROR &&
	    strstr(reply->str, "not found") != NULL;
}

/* Making */

static int
take_reserved(void *context, size_t tag, redisReply *reply,
    enum fate fate, struct error *error)
{
	if (reply != NULL && reply->type == REDIS_REPLY_ERROR &&
	    strstr(reply->str, "item exists") != NULL)
		return 0;
	return shards_take(context, tag, reply, fate, error);
}

static int
bloom_make(struct shards *shards, struct error *error)
{
	int grows = shards->grows;
	char rate[32];

	snprintf(rate, sizeof rate, "%.17g", shards->layout.rate);
	shards_begin(shards, CARE_NONE, take_reserved, 0, grows ? 6 : 5,
	    "BF.RESERVE");
	net_text(shards->net, rate);
	net_number(shards->net, (int64_t)shards->layout.capacity);
	net_text(shards->net, grows ? "EXPANSION" : "NONSCALING");
	if (grows)
		net_number(shards->net, 2);
	if (net_end(shards->net, error) < 0 || shards_expire(shards, error) < 0)
		return -1;
	begin_insert(shards, CARE_NONE, shards_take, 0, 1);
	net_text(shards->net, SENTINEL);
	return net_end(shards->net, error);
}

/* Asking */

static int
take_found(void *context, size_t tag, redisReply *reply,
    enum fate fate, struct error *error)
{
	struct shards *shards = context;
	const struct shard_batch *b = shards->batch;
	size_t first = tag / (ITEMS_MAX + 1), n = tag % (ITEMS_MAX + 1);

	(void)fate;
	if (reply == NULL)
		return 0;
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != n + 1)
		return shards_odd(shards, reply, error);
	if (reply->element[n]->integer == 0)
		shards_lack(shards, shards_of(shards, first));
	for (size_t i = 0; i < n; i++)
		b->found[b->order[first + i]] |=
		    reply->element[i]->integer != 0;
	return 0;
}

static int
bloom_ask(struct shards *shards, size_t first, size_t n, struct error *error)
{
	shards_begin(shards, CARE_NONE, take_found, first * (ITEMS_MAX + 1) + n,
	    2 + n + 1, "BF.MEXISTS");
	add_items(shards, first, n);
	net_text(shards->net, SENTINEL);
	return net_end(shards->net, error);
}

/* Marking */

/*
 * How many of n items the server took: an error among the answers, or too few
 * of them, says that it did not take that one, nor those that follow.
 */
static size_t
taken(struct shards *shards, const redisReply *reply, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *why = "an answer that is too short";

		if (i < reply->elements) {
			const redisReply *one = reply->element[i];

			if (one->type == REDIS_REPLY_INTEGER)
				continue;
			if (one->type == REDIS_REPLY_ERROR)
				why = one->str;
		}
		shards_refuse(shards, n - i, why);
		return i;
	}
	return n;
}

static int
bloom_take_marked(void *context, size_t tag, redisReply *reply,
    enum fate fate, struct error *error)
{
	struct shards *shards = context;
	size_t n = tag % (ITEMS_MAX + 1);

	(void)fate;
	if (reply == NULL)
		return 0;
	if (is_missing(reply)) {
		shards_lack(shards, (unsigned)(tag / (ITEMS_MAX + 1)));
	} else if (reply->type == REDIS_REPLY_ARRAY) {
		size_t got = taken(shards, reply, n);

		for (size_t i = 0; i < got; i++)
			shards->lines += reply->element[i]->integer != 0;
	} else if (!shards_are_refused(shards, reply, n)) {
		return shards_odd(shards, reply, error);
	}
	shards->trouble->unanswered -= n;
	return 0;
}

/* A part of a batch is answered item by item. */
static void
take_claims(struct shards *shards, size_t first, size_t n,
    const redisReply *reply, enum fate fate)
{
	const struct shard_batch *b = shards->batch;
	size_t got = taken(shards, reply, n);

	for (size_t i = 0; i < got; i++) {
		uint8_t *found = &b->found[b->order[first + i]];

		/* That it was new is certain, even if this is a repetition:
		   nobody has made it known before. */
		if (reply->element[i]->integer != 0)
			*found = CLAIMED_NEW;
		else if (fate == FATE_REPEATED)
			*found = CLAIMED_UNCERTAIN;
		else
			*found = CLAIMED_SEEN;
		shards->lines += *found == CLAIMED_NEW;
	}
	shards_set_claimed(shards, first + got, n - got, fate ==
	    FATE_REPEATED ? CLAIMED_UNCERTAIN : CLAIMED_NOT);
}

static int
bloom_take_claimed(void *context, size_t tag, redisReply *reply,
    enum fate fate, struct error *error)
{
	struct shards *shards = context;
	size_t first = tag / (ITEMS_MAX + 1), n = tag % (ITEMS_MAX + 1);

	(void)error;
	if (reply != NULL && reply->type == REDIS_REPLY_ARRAY)
		take_claims(shards, first, n, reply, fate);
	else if (reply == NULL || !is_missing(reply))
		shards_claim_failed(shards, first, n, reply, fate);
	/* In a generation that is over, nothing is remembered. */
	else if (!shards_lack(shards, shards_of(shards, first)))
		shards_set_claimed(shards, first, n, CLAIMED_NEW);
	return 0;
}

static int
bloom_mark(struct shards *shards, size_t first, size_t n, struct error *error)
{
	if (shards->batch->found != NULL)
		begin_insert(shards, CARE_CLAIM, bloom_take_claimed,
		    first * (ITEMS_MAX + 1) + n, n);
	else
		begin_insert(shards, CARE_NONE, bloom_take_marked,
		    shards->shard * (ITEMS_MAX + 1) + n, n);
	add_items(shards, first, n);
	return net_end(shards->net, error);
}

/* Counting */

static int
take_info(void *context, size_t shard, redisReply *reply,
    enum fate fate, struct error *error)
{
	struct shards *shards = context;

	(void)fate;
	if (reply == NULL)
		return 0;
	if (is_missing(reply)) {
		shards_lack(shards, (unsigned)shard);
		return 0;
	}
	if (reply->type != REDIS_REPLY_ARRAY)
		return shards_odd(shards, reply, error);
	for (size_t i = 0; i + 1 < reply->elements; i += 2) {
		const redisReply *name = reply->element[i];
		long long items = reply->element[i + 1]->integer;

		if (name->str == NULL ||
		    strcmp(name->str, "Number of items inserted") != 0)
			continue;
		/* Each shard is made with one item, which is no line. */
		if (items > 0)
			shards->lines += (uint64_t)items - 1;
		else
			shards_lack(shards, (unsigned)shard);
	}
	return 0;
}

static int
bloom_count(struct shards *shards, struct error *error)
{
	shards_begin(shards, CARE_NONE, take_info, shards->shard, 2, "BF.INFO");
	return net_end(shards->net, error);
}

const struct shard_operations bloom_operations = {
	.part_max = ITEMS_MAX,
	.make = bloom_make, .ask = bloom_ask, .mark = bloom_mark,
	.count = bloom_count
};
