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
free_queue(struct resp *r)
{
	buffer_free(&r->queue);
	r->client->queued = 0;
	r->queue_count = 0;
	r->queuing = r->queue_failed = r->client->busy = 0;
}

void
resp_free(struct resp *r)
{
	if (r == NULL)
		return;
	buffer_free(&r->queue);
	buffer_free(&r->text);
	buffer_free(&r->array);
	free(r->refusal);
	free(r->name);
	free(r);
}

/* The longest word. */
static size_t
longest(const struct resp *r)
{
	return r->client->service->settings->limits.value;
}

/* Is this request queued, rather than carried out? */
static int
is_queued(const struct resp *r)
{
	return r->queuing && (r->command == NULL || !r->command->at_once);
}

static void
queue_word(struct resp *r, const struct resp_word *word)
{
	if (word->event == RESP_LONG) {
		resp_refuse(r, "ERR an argument is too long");
		return;
	}
	if (r->queue_failed)
		return; /* EXEC will carry out none */
	if (buffer_bytes(&r->queue) + word->bytes.nbytes >
	    SERVE_QUEUE_VALUES * longest(r)) {
		resp_refuse(r, "ERR the requests after MULTI are too long"
		    " together (--max-value)");
		return;
	}
	if (clients_wait_too_much(r->client->service)) {
		resp_refuse(r, "OOM %s", SERVE_WAITING_TOO_MUCH);
		return;
	}
	if (word->index == 0)
		buffer_format(&r->queue, "*%" PRIu32 "\r\n", word->count);
	buffer_format(&r->queue, "$%zu\r\n", word->bytes.nbytes);
	buffer_put(&r->queue, word->bytes.data, word->bytes.nbytes);
	buffer_put(&r->queue, "\r\n", 2);
	r->client->queued = r->queue.capacity;
}

static void
refuse_unknown(struct resp *r, struct bytes name)
{
	size_t shown = name.nbytes < 128 ? name.nbytes : 128;

	resp_refuse(r, "ERR unknown command '%.*s'", (int)shown,
	    (const char *)name.data);
}

static void
begin_request(struct resp *r, const struct resp_word *word)
{
	const struct resp_command *command = r->command;

	/* in a pipeline, it is mostly the command of the request before */
	if (command == NULL || !resp_command_is(command, word->bytes))
		command = resp_command_find(word->bytes,
		    r->client->service->leases != NULL);
	r->command = command;
	r->count = word->count;
	r->items = 0;
	r->number++;
	r->array_closed = 0;
	r->kept = 0;
	r->text.end = 0;
	r->client->served = NULL;
	r->missing = 0;
	r->sum = 0;
	if (command == NULL)
		refuse_unknown(r, word->bytes);
	else if (word->count < command->least ||
	    (command->most > 0 && word->count > command->most))
		resp_refuse(r, "ERR wrong number of arguments for '%s'"
		    " command", command->name);
}

/* Is the word to be kept, rather than an item? The last one kept is. */
static int
is_kept(const struct resp *r, uint32_t index)
{
	if (r->command->until != NULL)
		return r->kept < 3 || !resp_is(r, r->kept - 1,
		    r->command->until);
	return r->command->kept == 0 || index < r->command->kept;
}

static void
take_word(struct resp *r, const struct resp_word *word)
{
	const struct resp_command *command = r->command;
	size_t nbytes = word->bytes.nbytes;
	size_t limit = longest(r) + r->client->service->settings->limits.key;

	if (!is_kept(r, word->index)) {
		/* an item that is too long has no bytes */
		command->item(r, word->bytes);
		r->items++;
		return;
	}
	if (word->event == RESP_LONG) {
		resp_refuse(r, "ERR an argument is too long");
	} else if (r->kept < RESP_KEPT_MAX && r->text.end + nbytes > limit) {
		resp_refuse(r, "ERR the arguments are too long together");
	} else if (r->kept < RESP_KEPT_MAX) {
		buffer_put(&r->text, word->bytes.data, nbytes);
		r->ends[r->kept++] = r->text.end;
		buffer_put(&r->text, "", 1);
	}
	/* have all words to be kept been kept? */
	if (r->refusal == NULL && command->begin != NULL &&
	    (word->index + 1 == r->count || !is_kept(r, word->index + 1)))
		command->begin(r);
}

