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
put_leased(struct resp *r)
{
	resp_put_error(r, "LEASED another client has it: ask again later");
}

static void
put_ok(struct resp *r, const struct operation *o,
    const struct outcome *outcome)
{
	if (!resp_put_failure(&r->client->replies, o, outcome))
		resp_put_simple(r, "OK");
}

static void
put_ok_if_new(struct resp *r, const struct operation *o,
    const struct outcome *outcome)
{
	if (resp_put_failure(&r->client->replies, o, outcome))
		return;
	if (outcome->leased)
		put_leased(r);
	else if (outcome->seen)
		resp_put_null(r);
	else
		resp_put_simple(r, "OK");
}

static void
put_one_if_new(struct resp *r, const struct operation *o,
    const struct outcome *outcome)
{
	if (resp_put_failure(&r->client->replies, o, outcome))
		return;
	if (outcome->leased)
		put_leased(r);
	else
		resp_put_integer(r, !outcome->seen);
}

static void
put_one_if_leased(struct resp *r, const struct operation *o,
    const struct outcome *outcome)
{
	if (!resp_put_failure(&r->client->replies, o, outcome))
		resp_put_integer(r, (uint64_t)outcome->leased);
}

/* Seconds, rounded as Redis does. */
static void
put_time_left(struct resp *r, const struct operation *o,
    const struct outcome *outcome)
{
	if (resp_put_failure(&r->client->replies, o, outcome))
		return;
	if (outcome->leased)
		resp_put_integer(r, (outcome->left + CLOCK_SECOND / 2) /
		    CLOCK_SECOND);
	else
		buffer_line(&r->client->replies, outcome->seen ? ":-1" :
		    ":-2");
}

/* DEL replies at its end, with the sum. */
static void
add_to_sum(struct resp *r, const struct operation *o,
    const struct outcome *outcome)
{
	struct error text;

	(void)o;
	if (outcome->failure == NULL) {
		r->sum += (uint64_t)outcome->leased;
		return;
	}
	error_set(&text, outcome->status, "ERR %s", outcome->failure);
	resp_fail(r, text.text);
}

/* Divide a key, and find its filter; NULL if there is none, or if refused. */
static struct served *
find_filter(struct resp *r, struct bytes key, struct bytes *subkey)
{
	struct served *served;
	struct bytes name;

	if (!bytes_divide_key(key, &name, subkey)) {
		resp_refuse(r, "ERR a key is FILTER|SUBKEY");
		return NULL;
	}
	served = catalog_find(r->client->service->catalog, name);
	if (served != NULL && served->filter == NULL)
		resp_refuse(r, "ERR %s", served->reason);
	return served;
}

/* Add an operation about the request's key. Returns 0 if it has no filter. */
static int
add_operation(struct resp *r, struct operation *o)
{
	static const char padding[LOOPS_PADDING];

	/* behind the subkey, which is hashed before this function returns */
	buffer_put(&r->text, padding, sizeof padding);
	o->served = find_filter(r, resp_kept(r, 1), &o->subkey);
	if (o->served == NULL)
		return 0;
	if (r->refusal == NULL)
		sweep_add(r->client->service->sweep, r->client, o);
	return 1;
}

static void
add_or_refuse(struct resp *r, struct operation *o)
{
	struct bytes name, subkey;

	if (!resp_may(r, VERB_SET) || add_operation(r, o) ||
	    r->refusal != NULL)
		return;
	bytes_divide_key(resp_kept(r, 1), &name, &subkey);
	if (!catalog_is_name(name)) {
		resp_refuse(r, "ERR %s", CATALOG_NAMES);
		return;
	}
	resp_refuse(r, "ERR not found");
	catalog_report_missing(r->client->service->catalog, name);
}

/* Word i is how long, in units of so many milliseconds. */
static void
take_time(struct resp *r, unsigned i, int64_t unit,
    struct set_options *options)
{
	int64_t number;

	options->timed = 1;
	if (bytes_to_integer(resp_kept(r, i), 1, &number) < 0)
		resp_refuse(r, NO_NUMBER);
	else if (number <= 0 || number > SECONDS_MAX)
		resp_refuse(r, "ERR invalid expire time in 'set' command");
	else
		options->milliseconds = (uint64_t)(number * unit);
}

static void
take_set_options(struct resp *r, struct set_options *options)
{
	for (unsigned i = 3; i < r->kept && r->refusal == NULL; i++) {
		int times = !options->timed && i + 1 < r->kept;

		if (resp_is(r, i, "NX"))
			options->new_only = 1;
		else if (times && resp_is(r, i, "EX"))
			take_time(r, ++i, 1000, options);
		else if (times && resp_is(r, i, "PX"))
			take_time(r, ++i, 1, options);
		else
			resp_refuse(r, "ERR syntax error");
	}
}

static void
lease_set(struct resp *r)
{
	struct set_options options = { 0 };
	struct operation o = { .action = ACTION_SET, .put = put_ok };

	take_set_options(r, &options);
	if (r->refusal != NULL)
		return;
	if (options.new_only) {
		o.action = ACTION_ADD;
		o.put = put_ok_if_new;
	}
	if (options.new_only && options.timed) {
		o.action = ACTION_LEASE;
		o.length = lessor_length(r->client->service,
		    options.milliseconds);
	}
	add_or_refuse(r, &o);
}

static void
lease_set_if_new(struct resp *r)
{
	struct operation o = { .action = ACTION_ADD, .put = put_one_if_new };

	add_or_refuse(r, &o);
}

static void
lease_expire(struct resp *r)
{
	struct operation o = { .action = ACTION_RENEW,
		.put = put_one_if_leased };
	int64_t seconds;

	if (bytes_to_integer(resp_kept(r, 2), 1, &seconds) < 0) {
		resp_refuse(r, NO_NUMBER);
		return;
	}
	if (seconds > SECONDS_MAX)
		seconds = SECONDS_MAX;
	if (seconds > 0)
		o.length = lessor_length(r->client->service,
		    (uint64_t)seconds * 1000);
	if (!resp_may(r, VERB_SET) || add_operation(r, &o) ||
	    r->refusal != NULL)
		return;
	resp_answer_earlier(r);
	resp_put_integer(r, 0);
}

static void
lease_time_to_live(struct resp *r)
{
	struct operation o = { .action = ACTION_LOOK, .put = put_time_left };

	if (add_operation(r, &o) || r->refusal != NULL)
		return;
	resp_answer_earlier(r);
	buffer_line(&r->client->replies, ":-2");
}

int
resp_return_lease(struct resp *r, struct bytes key)
{
	struct operation o = { .action = ACTION_RETURN, .put = add_to_sum };

	if (r->client->service->leases == NULL || key.data == NULL ||
	    !bytes_are_divided(key))
		return 0;
	if (!resp_may(r, VERB_SET))
		return 1;
	o.served = find_filter(r, key, &o.subkey);
	if (o.served != NULL && r->refusal == NULL)
		sweep_add(r->client->service->sweep, r->client, &o);
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
