/*
 * Shards that are bit strings, on a server without BF.*: the pages of one layer
 * as a file has them (bloomdedup(5)), cut into S strings of equal length. They
 * don't grow. After its pages a string has a trailer of 16 bytes: the first bit
 * is set when it is made, and the last eight bytes are the number of lines that
 * were marked, big-endian.
 */
#include "redis/shards.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bits/block.h"

#define TRAILER_BYTES 16u
/* Lines of a command: one takes the server about a millisecond. */
#define LINES_MAX 32u

static uint64_t
trailer(const struct shards *shards)
{
	return shards->layout.shard_pages * PAGE_BYTES;
}

/* A part of a BITFIELD. Redis counts bits from the high end of a byte. */
static void
put_operation(struct net *net, const char *name, const char *type,
    uint64_t bit, const char *value)
{
	net_text(net, name);
	net_text(net, type);
	net_number(net, (int64_t)bit);
	if (value != NULL)
		net_text(net, value);
}

static int
bits_make(struct shards *shards, struct error *error)
{
	uint64_t end = 8 * trailer(shards);

	shards_begin(shards, CARE_NONE, shards_take, 0, 10, "BITFIELD");
	put_operation(shards->net, "SET", "u1", end, "1");
	put_operation(shards->net, "SET", "i64", end + 64, "0");
	if (net_end(shards->net, error) < 0)
		return -1;
	return shards_expire(shards, error);
}

/* Asking */

/* Digest `tag / t` of the order, its cache line `tag % t`. */
static int
take_line(void *context, size_t tag, redisReply *reply, enum fate fate,
    struct error *error)
{
	struct shards *shards = context;
	struct shard_batch *b = shards->batch;
	const struct geometry *g = &shards->layout.geometry;
	size_t t = g->cache_lines, i = tag / t;
	_Alignas(CACHE_LINE_BYTES) uint8_t cache_line[CACHE_LINE_BYTES];
	uint32_t digest;

	(void)fate;
	if (reply == NULL)
		return 0;
	digest = b->order[i];
	if (reply->type != REDIS_REPLY_STRING)
		return shards_odd(shards, reply, error);
	if (reply->len != CACHE_LINE_BYTES) {
		shards_lack(shards, shards_of(shards, i));
		return 0;
	}
	memcpy(cache_line, reply->str, CACHE_LINE_BYTES);
	b->lines_found[i] += (uint8_t)block_probe_cache_line(g,
	    b->digests[digest], (unsigned)(tag % t), cache_line);
	b->found[digest] |= b->lines_found[i] == t;
	return 0;
}

static int
bits_ask(struct shards *shards, size_t first, size_t n, struct error *error)
{
	const struct geometry *g = &shards->layout.geometry;

	memset(shards->batch->lines_found + first, 0, n);
	for (size_t i = first; i < first + n; i++) {
		struct digest digest = shards_digest(shards, i);
		unsigned lines[CACHE_LINES_MAX];
		uint64_t page, at;

		block_pages(g, &digest, 1, &page);
		block_cache_lines(g, digest, lines);
		for (unsigned j = 0; j < g->cache_lines; j++) {
			at = page % shards->layout.shard_pages * PAGE_BYTES +
			    lines[j] * CACHE_LINE_BYTES;
			shards_begin(shards, CARE_NONE, take_line,
			    i * g->cache_lines + j, 4, "GETRANGE");
			net_number(shards->net, (int64_t)at);
			net_number(shards->net,
			    (int64_t)at + CACHE_LINE_BYTES - 1);
			if (net_end(shards->net, error) < 0)
				return -1;
		}
	}
	return 0;
}

/* Marking */

static void
add_bit(void *context, uint64_t page, unsigned line, unsigned lane,
    unsigned bit)
{
	const struct shards *shards = context;
	uint64_t byte = page % shards->layout.shard_pages * PAGE_BYTES +
	    line * CACHE_LINE_BYTES + lane * 8 + bit / 8;

	put_operation(shards->net, "SET", "u1", 8 * byte + 7 - bit % 8, "1");
}

