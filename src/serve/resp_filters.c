/*
 * BF.*, and the commands about keys, which are the names of filters. Requests
 * and replies of BF.* are RedisBloom's (2.8.2, looked at from outside), but for
 * texts of errors that no client reads.
 */
#include "serve/resp_command.h"

#include <fnmatch.h>
#include <strings.h>

#include "base/error.h"
#include "base/number.h"
#include "bits/sizing.h"
#include "filter/filter.h"
#include "serve/catalog.h"

/* What TYPE says of RedisBloom's filters. */
#define TYPE_NAME "MBbloom--"

/* The options of a request that may make a filter. */
struct wanted {
	struct filter_design design;
	uint64_t expansion; /* the factor of EXPANSION; 0: not given */
	int nocreate;
};

static struct served *
named_filter(const struct resp *resp)
{
	return catalog_find(resp->client->service->catalog, resp_kept(resp, 1));
}

/* The request's filter, or NULL; if it isn't open, the request is refused. */
static struct served *
find_open(struct resp *resp)
{
	struct served *served = resp->client->served = named_filter(resp);

	if (served != NULL && served->filter == NULL) {
		resp_refuse(resp, "ERR %s", served->reason);
		served_report(served->pool, &served->refusals,
		    served->reason);
	}
	return served;
}

/* Find the filter, and report one that is missing: it may be misspelled. */
static struct served *
find_or_report(struct resp *resp)
{
	struct served *served = find_open(resp);

	if (served == NULL)
		catalog_report_missing(resp->client->service->catalog,
		    resp_kept(resp, 1));
	return served;
}

static void
refuse_missing(struct resp *resp)
{
	resp_refuse(resp, "ERR not found");
	catalog_report_missing(resp->client->service->catalog, resp_kept(resp,
	    1));
}

/* Make that filter. 1 if there is one, whose file is new; -1 if refused. */
static int
make_named(struct resp *resp, const struct wanted *wanted)
{
	struct error error = { 0 };
	int result;

	resp_answer_earlier(resp);
	client_pause(resp->client);
	result = catalog_add(resp->client->service->catalog, resp_kept(resp, 1),
	    &wanted->design, &error);
	if (result < 0)
		resp_refuse(resp, "ERR %s", error.text);
	else if (find_open(resp) == NULL)
		resp_refuse(resp, "ERR not found");
	else if (result == 0 && wanted->expansion > 0)
		resp->client->served->expansion = (uint32_t)wanted->expansion;
	return result;
}

/* Word i is a rate; else the request is refused. */
static double
take_rate(struct resp *resp, unsigned i)
{
	double rate = 0;

	if (number_rate(resp_string(resp, i), &rate) < 0 ||
	    rate < SIZING_RATE_MIN || rate > SIZING_RATE_MAX)
		resp_refuse(resp, "ERR bad error rate: from 1e-12 to 0.5");
	return rate;
}

/* Word i is a number from 1 to `most`, called `what`; else it is refused. */
static uint64_t
take_number(struct resp *resp, unsigned i, const char *what, uint64_t most)
{
	int64_t number = 0;

	if (bytes_to_integer(resp_kept(resp, i), 1, &number) < 0 || number < 1
	    || (uint64_t)number > most)
		resp_refuse(resp, "ERR bad %s", what);
	return (uint64_t)number;
}

/* An option of BF.RESERVE or BF.INSERT. Returns its last word. */
static unsigned
take_option(struct resp *resp, unsigned i, struct wanted *wanted)
{
	struct filter_design *design = &wanted->design;

	if (resp_is(resp, i, "NONSCALING"))
		design->growth = GROWTH_FAIL;
	else if (resp_is(resp, i, "NOCREATE"))
		wanted->nocreate = 1;
	else if (resp_is(resp, i, "ERROR"))
		design->error_rate = take_rate(resp, ++i);
	else if (resp_is(resp, i, "CAPACITY"))
		design->capacity = take_number(resp, ++i, "capacity",
		    SIZING_CAPACITY_MAX);
	else if (resp_is(resp, i, "EXPANSION"))
		wanted->expansion = take_number(resp, ++i, "expansion",
		    UINT32_MAX); /* RedisBloom's limit, too */
	else if (!resp_is(resp, i, "WINDOW"))
		resp_refuse(resp, "ERR unknown argument '%.100s'",
		    resp_string(resp, i));
	else if (catalog_window(design, resp_string(resp, ++i)) < 0)
		resp_refuse(resp, "ERR bad window: a time, such as 30d, or the"
		    " capacity in lines");
	if (resp->refusal == NULL && wanted->expansion > 0 &&
	    design->growth == GROWTH_FAIL)
		resp_refuse(resp, "Nonscaling filters cannot expand");
	return i;
}

static void
filters_reserve(struct resp *resp)
{
	struct wanted wanted = { .design.growth = GROWTH_GROW };

	wanted.design.error_rate = take_rate(resp, 2);
	if (resp->refusal == NULL)
		wanted.design.capacity = take_number(resp, 3, "capacity",
		    SIZING_CAPACITY_MAX);
	for (unsigned i = 4; i < resp->kept && resp->refusal == NULL; i++)
		i = take_option(resp, i, &wanted);
	if (resp->refusal == NULL && resp_may(resp, VERB_ADD) &&
	    (named_filter(resp) != NULL || make_named(resp, &wanted) > 0))
		resp_refuse(resp, "ERR item exists");
	if (resp->refusal == NULL)
		resp_put_simple(resp, "OK");
}

