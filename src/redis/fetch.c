#include "redis/fetch.h"

#include <string.h>

#include "redis/chunks.h"
#include "redis/cluster.h"

/*
 * From this many cache lines of a chunk on, the whole chunk costs less of the
 * server's time: it takes 0.9 us for a line and 90 us for a chunk.
 */
#define WHOLE_LINES 100

static void
ask_range(struct server *s, const char *key, size_t key_length, size_t first,
    size_t nbytes)
{
	redis_net_command(s->net, 4);
	redis_net_text(s->net, "GETRANGE");
	redis_net_word(s->net, key, key_length);
	redis_net_number(s->net, (int64_t)first);
	redis_net_number(s->net, (int64_t)(first + nbytes - 1));
}

/* What is wrong with a chunk, judging by its trailer; NULL if nothing. */
static const char *
wrong_trailer(const struct server *s, uint64_t layer, uint64_t chunk,
    const redisReply *reply, size_t skip)
{
	if (reply->type != REDIS_REPLY_STRING ||
	    reply->len < skip + TRAILER_BYTES)
		return "is missing or cut short";
	return trailer_check(&s->keys, layer, chunk, reply->str + skip,
	    reply->len - skip) ? NULL : "has a wrong trailer";
}

/* Is the chunk damaged, or is there an error reply? If so, fills `damage`. */
static int
is_damaged(const struct server *s, uint64_t layer, uint64_t chunk,
    redisReply *const *replies, size_t count, size_t skip,
    struct error *damage)
{
	const char *what;

	for (size_t i = 0; i < count; i++) {
		if (replies[i]->type == REDIS_REPLY_ERROR)
			return chunk_refused(s, layer, chunk, replies[i]->str,
			    damage) < 0;
	}
	what = wrong_trailer(s, layer, chunk, replies[0], skip);
	return what != NULL &&
	    chunk_damaged(s, layer, chunk, what, damage) < 0;
}

static void
take_chunk(struct fetch *f, uint64_t chunk, const char *bytes)
{
	uint64_t pages = f->mirror->array.geometry.pages;
	size_t count = chunk_bytes(pages, chunk) / PAGE_BYTES;

	for (size_t i = 0; i < count; i++)
		memcpy(mirror_page(f->mirror, chunk * CHUNK_PAGES + i),
		    bytes + i * PAGE_BYTES, PAGE_BYTES);
}

/* The replies come in the order in which the lines were asked for. */
static void
take_lines(struct fetch *f, size_t first, size_t end,
    redisReply *const *replies)
{
	const struct geometry *g = &f->mirror->array.geometry;

	for (size_t i = first; i < end; i++) {
		struct digest digest = f->digests[group_item(&f->group, i)];
		unsigned lines[CACHE_LINES_MAX];
		uint64_t number;
		uint8_t *page;

		block_pages(g, &digest, 1, &number);
		block_lines(g, digest, lines);
		page = mirror_page(f->mirror, number);
		for (unsigned j = 0; j < g->cache_lines; j++, replies++) {
			if ((*replies)->len == LINE_BYTES)
				memcpy(page + lines[j] * LINE_BYTES,
				    (*replies)->str, LINE_BYTES);
		}
	}
}

int
fetch_take_replies(struct fetch *f, size_t first, size_t end,
    redisReply *const *replies, size_t count, int *closed)
{
	uint64_t chunk = group_chunk(&f->group, first);
	uint64_t pages = f->mirror->array.geometry.pages;
	size_t skip = count == 1 ? chunk_bytes(pages, chunk) : 0;

	if (is_damaged(f->server, f->layer, chunk, replies, count, skip,
	    f->damage))
		return -1;
	*closed = replies[0]->str[skip] != 0;
	if (count == 1)
		take_chunk(f, chunk, replies[0]->str);
	else
		take_lines(f, first, end, replies + 1);
	return 0;
}

static int
take(void *context, size_t first, enum redis_outcome outcome,
    redisReply *const *replies, size_t count, struct error *error)
{
	struct fetch *f = context;
	int closed;

	(void)outcome;
	(void)error;
	fetch_take_replies(f, first, group_end(&f->group, first, f->n),
	    replies, count, &closed);
	return 0;
}

static size_t
ask_lines(struct fetch *f, const char *key, size_t n, size_t first,
    size_t end, size_t trailer)
{
	const struct geometry *g = &f->mirror->array.geometry;

	ask_range(f->server, key, n, trailer, TRAILER_BYTES);
	for (size_t i = first; i < end; i++) {
		struct digest digest = f->digests[group_item(&f->group, i)];
		unsigned lines[CACHE_LINES_MAX];
		uint64_t page;

		block_pages(g, &digest, 1, &page);
		block_lines(g, digest, lines);
		for (unsigned j = 0; j < g->cache_lines; j++)
			ask_range(f->server, key, n, page % CHUNK_PAGES *
			    PAGE_BYTES + lines[j] * LINE_BYTES, LINE_BYTES);
	}
	return (end - first) * g->cache_lines * (LINE_BYTES + 8);
}

