#include "redis/location.h"

#include <string.h>
#include <time.h>

#include "base/number.h"
#include "base/os.h"
#include "model/design.h"
#include "model/window.h"
#include "redis/generations.h"

/* How long requests are made again, if there is no --lock-timeout. */
#define RETRY_MS 60000

int
location_open(struct location *l, const char *text,
    const struct filter_use *use, struct error *error)
{
	/* Without a notice, the caller gave no timeout. */
	uint64_t wait = use->wait.notice == NULL ? RETRY_MS :
	    use->wait.milliseconds;

	*l = (struct location){ .notice = use->wait.notice };
	if (address_parse(&l->address, text, error) < 0)
		return -1;
	if (net_open(&l->net, &l->address, wait, use->writable, l->notice,
	    error) < 0) {
		address_free(&l->address);
		return -1;
	}
	layout_header_key(l->key, l->address.name);
	l->shards = (struct shards){ .net = l->net, .name = l->address.name,
		.shown = l->address.shown, .trouble = &l->trouble,
		.batch = &l->batch, .generation = LAYOUT_NO_GENERATION };
	return 0;
}

void
location_close(struct location *l)
{
	net_close(l->net);
	shards_free_batch(&l->batch);
	address_free(&l->address);
}

/* What a reply says that was in the header's key; frees it, NULL: failed. */
static int
parse_header(const struct location *l, redisReply *reply, struct found *found,
    struct error *error)
{
	struct error why;
	int result = 0;

	if (reply == NULL)
		return -1;
	found->exists = reply->type != REDIS_REPLY_NIL;
	if (found->exists && reply->type != REDIS_REPLY_STRING)
		result = shards_odd(&l->shards, reply, error);
	else if (found->exists && layout_decode(&found->layout,
	    &found->header, l->address.name, reply->str, reply->len, &why) < 0)
		result = error_set(error, why.status, "%s: %s",
		    l->address.shown, why.text);
	freeReplyObject(reply);
	return result;
}

int
location_find(struct location *l, struct found *found, struct error *error)
{
	return parse_header(l, net_call(l->net, l->key, error, "GET %s",
	    l->key), found, error);
}

int
location_is_ours(const struct location *l, const struct found *found)
{
	return found->exists && memcmp(found->header.id, l->header.id,
	    sizeof l->header.id) == 0;
}

static struct shards
shards_of_found(const struct location *l, const struct found *found)
{
	struct shards s = l->shards;

	s.kind = found->layout.kind == SHARDS_BLOOM ? &bloom_operations :
	    &bits_operations;
	s.layout = found->layout;
	s.grows = found->header.growth == GROWTH_GROW;
	memcpy(s.id, found->header.id, sizeof s.id);
	return s;
}

void
location_take(struct location *l, const struct found *found)
{
	l->header = found->header;
	l->shards = shards_of_found(l, found);
}

/* Planning */

static int
design_bits(const struct location *l, struct found *new, struct error *error)
{
	struct header *header = &new->header;
	struct error why;
	char text[NUMBER_TEXT];

	if (header->window.kind != WINDOW_NONE)
		return error_set(error, STATUS_USAGE, "%s: --window needs a"
		    " server with BF.* (Redis 8, RedisBloom, valkey-bloom)",
		    l->address.shown);
	if (layout_bits(&new->layout, header->capacity, header->error_rate,
	    &why) < 0)
		return error_set(error, why.status, "%s: %s", l->address.shown,
		    why.text);
	if (header->growth != GROWTH_GROW)
		return 0;
	header->growth = GROWTH_FAIL;
	error_notify(l->notice, "%s: the server has no BF.* (Redis 8,"
	    " RedisBloom, valkey-bloom), so the filter cannot grow: it is full"
	    " after %s lines (--on-full=fail)", l->address.shown,
	    number_format_count(text, header->capacity));
	return 0;
}

static int
design_bloom(const struct location *l, const char *key, struct found *new,
    struct error *error)
{
	const struct header *header = &new->header;
	int windowed = header->window.kind != WINDOW_NONE, valkey;
	uint64_t capacity = windowed ?
	    window_generation_capacity(header->capacity) : header->capacity;
	double rate = header->error_rate * (windowed ? WINDOW_SHARE : 1);
	redisReply *reply;

	if (rate < LAYOUT_BLOOM_RATE_MIN)
		return error_set(error, STATUS_USAGE, "%s: the hash of the"
		    " server's filters has 64 bits, which is not enough for"
		    " --error-rate=%g%s; at least %s", l->address.shown,
		    header->error_rate, windowed ? " with a window" : "",
		    windowed ? "6e-8" : "1e-8");
	reply = net_call(l->net, key, error, "INFO server");
	if (reply == NULL)
		return -1;
	/* Its filters don't halve the rate. */
	valkey = reply->type != REDIS_REPLY_STRING ||
	    strstr(reply->str, "valkey_version") != NULL;
	freeReplyObject(reply);
	layout_bloom(&new->layout, capacity, rate, header->growth, !valkey);
	return 0;
}

int
location_design(struct location *l, const struct filter_design *design,
    struct error *error)
{
	char key[LAYOUT_KEY_MAX];
	struct found new = { 0 };
	struct header *header = &new.header;
	redisReply *reply;
	int result;

