#include "redis/shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bits/block.h"
#include "redis/cluster.h"

/* Digests whose pages are computed at a time. */
#define PIECE 256
/* How long a shard lives that no header names, in seconds. */
#define UNBORN_SECONDS 3600

void
shards_select(struct shards *shards, unsigned shard)
{
	shards->shard = shard;
	shards->key_bytes = layout_shard_key(shards->key, shards->name,
	    shards->id, shards->generation, shard);
	shards->slot = cluster_slot(shards->key, shards->key_bytes);
}

void
shards_free_batch(struct shard_batch *b)
{
	free(b->order);
	free(b->lines_found);
}

/* Shards are few, so a counting sort is enough. */
void
shards_sort(const struct shards *shards, const struct digest *digests, size_t n,
    uint8_t *found)
{
	struct shard_batch *b = shards->batch;
	uint64_t pages[PIECE], of_one = shards->layout.shard_pages;
	uint32_t at[LAYOUT_SHARDS_MAX] = { 0 }, *of;

	b->digests = digests;
	b->found = found;
	if (n > b->room) {
		shards_free_batch(b);
		b->room = n;
		b->order = memory_or_die(malloc(2 * n * sizeof *b->order));
		b->lines_found = memory_or_die(malloc(n));
	}
	of = b->order + b->room;
	memset(b->starts, 0, sizeof b->starts);
	for (size_t i = 0; i < n; i += PIECE) {
		size_t some = n - i < PIECE ? n - i : PIECE;

		block_pages(&shards->layout.geometry, digests + i, some, pages);
		for (size_t j = 0; j < some; j++) {
			of[i + j] = (uint32_t)(pages[j] / of_one);
			b->starts[of[i + j] + 1]++;
		}
	}
	for (unsigned i = 0; i < shards->layout.shards; i++) {
		b->starts[i + 1] += b->starts[i];
		at[i] = b->starts[i];
	}
	for (size_t i = 0; i < n; i++)
		b->order[at[of[i]]++] = (uint32_t)i;
}

int
shards_parts(struct shards *shards, shards_part *make, struct error *error)
{
	const uint32_t *starts = shards->batch->starts;
	size_t most = shards->kind->part_max;

	for (unsigned i = 0; i < shards->layout.shards; i++) {
		size_t end = starts[i + 1];

		if (starts[i] < end)
			shards_select(shards, i);
		for (size_t first = starts[i]; first < end; first += most) {
			size_t n = end - first < most ? end - first : most;

			if (make(shards, first, n, error) < 0)
				return -1;
		}
	}
	return 0;
}

unsigned
shards_of(const struct shards *shards, size_t index)
{
	unsigned shard = 0;

	while (shards->batch->starts[shard + 1] <= index)
		shard++;
	return shard;
}

int
shards_lack(struct shards *shards, unsigned shard)
{
	if (shards->over != 0 && clock_now() >= shards->over)
		return 0;
	if (shards->trouble->missing[0] == '\0')
		layout_shard_key(shards->trouble->missing, shards->name,
		    shards->id, shards->generation, shard);
	return 1;
}

void
shards_refuse(struct shards *shards, uint64_t lines, const char *why)
{
	if (shards->trouble->refused == 0)
		snprintf(shards->trouble->why, sizeof shards->trouble->why,
		    "%s", why);
	shards->trouble->refused += lines;
}

int
shards_are_refused(struct shards *shards, const redisReply *reply,
    uint64_t lines)
{
	int full = reply->type == REDIS_REPLY_ERROR &&
	    strncmp(reply->str, "OOM", 3) == 0;

	if (full)
		shards_refuse(shards, lines, reply->str);
	return full;
}

void
shards_set_claimed(struct shards *shards, size_t first, size_t n,
    enum claimed claimed)
{
	for (size_t i = first; i < first + n; i++)
		shards->batch->found[shards->batch->order[i]] =
		    (uint8_t)claimed;
}

void
shards_claim_failed(struct shards *shards, size_t first, size_t n,
    const redisReply *reply, enum fate fate)
{
	enum claimed claimed = CLAIMED_UNCERTAIN;

	if (fate == FATE_UNSENT)
		claimed = CLAIMED_NOT;
	/* An error is an answer if it says that nothing was carried out. */
	if (fate == FATE_ANSWERED && reply->type == REDIS_REPLY_ERROR &&
	    cluster_refuses(reply->str))
		claimed = CLAIMED_NOT;
	shards_set_claimed(shards, first, n, claimed);
	if (reply != NULL && !shards_are_refused(shards, reply, n) &&
	    shards->trouble->failure.status == 0)
		shards_odd(shards, reply, &shards->trouble->failure);
}

int
shards_odd(const struct shards *shards, const redisReply *reply,
    struct error *error)
{
	if (reply->type == REDIS_REPLY_ERROR)
		return error_set(error, STATUS_FAILED, "%s: the server says:"
		    " %s", shards->shown, reply->str);
	return error_set(error, STATUS_FAILED, "%s: the server sent an answer"
	    " that cannot be understood", shards->shown);
}

void
shards_begin(struct shards *shards, enum care care, redis_answer *answer,
    size_t tag, size_t words, const char *command)
{
	net_begin(shards->net, shards->slot, care, answer, shards, tag, words);
	net_text(shards->net, command);
	net_word(shards->net, shards->key, shards->key_bytes);
}

int
shards_take(void *context, size_t tag, redisReply *reply,
    enum fate fate, struct error *error)
{
	(void)tag;
	(void)fate;
	if (reply == NULL)
		return 0;
	if (reply->type == REDIS_REPLY_ERROR)
		return shards_odd(context, reply, error);
	return 0;
}

int
shards_each(struct shards *shards, shards_one *make, struct error *error)
{
	for (unsigned i = 0; i < shards->layout.shards; i++) {
		shards_select(shards, i);
		if (make(shards, error) < 0)
			return -1;
	}
	return net_finish(shards->net, error);
}

int
shards_count(struct shards *shards, struct error *error)
{
	shards->lines = 0;
	return shards_each(shards, shards->kind->count, error);
}

int
shards_note(struct shards *shards, struct error *error)
{
	for (unsigned i = 0; shards->kind->note != NULL &&
	    i < shards->layout.shards;
	    i++) {
		if (shards->batch->uncounted[i] == 0)
			continue;
		shards_select(shards, i);
		if (shards->kind->note(shards, error) < 0)
			return -1;
	}
	return 0;
}

int
shards_keep(struct shards *shards, struct error *error)
{
	shards_begin(shards, CARE_NONE, shards_take, 0, 2, "PERSIST");
	return net_end(shards->net, error);
}

int
shards_expire(struct shards *shards, struct error *error)
{
	int unborn = shards->generation == LAYOUT_NO_GENERATION;

	shards_begin(shards, CARE_NONE, shards_take, 0, 3, unborn ? "EXPIRE" :
	    "EXPIREAT");
	net_number(shards->net, unborn ? UNBORN_SECONDS : shards->expires);
	return net_end(shards->net, error);
}

int
shards_delete(struct shards *shards, struct error *error)
{
	shards_begin(shards, CARE_NONE, shards_take, 0, 2, "UNLINK");
	return net_end(shards->net, error);
}
