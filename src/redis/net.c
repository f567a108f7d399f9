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
#include "redis/patience.h"

/* Bytes of requests in flight at a time. */
#define IN_FLIGHT_BYTES (4u << 20)
/* This many bytes of requests are sent without waiting for more. */
#define SEND_BYTES (64u << 10)
/*
 * How long a server may be silent until its connection counts as lost; less if
 * requests are repeated for a shorter time, but long enough for an answer.
 */
#define PATIENCE (15 * CLOCK_SECOND)
#define LEAST_PATIENCE (2 * CLOCK_SECOND)
/* At most this many nodes in turn may say that another one is to be asked. */
#define REDIRECTIONS_MAX 5
/* Each pause between two tries is twice as long as the one before. */
#define SHORTEST_PAUSE (10 * CLOCK_MILLISECOND)
#define LONGEST_PAUSE CLOCK_SECOND

struct net {
	struct cluster cluster;
	struct queue again;                  /* requests to be made again */
	struct net_request *making;          /* between begin and end */
	uint64_t limit_ms;                   /* bound of failures in a row */
	uint64_t patience;                   /* patience with a silent server */
	void (*notice)(const char *text);    /* tells of a second of failures */
	int noticed;
	uint64_t failing_since, pause;
	uint64_t next_try;                   /* clock_now of the next try */
	uint64_t listened;                   /* clock_now when replies were
					        waited for last */
	struct error reason;                 /* why a try failed */
	size_t in_flight;                    /* bytes that aren't answered */
	size_t unsent;                       /* bytes that may wait a bit */
	int failed;                          /* nothing is sent any more */
	uint64_t repeats;                    /* requests that were made again */
};

/* Trying again */

static void
queue_again(struct net *net, struct net_request *request, struct node *node)
{
	request->state = REQUEST_QUEUED;
	request->node = node;
	queue_append(&net->again, request);
	net->repeats++;
}

/*
 * A try failed for x->reason: pause before the next one, or fail if that is
 * permanent (STATUS_USAGE) or has lasted too long, or a signal came.
 */
static int
fail_or_pause(struct net *net, struct error *error)
{
	const struct error *reason = &net->reason;
	uint64_t now = clock_now(), limit = net->limit_ms * CLOCK_MILLISECOND;

	if (net->failing_since == 0)
		net->failing_since = now;
	/* Errors are normal while a cluster moves slots. */
	if (net->cluster.has_map && limit < CLOCK_SECOND)
		limit = CLOCK_SECOND;
	if (signals_stop || reason->status == STATUS_USAGE ||
	    now - net->failing_since >= limit) {
		*error = *reason;
		if (error->status == STATUS_USAGE)
			error->status = STATUS_FAILED;
		return -1;
	}
	if (!net->noticed && now - net->failing_since >= CLOCK_SECOND) {
		error_notify(net->notice, "%s; trying again", reason->text);
		net->noticed = 1;
	}
	net->pause = net->pause == 0 ? SHORTEST_PAUSE : 2 * net->pause;
	net->pause = net->pause < LONGEST_PAUSE ? net->pause : LONGEST_PAUSE;
	net->next_try = now + net->pause;
	return 0;
}

static void
succeeded(struct net *net)
{
	net->failing_since = 0;
	net->pause = 0;
	net->noticed = 0;
}

/* Tell the caller what became of a request, and free it. */
static int
answer_request(struct net *net, struct net_request *request, redisReply *reply,
    enum fate fate, struct error *error)
{
	int result = request->answer(request->context, request->tag, reply,
	    fate, error);

	net->in_flight -= sdslen(request->bytes);
	request_free(request);
	return result;
}

/* A connection was lost for x->reason: unanswered requests are made again. */
static int
drop_connection(struct net *net, struct node *node, struct error *error)
{
	struct net_request *request, *next;
	int result = 0;

	net->cluster.stale = net->cluster.has_map;
	for (request = node_close(node); request != NULL; request = next) {
		next = request->next;
		if (request->state != REQUEST_QUEUED)
			request->lost = 1;
		if (!request->lost || request->care != CARE_ONCE)
			queue_again(net, request, NULL);
		else if (answer_request(net, request, NULL, FATE_LOST,
		    error) < 0)
			result = -1;
	}
	if (result < 0)
		return -1;
	return fail_or_pause(net, error);
}

