/*
 * The words of a request that commands keep are copied, so a request may be
 * spread over any number of buffers; items are not. What comes between MULTI
 * and EXEC is copied to a queue, as it is, and parsed again when it is carried
 * out, like bytes that have just arrived.
 */
#include "serve/resp_command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bits/loops.h"

/* A buffer for kept words that is no larger is kept for the next request. */
#define SMALL_BYTES ((size_t)1 << 10)
/* The bytes of a queue that are carried out in one turn. */
#define TURN_BYTES ((size_t)64 << 10)
/* No word can be longer, as in Redis. */
#define WORD_BYTES_MAX ((int64_t)512 << 20)

/* Words */

static size_t
word_broken(struct resp_word *word)
{
	word->event = RESP_BROKEN;
	return 0;
}

/*
 * The number in a line that begins with `first`. Returns the line's length; 0
 * if it isn't whole yet, or broken, which `word` then says.
 */
static size_t
take_count(const uint8_t *data, size_t nbytes, char first,
    struct resp_word *word, int64_t *value)
{
	size_t most = nbytes < RESP_HEAD_MAX ? nbytes : RESP_HEAD_MAX;
	const uint8_t *end;

	if (nbytes == 0)
		return 0;
	end = memchr(data, '\n', most);
	if (data[0] == first && end == NULL && most < RESP_HEAD_MAX)
		return 0;
	if (data[0] != first || end == NULL || end[-1] != '\r' ||
	    bytes_to_integer((struct bytes){ data + 1,
	    (size_t)(end - data) - 2 }, 1, value) < 0)
		return word_broken(word);
	return (size_t)(end - data) + 1;
}

static size_t
begin_array(struct resp_parser *parser, const uint8_t *data, size_t nbytes,
    struct resp_word *word)
{
	int64_t count;
	size_t n;

	/* an empty line, as redis-cli --pipe sends one */
	if (nbytes == 1 && data[0] == '\r')
		return 0;
	if (nbytes > 1 && data[0] == '\r' && data[1] == '\n')
		return 2;
	n = take_count(data, nbytes, RESP_FIRST_BYTE, word, &count);
	if (n == 0)
		return 0;
	if (count > RESP_WORDS_MAX) {
		word->event = RESP_TOO_MANY;
		return 0;
	}
	if (count > 0) {
		parser->index = 0;
		parser->count = (uint32_t)count;
		parser->state = RESP_AT_LENGTH;
	}
	return n;
}

static size_t
begin_word(struct resp_parser *parser, size_t longest, const uint8_t *data,
    size_t nbytes, struct resp_word *word)
{
	int64_t length;
	size_t n = take_count(data, nbytes, '$', word, &length);

	if (n == 0)
		return 0;
	if (length < 0 || length > WORD_BYTES_MAX)
		return word_broken(word);
	parser->nbytes = (uint64_t)length;
	parser->state = RESP_AT_BYTES;
	if (parser->nbytes > longest) {
		parser->nbytes += 2;
		parser->state = RESP_AT_SKIP;
	}
	return n;
}

static size_t
take_word_bytes(const struct resp_parser *parser, const uint8_t *data,
    size_t nbytes, struct resp_word *word)
{
	size_t n = (size_t)parser->nbytes;

	if (nbytes < n + 2)
		return 0;
	if (data[n] != '\r' || data[n + 1] != '\n')
		return word_broken(word);
	word->event = RESP_WORD;
	word->bytes = (struct bytes){ data, n };
	return n + 2;
}

static size_t
skip_bytes(struct resp_parser *parser, size_t nbytes, struct resp_word *word)
{
	size_t n = parser->nbytes < nbytes ? (size_t)parser->nbytes : nbytes;

	parser->nbytes -= n;
	if (parser->nbytes == 0)
		word->event = RESP_LONG;
	return n;
}

size_t
resp_next(struct resp_parser *parser, size_t longest, const uint8_t *data,
    size_t nbytes, struct resp_word *word)
{
	size_t at = 0, n = 0;

	*word = (struct resp_word){ .event = RESP_MORE };
	do {
		const uint8_t *rest = data + at;
		size_t left = nbytes - at;

		switch (parser->state) {
		case RESP_AT_ARRAY:
			n = begin_array(parser, rest, left, word);
			break;
		case RESP_AT_LENGTH:
			n = begin_word(parser, longest, rest, left, word);
			break;
		case RESP_AT_BYTES:
			n = take_word_bytes(parser, rest, left, word);
			break;
		case RESP_AT_SKIP:
			n = skip_bytes(parser, left, word);
			break;
		}
		at += n;
	} while (n > 0 && word->event == RESP_MORE);
	if (word->event == RESP_WORD || word->event == RESP_LONG) {
		word->index = parser->index++;
		word->count = parser->count;
		if (parser->index < parser->count)
			parser->state = RESP_AT_LENGTH;
		else
			parser->state = RESP_AT_ARRAY;
	}
	return at;
}

