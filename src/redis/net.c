/*
 * Each node has a queue of requests in the order in which they go out and are
 * answered. Requests to be made again wait in a list of their own, and are
 * routed again when the pause is over.
 */
#include "redis/net.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/signals.h"
#include "redis/cluster.h"
#include "redis/connection.h"
#include "redis/nodes.h"
#include "redis/retry.h"

/* Bytes of requests in flight at a time. */
#define IN_FLIGHT_BYTES (4u << 20)
/* So many bytes of requests are sent without waiting for more. */
#define SEND_BYTES (64u << 10)
/* How long a server may be silent until its connection counts as lost. */
#define PATIENCE (15 * CLOCK_SECOND)

struct net {
	struct nodes nodes;
	struct request *again, **again_last; /* to be made again */
	struct request *making;              /* between begin and end */
	struct retry retry;
	size_t in_flight, unanswered;        /* bytes, requests */
	size_t unsent;                       /* bytes that may wait a bit */
	struct net_figures figures;
};

/* Trying again */

static void
queue_again(struct net *x, struct request *request, int node)
{
	request_reset(request);
	request->node = node;
	*x->again_last = request;
	x->again_last = &request->next;
	x->figures.repeats++;
}

/* Pause before the next try, or fail if it has been tried for long enough. */
static int
fail_or_pause(struct net *x, const struct error *reason, struct error *error)
{
	x->retry.cluster = x->nodes.cluster;
	return retry_pause(&x->retry, reason, error);
}

static int
answer(struct net *x, struct request *request, redisReply *reply,
    struct error *error)
{
	int result = request->answer(request->context, request->tag,
	    request->lost ? NULL : reply, error);

	x->in_flight -= request->nbytes;
	x->unanswered--;
	request_free(request);
	return result;
}

/* A connection was lost: unanswered requests are made again. */
static int
drop_connection(struct net *x, struct node *node, const struct error *reason,
    struct error *error)
{
	struct request *request = node_take_all(node), *next;

	connection_close(node->connection);
	node->connection = NULL;
	x->nodes.stale = x->nodes.cluster;
	for (; request != NULL; request = next) {
		next = request->next;
		/* It may have been done: then its next answer is no answer. */
		request->lost |= request->flags & REQUEST_ONCE &&
		    request->sent > 0;
		queue_again(x, request, -1);
	}
	return fail_or_pause(x, reason, error);
}

/* Sending */

static int
connect_node(struct net *x, struct node *node, struct error *error)
{
	struct error reason;

	if (node->connection != NULL)
		return 0;
	if (connection_open(&node->connection, x->nodes.location, node->host,
	    node->port, &reason) < 0)
		return drop_connection(x, node, &reason, error);
	node->heard = clock_now();
	node->used = 1;
	return 0;
}

static int
send_node(struct net *x, struct node *node, struct error *error)
{
	while (node->unsent != NULL) {
		struct error reason;
		size_t sent;

		if (connect_node(x, node, error) < 0)
			return -1;
		if (node->connection == NULL)
			return 0;
		if (node_send(node, &sent, &reason) < 0)
			return drop_connection(x, node, &reason, error);
		if (sent == 0)
			return 0;
		x->figures.bytes_sent += sent;
	}
	return 0;
}

/* Receiving */

/* Handle an error reply to a request, which is in no queue any more. */
static int
handle_error(struct net *x, size_t node, struct request *request,
    redisReply *reply, struct error *error)
{
	struct cluster_address address;
	enum cluster_advice advice = cluster_advice(reply->str, &address);
	const char *host;
	struct error reason;

	if (advice == CLUSTER_FAIL && (request->flags & REQUEST_ERRORS))
		return answer(x, request, reply, error);
	if (advice == CLUSTER_ASK) {
		host = address.host[0] != '\0' ? address.host :
		    x->nodes.list[node].host;
		queue_again(x, request, (int)nodes_find(&x->nodes, host,
		    address.port));
		return 0;
	}
	error_set(&reason, strncmp(reply->str, "OOM", 3) == 0 ? STATUS_FULL :
	    STATUS_FAILED, "%s: the server says: %s",
	    x->nodes.location->shown, reply->str);
	queue_again(x, request, -1);
	if (advice == CLUSTER_FAIL) {
		*error = reason;
		return -1;
	}
	x->nodes.stale = x->nodes.cluster || advice == CLUSTER_MOVED;
	return fail_or_pause(x, &reason, error);
}

static int
take_reply(struct net *x, size_t i, redisReply *reply,
    struct error *error)
{
	struct request *request = x->nodes.list[i].first;

	if (request->node >= 0 && !request->asked) {
		request->asked = 1;
		return 0;
	}
	node_shift(&x->nodes.list[i]);
	if (reply->type == REDIS_REPLY_ERROR)
		return handle_error(x, i, request, reply, error);
	retry_succeeded(&x->retry);
	return answer(x, request, reply, error);
}