size_t
fetch_add_commands(struct fetch *f, const char *key, size_t length,
    size_t first, size_t end, size_t *reply_bytes)
{
	const struct geometry *g = &f->mirror->array.geometry;
	size_t nbytes = chunk_bytes(g->pages, group_chunk(&f->group, first));
	size_t lines = (end - first) * g->cache_lines;

	if (lines < WHOLE_LINES) {
		*reply_bytes = ask_lines(f, key, length, first, end, nbytes);
		return 1 + lines;
	}
	*reply_bytes = nbytes + TRAILER_BYTES;
	ask_range(f->server, key, length, 0, *reply_bytes);
	return 1;
}

void
fetch_begin(struct fetch *f, struct server *server, struct mirror *mirror,
    uint64_t layer, const struct digest *digests, size_t n,
    struct error *damage)
{
	f->server = server;
	f->mirror = mirror;
	f->layer = layer;
	f->digests = digests;
	f->n = n;
	f->damage = damage;
	group_sort(&f->group, &mirror->array.geometry, digests, n);
}

int
fetch_lines(struct fetch *f, struct server *server, struct mirror *mirror,
    uint64_t layer, const struct digest *digests, size_t n,
    struct error *damage, struct error *error)
{
	size_t end, reply;

	fetch_begin(f, server, mirror, layer, digests, n, damage);
	for (size_t first = 0; first < n; first = end) {
		char key[REDIS_KEY_MAX];
		size_t length = key_chunk(key, &server->keys, layer,
		    group_chunk(&f->group, first));

		end = group_end(&f->group, first, n);
		redis_net_begin(server->net, cluster_slot(key, length),
		    REQUEST_ERRORS, take, f, first);
		fetch_add_commands(f, key, length, first, end, &reply);
		if (redis_net_end(server->net, reply, error) < 0)
			return -1;
	}
	return 0;
}

struct page_read {
	struct server *server;
	uint64_t layer;
	uint64_t first;
	size_t pages;
	uint8_t *to;
	struct error damage;
};

/* The tag is the chunk; trailer first, then the pages. */
static int
take_pages(void *context, size_t chunk, enum redis_outcome outcome,
    redisReply *const *replies, size_t count, struct error *error)
{
	struct page_read *r = context;
	uint64_t from = chunk * CHUNK_PAGES;

	(void)outcome;
	(void)error;
	from = from > r->first ? from : r->first;
	if (is_damaged(r->server, r->layer, chunk, replies, count, 0,
	    &r->damage))
		return 0;
	memcpy(r->to + (from - r->first) * PAGE_BYTES, replies[1]->str,
	    replies[1]->len);
	return 0;
}

/* The part of [first, first + pages) that is in the chunk of page `from`. */
static size_t
pages_in_chunk(uint64_t from, uint64_t first, size_t pages)
{
	size_t rest = (size_t)(first + pages - from);
	size_t in_chunk = CHUNK_PAGES - from % CHUNK_PAGES;

	return rest < in_chunk ? rest : in_chunk;
}

int
fetch_pages(struct server *s, const struct geometry *geometry,
    uint64_t layer, uint64_t first, size_t pages, uint8_t *to,
    struct error *error)
{
	struct page_read read = { s, layer, first, pages, to,
		{ .status = STATUS_OK } };
	size_t some;

	for (uint64_t at = first; at < first + pages; at += some) {
		uint64_t chunk = at / CHUNK_PAGES;
		char key[REDIS_KEY_MAX];
		size_t n = key_chunk(key, &s->keys, layer, chunk);

		some = pages_in_chunk(at, first, pages);
		redis_net_begin(s->net, cluster_slot(key, n), REQUEST_ERRORS,
		    take_pages, &read, chunk);
		ask_range(s, key, n, chunk_bytes(geometry->pages, chunk),
		    TRAILER_BYTES);
		ask_range(s, key, n, at % CHUNK_PAGES * PAGE_BYTES,
		    some * PAGE_BYTES);
		if (redis_net_end(s->net, some * PAGE_BYTES, error) < 0)
			return -1;
	}
	if (redis_net_finish(s->net, error) < 0)
		return -1;
	if (read.damage.status == STATUS_OK)
		return 0;
	*error = read.damage;
	return -1;
}

static int
is_zero(const uint8_t *bytes, size_t nbytes)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, nbytes - 1) == 0;
}

int
fetch_put_pages(struct server *s, const struct redis_layer *layer,
    uint64_t first, size_t pages, const uint8_t *from, struct error *error)
{
	size_t some;

	for (uint64_t at = first; at < first + pages; at += some) {
		const uint8_t *bytes = from + (at - first) * PAGE_BYTES;

		some = pages_in_chunk(at, first, pages);
		if (!is_zero(bytes, some * PAGE_BYTES) &&
		    chunk_write(s, layer, at / CHUNK_PAGES, at % CHUNK_PAGES *
		    PAGE_BYTES, bytes, some * PAGE_BYTES, error) < 0)
			return -1;
	}
	return 0;
}
