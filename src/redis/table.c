#include "redis/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "redis/call.h"
#include "redis/chunks.h"
#include "redis/watch.h"
#include "model/window.h"

/* The value of the header's key: two pages, and whether it was finished. */
#define HEADER_BYTES (2 * PAGE_BYTES + 1)
#define AT_FINISHED (2 * PAGE_BYTES)

/* The head of a table page: magic, generation, id. */
#define HEAD_BYTES 32

/* The value of the table's key: a page, with a window then layers' numbers. */
#define TABLE_BYTES_MAX (PAGE_BYTES + 8 * FORMAT_LAYERS_MAX)

static int
broken(const struct server *s, struct error *error, const char *what)
{
	return error_set(error, STATUS_FAILED, "%s: %s", s->address.shown,
	    what);
}

/* Header and table */

static redisReply *
get(struct server *s, const char *key, struct error *error)
{
	redisReply *reply = redis_call(s->net, s->slot, 0, error,
	    "GET %s", key);

	if (reply != NULL && reply->type != REDIS_REPLY_STRING &&
	    reply->type != REDIS_REPLY_NIL) {
		freeReplyObject(reply);
		broken(s, error, "the server's reply to GET is invalid");
		return NULL;
	}
	return reply;
}

/* A table page; the layers of a new filter are numbered from 0 on. */
static int
decode_page(const struct server *s, struct table *table, const char *page,
    struct error *error)
{
	struct error why;

	if (format_table_decode(table, s->keys.id, (const uint8_t *)page,
	    &why) < 0)
		return broken(s, error, why.text);
	if ((table->generation_count > 0) != (s->window.kind != WINDOW_NONE))
		return broken(s, error, "the filter is damaged: its header and"
		    " its table of layers don't agree on a window");
	for (unsigned i = 0; i < table->count; i++)
		table->layers[i].number = i;
	return 0;
}

static size_t
table_bytes(const struct table *table)
{
	return PAGE_BYTES + (table->generation_count > 0 ?
	    8 * (size_t)table->count : 0);
}

static int
decode_table(const struct server *s, struct table *table,
    const redisReply *reply, struct error *error)
{
	const uint8_t *p = (const uint8_t *)reply->str + PAGE_BYTES;

	if (reply->len < PAGE_BYTES)
		return broken(s, error, "the filter is damaged: its table has"
		    " the wrong length");
	if (decode_page(s, table, reply->str, error) < 0)
		return -1;
	if (reply->len != table_bytes(table))
		return broken(s, error, "the filter is damaged: its table has"
		    " the wrong length");
	for (unsigned i = 0; table->generation_count > 0 && i < table->count;
	    i++) {
		table->layers[i].number = le_get64(p + 8 * (size_t)i);
		if (i > 0 && table->layers[i].number <=
		    table->layers[i - 1].number)
			return broken(s, error, "the filter is damaged: the"
			    " numbers of its layers are wrong");
	}
	return 0;
}

/* Returns the length. */
static size_t
encode_table(const struct server *s, const struct table *table,
    uint8_t value[TABLE_BYTES_MAX])
{
	format_table_encode(table, s->keys.id, value);
	for (unsigned i = 0; i < table->count; i++)
		le_put64(value + PAGE_BYTES + 8 * (size_t)i,
		    table->layers[i].number);
	return table_bytes(table);
}

/* The value of the header's key: header page and first table. */
static int
decode_header(struct server *s, const redisReply *reply,
    struct header *header, struct table *plan, struct error *error)
{
	struct error why;

	if (reply->len != HEADER_BYTES)
		return broken(s, error, "not a bloomdedup filter: its header"
		    " has the wrong length");
	if (format_header_decode(header, (const uint8_t *)reply->str,
	    &why) < 0)
		return broken(s, error, why.text);
	memcpy(s->keys.id, header->id, sizeof s->keys.id);
	s->window = header->window;
	s->finished = reply->str[AT_FINISHED] != 0;
	return decode_page(s, plan, reply->str + PAGE_BYTES, error);
}

/* Returns 1 if there is none. */
static int
load_header(struct server *s, struct header *header, struct table *plan,
    struct error *error)
{
	char key[REDIS_KEY_MAX];
	redisReply *reply;
	int result;

