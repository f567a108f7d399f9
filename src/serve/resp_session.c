/*
 * The words of a request that commands keep are copied, so a request may be
 * spread over any number of buffers; items are not. What comes between MULTI
 * and EXEC is copied to a queue, as it is, and parsed again when it is carried
 * out, like bytes that have just arrived.
 */
#include "serve/resp_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bits/loops.h"
#include "serve/resp.h"
#include "serve/resp_command.h"

/* The bytes of a queue, in the longest values. */
#define QUEUE_VALUES 8
/* A buffer for kept words that is no larger is kept for the next request. */
#define SMALL_BYTES ((size_t)1 << 10)

struct resp_session {
	struct resp_request request;
	struct resp_parser parser;
	size_t longest;       /* word */
	/* MULTI: */
	int queuing;          /* requests are queued, not carried out */
	int queue_failed;     /* one of them was refused */
	uint32_t queue_count; /* requests */
	uint8_t *queue;
	size_t queue_bytes, queue_capacity;
	/* EXEC: */
	int replaying;
	size_t replayed;      /* bytes */
};

struct resp_session *
resp_session_new(struct service *service, struct sweep *sweep,
    struct asker *asker, int local)
{
	struct resp_session *s = memory_or_die(calloc(1, sizeof *s));

	s->request = (struct resp_request){ .service = service, .sweep = sweep,
		.asker = asker, .local = local,
		.id = service->counters.total_connections };
	s->longest = (size_t)service->plan->value_bytes;
	asker->answer = resp_answer;
	return s;
}

static void
free_queue(struct resp_session *s)
{
	free(s->queue);
	s->queue = NULL;
	s->queue_bytes = s->queue_capacity = 0;
	s->queue_count = 0;
	s->queuing = s->queue_failed = s->replaying = 0;
}

void
resp_session_free(struct resp_session *s)
{
	if (s == NULL)
		return;
	free_queue(s);
	free(s->request.refusal);
	free(s->request.text);
	free(s->request.name);
	free(s);
}

void
resp_session_resume(struct resp_session *s)
{
	s->request.served = NULL;
}

int
resp_session_is_busy(const struct resp_session *s)
{
	return s->replaying;
}

static void
keep_word(struct resp_session *s, struct bytes word)
{
	struct resp_request *r = &s->request;
	size_t limit = s->longest + (size_t)r->service->plan->key_bytes;

	if (r->kept == RESP_KEPT_MAX)
		return;
	if (r->text_bytes + word.nbytes > limit) {
		resp_refuse(r, "ERR the arguments are too long together");
		return;
	}
	if (r->text_capacity < r->text_bytes + word.nbytes + 1) {
		r->text_capacity = 2 * (r->text_bytes + word.nbytes) + 64;
		r->text = memory_or_die(realloc(r->text, r->text_capacity));
	}
	memcpy(r->text + r->text_bytes, word.data, word.nbytes);
	r->text_bytes += word.nbytes;
	r->ends[r->kept++] = r->text_bytes;
	r->text[r->text_bytes++] = '\0';
}

static void
append(struct resp_session *s, const void *data, size_t nbytes)
{
	if (s->queue_capacity < s->queue_bytes + nbytes + LOOPS_PADDING) {
		s->queue_capacity = 2 * (s->queue_bytes + nbytes) +
		    LOOPS_PADDING;
		s->queue = memory_or_die(realloc(s->queue,
		    s->queue_capacity));
	}
	memcpy(s->queue + s->queue_bytes, data, nbytes);
	s->queue_bytes += nbytes;
}

static void
append_head(struct resp_session *s, char kind, size_t number)
{
	char head[32];
	int n = snprintf(head, sizeof head, "%c%zu\r\n", kind, number);

	append(s, head, (size_t)n);
}

/* Is this request queued, rather than carried out? */
static int
is_queued(const struct resp_session *s)
{
	const struct resp_command *command = s->request.command;

	return s->queuing && (command == NULL ||
	    command->role == RESP_ORDINARY);
}

static void
queue_word(struct resp_session *s, const struct resp_word *word)
{
	struct resp_request *r = &s->request;

	/* EXEC will carry out none */
	if (r->refusal != NULL || s->queue_failed)
		return;
	if (s->queue_bytes + word->bytes.nbytes >
	    QUEUE_VALUES * s->longest) {
		resp_refuse(r, "ERR the requests after MULTI are too long"
		    " together (--max-value)");
		return;
	}
	if (word->index == 0)
		append_head(s, '*', word->count);
	append_head(s, '$', word->bytes.nbytes);
	append(s, word->bytes.data, word->bytes.nbytes);
	append(s, "\r\n", 2);
}

static void
begin_request(struct resp_session *s, const struct resp_word *word)
{
	struct resp_request *r = &s->request;
	const struct resp_command *command = resp_command_find(word->bytes);

	r->command = command;
	r->count = word->count;
	r->items = 0;
	r->kept = 0;
	r->text_bytes = 0;
	r->served = NULL;
	r->missing = r->failed = 0;
	r->sum = 0;
	if (command != NULL && (word->count < command->least ||
	    (command->most > 0 && word->count > command->most)))
		resp_refuse(r, "ERR wrong number of arguments for '%s'"
		    " command", command->name);
}

/* Is the word to be kept, rather than an item? The last one kept is. */
static int
is_kept(const struct resp_request *r, uint32_t index)
{
	if (r->command == NULL)
		return 1;
	if (r->command->until != NULL)
		return r->kept < 3 || !resp_is(r, r->kept - 1,
		    r->command->until);
	return r->command->kept == 0 || index < r->command->kept;
}

