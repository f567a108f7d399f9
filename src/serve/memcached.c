/*
 * Carries out memcached's requests (protocol.h), and writes the replies. Those
 * about a subkey are operations of the sweep; those about the server or a whole
 * filter are carried out at once.
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "bits/sizing.h"
#include "model/window.h"
#include "serve/catalog.h"
#include "serve/client.h"
#include "serve/lessor.h"
#include "serve/memcached_stats.h"
#include "serve/sweep.h"

#define MEGABYTE ((uint64_t)1 << 20)
/* Room for any number and a bar. */
#define NUMBERS_MAX 100
#define TOO_LONG "CLIENT_ERROR key too long"
#define NOT_A_KEY "CLIENT_ERROR a key is FILTER|SUBKEY"

/* Never SERVER_ERROR: many clients then drop the server, with all filters. */
static void
put_refusal(struct buffer *replies, const char *reason)
{
	buffer_reason(replies, "CLIENT_ERROR ", reason);
}

/* "LINES|RATE" or "LINES|RATE|WINDOW" */
static int
parse_design(struct bytes bytes, struct filter_design *design,
    struct error *error)
{
	char text[NUMBERS_MAX] = "", *rate, *window;

	*design = (struct filter_design){ .growth = GROWTH_GROW };
	if (bytes.nbytes < sizeof text &&
	    memchr(bytes.data, '\0', bytes.nbytes) == NULL)
		memcpy(text, bytes.data, bytes.nbytes);
	rate = strchr(text, '|');
	if (rate != NULL) {
		*rate++ = '\0';
		window = strchr(rate, '|');
		if (window != NULL)
			*window++ = '\0';
		if (number_count(text, &design->capacity) == 0 &&
		    design->capacity > 0 &&
		    design->capacity <= SIZING_CAPACITY_MAX &&
		    number_rate(rate, &design->error_rate) == 0 &&
		    design->error_rate >= SIZING_RATE_MIN &&
		    design->error_rate <= SIZING_RATE_MAX &&
		    (window == NULL || catalog_window(design, window) == 0))
			return 0;
	}
	return error_set(error, STATUS_USAGE, "a plan is LINES|RATE, such as"
	    " 1e6|0.0001, with a rate from 1e-12 to 0.5, or"
	    " LINES|RATE|WINDOW, such as 1e6|0.0001|30d; a window of lines is"
	    " LINES");
}

static void
add_filter(struct service *service, const struct request *request,
    struct buffer *replies)
{
	struct error error = { 0 };
	struct filter_design design;
	int result = catalog_find(service->catalog, request->key) != NULL;

	service->counters.cmd_set++;
	if (result == 0)
		result = parse_design(request->value, &design, &error);
	if (result == 0)
		result = catalog_add(service->catalog, request->key, &design,
		    &error);
	if (result < 0)
		put_refusal(replies, error.text);
	else
		buffer_line(replies, result == 0 ? "STORED" : "NOT_STORED");
}

static void
delete_filter(struct service *service, const struct request *request,
    struct buffer *replies)
{
	struct counters *counters = &service->counters;
	struct error error = { 0 };
	int result;

	/* Older clients add a time of 0 to delete. */
	if (!catalog_is_name(request->key) ||
	    (request->value.nbytes > 0 && !bytes_are(request->value, "0"))) {
		put_refusal(replies, "delete takes the name of a whole filter");
		return;
	}
	result = catalog_remove(service->catalog, request->key, &error);
	if (result < 0) {
		put_refusal(replies, error.text);
	} else if (result > 0) {
		counters->delete_misses++;
		buffer_line(replies, "NOT_FOUND");
	} else {
		counters->delete_hits++;
		buffer_line(replies, "DELETED");
	}
}

static void
set_memory(struct service *service, const struct request *request,
    struct buffer *replies)
{
	int64_t megabytes;

	if (bytes_to_integer(request->key, 0, &megabytes) < 0 || megabytes == 0
	    || megabytes > INT64_MAX / (int64_t)MEGABYTE) {
		put_refusal(replies, "setmem takes a number of megabytes");
		return;
	}
	service->catalog->pool.limit = (uint64_t)megabytes * MEGABYTE;
	buffer_line(replies, "STORED");
}

/* What a filter would need, as the predecessor of this server put it. */
static void
try(const struct request *request, struct buffer *replies)
{
	struct sizing sizing = { 0 };
	struct error error = { 0 };
	struct filter_design design;
	char rate[NUMBER_TEXT];
	int result = parse_design(request->key, &design, &error);

	sizing.capacity = design.capacity;
	sizing.error_rate = design.error_rate;
	if (result < 0 || window_solve(&sizing, &design.window, &error) < 0) {
		put_refusal(replies, error.text);
		return;
	}
	buffer_format(replies, "need_memory %" PRIu64 "(Bytes) %.2f(M)\r\n"
	    "use_function_num %u\r\nfalse_positive_rate %s\r\nEND\r\n",
	    sizing.bytes, (double)sizing.bytes / (double)MEGABYTE, sizing.k,
	    number_format_rate(rate, sizing.error_rate));
}