	key_header(key, &s->keys);
	reply = get(s, key, error);
	if (reply == NULL)
		return -1;
	result = reply->type == REDIS_REPLY_NIL ? 1 :
	    decode_header(s, reply, header, plan, error);
	freeReplyObject(reply);
	return result;
}

/* Returns 1 if there is none. */
static int
load_table(struct server *s, struct table *table, struct error *error)
{
	char key[REDIS_KEY_MAX];
	redisReply *reply;
	int result;

	key_table(key, &s->keys);
	reply = get(s, key, error);
	if (reply == NULL)
		return -1;
	result = reply->type == REDIS_REPLY_NIL ? 1 :
	    decode_table(s, table, reply, error);
	freeReplyObject(reply);
	return result;
}

/* Is the layer's generation over, so that its keys may be gone? */
static int
is_over(const struct server *s, const struct table *table, unsigned i)
{
	struct redis_layer layer = chunks_layer(s, table, i);

	return redis_layer_is_over(&layer);
}

/* Lines in the layers, including reserved room. */
static int
load_counters(struct server *s, struct table *table, struct error *error)
{
	for (unsigned i = 0; i < table->count; i++) {
		struct layer_entry *layer = &table->layers[i];
		char key[REDIS_KEY_MAX];
		redisReply *reply;

		key_lines(key, &s->keys, layer->number);
		reply = get(s, key, error);
		if (reply == NULL)
			return -1;
		if (reply->type == REDIS_REPLY_NIL && !is_over(s, table, i)) {
			freeReplyObject(reply);
			return error_set(error, STATUS_FAILED, "%s: the filter"
			    " is damaged: %s is missing", s->address.shown,
			    key);
		}
		layer->lines = reply->type == REDIS_REPLY_NIL ? 0 :
		    strtoull(reply->str, NULL, 10);
		freeReplyObject(reply);
	}
	return 0;
}

static int
set_counters(struct server *s, const struct table *table, unsigned first,
    struct error *error)
{
	for (unsigned i = first; i < table->count; i++) {
		struct redis_layer layer = chunks_layer(s, table, i);
		char key[REDIS_KEY_MAX];
		size_t n = key_lines(key, &s->keys, layer.number);

		redis_net_begin(s->net, s->slot, 0, redis_ignore, NULL, 0);
		redis_net_command(s->net, 4);
		redis_net_text(s->net, "SET");
		redis_net_word(s->net, key, n);
		redis_net_number(s->net, (int64_t)table->layers[i].lines);
		redis_net_text(s->net, "NX");
		chunk_add_expiry(s->net, &layer, key, n);
		if (redis_net_end(s->net, 16, error) < 0)
			return -1;
	}
	return redis_net_finish(s->net, error);
}

/* Make chunks and counters of a filter that has its header; then its table. */
static int
finish_creation(struct server *s, const struct table *plan,
    struct error *error)
{
	uint8_t value[TABLE_BYTES_MAX];
	char key[REDIS_KEY_MAX];
	redisReply *reply;

	for (unsigned i = 0; i < plan->count; i++) {
		if (chunks_make(s, plan, i, error) < 0)
			return -1;
	}
	if (set_counters(s, plan, 0, error) < 0)
		return -1;
	key_table(key, &s->keys);
	reply = redis_call(s->net, s->slot, 0, error, "SET %s %b NX", key,
	    value, encode_table(s, plan, value));
	if (reply == NULL)
		return -1;
	freeReplyObject(reply);
	/* From here on, a table that is missing is damage. */
	key_header(key, &s->keys);
	reply = redis_call(s->net, s->slot, 0, error, "SETRANGE %s %d %b",
	    key, (int)AT_FINISHED, "\1", (size_t)1);
	if (reply == NULL)
		return -1;
	freeReplyObject(reply);
	return 0;
}

int
table_load(struct server *s, int finish, struct header *header,
    struct table *table, struct error *error)
{
	int result = load_header(s, header, table, error);

	if (result != 0)
		return result;
	result = load_table(s, table, error);
	if (result > 0 && s->finished)
		return broken(s, error, "the filter is damaged: its table is"
		    " missing");
	if (result > 0 && !finish)
		return broken(s, error, "the creation of this filter was not"
		    " finished; the next run that writes to it does that");
	if (result > 0)
		result = finish_creation(s, table, error) < 0 ? -1 :
		    load_table(s, table, error);
	if (result > 0)
		return broken(s, error, "the filter was removed");
	return result < 0 ? -1 : load_counters(s, table, error);
}

