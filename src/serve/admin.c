#include "serve/admin.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/number.h"
#include "bits/sizing.h"
#include "filter/filter.h"
#include "model/estimate.h"
#include "model/window.h"
#include "serve/catalog.h"

/* 1 MiB of each layer is read for its figures: other clients wait for it. */
#define SAMPLE_PAGES 256
#define MEGABYTE ((uint64_t)1 << 20)
/* Room for any number and a bar. */
#define NUMBERS_MAX 100

static void
put_count(struct buffer *replies, const char *name, uint64_t value)
{
	buffer_format(replies, "STAT %s %" PRIu64 "\r\n", name, value);
}

static void
put_text(struct buffer *replies, const char *name, const char *value)
{
	buffer_format(replies, "STAT %s %s\r\n", name, value);
}

static void
put_real(struct buffer *replies, const char *name, double value)
{
	buffer_format(replies, "STAT %s %.6g\r\n", name, value);
}

static void
put_time(struct buffer *replies, const char *name, struct timeval time)
{
	buffer_format(replies, "STAT %s %ld.%06ld\r\n", name,
	    (long)time.tv_sec, (long)time.tv_usec);
}

static void
refuse(struct buffer *replies, const char *reason)
{
	buffer_reason(replies, "CLIENT_ERROR ", reason);
}

int
admin_parse_window(struct window *window, uint64_t *lines, const char *text)
{
	if (window_parse(window, text) < 0)
		return -1;
	if (window->kind != WINDOW_LINES)
		return 0;
	if (4 * window_generation_capacity(*lines) != window->length)
		return -1;
	*lines = window->length;
	return 0;
}

/* "LINES|RATE" or "LINES|RATE|WINDOW" */
static int
parse_plan(struct bytes bytes, struct filter_design *plan, struct error *error)
{
	char text[NUMBERS_MAX] = "", *rate, *window;

	*plan = (struct filter_design){ .growth = GROWTH_GROW };
	if (bytes.nbytes < sizeof text &&
	    memchr(bytes.data, '\0', bytes.nbytes) == NULL)
		memcpy(text, bytes.data, bytes.nbytes);
	rate = strchr(text, '|');
	if (rate != NULL) {
		*rate++ = '\0';
		window = strchr(rate, '|');
		if (window != NULL)
			*window++ = '\0';
		if (number_count(text, &plan->capacity) == 0 &&
		    plan->capacity > 0 &&
		    plan->capacity <= SIZING_CAPACITY_MAX &&
		    number_rate(rate, &plan->error_rate) == 0 &&
		    plan->error_rate >= SIZING_RATE_MIN &&
		    plan->error_rate <= SIZING_RATE_MAX && (window == NULL ||
		    admin_parse_window(&plan->window, &plan->capacity,
		    window) == 0))
			return 0;
	}
	return error_set(error, STATUS_USAGE, "a plan is LINES|RATE, such as"
	    " 1e6|0.0001, with a rate from 1e-12 to 0.5, or"
	    " LINES|RATE|WINDOW, such as 1e6|0.0001|30d; a window of lines is"
	    " LINES");
}

static void
add_filter(struct service *service, const struct request *r,
    struct buffer *replies)
{
	struct error error = { 0 };
	struct filter_design plan;
	int result;

	service->counters.cmd_set++;
	if (catalog_find(service->catalog, r->key) != NULL) {
		buffer_line(replies, "NOT_STORED");
		return;
	}
	if (parse_plan(r->value, &plan, &error) < 0 ||
	    (result = catalog_add(service->catalog, r->key, &plan,
	    &error)) < 0)
		refuse(replies, error.text);
	else
		buffer_line(replies, result == 0 ? "STORED" : "NOT_STORED");
}

static void
delete_filter(struct service *service, const struct request *r,
    struct buffer *replies)
{
	struct counters *counters = &service->counters;
	struct error error = { 0 };
	int result;