static int
receive_node(struct net *x, size_t i, struct error *error)
{
	struct connection *connection = x->nodes.list[i].connection;
	struct error reason;
	size_t received;
	int result = 0;

	if (connection_receive(connection, &received, &reason) < 0)
		return drop_connection(x, &x->nodes.list[i], &reason, error);
	x->figures.bytes_received += received;
	x->nodes.list[i].heard = clock_now();
	while (result == 0) {
		const struct request *first = x->nodes.list[i].first;
		redisReply *reply;

		if (connection_reply(connection, &reply, &reason) < 0)
			return drop_connection(x, &x->nodes.list[i], &reason,
			    error);
		if (reply == NULL)
			return 0;
		/* Only ASKING is answered before all of a request is sent. */
		if (first == NULL || first->sent == 0 ||
		    (first == x->nodes.list[i].unsent &&
		    (first->node < 0 || first->asked))) {
			freeReplyObject(reply);
			error_set(&reason, STATUS_FAILED, "%s: the server"
			    " sent an unexpected reply",
			    x->nodes.location->shown);
			return drop_connection(x, &x->nodes.list[i], &reason,
			    error);
		}
		result = take_reply(x, i, reply, error);
		freeReplyObject(reply);
	}
	return result;
}

/* After a failure */

static void
abandon(const struct request *request)
{
	struct error unused;

	for (; request != NULL; request = request->next) {
		if ((request->flags & REQUEST_ONCE) &&
		    (request->lost || request->sent > 0))
			(void)request->answer(request->context, request->tag,
			    NULL, &unused);
	}
}

void
net_abandon(struct net *x)
{
	abandon(x->again);
	for (size_t i = 0; i < x->nodes.count; i++)
		abandon(x->nodes.list[i].first);
}

/* The loop */

static int
route_again(struct net *x, struct error *error)
{
	struct request *request = x->again, *next;
	struct error reason;

	if (request == NULL || clock_now() < x->retry.next)
		return 0;
	if (x->nodes.stale && nodes_load_map(&x->nodes, &reason) < 0)
		return fail_or_pause(x, &reason, error);
	x->again = NULL;
	x->again_last = &x->again;
	for (; request != NULL; request = next) {
		next = request->next;
		node_append(request->node >= 0 ?
		    &x->nodes.list[request->node] :
		    nodes_of_slot(&x->nodes, request->slot), request);
	}
	return 0;
}

static int
send_all(struct net *x, struct error *error)
{
	if (route_again(x, error) < 0)
		return -1;
	for (size_t i = 0; i < x->nodes.count; i++) {
		if (send_node(x, &x->nodes.list[i], error) < 0)
			return -1;
	}
	return 0;
}

/* How long poll may wait, in milliseconds. */
static int
poll_timeout(const struct net *x)
{
	uint64_t now = clock_now();

	if (x->again == NULL)
		return 1000;
	return x->retry.next <= now ? 0 :
	    (int)((x->retry.next - now) / CLOCK_MILLISECOND) + 1;
}

static int
check_patience(struct net *x, size_t i, struct error *error)
{
	struct error reason;

	if (clock_now() - x->nodes.list[i].heard < PATIENCE)
		return 0;
	error_set(&reason, STATUS_FAILED, "%s: the server doesn't answer",
	    x->nodes.location->shown);
	return drop_connection(x, &x->nodes.list[i], &reason, error);
}

/* Wait for something to happen, and deal with it. */
static int
turn(struct net *x, struct error *error)
{
	size_t count = x->nodes.count, n = 0, at[64];
	struct pollfd polls[64];

	for (size_t i = 0; i < count && n < 64; i++) {
		const struct node *node = &x->nodes.list[i];

		if (node->connection == NULL || node->first == NULL)
			continue;
		at[n] = i;
		polls[n++] = (struct pollfd){ connection_fd(node->connection),
			(short)(POLLIN | (node->unsent != NULL ? POLLOUT : 0)),
			0 };
	}
	if (poll(polls, (nfds_t)n, poll_timeout(x)) < 0 && errno != EINTR)
		return error_system(error, errno, "poll");
	for (size_t i = 0; i < n; i++) {
		if (polls[i].revents & (POLLIN | POLLHUP | POLLERR)) {
			if (receive_node(x, at[i], error) < 0)
				return -1;
		} else if (x->nodes.list[at[i]].connection != NULL &&
		    check_patience(x, at[i], error) < 0) {
			return -1;
		}
	}
	return signals_stop && x->again != NULL ?
	    fail_or_pause(x, &x->retry.reason, error) : 0;
}

