#include "redis/request.h"

#include <stdlib.h>
#include <string.h>

static char asking[] = "*1\r\n$6\r\nASKING\r\n";
#define ASKING_BYTES (sizeof asking - 1)

struct request *
request_new(unsigned slot, unsigned flags, redis_answer *answer,
    void *context, size_t tag)
{
	struct request *request = memory_or_die(malloc(sizeof *request));

	*request = (struct request){ .answer = answer, .context = context,
		.tag = tag, .slot = slot, .flags = flags, .node = -1 };
	return request;
}

void
request_free(struct request *request)
{
	free(request->bytes);
	free(request);
}

void
request_reset(struct request *request)
{
	request->asked = 0;
	request->sent = 0;
	request->next = NULL;
}

static void
add(struct request *request, const void *data, size_t nbytes)
{
	if (request->room - request->nbytes < nbytes) {
		request->room = 2 * (request->nbytes + nbytes) + 256;
		request->bytes = memory_or_die(realloc(request->bytes,
		    request->room));
	}
	memcpy(request->bytes + request->nbytes, data, nbytes);
	request->nbytes += nbytes;
}

/* "*3\r\n" or "$3\r\n" */
static void
add_length(struct request *request, char kind, size_t number)
{
	char text[24], *at = text + sizeof text;

	*--at = '\n';
	*--at = '\r';
	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	*--at = kind;
	add(request, at, (size_t)(text + sizeof text - at));
}

void
request_words(struct request *request, size_t words)
{
	add_length(request, '*', words);
}

void
request_word(struct request *request, const void *data, size_t nbytes)
{
	add_length(request, '$', nbytes);
	add(request, data, nbytes);
	add(request, "\r\n", 2);
}

void
request_formatted(struct request *request, const char *command, size_t nbytes)
{
	add(request, command, nbytes);
}

size_t
request_length(const struct request *request)
{
	return request->nbytes + (request->node >= 0 ? ASKING_BYTES : 0);
}

int
request_gather(struct request *request, struct iovec parts[REQUEST_PARTS])
{
	int n = 0;

	for (; request != NULL && n + 2 <= REQUEST_PARTS;
	    request = request->next) {
		size_t before = request->node >= 0 ? ASKING_BYTES : 0;
		size_t sent = request->sent;

		if (sent < before) {
			parts[n++] = (struct iovec){ asking + sent,
				before - sent };
			sent = before;
		}
		sent -= before;
		parts[n++] = (struct iovec){ request->bytes + sent,
			request->nbytes - sent };
	}
	return n;
}
