#include "redis/redis.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/number.h"
#include "base/random.h"
#include "layers/layers.h"
#include "model/operations.h"
#include "model/plan.h"
#include "model/window.h"
#include "redis/address.h"
#include "redis/generations.h"
#include "redis/shards.h"

/*
 * The more lines of a batch are in a shard, the fewer commands they take; a
 * batch of this size waits for the server as long as it is read.
 */
#define BATCH_LINES (64 * 1024)

/* How long requests are made again, if there is no --lock-timeout. */
#define RETRY_MS 60000
/* Marks are answered while input is waited for: milliseconds. */
#define IDLE_AFTER 5
/* Several clients may make and remove one filter at once. */
#define CREATE_TRIES 5

struct redis {
	struct filter filter;
	struct address address;
	struct net *net;
	struct shards shards;  /* as each generation has them, */
	struct generations generations;
	struct trouble trouble;
	const struct shard_operations *kind;
	struct header header;
	struct table table;
	void (*notice)(const char *text);
	int makes;             /* generations that are due */
	int claims;            /* marks come first */
	int warned;            /* of lines that are not remembered */
	int failed;            /* nothing can be asked any more, */
	struct error why;      /* for this reason */
};

static const struct filter_operations operations;

static struct redis *
redis_of(struct filter *filter)
{
	return (struct redis *)(void *)filter;
}

static void
release(struct redis *r)
{
	net_close(r->net);
	generations_free(&r->generations);
	address_free(&r->address);
	free(r);
}

/* From now on no requests are made, and the reason is kept. Returns -1. */
static int
failed(struct redis *r, const struct error *why)
{
	if (!r->failed)
		r->why = *why;
	r->failed = 1;
	return -1;
}

static int
failed_before(const struct redis *r, struct error *error)
{
	if (!r->failed)
		return 0;
	*error = r->why;
	error->repeated = 1;
	return 1;
}

static void
tell(const struct redis *r, const struct error *text)
{
	if (r->notice != NULL)
		r->notice(text->text);
}

/* The header */

/* Returns 1 if there is none. `layout` and `header` may be NULL. */
static int
read_header(struct redis *r, redisReply *reply, struct layout *layout,
    struct header *header, struct error *error)
{
	struct error why;
	int result = 0;

	if (reply == NULL)
		return -1;
	if (reply->type == REDIS_REPLY_NIL)
		result = 1;
	else if (reply->type != REDIS_REPLY_STRING)
		result = shards_odd(&r->shards, reply, error);
	else if (layout_decode(layout, header, reply->str, reply->len,
	    &why) < 0)
		result = error_set(error, why.status, "%s: %s",
		    r->address.shown, why.text);
	freeReplyObject(reply);
	return result;
}

static int
get_header(struct redis *r, struct layout *layout, struct header *header,
    struct error *error)
{
	char key[LAYOUT_KEY_MAX];

	layout_header_key(key, r->address.name);
	return read_header(r, net_call(r->net, key, 0, error, "GET %s", key),
	    layout, header, error);
}

/* The filter that is open from now on. */
static void
take_header(struct redis *r, const struct layout *layout)
{
	r->shards.layout = *layout;
	r->shards.grows = r->header.growth == GROWTH_GROW;
	memcpy(r->shards.id, r->header.id, sizeof r->shards.id);
	r->kind = layout->kind == SHARDS_BLOOM ? &bloom_operations :
	    &bits_operations;
	generations_begin(&r->generations, &r->shards, &r->header.window);
}

static int
is_ours(const struct redis *r, const struct header *header)
{
	return memcmp(header->id, r->header.id, sizeof header->id) == 0;
}

/* Trouble with shards */

/* A shard is missing: was the filter replaced or removed, or damaged? */
static int
explain_missing(struct redis *r, struct error *error)
{
	struct header header;
	struct layout layout;
	int result = get_header(r, &layout, &header, error);

	if (result < 0)
		return -1;
	/* A mark of bits may have made some anew, in vain. */
	if ((result > 0 || !is_ours(r, &header)) &&
	    generations_delete(&r->generations, error) < 0)
		return -1;
	if (result > 0)
		return error_set(error, STATUS_FAILED, "%s: the filter is no"
		    " longer there: it was removed", r->address.shown);
	if (!is_ours(r, &header))
		return error_set(error, STATUS_FAILED, "%s: the filter is no"
		    " longer there: another one has replaced it",
		    r->address.shown);
	return error_set(error, STATUS_FAILED, "%s: damaged: the key %s is"
	    " missing, and all lines in it; only create --force makes the"
	    " filter whole again, and empty", r->address.shown,
	    r->trouble.missing);
}