/* Go on until at most `bytes` are in flight. */
static int
go_on(struct net *x, size_t bytes, struct error *error)
{
	while (x->in_flight > bytes) {
		if (send_all(x, error) < 0 ||
		    (x->unanswered > 0 && turn(x, error) < 0))
			return -1;
	}
	return 0;
}

int
net_finish(struct net *x, struct error *error)
{
	x->figures.round_trips += x->unanswered > 0;
	return go_on(x, 0, error);
}

int
net_flush(struct net *x, struct error *error)
{
	x->unsent = 0;
	return send_all(x, error);
}

int
net_is_busy(const struct net *x)
{
	return x->unanswered > 0;
}

const struct net_figures *
net_figures(const struct net *x)
{
	return &x->figures;
}

/* Making requests */

void
net_begin(struct net *x, unsigned slot, unsigned flags, redis_answer *function,
    void *context, size_t tag, size_t words)
{
	x->making = request_new(slot, flags, function, context, tag);
	request_words(x->making, words);
}

void
net_word(struct net *x, const void *data, size_t nbytes)
{
	request_word(x->making, data, nbytes);
}

void
net_text(struct net *x, const char *word)
{
	net_word(x, word, strlen(word));
}

void
net_number(struct net *x, int64_t number)
{
	char text[24];

	net_word(x, text, (size_t)snprintf(text, sizeof text, "%lld",
	    (long long)number));
}

int
net_end(struct net *x, struct error *error)
{
	struct request *request = x->making;

	x->making = NULL;
	x->in_flight += request->nbytes;
	x->unanswered++;
	/* It must not overtake one that is made again. */
	if (x->again != NULL) {
		*x->again_last = request;
		x->again_last = &request->next;
	} else {
		node_append(nodes_of_slot(&x->nodes, request->slot), request);
	}
	x->unsent += request->nbytes;
	if (x->unsent >= SEND_BYTES && net_flush(x, error) < 0)
		return -1;
	return go_on(x, IN_FLIGHT_BYTES, error);
}

/* Keep the reply for the caller. */
static int
keep_reply(void *context, size_t tag, redisReply *reply,
    struct error *error)
{
	redisReply *copy = context;

	(void)tag;
	(void)error;
	*copy = *reply;
	/* Leave a reply that has nothing to free. */
	*reply = (redisReply){ .type = REDIS_REPLY_NIL };
	return 0;
}

redisReply *
net_call(struct net *x, const char *key, unsigned flags, struct error *error,
    const char *format, ...)
{
	redisReply *reply = memory_or_die(calloc(1, sizeof *reply));
	unsigned slot = cluster_slot(key, strlen(key));
	va_list args;
	char *bytes;
	int n;

	reply->type = REDIS_REPLY_NIL;
	va_start(args, format);
	n = redisvFormatCommand(&bytes, format, args);
	va_end(args);
	if (n < 0)
		memory_or_die(NULL);
	x->making = request_new(slot, flags, keep_reply, reply, 0);
	request_formatted(x->making, bytes, (size_t)n);
	redisFreeCommand(bytes);
	if (net_end(x, error) == 0 && net_finish(x, error) == 0)
		return reply;
	freeReplyObject(reply);
	return NULL;
}

/* Opening and closing */

static int
find_nodes(struct net *x, int patient, struct error *error)
{
	struct error reason;

	while (nodes_load_map(&x->nodes, &reason) < 0) {
		uint64_t now = clock_now();

		if (!patient && reason.errnum != EAGAIN) {
			*error = reason;
			error->status = STATUS_FAILED;
			return -1;
		}
		if (fail_or_pause(x, &reason, error) < 0)
			return -1;
		poll(NULL, 0, (int)((x->retry.next - now) /
		    CLOCK_MILLISECOND));
	}
	retry_succeeded(&x->retry);
	return 0;
}

int
net_open(struct net **result, const struct address *location,
    uint64_t retry_ms, int patient, void (*notice)(const char *text),
    struct error *error)
{
	struct net *x = memory_or_die(calloc(1, sizeof *x));

	x->nodes.location = location;
	x->retry = (struct retry){ .limit_ms = retry_ms, .notice = notice };
	x->again_last = &x->again;
	nodes_find(&x->nodes, location->host, location->port);
	if (find_nodes(x, patient, error) < 0) {
		net_close(x);
		return -1;
	}
	*result = x;
	return 0;
}

static void
free_queue(struct request *request)
{
	while (request != NULL) {
		struct request *next = request->next;

		request_free(request);
		request = next;
	}
}

void
net_close(struct net *x)
{
	if (x == NULL)
		return;
	free_queue(x->again);
	for (size_t i = 0; i < x->nodes.count; i++)
		free_queue(node_take_all(&x->nodes.list[i]));
	nodes_free(&x->nodes);
	free(x);
}