static int
take_head(void *context, size_t tag, enum redis_outcome outcome,
    redisReply *const *replies, size_t count, struct error *error)
{
	struct table_question *question = context;
	const redisReply *reply = replies[0];

	(void)tag;
	(void)outcome;
	(void)count;
	(void)error;
	*question = (struct table_question){ 0 };
	if (reply->type != REDIS_REPLY_STRING || reply->len < HEAD_BYTES)
		return 0;
	question->is_there = 1;
	question->generation = le_get64((const uint8_t *)reply->str + 8);
	memcpy(question->id, reply->str + 16, sizeof question->id);
	return 0;
}

int
table_ask(struct server *s, struct table_question *question,
    struct error *error)
{
	char key[REDIS_KEY_MAX];
	size_t n = key_table(key, &s->keys);

	redis_net_begin(s->net, s->slot, 0, take_head, question, 0);
	redis_net_command(s->net, 4);
	redis_net_text(s->net, "GETRANGE");
	redis_net_word(s->net, key, n);
	redis_net_number(s->net, 0);
	redis_net_number(s->net, HEAD_BYTES - 1);
	return redis_net_end(s->net, HEAD_BYTES, error);
}

int
table_reload(struct server *s, struct table *table, struct error *error)
{
	int result = load_table(s, table, error);

	if (result > 0)
		return broken(s, error, "the filter was removed");
	return result < 0 ? -1 : load_counters(s, table, error);
}

/* Making a filter */

static void
encode_header(const struct header *header, const struct table *table,
    int finished, uint8_t value[HEADER_BYTES])
{
	format_header_encode(header, value);
	format_table_encode(table, header->id, value + PAGE_BYTES);
	value[AT_FINISHED] = (uint8_t)finished;
}

/* Is the existing header ours, set by a request whose reply was lost? */
static int
is_ours(struct server *s, const struct header *header, struct error *error)
{
	struct server there = *s;
	struct header other;
	struct table *plan = memory_or_die(malloc(sizeof *plan));
	int result = load_header(&there, &other, plan, error);

	free(plan);
	return result < 0 ? -1 : result == 0 && memcmp(other.id, header->id,
	    sizeof other.id) == 0;
}

int
table_create(struct server *s, const struct header *header,
    const struct table *table, struct error *error)
{
	uint8_t value[HEADER_BYTES];
	char key[REDIS_KEY_MAX];
	redisReply *reply;
	int made;

	memcpy(s->keys.id, header->id, sizeof s->keys.id);
	encode_header(header, table, 0, value);
	key_header(key, &s->keys);
	reply = redis_call(s->net, s->slot, 0, error, "SET %s %b NX", key,
	    value, sizeof value);
	if (reply == NULL)
		return -1;
	made = reply->type != REDIS_REPLY_NIL;
	freeReplyObject(reply);
	if (!made)
		made = is_ours(s, header, error);
	return made < 0 ? -1 : made ? finish_creation(s, table, error) : 1;
}

int
table_prepare(struct server *s, const struct table *table,
    struct error *error)
{
	for (unsigned i = 0; i < table->count; i++) {
		if (chunks_make(s, table, i, error) < 0)
			return -1;
	}
	return set_counters(s, table, 0, error);
}

/*
 * Load the filter that is to be replaced, with an empty table if it can't be
 * read. Returns 1 if there is no filter at all.
 */
static int
load_old(struct server *s, struct server *old, struct table *table,
    struct error *error)
{
	struct header header;
	struct error why;
	char key[REDIS_KEY_MAX];
	redisReply *reply;
	int result;

	*old = *s;
	key_header(key, &s->keys);
	reply = get(s, key, error);
	if (reply == NULL)
		return -1;
	if (reply->type == REDIS_REPLY_NIL) {
		freeReplyObject(reply);
		return 1;
	}
	result = decode_header(old, reply, &header, table, &why);
	freeReplyObject(reply);
	if (result < 0) {
		table->count = 0;
		return 0;
	}
	key_table(key, &s->keys);
	reply = get(s, key, error);
	if (reply == NULL)
		return -1;
	/* If it is damaged or missing, use the planned table. */
	if (reply->type == REDIS_REPLY_STRING) {
		struct table *newer = memory_or_die(malloc(sizeof *newer));
		if (decode_table(old, newer, reply, &why) == 0)
			*table = *newer;
		free(newer);
	}
	freeReplyObject(reply);
	return 0;
}