/* Drop a connection. If nothing was sent over it, no request has failed. */
static int
renew_connection(struct net *net, struct node *node, struct error *error)
{
	if (node_is_waiting(node))
		return drop_connection(net, node, error);
	node_disconnect(node);
	return 0;
}

/* Receiving */

static int
take_reply(struct net *net, struct node *node, redisReply *reply,
    struct error *error)
{
	struct net_request *request = node->queue.first;
	enum cluster_advice advice = CLUSTER_FAIL;
	char host[256];
	int port;

	if (request->state == REQUEST_ASKING) {
		request->state = REQUEST_SENT;
		return 0;
	}
	request = node_take(node);
	if (reply->type == REDIS_REPLY_ERROR)
		advice = cluster_advice(reply->str, host, &port);
	if (advice == CLUSTER_FAIL) {
		succeeded(net);
		return answer_request(net, request, reply, request->lost ?
		    FATE_REPEATED : FATE_ANSWERED, error);
	}
	request->redirections += advice != CLUSTER_WAIT;
	if (advice == CLUSTER_ASK &&
	    request->redirections % (REDIRECTIONS_MAX + 1) != 0) {
		queue_again(net, request, cluster_node(&net->cluster,
		    host[0] != '\0' ? host : node->host, port));
		return 0;
	}
	queue_again(net, request, NULL);
	net->cluster.stale = net->cluster.has_map || advice == CLUSTER_MOVED;
	error_set(&net->reason, STATUS_FAILED, "%s: the server says: %s",
	    net->cluster.location->shown, reply->str);
	return fail_or_pause(net, error);
}

static int
receive_node(struct net *net, struct node *node, struct error *error)
{
	redisReply *reply;
	int result = 0;

	if (node_receive(node, &net->reason) < 0)
		return renew_connection(net, node, error);
	while (result == 0) {
		if (node_reply(node, &reply, &net->reason) < 0)
			return drop_connection(net, node, error);
		if (reply == NULL)
			return 0;
		if (!node_is_waiting(node)) {
			node_refuse(node, reply, &net->reason);
			return drop_connection(net, node, error);
		}
		result = take_reply(net, node, reply, error);
		freeReplyObject(reply);
	}
	return result;
}

/* After a failure */

static void
abandon(struct net *net, struct net_request *request)
{
	struct net_request *next;
	struct error unused; /* the caller's may be error_ignored() */

	for (; request != NULL; request = next) {
		int lost = request->lost || request->state != REQUEST_QUEUED;

		next = request->next;
		(void)answer_request(net, request, NULL, lost ? FATE_LOST :
		    FATE_UNSENT, &unused);
	}
}

void
net_abandon(struct net *net)
{
	struct net_request *again = net->again.first;

	net->failed = 1;
	net->again.first = NULL;
	abandon(net, again);
	for (struct node *node = net->cluster.first; node != NULL;
	    node = node->next)
		abandon(net, node_close(node));
}

/* The loop */

/* Make requests again, if they are due. */
static int
route_again(struct net *net, struct error *error)
{
	struct net_request *request = net->again.first, *next;
	struct error reason;

	if (request == NULL || clock_now() < net->next_try)
		return 0;
	/* Some nodes may fail before one has the map: then nothing failed. */
	if (net->cluster.stale && cluster_load_map(&net->cluster,
	    net->patience, &reason) < 0) {
		net->reason = reason;
		return fail_or_pause(net, error);
	}
	net->again.first = NULL;
	for (; request != NULL; request = next) {
		next = request->next;
		cluster_append(&net->cluster, request);
	}
	return 0;
}

/* Send what a node takes now, after connecting it if necessary. */
static int
send_to(struct net *net, struct node *node)
{
	int sent = 1, is_new = 0;

	while (sent > 0 && node_has_output(node)) {
		if (node->state == NODE_CLOSED) {
			is_new = 1;
			if (node_open(node, net->patience, &net->reason) < 0)
				return -1;
		}
		sent = node_send(node, &net->reason);
		/* It was closed while it rested: once more, with a new one. */
		if (sent < 0 && !is_new && !node_is_waiting(node)) {
			node_disconnect(node);
			sent = 1;
		}
	}
	return sent;
}

static int
send_all(struct net *net, struct error *error)
{
	if (route_again(net, error) < 0)
		return -1;
	for (struct node *node = net->cluster.first; node != NULL;
	    node = node->next) {
		if (send_to(net, node) < 0 &&
		    drop_connection(net, node, error) < 0)
			return -1;
	}
	return 0;
}

