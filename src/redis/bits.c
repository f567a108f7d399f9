/*
 * Shards that are bit strings, on a server without BF.*: the pages of one layer
 * as a file has them (bloomdedup(5)), cut into S strings of equal length. They
 * don't grow. After its pages a string has a trailer of 16 bytes: the first bit
 * is set when it is made, and the last eight bytes are the number of lines that
 * were marked, big-endian.
 */
#include "redis/shards.h"

#include <stdio.h>
#include <string.h>

#include "bits/block.h"

#define TRAILER_BYTES 16u
/* Lines of a command: one takes the server about a millisecond. */
#define LINES_MAX 32u

static uint64_t
trailer(const struct shards *s)
{
	return s->layout.shard_pages * PAGE_BYTES;
}

/* A part of a BITFIELD. Redis counts bits from the high end of a byte. */
static void
add_operation(struct net *net, const char *name, const char *type,
    uint64_t bit, const char *value)
{
	net_text(net, name);
	net_text(net, type);
	net_number(net, (int64_t)bit);
	if (value != NULL)
		net_text(net, value);
}

static int
make(struct shards *s, struct error *error)
{
	uint64_t end = 8 * trailer(s);

	shards_begin(s, 0, shards_take, 0, 10, "BITFIELD");
	add_operation(s->net, "SET", "u1", end, "1");
	add_operation(s->net, "SET", "i64", end + 64, "0");
	if (net_end(s->net, error) < 0)
		return -1;
	return shards_expire(s, error);
}

/* Asking */

/* Digest `tag / t` of the order, its cache line `tag % t`. */
static int
take_line(void *context, size_t tag, redisReply *reply, struct error *error)
{
	struct shards *s = context;
	struct shard_batch *b = s->batch;
	const struct geometry *g = &s->layout.geometry;
	size_t t = g->cache_lines, i = tag / t;
	_Alignas(CACHE_LINE_BYTES) uint8_t cache_line[CACHE_LINE_BYTES];
	uint32_t digest = b->order[i];

	if (reply->type != REDIS_REPLY_STRING)
		return shards_odd(s, reply, error);
	if (reply->len != CACHE_LINE_BYTES) {
		shards_lack(s, shards_of(s, i));
		return 0;
	}
	memcpy(cache_line, reply->str, CACHE_LINE_BYTES);
	b->lines_found[i] += (uint8_t)block_probe_cache_line(g,
	    b->digests[digest], (unsigned)(tag % t), cache_line);
	b->found[digest] |= b->lines_found[i] == t;
	return 0;
}

static int
ask(struct shards *s, size_t first, size_t n, struct error *error)
{
	const struct geometry *g = &s->layout.geometry;

	memset(s->batch->lines_found + first, 0, n);
	for (size_t i = first; i < first + n; i++) {
		struct digest digest = shards_digest(s, i);
		unsigned lines[CACHE_LINES_MAX];
		uint64_t page, at;

		block_pages(g, &digest, 1, &page);
		block_cache_lines(g, digest, lines);
		for (unsigned j = 0; j < g->cache_lines; j++) {
			at = page % s->layout.shard_pages * PAGE_BYTES +
			    lines[j] * CACHE_LINE_BYTES;
			shards_begin(s, 0, take_line,
			    i * g->cache_lines + j, 4, "GETRANGE");
			net_number(s->net, (int64_t)at);
			net_number(s->net, (int64_t)at + CACHE_LINE_BYTES - 1);
			if (net_end(s->net, error) < 0)
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
	const struct shards *s = context;
	uint64_t byte = page % s->layout.shard_pages * PAGE_BYTES +
	    line * CACHE_LINE_BYTES + lane * 8 + bit / 8;

	add_operation(s->net, "SET", "u1", 8 * byte + 7 - bit % 8, "1");
}

/* Was the shard there? If not, there is one now, which nobody takes for one. */
static int
check_shard(struct shards *s, unsigned shard, const redisReply *reply,
    struct error *error)
{
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 2)
		return shards_odd(s, reply, error);
	if (reply->element[reply->elements - 1]->integer == 0)
		shards_lack(s, shard);
	return 0;
}

static int
take_marked(void *context, size_t tag, redisReply *reply, struct error *error)
{
	if (shards_are_refused(context, reply, tag % (LINES_MAX + 1)))
		return 0;
	return check_shard(context, (unsigned)(tag / (LINES_MAX + 1)), reply,
	    error);
}

/* A line was there if all of its bits were. */
static int
take_claimed(void *context, size_t tag, redisReply *reply,
    struct error *error)
{
	struct shards *s = context;
	size_t first = tag / (LINES_MAX + 1), n = tag % (LINES_MAX + 1);
	size_t k = s->layout.geometry.k;
	int known = reply != NULL && !shards_are_refused(s, reply, n);

	if (known && check_shard(s, shards_of(s, first), reply, error) < 0)
		return -1;
	if (known && reply->elements != n * k + 2)
		return shards_odd(s, reply, error);
	s->trouble->uncertain += reply == NULL ? n : 0;
	for (size_t i = 0; i < n; i++) {
		int were = known;

		for (size_t j = 0; were && j < k; j++)
			were = reply->element[i * k + j]->integer != 0;
		s->batch->found[s->batch->order[first + i]] = (uint8_t)were;
	}
	return 0;
}

/* One command: all bits of n digests, the count, and the bit of the trailer. */
static int
mark(struct shards *s, size_t first, size_t n, struct error *error)
{
	const struct geometry *g = &s->layout.geometry;
	uint64_t end = 8 * trailer(s);
	int claims = s->batch->found != NULL;
	char count[24];

	snprintf(count, sizeof count, "%zu", n);
	shards_begin(s, claims, claims ? take_claimed : take_marked,
	    (claims ? first : s->shard) * (LINES_MAX + 1) + n,
	    2 + 4 * n * g->k + 4 + 3, "BITFIELD");
	for (size_t i = first; i < first + n; i++)
		block_visit(g, shards_digest(s, i), add_bit, s);
	add_operation(s->net, "INCRBY", "i64", end + 64, count);
	add_operation(s->net, "GET", "u1", end, NULL);
	return net_end(s->net, error);
}

/* Counting */

static int
take_trailer(void *context, size_t shard, redisReply *reply,
    struct error *error)
{
	struct shards *s = context;
	const uint8_t *p = (const uint8_t *)reply->str;
	uint64_t lines = 0;

	if (reply->type != REDIS_REPLY_STRING)
		return shards_odd(s, reply, error);
	if (reply->len != TRAILER_BYTES || !(p[0] & 0x80)) {
		shards_lack(s, (unsigned)shard);
		return 0;
	}
	for (int i = 8; i < 16; i++)
		lines = lines << 8 | p[i];
	s->lines += lines;
	return 0;
}

static int
count(struct shards *s, struct error *error)
{
	uint64_t at = trailer(s);

	shards_begin(s, 0, take_trailer, s->shard, 4, "GETRANGE");
	net_number(s->net, (int64_t)at);
	net_number(s->net, (int64_t)(at + TRAILER_BYTES - 1));
	return net_end(s->net, error);
}

const struct shard_operations bits_operations =
    { LINES_MAX, make, ask, mark, count };
