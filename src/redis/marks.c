#include "redis/marks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "bits/block.h"
#include "redis/chunks.h"
#include "redis/cluster.h"

/*
 * Up to this many digests of a chunk are set bit by bit, which takes 8 us of
 * the server's time for each; a whole chunk takes about 100 us: SET, BITOP and
 * DEL.
 */
#define FEW 12

/* When the scratch key of a killed client expires, in milliseconds. */
#define SCRATCH_MS 60000

/* A chunk and its trailer, in whole pages. */
#define MARKS_BYTES (CHUNK_BYTES + PAGE_BYTES)

/* How many bits one command sets. */
#define BITS_AT_ONCE 4096

void
marks_free(struct marks *m)
{
	group_free(&m->group);
	free(m->digests);
	free(m->chunk);
	*m = (struct marks){ 0 };
}

static struct digest
digest_of(const struct marks *m, size_t i)
{
	return m->digests[group_item(&m->group, i)];
}

/* Bit by bit */

struct bit_words {
	struct redis_net *net;
	uint64_t first_page; /* of the chunk */
};

static void
add_bit(void *context, uint64_t page, unsigned line, unsigned lane,
    unsigned bit)
{
	const struct bit_words *b = context;
	uint64_t byte = (page - b->first_page) * PAGE_BYTES +
	    line * LINE_BYTES + lane * 8 + bit / 8;

	redis_net_text(b->net, "SET");
	redis_net_text(b->net, "u1");
	redis_net_number(b->net, (int64_t)redis_bit(byte, bit % 8));
	redis_net_text(b->net, "1");
}

static int
refused(const struct marks *m, uint64_t chunk, const char *text,
    struct error *error)
{
	return chunk_refused(m->server, m->layer.number, chunk, text, error);
}

static int
missing(const struct marks *m, uint64_t chunk, struct error *error)
{
	/* What was printed so long ago needs no mark. */
	return redis_layer_is_over(&m->layer) ? 0 : chunk_damaged(m->server,
	    m->layer.number, chunk, "is missing or cut short", error);
}

/* The second reply to a BITFIELD is a part of the trailer: is it right? */
static int
check_bits(void *context, size_t first, enum redis_outcome outcome,
    redisReply *const *replies, size_t count, struct error *error)
{
	struct marks *m = context;
	uint64_t chunk = group_chunk(&m->group, first);
	size_t bitfields = count - (m->layer.kept > 0);

	(void)outcome;
	for (size_t i = 0; i < count; i++) {
		const redisReply *reply = replies[i];

		if (reply->type == REDIS_REPLY_ERROR)
			return refused(m, chunk, reply->str, error);
		if (i < bitfields && (reply->type != REDIS_REPLY_ARRAY ||
		    reply->elements < 2 || reply->element[1]->integer != 'b'))
			return missing(m, chunk, error);
	}
	return 0;
}

/*
 * The head of a BITFIELD: the trailer's first byte (closed?), the first byte of
 * its magic, and the number of words that set the bits of `digests` digests.
 */
static void
add_bitfield(struct marks *m, const char *key, size_t length, uint64_t chunk,
    size_t digests)
{
	struct redis_net *net = m->server->net;
	uint64_t trailer = 8 * (uint64_t)chunk_bytes(m->geometry.pages, chunk);

	redis_net_command(net, 2 + 6 + 4 * digests * m->geometry.k);
	redis_net_text(net, "BITFIELD");
	redis_net_word(net, key, length);
	redis_net_text(net, "GET");
	redis_net_text(net, "u8");
	redis_net_number(net, (int64_t)trailer);
	redis_net_text(net, "GET");
	redis_net_text(net, "u8");
	redis_net_number(net, (int64_t)(trailer + 8 * TRAILER_REST));
}

