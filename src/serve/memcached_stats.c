#include "serve/memcached_stats.h"

#include <inttypes.h>
#include <math.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "filter/filter.h"
#include "model/estimate.h"
#include "serve/catalog.h"
#include "serve/leases.h"

/* 1 MiB of each layer is read for its figures: other clients wait for it. */
#define SAMPLE_PAGES 256

static void
put_count(struct buffer *replies, const char *name, uint64_t value)
{
	buffer_format(replies, "STAT %s %" PRIu64 "\r\n", name, value);
}

static void
put_real(struct buffer *replies, const char *name, double value)
{
	buffer_format(replies, "STAT %s %.6g\r\n", name, value);
}

static void
stats_server(const struct service *service, struct buffer *replies)
{
	const struct counters *c = &service->counters;
	const struct {
		const char *name;
		uint64_t value;
	} rest[] = { /* names of memcached's; most have no meaning here */
		{ "cmd_flush", 0 },
		{ "cmd_touch", c->touch_hits + c->touch_misses },
		{ "cmd_meta", 0 },
		{ "get_expired", 0 },
		{ "get_flushed", 0 },
		{ "incr_misses", 0 },
		{ "incr_hits", 0 },
		{ "decr_misses", 0 },
		{ "decr_hits", 0 },
		{ "cas_misses", 0 },
		{ "cas_hits", 0 },
		{ "cas_badval", 0 },
		{ "touch_hits", c->touch_hits },
		{ "touch_misses", c->touch_misses },
		{ "auth_cmds", 0 },
		{ "auth_errors", 0 },
		{ "listen_disabled_num", 0 },
		{ "conn_yields", 0 },
		{ "evictions", 0 },
		{ "reclaimed", 0 },
		{ "expired_unfetched", 0 },
		{ "evicted_unfetched", 0 },
	};
	struct rusage usage = { 0 };

	getrusage(RUSAGE_SELF, &usage);
	put_count(replies, "pid", (uint64_t)getpid());
	put_count(replies, "uptime",
	    (clock_now() - service->started) / CLOCK_SECOND);
	put_count(replies, "time", (uint64_t)time(NULL));
	buffer_format(replies, "STAT version %s\r\n",
	    service->settings->version);
	put_count(replies, "pointer_size", 8 * sizeof(void *));
	buffer_format(replies, "STAT rusage_user %ld.%06ld\r\n"
	    "STAT rusage_system %ld.%06ld\r\n",
	    (long)usage.ru_utime.tv_sec, (long)usage.ru_utime.tv_usec,
	    (long)usage.ru_stime.tv_sec, (long)usage.ru_stime.tv_usec);
	put_count(replies, "max_connections", service->connections);
	put_count(replies, "curr_connections", c->curr_connections);
	put_count(replies, "total_connections", c->total_connections);
	put_count(replies, "rejected_connections", c->rejected_connections);
	put_count(replies, "connection_structures", c->curr_connections);
	put_count(replies, "cmd_get", c->cmd_get);
	put_count(replies, "cmd_set", c->cmd_set);
	put_count(replies, "get_hits", c->get_hits);
	put_count(replies, "get_misses", c->get_misses);
	put_count(replies, "delete_hits", c->delete_hits);
	put_count(replies, "delete_misses", c->delete_misses);
	put_count(replies, "refused", c->refused);
	for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
		put_count(replies, rest[i].name, rest[i].value);
	put_count(replies, "bytes_read", c->bytes_read);
	put_count(replies, "bytes_written", c->bytes_written);
	put_count(replies, "limit_maxbytes", service->catalog->pool.limit);
	put_count(replies, "accepting_conns", 1);
	put_count(replies, "threads", 1);
	put_count(replies, "bytes", service->catalog->pool.bytes);
	put_count(replies, "curr_items", service->catalog->count);
	put_count(replies, "total_items", c->stored);
}

static void
stats_settings(const struct service *service, struct buffer *replies)
{
	put_count(replies, "maxbytes", service->catalog->pool.limit);
	put_count(replies, "maxconns", service->connections);
	buffer_format(replies, "STAT evictions off\r\n"
	    "STAT cas_enabled no\r\nSTAT flush_enabled no\r\n"
	    "STAT num_threads 1\r\nSTAT binding_protocol ascii\r\n");
	put_count(replies, "item_size_max", service->settings->limits.value);
	put_count(replies, "key_size_max", service->settings->limits.key);
}

