/* The table of all commands, and what commands read of their requests. */
#include "serve/resp_command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "serve/admin.h"

static const struct resp_command *const tables[] = { resp_filter_commands,
	resp_connection_commands, resp_session_commands, resp_key_commands };
#define TABLES (sizeof tables / sizeof *tables)

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

int
resp_may(struct resp *r, enum verb verb)
{
	const char *why = admin_refusal(r->client, verb);

	if (why != NULL)
		resp_refuse(r, "NOPERM %s", why);
	return why == NULL;
}

struct bytes
resp_kept(const struct resp *r, unsigned i)
{
	size_t start = i == 0 || i > r->kept ? 0 : r->ends[i - 1] + 1;

	if (i >= r->kept)
		return (struct bytes){ (const uint8_t *)"", 0 };
	return (struct bytes){ r->text.data + start,
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
	return bytes_to_integer(resp_kept(r, i), 1, value);
}