void
marks_add_bits(struct marks *m, const char *key, size_t length, size_t first,
    size_t end)
{
	uint64_t chunk = group_chunk(&m->group, first);
	struct bit_words words = { m->server->net, chunk * CHUNK_PAGES };
	size_t at_once = BITS_AT_ONCE / m->geometry.k;

	for (size_t i = first; i < end; i++) {
		if ((i - first) % at_once == 0)
			add_bitfield(m, key, length, chunk,
			    end - i < at_once ? end - i : at_once);
		block_visit(&m->geometry, digest_of(m, i), add_bit, &words);
	}
	/* If the chunk was gone, BITFIELD made one that would stay. */
	chunk_add_expiry(m->server->net, &m->layer, key, length);
}

static int
send_bits(struct marks *m, const char *key, size_t length, size_t first,
    size_t end, struct error *error)
{
	redis_net_begin(m->server->net, cluster_slot(key, length),
	    REQUEST_ERRORS, check_bits, m, first);
	marks_add_bits(m, key, length, first, end);
	return redis_net_end(m->server->net, 5 * (end - first) *
	    m->geometry.k, error);
}

/* A chunk at once */

/* The replies to BITOP, DEL and perhaps EXPIRE. */
static int
check_join(struct marks *m, uint64_t chunk, redisReply *const *replies,
    struct error *error)
{
	if (replies[0]->integer != (long long)(TRAILER_BYTES +
	    chunk_bytes(m->geometry.pages, chunk)))
		return missing(m, chunk, error);
	/* If the scratch key was gone, the digests may not be marked. */
	return replies[1]->integer == 1 ? 0 : REDIS_AGAIN;
}

/* With a window: the last reply is EXEC's. */
static int
check_transaction(struct marks *m, uint64_t chunk, const redisReply *exec,
    struct error *error)
{
	if (exec->type != REDIS_REPLY_ARRAY || exec->elements < 2)
		return refused(m, chunk, "EXEC was refused", error);
	for (size_t i = 0; i < exec->elements; i++) {
		if (exec->element[i]->type == REDIS_REPLY_ERROR)
			return refused(m, chunk, exec->element[i]->str, error);
	}
	return check_join(m, chunk, exec->element, error);
}

static int
check_chunk(void *context, size_t first, enum redis_outcome outcome,
    redisReply *const *replies, size_t count, struct error *error)
{
	struct marks *m = context;
	uint64_t chunk = group_chunk(&m->group, first);
	char key[REDIS_KEY_MAX];
	size_t length = key_chunk(key, &m->server->keys, m->layer.number,
	    chunk);

	if (outcome == REDIS_MIGRATING)
		return send_bits(m, key, length, first,
		    group_end(&m->group, first, m->n), error);
	for (size_t i = 0; i < count; i++) {
		if (replies[i]->type == REDIS_REPLY_ERROR)
			return refused(m, chunk, replies[i]->str, error);
	}
	return m->layer.kept > 0 ?
	    check_transaction(m, chunk, replies[count - 1], error) :
	    check_join(m, chunk, replies + 1, error);
}

/*
 * Set the digests' bits in m->chunk. Returns the length to send: a byte less
 * than a chunk with its trailer, so that the length BITOP returns says if the
 * chunk existed. Not less than that: BITOP works by words where all its keys
 * have them, and by single bytes, at 24 us a page, where one key is longer.
 */
static size_t
fill_chunk(struct marks *m, size_t first, size_t end)
{
	uint64_t chunk = group_chunk(&m->group, first);
	uint64_t first_page = chunk * CHUNK_PAGES;

	for (size_t i = first; i < end; i++) {
		struct digest digest = digest_of(m, i);
		uint64_t page;

		block_pages(&m->geometry, &digest, 1, &page);
		block_mark_page(&m->geometry, digest,
		    m->chunk + (page - first_page) * PAGE_BYTES);
	}
	return chunk_bytes(m->geometry.pages, chunk) + TRAILER_BYTES - 1;
}

