#include "redis/make.h"

#include <string.h>
#include <time.h>

#include "base/io.h"
#include "base/number.h"
#include "layers/layers.h"
#include "model/window.h"
#include "redis/generations.h"

/* Planning */

/* Is it Valkey, whose filters don't halve the rate? *is is set. */
static int
find_server(struct place *p, const char *key, int *valkey,
    struct error *error)
{
	redisReply *reply = net_call(p->net, key, error,
	    "INFO server");

	if (reply == NULL)
		return -1;
	*valkey = reply->type != REDIS_REPLY_STRING ||
	    strstr(reply->str, "valkey_version") != NULL;
	freeReplyObject(reply);
	return 0;
}

/* Which kind of shards can the server have? */
static int
find_kind(struct place *p, const char *key, enum shard_kind *kind,
    struct error *error)
{
	redisReply *reply = net_call(p->net, key, error,
	    "BF.MEXISTS %s x", key);
	int result = 0;

	if (reply == NULL)
		return -1;
	*kind = SHARDS_BLOOM;
	if (reply->type == REDIS_REPLY_ERROR &&
	    strncmp(reply->str, "ERR unknown command", 19) == 0)
		*kind = SHARDS_BITS;
	else if (reply->type == REDIS_REPLY_ERROR)
		result = error_set(error, STATUS_FAILED, "%s: the server says:"
		    " %s", p->address.shown, reply->str);
	freeReplyObject(reply);
	return result;
}

static int
plan_bits(struct place *p, struct layout *layout, struct error *error)
{
	struct error why, told;
	char text[NUMBER_TEXT];

	if (p->header.window.kind != WINDOW_NONE)
		return error_set(error, STATUS_USAGE, "%s: --window needs a"
		    " server with BF.* (Redis 8, RedisBloom, valkey-bloom)",
		    p->address.shown);
	if (layout_bits(layout, p->header.capacity, p->header.error_rate,
	    &why) < 0)
		return error_set(error, why.status, "%s: %s", p->address.shown,
		    why.text);
	if (p->header.growth != GROWTH_GROW)
		return 0;
	p->header.growth = GROWTH_WARN;
	error_set(&told, 0, "%s: the server has no BF.* (Redis 8, RedisBloom,"
	    " valkey-bloom), so the filter can't grow: beyond %s lines it makes"
	    " more mistakes, with a warning", p->address.shown,
	    number_format_count(text, p->header.capacity));
	place_tell(p, &told);
	return 0;
}

static int
plan_bloom(struct place *p, const char *key, struct layout *layout,
    struct error *error)
{
	uint64_t capacity = p->header.capacity;
	double rate = p->header.error_rate;
	int valkey, windowed = p->header.window.kind != WINDOW_NONE;

	if (windowed) {
		capacity = window_generation_capacity(capacity);
		rate *= WINDOW_SHARE;
	}
	if (rate < LAYOUT_BLOOM_RATE_MIN)
		return error_set(error, STATUS_USAGE, "%s: the hash of the"
		    " server's filters has 64 bits, which is not enough for"
		    " --error-rate=%g%s; at least %s", p->address.shown,
		    p->header.error_rate, windowed ? " with a window" : "",
		    windowed ? "6e-8" : "1e-8");
	if (find_server(p, key, &valkey, error) < 0)
		return -1;
	layout_bloom(layout, capacity, rate, p->header.growth, !valkey);
	return 0;
}

/* What the new filter is like; nothing of it is on the server yet. */
static int
plan_new(struct place *p, const struct filter_design *plan, struct error *error)
{
	char key[LAYOUT_KEY_MAX];
	struct table unused;
	struct layout layout;
	enum shard_kind kind;

	if (layers_plan(plan, &p->header, &unused, error) < 0)
		return -1;
	/* Of several clients' lines, nobody knows which came first. */
	if (p->header.window.kind == WINDOW_LINES)
		return error_set(error, STATUS_USAGE, "%s: a filter on a server"
		    " can't have a window of new lines, whose order no client"
		    " knows; use a window of time, such as --window=30d",
		    p->address.shown);
	p->header.created = (uint64_t)time(NULL);
	p->header.version_to_write = FORMAT_VERSION;
	if (io_random(p->header.id, sizeof p->header.id, error) < 0)
		return -1;
	layout_shard_key(key, p->address.name, p->header.id,
	    LAYOUT_NO_GENERATION, 0);
	if (find_kind(p, key, &kind, error) < 0 || (kind == SHARDS_BLOOM ?
	    plan_bloom(p, key, &layout, error) :
	    plan_bits(p, &layout, error)) < 0)
		return -1;
	place_take(p, &layout);
	return 0;
}

