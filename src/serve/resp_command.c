/* The table of commands, how they read requests, and how they reply. */
#include "serve/resp_command.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "serve/served.h"

static const struct resp_command *const tables[] = { resp_filter_commands,
	resp_connection_commands, resp_session_commands, resp_lease_commands };
#define TABLES (sizeof tables / sizeof *tables)

const struct resp_command *
resp_command_find(struct bytes name, int leases)
{
	for (size_t i = 0; i < TABLES; i++) {
		if (tables[i] == resp_lease_commands && !leases)
			continue;
		for (const struct resp_command *c = tables[i];
		    c->name != NULL; c++) {
			if (strlen(c->name) == name.nbytes &&
			    strncasecmp(c->name, (const char *)name.data,
			    name.nbytes) == 0)
				return c;
		}
	}
	return NULL;
}

void
resp_answer_earlier(struct resp *r)
{
	if (r->client->owed > 0)
		sweep_run(r->client->service->sweep);
}

void
resp_refuse(struct resp *r, const char *format, ...)
{
	struct error text = { 0 };
	va_list args;

	va_start(args, format);
	vsnprintf(text.text, sizeof text.text, format, args);
	va_end(args);
	r->client->service->counters.refused++;
	free(r->refusal);
	r->refusal = memory_or_die(strdup(text.text));
}

int
resp_may(struct resp *r, enum verb verb)
{
	const char *why = memcached_refusal(r->client, verb);

	if (why != NULL)
		resp_refuse(r, "NOPERM %s", why);
	return why == NULL;
}

struct bytes
resp_kept(const struct resp *r, unsigned i)
{
	size_t start = 0;

	if (i >= r->kept)
		return (struct bytes){ (const uint8_t *)"", 0 };
	if (i > 0)
		start = r->ends[i - 1] + 1; /* after the NUL */
	return (struct bytes){ r->text.data + start, r->ends[i] - start };
}

const char *
resp_string(const struct resp *r, unsigned i)
{
	return (const char *)resp_kept(r, i).data;
}

int
resp_is(const struct resp *r, unsigned i, const char *word)
{
	return resp_kept(r, i).nbytes == strlen(word) &&
	    strcasecmp(resp_string(r, i), word) == 0;
}

static void
put_number(struct resp *r, char kind, uint64_t value)
{
	buffer_format(&r->client->replies, "%c%" PRIu64 "\r\n", kind, value);
}

void
resp_put_simple(struct resp *r, const char *text)
{
	buffer_reason(&r->client->replies, "+", text);
}

void
resp_put_error(struct resp *r, const char *text)
{
	buffer_reason(&r->client->replies, "-", text);
}

void
resp_put_integer(struct resp *r, uint64_t value)
{
	put_number(r, ':', value);
}

void
resp_put_bulk(struct resp *r, const void *data, size_t nbytes)
{
	put_number(r, '$', nbytes);
	buffer_put(&r->client->replies, data, nbytes);
	buffer_put(&r->client->replies, "\r\n", 2);
}

void
resp_put_text(struct resp *r, const char *text)
{
	resp_put_bulk(r, text, strlen(text));
}

void
resp_put_null(struct resp *r)
{
	buffer_line(&r->client->replies, r->resp3 ? "_" : "$-1");
}

void
resp_put_array(struct resp *r, size_t count)
{
	put_number(r, '*', count);
}

void
resp_put_map(struct resp *r, size_t count)
{
	if (r->resp3)
		put_number(r, '%', count);
	else
		put_number(r, '*', 2 * count);
}

int
resp_put_failure(struct resp *r, const struct operation *o,
    const struct outcome *outcome)
{
	if (o->reply == NULL && outcome->failure == NULL)
		return 0;
	if (o->reply != NULL)
		resp_put_error(r, o->reply);
	else if (outcome->no_lease)
		buffer_reason(&r->client->replies, "-OOM ",
		    outcome->failure);
	else if (outcome->status == STATUS_FULL && served_is_fixed(o->served))
		resp_put_error(r, "ERR non scaling filter is full");
	else
		buffer_reason(&r->client->replies, "-ERR ", outcome->failure);
	return 1;
}

void
resp_answer(struct client *client, const struct operation *o,
    const struct outcome *outcome)
{
	/* booleans, by version */
	static const char lines[2][2][5] = {
		{ ":0\r\n", ":1\r\n" }, { "#f\r\n", "#t\r\n" } };
	struct resp *r = client->resp;
	int asks = o->action == ACTION_LOOK;

	if (o->items > 0)
		resp_put_array(r, o->items);
	if (o->put != NULL)
		o->put(r, o, outcome);
	else if (!resp_put_failure(r, o, outcome))
		buffer_put(&client->replies,
		    lines[r->resp3][outcome->seen == asks], 4);
}