/* Requests */

static void
free_queue(struct resp *resp)
{
	buffer_free(&resp->queue);
	resp->client->queued = 0;
	resp->queue_count = 0;
	resp->queuing = resp->queue_failed = resp->client->busy = 0;
}

void
resp_free(struct resp *resp)
{
	if (resp == NULL)
		return;
	buffer_free(&resp->queue);
	buffer_free(&resp->text);
	buffer_free(&resp->array);
	free(resp->refusal);
	free(resp->name);
	free(resp);
}

/* Return how long a word may be. */
static size_t
longest(const struct resp *resp)
{
	return resp->client->service->settings->limits.value;
}

/* Is this request queued, rather than carried out? */
static int
is_queued(const struct resp *resp)
{
	return resp->queuing && (resp->command == NULL ||
	    !resp->command->at_once);
}

static void
queue_word(struct resp *resp, const struct resp_word *word)
{
	if (word->event == RESP_LONG) {
		resp_refuse(resp, "ERR an argument is too long");
		return;
	}
	if (resp->queue_failed)
		return; /* EXEC will carry out none of the requests. */
	if (buffer_bytes(&resp->queue) + word->bytes.nbytes >
	    SERVE_QUEUE_VALUES * longest(resp)) {
		resp_refuse(resp, "ERR the requests after MULTI are too long"
		    " together (--max-value)");
		return;
	}
	if (clients_wait_too_much(resp->client->service)) {
		resp_refuse(resp, "OOM %s", SERVE_WAITING_TOO_MUCH);
		return;
	}
	if (word->index == 0)
		buffer_format(&resp->queue, "*%" PRIu32 "\r\n", word->count);
	buffer_format(&resp->queue, "$%zu\r\n", word->bytes.nbytes);
	buffer_put(&resp->queue, word->bytes.data, word->bytes.nbytes);
	buffer_put(&resp->queue, "\r\n", 2);
	resp->client->queued = resp->queue.capacity;
}

static void
refuse_unknown(struct resp *resp, struct bytes name)
{
	size_t shown = name.nbytes < 128 ? name.nbytes : 128;

	resp_refuse(resp, "ERR unknown command '%.*s'", (int)shown,
	    (const char *)name.data);
}

static void
begin_request(struct resp *resp, const struct resp_word *word)
{
	const struct resp_command *command = resp->command;

	/* In a pipeline, the command is mostly that of the request before. */
	if (command == NULL || !resp_command_is(command, word->bytes))
		command = resp_command_find(word->bytes,
		    resp->client->service->leases != NULL);
	resp->command = command;
	resp->count = word->count;
	resp->items = 0;
	resp->number++;
	resp->array_closed = 0;
	resp->kept = 0;
	resp->text.end = 0;
	resp->client->served = NULL;
	resp->missing = 0;
	resp->sum = 0;
	if (command == NULL)
		refuse_unknown(resp, word->bytes);
	else if (word->count < command->least ||
	    (command->most > 0 && word->count > command->most))
		resp_refuse(resp, "ERR wrong number of arguments for '%s'"
		    " command", command->name);
}

/* Is the word to be kept, rather than an item? The last one kept is. */
static int
is_kept(const struct resp *resp, uint32_t index)
{
	if (resp->command->until != NULL)
		return resp->kept < 3 || !resp_is(resp, resp->kept - 1,
		    resp->command->until);
	return resp->command->kept == 0 || index < resp->command->kept;
}

static void
take_word(struct resp *resp, const struct resp_word *word)
{
	const struct resp_command *command = resp->command;
	size_t nbytes = word->bytes.nbytes;
	size_t limit = longest(resp) +
	    resp->client->service->settings->limits.key;

	if (!is_kept(resp, word->index)) {
		/* An item that is too long arrives without its bytes. */
		command->item(resp, word->bytes);
		resp->items++;
		return;
	}
	if (word->event == RESP_LONG) {
		resp_refuse(resp, "ERR an argument is too long");
	} else if (resp->kept < RESP_KEPT_MAX &&
	    resp->text.end + nbytes > limit) {
		resp_refuse(resp, "ERR the arguments are too long together");
	} else if (resp->kept < RESP_KEPT_MAX) {
		buffer_put(&resp->text, word->bytes.data, nbytes);
		resp->ends[resp->kept++] = resp->text.end;
		buffer_put(&resp->text, "", 1);
	}
	/* The command begins when all words that are kept have arrived. */
	if (resp->refusal == NULL && command->begin != NULL &&
	    (word->index + 1 == resp->count || !is_kept(resp, word->index + 1)))
		command->begin(resp);
}