void
marks_add_scratch(struct marks *m, const char *key, size_t first, size_t end,
    char scratch[MARKS_SCRATCH_MAX])
{
	struct redis_net *net = m->server->net;
	size_t nbytes = fill_chunk(m, first, end);

	snprintf(scratch, MARKS_SCRATCH_MAX, "%s:scratch:%" PRIx64 ":%" PRIu64,
	    key, m->client, m->scratch++);
	redis_net_command(net, 5);
	redis_net_text(net, "SET");
	redis_net_text(net, scratch);
	redis_net_word(net, m->chunk, nbytes);
	redis_net_text(net, "PX");
	redis_net_number(net, SCRATCH_MS);
	memset(m->chunk, 0, nbytes);
}

void
marks_add_join(struct marks *m, const char *key, size_t length,
    const char *scratch)
{
	struct redis_net *net = m->server->net;

	redis_net_command(net, 5);
	redis_net_text(net, "BITOP");
	redis_net_text(net, "OR");
	redis_net_word(net, key, length);
	redis_net_word(net, key, length);
	redis_net_text(net, scratch);
	redis_net_command(net, 2);
	redis_net_text(net, "DEL");
	redis_net_text(net, scratch);
	chunk_add_expiry(net, &m->layer, key, length);
}

static int
send_chunk(struct marks *m, const char *key, size_t length, size_t first,
    size_t end, struct error *error)
{
	struct redis_net *net = m->server->net;
	char scratch[MARKS_SCRATCH_MAX];
	int transaction = m->layer.kept > 0;

	redis_net_begin(net, cluster_slot(key, length),
	    REQUEST_ERRORS | REQUEST_SEVERAL_KEYS, check_chunk, m, first);
	marks_add_scratch(m, key, first, end, scratch);
	if (transaction) {
		redis_net_command(net, 1);
		redis_net_text(net, "MULTI");
	}
	marks_add_join(m, key, length, scratch);
	if (transaction) {
		redis_net_command(net, 1);
		redis_net_text(net, "EXEC");
	}
	return redis_net_end(net, 32, error);
}

static void
copy_digests(struct marks *m, const struct digest *digests, size_t n)
{
	if (n > m->room) {
		free(m->digests);
		m->room = n;
		m->digests = memory_or_die(malloc(n * sizeof *digests));
	}
	memcpy(m->digests, digests, n * sizeof *digests);
	m->n = n;
}

static void
begin(struct marks *m)
{
	m->chunk = memory_or_die(aligned_alloc(PAGE_BYTES, MARKS_BYTES));
	memset(m->chunk, 0, MARKS_BYTES);
	if (random_bytes(&m->client, sizeof m->client,
	    &(struct error){ 0 }) < 0)
		m->client = clock_now();
}

int
marks_are_few(size_t digests)
{
	return digests <= FEW;
}

void
marks_begin(struct marks *m, struct server *server,
    const struct geometry *geometry, const struct redis_layer *layer,
    const struct digest *digests, size_t n)
{
	if (m->chunk == NULL)
		begin(m);
	m->server = server;
	m->geometry = *geometry;
	m->layer = *layer;
	copy_digests(m, digests, n);
	group_sort(&m->group, geometry, m->digests, n);
}

int
marks_send(struct marks *m, struct server *server,
    const struct geometry *geometry, const struct redis_layer *layer,
    const struct digest *digests, size_t n, struct error *error)
{
	size_t end;

	marks_begin(m, server, geometry, layer, digests, n);
	for (size_t first = 0; first < n; first = end) {
		char key[REDIS_KEY_MAX];
		size_t length = key_chunk(key, &server->keys, layer->number,
		    group_chunk(&m->group, first));

		end = group_end(&m->group, first, n);
		if ((marks_are_few(end - first) ? send_bits : send_chunk)(m,
		    key, length, first, end, error) < 0)
			return -1;
	}
	return 0;
}
