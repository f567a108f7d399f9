#include "redis/redis.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/meminfo.h"
#include "base/random.h"
#include "redis/address.h"
#include "layers/layers.h"
#include "redis/call.h"
#include "redis/chunks.h"
#include "redis/cluster.h"
#include "redis/filter.h"

/*
 * The more lines of a batch are in a page, the less each costs the server: 1.6
 * us at three lines a page, 0.22 us at 25.
 */
#define BATCH_LINES (512 * 1024)

/* How long temporary errors are retried, if there is no --lock-timeout. */
#define RETRY_MS 60000

static const struct filter_operations operations;

static void
release(struct redis *r)
{
	for (unsigned i = 0; i < r->mirror_count; i++)
		mirror_unmap(&r->mirrors[i]);
	for (unsigned i = 0; i < FORMAT_LAYERS_MAX; i++)
		group_free(&r->fetches[i].group);
	marks_free(&r->marks);
	claims_free(&r->claims);
	redis_net_close(r->server.net);
	address_free(&r->server.address);
	free(r->unknown);
	free(r->items);
	free(r->found);
	free(r);
}

static int
connect_server(struct server *server, const char *location,
    const struct lock_wait *wait, struct error *error)
{
	char key[REDIS_KEY_MAX];

	if (address_parse(&server->address, location, error) < 0)
		return -1;
	server->keys.name = server->address.name;
	server->slot = cluster_slot(key, key_table(key, &server->keys));
	if (redis_net_open(&server->net, &server->address,
	    wait->milliseconds, wait->notice, error) == 0)
		return 0;
	address_free(&server->address);
	return -1;
}

static struct redis *
new_redis(const char *location, const struct filter_use *use,
    struct error *error)
{
	struct redis *r = memory_or_die(calloc(1, sizeof *r));
	struct lock_wait wait = use->wait;

	r->filter = (struct filter){ .operations = &operations,
		.header = &r->header, .table = &r->table };
	r->writable = use->writable;
	r->notice = use->wait.notice;
	r->max_bytes = use->max_bytes;
	r->claim_use = use->claim;
	r->replicas = use->replicas;
	r->mirror_max = meminfo_available() / 4;
	r->published = 1;
	/* Without a notice, the caller gave no timeout. */
	if (wait.notice == NULL)
		wait.milliseconds = RETRY_MS;
	r->wait_ms = wait.milliseconds;
	if (connect_server(&r->server, location, &wait, error) == 0)
		return r;
	free(r);
	return NULL;
}

/* Of several clients' lines, nobody knows which came first. */
static int
check_window(const struct redis *r, struct error *error)
{
	return r->header.window.kind != WINDOW_LINES ? 0 :
	    error_set(error, STATUS_USAGE, "%s: a filter on a server can't"
	    " have a window of new lines, whose order no client knows; use a"
	    " window of time, such as --window=30d", redis_name(r));
}

static int
begin_use(struct redis *r, const struct filter_use *use, struct error *error)
{
	struct table table = r->table;

	r->filter.growth = use->growth < 0 ? r->header.growth :
	    (enum growth)use->growth;
	redis_probe_count(r);
	if (check_window(r, error) < 0)
		return -1;
	if (use->writable && (r->header.version_to_write > FORMAT_VERSION ||
	    r->header.optional_features != 0)) {
		return error_set(error, STATUS_FAILED, "%s: made by a newer"
		    " version of bloomdedup: this one can only read it",
		    redis_name(r));
	}
	/* A caller that fills a new filter counts all layers of its table. */
	return r->published ? redis_window_take(r, &table, error) :
	    redis_probe_map(r, error);
}

/*
 * A server that evicts keys when its memory is full forgets parts of the
 * filter. A user without permission to ask for the policy is not warned.
 */
static void
warn_of_eviction(struct redis *r, void (*notice)(const char *text))
{
	static const char field[] = "maxmemory_policy:";
	struct error error;
	redisReply *reply = redis_call(r->server.net, r->server.slot,
	    REQUEST_ERRORS, &error, "INFO memory");
	const char *policy;

	if (reply == NULL)
		return;
	policy = reply->type == REDIS_REPLY_STRING ?
	    strstr(reply->str, field) : NULL;
	if (policy != NULL && notice != NULL &&
	    strncmp(policy + sizeof field - 1, "noeviction", 10) != 0) {
		policy += sizeof field - 1;
		error_set(&error, 0, "%s: the server may evict parts of the"
		    " filter when its memory is full (maxmemory-policy %.*s);"
		    " set it to noeviction", redis_name(r),
		    (int)strcspn(policy, "\r\n"), policy);
		notice(error.text);
	}
	freeReplyObject(reply);
}

int
redis_open(struct filter **filter, const char *location,
    const struct filter_use *use, struct error *error)
{
	struct redis *r = new_redis(location, use, error);
	int result;

	*filter = NULL;
	if (r == NULL)
		return -1;
	result = table_load(&r->server, use->writable, &r->header, &r->table,
	    error);
	if (result == 0)
		result = begin_use(r, use, error);
	if (result == 0 && use->sync)
		result = redis_mark_check_sync(r, error);
	if (result == 0 && use->writable)
		warn_of_eviction(r, use->wait.notice);
	if (result == 0)
		*filter = &r->filter;
	else
		release(r);
	return result;
}

/* A new filter, of which nothing is on the server yet. */
static struct redis *
begin_new(const char *location, const struct header *header,
    const struct table *table, const struct filter_use *use,
    struct error *error)
{
	struct redis *r = new_redis(location, use, error);

