#include "redis/chunks.h"

#include <string.h>
#include <time.h>

#include "base/signals.h"
#include "redis/call.h"
#include "redis/cluster.h"
#include "model/window.h"

int
chunk_damaged(const struct server *s, uint64_t layer, uint64_t chunk,
    const char *what, struct error *error)
{
	char key[REDIS_KEY_MAX];

	key_chunk(key, &s->keys, layer, chunk);
	return error_set(error, STATUS_FAILED, "%s: the filter is damaged:"
	    " %s %s", s->address.shown, key, what);
}

int
chunk_refused(const struct server *s, uint64_t layer, uint64_t chunk,
    const char *text, struct error *error)
{
	if (strncmp(text, "WRONGTYPE", 9) == 0)
		return chunk_damaged(s, layer, chunk, "is not a string", error);
	return error_set(error, STATUS_FAILED, "%s: the server says: %s",
	    s->address.shown, text);
}

/* What EXPIRE accepts is bounded; this is 34,000 years. */
#define KEPT_MAX ((int64_t)1 << 40)

struct redis_layer
chunks_layer(const struct server *s, const struct table *table, unsigned i)
{
	struct redis_layer layer = { table->layers[i].number, 0, 0 };
	unsigned generation = table->layers[i].generation;

	if (s->window.kind == WINDOW_NONE)
		return layer;
	layer.over = window_over_at(table, &s->window, generation);
	layer.kept = window_kept(table, &s->window, generation,
	    (int64_t)time(NULL));
	if (layer.kept > KEPT_MAX)
		layer.kept = KEPT_MAX;
	return layer;
}

int
redis_layer_is_over(const struct redis_layer *layer)
{
	return layer->kept > 0 && layer->over <= (int64_t)time(NULL);
}

/*
 * Not EXPIREAT: the clocks of a client and of the server may differ, and a key
 * whose time has passed would be deleted at once.
 */
void
chunk_add_expiry(struct redis_net *net, const struct redis_layer *layer,
    const char *key, size_t length)
{
	if (layer->kept == 0)
		return;
	redis_net_command(net, 3);
	redis_net_text(net, "EXPIRE");
	redis_net_word(net, key, length);
	redis_net_number(net, layer->kept);
}

/* chunk_write, whose short reply counts as `reply_bytes`. */
static int
write_range(struct server *s, const struct redis_layer *layer, uint64_t chunk,
    size_t at, const void *bytes, size_t nbytes, size_t reply_bytes,
    struct error *error)
{
	char key[REDIS_KEY_MAX];
	size_t n = key_chunk(key, &s->keys, layer->number, chunk);

	redis_net_begin(s->net, cluster_slot(key, n), 0, redis_ignore,
	    NULL, 0);
	redis_net_command(s->net, 4);
	redis_net_text(s->net, "SETRANGE");
	redis_net_word(s->net, key, n);
	redis_net_number(s->net, (int64_t)at);
	redis_net_word(s->net, bytes, nbytes);
	chunk_add_expiry(s->net, layer, key, n);
	return redis_net_end(s->net, reply_bytes, error);
}

int
chunk_write(struct server *s, const struct redis_layer *layer, uint64_t chunk,
    size_t at, const void *bytes, size_t nbytes, struct error *error)
{
	return write_range(s, layer, chunk, at, bytes, nbytes, 16, error);
}

/*
 * Make a chunk of zeros, by writing all but the first byte of its trailer: an
 * existing chunk stays as it is, closed or not.
 */
static int
make_chunk(struct server *s, const struct redis_layer *layer, uint64_t pages,
    uint64_t chunk, struct error *error)
{
	uint8_t trailer[TRAILER_BYTES];

	trailer_encode(&s->keys, layer->number, chunk, trailer);
	/* The server needs a moment to make it: not too many at once. */
	return write_range(s, layer, chunk, chunk_bytes(pages, chunk) +
	    TRAILER_REST, trailer + TRAILER_REST,
	    TRAILER_BYTES - TRAILER_REST, 16 * PAGE_BYTES, error);
}

static int
stopped(struct error *error)
{
	return signals_stop ? error_set(error, 128 + signals_stop,
	    "stopped by a signal") : 0;
}

int
chunks_make(struct server *s, const struct table *table, unsigned i,
    struct error *error)
{
	struct redis_layer layer = chunks_layer(s, table, i);
	uint64_t pages = table->layers[i].geometry.pages;

	for (uint64_t chunk = 0; chunk < chunk_count(pages); chunk++) {
		if (stopped(error) < 0 ||
		    make_chunk(s, &layer, pages, chunk, error) < 0)
			return -1;
	}
	return redis_net_finish(s->net, error);
}

int
chunks_close(struct server *s, const struct table *table, unsigned i,
    struct error *error)
{
	struct redis_layer layer = chunks_layer(s, table, i);
	uint64_t pages = table->layers[i].geometry.pages;

	for (uint64_t chunk = 0; chunk < chunk_count(pages); chunk++) {
		if (chunk_write(s, &layer, chunk, chunk_bytes(pages, chunk),
		    "\1", 1, error) < 0)
			return -1;
	}
	return redis_net_finish(s->net, error);
}

static int
keep_key(struct server *s, const struct redis_layer *layer, const char *key,
    size_t n, struct error *error)
{
	redis_net_begin(s->net, cluster_slot(key, n), 0, redis_ignore,
	    NULL, 0);
	chunk_add_expiry(s->net, layer, key, n);
	return redis_net_end(s->net, 16, error);
}

int
chunks_keep(struct server *s, const struct table *table, unsigned i,
    struct error *error)
{
	struct redis_layer layer = chunks_layer(s, table, i);
	uint64_t chunks = chunk_count(table->layers[i].geometry.pages);
	char key[REDIS_KEY_MAX];

	for (uint64_t chunk = 0; chunk < chunks; chunk++) {
		size_t n = key_chunk(key, &s->keys, layer.number, chunk);

		if (keep_key(s, &layer, key, n, error) < 0)
			return -1;
	}
	return keep_key(s, &layer, key, key_lines(key, &s->keys,
	    layer.number), error) < 0 ? -1 : redis_net_finish(s->net, error);
}

/* UNLINK frees the memory in a background thread of the server. */
static int
unlink_key(struct server *s, const char *key, size_t n, struct error *error)
{
	redis_net_begin(s->net, cluster_slot(key, n), 0, redis_ignore,
	    NULL, 0);
	redis_net_command(s->net, 2);
	redis_net_text(s->net, "UNLINK");
	redis_net_word(s->net, key, n);
	return redis_net_end(s->net, 16, error);
}

int
chunks_discard(struct server *s, const struct table *table,
    struct error *error)
{
	char key[REDIS_KEY_MAX];

	for (unsigned i = 0; i < table->count; i++) {
		uint64_t chunks = chunk_count(table->layers[i].geometry.pages);
		uint64_t number = table->layers[i].number;

		for (uint64_t chunk = 0; chunk < chunks; chunk++) {
			size_t n = key_chunk(key, &s->keys, number, chunk);

			if (unlink_key(s, key, n, error) < 0)
				return -1;
		}
		if (unlink_key(s, key, key_lines(key, &s->keys, number),
		    error) < 0)
			return -1;
	}
	return redis_net_finish(s->net, error);
}