	/* a time of 0 comes from older clients */
	if (!catalog_is_name(r->key) ||
	    (r->value.nbytes > 0 && !bytes_are(r->value, "0"))) {
		refuse(replies, "delete takes the name of a whole filter");
		return;
	}
	result = catalog_remove(service->catalog, r->key, &error);
	if (result < 0) {
		refuse(replies, error.text);
	} else if (result > 0) {
		counters->delete_misses++;
		buffer_line(replies, "NOT_FOUND");
	} else {
		counters->delete_hits++;
		buffer_line(replies, "DELETED");
	}
}

static void
set_memory(struct service *service, const struct request *r,
    struct buffer *replies)
{
	int64_t megabytes;

	if (bytes_to_integer(r->key, 0, &megabytes) < 0 || megabytes == 0 ||
	    megabytes > INT64_MAX / (int64_t)MEGABYTE) {
		refuse(replies, "setmem takes a number of megabytes");
		return;
	}
	service->catalog->pool.limit = (uint64_t)megabytes * MEGABYTE;
	buffer_line(replies, "STORED");
}

/* What a filter would need, as the predecessor of this server put it. */
static void
try(const struct request *r, struct buffer *replies)
{
	struct sizing sizing = { 0 };
	struct error error = { 0 };
	struct filter_design plan;
	char rate[NUMBER_TEXT];
	int result = parse_plan(r->key, &plan, &error);

	sizing.capacity = plan.capacity;
	sizing.error_rate = plan.error_rate;
	if (result < 0 || window_solve(&sizing, &plan.window, &error) < 0) {
		refuse(replies, error.text);
		return;
	}
	buffer_format(replies, "need_memory %" PRIu64 "(Bytes) %.2f(M)\r\n"
	    "use_function_num %u\r\nfalse_positive_rate %s\r\nEND\r\n",
	    sizing.bytes, (double)sizing.bytes / (double)MEGABYTE, sizing.k,
	    number_format_rate(rate, sizing.error_rate));
}

static void
stats_server(const struct service *service, struct buffer *replies)
{
	/* memcached's, which have no meaning here */
	static const char *const none[] = { "cmd_flush", "cmd_touch",
		"cmd_meta", "get_expired", "get_flushed", "incr_misses",
		"incr_hits", "decr_misses", "decr_hits", "cas_misses",
		"cas_hits", "cas_badval", "touch_hits", "touch_misses",
		"auth_cmds", "auth_errors", "listen_disabled_num",
		"conn_yields", "evictions", "reclaimed", "expired_unfetched",
		"evicted_unfetched" };
	const struct counters *c = &service->counters;
	struct rusage usage = { 0 };

	getrusage(RUSAGE_SELF, &usage);
	put_count(replies, "pid", (uint64_t)getpid());
	put_count(replies, "uptime", (clock_now() - service->started) /
	    CLOCK_SECOND);
	put_count(replies, "time", (uint64_t)time(NULL));
	put_text(replies, "version", service->plan->version);
	put_count(replies, "pointer_size", 8 * sizeof(void *));
	put_time(replies, "rusage_user", usage.ru_utime);
	put_time(replies, "rusage_system", usage.ru_stime);
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
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		put_count(replies, none[i], 0);
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
	const struct serve_settings *plan = service->plan;

	put_count(replies, "maxbytes", service->catalog->pool.limit);
	put_count(replies, "maxconns", service->connections);
	put_text(replies, "evictions", "off");
	put_text(replies, "cas_enabled", "no");
	put_text(replies, "flush_enabled", "no");
	put_count(replies, "num_threads", 1);
	put_text(replies, "binding_protocol", "ascii");
	put_count(replies, "item_size_max", plan->limits.value);
	put_count(replies, "key_size_max", plan->limits.key);
}

/* Each filter's size; 0 for one that can't be used. */
static void
stats_blooms(const struct service *service, struct buffer *replies)
{
	catalog_list(service->catalog);
	for (size_t i = 0; i < service->catalog->count; i++) {
		struct served *s = service->catalog->items[i];

		put_count(replies, s->name, served_bytes(s));
	}
}

