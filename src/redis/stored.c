#include "redis/stored.h"

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
stored_open(struct stored *stored, const char *text,
    const struct filter_use *use, struct error *error)
{
	/* Without a notice, the caller gave no timeout. */
	uint64_t wait = use->wait.notice == NULL ? RETRY_MS :
	    use->wait.milliseconds;

	*stored = (struct stored){ .notice = use->wait.notice };
	if (address_parse(&stored->address, text, error) < 0)
		return -1;
	if (net_open(&stored->net, &stored->address, wait, use->writable,
	    stored->notice, error) < 0) {
		address_free(&stored->address);
		return -1;
	}
	layout_header_key(stored->key, stored->address.name);
	stored->shards = (struct shards){ .net = stored->net,
		.name = stored->address.name, .shown = stored->address.shown,
		.trouble = &stored->trouble, .batch = &stored->batch,
		.generation = LAYOUT_NO_GENERATION };
	return 0;
}

void
stored_close(struct stored *stored)
{
	net_close(stored->net);
	shards_free_batch(&stored->batch);
	address_free(&stored->address);
}

/* What a reply says that was in the header's key; frees it, NULL: failed. */
static int
parse_header(const struct stored *stored, redisReply *reply,
    struct found *found, struct error *error)
{
	struct error why;
	int result = 0;

	if (reply == NULL)
		return -1;
	found->exists = reply->type != REDIS_REPLY_NIL;
	if (found->exists && reply->type != REDIS_REPLY_STRING)
		result = shards_odd(&stored->shards, reply, error);
	else if (found->exists && layout_decode(&found->layout,
	    &found->header, stored->address.name, reply->str, reply->len,
	    &why) < 0)
		result = error_set(error, why.status, "%s: %s",
		    stored->address.shown, why.text);
	freeReplyObject(reply);
	return result;
}

int
stored_find(struct stored *stored, struct found *found, struct error *error)
{
	return parse_header(stored, net_call(stored->net, stored->key, error,
	    "GET %s", stored->key), found, error);
}

int
stored_is_ours(const struct stored *stored, const struct found *found)
{
	return found->exists && memcmp(found->header.id, stored->header.id,
	    sizeof stored->header.id) == 0;
}

static struct shards
shards_of_found(const struct stored *stored, const struct found *found)
{
	struct shards shards = stored->shards;

	shards.kind = found->layout.kind == SHARDS_BLOOM ? &bloom_operations :
	    &bits_operations;
	shards.layout = found->layout;
	shards.grows = found->header.growth == GROWTH_GROW;
	memcpy(shards.id, found->header.id, sizeof shards.id);
	return shards;
}

void
stored_take(struct stored *stored, const struct found *found)
{
	stored->header = found->header;
	stored->shards = shards_of_found(stored, found);
}

/* Planning */

static int
design_bits(const struct stored *stored, struct found *new, struct error *error)
{
	struct header *header = &new->header;
	struct error why;
	char text[NUMBER_TEXT];

	if (header->window.kind != WINDOW_NONE)
		return error_set(error, STATUS_USAGE, "%s: --window needs a"
		    " server with BF.* (Redis 8, RedisBloom, valkey-bloom)",
		    stored->address.shown);
	if (layout_bits(&new->layout, header->capacity, header->error_rate,
	    &why) < 0)
		return error_set(error, why.status, "%s: %s",
		    stored->address.shown, why.text);
	if (header->growth != GROWTH_GROW)
		return 0;
	header->growth = GROWTH_FAIL;
	error_notify(stored->notice, "%s: the server has no BF.* (Redis 8,"
	    " RedisBloom, valkey-bloom), so the filter cannot grow: it is full"
	    " after %s lines (--on-full=fail)", stored->address.shown,
	    number_format_count(text, header->capacity));
	return 0;
}

static int
design_bloom(const struct stored *stored, const char *key, struct found *new,
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
		    " --error-rate=%g%s; at least %s", stored->address.shown,
		    header->error_rate, windowed ? " with a window" : "",
		    windowed ? "6e-8" : "1e-8");
	reply = net_call(stored->net, key, error, "INFO server");
	if (reply == NULL)
		return -1;
	/* Valkey's filters do not halve the error rate for their next layer. */
	valkey = reply->type != REDIS_REPLY_STRING ||
	    strstr(reply->str, "valkey_version") != NULL;
	freeReplyObject(reply);
	layout_bloom(&new->layout, capacity, rate, header->growth, !valkey);
	return 0;
}

int
stored_design(struct stored *stored, const struct filter_design *design,
    struct error *error)
{
	char key[LAYOUT_KEY_MAX];
	struct found new = { 0 };
	struct header *header = &new.header;
	redisReply *reply;
	int result;

	if (design->growth == GROWTH_WARN)
		return error_set(error, STATUS_USAGE, "%s: --on-full=warn is"
		    " for filters in files", stored->address.shown);
	if (design_header(design, header, error) < 0)
		return -1;
	/* Nobody knows which of several clients' lines came first. */
	if (header->window.kind == WINDOW_LINES)
		return error_set(error, STATUS_USAGE, "%s: a filter on a server"
		    " cannot have a window of new lines, whose order no client"
		    " knows; use a window of time, such as --window=30d",
		    stored->address.shown);
	header->created = (uint64_t)time(NULL);
	header->version_to_write = FORMAT_VERSION;
	if (os_random(header->id, sizeof header->id, error) < 0)
		return -1;
	/* The answer tells which kind of shards the server can have. */
	layout_shard_key(key, stored->address.name, header->id,
	    LAYOUT_NO_GENERATION, 0);
	reply = net_call(stored->net, key, error, "BF.MEXISTS %s x", key);
	if (reply == NULL)
		return -1;
	if (reply->type != REDIS_REPLY_ERROR)
		result = design_bloom(stored, key, &new, error);
	else if (strncmp(reply->str, "ERR unknown command", 19) == 0)
		result = design_bits(stored, &new, error);
	else
		result = shards_odd(&stored->shards, reply, error);
	freeReplyObject(reply);
	if (result == 0)
		stored_take(stored, &new);
	return result;
}

