/*
 * Each node has a queue of requests in the order in which they go out and are
 * answered. Requests to be retried wait in a list of their own, and are routed
 * again when the pause is over.
 */
#include "redis/exchange.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/signals.h"
#include "redis/cluster.h"
#include "redis/connection.h"

static const char *
name(const struct exchange *x)
{
	return x->nodes.location->shown;
}

/* Trying again */

static void
queue_again(struct exchange *x, struct request *request)
{
	request_reset(request);
	*x->again_last = request;
	x->again_last = &request->next;
}

/* Pause before the next try, or fail if it has been tried for long enough. */
static int
fail_or_pause(struct exchange *x, const struct error *reason,
    struct error *error)
{
	x->retry.cluster = x->nodes.cluster;
	return retry_pause(&x->retry, reason, error);
}

static void
forget(struct exchange *x, struct request *request)
{
	x->in_flight -= request->cost;
	x->unanswered--;
	request_free(request);
}

static int
answer(struct exchange *x, struct request *request,
    enum redis_outcome outcome, struct error *error)
{
	int result;

	x->answering++;
	result = request->answer(request->context, request->tag, outcome,
	    request->replies, outcome == REDIS_ANSWERED ? request->answered :
	    0, error);
	x->answering--;
	if (result == REDIS_AGAIN) {
		queue_again(x, request);
		return 0;
	}
	forget(x, request);
	return result;
}

/* A connection was lost: unanswered requests are made again. */
static int
drop_connection(struct exchange *x, struct node *node,
    const struct error *reason, struct error *error)
{
	struct request *request = node_take_all(node), *next;

	connection_close(node->connection);
	node->connection = NULL;
	x->losses++;
	x->nodes.stale = x->nodes.cluster;
	for (; request != NULL; request = next) {
		next = request->next;
		if (request->asking)
			request_ask_no_more(request);
		if (((request->flags & REQUEST_ONCE) && request->sent > 0) ||
		    (request->flags & REQUEST_WATCHED)) {
			if (answer(x, request, REDIS_LOST, error) < 0)
				return -1;
		} else {
			queue_again(x, request);
		}
	}
	return fail_or_pause(x, reason, error);
}

/* Sending */

static struct node *
node_of(struct exchange *x, const struct request *request)
{
	return request->node >= 0 ? &x->nodes.list[request->node] :
	    nodes_of_slot(&x->nodes, request->slot);
}

static int
connect_node(struct exchange *x, struct node *node, struct error *error)
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
send_node(struct exchange *x, struct node *node, struct error *error)
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
handle_error(struct exchange *x, size_t node, struct request *request,
    const char *text, struct error *error)
{
	struct cluster_address address;
	const char *host;
	struct error reason;
	enum cluster_advice advice = cluster_advice(text, &address);

	error_set(&reason, STATUS_FAILED, "%s: the server says: %s",
	    name(x), text);
	switch (advice) {
	case CLUSTER_FAIL:
		if (request->flags & REQUEST_ERRORS)
			return answer(x, request, REDIS_ANSWERED, error);
		forget(x, request);
		*error = reason;
		return -1;
	case CLUSTER_ASK:
	case CLUSTER_MIGRATING:
		if (request->flags & REQUEST_SEVERAL_KEYS)
			return answer(x, request, REDIS_MIGRATING, error);
		if (advice == CLUSTER_MIGRATING)
			break;
		host = address.host[0] != '\0' ? address.host :
		    x->nodes.list[node].host;
		request_ask(request, (int)nodes_find(&x->nodes, host,
		    address.port));
		queue_again(x, request);
		return 0;
	case CLUSTER_MOVED:
	case CLUSTER_WAIT:
		x->nodes.stale = x->nodes.cluster || advice == CLUSTER_MOVED;
		break;
	}
	if (request->flags & REQUEST_WATCHED)
		return answer(x, request, REDIS_ANSWERED, error);
	request_ask_no_more(request);
	queue_again(x, request);
	return fail_or_pause(x, &reason, error);
}

static int
take_reply(struct exchange *x, size_t i, redisReply *reply,
    struct error *error)
{
	struct node *node = &x->nodes.list[i];
	struct request *request = node->first;
	const char *text;