/* The size of each filter; 0 if it can't be used. */
static void
stats_blooms(struct catalog *catalog, struct buffer *replies)
{
	catalog_list(catalog);
	for (size_t i = 0; i < catalog->count; i++)
		put_count(replies, catalog->items[i]->name,
		    served_bytes(catalog->items[i]));
}

static void
put_figures(struct filter *filter, struct buffer *replies)
{
	const struct header *header = filter_header(filter);
	const struct table *table = filter_table(filter);
	const struct geometry *first = &table->layers[0].geometry;
	/* a page that can't be read counts as empty */
	struct estimate newest = estimate_layer(filter, table->count - 1,
	    SAMPLE_PAGES, error_ignored());
	double lines = newest.lines;

	for (unsigned i = 0; i + 1 < table->count; i++)
		lines += (double)table->layers[i].lines;
	put_count(replies, "capacity", header->capacity);
	put_real(replies, "error_rate", header->error_rate);
	put_real(replies, "error_rate_now",
	    estimate_error_rate(filter, SAMPLE_PAGES));
	/* With every bit set, the estimate is infinite or no number. */
	if (!(lines < 1e18))
		lines = 0;
	put_count(replies, "lines", (uint64_t)llround(lines));
	/* Tell the room as planned, also of a filter that may be overfilled. */
	put_count(replies, "room", table_room(table, GROWTH_FAIL));
	put_count(replies, "bytes", filter_bytes(filter));
	put_real(replies, "bits_per_line",
	    8 * (double)filter_bytes(filter) / (double)header->capacity);
	put_count(replies, "k", first->k);
	put_count(replies, "cache_lines", first->cache_lines);
	put_count(replies, "layers", table->count);
	put_real(replies, "fill", newest.share);
}

/* The figures of one filter. Returns 0, or -1 if the request was refused. */
static int
stats_bloom(struct service *service, struct bytes name,
    struct buffer *replies)
{
	const struct served *served = catalog_find(service->catalog, name);

	if (served == NULL) {
		buffer_line(replies, "CLIENT_ERROR no such filter");
		return -1;
	}
	if (served->filter == NULL) {
		buffer_reason(replies, "CLIENT_ERROR ", served->reason);
		return -1;
	}
	put_figures(served->filter, replies);
	if (service->leases != NULL)
		put_count(replies, "leases", served_leases(served));
	return 0;
}

/* Set all counters to zero, but not what there is now. */
static void
reset(struct service *service)
{
	if (service->leases != NULL)
		leases_reset_counters(service->leases);
	service->counters = (struct counters){
		.curr_connections = service->counters.curr_connections };
}

/* Only where there are leases: exporters show what they don't know. */
static void
stats_leases(const struct service *service, struct buffer *replies)
{
	const struct lease_counters *c;

	if (service->leases == NULL)
		return;
	c = leases_counters(service->leases);
	/* A filter whose file is gone has no leases. */
	if (c->live > 0)
		catalog_list(service->catalog);
	put_count(replies, "leases", c->live);
	put_count(replies, "leases_max", leases_most(service->leases));
	put_count(replies, "leases_granted", c->granted);
	put_count(replies, "leases_renewed", c->renewed);
	put_count(replies, "leases_committed", c->committed);
	put_count(replies, "leases_returned", c->returned);
	put_count(replies, "leases_expired", c->expired);
	put_count(replies, "leases_refused", c->refused);
}

void
memcached_stats(struct service *service, const struct request *request,
    struct buffer *replies)
{
	if (bytes_are(request->key, "bloom")) {
		if (stats_bloom(service, request->value, replies) < 0)
			return;
	} else if (request->key.nbytes == 0) {
		stats_server(service, replies);
		stats_leases(service, replies);
	} else if (bytes_are(request->key, "blooms")) {
		stats_blooms(service->catalog, replies);
	} else if (bytes_are(request->key, "settings")) {
		stats_settings(service, replies);
	} else if (bytes_are(request->key, "reset")) {
		reset(service);
		buffer_line(replies, "RESET");
		return;
	} else if (!bytes_are(request->key, "slabs") && !bytes_are(request->key,
	    "items") && !bytes_are(request->key, "conns") &&
	    !bytes_are(request->key, "cachedump")) {
		/*
		 * The line is short, since libmemcached's tool has 80 bytes for
		 * it.
		 */
		buffer_line(replies, "CLIENT_ERROR stats takes blooms, bloom"
		    " NAME, settings or reset");
		return;
	}
	buffer_line(replies, "END");
}
