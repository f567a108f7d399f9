/*
 * Carries out memcached's requests (protocol.h), and writes the replies. Those
 * about a subkey are operations of the sweep; those about the server or a whole
 * filter are carried out at once.
 */
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
#include "serve/client.h"
#include "serve/sweep.h"

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
put_real(struct buffer *replies, const char *name, double value)
{
	buffer_format(replies, "STAT %s %.6g\r\n", name, value);
}

/* Never SERVER_ERROR: many clients then drop the server, with all filters. */
static void
refuse(struct buffer *replies, const char *reason)
{
	buffer_reason(replies, "CLIENT_ERROR ", reason);
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
		    plan->error_rate <= SIZING_RATE_MAX &&
		    (window == NULL || catalog_window(plan, window) == 0))
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
	int result = catalog_find(service->catalog, r->key) != NULL;

	service->counters.cmd_set++;
	if (result == 0)
		result = parse_plan(r->value, &plan, &error);
	if (result == 0)
		result = catalog_add(service->catalog, r->key, &plan, &error);
	if (result < 0)
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
	buffer_format(replies, "STAT version %s\r\n", service->plan->version);
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
	put_count(replies, "room", table_room(table, GROWTH_FAIL));
	put_count(replies, "bytes", filter_bytes(filter));
	put_real(replies, "bits_per_line", 8 * (double)filter_bytes(filter) /
	    (double)header->capacity);
	put_count(replies, "k", first->k);
	put_count(replies, "cache_lines", first->cache_lines);
	put_count(replies, "layers", table->count);
	put_real(replies, "fill", newest.share);
}

static void
stats(struct service *service, const struct request *r,
    struct buffer *replies)
{
	const struct serve_settings *plan = service->plan;
	struct catalog *catalog = service->catalog;
	struct served *s;

