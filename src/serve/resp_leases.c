/*
 * The commands about keys of the form FILTER|SUBKEY, with which clients of
 * Redis take leases. A server without leases doesn't know them.
 */
#include "serve/resp_command.h"

#include <string.h>

#include "base/clock.h"
#include "bits/loops.h"
#include "serve/catalog.h"
#include "serve/lessor.h"

#define NO_NUMBER "ERR value is not an integer or out of range"
/* Longer ones could not be counted in milliseconds. */
#define SECONDS_MAX (INT64_MAX / 1000)

/* The options of SET. */
struct set_options {
	int new_only;          /* NX */
	int timed;             /* EX or PX */
	uint64_t milliseconds;
};

static void
put_leased(struct resp *resp)
{
	resp_put_error(resp, "LEASED another client has it: ask again later");
}

static void
put_ok(struct resp *resp, const struct operation *o,
    const struct outcome *outcome)
{
	if (!resp_put_failure(&resp->client->replies, o, outcome))
		resp_put_simple(resp, "OK");
}

static void
put_ok_if_new(struct resp *resp, const struct operation *o,
    const struct outcome *outcome)
{
	if (resp_put_failure(&resp->client->replies, o, outcome))
		return;
	if (outcome->leased)
		put_leased(resp);
	else if (outcome->seen)
		resp_put_null(resp);
	else
		resp_put_simple(resp, "OK");
}

static void
put_one_if_new(struct resp *resp, const struct operation *o,
    const struct outcome *outcome)
{
	if (resp_put_failure(&resp->client->replies, o, outcome))
		return;
	if (outcome->leased)
		put_leased(resp);
	else
		resp_put_integer(resp, !outcome->seen);
}

static void
put_one_if_leased(struct resp *resp, const struct operation *o,
    const struct outcome *outcome)
{
	if (!resp_put_failure(&resp->client->replies, o, outcome))
		resp_put_integer(resp, (uint64_t)outcome->leased);
}

/* Put the time left in seconds, rounded as Redis does it. */
static void
put_time_left(struct resp *resp, const struct operation *o,
    const struct outcome *outcome)
{
	if (resp_put_failure(&resp->client->replies, o, outcome))
		return;
	if (outcome->leased)
		resp_put_integer(resp,
		    (outcome->left + CLOCK_SECOND / 2) / CLOCK_SECOND);
	else
		buffer_line(&resp->client->replies, outcome->seen ? ":-1" :
		    ":-2");
}

/* Add to the sum with which DEL replies at its end. */
static void
add_to_sum(struct resp *resp, const struct operation *o,
    const struct outcome *outcome)
{
	struct error text;

	(void)o;
	if (outcome->failure == NULL) {
		resp->sum += (uint64_t)outcome->leased;
		return;
	}
	error_set(&text, outcome->status, "ERR %s", outcome->failure);
	resp_fail(resp, text.text);
}

/* Divide a key, and find its filter; NULL if there is none, or if refused. */
static struct served *
find_filter(struct resp *resp, struct bytes key, struct bytes *subkey)
{
	struct served *served;
	struct bytes name;

	if (!bytes_divide_key(key, &name, subkey)) {
		resp_refuse(resp, "ERR a key is FILTER|SUBKEY");
		return NULL;
	}
	served = catalog_find(resp->client->service->catalog, name);
	if (served != NULL && served->filter == NULL)
		resp_refuse(resp, "ERR %s", served->reason);
	return served;
}

/* Add an operation about the request's key. Returns 0 if it has no filter. */
static int
add_operation(struct resp *resp, struct operation *o)
{
	static const char padding[LOOPS_PADDING];

	/*
	 * The hash reads beyond the subkey, which is hashed in this function.
	 */
	buffer_put(&resp->text, padding, sizeof padding);
	o->served = find_filter(resp, resp_kept(resp, 1), &o->subkey);
	if (o->served == NULL)
		return 0;
	if (resp->refusal == NULL)
		sweep_add(resp->client->service->sweep, resp->client, o);
	return 1;
}

