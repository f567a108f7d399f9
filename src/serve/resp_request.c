/* What a command reads of its request, and how it refuses it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "serve/resp_command.h"

void
resp_answer_earlier(struct resp_request *r)
{
	if (r->asker->owed > 0)
		sweep_run(r->sweep);
}

void
resp_refuse(struct resp_request *r, const char *format, ...)
{
	struct error text = { 0 };
	va_list args;

	va_start(args, format);
	vsnprintf(text.text, sizeof text.text, format, args);
	va_end(args);
	r->service->counters.refused++;
	free(r->refusal);
	r->refusal = memory_or_die(strdup(text.text));
}

struct bytes
resp_kept(const struct resp_request *r, unsigned i)
{
	size_t start = i == 0 || i > r->kept ? 0 : r->ends[i - 1] + 1;

	if (i >= r->kept)
		return (struct bytes){ (const uint8_t *)"", 0 };
	return (struct bytes){ (const uint8_t *)r->text + start,
		r->ends[i] - start };
}

const char *
resp_string(const struct resp_request *r, unsigned i)
{
	return (const char *)resp_kept(r, i).data;
}

int
resp_is(const struct resp_request *r, unsigned i, const char *word)
{
	return resp_kept(r, i).nbytes == strlen(word) &&
	    strcasecmp(resp_string(r, i), word) == 0;
}

int
resp_integer(const struct resp_request *r, unsigned i, int64_t *value)
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