/* Have all words to be kept been kept? */
static int
is_ready(const struct resp_request *r, uint32_t index)
{
	return r->items == 0 && (index + 1 == r->count ||
	    !is_kept(r, index + 1));
}

static void
take_word(struct resp_session *s, const struct resp_word *word)
{
	struct resp_request *r = &s->request;
	const struct resp_command *command = r->command;

	if (r->refusal != NULL)
		return;
	if (is_kept(r, word->index)) {
		if (word->event == RESP_LONG)
			resp_refuse(r, "ERR an argument is too long");
		else
			keep_word(s, word->bytes);
		if (r->refusal == NULL && command != NULL &&
		    command->begin != NULL && is_ready(r, word->index))
			command->begin(r);
	} else {
		/* an item that is too long has no bytes */
		command->item(r, word->event == RESP_LONG ?
		    (struct bytes){ NULL, 0 } : word->bytes);
		r->items++;
	}
}

/* As Redis says it, with some of the words. */
static void
refuse_unknown(struct resp_request *r)
{
	char text[256] = "";
	size_t n = 0;

	for (unsigned i = 1; i < r->kept && n < 128; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "'%.*s' ",
		    (int)(128 - n), resp_string(r, i));
	resp_refuse(r, "ERR unknown command '%.128s', with args beginning"
	    " with: %s", resp_string(r, 0), text);
}

static void
begin_multi(struct resp_session *s)
{
	if (s->queuing) {
		resp_refuse(&s->request, "ERR MULTI calls can not be nested");
	} else {
		s->queuing = 1;
		resp_put_simple(s->request.asker, "OK");
	}
}

/* EXEC and DISCARD. */
static void
end_multi(struct resp_session *s, int exec)
{
	struct resp_request *r = &s->request;

	if (!s->queuing) {
		resp_refuse(r, exec ? "ERR EXEC without MULTI" :
		    "ERR DISCARD without MULTI");
	} else if (exec && s->queue_failed) {
		resp_refuse(r, "EXECABORT Transaction discarded because"
		    " of previous errors.");
	} else if (!exec) {
		resp_put_simple(r->asker, "OK");
	} else {
		resp_put_array(r->asker, s->queue_count);
		s->queuing = 0;
		s->replaying = s->queue_count > 0;
		s->replayed = 0;
	}
	if (!s->replaying)
		free_queue(s);
}

static void
end_queued(struct resp_session *s)
{
	s->queue_failed |= s->request.refusal != NULL;
	if (s->request.refusal == NULL) {
		s->queue_count++;
		resp_put_simple(s->request.asker, "QUEUED");
	}
}

/* Write the reply, unless operations of the sweep do. */
static void
reply(struct resp_session *s)
{
	struct resp_request *r = &s->request;
	const struct resp_command *command = r->command;
	int queued = is_queued(s);

	if (command == NULL && r->refusal == NULL)
		refuse_unknown(r);
	if (!queued && r->refusal == NULL && command->end == NULL &&
	    command->role == RESP_ORDINARY)
		return;
	resp_answer_earlier(r);
	if (queued)
		end_queued(s);
	else if (r->refusal == NULL && command->role == RESP_MULTI)
		begin_multi(s);
	else if (r->refusal == NULL && (command->role == RESP_EXEC ||
	    command->role == RESP_DISCARD))
		end_multi(s, command->role == RESP_EXEC);
	else if (r->refusal == NULL)
		command->end(r);
	if (r->refusal != NULL)
		resp_put_error(r->asker, r->refusal);
}

static void
end_request(struct resp_session *s)
{
	struct resp_request *r = &s->request;

	reply(s);
	free(r->refusal);
	r->refusal = NULL;
	if (r->text_capacity > SMALL_BYTES) {
		free(r->text);
		r->text = NULL;
		r->text_capacity = 0;
	}
}

static enum resp_progress
take(struct resp_session *s, const struct resp_word *word)
{
	struct resp_request *r = &s->request;
	char text[128];

	if (word->event == RESP_BROKEN) {
		resp_answer_earlier(r);
		snprintf(text, sizeof text, "ERR Protocol error: %s",
		    word->problem);
		resp_put_error(r->asker, text);
		return RESP_HANGS_UP;
	}
	if (word->index == 0)
		begin_request(s, word);
	if (!is_queued(s))
		take_word(s, word);
	else if (word->event == RESP_LONG)
		resp_refuse(r, "ERR an argument is too long");
	else if (r->command == NULL)
		take_word(s, word);
	else
		queue_word(s, word);
	if (word->index + 1 == word->count)
		end_request(s);
	if (r->hang_up)
		return RESP_HANGS_UP;
	if (!r->costly)
		return RESP_WENT_ON;
	r->costly = 0;
	return RESP_PAUSES;
}

/* The next word of the queue, which consists of whole requests. */
static enum resp_progress
replay(struct resp_session *s)
{
	struct resp_word word;
	enum resp_progress progress;

	s->replayed += resp_next(&s->parser, s->longest,
	    s->queue + s->replayed, s->queue_bytes - s->replayed, &word);
	progress = take(s, &word);
	if (s->replayed == s->queue_bytes) {
		/* operations may point to it */
		resp_answer_earlier(&s->request);
		free_queue(s);
	}
	return progress;
}

enum resp_progress
resp_session_take(struct resp_session *s, const uint8_t *data, size_t nbytes,
    size_t *used)
{
	struct resp_word word;

	*used = 0;
	if (s->replaying)
		return replay(s);
	*used = resp_next(&s->parser, s->longest, data, nbytes, &word);
	return word.event == RESP_MORE ? RESP_NEEDS_MORE : take(s, &word);
}