/*
 * The answer that a node owes has taken too long, over all nodes that were
 * asked and however often it was begun: then the run ends.
 */
static int
is_overdue(const struct net *net, struct node *node, struct error *error)
{
	struct net_request *request = node->queue.first;
	uint64_t limit = net->limit_ms * CLOCK_MILLISECOND;

	if (limit < net->patience)
		limit = net->patience;
	if (!node_is_waiting(node))
		return 0;
	/*
	 * Replies may have come while nobody listened, and have yet to be read.
	 */
	if (request->since == 0 ||
	    clock_now() - net->listened > CLOCK_SECOND)
		request->since = clock_now();
	if (patience_left(request->since, limit) > 0)
		return 0;
	error_set(error, STATUS_FAILED, "%s: the server did not answer a"
	    " request wholly in %g s (--lock-timeout)",
	    net->cluster.location->shown, (double)limit / CLOCK_SECOND);
	return 1;
}

/* Deal with a node that was waited for, and has said something or nothing. */
static int
hear(struct net *net, struct node *node, short revents, struct error *error)
{
	if (revents & (POLLIN | POLLHUP | POLLERR))
		return receive_node(net, node, error);
	if (node->context == NULL)
		return 0;
	if (!net->noticed && node_is_waiting(node) &&
	    patience_left(node->heard, CLOCK_SECOND) == 0) {
		error_notify(net->notice, "%s: the server does not answer;"
		    " waiting for it", net->cluster.location->shown);
		net->noticed = 1;
	}
	if (patience_left(node->heard, net->patience) > 0)
		return 0;
	patience_end(net->cluster.location, &net->reason);
	return renew_connection(net, node, error);
}

/* How long to wait for a node: until the next try is due, but not for long. */
static int
timeout_of(const struct net *net)
{
	uint64_t now = clock_now(), left;

	if (net->again.first == NULL)
		return PATIENCE_LOOK_MS;
	if (net->next_try <= now)
		return 0;
	left = (net->next_try - now) / CLOCK_MILLISECOND;
	return left < PATIENCE_LOOK_MS ? (int)left + 1 : PATIENCE_LOOK_MS;
}

/* Wait for one, or until the next try is due, and deal with what has come. */
static int
wait_for_replies(struct net *net, struct error *error)
{
	struct node *at[64];
	struct pollfd polls[64];
	size_t n = 0;

	for (struct node *node = net->cluster.first; node != NULL && n < 64;
	    node = node->next) {
		if (node->context == NULL || node->queue.first == NULL)
			continue;
		at[n] = node;
		polls[n] = (struct pollfd){ node->context->fd, POLLIN, 0 };
		if (node_has_output(node))
			polls[n].events |= POLLOUT;
		n++;
	}
	if (poll(polls, (nfds_t)n, timeout_of(net)) < 0 && errno != EINTR)
		return error_system(error, errno, "poll");
	for (size_t i = 0; i < n; i++) {
		if (hear(net, at[i], polls[i].revents, error) < 0 ||
		    is_overdue(net, at[i], error))
			return -1;
	}
	net->listened = clock_now();
	if (signals_stop && net->again.first != NULL)
		return fail_or_pause(net, error);
	return 0;
}

/* Go on until at most `bytes` are in flight. */
static int
go_on(struct net *net, size_t bytes, struct error *error)
{
	while (!net->failed && net->in_flight > bytes)
		net->failed = send_all(net, error) < 0 ||
		    wait_for_replies(net, error) < 0;
	return net->failed ? -1 : 0;
}

int
net_finish(struct net *net, struct error *error)
{
	return go_on(net, 0, error);
}

int
net_settle(struct net *net, int result, struct error *error)
{
	if (result == 0 && net_finish(net, error) == 0)
		return 0;
	net_abandon(net);
	return -1;
}

int
net_flush(struct net *net, struct error *error)
{
	net->unsent = 0;
	net->failed = net->failed || send_all(net, error) < 0;
	return net->failed ? -1 : 0;
}

int
net_is_busy(const struct net *net)
{
	return net->in_flight > 0;
}

uint64_t
net_repeats(const struct net *net)
{
	return net->repeats;
}

/* Making requests */