/* Find or make the filter that subkeys are added to. */
static void
filters_begin_add(struct resp *resp)
{
	const struct serve_settings *settings = resp->client->service->settings;
	struct wanted wanted = { .design = { .capacity = settings->capacity,
		.error_rate = settings->error_rate, .growth = GROWTH_GROW } };
	unsigned i;

	for (i = 2; i < resp->kept && !resp_is(resp, i, "ITEMS") &&
	    resp->refusal == NULL; i++)
		i = take_option(resp, i, &wanted);
	if (resp->refusal == NULL && resp->command->until != NULL &&
	    (i >= resp->kept || resp->kept == resp->count))
		resp_refuse(resp, "ERR wrong number of arguments for '%s'"
		    " command", resp->command->name);
	if (resp->refusal != NULL || !resp_may(resp, VERB_SET) ||
	    find_open(resp) != NULL)
		return;
	if (wanted.nocreate || memcached_refusal(resp->client,
	    VERB_ADD) != NULL)
		refuse_missing(resp);
	else
		make_named(resp, &wanted);
}

static void
filters_begin_exists(struct resp *resp)
{
	resp->missing = find_or_report(resp) == NULL;
}

/* One subkey of BF.ADD, BF.MADD, BF.EXISTS, BF.MEXISTS and BF.INSERT. */
static void
filters_take_subkey(struct resp *resp, struct bytes subkey)
{
	const struct resp_command *command = resp->command;
	struct operation o = { .subkey = subkey, .action = ACTION_SET };

	if (command->asks)
		o.action = ACTION_LOOK;
	if (command->array) {
		if (resp->array_closed || resp->array_failed == resp->number)
			/*
			 * An item that failed before this one has ended the
			 * array.
			 */
			return;
		o.array = resp->number;
		o.ends_array = resp->kept + resp->items + 1 == resp->count;
	}
	if (resp->client->served == NULL && !resp->missing)
		resp->client->served = named_filter(resp);
	if (subkey.data == NULL)
		o.reply = "ERR an item is too long";
	else if (resp->client->served == NULL && !resp->missing)
		o.reply = "ERR not found";
	else
		o.served = resp->client->served;
	resp->array_closed = o.reply != NULL;
	sweep_add(resp->client->service->sweep, resp->client, &o);
}

static void
filters_card(struct resp *resp)
{
	const struct served *served = find_or_report(resp);
	uint64_t lines = 0;

	if (resp->refusal != NULL)
		return;
	if (served != NULL)
		lines = table_lines(filter_table(served->filter));
	resp_put_integer(resp, lines);
}

enum info_field {
	INFO_CAPACITY,
	INFO_SIZE,
	INFO_FILTERS,
	INFO_ITEMS,
	INFO_EXPANSION,
	INFO_FIELDS
};

static const struct {
	const char *name, *title;
} info_fields[] = {
	[INFO_CAPACITY] = { "CAPACITY", "Capacity" },
	[INFO_SIZE] = { "SIZE", "Size" },
	[INFO_FILTERS] = { "FILTERS", "Number of filters" },
	[INFO_ITEMS] = { "ITEMS", "Number of items inserted" },
	[INFO_EXPANSION] = { "EXPANSION", "Expansion rate" },
};

static void
put_info(struct resp *resp, const struct served *served, enum info_field field)
{
	const struct header *header = filter_header(served->filter);
	const struct table *table = filter_table(served->filter);
	uint64_t value = 0;

	switch (field) {
	case INFO_CAPACITY:
		value = table_capacity(table);
		if (header->window.kind != WINDOW_NONE)
			value = header->capacity; /* the lines it is made for */
		break;
	case INFO_SIZE:
		value = filter_bytes(served->filter);
		break;
	case INFO_FILTERS:
		value = table->count;
		break;
	case INFO_ITEMS:
		value = table_lines(table);
		break;
	case INFO_EXPANSION:
		value = served->expansion;
		break;
	case INFO_FIELDS:
		break;
	}
	if (field == INFO_EXPANSION && served_is_fixed(served))
		resp_put_null(resp);
	else
		resp_put_integer(resp, value);
}

/* All fields, or one; in version 2 of the protocol, one has no title. */
static void
filters_info(struct resp *resp)
{
	const struct served *served = find_open(resp);
	int titled = resp->kept == 2 || resp->resp3;
	unsigned i = 0, end = INFO_FIELDS;

	if (served == NULL)
		refuse_missing(resp);
	if (resp->refusal != NULL)
		return;
	if (resp->kept > 2) {
		while (i < INFO_FIELDS && !resp_is(resp, 2,
		    info_fields[i].name))
			i++;
		end = i + 1;
	}
	if (i == INFO_FIELDS) {
		resp_refuse(resp, "Invalid information value");
		return;
	}
	if (titled)
		resp_put_map(resp, end - i);
	else
		resp_put_array(resp, 1);
	for (; i < end; i++) {
		if (titled)
			resp_put_simple(resp, info_fields[i].title);
		put_info(resp, served, (enum info_field)i);
	}
}

