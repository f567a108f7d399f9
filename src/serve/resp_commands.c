/* The table of all commands, and what commands read of their requests. */
#include "serve/resp_command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"

static void
put_commands(struct resp *r, const struct resp_command *c)
{
	for (; c->name != NULL; c++) {
		/* as Redis before 7: name, arity, flags, keys */
		resp_put_array(r->client, 6);
		resp_put_text(r->client, c->name);
		replies_format(&r->client->replies, ":%s%u\r\n",
		    c->least == c->most ? "" : "-", (unsigned)c->least);
		resp_put_array(r->client, 0);
		resp_put_integer(r->client, c->keys != 0);
		replies_line(&r->client->replies, c->keys < 0 ? ":-1" :
		    c->keys > 0 ? ":1" : ":0");
		resp_put_integer(r->client, c->keys != 0);
	}
}

static void command(struct resp *r);

static const struct resp_command own[] = {
	{ .name = "command", .least = 1, .end = command },
	{ .name = NULL }
};

static const struct resp_command *const tables[] = { resp_filter_commands,
	resp_connection_commands, resp_session_commands, resp_key_commands,
	own };
#define TABLES (sizeof tables / sizeof *tables)

static void
command(struct resp *r)
{
	size_t count = 0;

	for (size_t i = 0; i < TABLES; i++) {
		for (const struct resp_command *c = tables[i];
		    c->name != NULL; c++)
			count++;
	}
	if (r->kept > 1 && resp_is(r, 1, "DOCS")) {
		resp_put_map(r->client, 0);
	} else if (r->kept > 1 && resp_is(r, 1, "COUNT")) {
		resp_put_integer(r->client, count);
	} else if (r->kept > 1) {
		resp_refuse(r, "ERR unknown subcommand '%.128s'. Try COMMAND"
		    " HELP.", resp_string(r, 1));
	} else {
		resp_put_array(r->client, count);
		for (size_t i = 0; i < TABLES; i++)
			put_commands(r, tables[i]);
	}
}

const struct resp_command *
resp_command_find(struct bytes name)
{
	for (size_t i = 0; i < TABLES; i++) {
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

struct bytes
resp_kept(const struct resp *r, unsigned i)
{
	size_t start = i == 0 || i > r->kept ? 0 : r->ends[i - 1] + 1;

	if (i >= r->kept)
		return (struct bytes){ (const uint8_t *)"", 0 };
	return (struct bytes){ (const uint8_t *)r->text + start,
		r->ends[i] - start };
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

int
resp_integer(const struct resp *r, unsigned i, int64_t *value)
{
	const char *text = resp_string(r, i);
	size_t digits = strspn(text + (text[0] == '-'), "0123456789");
	char *end;

	errno = 0;
	*value = strtoll(text, &end, 10);
	return digits > 0 && errno == 0 && *end == '\0' &&
	    end == text + resp_kept(r, i).nbytes &&
	    (text[0] != '0' || digits == 1) ? 0 : -1;
}