static void
add_or_refuse(struct resp *resp, struct operation *o)
{
	struct bytes name, subkey;

	if (!resp_may(resp, VERB_SET) || add_operation(resp, o) ||
	    resp->refusal != NULL)
		return;
	bytes_divide_key(resp_kept(resp, 1), &name, &subkey);
	if (!catalog_is_name(name)) {
		resp_refuse(resp, "ERR %s", CATALOG_NAMES);
		return;
	}
	resp_refuse(resp, "ERR not found");
	catalog_report_missing(resp->client->service->catalog, name);
}

/* Word i is how long, in units of so many milliseconds. */
static void
take_time(struct resp *resp, unsigned i, int64_t unit,
    struct set_options *options)
{
	int64_t number;

	options->timed = 1;
	if (bytes_to_integer(resp_kept(resp, i), 1, &number) < 0)
		resp_refuse(resp, NO_NUMBER);
	else if (number <= 0 || number > SECONDS_MAX)
		resp_refuse(resp, "ERR invalid expire time in 'set' command");
	else
		options->milliseconds = (uint64_t)(number * unit);
}

static void
take_set_options(struct resp *resp, struct set_options *options)
{
	for (unsigned i = 3; i < resp->kept && resp->refusal == NULL; i++) {
		int times = !options->timed && i + 1 < resp->kept;

		if (resp_is(resp, i, "NX"))
			options->new_only = 1;
		else if (times && resp_is(resp, i, "EX"))
			take_time(resp, ++i, 1000, options);
		else if (times && resp_is(resp, i, "PX"))
			take_time(resp, ++i, 1, options);
		else
			resp_refuse(resp, "ERR syntax error");
	}
}

static void
lease_set(struct resp *resp)
{
	struct set_options options = { 0 };
	struct operation o = { .action = ACTION_SET, .put = put_ok };

	take_set_options(resp, &options);
	if (resp->refusal != NULL)
		return;
	if (options.new_only) {
		o.action = ACTION_ADD;
		o.put = put_ok_if_new;
	}
	if (options.new_only && options.timed) {
		o.action = ACTION_LEASE;
		o.length = lessor_length(resp->client->service,
		    options.milliseconds);
	}
	add_or_refuse(resp, &o);
}

static void
lease_set_if_new(struct resp *resp)
{
	struct operation o = { .action = ACTION_ADD, .put = put_one_if_new };

	add_or_refuse(resp, &o);
}

static void
lease_expire(struct resp *resp)
{
	struct operation o = { .action = ACTION_RENEW,
		.put = put_one_if_leased };
	int64_t seconds;

	if (bytes_to_integer(resp_kept(resp, 2), 1, &seconds) < 0) {
		resp_refuse(resp, NO_NUMBER);
		return;
	}
	if (seconds > SECONDS_MAX)
		seconds = SECONDS_MAX;
	if (seconds > 0)
		o.length = lessor_length(resp->client->service,
		    (uint64_t)seconds * 1000);
	if (!resp_may(resp, VERB_SET) || add_operation(resp, &o) ||
	    resp->refusal != NULL)
		return;
	resp_answer_earlier(resp);
	resp_put_integer(resp, 0);
}

static void
lease_time_to_live(struct resp *resp)
{
	struct operation o = { .action = ACTION_LOOK, .put = put_time_left };

	if (add_operation(resp, &o) || resp->refusal != NULL)
		return;
	resp_answer_earlier(resp);
	buffer_line(&resp->client->replies, ":-2");
}

int
resp_return_lease(struct resp *resp, struct bytes key)
{
	struct operation o = { .action = ACTION_RETURN, .put = add_to_sum };

	if (resp->client->service->leases == NULL || key.data == NULL ||
	    !bytes_are_divided(key))
		return 0;
	if (!resp_may(resp, VERB_SET))
		return 1;
	o.served = find_filter(resp, key, &o.subkey);
	if (o.served != NULL && resp->refusal == NULL)
		sweep_add(resp->client->service->sweep, resp->client, &o);
	return 1;
}

const struct resp_command resp_lease_commands[] = {
	{ .name = "set", .least = 3, .most = RESP_KEPT_MAX, .begin = lease_set
	    },
	{ .name = "setnx", .least = 3, .most = 3, .begin = lease_set_if_new },
	{ .name = "expire", .least = 3, .most = 3, .begin = lease_expire },
	{ .name = "ttl", .least = 2, .most = 2, .begin = lease_time_to_live },
	{ .name = NULL }
};