const char *
memcached_refusal(const struct client *client, enum verb verb)
{
	const struct serve_settings *settings = client->service->settings;

	if (verb != VERB_SET && verb != VERB_ADD && verb != VERB_DELETE &&
	    verb != VERB_SETMEM)
		return NULL;
	if (settings->read_only)
		return "this server is read-only";
	if (verb != VERB_SET && settings->admin == ADMIN_NONE)
		return "not allowed (--no-admin)";
	if (verb == VERB_DELETE && settings->admin != ADMIN_ALL &&
	    !client->local) {
		return "delete needs a unix socket, or a server"
		    " with --admin";
	}
	return NULL;
}

static void
carry_out_request(struct service *service, const struct request *request,
    struct buffer *replies)
{
	switch (request->verb) {
	case VERB_ADD:
		add_filter(service, request, replies);
		break;
	case VERB_DELETE:
		delete_filter(service, request, replies);
		break;
	case VERB_STATS:
		memcached_stats(service, request, replies);
		break;
	case VERB_TRY:
		try(request, replies);
		break;
	case VERB_SETMEM:
		set_memory(service, request, replies);
		break;
	case VERB_VERSION:
		buffer_format(replies, "VERSION %s\r\n",
		    service->settings->version);
		break;
	case VERB_VERBOSITY:
		buffer_line(replies, "OK");
		break;
	case VERB_PING:
		buffer_line(replies, "+PONG");
		break;
	case VERB_REDIS_QUIT:
		buffer_line(replies, "+OK");
		break;
	default: /* there is no answer to quit, and the others are no such */
		break;
	}
}

/* Answer a request about the server or a whole filter. */
static void
answer_at_once(struct client *client, const struct request *request)
{
	struct service *service = client->service;
	const char *why = memcached_refusal(client, request->verb);
	struct buffer unwanted = { 0 };
	struct buffer *replies = request->noreply ? &unwanted :
	    &client->replies;

	if (why != NULL)
		put_refusal(replies, why);
	else
		carry_out_request(service, request, replies);
	buffer_free(&unwanted);
}

/* Why the request can't be carried out; NULL if it can. */
static const char *
refusal(struct service *service, const struct request *request, struct bytes
    name, int divided, struct served **served)
{
	if (service->settings->read_only &&
	    (request->verb == VERB_SET || request->verb == VERB_ADD))
		return "CLIENT_ERROR this server is read-only";
	if (request->key.nbytes > service->settings->limits.key)
		return TOO_LONG;
	if (!divided && request->verb != VERB_SET)
		return NOT_A_KEY;
	/* Older clients add a time of 0 to delete. */
	if (request->verb == VERB_DELETE && request->value.nbytes > 0 &&
	    !bytes_are(request->value, "0"))
		return "CLIENT_ERROR delete takes no time";
	*served = catalog_find(service->catalog, name);
	if (*served != NULL)
		return NULL;
	if (!catalog_is_name(name))
		return "CLIENT_ERROR not a filter's name";
	catalog_report_missing(service->catalog, name);
	return "CLIENT_ERROR no such filter";
}

static int
has_value(const struct request *request)
{
	return request->verb == VERB_SET || request->verb == VERB_ADD ||
	    request->verb == VERB_REPLACE;
}

/* Set what the operation for a request does. */
static void
set_action(struct service *service, const struct request *request,
    struct operation *o)
{
	switch (request->verb) {
	case VERB_SET:
		o->action = ACTION_SET;
		break;
	case VERB_ADD:
		o->action = ACTION_ADD;
		if (service->leases != NULL && request->time != 0)
			o->action = ACTION_LEASE;
		break;
	case VERB_DELETE:
		o->action = ACTION_RETURN;
		break;
	case VERB_TOUCH:
		o->action = ACTION_RENEW;
		break;
	default:
		o->action = ACTION_LOOK;
	}
	if (o->action == ACTION_LEASE || o->action == ACTION_RENEW)
		o->length = lessor_length_of_time(service, request->time);
}

/*
 * Add a request about "FILTER|SUBKEY" to the sweep, which may be about one of
 * several keys of a get.
 */
static void
add_key(struct client *client, const struct request *request, int several)
{
	struct service *service = client->service;
	struct operation o = { .reply = request->reply,
		.form = {
		.verb = request->verb, .several = several != 0,
		.with_cas = request->with_cas != 0,
		.noreply = request->noreply != 0, .key = request->key } };
	struct bytes name;
	int divided;

	if (request->verb != VERB_GET_END && request->verb != VERB_FAILED) {
		divided = bytes_divide_key(request->key, &name, &o.subkey);
		if (o.subkey.nbytes == 0 && has_value(request))
			o.subkey = request->value;
		o.reply = refusal(service, request, name, divided, &o.served);
	}
	set_action(service, request, &o);
	sweep_add(service->sweep, client, &o);
}