/* The shards of a filter that was found */

static struct shards
shards_of_found(const struct place *p, const struct found *found)
{
	struct shards s = p->shards;

	s.layout = found->layout;
	memcpy(s.id, found->header.id, sizeof s.id);
	return s;
}

/* Its header goes, or stays after all. */
static int
expire_shards(struct place *p, const struct found *found, int expire,
    struct error *error)
{
	struct shards s;

	if (!found->exists || place_is_ours(p, found) ||
	    found->header.window.kind != WINDOW_NONE)
		return 0;
	s = shards_of_found(p, found);
	return shards_each(&s, expire ? shards_expire : shards_keep, error);
}

/* Its header is gone. */
static int
delete_shards(struct place *p, const struct found *found, struct error *error)
{
	struct generations generations;
	struct shards s;

	if (!found->exists || place_is_ours(p, found))
		return 0;
	s = shards_of_found(p, found);
	generations_begin(&generations, &s, &found->header.window);
	return generations_delete(&generations, error);
}

/*
 * Make a command that deletes or replaces the header, and delete the shards of
 * the filter that was there. The answer may be lost, and a second try finds the
 * first: what was there before is read first.
 */
static int
take_away(struct place *p, const uint8_t *bytes, struct found *before,
    struct error *error)
{
	struct found old;
	char key[LAYOUT_KEY_MAX];
	redisReply *reply;

	layout_header_key(key, p->address.name);
	if (place_find(p, before, error) < 0)
		return -1;
	if (!before->exists && bytes == NULL)
		return 0;
	if (expire_shards(p, before, 1, error) < 0)
		return -1;
	reply = bytes == NULL ?
	    net_call(p->net, key, error, "GETDEL %s", key) :
	    net_call(p->net, key, error, "GETSET %s %b", key, bytes,
	    (size_t)LAYOUT_HEADER_BYTES);
	if (reply != NULL && reply->type == REDIS_REPLY_ERROR &&
	    expire_shards(p, before, 0, error) < 0) {
		freeReplyObject(reply);
		return -1;
	}
	return place_read(p, reply, &old, error) < 0 ||
	    delete_shards(p, before, error) < 0 ? -1 :
	    delete_shards(p, &old, error);
}

int
make_remove(struct place *p, struct error *error)
{
	struct found before;

	return take_away(p, NULL, &before, error) < 0 ? -1 : !before.exists;
}

/* Publishing: the shards are there, now the header */

/* Unless there is a header. */
static int
add_header(struct place *p, const uint8_t *bytes, struct error *error)
{
	char key[LAYOUT_KEY_MAX];
	redisReply *reply;
	int result = 0;

	layout_header_key(key, p->address.name);
	reply = net_call(p->net, key, error, "SET %s %b NX", key, bytes,
	    (size_t)LAYOUT_HEADER_BYTES);
	if (reply == NULL)
		return -1;
	if (reply->type == REDIS_REPLY_ERROR)
		result = shards_odd(&p->shards, reply, error);
	freeReplyObject(reply);
	return result;
}

/* Returns 1 if there is another filter. Answers may be lost: the header is read
 * back. */
static int
publish(struct place *p, int replace, struct error *error)
{
	uint8_t bytes[LAYOUT_HEADER_BYTES];
	struct found now;

	layout_encode(&p->shards.layout, &p->header, bytes);
	if ((replace ? take_away(p, bytes, &now, error) :
	    add_header(p, bytes, error)) < 0 || place_find(p, &now, error) < 0)
		return -1;
	if (place_is_ours(p, &now))
		return 0;
	return now.exists && !replace ? 1 : error_set(error,
	    STATUS_FAILED, "%s: another client has replaced or removed the"
	    " filter at the same moment", p->address.shown);
}

int
make_filter(struct place *p, int replace, const struct filter_design *plan,
    struct error *error)
{
	struct found before;
	struct error unused;
	int result;

	/* Before shards are made: is the name free? */
	if (place_find(p, &before, error) < 0)
		return -1;
	if (before.exists && !replace)
		return 1;
	if (plan_new(p, plan, error) < 0)
		return -1;
	/* Generations are made when they are due. */
	if (p->header.window.kind != WINDOW_NONE)
		return publish(p, replace, error);
	result = shards_each(&p->shards, p->shards.kind->make, error);
	if (result == 0)
		result = publish(p, replace, error);
	/* If that fails, too, they expire. */
	if (result != 0 && place_find(p, &before, &unused) == 0 &&
	    !place_is_ours(p, &before))
		(void)shards_each(&p->shards, shards_delete, &unused);
	return result;
}
