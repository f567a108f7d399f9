#include "redis/node.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/signals.h"
#ifdef WITH_TLS
#include "redis/tls.h"
#endif

#define CONNECT_SECONDS 5
/* hiredis moves what it could not send, so it gets only so much at a time. */
#define HAND_OVER_BYTES (64u << 10)

static const char asking[] = "*1\r\n$6\r\nASKING\r\n";

/* Connecting */

static int
lost(const struct node *node, const redisContext *context,
    struct error *error)
{
	const char *why = context->errstr;

	if (context->err == REDIS_ERR_EOF)
		why = "the server closed the connection";
	return error_set(error, STATUS_FAILED, "%s: %s",
	    node->location->shown, why);
}

redisReply *
node_ask(const struct node *node, redisContext *context, const char **words,
    int n, struct error *error)
{
	redisReply *reply;

	signals_in_socket = 1;
	reply = redisCommandArgv(context, n, words, NULL);
	signals_in_socket = 0;
	if (reply == NULL)
		lost(node, context, error);
	return reply;
}

redisContext *
node_connect(const struct node *node, struct error *error)
{
	const struct timeval patience = { CONNECT_SECONDS, 0 };
	const struct address *l = node->location;
	const char *words[3] = { "AUTH" };
	redisContext *context = memory_or_die(node->host != NULL ?
	    redisConnectWithTimeout(node->host, node->port, patience) :
	    redisConnectUnixWithTimeout(l->path, patience));
	redisReply *reply;
	int n = 1, result = 0;

	if (context->err != 0 ||
	    redisSetTimeout(context, patience) != REDIS_OK)
		result = lost(node, context, error);
#ifdef WITH_TLS
	if (result == 0 && l->tls)
		result = tls_start(context, l, node->host, error);
#endif
	if (result == 0 && l->password != NULL) {
		if (l->user != NULL)
			words[n++] = l->user;
		words[n++] = l->password;
		reply = node_ask(node, context, words, n, error);
		if (reply == NULL)
			result = -1;
		else if (reply->type == REDIS_REPLY_ERROR)
			/* behind a comma, it may repeat user and password */
			result = error_set(error, STATUS_USAGE, "%s: the"
			    " server refuses the password: %.*s", l->shown,
			    (int)strcspn(reply->str, ","), reply->str);
		freeReplyObject(reply);
	}
	if (result == 0)
		return context;
	redisFree(context);
	return NULL;
}

int
node_open(struct node *node, struct error *error)
{
	redisContext *context = node_connect(node, error);

	if (context == NULL)
		return -1;
	/* From now on nothing waits: hiredis goes by its flag, OpenSSL by the
	   socket. */
	context->flags &= ~REDIS_BLOCK;
	(void)fcntl(context->fd, F_SETFL, O_NONBLOCK);
	/* don't reallocate the buffer for each reply */
	context->reader->maxbuf = 0;
	node->context = context;
	node->handed_over = 0;
	node->heard = clock_now();
	return 0;
}

/* The queue */

void
queue_append(struct queue *queue, struct request *request)
{
	request->next = NULL;
	if (queue->first == NULL)
		queue->first = request;
	else
		queue->last->next = request;
	queue->last = request;
}

void
request_free(struct request *request)
{
	sdsfree(request->bytes);
	free(request);
}

void
queue_free(struct request *request)
{
	while (request != NULL) {
		struct request *next = request->next;

		request_free(request);
		request = next;
	}
}

struct request *
node_close(struct node *node)
{
	struct request *first = node->queue.first;

	if (node->context != NULL)
		redisFree(node->context);
	node->context = NULL;
	node->queue.first = node->queued = node->kept = NULL;
	return first;
}

void
node_append(struct node *node, struct request *request)
{
	queue_append(&node->queue, request);
	if (node->queued == NULL)
		node->queued = request;
	if (node->kept == NULL)
		node->kept = request;
}

int
node_has_output(const struct node *node)
{
	return node->queued != NULL;
}

/* Sending and receiving */

static void
hand_over_bytes(struct node *node, const char *bytes, size_t nbytes)
{
	if (redisAppendFormattedCommand(node->context, bytes, nbytes) !=
	    REDIS_OK)
		memory_or_die(NULL);
	node->handed_over += nbytes;
}

/* Fill hiredis' buffer, which is empty, with requests. */
static void
hand_over(struct node *node)
{
	if (node->kept == node->queue.first)
		node->heard = clock_now();
	while (node->kept != NULL &&
	    sdslen(node->context->obuf) < HAND_OVER_BYTES) {
		struct request *request = node->kept;

		if (request->node != NULL)
			hand_over_bytes(node, asking, sizeof asking - 1);
		hand_over_bytes(node, request->bytes, sdslen(request->bytes));
		request->end = node->handed_over;
		node->kept = request->next;
	}
}

/* What hiredis no longer has in its buffer is sent. */
static void
note_sent(struct node *node)
{
	uint64_t sent = node->handed_over - sdslen(node->context->obuf);
	struct request *request = node->queued;

	for (; request != node->kept && request->end <= sent;
	    request = request->next) {
		if (request->node != NULL)
			request->state = REQUEST_ASKING;
		else
			request->state = REQUEST_SENT;
	}
	node->queued = request;
}

int
node_send(struct node *node, struct error *error)
{
	redisContext *context = node->context;
	size_t before;
	int done, result;

	/* OpenSSL wants a write that it could not complete to be repeated with
	 * the same bytes: more are handed over when hiredis has sent all. */
	if (sdslen(context->obuf) == 0)
		hand_over(node);
	before = sdslen(context->obuf);
	signals_in_socket = 1;
	result = redisBufferWrite(context, &done);
	signals_in_socket = 0;
	note_sent(node);
	if (result != REDIS_OK)
		return lost(node, context, error);
	return sdslen(context->obuf) < before;
}

int
node_receive(struct node *node, struct error *error)
{
	redisContext *context = node->context;
	int result;

	signals_in_socket = 1;
	/* It has room for a whole record of TLS: OpenSSL keeps no rest. */
	result = redisBufferRead(context);
	signals_in_socket = 0;
	node->heard = clock_now();
	if (result != REDIS_OK)
		return lost(node, context, error);
	return 0;
}

int
node_reply(struct node *node, redisReply **reply, struct error *error)
{
	void *got = NULL;

	if (redisGetReplyFromReader(node->context, &got) != REDIS_OK)
		return lost(node, node->context, error);
	*reply = got;
	return 0;
}