static void
end_request(struct resp *resp)
{
	int queued = is_queued(resp);

	/* What is answered here comes after the answers of the sweep. */
	if (queued || resp->refusal != NULL || resp->command->end != NULL)
		resp_answer_earlier(resp);
	if (resp->refusal != NULL) {
		resp->queue_failed |= queued;
	} else if (queued) {
		resp->queue_count++;
		resp_put_simple(resp, "QUEUED");
	} else if (resp->command->end != NULL) {
		resp->command->end(resp);
	}
	if (resp->refusal != NULL)
		resp_put_error(resp, resp->refusal);
	free(resp->refusal);
	resp->refusal = NULL;
	if (resp->text.capacity > SMALL_BYTES)
		buffer_free(&resp->text);
}

static void
take_event(struct resp *resp, const struct resp_word *word)
{
	if (word->event == RESP_BROKEN || word->event == RESP_TOO_MANY) {
		resp_answer_earlier(resp);
		if (word->event == RESP_BROKEN)
			resp_put_error(resp, "ERR Protocol error: expected an"
			    " array of bulk strings");
		else
			resp_put_error(resp,
			    "ERR Protocol error: a request has at"
			    " most 1048576 words");
		client_end(resp->client);
		return;
	}
	if (word->index == 0)
		begin_request(resp, word);
	if (resp->refusal == NULL && is_queued(resp))
		queue_word(resp, word);
	else if (resp->refusal == NULL)
		take_word(resp, word);
	if (word->index + 1 == word->count)
		end_request(resp);
}

/* client->take: a word of the bytes that have arrived, or of the queue. */
static size_t
resp_take(struct client *client, const uint8_t *data, size_t nbytes, int *more)
{
	struct resp *resp = client->resp;
	struct resp_word word;
	size_t used;

	if (!client->busy) {
		used = resp_next(&resp->parser, longest(resp), data, nbytes,
		    &word);
		*more = word.event == RESP_MORE;
		if (!*more)
			take_event(resp, &word);
		return used;
	}
	/* the queue consists of whole requests */
	used = resp_next(&resp->parser, longest(resp), resp->queue.data +
	    resp->queue.start, buffer_bytes(&resp->queue) - LOOPS_PADDING,
	    &word);
	resp->queue.start += used;
	take_event(resp, &word);
	/* other clients wait no longer than for what is read from a socket */
	resp->turn_bytes += used;
	if (resp->turn_bytes >= TURN_BYTES) {
		resp->turn_bytes = 0;
		client_pause(client);
	}
	if (buffer_bytes(&resp->queue) == LOOPS_PADDING) {
		/*
		 * Operations may point to the queue, so they are carried out
		 * first.
		 */
		resp_answer_earlier(resp);
		free_queue(resp);
	}
	return 0;
}

void
resp_begin(struct client *client)
{
	client->resp = memory_or_die(calloc(1, sizeof *client->resp));
	client->resp->client = client;
	client->resp->id = client->service->counters.total_connections;
	client->take = resp_take;
	client->answer = resp_answer;
}

static void
session_multi(struct resp *resp)
{
	if (resp->queuing) {
		resp_refuse(resp, "ERR MULTI calls can not be nested");
	} else {
		resp->queuing = 1;
		resp_put_simple(resp, "OK");
	}
}

static void
session_discard(struct resp *resp)
{
	if (resp->queuing)
		resp_put_simple(resp, "OK");
	else
		resp_refuse(resp, "ERR DISCARD without MULTI");
	free_queue(resp);
}

static void
session_exec(struct resp *resp)
{
	static const char padding[LOOPS_PADDING];

	if (!resp->queuing) {
		resp_refuse(resp, "ERR EXEC without MULTI");
	} else if (resp->queue_failed) {
		resp_refuse(resp, "EXECABORT Transaction discarded because"
		    " of previous errors.");
	} else {
		resp_put_array(resp, resp->queue_count);
		resp->queuing = 0;
		resp->client->busy = resp->queue_count > 0;
		buffer_put(&resp->queue, padding, sizeof padding);
	}
	if (!resp->client->busy)
		free_queue(resp);
}

const struct resp_command resp_session_commands[] = {
	{ .name = "multi", .at_once = 1, .least = 1, .most = 1,
	    .end = session_multi },
	{ .name = "exec", .at_once = 1, .least = 1, .most = 1,
	    .end = session_exec },
	{ .name = "discard", .at_once = 1, .least = 1, .most = 1,
	    .end = session_discard },
	{ .name = NULL }
};