	if (design->growth == GROWTH_WARN)
		return error_set(error, STATUS_USAGE, "%s: --on-full=warn is"
		    " for filters in files", l->address.shown);
	if (design_header(design, header, error) < 0)
		return -1;
	/* Nobody knows which of several clients' lines came first. */
	if (header->window.kind == WINDOW_LINES)
		return error_set(error, STATUS_USAGE, "%s: a filter on a server"
		    " cannot have a window of new lines, whose order no client"
		    " knows; use a window of time, such as --window=30d",
		    l->address.shown);
	header->created = (uint64_t)time(NULL);
	header->version_to_write = FORMAT_VERSION;
	if (os_random(header->id, sizeof header->id, error) < 0)
		return -1;
	/* Which kind of shards can the server have? */
	layout_shard_key(key, l->address.name, header->id,
	    LAYOUT_NO_GENERATION, 0);
	reply = net_call(l->net, key, error, "BF.MEXISTS %s x", key);
	if (reply == NULL)
		return -1;
	if (reply->type != REDIS_REPLY_ERROR)
		result = design_bloom(l, key, &new, error);
	else if (strncmp(reply->str, "ERR unknown command", 19) == 0)
		result = design_bits(l, &new, error);
	else
		result = shards_odd(&l->shards, reply, error);
	freeReplyObject(reply);
	if (result == 0)
		location_take(l, &new);
	return result;
}

/* Removing, replacing and making */

/* To each shard of a filter that was found and isn't ours. */
static int
each_found(struct location *l, const struct found *found, shards_one *make,
    struct error *error)
{
	struct generations generations;
	struct shards s;

	if (!found->exists || location_is_ours(l, found))
		return 0;
	s = shards_of_found(l, found);
	if (found->header.window.kind == WINDOW_NONE)
		return shards_each(&s, make, error);
	/* The shards of a generation always expire. */
	if (make != shards_delete)
		return 0;
	generations_begin(&generations, &s, &found->header.window);
	return generations_delete(&generations, error);
}

/*
 * Make a command that deletes or replaces the header, and delete the shards of
 * the filter that was there. The answer may be lost, and a second try finds the
 * first: what was there before is read first.
 */
static int
take_away(struct location *l, const uint8_t *bytes, struct found *before,
    struct error *error)
{
	struct found old;
	redisReply *reply;

	if (location_find(l, before, error) < 0)
		return -1;
	if (!before->exists && bytes == NULL)
		return 0;
	if (each_found(l, before, shards_expire, error) < 0)
		return -1;
	if (bytes == NULL)
		reply = net_call(l->net, l->key, error, "GETDEL %s", l->key);
	else
		reply = net_call(l->net, l->key, error, "GETSET %s %b",
		    l->key, bytes, (size_t)LAYOUT_HEADER_BYTES);
	/* It stays after all. */
	if (reply != NULL && reply->type == REDIS_REPLY_ERROR &&
	    each_found(l, before, shards_keep, error) < 0) {
		freeReplyObject(reply);
		return -1;
	}
	if (parse_header(l, reply, &old, error) < 0 ||
	    each_found(l, before, shards_delete, error) < 0)
		return -1;
	return each_found(l, &old, shards_delete, error);
}

int
location_remove(struct location *l, struct error *error)
{
	struct found before;

	if (take_away(l, NULL, &before, error) < 0)
		return -1;
	return !before.exists;
}

/* The shards are there, now the header. Returns 1 if there is another filter.
 * Answers may be lost: the header is read back. */
static int
publish_header(struct location *l, int replace, struct error *error)
{
	uint8_t bytes[LAYOUT_HEADER_BYTES];
	redisReply *reply;
	struct found now;
	int result = 0;

	layout_encode(&l->shards.layout, &l->header, l->address.name, bytes);
	if (replace) {
		result = take_away(l, bytes, &now, error);
	} else {
		reply = net_call(l->net, l->key, error, "SET %s %b NX", l->key,
		    bytes, (size_t)LAYOUT_HEADER_BYTES);
		if (reply == NULL)
			return -1;
		if (reply->type == REDIS_REPLY_ERROR)
			result = shards_odd(&l->shards, reply, error);
		freeReplyObject(reply);
	}
	if (result < 0 || location_find(l, &now, error) < 0)
		return -1;
	if (location_is_ours(l, &now))
		return 0;
	if (now.exists && !replace)
		return 1;
	return error_set(error, STATUS_FAILED, "%s: another client replaced or"
	    " removed the filter at the same moment", l->address.shown);
}

/*
 * May the user take the expiry of shards away, once there is a header? Asked
 * with the header's key, which has none.
 */
static int
may_keep(struct location *l, struct error *error)
{
	redisReply *reply = net_call(l->net, l->key, error, "PERSIST %s",
	    l->key);
	int result = 0;

	if (reply == NULL)
		return -1;
	if (reply->type == REDIS_REPLY_ERROR)
		result = shards_odd(&l->shards, reply, error);
	freeReplyObject(reply);
	return result;
}

int
location_make(struct location *l, int replace,
    const struct filter_design *design, struct error *error)
{
	struct found before;
	int result;

	/* Before shards are made: is the name free? */
	if (location_find(l, &before, error) < 0)
		return -1;
	if (before.exists && !replace)
		return 1;
	if (may_keep(l, error) < 0 || location_design(l, design, error) < 0)
		return -1;
	/* Generations are made when they are due. */
	if (l->header.window.kind != WINDOW_NONE)
		return publish_header(l, replace, error);
	result = shards_each(&l->shards, l->shards.kind->make, error);
	if (result == 0)
		result = publish_header(l, replace, error);
	/* If the shards cannot be deleted either, they expire. */
	if (result != 0 && location_find(l, &before, error_ignored()) == 0 &&
	    !location_is_ours(l, &before))
		(void)shards_each(&l->shards, shards_delete, error_ignored());
	return result;
}