/* Lines that the server didn't take: they are printed, and not remembered. */
static int
explain_refused(struct redis *r, struct error *error)
{
	char text[NUMBER_TEXT];

	error_set(error, STATUS_FULL, "%s: %s lines are not remembered: the"
	    " server says: %s", r->address.shown, number_format_count(text,
	    r->trouble.refused), r->trouble.why);
	if (r->filter.growth != GROWTH_WARN)
		return -1;
	if (!r->warned)
		tell(r, error);
	r->warned = 1;
	return 0;
}

/* After answers: is all well? */
static int
check(struct redis *r, struct error *error)
{
	if (r->trouble.missing[0] != '\0')
		return failed(r, (explain_missing(r, error), error));
	if (r->trouble.refused > 0 && explain_refused(r, error) < 0)
		return failed(r, error);
	return 0;
}

static int
finish(struct redis *r, struct error *error)
{
	return net_finish(r->net, error) < 0 ? failed(r, error) :
	    check(r, error);
}

/* The table that says what all generations have. */
static void
describe(struct redis *r)
{
	const struct generations *g = &r->generations;

	r->table = (struct table){ 0 };
	for (unsigned i = g->count; i-- > 0; ) {
		const struct shards *s = &g->set[i];

		if (g->quarter > 0)
			r->table.generations[r->table.generation_count++] =
			    (struct generation){ s->generation,
			    s->generation * g->quarter,
			    (s->generation + 1) * g->quarter };
		layout_table(&s->layout, &r->header, s->lines, &r->table);
	}
	/* One that was never used yet. */
	if (g->count == 0)
		layout_table(&r->shards.layout, &r->header, 0, &r->table);
}

static int
count(struct redis *r, struct error *error)
{
	for (unsigned i = 0; i < r->generations.count; i++) {
		if (shards_count(&r->generations.set[i], r->kind, error) < 0)
			return failed(r, error);
	}
	describe(r);
	return check(r, error);
}

/* What is remembered follows time; marks go into the newest generation. */
static int
turn(struct redis *r, struct error *error)
{
	int turned = generations_turn(&r->generations, r->kind, r->makes,
	    error);

	return turned < 0 ? failed(r, error) : turned > 0 ? count(r, error) :
	    0;
}

/* So many lines were marked in the newest generation. */
static void
add_lines(struct redis *r, uint64_t lines)
{
	r->generations.set[0].lines += lines;
	describe(r);
}

/* Opening */

static struct redis *
new_redis(const char *location, const struct filter_use *use,
    struct error *error)
{
	struct redis *r = memory_or_die(calloc(1, sizeof *r));
	/* Without a notice, the caller gave no timeout. */
	uint64_t wait = use->wait.notice == NULL ? RETRY_MS :
	    use->wait.milliseconds;

	r->filter = (struct filter){ .operations = &operations,
		.header = &r->header, .table = &r->table };
	r->notice = use->wait.notice;
	r->claims = use->claim;
	if (address_parse(&r->address, location, error) < 0) {
		free(r);
		return NULL;
	}
	if (net_open(&r->net, &r->address, wait, use->writable, r->notice,
	    error) < 0) {
		release(r);
		return NULL;
	}
	r->filter.name = r->address.shown;
	r->shards = (struct shards){ .net = r->net, .name = r->address.name,
		.shown = r->address.shown, .trouble = &r->trouble,
		.generation = LAYOUT_NO_GENERATION };
	return r;
}

/*
 * A server that evicts keys when its memory is full forgets parts of the
 * filter. A user without permission to ask for the policy is not warned.
 */