int
table_publish(struct server *s, const struct header *header,
    const struct table *table, int replace, struct error *error)
{
	uint8_t value[HEADER_BYTES], page[TABLE_BYTES_MAX];
	struct watch watch = { .count = 2, .values = { value, page },
		.lengths = { sizeof value, encode_table(s, table, page) } };
	struct table *there = memory_or_die(malloc(sizeof *there));
	struct server old;
	int result, none;

	encode_header(header, table, 1, value);
	key_header(watch.keys[0], &s->keys);
	key_table(watch.keys[1], &s->keys);
	do {
		result = watch_begin(&watch, s, error);
		none = result < 0 ? -1 : load_old(s, &old, there, error);
		result = none < 0 ? -1 : none == 0 && memcmp(old.keys.id,
		    s->keys.id, sizeof s->keys.id) == 0 ? 0 :
		    none == 0 && !replace ? 2 : watch_set(&watch, s, error);
	} while (result == 1);
	if (result == 2)
		result = watch_end(s, error) < 0 ? -1 : 1;
	else if (result == 0 && none == 0 && memcmp(old.keys.id, s->keys.id,
	    sizeof s->keys.id) != 0)
		result = chunks_discard(&old, there, error);
	free(there);
	return result;
}

/* Publish `next` if the table still has this generation; else returns 1. */
static int
compare_and_set(struct server *s, uint64_t generation, struct table *next,
    struct error *error)
{
	struct table *there = memory_or_die(malloc(sizeof *there));
	uint8_t value[TABLE_BYTES_MAX];
	struct watch watch = { .count = 1, .values = { value },
		.lengths = { encode_table(s, next, value) } };
	int result;

	key_table(watch.keys[0], &s->keys);
	do {
		result = watch_begin(&watch, s, error);
		if (result == 0)
			result = table_reload(s, there, error);
		if (result == 0)
			result = there->generation != generation ? 2 :
			    watch_set(&watch, s, error);
	} while (result == 1);
	if (result == 2) {
		*next = *there;
		result = watch_end(s, error) < 0 ? -1 : 1;
	}
	free(there);
	return result;
}

uint64_t
table_next_number(const struct table *table, const struct table *next)
{
	return next->generation_count == 0 ? next->count :
	    table->generation * FORMAT_LAYERS_MAX + next->count -
	    window_first_layer(next);
}

int
table_change(struct server *s, uint64_t generation, struct table *next,
    int added, struct error *error)
{
	unsigned last = next->count - 1;

	if (added && (chunks_make(s, next, last, error) < 0 ||
	    set_counters(s, next, last, error) < 0 ||
	    (last > 0 && chunks_close(s, next, last - 1, error) < 0)))
		return -1;
	next->generation = generation + 1;
	return compare_and_set(s, generation, next, error);
}

int
table_count(struct server *s, uint64_t layer, int64_t lines, uint64_t *after,
    struct error *error)
{
	char key[REDIS_KEY_MAX], number[24];
	redisReply *reply;

	key_lines(key, &s->keys, layer);
	snprintf(number, sizeof number, "%" PRId64, lines);
	reply = redis_call(s->net, s->slot, 0, error, "INCRBY %s %s", key,
	    number);
	if (reply == NULL)
		return -1;
	*after = reply->integer < 0 ? 0 : (uint64_t)reply->integer;
	freeReplyObject(reply);
	return 0;
}

int
table_remove(struct server *s, struct error *error)
{
	struct table *table = memory_or_die(malloc(sizeof *table));
	char header[REDIS_KEY_MAX], key[REDIS_KEY_MAX];
	struct server old;
	redisReply *reply;
	int result = load_old(s, &old, table, error);

	if (result == 0) {
		/* Both at once, or it would look like an unfinished one. */
		key_header(header, &s->keys);
		key_table(key, &s->keys);
		reply = redis_call(s->net, s->slot, 0, error,
		    "UNLINK %s %s", header, key);
		if (reply == NULL)
			result = -1;
		else
			freeReplyObject(reply);
	}
	if (result == 0)
		result = chunks_discard(&old, table, error);
	free(table);
	return result;
}