static void
filters_refuse_dump(struct resp *resp)
{
	resp_refuse(resp, "ERR not supported: the filter is the file"
	    " NAME.bloom in the server's directory, which can be copied");
}

static void
filters_delete_key(struct resp *resp, struct bytes name)
{
	struct error error = { 0 };
	int result;

	if (resp_return_lease(resp, name) || !resp_may(resp, VERB_DELETE))
		return;
	/*
	 * Requests of other clients that refer to the filter are answered
	 * first.
	 */
	sweep_run(resp->client->service->sweep);
	if (catalog_find(resp->client->service->catalog, name) == NULL)
		return;
	client_pause(resp->client);
	result = catalog_remove(resp->client->service->catalog, name, &error);
	if (result == 0)
		resp->sum++;
	else if (result < 0)
		resp_refuse(resp, "ERR %s", error.text);
}

static void
filters_count_key(struct resp *resp, struct bytes name)
{
	resp->sum += catalog_find(resp->client->service->catalog, name) != NULL;
}

static void
filters_say_sum(struct resp *resp)
{
	resp_put_integer(resp, resp->sum);
}

static void
filters_type(struct resp *resp)
{
	resp_put_simple(resp, named_filter(resp) != NULL ? TYPE_NAME : "none");
}

/* All names at once, whatever the cursor: COUNT is only a hint. */
static void
filters_scan(struct resp *resp)
{
	struct catalog *catalog = resp->client->service->catalog;
	const char *pattern = "*";
	size_t count = 0;
	int64_t number;

	if (bytes_to_integer(resp_kept(resp, 1), 0, &number) < 0)
		resp_refuse(resp, "ERR invalid cursor");
	for (unsigned i = 2; i < resp->kept && resp->refusal == NULL; i += 2) {
		const char *value = resp_string(resp, i + 1);

		if (i + 1 == resp->kept)
			resp_refuse(resp, "ERR syntax error");
		else if (resp_is(resp, i, "MATCH"))
			pattern = value;
		else if (resp_is(resp, i, "COUNT"))
			take_number(resp, i + 1, "count", UINT64_MAX);
		else if (!resp_is(resp, i, "TYPE"))
			resp_refuse(resp, "ERR syntax error");
		else if (strcasecmp(value, TYPE_NAME) != 0)
			/* Filters have only this type, so no name matches. */
			pattern = "";
	}
	if (resp->refusal != NULL)
		return;
	client_pause(resp->client);
	catalog_list(catalog);
	for (size_t i = 0; i < catalog->count; i++)
		count += fnmatch(pattern, catalog->items[i]->name, 0) == 0;
	resp_put_array(resp, 2);
	resp_put_text(resp, "0");
	resp_put_array(resp, count);
	for (size_t i = 0; i < catalog->count; i++) {
		if (fnmatch(pattern, catalog->items[i]->name, 0) == 0)
			resp_put_text(resp, catalog->items[i]->name);
	}
}

const struct resp_command resp_filter_commands[] = {
	{ .name = "bf.add", .least = 3, .most = 3, .kept = 2,
	    .begin = filters_begin_add, .item = filters_take_subkey },
	{ .name = "bf.madd", .least = 3, .kept = 2, .array = 1,
	    .begin = filters_begin_add, .item = filters_take_subkey },
	{ .name = "bf.exists", .least = 3, .most = 3, .kept = 2, .asks = 1,
	    .begin = filters_begin_exists, .item = filters_take_subkey },
	{ .name = "bf.mexists", .least = 3, .kept = 2, .array = 1, .asks = 1,
	    .begin = filters_begin_exists, .item = filters_take_subkey },
	{ .name = "bf.insert", .least = 4, .until = "ITEMS", .array = 1,
	    .begin = filters_begin_add, .item = filters_take_subkey },
	{ .name = "bf.reserve", .least = 4, .most = 9, .end = filters_reserve },
	{ .name = "bf.card", .least = 2, .most = 2, .end = filters_card },
	{ .name = "bf.info", .least = 2, .most = 3, .end = filters_info },
	{ .name = "bf.scandump", .least = 3, .most = 3,
	    .end = filters_refuse_dump },
	{ .name = "bf.loadchunk", .least = 4, .most = 4,
	    .end = filters_refuse_dump },
	{ .name = "del", .least = 2, .kept = 1,
	    .item = filters_delete_key, .end = filters_say_sum },
	{ .name = "unlink", .least = 2, .kept = 1,
	    .item = filters_delete_key, .end = filters_say_sum },
	{ .name = "exists", .least = 2, .kept = 1,
	    .item = filters_count_key, .end = filters_say_sum },
	{ .name = "type", .least = 2, .most = 2, .end = filters_type },
	{ .name = "scan", .least = 2, .most = RESP_KEPT_MAX, .end = filters_scan
	    },
	{ .name = NULL }
};