static void
stats_bloom(struct filter *filter, struct buffer *replies)
{
	const struct header *header = filter_header(filter);
	const struct table *table = filter_table(filter);
	const struct geometry *first = &table->layers[0].geometry;
	struct estimate newest = estimate_layer(filter, table->count - 1,
	    SAMPLE_PAGES, &(struct error){ 0 });
	double lines = newest.lines;

	for (unsigned i = 0; i + 1 < table->count; i++)
		lines += (double)table->layers[i].lines;
	put_count(replies, "capacity", header->capacity);
	put_real(replies, "error_rate", header->error_rate);
	put_real(replies, "error_rate_now",
	    estimate_error_rate(filter, SAMPLE_PAGES));
	put_count(replies, "lines",
	    lines < 1e18 ? (uint64_t)llround(lines) : 0);
	/* as planned, even if it may be overfilled */
	put_count(replies, "room", format_room(table, GROWTH_FAIL));
	put_count(replies, "bytes", filter_bytes(filter));
	put_real(replies, "bits_per_line", 8 * (double)filter_bytes(filter) /
	    (double)header->capacity);
	put_count(replies, "k", first->k);
	put_count(replies, "cache_lines", first->cache_lines);
	put_count(replies, "layers", table->count);
	put_real(replies, "fill", newest.share);
}

static void
stats_of_one(const struct service *service, struct bytes name,
    struct buffer *replies)
{
	struct served *s = catalog_find(service->catalog, name);

	if (s == NULL) {
		refuse(replies, "no such filter");
	} else if (s->filter == NULL) {
		refuse(replies, s->reason);
	} else {
		stats_bloom(s->filter, replies);
		buffer_line(replies, "END");
	}
}

static void
stats(struct service *service, const struct request *r,
    struct buffer *replies)
{
	if (bytes_are(r->key, "bloom")) {
		stats_of_one(service, r->value, replies);
		return;
	}
	if (r->key.nbytes == 0) {
		stats_server(service, replies);
	} else if (bytes_are(r->key, "blooms")) {
		stats_blooms(service, replies);
	} else if (bytes_are(r->key, "settings")) {
		stats_settings(service, replies);
	} else if (bytes_are(r->key, "reset")) {
		/* all but what is there now */
		service->counters = (struct counters){ .curr_connections =
			service->counters.curr_connections };
		buffer_line(replies, "RESET");
		return;
	} else if (!bytes_are(r->key, "slabs") && !bytes_are(r->key, "items") &&
	    !bytes_are(r->key, "conns") && !bytes_are(r->key, "cachedump")) {
		/* short, since libmemcached's tool has 80 bytes for it */
		refuse(replies, "stats takes blooms, bloom NAME, settings or"
		    " reset");
		return;
	}
	buffer_line(replies, "END");
}

const char *
admin_refusal(const struct client *client, enum verb verb)
{
	const struct serve_settings *plan = client->service->plan;

	if (verb != VERB_SET && verb != VERB_ADD && verb != VERB_DELETE &&
	    verb != VERB_SETMEM)
		return NULL;
	if (plan->read_only)
		return "this server is read-only";
	if (verb != VERB_SET && plan->admin == ADMIN_NONE)
		return "not allowed (--no-admin)";
	if (verb == VERB_DELETE && plan->admin != ADMIN_ALL && !client->local) {
		return "delete needs a unix socket, or a server"
		    " with --admin";
	}
	return NULL;
}

static void
answer(struct service *service, const struct request *r,
    struct buffer *replies)
{
	switch (r->verb) {
	case VERB_ADD:
		add_filter(service, r, replies);
		break;
	case VERB_DELETE:
		delete_filter(service, r, replies);
		break;
	case VERB_STATS:
		stats(service, r, replies);
		break;
	case VERB_TRY:
		try(r, replies);
		break;
	case VERB_SETMEM:
		set_memory(service, r, replies);
		break;
	case VERB_VERSION:
		buffer_format(replies, "VERSION %s\r\n",
		    service->plan->version);
		break;
	case VERB_VERBOSITY:
		buffer_line(replies, "OK");
		break;
	default: /* quit: no answer */
		break;
	}
}

void
admin_answer(struct client *client, const struct request *r)
{
	const char *why = admin_refusal(client, r->verb);
	struct buffer unwanted = { 0 };
	struct buffer *replies = r->noreply ? &unwanted : &client->replies;

	if (why != NULL)
		refuse(replies, why);
	else
		answer(client->service, r, replies);
	buffer_free(&unwanted);
}