/* Removing, replacing and making */

/* Call `make` for each shard of a filter that was found and isn't ours. */
static int
each_found(struct stored *stored, const struct found *found, shards_one *make,
    struct error *error)
{
	struct generations generations;
	struct shards shards;

	if (!found->exists || stored_is_ours(stored, found))
		return 0;
	shards = shards_of_found(stored, found);
	if (found->header.window.kind == WINDOW_NONE)
		return shards_each(&shards, make, error);
	/*
	 * The shards of a generation always expire, so only deleting is needed.
	 */
	if (make != shards_delete)
		return 0;
	generations_begin(&generations, &shards, &found->header.window);
	return generations_delete(&generations, error);
}

/*
 * Make a command that deletes or replaces the header, and delete the shards of
 * the filter that was there. The answer may be lost, and a second try finds the
 * first: what was there before is read first.
 */
static int
take_away(struct stored *stored, const uint8_t *bytes, struct found *before,
    struct error *error)
{
	struct found old;
	redisReply *reply;

	if (stored_find(stored, before, error) < 0)
		return -1;
	if (!before->exists && bytes == NULL)
		return 0;
	if (each_found(stored, before, shards_expire, error) < 0)
		return -1;
	if (bytes == NULL)
		reply = net_call(stored->net, stored->key, error, "GETDEL %s",
		    stored->key);
	else
		reply = net_call(stored->net, stored->key, error,
		    "GETSET %s %b", stored->key, bytes,
		    (size_t)LAYOUT_HEADER_BYTES);
	/* The old filter stays after all: its shards must not expire. */
	if (reply != NULL && reply->type == REDIS_REPLY_ERROR &&
	    each_found(stored, before, shards_keep, error) < 0) {
		freeReplyObject(reply);
		return -1;
	}
	if (parse_header(stored, reply, &old, error) < 0 ||
	    each_found(stored, before, shards_delete, error) < 0)
		return -1;
	return each_found(stored, &old, shards_delete, error);
}

int
stored_remove(struct stored *stored, struct error *error)
{
	struct found before;

	if (take_away(stored, NULL, &before, error) < 0)
		return -1;
	return !before.exists;
}

/* The shards are there, now the header. Returns 1 if there is another filter.
 * Answers may be lost: the header is read back. */
static int
publish_header(struct stored *stored, int replace, struct error *error)
{
	uint8_t bytes[LAYOUT_HEADER_BYTES];
	redisReply *reply;
	struct found now;
	int result = 0;

	layout_encode(&stored->shards.layout, &stored->header,
	    stored->address.name, bytes);
	if (replace) {
		result = take_away(stored, bytes, &now, error);
	} else {
		reply = net_call(stored->net, stored->key, error,
		    "SET %s %b NX", stored->key, bytes,
		    (size_t)LAYOUT_HEADER_BYTES);
		if (reply == NULL)
			return -1;
		if (reply->type == REDIS_REPLY_ERROR)
			result = shards_odd(&stored->shards, reply, error);
		freeReplyObject(reply);
	}
	if (result < 0 || stored_find(stored, &now, error) < 0)
		return -1;
	if (stored_is_ours(stored, &now))
		return 0;
	if (now.exists && !replace)
		return 1;
	return error_set(error, STATUS_FAILED, "%s: another client replaced or"
	    " removed the filter at the same moment", stored->address.shown);
}

/*
 * May the user take the expiry of shards away, once there is a header? Asked
 * with the header's key, which has none.
 */
static int
may_keep(struct stored *stored, struct error *error)
{
	redisReply *reply = net_call(stored->net, stored->key, error,
	    "PERSIST %s", stored->key);
	int result = 0;

	if (reply == NULL)
		return -1;
	if (reply->type == REDIS_REPLY_ERROR)
		result = shards_odd(&stored->shards, reply, error);
	freeReplyObject(reply);
	return result;
}

int
stored_make(struct stored *stored, int replace,
    const struct filter_design *design, struct error *error)
{
	struct found before;
	int result;

	/* Look whether the name is free before any shard is made. */
	if (stored_find(stored, &before, error) < 0)
		return -1;
	if (before.exists && !replace)
		return 1;
	if (may_keep(stored, error) < 0 || stored_design(stored, design,
	    error) < 0)
		return -1;
	/*
	 * Generations are made only when they are due, so there are no shards
	 * yet.
	 */
	if (stored->header.window.kind != WINDOW_NONE)
		return publish_header(stored, replace, error);
	result = shards_each(&stored->shards, stored->shards.kind->make, error);
	if (result == 0)
		result = publish_header(stored, replace, error);
	/* If the shards cannot be deleted either, they expire. */
	if (result != 0 && stored_find(stored, &before, error_ignored()) == 0 &&
	    !stored_is_ours(stored, &before))
		(void)shards_each(&stored->shards, shards_delete,
		    error_ignored());
	return result;
}
