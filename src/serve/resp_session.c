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

/* The bytes of a queue, in the longest values. */
#define QUEUE_VALUES 8
/* A buffer for kept words that is no larger is kept for the next request. */
#define SMALL_BYTES ((size_t)1 << 10)

static void
free_queue(struct resp *r)
{
	buffer_free(&r->queue);
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
	    QUEUE_VALUES * longest(r)) {
		resp_refuse(r, "ERR the requests after MULTI are too long"
		    " together (--max-value)");
		return;
	}
	if (word->index == 0)
		buffer_format(&r->queue, "*%" PRIu32 "\r\n", word->count);
	buffer_format(&r->queue, "$%zu\r\n", word->bytes.nbytes);
	buffer_put(&r->queue, word->bytes.data, word->bytes.nbytes);
	buffer_put(&r->queue, "\r\n", 2);
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

	/* or else operations of the sweep reply */
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
	if (word->event == RESP_BROKEN) {
		resp_answer_earlier(r);
		resp_put_error(r, "ERR Protocol error: expected an"
		    " array of bulk strings");
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
take(struct client *client, const uint8_t *data, size_t nbytes, int *more)
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
	r->queue.start += resp_next(&r->parser, longest(r), r->queue.data +
	    r->queue.start, buffer_bytes(&r->queue) - LOOPS_PADDING, &word);
	take_event(r, &word);
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
	client->take = take;
	client->answer = resp_answer;
}

static void
multi(struct resp *r)
{
	if (r->queuing) {
		resp_refuse(r, "ERR MULTI calls can not be nested");
	} else {
		r->queuing = 1;
		resp_put_simple(r, "OK");
	}
}

static void
discard(struct resp *r)
{
	if (r->queuing)
		resp_put_simple(r, "OK");
	else
		resp_refuse(r, "ERR DISCARD without MULTI");
	free_queue(r);
}

static void
exec(struct resp *r)
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
	{ .name = "multi", .at_once = 1, .least = 1, .most = 1, .end = multi },
	{ .name = "exec", .at_once = 1, .least = 1, .most = 1, .end = exec },
	{ .name = "discard", .at_once = 1, .least = 1, .most = 1,
	    .end = discard },
	{ .name = NULL }
};