/* Is the request about the server or a whole filter? */
static int
is_alone(const struct service *service, const struct request *request)
{
	switch (request->verb) {
	case VERB_SET:
	case VERB_REPLACE:
	case VERB_TOUCH:
	case VERB_FAILED:
		return 0;
	case VERB_ADD:
		return !bytes_are_divided(request->key);
	case VERB_DELETE:
		return service->leases == NULL ||
		    !bytes_are_divided(request->key);
	default:
		return 1;
	}
}

/* Why one of the keys can be no key; NULL if all can. */
static const char *
refusal_of_keys(const struct service *service, struct bytes keys)
{
	struct bytes key;

	while ((key = bytes_next_word(&keys)).nbytes > 0) {
		if (key.nbytes > service->settings->limits.key)
			return TOO_LONG;
		if (!bytes_are_divided(key))
			return NOT_A_KEY;
	}
	return NULL;
}

/*
 * A get of one key is one operation. One of several keys is an operation for
 * each, and one for the end of the reply.
 */
static void
take_get(struct client *client, struct request *request)
{
	struct bytes keys = request->key, key = bytes_next_word(&keys);

	if (bytes_after_blanks(keys).nbytes == 0) {
		request->key = key;
		add_key(client, request, 0);
		return;
	}
	request->reply = refusal_of_keys(client->service, request->key);
	if (request->reply != NULL) {
		request->verb = VERB_FAILED;
		add_key(client, request, 1);
		return;
	}
	for (; key.nbytes > 0; key = bytes_next_word(&keys)) {
		request->key = key;
		add_key(client, request, 1);
	}
	request->verb = VERB_GET_END;
	request->key = key;
	add_key(client, request, 1);
}

size_t
memcached_take(struct client *client, const uint8_t *data, size_t nbytes,
    int *more)
{
	struct service *service = client->service;
	struct request request;
	size_t n = protocol_next(&client->protocol, &service->settings->limits,
	    data, nbytes, &request);

	*more = request.verb == VERB_MORE;
	if (*more)
		return n;
	if (request.verb == VERB_GET) {
		take_get(client, &request);
	} else if (is_alone(service, &request)) {
		sweep_run(service->sweep);
		answer_at_once(client, &request);
		client_pause(client);
	} else {
		add_key(client, &request, 0);
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
		put_refusal(replies, outcome->failure);
}

/*
 * The reply to a get ends with END, or it is an error. If there are several
 * keys, those that can't be answered are left out, like those that aren't
 * remembered: an error after values isn't memcached's protocol, and clients
 * that wait for END hang, or drop the server with all keys.
 */
static void
answer_get(struct buffer *replies, const struct operation *o,
    const struct outcome *outcome, int failed)
{
	/* libmemcached takes a version of 0 for none */
	static const char values[][16] = { " 0 1\r\n1\r\n", " 0 1 1\r\n1\r\n" };
	const char *value = values[o->form.with_cas];
	int several = o->form.several;

	if (failed && !several) {
		put_failure(replies, o, outcome);
		return;
	}
	if (!failed && outcome->seen) {
		buffer_put(replies, "VALUE ", 6);
		buffer_put(replies, o->form.key.data, o->form.key.nbytes);
		buffer_put(replies, value, strlen(value));
	}
	if (!several || o->form.verb == VERB_GET_END)
		buffer_put(replies, "END\r\n", 5);
}

static void
answer_about_lease(struct buffer *replies, enum verb verb,
    const struct outcome *outcome)
{
	if (!outcome->leased)
		buffer_line(replies, "NOT_FOUND");
	else if (verb == VERB_DELETE)
		buffer_line(replies, "DELETED");
	else
		buffer_line(replies, "TOUCHED");
}

void
memcached_answer(struct client *client, const struct operation *o,
    const struct outcome *outcome)
{
	const struct reply_form *form = &o->form;
	struct buffer *replies = &client->replies;
	int failed = outcome_is_settled(o, outcome);

	if (form->verb == VERB_GET || form->verb == VERB_GET_END)
		answer_get(replies, o, outcome, failed);
	else if (form->noreply || (o->reply != NULL && o->reply[0] == '\0'))
		return;
	else if (failed)
		put_failure(replies, o, outcome);
	else if (form->verb == VERB_DELETE || form->verb == VERB_TOUCH)
		answer_about_lease(replies, form->verb, outcome);
	else if (form->verb == VERB_ADD && outcome->leased)
		buffer_put(replies, "EXISTS\r\n", 8);
	else if (form->verb == VERB_SET ||
	    outcome->seen == (form->verb == VERB_REPLACE))
		buffer_put(replies, "STORED\r\n", 8);
	else
		buffer_put(replies, "NOT_STORED\r\n", 12);
}
