#include "redis/request.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define ASKING "*1\r\n$6\r\nASKING\r\n"

struct request *
request_new(unsigned slot, unsigned flags, redis_answer *answer,
    void *context, size_t tag)
{
	struct request *request = memory_or_die(calloc(1, sizeof *request));

	request->answer = answer;
	request->context = context;
	request->tag = tag;
	request->slot = slot;
	request->flags = flags;
	request->node = -1;
	return request;
}

void
request_reset(struct request *request)
{
	for (size_t i = 0; i < request->answered; i++)
		freeReplyObject(request->replies[i]);
	request->asked = 0;
	request->answered = 0;
	request->sent = 0;
	request->next = NULL;
}

void
request_free(struct request *request)
{
	request_reset(request);
	free(request->replies);
	free(request->bytes);
	free(request->with_asking);
	free(request);
}

/* What is sent */

void
request_add_bytes(struct request *request, const void *data, size_t nbytes)
{
	if (request->room - request->nbytes < nbytes) {
		request->room = 2 * (request->nbytes + nbytes);
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
	request_add_bytes(request, at, (size_t)(text + sizeof text - at));
}

void
request_add_command(struct request *request, size_t words)
{
	request->commands++;
	add_length(request, '*', words);
}

void
request_add_word(struct request *request, const void *data, size_t nbytes)
{
	add_length(request, '$', nbytes);
	request_add_bytes(request, data, nbytes);
	request_add_bytes(request, "\r\n", 2);
}

void
request_end(struct request *request, size_t reply_bytes)
{
	request->replies = memory_or_die(calloc(request->commands,
	    sizeof *request->replies));
	request->cost = request->nbytes + reply_bytes;
}

/* "*2\r\n$3\r\nGET\r\n$1\r\nx\r\n": the number, which ends with \r\n. */
static size_t
read_length(const char **at)
{
	char *end;
	size_t number = strtoul(*at + 1, &end, 10);

	*at = end + 2;
	return number;
}

static size_t
command_length(const char *command)
{
	const char *at = command;
	size_t words = read_length(&at);

	for (; words > 0; words--)
		at += read_length(&at) + 2;
	return (size_t)(at - command);
}

static void
insert_asking(struct request *request)
{
	const size_t asking = sizeof ASKING - 1;
	char *to = memory_or_die(malloc(request->nbytes +
	    request->commands * asking));
	size_t length;

	request->with_asking = to;
	for (size_t at = 0; at < request->nbytes; at += length) {
		length = command_length(request->bytes + at);
		memcpy(to, ASKING, asking);
		memcpy(to + asking, request->bytes + at, length);
		to += asking + length;
	}
	request->with_asking_bytes = (size_t)(to - request->with_asking);
}

void
request_ask(struct request *request, int node)
{
	if (request->with_asking == NULL)
		insert_asking(request);
	request->node = node;
	request->asking = 1;
}

void
request_ask_no_more(struct request *request)
{
	request->node = -1;
	request->asking = 0;
}

size_t
request_length(const struct request *request)
{
	return request->asking ? request->with_asking_bytes : request->nbytes;
}

int
request_gather(struct request *request, struct iovec parts[REQUEST_PARTS])
{
	int n = 0;

	for (; request != NULL && n < REQUEST_PARTS; request = request->next) {
		char *bytes = request->asking ? request->with_asking :
		    request->bytes;

		parts[n++] = (struct iovec){ bytes + request->sent,
			request_length(request) - request->sent };
	}
	return n;
}

/* What has come */

int
request_take(struct request *request, redisReply *reply)
{
	if (request->asking && request->asked == request->answered) {
		freeReplyObject(reply);
		request->asked++;
		return 0;
	}
	request->replies[request->answered++] = reply;
	return request->answered == request->commands;
}

/* Replies to the commands of a MULTI count, too. */
const char *
request_error(const struct request *request)
{
	for (size_t i = 0; i < request->answered; i++) {
		const redisReply *reply = request->replies[i];

		if (reply->type == REDIS_REPLY_ERROR)
			return reply->str;
		for (size_t j = 0; reply->type == REDIS_REPLY_ARRAY &&
		    j < reply->elements; j++) {
			if (reply->element[j]->type == REDIS_REPLY_ERROR)
				return reply->element[j]->str;
		}
	}
	return NULL;
}