	if (bytes_are(r->key, "bloom")) {
		s = catalog_find(catalog, r->value);
		if (s == NULL || s->filter == NULL) {
			refuse(replies, s == NULL ? "no such filter" :
			    s->reason);
			return;
		}
		stats_bloom(s->filter, replies);
	} else if (r->key.nbytes == 0) {
		stats_server(service, replies);
	} else if (bytes_are(r->key, "blooms")) {
		/* 0 for a filter that can't be used */
		catalog_list(catalog);
		for (size_t i = 0; i < catalog->count; i++)
			put_count(replies, catalog->items[i]->name,
			    served_bytes(catalog->items[i]));
	} else if (bytes_are(r->key, "settings")) {
		put_count(replies, "maxbytes", catalog->pool.limit);
		put_count(replies, "maxconns", service->connections);
		buffer_format(replies, "STAT evictions off\r\n"
		    "STAT cas_enabled no\r\nSTAT flush_enabled no\r\n"
		    "STAT num_threads 1\r\nSTAT binding_protocol ascii\r\n");
		put_count(replies, "item_size_max", plan->limits.value);
		put_count(replies, "key_size_max", plan->limits.key);
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
memcached_refusal(const struct client *client, enum verb verb)
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

/* A request about the server or a whole filter. */
static void
answer_at_once(struct client *client, const struct request *r)
{
	struct service *service = client->service;
	const char *why = memcached_refusal(client, r->verb);
	struct buffer unwanted = { 0 };
	struct buffer *replies = r->noreply ? &unwanted : &client->replies;

	if (why != NULL)
		refuse(replies, why);
	else if (r->verb == VERB_ADD)
		add_filter(service, r, replies);
	else if (r->verb == VERB_DELETE)
		delete_filter(service, r, replies);
	else if (r->verb == VERB_STATS)
		stats(service, r, replies);
	else if (r->verb == VERB_TRY)
		try(r, replies);
	else if (r->verb == VERB_SETMEM)
		set_memory(service, r, replies);
	else if (r->verb == VERB_VERSION)
		buffer_format(replies, "VERSION %s\r\n",
		    service->plan->version);
	else if (r->verb == VERB_VERBOSITY)
		buffer_line(replies, "OK");
	/* no answer to quit */
	buffer_free(&unwanted);
}

/* Why the request can't be carried out; NULL if it can. */
static const char *
refusal(struct service *service, const struct request *r, struct bytes name,
    int divided, struct served **served)
{
	if (service->plan->read_only &&
	    (r->verb == VERB_SET || r->verb == VERB_ADD))
		return "CLIENT_ERROR this server is read-only";
	if (r->key.nbytes > service->plan->limits.key)
		return "CLIENT_ERROR key too long";
	if (!divided && r->verb != VERB_SET)
		return "CLIENT_ERROR a key is FILTER|SUBKEY";
	*served = catalog_find(service->catalog, name);
	if (*served != NULL)
		return NULL;
	if (!catalog_is_name(name))
		return "CLIENT_ERROR not a filter's name";
	catalog_refuse(service->catalog, name);
	return "CLIENT_ERROR no such filter";
}

/* Add a request about "FILTER|SUBKEY" to the sweep. */
static void
add(struct client *client, const struct request *r)
{
	struct service *service = client->service;
	struct operation o = { .request = *r, .reply = r->reply,
		.asks = r->verb != VERB_SET && r->verb != VERB_ADD };
	struct bytes name = r->key;
	const uint8_t *bar;

	if (r->verb != VERB_GET_END && r->verb != VERB_FAILED) {
		bar = memchr(name.data, '|', name.nbytes);
		if (bar != NULL) {
			name.nbytes = (size_t)(bar - name.data);
			o.subkey = (struct bytes){ bar + 1,
				r->key.nbytes - name.nbytes - 1 };
		}
		if (o.subkey.nbytes == 0 && r->verb != VERB_GET)
			o.subkey = r->value;
		o.reply = refusal(service, r, name, bar != NULL, &o.served);
	}
	sweep_add(service->sweep, client, &o);
}

/* Is it about the server or a whole filter? */
static int
is_alone(const struct request *r)
{
	if (r->verb == VERB_ADD) /* of a filter */
		return memchr(r->key.data, '|', r->key.nbytes) == NULL;
	return r->verb != VERB_SET && r->verb != VERB_REPLACE &&
	    r->verb != VERB_FAILED;
}

size_t
memcached_take(struct client *client, const uint8_t *data, size_t nbytes,
    int *more)
{
	struct service *service = client->service;
	struct request request;
	struct bytes keys;
	size_t n = protocol_next(&client->protocol, &service->plan->limits,
	    data, nbytes, &request);

	*more = request.verb == VERB_MORE;
	if (*more)
		return n;
	if (request.verb == VERB_GET) {
		keys = request.key;
		while ((request.key = bytes_next_word(&keys)).nbytes > 0)
			add(client, &request);
		request.verb = VERB_GET_END;
		add(client, &request);
	} else if (is_alone(&request)) {
		sweep_run(service->sweep);
		answer_at_once(client, &request);
		client_pause(client);
	} else {
		add(client, &request);
	}
	if (request.hang_up)
		client_end(client);
	return n;
}

static void
put_failure(struct buffer *replies, const struct operation *o,
    const struct outcome *outcome)
{
	if (o->reply != NULL)
		buffer_line(replies, o->reply);
	else
		refuse(replies, outcome->failure);
}

/* A get line ends with END or, before the other keys, with an error. */
static void
answer_get(struct client *client, const struct operation *o,
    const struct outcome *outcome, int failed)
{
	static const char values[][16] = { " 0 1\r\n1\r\n", " 0 1 0\r\n1\r\n" };
	struct buffer *replies = &client->replies;
	const char *value = values[o->request.with_cas];
	int ends = o->request.verb == VERB_GET_END;

	if (client->get_failed) {
		client->get_failed = !ends;
	} else if (failed) {
		put_failure(replies, o, outcome);
		client->get_failed = !ends;
	} else if (ends) {
		buffer_put(replies, "END\r\n", 5);
	} else if (outcome->seen) {
		buffer_put(replies, "VALUE ", 6);
		buffer_put(replies, o->request.key.data, o->request.key.nbytes);
		buffer_put(replies, value, strlen(value));
	}
}

void
memcached_answer(struct client *client, const struct operation *o,
    const struct outcome *outcome)
{
	const struct request *r = &o->request;
	struct buffer *replies = &client->replies;
	int failed = o->reply != NULL || outcome->failure != NULL;

	if (r->verb == VERB_GET || r->verb == VERB_GET_END)
		answer_get(client, o, outcome, failed);
	else if (r->noreply || (o->reply != NULL && o->reply[0] == '\0'))
		return;
	else if (failed)
		put_failure(replies, o, outcome);
	else if (r->verb == VERB_SET ||
	    outcome->seen == (r->verb == VERB_REPLACE))
		buffer_put(replies, "STORED\r\n", 8);
	else
		buffer_put(replies, "NOT_STORED\r\n", 12);
}