static int
warn_of_eviction(struct redis *r, struct error *error)
{
	static const char field[] = "maxmemory_policy:";
	char key[LAYOUT_KEY_MAX];
	redisReply *reply;
	const char *policy;

	layout_header_key(key, r->address.name);
	reply = net_call(r->net, key, REQUEST_ERRORS, error, "INFO memory");
	if (reply == NULL)
		return -1;
	policy = reply->type == REDIS_REPLY_STRING ?
	    strstr(reply->str, field) : NULL;
	if (policy != NULL && strncmp(policy + sizeof field - 1, "noeviction",
	    10) != 0) {
		struct error told;

		policy += sizeof field - 1;
		error_set(&told, 0, "%s: the server may evict parts of the"
		    " filter when its memory is full (maxmemory-policy %.*s);"
		    " set it to noeviction", r->address.shown,
		    (int)strcspn(policy, "\r\n"), policy);
		tell(r, &told);
	}
	freeReplyObject(reply);
	return 0;
}

static int
begin_use(struct redis *r, const struct filter_use *use, struct error *error)
{
	r->filter.growth = use->growth < 0 ? r->header.growth :
	    (enum growth)use->growth;
	if (use->writable && (r->header.version_to_write > FORMAT_VERSION ||
	    r->header.optional_features != 0))
		return error_set(error, STATUS_FAILED, "%s: made by a newer"
		    " version of bloomdedup: this one can only read it",
		    r->address.shown);
	if (r->filter.growth == GROWTH_WARN &&
	    r->header.growth == GROWTH_GROW)
		return error_set(error, STATUS_USAGE, "%s: the server lets it"
		    " grow, which --on-full=warn can't change; create makes"
		    " one that doesn't grow", r->address.shown);
	r->makes = use->writable;
	return turn(r, error) < 0 || count(r, error) < 0 || (use->writable &&
	    warn_of_eviction(r, error) < 0) ? -1 : 0;
}

int
redis_open(struct filter **filter, const char *location,
    const struct filter_use *use, struct error *error)
{
	struct redis *r = new_redis(location, use, error);
	struct layout layout;
	int result;

	*filter = NULL;
	if (r == NULL)
		return -1;
	result = get_header(r, &layout, &r->header, error);
	if (result == 0) {
		take_header(r, &layout);
		result = begin_use(r, use, error);
	}
	if (result == 0)
		*filter = &r->filter;
	else
		release(r);
	return result;
}

/* Making */