/* Was the shard there? If not, there is one now, which nobody takes for one. */
static int
check_shard(struct shards *shards, unsigned shard, const redisReply *reply,
    struct error *error)
{
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 2)
		return shards_odd(shards, reply, error);
	if (reply->element[reply->elements - 1]->integer == 0)
		shards_lack(shards, shard);
	return 0;
}

/* Was line i of a command there? If all of its bits were. */
static int
was_there(const struct shards *shards, const redisReply *reply, size_t i)
{
	size_t k = shards->layout.geometry.k;

	for (size_t j = 0; j < k; j++) {
		if (reply->element[i * k + j]->integer == 0)
			return 0;
	}
	return 1;
}

static void
count_new(struct shards *shards, unsigned shard, uint64_t lines)
{
	shards->lines += lines;
	shards->batch->uncounted[shard] += lines;
}

/* Does the answer list the bits of n lines, and that of the trailer? */
static int
is_list(const struct shards *shards, const redisReply *reply, size_t n)
{
	return reply->type == REDIS_REPLY_ARRAY &&
	    reply->elements == n * shards->layout.geometry.k + 1;
}

static int
bits_take_marked(void *context, size_t tag, redisReply *reply,
    enum fate fate, struct error *error)
{
	struct shards *shards = context;
	unsigned shard = (unsigned)(tag / (LINES_MAX + 1));
	size_t n = tag % (LINES_MAX + 1);
	uint64_t new_lines = 0;

	(void)fate;
	if (reply == NULL)
		return 0;
	if (is_list(shards, reply, n)) {
		for (size_t i = 0; i < n; i++)
			new_lines += !was_there(shards, reply, i);
		count_new(shards, shard, new_lines);
		shards->trouble->unanswered -= n;
		return check_shard(shards, shard, reply, error);
	}
	if (!shards_are_refused(shards, reply, n))
		return shards_odd(shards, reply, error);
	shards->trouble->unanswered -= n;
	return 0;
}

static int
bits_take_claimed(void *context, size_t tag, redisReply *reply,
    enum fate fate, struct error *error)
{
	struct shards *shards = context;
	size_t first = tag / (LINES_MAX + 1), n = tag % (LINES_MAX + 1);
	uint64_t new_lines = 0;

	if (reply == NULL || !is_list(shards, reply, n)) {
		shards_claim_failed(shards, first, n, reply, fate);
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		uint8_t *found =
		    &shards->batch->found[shards->batch->order[first + i]];

		if (!was_there(shards, reply, i))
			*found = CLAIMED_NEW;
		else if (fate == FATE_REPEATED)
			*found = CLAIMED_UNCERTAIN;
		else
			*found = CLAIMED_SEEN;
		new_lines += *found == CLAIMED_NEW;
	}
	count_new(shards, shards_of(shards, first), new_lines);
	return check_shard(shards, shards_of(shards, first), reply, error);
}

/* One command: all bits of n digests, and the first one of the trailer. */
static int
bits_mark(struct shards *shards, size_t first, size_t n, struct error *error)
{
	const struct geometry *g = &shards->layout.geometry;
	size_t words = 2 + 4 * n * g->k + 3;

	if (shards->batch->found != NULL)
		shards_begin(shards, CARE_CLAIM, bits_take_claimed,
		    first * (LINES_MAX + 1) + n, words, "BITFIELD");
	else
		shards_begin(shards, CARE_NONE, bits_take_marked,
		    shards->shard * (LINES_MAX + 1) + n, words, "BITFIELD");
	for (size_t i = first; i < first + n; i++)
		block_visit(g, shards_digest(shards, i), add_bit, shards);
	put_operation(shards->net, "GET", "u1", 8 * trailer(shards), NULL);
	return net_end(shards->net, error);
}

/* Counting */

static int
take_trailer(void *context, size_t shard, redisReply *reply,
    enum fate fate, struct error *error)
{
	struct shards *shards = context;
	const uint8_t *p;
	uint64_t lines = 0;

