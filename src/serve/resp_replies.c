#include "serve/resp_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "serve/catalog.h"

static void
put_number(struct client *client, char kind, uint64_t value)
{
	char line[32];
	int n = snprintf(line, sizeof line, "%c%" PRIu64 "\r\n", kind, value);

	buffer_put(&client->replies, line, (size_t)n);
}

void
resp_put_simple(struct client *client, const char *text)
{
	buffer_reason(&client->replies, "+", text);
}

void
resp_put_error(struct client *client, const char *text)
{
	buffer_reason(&client->replies, "-", text);
}

void
resp_put_integer(struct client *client, uint64_t value)
{
	put_number(client, ':', value);
}

static void
put_boolean(struct client *client, int value)
{
	static const char lines[2][2][5] = {
		{ ":0\r\n", ":1\r\n" }, { "#f\r\n", "#t\r\n" } };

	buffer_put(&client->replies, lines[client->resp3][value], 4);
}

void
resp_put_bulk(struct client *client, const void *data, size_t nbytes)
{
	put_number(client, '$', nbytes);
	buffer_put(&client->replies, data, nbytes);
	buffer_put(&client->replies, "\r\n", 2);
}

void
resp_put_text(struct client *client, const char *text)
{
	resp_put_bulk(client, text, strlen(text));
}

void
resp_put_null(struct client *client)
{
	buffer_line(&client->replies, client->resp3 ? "_" : "$-1");
}

void
resp_put_array(struct client *client, size_t count)
{
	put_number(client, '*', count);
}

void
resp_put_map(struct client *client, size_t count)
{
	put_number(client, client->resp3 ? '%' : '*',
	    client->resp3 ? count : 2 * count);
}

static void
put_failure(struct client *client, const struct operation *o,
    const struct outcome *outcome)
{
	if (o->reply != NULL) {
		resp_put_error(client, o->reply);
	} else if (outcome->status == STATUS_FULL && o->served != NULL &&
	    served_is_fixed(o->served)) {
		resp_put_error(client, "ERR non scaling filter is full");
	} else {
		buffer_reason(&client->replies, "-ERR ", outcome->failure);
	}
}

void
resp_answer(struct client *client, const struct operation *o,
    const struct outcome *outcome)
{
	if (o->items > 0)
		resp_put_array(client, o->items);
	if (o->reply != NULL || outcome->failure != NULL)
		put_failure(client, o, outcome);
	else
		put_boolean(client, outcome->seen == o->asks);
}