/* Is it Valkey, whose filters don't halve the rate? *is is set. */
static int
find_server(struct redis *r, const char *key, int *valkey,
    struct error *error)
{
	redisReply *reply = net_call(r->net, key, REQUEST_ERRORS, error,
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
find_kind(struct redis *r, const char *key, enum shard_kind *kind,
    struct error *error)
{
	redisReply *reply = net_call(r->net, key, REQUEST_ERRORS, error,
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
		    " %s", r->address.shown, reply->str);
	freeReplyObject(reply);
	return result;
}

static int
plan_bits(struct redis *r, struct layout *layout, struct error *error)
{
	struct error why, told;
	char text[NUMBER_TEXT];

	if (r->header.window.kind != WINDOW_NONE)
		return error_set(error, STATUS_USAGE, "%s: --window needs a"
		    " server with BF.* (Redis 8, RedisBloom, valkey-bloom)",
		    r->address.shown);
	if (layout_bits(layout, r->header.capacity, r->header.error_rate,
	    &why) < 0)
		return error_set(error, why.status, "%s: %s", r->address.shown,
		    why.text);
	if (r->header.growth != GROWTH_GROW)
		return 0;
	r->header.growth = GROWTH_WARN;
	error_set(&told, 0, "%s: the server has no BF.* (Redis 8, RedisBloom,"
	    " valkey-bloom), so the filter can't grow: beyond %s lines it makes"
	    " more mistakes, with a warning", r->address.shown,
	    number_format_count(text, r->header.capacity));
	tell(r, &told);
	return 0;
}

static int
plan_bloom(struct redis *r, const char *key, struct layout *layout,
    struct error *error)
{
	uint64_t capacity = r->header.capacity;
	double rate = r->header.error_rate;
	int valkey, windowed = r->header.window.kind != WINDOW_NONE;

	if (windowed) {
		capacity = window_generation_capacity(capacity);
		rate *= WINDOW_SHARE;
	}
	if (rate < LAYOUT_BLOOM_RATE_MIN)
		return error_set(error, STATUS_USAGE, "%s: the hash of the"
		    " server's filters has 64 bits, which is not enough for"
		    " --error-rate=%g%s; at least %s", r->address.shown,
		    r->header.error_rate, windowed ? " with a window" : "",
		    windowed ? "6e-8" : "1e-8");
	if (find_server(r, key, &valkey, error) < 0)
		return -1;
	layout_bloom(layout, capacity, rate, r->header.growth, !valkey);
	return 0;
}

/* What the new filter is like; nothing of it is on the server yet. */
static int
plan_new(struct redis *r, const struct filter_design *plan, struct error *error)
{
	char key[LAYOUT_KEY_MAX];
	struct table unused;
	struct layout layout;
	enum shard_kind kind;

	if (layers_plan(plan, &r->header, &unused, error) < 0)
		return -1;
	/* Of several clients' lines, nobody knows which came first. */
	if (r->header.window.kind == WINDOW_LINES)
		return error_set(error, STATUS_USAGE, "%s: a filter on a server"
		    " can't have a window of new lines, whose order no client"
		    " knows; use a window of time, such as --window=30d",
		    r->address.shown);
	r->header.created = (uint64_t)time(NULL);
	r->header.version_to_write = FORMAT_VERSION;
	if (random_bytes(r->header.id, sizeof r->header.id, error) < 0)
		return -1;
	layout_shard_key(key, r->address.name, r->header.id,
	    LAYOUT_NO_GENERATION, 0);
	if (find_kind(r, key, &kind, error) < 0 || (kind == SHARDS_BLOOM ?
	    plan_bloom(r, key, &layout, error) :
	    plan_bits(r, &layout, error)) < 0)
		return -1;
	take_header(r, &layout);
	return 0;
}

/* Delete the shards of a filter whose header is gone. */
static int
delete_shards(struct redis *r, const struct header *header,
    const struct layout *layout, struct error *error)
{
	struct generations generations;
	struct shards old = { .net = r->net, .name = r->address.name,
		.shown = r->address.shown, .layout = *layout,
		.generation = LAYOUT_NO_GENERATION };

	memcpy(old.id, header->id, sizeof old.id);
	generations_begin(&generations, &old, &header->window);
	return generations_delete(&generations, error);
}

/*
 * Put the header in place of another one, or of none. Its answer may be lost,
 * and a second try finds the first: what was there before is read first.
 */
static int
put_header(struct redis *r, const uint8_t *bytes, struct error *error)
{
	struct header before, old;
	struct layout layout_before, layout_old;
	char key[LAYOUT_KEY_MAX];
	int had, has;

	layout_header_key(key, r->address.name);
	had = get_header(r, &layout_before, &before, error);
	if (had < 0)
		return -1;
	has = read_header(r, net_call(r->net, key, 0, error, "GETSET %s %b",
	    key, bytes, (size_t)LAYOUT_HEADER_BYTES), &layout_old, &old,
	    error);
	if (has < 0)
		return -1;
	if (has == 0 && !is_ours(r, &old) &&
	    delete_shards(r, &old, &layout_old, error) < 0)
		return -1;
	return had == 0 && !is_ours(r, &before) ?
	    delete_shards(r, &before, &layout_before, error) : 0;
}

/* Set the header unless there is one: then, returns 1. */
static int
add_header(struct redis *r, const uint8_t *bytes, struct error *error)
{
	char key[LAYOUT_KEY_MAX];
	redisReply *reply;
	int had;

	layout_header_key(key, r->address.name);
	reply = net_call(r->net, key, 0, error, "SET %s %b NX", key, bytes,
	    (size_t)LAYOUT_HEADER_BYTES);
	if (reply == NULL)
		return -1;
	had = reply->type == REDIS_REPLY_NIL;
	freeReplyObject(reply);
	return had;
}

/*
 * The shards are there; now the header. Returns 1 if there is another filter:
 * then our shards are gone.
 */
static int
publish(struct redis *r, int replace, struct error *error)
{
	uint8_t bytes[LAYOUT_HEADER_BYTES];
	struct header header;
	struct layout layout;
	int result, had = 1;

	layout_encode(&r->shards.layout, &r->header, bytes);
	/* The header that it had may be gone; then try again. Whatever the
	   answer was, the header is read back. */
	for (int i = 0; had == 1 && i < CREATE_TRIES; i++) {
		had = (replace ? put_header : add_header)(r, bytes, error);
		if (had < 0)
			return -1;
		result = get_header(r, &layout, &header, error);
		had = had && result == 1;
	}
	if (result < 0 || (result == 0 && is_ours(r, &header)))
		return result;
	if (generations_delete(&r->generations, error) < 0)
		return -1;
	return result == 0 && !replace ? 1 : error_set(error, STATUS_FAILED,
	    "%s: another client has replaced or removed the filter at the same"
	    " moment", r->address.shown);
}

/*
 * After a failure, by a new connection: shards that were made to stay must not
 * stay without a header.
 */
static void
clean_up(struct redis *r)
{
	struct error unused;
	struct header header;
	struct layout layout;
	int result;

	net_close(r->net);
	r->net = NULL;
	if (net_open(&r->net, &r->address, 0, 0, NULL, &unused) < 0)
		return;
	r->shards.net = r->net;
	result = get_header(r, &layout, &header, &unused);
	if (result > 0 || (result == 0 && !is_ours(r, &header)))
		(void)shards_delete(&r->shards, &unused);
}

int
redis_create(struct filter **filter, const char *location, int replace,
    const struct filter_design *plan, const struct filter_use *use,
    struct error *error)
{
	struct redis *r = new_redis(location, use, error);
	struct header header;
	struct layout layout;
	int result;

	*filter = NULL;
	if (r == NULL)
		return -1;
	/* Shards aren't made in vain. */
	result = get_header(r, &layout, &header, error);
	if ((result == 0 && !replace) || result < 0 ||
	    plan_new(r, plan, error) < 0) {
		release(r);
		return result == 0 && !replace ? 1 : -1;
	}
	/* Generations are made when they are due. */
	result = r->header.window.kind != WINDOW_NONE ? 0 :
	    shards_make(&r->shards, r->kind, error);
	if (result == 0)
		result = publish(r, replace, error);
	if (result < 0 && r->header.window.kind == WINDOW_NONE)
		clean_up(r);
	if (result == 0)
		result = begin_use(r, use, error);
	if (result != 0) {
		release(r);
		return result;
	}
	*filter = &r->filter;
	return 0;
}

static int
remove_filter(struct redis *r, struct error *error)
{
	struct header before, old;
	struct layout layout_before, layout_old;
	char key[LAYOUT_KEY_MAX];
	int result = get_header(r, &layout_before, &before, error);

	if (result != 0)
		return result;
	layout_header_key(key, r->address.name);
	result = read_header(r, net_call(r->net, key, 0, error, "GETDEL %s",
	    key), &layout_old, &old, error);
	if (result < 0)
		return -1;
	/* If there is none, another client, or a first try, deleted it. */
	if (result == 0 && delete_shards(r, &old, &layout_old, error) < 0)
		return -1;
	return delete_shards(r, &before, &layout_before, error);
}

int
redis_remove(const char *location, const struct lock_wait *wait,
    struct error *error)
{
	struct filter_use use = FILTER_WRITE;
	struct redis *r;
	int result;

	use.wait = *wait;
	r = new_redis(location, &use, error);
	if (r == NULL)
		return -1;
	result = remove_filter(r, error);
	release(r);
	return result;
}

/* Lines */

/*
 * A mark that is made again, since its server was busy or its connection lost,
 * may come after the question: then that is asked again.
 */
static int
probe(struct filter *filter, const struct digest *digests, size_t n,
    uint8_t *found, struct error *error)
{
	struct redis *r = redis_of(filter);
	struct generations *g = &r->generations;
	int marks = net_is_busy(r->net);
	uint64_t repeats = net_figures(r->net)->repeats, now;

	if (failed_before(r, error) || turn(r, error) < 0)
		return -1;
	/* A claim is a question, too. */
	if (r->claims && r->shards.layout.kind == SHARDS_BLOOM &&
	    g->quarter == 0)
		return 0;
	for (int again = 1; again; repeats = now) {
		for (unsigned i = 0; i < g->count; i++) {
			shards_sort(&g->set[i], digests, n, found);
			if (r->kind->ask(&g->set[i], error) < 0)
				return failed(r, error);
		}
		if (finish(r, error) < 0)
			return -1;
		now = net_figures(r->net)->repeats;
		again = marks && now != repeats;
		marks = 0;
	}
	return 0;
}

/* The server's filters hold more than was asked for; --on-full=fail doesn't. */
static uint64_t
reserve(struct filter *filter, uint64_t wanted, struct error *error)
{
	struct redis *r = redis_of(filter);
	uint64_t capacity = r->generations.quarter == 0 ? r->header.capacity :
	    window_generation_capacity(r->header.capacity);
	uint64_t room = 0, lines;

	if (failed_before(r, error))
		return 0;
	if (filter->growth != GROWTH_FAIL)
		return wanted;
	for (int i = 0; i < 2 && room < wanted; i++) {
		if (i > 0 && (finish(r, error) < 0 || count(r, error) < 0))
			return 0;
		lines = r->generations.set[0].lines;
		room = capacity > lines ? capacity - lines : 0;
	}
	if (room < wanted)
		error_set(error, STATUS_FULL, "%s: the filter's capacity of %"
		    PRIu64 " lines is used up (--on-full=fail)",
		    r->address.shown, capacity);
	return room < wanted ? room : wanted;
}

static int
mark(struct filter *filter, const struct digest *digests, size_t n,
    struct error *error)
{
	struct redis *r = redis_of(filter);

	struct shards *newest = r->generations.set;

	if (failed_before(r, error) || turn(r, error) < 0)
		return -1;
	shards_sort(newest, digests, n, NULL);
	if (r->kind->mark(newest, error) < 0 || net_flush(r->net, error) < 0)
		return failed(r, error);
	add_lines(r, n);
	return check(r, error);
}

static int
claim(struct filter *filter, const struct digest *digests, size_t n,
    uint8_t *taken, struct error *error)
{
	struct redis *r = redis_of(filter);
	struct shards *newest = r->generations.set;
	size_t room;
	uint64_t fresh = 0;
	struct error full;

	memset(taken, 1, n);
	full.status = STATUS_OK;
	room = (size_t)reserve(filter, n, &full);
	if (failed_before(r, error))
		return -1;
	shards_sort(newest, digests, room, taken);
	if ((r->kind->mark(newest, error) < 0 ? failed(r, error) :
	    finish(r, error)) < 0) {
		net_abandon(r->net);
		return -1;
	}
	for (size_t i = 0; i < room; i++)
		fresh += !taken[i];
	add_lines(r, fresh);
	if (room == n)
		return 0;
	*error = full;
	return -1;
}

static int
idle_after(const struct filter *filter)
{
	const struct redis *r = (const struct redis *)(const void *)filter;

	return net_is_busy(r->net) ? IDLE_AFTER : -1;
}

static int
write_back(struct filter *filter, int all, struct error *error)
{
	struct redis *r = redis_of(filter);

	return all && !r->failed ? finish(r, error) : 0;
}

/* What was printed though nobody can tell whether it was new. */
static void
tell_uncertain(const struct redis *r)
{
	char text[NUMBER_TEXT];
	struct error told;

	if (r->trouble.uncertain == 0)
		return;
	error_set(&told, 0, "%s: %s lines may have been printed by another"
	    " client, too: the connection was lost before the server's answer",
	    r->address.shown, number_format_count(text, r->trouble.uncertain));
	tell(r, &told);
}

static int
close_redis(struct filter *filter, struct error *error)
{
	struct redis *r = redis_of(filter);
	int result = write_back(filter, 1, error);
	struct error told;

	if (r->warned && r->trouble.refused > 0) {
		explain_refused(r, &told);
		tell(r, &told);
	}
	tell_uncertain(r);
	release(r);
	return result;
}

/* What it says of itself */

static void
traffic(const struct filter *filter, struct filter_traffic *figures)
{
	const struct net_figures *net = net_figures(
	    ((const struct redis *)(const void *)filter)->net);

	*figures = (struct filter_traffic){ net->round_trips, net->bytes_sent,
		net->bytes_received };
}

static void
shards(const struct filter *filter, struct filter_shards *shards)
{
	const struct layout *layout =
	    &((const struct redis *)(const void *)filter)->shards.layout;

	*shards = (struct filter_shards){ layout->shards,
		layout->kind == SHARDS_BLOOM };
}

static const struct filter_operations operations = {
	.batch_lines = BATCH_LINES,
	.probe = probe,
	.reserve = reserve,
	.mark = mark,
	.claim = claim,
	.idle_after = idle_after,
	.write_back = write_back,
	.traffic = traffic,
	.shards = shards,
	.close = close_redis
};