	(void)fate;
	if (reply == NULL)
		return 0;
	p = (const uint8_t *)reply->str;
	if (reply->type != REDIS_REPLY_STRING)
		return shards_odd(shards, reply, error);
	if (reply->len != TRAILER_BYTES || !(p[0] & 0x80)) {
		shards_lack(shards, (unsigned)shard);
		return 0;
	}
	for (int i = 8; i < 16; i++)
		lines = lines << 8 | p[i];
	shards->lines += lines;
	return 0;
}

static int
bits_count(struct shards *shards, struct error *error)
{
	uint64_t at = trailer(shards);

	shards_begin(shards, CARE_NONE, take_trailer, shards->shard, 4,
	    "GETRANGE");
	net_number(shards->net, (int64_t)at);
	net_number(shards->net, (int64_t)(at + TRAILER_BYTES - 1));
	return net_end(shards->net, error);
}

/* A count that is lost is one too few; one that is repeated, too many. */
static int
take_noted(void *context, size_t shard, redisReply *reply,
    enum fate fate, struct error *error)
{
	(void)fate;
	if (reply == NULL || reply->type == REDIS_REPLY_ERROR)
		return 0;
	return check_shard(context, (unsigned)shard, reply, error);
}

static int
bits_note(struct shards *shards, struct error *error)
{
	uint64_t *uncounted = &shards->batch->uncounted[shards->shard];
	uint64_t end = 8 * trailer(shards);
	char lines[24];

	snprintf(lines, sizeof lines, "%" PRIu64, *uncounted);
	*uncounted = 0;
	shards_begin(shards, CARE_ONCE, take_noted, shards->shard, 9,
	    "BITFIELD");
	put_operation(shards->net, "INCRBY", "i64", end + 64, lines);
	put_operation(shards->net, "GET", "u1", end, NULL);
	return net_end(shards->net, error);
}

/* Reading */

/* The pages that were asked for; answers fill them in. */
struct page_reading {
	struct shards *shards;
	const uint64_t *numbers;
	uint8_t *to;
};

static int
take_page(void *context, size_t i, redisReply *reply, enum fate fate,
    struct error *error)
{
	const struct page_reading *reading = context;
	struct shards *shards = reading->shards;

	(void)fate;
	if (reply == NULL)
		return 0;
	if (reply->type != REDIS_REPLY_STRING)
		return shards_odd(shards, reply, error);
	if (reply->len == PAGE_BYTES)
		memcpy(reading->to + i * PAGE_BYTES, reply->str, PAGE_BYTES);
	else
		shards_lack(shards, (unsigned)(reading->numbers[i] /
		    shards->layout.shard_pages));
	return 0;
}

static int
bits_read_pages(struct shards *shards, const uint64_t *numbers, size_t n,
    uint8_t *to, struct error *error)
{
	struct page_reading reading = { shards, numbers, to };
	int result = 0;

	memset(to, 0, n * PAGE_BYTES);
	for (size_t i = 0; i < n && result == 0; i++) {
		uint64_t at =
		    numbers[i] % shards->layout.shard_pages * PAGE_BYTES;

		shards_select(shards, (unsigned)(numbers[i] /
		    shards->layout.shard_pages));
		net_begin(shards->net, shards->slot, CARE_NONE, take_page,
		    &reading, i, 4);
		net_text(shards->net, "GETRANGE");
		net_word(shards->net, shards->key, shards->key_bytes);
		net_number(shards->net, (int64_t)at);
		net_number(shards->net, (int64_t)(at + PAGE_BYTES - 1));
		result = net_end(shards->net, error);
	}
	if (result == 0 && net_finish(shards->net, error) == 0)
		return 0;
	/* Requests that are still on their way would write into `reading`. */
	net_abandon(shards->net);
	return -1;
}

const struct shard_operations bits_operations = {
	.part_max = LINES_MAX,
	.make = bits_make, .ask = bits_ask, .mark = bits_mark,
	.count = bits_count, .note = bits_note, .read_pages = bits_read_pages
};