	if (r == NULL)
		return NULL;
	r->header = *header;
	r->server.window = header->window;
	if (check_window(r, error) < 0) {
		release(r);
		return NULL;
	}
	r->header.created = (uint64_t)time(NULL);
	r->header.version_to_write = FORMAT_VERSION;
	r->table = *table;
	r->table.generation = 1;
	r->table.marking = MARKING_NONE;
	r->published = 0;
	for (unsigned i = 0; i < r->table.count; i++) {
		/* Others may add to it, so no checksum stays valid. */
		r->table.layers[i].sealed = 0;
		r->table.layers[i].checksum = 0;
		r->table.layers[i].number = i;
	}
	r->table.sealing = (struct sealing){ 0 };
	if (random_bytes(r->header.id, sizeof r->header.id, error) < 0) {
		release(r);
		return NULL;
	}
	memcpy(r->server.keys.id, r->header.id, sizeof r->server.keys.id);
	return r;
}

int
redis_create(struct filter **filter, const char *location, int replace,
    const struct filter_plan *plan, const struct filter_use *use,
    struct error *error)
{
	struct table table;
	struct header header;
	struct redis *r;
	int result;

	*filter = NULL;
	if (layers_plan(plan, &header, &table, error) < 0)
		return -1;
	r = begin_new(location, &header, &table, use, error);
	if (r == NULL)
		return -1;
	if (use->sync && redis_mark_check_sync(r, error) < 0)
		result = -1;
	else if (replace)
		result = table_prepare(&r->server, &r->table, error) < 0 ? -1 :
		    table_publish(&r->server, &r->header, &r->table, 1, error);
	else
		result = table_create(&r->server, &r->header, &r->table,
		    error);
	if (result == 0)
		result = begin_use(r, use, error);
	if (result == 0) {
		r->published = 1;
		warn_of_eviction(r, use->wait.notice);
		*filter = &r->filter;
	} else {
		release(r);
	}
	return result;
}

int
redis_prepare(struct filter **filter, const char *location,
    const struct header *header, const struct table *table,
    struct error *error)
{
	const struct filter_use use = FILTER_WRITE;
	struct redis *r = begin_new(location, header, table, &use, error);

	*filter = NULL;
	if (r == NULL)
		return -1;
	if (table_prepare(&r->server, &r->table, error) < 0 ||
	    begin_use(r, &use, error) < 0) {
		release(r);
		return -1;
	}
	*filter = &r->filter;
	return 0;
}

static int
publish(struct filter *filter, int replace, struct error *error)
{
	struct redis *r = redis_of(filter);
	int result;

	if (redis_net_finish(r->server.net, error) < 0)
		return redis_failed(r, error);
	result = table_publish(&r->server, &r->header, &r->table, replace,
	    error);
	if (result < 0)
		return redis_failed(r, error);
	r->published = result == 0;
	return result;
}

int
redis_remove(const char *location, const struct lock_wait *wait,
    struct error *error)
{
	struct server server = { 0 };
	int result = connect_server(&server, location, wait, error);

	if (result < 0)
		return -1;
	result = table_remove(&server, error);
	redis_net_close(server.net);
	address_free(&server.address);
	return result;
}

static int
close_redis(struct filter *filter, struct error *error)
{
	struct redis *r = redis_of(filter);
	int result = 0;

	if (!r->failed)
		result = redis_mark_settle(r, error) < 0 ||
		    redis_room_give_back(r, error) < 0 ? -1 : 0;
	if (!r->published && !r->failed && result == 0)
		result = chunks_discard(&r->server, &r->table, error);
	release(r);
	return result;
}

/* Pages */

static int
read_pages(struct filter *filter, unsigned layer, uint64_t first,
    size_t pages, uint8_t *to, struct error *error)
{
	struct redis *r = redis_of(filter);
	const struct layer_entry *entry = &r->table.layers[layer];

	if (r->failed) {
		*error = r->why;
		error->repeated = 1;
		return -1;
	}
	if (r->all_over) {
		memset(to, 0, pages * PAGE_BYTES);
		return 0;
	}
	return fetch_pages(&r->server, &entry->geometry, entry->number, first,
	    pages, to, error) < 0 ? redis_failed(r, error) : 0;
}

static int
write_pages(struct filter *filter, unsigned layer, uint64_t first,
    size_t pages, const uint8_t *from, struct error *error)
{
	struct redis *r = redis_of(filter);
	struct redis_layer place = chunks_layer(&r->server, &r->table, layer);

	return fetch_put_pages(&r->server, &place, first, pages, from,
	    error) < 0 ? redis_failed(r, error) : 0;
}

/* What it says of itself */

static const char *
name(const struct filter *filter)
{
	return redis_name(const_redis_of(filter));
}

static uint64_t
private_bytes(const struct filter *filter)
{
	const struct redis *r = const_redis_of(filter);
	uint64_t pages = 0;

	for (unsigned i = 0; i < r->mirror_count; i++)
		pages += r->mirrors[i].pages;
	return pages * PAGE_BYTES;
}

static void
traffic(const struct filter *filter, struct filter_traffic *figures)
{
	const struct redis *r = const_redis_of(filter);
	const struct redis_figures *net = redis_net_figures(r->server.net);

	*figures = (struct filter_traffic){ net->round_trips, net->bytes_sent,
		net->bytes_received, r->mirrored };
}

static const struct filter_operations operations = {
	.name = name,
	.batch_lines = BATCH_LINES,
	.probe = redis_probe,
	.reserve = redis_room_reserve,
	.mark = redis_mark,
	.claim = redis_claiming,
	.mark_layer = redis_mark_layer,
	.idle_after = redis_mark_idle_after,
	.write_back = redis_mark_write_back,
	.sync = redis_mark_sync,
	.read_pages = read_pages,
	.write_pages = write_pages,
	.publish = publish,
	.private_bytes = private_bytes,
	.traffic = traffic,
	.close = close_redis
};
