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
/* A buffer for an array that is no larger is kept for the next one. */
#define KEPT_BYTES ((size_t)1 << 10)

const struct resp_command *
resp_command_next(struct resp_position *position, int leases)
{
	const struct resp_command *command;

	for (; position->table < TABLES; position->table++) {
		if (tables[position->table] == resp_lease_commands && !leases)
			continue;
		command = &tables[position->table][position->row++];
		if (command->name != NULL)
			return command;
		position->row = 0;
	}
	return NULL;
}

int
resp_command_is(const struct resp_command *command, struct bytes name)
{
	return strlen(command->name) == name.nbytes && strncasecmp(
	    command->name, (const char *)name.data, name.nbytes) == 0;
}

const struct resp_command *
resp_command_find(struct bytes name, int leases)
{
	struct resp_position position = { 0 };
	const struct resp_command *c;

	do
		c = resp_command_next(&position, leases);
	while (c != NULL && !resp_command_is(c, name));
	return c;
}

void
resp_answer_earlier(struct resp *resp)
{
	if (resp->client->owed > 0)
		sweep_run(resp->client->service->sweep);
}

void
resp_refuse(struct resp *resp, const char *format, ...)
{
	struct error text = { 0 };
	va_list args;

	va_start(args, format);
	vsnprintf(text.text, sizeof text.text, format, args);
	va_end(args);
	resp->client->service->counters.refused++;
	resp_fail(resp, text.text);
}

void
resp_fail(struct resp *resp, const char *error)
{
	free(resp->refusal);
	resp->refusal = memory_or_die(strdup(error));
}

int
resp_may(struct resp *resp, enum verb verb)
{
	const char *why = memcached_refusal(resp->client, verb);

	if (why != NULL)
		resp_refuse(resp, "NOPERM %s", why);
	return why == NULL;
}

struct bytes
resp_kept(const struct resp *resp, unsigned i)
{
	size_t start = 0;

	if (i >= resp->kept)
		return (struct bytes){ (const uint8_t *)"", 0 };
	if (i > 0)
		start = resp->ends[i - 1] + 1; /* behind a NUL */
	return (struct bytes){ resp->text.data + start, resp->ends[i] - start };
}

const char *
resp_string(const struct resp *resp, unsigned i)
{
	return (const char *)resp_kept(resp, i).data;
}

int
resp_is(const struct resp *resp, unsigned i, const char *word)
{
	return resp_kept(resp, i).nbytes == strlen(word) &&
	    strcasecmp(resp_string(resp, i), word) == 0;
}

static void
put_number(struct resp *resp, char kind, uint64_t value)
{
	buffer_format(&resp->client->replies, "%c%" PRIu64 "\r\n", kind, value);
}

void
resp_put_simple(struct resp *resp, const char *text)
{
	buffer_reason(&resp->client->replies, "+", text);
}

void
resp_put_error(struct resp *resp, const char *text)
{
	buffer_reason(&resp->client->replies, "-", text);
}

void
resp_put_integer(struct resp *resp, uint64_t value)
{
	put_number(resp, ':', value);
}

void
resp_put_bulk(struct resp *resp, const void *data, size_t nbytes)
{
	put_number(resp, '$', nbytes);
	buffer_put(&resp->client->replies, data, nbytes);
	buffer_put(&resp->client->replies, "\r\n", 2);
}

void
resp_put_text(struct resp *resp, const char *text)
{
	resp_put_bulk(resp, text, strlen(text));
}

void
resp_put_null(struct resp *resp)
{
	buffer_line(&resp->client->replies, resp->resp3 ? "_" : "$-1");
}

void
resp_put_array(struct resp *resp, size_t count)
{
	put_number(resp, '*', count);
}

void
resp_put_map(struct resp *resp, size_t count)
{
	if (resp->resp3)
		put_number(resp, '%', count);
	else
		put_number(resp, '*', 2 * count);
}

int
resp_put_failure(struct buffer *to, const struct operation *o,
    const struct outcome *outcome)
{
	if (!outcome_is_settled(o, outcome))
		return 0;
	if (o->reply != NULL)
		buffer_reason(to, "-", o->reply);
	else if (outcome->no_lease)
		buffer_reason(to, "-OOM ", outcome->failure);
	else if (outcome->status == STATUS_FULL && served_is_fixed(o->served))
		buffer_line(to, "-ERR non scaling filter is full");
	else
		buffer_reason(to, "-ERR ", outcome->failure);
	return 1;
}

/* Put the array of replies to subkeys, which is complete. */
static void
put_collected_array(struct resp *resp)
{
	resp_put_array(resp, resp->array_count);
	buffer_put(&resp->client->replies, resp->array.data + resp->array.start,
	    buffer_bytes(&resp->array));
	resp->array_count = 0;
	resp->array.start = resp->array.end = 0;
	if (resp->array.capacity > KEPT_BYTES)
		buffer_free(&resp->array);
}

/* The reply to a subkey is a boolean or an error. Returns whether it failed. */
static int
put_boolean(struct resp *resp, struct buffer *to, const struct operation *o,
    const struct outcome *outcome)
{
	/* the first index is the version of the protocol */
	static const char lines[2][2][5] = {
		{ ":0\r\n", ":1\r\n" }, { "#f\r\n", "#t\r\n" } };
	int asks = o->action == ACTION_LOOK;

	/* Mostly it is not settled: ask here, and spare a call. */
	if (outcome_is_settled(o, outcome))
		return resp_put_failure(to, o, outcome);
	buffer_put(to, lines[resp->resp3][outcome->seen == asks], 4);
	return 0;
}

void
resp_answer(struct client *client, const struct operation *o,
    const struct outcome *outcome)
{
	struct resp *resp = client->resp;
	int failed;

	if (o->put != NULL) {
		o->put(resp, o, outcome);
	} else if (o->array == 0) {
		put_boolean(resp, &client->replies, o, outcome);
	} else if (resp->array_failed != o->array) {
		/* The array goes on, since no item of it has failed before. */
		resp->array_count++;
		failed = put_boolean(resp, &resp->array, o, outcome);
		if (failed)
			resp->array_failed = o->array;
		if (failed || o->ends_array)
			put_collected_array(resp);
	}
}