static void
end_request(struct resp *r)
{
	int queued = is_queued(r);

	/* What is answered here comes after the answers of the sweep. */
	if (queued || r->refusal != NULL || r->command->end != NULL)
		resp_answer_earlier(r);
	if (r->refusal != NULL) {
		r->queue_failed |= queued;
	} else if (queued) {
		r->queue_count++;
		resp_put_simple(r, "QUEUED");
	} else if (r->command->end != NULL) {
		r->command->end(r);
	}
	if (r->refusal != NULL)
		resp_put_error(r, r->refusal);
	free(r->refusal);
	r->refusal = NULL;
	if (r->text.capacity > SMALL_BYTES)
		buffer_free(&r->text);
}

static void
take_event(struct resp *r, const struct resp_word *word)
{
	if (word->event == RESP_BROKEN || word->event == RESP_TOO_MANY) {
		resp_answer_earlier(r);
		if (word->event == RESP_BROKEN)
			resp_put_error(r, "ERR Protocol error: expected an"
			    " array of bulk strings");
		else
			resp_put_error(r, "ERR Protocol error: a request has at"
			    " most 1048576 words");
		client_end(r->client);
		return;
	}
	if (word->index == 0)
		begin_request(r, word);
	if (r->refusal == NULL && is_queued(r))
		queue_word(r, word);
	else if (r->refusal == NULL)
		take_word(r, word);
	if (word->index + 1 == word->count)
		end_request(r);
}

/* client->take: a word of the bytes that have arrived, or of the queue. */
static size_t
resp_take(struct client *client, const uint8_t *data, size_t nbytes, int *more)
{
	struct resp *r = client->resp;
	struct resp_word word;
	size_t used;

	if (!client->busy) {
		used = resp_next(&r->parser, longest(r), data, nbytes, &word);
		*more = word.event == RESP_MORE;
		if (!*more)
			take_event(r, &word);
		return used;
	}
	/* the queue consists of whole requests */
	used = resp_next(&r->parser, longest(r), r->queue.data +
	    r->queue.start, buffer_bytes(&r->queue) - LOOPS_PADDING, &word);
	r->queue.start += used;
	take_event(r, &word);
	/* other clients wait no longer than for what is read from a socket */
	r->turn_bytes += used;
	if (r->turn_bytes >= TURN_BYTES) {
		r->turn_bytes = 0;
		client_pause(client);
	}
	if (buffer_bytes(&r->queue) == LOOPS_PADDING) {
		/* operations may point to it */
		resp_answer_earlier(r);
		free_queue(r);
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
session_multi(struct resp *r)
{
	if (r->queuing) {
		resp_refuse(r, "ERR MULTI calls can not be nested");
	} else {
		r->queuing = 1;
		resp_put_simple(r, "OK");
	}
}

static void
session_discard(struct resp *r)
{
	if (r->queuing)
		resp_put_simple(r, "OK");
	else
		resp_refuse(r, "ERR DISCARD without MULTI");
	free_queue(r);
}

static void
session_exec(struct resp *r)
{
	static const char padding[LOOPS_PADDING];

	if (!r->queuing) {
		resp_refuse(r, "ERR EXEC without MULTI");
	} else if (r->queue_failed) {
		resp_refuse(r, "EXECABORT Transaction discarded because"
		    " of previous errors.");
	} else {
		resp_put_array(r, r->queue_count);
		r->queuing = 0;
		r->client->busy = r->queue_count > 0;
		buffer_put(&r->queue, padding, sizeof padding);
	}
	if (!r->client->busy)
		free_queue(r);
}

const struct resp_command resp_session_commands[] = {
	{ .name = "multi", .at_once = 1, .least = 1, .most = 1, .end =
	    session_multi },
	{ .name = "exec", .at_once = 1, .least = 1, .most = 1, .end =
	    session_exec },
	{ .name = "discard", .at_once = 1, .least = 1, .most = 1,
	    .end = session_discard },
	{ .name = NULL }
};
