#include "redis/node.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/signals.h"
#include "redis/connect.h"

/* After so long without a word from the server, its connection is checked. */
#define REST CLOCK_SECOND
/* hiredis moves what it could not send, so it gets only so much at a time. */
#define HAND_OVER_BYTES (64u << 10)

static const char asking[] = "*1\r\n$6\r\nASKING\r\n";
static const char ping[] = "*1\r\n$4\r\nPING\r\n";

/* The connection */

int
node_open(struct node *node, uint64_t patience, struct error *error)
{
	redisContext *context = connect_to(node->location, node->host,
	    node->port, patience, error);

	if (context == NULL)
		return -1;
	/* don't reallocate the buffer for each reply */
	context->reader->maxbuf = 0;
	node->context = context;
	node->state = NODE_OPEN;
	node->handed_over = 0;
	node->answered = 0;
	node->heard = clock_now();
	return 0;
}

/* The queue */

void
queue_append(struct queue *queue, struct net_request *request)
{
	request->next = NULL;
	if (queue->first == NULL)
		queue->first = request;
	else
		queue->last->next = request;
	queue->last = request;
}

void
request_free(struct net_request *request)
{
	sdsfree(request->bytes);
	free(request);
}

void
queue_free(struct net_request *request)
{
	while (request != NULL) {
		struct net_request *next = request->next;

		request_free(request);
		request = next;
	}
}

void
node_disconnect(struct node *node)
{
	if (node->context != NULL)
		redisFree(node->context);
	node->context = NULL;
	node->received = 0;
	node->state = NODE_CLOSED;
	node->queued = node->kept = node->queue.first;
}

struct net_request *
node_close(struct node *node)
{
	struct net_request *first = node->queue.first;

	node->queue.first = NULL;
	node->window = NODE_LEAST_WINDOW;
	node_disconnect(node);
	return first;
}

void
node_append(struct node *node, struct net_request *request)
{
	queue_append(&node->queue, request);
	if (node->queued == NULL)
		node->queued = request;
	if (node->kept == NULL)
		node->kept = request;
}

struct net_request *
node_take(struct node *node)
{
	struct net_request *request = node->queue.first;

	node->queue.first = request->next;
	if (node->window < NODE_WINDOW)
		node->window += request->end - node->answered;
	node->answered = request->end;
	return request;
}

/* May another request be handed over? */
static int
has_next(const struct node *node)
{
	return node->kept != NULL &&
	    node->handed_over - node->answered < node->window;
}

int
node_has_output(const struct node *node)
{
	switch (node->state) {
	case NODE_CLOSED:
		return node->queued != NULL;
	case NODE_CHECKING:
		return sdslen(node->context->obuf) > 0;
	case NODE_OPEN:
		break;
	}
	return sdslen(node->context->obuf) > 0 || has_next(node);
}

int
node_is_waiting(const struct node *node)
{
	return node->queue.first != node->queued;
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

/* Is one of the requests that are sent next a claim? */
static int
has_claims(const struct node *node)
{
	const struct net_request *request = node->kept;

	while (request != NULL && request->care != CARE_CLAIM)
		request = request->next;
	return request != NULL;
}

/*
 * Nothing is waited for. Has the server closed the connection, or said what
 * nobody asked for? If it is only silent, a router on the way may have
 * forgotten the connection: before claims, the server is asked for a sign.
 */
static int
check(struct node *node, struct error *error)
{
	uint64_t rested = clock_now() - node->heard;
	redisReply *reply;

	if (node_receive(node, error) < 0 ||
	    node_reply(node, &reply, error) < 0)
		return -1;
	if (reply != NULL)
		return node_refuse(node, reply, error);
	if (rested >= REST && has_claims(node)) {
		hand_over_bytes(node, ping, sizeof ping - 1);
		node->state = NODE_CHECKING;
	}
	return 0;
}

/* Fill hiredis' buffer, which is empty, with requests. */
static void
hand_over(struct node *node)
{
	while (has_next(node) &&
	    sdslen(node->context->obuf) < HAND_OVER_BYTES) {
		struct net_request *request = node->kept;

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
	struct net_request *request = node->queued;

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
	if (sdslen(context->obuf) == 0 && node->state == NODE_OPEN) {
		if (!node_is_waiting(node) && check(node, error) < 0)
			return -1;
		if (node->state == NODE_OPEN)
			hand_over(node);
	}
	before = sdslen(context->obuf);
	signals_in_socket = 1;
	result = redisBufferWrite(context, &done);
	signals_in_socket = 0;
	note_sent(node);
	if (result != REDIS_OK)
		return connect_lost(node->location, context, error);
	return sdslen(context->obuf) < before;
}

int
node_refuse(const struct node *node, redisReply *reply, struct error *error)
{
	const char *text = "";

	if (reply->type == REDIS_REPLY_ERROR)
		text = reply->str;
	error_set(error, STATUS_FAILED, "%s: the server sent an unexpected"
	    " reply%s%s", node->location->shown, *text != '\0' ? ": " : "",
	    text);
	freeReplyObject(reply);
	return -1;
}

int
node_receive(struct node *node, struct error *error)
{
	redisContext *context = node->context;
	int result;

	signals_in_socket = 1;
	/* It has room for a whole record of TLS: OpenSSL keeps no rest. */
	result = connect_read(context, &node->received);
	signals_in_socket = 0;
	node->heard = clock_now();
	if (result != REDIS_OK)
		return connect_lost(node->location, context, error);
	return 0;
}

int
node_reply(struct node *node, redisReply **reply, struct error *error)
{
	void *got = NULL;

	if (redisGetReplyFromReader(node->context, &got) != REDIS_OK)
		return connect_lost(node->location, node->context, error);
	if (got != NULL)
		node->received = 0;
	else if (node->received > CONNECT_ANSWER_MAX)
		return connect_too_long(node->location, error);
	/* To PING, any reply will do, even that it isn't allowed. */
	if (got != NULL && node->state == NODE_CHECKING) {
		freeReplyObject(got);
		node->state = NODE_OPEN;
		return node_reply(node, reply, error);
	}
	*reply = got;
	return 0;
}