/* Begin a request whose first bytes are `bytes`. */
static void
start_request(struct net *net, unsigned slot, enum care care, redis_answer
    *function, void *context, size_t tag, sds bytes)
{
	net->making = memory_or_die(malloc(sizeof *net->making));
	*net->making = (struct net_request){ .answer = function,
		.context = context, .tag = tag, .slot = slot, .care = care,
		.bytes = memory_or_die(bytes) };
}

void
net_begin(struct net *net, unsigned slot, enum care care,
    redis_answer *function, void *context, size_t tag, size_t words)
{
	start_request(net, slot, care, function, context, tag,
	    sdscatfmt(memory_or_die(sdsempty()), "*%U\r\n",
	    (unsigned long long)words));
}

void
net_word(struct net *net, const void *data, size_t nbytes)
{
	sds bytes = memory_or_die(sdscatfmt(net->making->bytes, "$%U\r\n",
	    (unsigned long long)nbytes));

	bytes = memory_or_die(sdscatlen(bytes, data, nbytes));
	net->making->bytes = memory_or_die(sdscatlen(bytes, "\r\n", 2));
}

void
net_text(struct net *net, const char *word)
{
	net_word(net, word, strlen(word));
}

void
net_number(struct net *net, int64_t number)
{
	char text[24];

	net_word(net, text, (size_t)snprintf(text, sizeof text, "%lld",
	    (long long)number));
}

int
net_end(struct net *net, struct error *error)
{
	struct net_request *request = net->making;
	size_t nbytes = sdslen(request->bytes);

	net->making = NULL;
	net->in_flight += nbytes;
	/* It must not overtake one that is made again. */
	if (net->again.first != NULL)
		queue_append(&net->again, request);
	else
		cluster_append(&net->cluster, request);
	net->unsent += nbytes;
	if (net->unsent >= SEND_BYTES && net_flush(net, error) < 0)
		return -1;
	return go_on(net, IN_FLIGHT_BYTES, error);
}

/* Keep a copy of the reply for the caller. */
static int
keep_reply(void *context, size_t tag, redisReply *reply,
    enum fate fate, struct error *error)
{
	redisReply *copy = context;

	(void)tag;
	(void)fate;
	(void)error;
	if (reply == NULL)
		return 0;
	*copy = *reply;
	/* The reply that is left here has nothing to free. */
	*reply = (redisReply){ .type = REDIS_REPLY_NIL };
	return 0;
}

redisReply *
net_call(struct net *net, const char *key, struct error *error,
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
	start_request(net, slot, CARE_NONE, keep_reply, reply, 0,
	    sdsnewlen(bytes, (size_t)n));
	redisFreeCommand(bytes);
	if (net_settle(net, net_end(net, error), error) == 0)
		return reply;
	freeReplyObject(reply);
	return NULL;
}

/* Opening and closing */

int
net_open(struct net **result, const struct address *location,
    uint64_t retry_ms, int patient, void (*notice)(const char *text),
    struct error *error)
{
	struct net *net = memory_or_die(calloc(1, sizeof *net));

	net->cluster.location = location;
	net->limit_ms = retry_ms;
	net->patience = PATIENCE;
	if (retry_ms * CLOCK_MILLISECOND < net->patience)
		net->patience = retry_ms * CLOCK_MILLISECOND;
	if (net->patience < LEAST_PATIENCE)
		net->patience = LEAST_PATIENCE;
	net->notice = notice;
	if (location->count == 0)
		cluster_node(&net->cluster, NULL, 0);
	for (size_t i = 0; i < location->count; i++)
		cluster_node(&net->cluster, location->hosts[i].name,
		    location->hosts[i].port);
	/* The first try counts, too. */
	net->failing_since = clock_now();
	while (cluster_load_map(&net->cluster, net->patience,
	    &net->reason) < 0) {
		uint64_t now = clock_now();

		if (!patient) {
			*error = net->reason;
			error->status = STATUS_FAILED;
		}
		if (!patient || fail_or_pause(net, error) < 0) {
			net_close(net);
			return -1;
		}
		poll(NULL, 0, (int)((net->next_try - now) /
		    CLOCK_MILLISECOND));
	}
	succeeded(net);
	*result = net;
	return 0;
}

void
net_close(struct net *net)
{
	if (net == NULL)
		return;
	queue_free(net->again.first);
	cluster_free(&net->cluster);
	free(net);
}