	if (!request_take(request, reply))
		return 0;
	node_shift(node);
	text = request_error(request);
	if (text != NULL)
		return handle_error(x, i, request, text, error);
	retry_succeeded(&x->retry);
	return answer(x, request, REDIS_ANSWERED, error);
}

static int
receive_node(struct exchange *x, size_t i, struct error *error)
{
	struct connection *connection = x->nodes.list[i].connection;
	struct error reason;
	size_t received;
	redisReply *reply;

	if (connection_receive(connection, &received, &reason) < 0)
		return drop_connection(x, &x->nodes.list[i], &reason, error);
	x->figures.bytes_received += received;
	x->nodes.list[i].heard = clock_now();
	for (;;) {
		if (connection_reply(connection, &reply, &reason) < 0)
			return drop_connection(x, &x->nodes.list[i], &reason,
			    error);
		if (reply == NULL)
			return 0;
		if (x->nodes.list[i].first == NULL ||
		    x->nodes.list[i].first->sent == 0) {
			freeReplyObject(reply);
			error_set(&reason, STATUS_FAILED, "%s: the server"
			    " sent an unexpected reply",
			    name(x));
			return drop_connection(x, &x->nodes.list[i], &reason,
			    error);
		}
		if (take_reply(x, i, reply, error) < 0)
			return -1;
	}
}

/* The loop */

static int
route_again(struct exchange *x, struct error *error)
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
		node_append(node_of(x, request), request);
	}
	return 0;
}

static int
send_all(struct exchange *x, struct error *error)
{
	for (size_t i = 0; i < x->nodes.count; i++) {
		if (send_node(x, &x->nodes.list[i], error) < 0)
			return -1;
	}
	return 0;
}

/* How long poll may wait, in milliseconds. */
static int
poll_timeout(const struct exchange *x)
{
	uint64_t now = clock_now();

	if (x->again == NULL)
		return 1000;
	return x->retry.next <= now ? 0 :
	    (int)((x->retry.next - now) / CLOCK_MILLISECOND) + 1;
}

static int
check_patience(struct exchange *x, size_t i, struct error *error)
{
	uint64_t patience = (uint64_t)connection_patience() *
	    CLOCK_MILLISECOND;
	struct error reason;

	if (clock_now() - x->nodes.list[i].heard < patience)
		return 0;
	error_set(&reason, STATUS_FAILED, "%s: the server doesn't answer",
	    name(x));
	return drop_connection(x, &x->nodes.list[i], &reason, error);
}

/* Wait for something to happen, and deal with it. */
static int
turn(struct exchange *x, struct error *error)
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

int
exchange_go_on(struct exchange *x, size_t bytes, size_t requests,
    struct error *error)
{
	if (x->answering)
		return 0;
	while (x->in_flight > bytes && x->unanswered > requests) {
		if (route_again(x, error) < 0 || send_all(x, error) < 0)
			return -1;
		if (x->unanswered > 0 && turn(x, error) < 0)
			return -1;
	}
	return 0;
}

int
exchange_flush(struct exchange *x, struct error *error)
{
	if (route_again(x, error) < 0)
		return -1;
	return send_all(x, error);
}

void
exchange_add(struct exchange *x, struct request *request)
{
	x->in_flight += request->cost;
	x->unanswered++;
	node_append(node_of(x, request), request);
}

/* Opening and closing */

int
exchange_open(struct exchange *x, const struct address *location,
    uint64_t retry_ms, void (*notice)(const char *text), struct error *error)
{
	struct error reason;

	*x = (struct exchange){ .nodes.location = location,
		.retry = { .limit_ms = retry_ms, .notice = notice } };
	x->again_last = &x->again;
	nodes_find(&x->nodes, location->host, location->port);
	while (nodes_load_map(&x->nodes, &reason) < 0) {
		uint64_t now = clock_now();

		/* A server not there at the start is the user's mistake. */
		if (strstr(reason.text, "LOADING") == NULL) {
			reason.status = STATUS_FAILED;
			*error = reason;
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
exchange_free(struct exchange *x)
{
	free_queue(x->again);
	for (size_t i = 0; i < x->nodes.count; i++)
		free_queue(node_take_all(&x->nodes.list[i]));
	nodes_free(&x->nodes);
}
