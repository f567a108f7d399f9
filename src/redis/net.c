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
/* So many bytes of requests are sent without waiting for more. */
#define SEND_BYTES (64u << 10)
/*
 * How long a server may be silent until its connection counts as lost; less if
 * requests are repeated for a shorter time, but long enough for an answer.
 */
#define PATIENCE (15 * CLOCK_SECOND)
#define LEAST_PATIENCE (2 * CLOCK_SECOND)
/* So many nodes in turn may say that another one is to be asked. */
#define REDIRECTIONS_MAX 5
/* Between tries. */
#define SHORTEST_PAUSE (10 * CLOCK_MILLISECOND)
#define LONGEST_PAUSE CLOCK_SECOND

struct net {
	struct cluster cluster;
	struct queue again;                  /* to be made again */
	struct net_request *making;          /* between begin and end */
	uint64_t limit_ms;                   /* of failures without success */
	uint64_t patience;                   /* with a server that is silent */
	void (*notice)(const char *text);    /* of more than a second of them */
	int noticed;
	uint64_t failing_since, pause;
	uint64_t next_try;                   /* when it is due (clock_now) */
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
queue_again(struct net *x, struct net_request *request, struct node *node)
{
	request->state = REQUEST_QUEUED;
	request->node = node;
	queue_append(&x->again, request);
	x->repeats++;
}

/*
 * A try failed for x->reason: pause before the next one, or fail if that is
 * permanent (STATUS_USAGE) or has lasted too long, or a signal came.
 */
static int
fail_or_pause(struct net *x, struct error *error)
{
	const struct error *reason = &x->reason;
	uint64_t now = clock_now(), limit = x->limit_ms * CLOCK_MILLISECOND;

	if (x->failing_since == 0)
		x->failing_since = now;
	/* Errors are normal while a cluster moves slots. */
	if (x->cluster.has_map && limit < CLOCK_SECOND)
		limit = CLOCK_SECOND;
	if (signals_stop || reason->status == STATUS_USAGE ||
	    now - x->failing_since >= limit) {
		*error = *reason;
		if (error->status == STATUS_USAGE)
			error->status = STATUS_FAILED;
		return -1;
	}
	if (!x->noticed && now - x->failing_since >= CLOCK_SECOND) {
		error_notify(x->notice, "%s; trying again", reason->text);
		x->noticed = 1;
	}
	x->pause = x->pause == 0 ? SHORTEST_PAUSE : 2 * x->pause;
	x->pause = x->pause < LONGEST_PAUSE ? x->pause : LONGEST_PAUSE;
	x->next_try = now + x->pause;
	return 0;
}

static void
succeeded(struct net *x)
{
	x->failing_since = 0;
	x->pause = 0;
	x->noticed = 0;
}

/* Tell the caller what became of a request, and free it. */
static int
answer_request(struct net *x, struct net_request *request, redisReply *reply,
    enum fate fate, struct error *error)
{
	int result = request->answer(request->context, request->tag, reply,
	    fate, error);

	x->in_flight -= sdslen(request->bytes);
	request_free(request);
	return result;
}

/* A connection was lost for x->reason: unanswered requests are made again. */
static int
drop_connection(struct net *x, struct node *node, struct error *error)
{
	struct net_request *request, *next;
	int result = 0;

	x->cluster.stale = x->cluster.has_map;
	for (request = node_close(node); request != NULL; request = next) {
		next = request->next;
		if (request->state != REQUEST_QUEUED)
			request->lost = 1;
		if (!request->lost || request->care != CARE_ONCE)
			queue_again(x, request, NULL);
		else if (answer_request(x, request, NULL, FATE_LOST, error) <
		    0)
			result = -1;
	}
	if (result < 0)
		return -1;
	return fail_or_pause(x, error);
}

/* Drop a connection. If nothing was sent over it, no request has failed. */
static int
renew_connection(struct net *x, struct node *node, struct error *error)
{
	if (node_is_waiting(node))
		return drop_connection(x, node, error);
	node_disconnect(node);
	return 0;
}

/* Receiving */

static int
take_reply(struct net *x, struct node *node, redisReply *reply,
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
		succeeded(x);
		return answer_request(x, request, reply, request->lost ?
		    FATE_REPEATED : FATE_ANSWERED, error);
	}
	request->redirections += advice != CLUSTER_WAIT;
	if (advice == CLUSTER_ASK &&
	    request->redirections % (REDIRECTIONS_MAX + 1) != 0) {
		queue_again(x, request, cluster_node(&x->cluster,
		    host[0] != '\0' ? host : node->host, port));
		return 0;
	}
	queue_again(x, request, NULL);
	x->cluster.stale = x->cluster.has_map || advice == CLUSTER_MOVED;
	error_set(&x->reason, STATUS_FAILED, "%s: the server says: %s",
	    x->cluster.location->shown, reply->str);
	return fail_or_pause(x, error);
}

static int
receive_node(struct net *x, struct node *node, struct error *error)
{
	redisReply *reply;
	int result = 0;

	if (node_receive(node, &x->reason) < 0)
		return renew_connection(x, node, error);
	while (result == 0) {
		if (node_reply(node, &reply, &x->reason) < 0)
			return drop_connection(x, node, error);
		if (reply == NULL)
			return 0;
		if (!node_is_waiting(node)) {
			node_refuse(node, reply, &x->reason);
			return drop_connection(x, node, error);
		}
		result = take_reply(x, node, reply, error);
		freeReplyObject(reply);
	}
	return result;
}

/* After a failure */

static void
abandon(struct net *x, struct net_request *request)
{
	struct net_request *next;
	struct error unused;

	for (; request != NULL; request = next) {
		int lost = request->lost || request->state != REQUEST_QUEUED;

		next = request->next;
		(void)answer_request(x, request, NULL, lost ? FATE_LOST :
		    FATE_UNSENT, &unused);
	}
}

void
net_abandon(struct net *x)
{
	struct net_request *again = x->again.first;

	x->failed = 1;
	x->again.first = NULL;
	abandon(x, again);
	for (struct node *node = x->cluster.first; node != NULL;
	    node = node->next)
		abandon(x, node_close(node));
}

/* The loop */

/* Make requests again, if they are due. */
static int
route_again(struct net *x, struct error *error)
{
	struct net_request *request = x->again.first, *next;
	struct error reason;

	if (request == NULL || clock_now() < x->next_try)
		return 0;
	/* Some nodes may fail before one has the map: then nothing failed. */
	if (x->cluster.stale && cluster_load_map(&x->cluster,
	    x->patience, &reason) < 0) {
		x->reason = reason;
		return fail_or_pause(x, error);
	}
	x->again.first = NULL;
	for (; request != NULL; request = next) {
		next = request->next;
		cluster_append(&x->cluster, request);
	}
	return 0;
}

/* Send what a node takes now, after connecting it if necessary. */
static int
send_to(struct net *x, struct node *node)
{
	int sent = 1, is_new = 0;

	while (sent > 0 && node_has_output(node)) {
		if (node->state == NODE_CLOSED) {
			is_new = 1;
			if (node_open(node, x->patience, &x->reason) < 0)
				return -1;
		}
		sent = node_send(node, &x->reason);
		/* It was closed while it rested: once more, with a new one. */
		if (sent < 0 && !is_new && !node_is_waiting(node)) {
			node_disconnect(node);
			sent = 1;
		}
	}
	return sent;
}

static int
send_all(struct net *x, struct error *error)
{
	if (route_again(x, error) < 0)
		return -1;
	for (struct node *node = x->cluster.first; node != NULL;
	    node = node->next) {
		if (send_to(x, node) < 0 &&
		    drop_connection(x, node, error) < 0)
			return -1;
	}
	return 0;
}

/*
 * The answer that a node owes has taken too long, over all nodes that were
 * asked and however often it was begun: then the run ends.
 */
static int
is_overdue(const struct net *x, struct node *node, struct error *error)
{
	struct net_request *request = node->queue.first;
	uint64_t limit = x->limit_ms * CLOCK_MILLISECOND;

	if (limit < x->patience)
		limit = x->patience;
	if (!node_is_waiting(node))
		return 0;
	/* what came while nobody listened has yet to be read */
	if (request->since == 0 ||
	    clock_now() - x->listened > CLOCK_SECOND)
		request->since = clock_now();
	if (patience_left(request->since, limit) > 0)
		return 0;
	error_set(error, STATUS_FAILED, "%s: the server did not answer a"
	    " request wholly in %g s (--lock-timeout)",
	    x->cluster.location->shown, (double)limit / CLOCK_SECOND);
	return 1;
}

/* Deal with a node that was waited for, and has said something or nothing. */
static int
hear(struct net *x, struct node *node, short revents, struct error *error)
{
	if (revents & (POLLIN | POLLHUP | POLLERR))
		return receive_node(x, node, error);
	if (node->context == NULL ||
	    patience_left(node->heard, x->patience) > 0)
		return 0;
	patience_end(x->cluster.location, &x->reason);
	return renew_connection(x, node, error);
}

/* How long to wait for a node: until the next try is due, but not for long. */
static int
timeout_of(const struct net *x)
{
	uint64_t now = clock_now(), left;

	if (x->again.first == NULL)
		return PATIENCE_LOOK_MS;
	if (x->next_try <= now)
		return 0;
	left = (x->next_try - now) / CLOCK_MILLISECOND;
	return left < PATIENCE_LOOK_MS ? (int)left + 1 : PATIENCE_LOOK_MS;
}

/* Wait for one, or until the next try is due, and deal with what has come. */
static int
wait_for_replies(struct net *x, struct error *error)
{
	struct node *at[64];
	struct pollfd polls[64];
	size_t n = 0;

	for (struct node *node = x->cluster.first; node != NULL && n < 64;
	    node = node->next) {
		if (node->context == NULL || node->queue.first == NULL)
			continue;
		at[n] = node;
		polls[n] = (struct pollfd){ node->context->fd, POLLIN, 0 };
		if (node_has_output(node))
			polls[n].events |= POLLOUT;
		n++;
	}
	if (poll(polls, (nfds_t)n, timeout_of(x)) < 0 && errno != EINTR)
		return error_system(error, errno, "poll");
	for (size_t i = 0; i < n; i++) {
		if (hear(x, at[i], polls[i].revents, error) < 0 ||
		    is_overdue(x, at[i], error))
			return -1;
	}
	x->listened = clock_now();
	if (signals_stop && x->again.first != NULL)
		return fail_or_pause(x, error);
	return 0;
}

/* Go on until at most `bytes` are in flight. */
static int
go_on(struct net *x, size_t bytes, struct error *error)
{
	while (!x->failed && x->in_flight > bytes)
		x->failed = send_all(x, error) < 0 ||
		    wait_for_replies(x, error) < 0;
	return x->failed ? -1 : 0;
}

int
net_finish(struct net *x, struct error *error)
{
	return go_on(x, 0, error);
}

int
net_settle(struct net *x, int result, struct error *error)
{
	if (result == 0 && net_finish(x, error) == 0)
		return 0;
	net_abandon(x);
	return -1;
}

int
net_flush(struct net *x, struct error *error)
{
	x->unsent = 0;
	x->failed = x->failed || send_all(x, error) < 0;
	return x->failed ? -1 : 0;
}

int
net_is_busy(const struct net *x)
{
	return x->in_flight > 0;
}

uint64_t
net_repeats(const struct net *x)
{
	return x->repeats;
}

/* Making requests */

/* `bytes` is what the request begins with. */
static void
start_request(struct net *x, unsigned slot, enum care care, redis_answer
    *function, void *context, size_t tag, sds bytes)
{
	x->making = memory_or_die(malloc(sizeof *x->making));
	*x->making = (struct net_request){ .answer = function,
		.context = context, .tag = tag, .slot = slot, .care = care,
		.bytes = memory_or_die(bytes) };
}

void
net_begin(struct net *x, unsigned slot, enum care care,
    redis_answer *function, void *context, size_t tag, size_t words)
{
	start_request(x, slot, care, function, context, tag,
	    sdscatfmt(memory_or_die(sdsempty()), "*%U\r\n",
	    (unsigned long long)words));
}

void
net_word(struct net *x, const void *data, size_t nbytes)
{
	sds bytes = memory_or_die(sdscatfmt(x->making->bytes, "$%U\r\n",
	    (unsigned long long)nbytes));

	bytes = memory_or_die(sdscatlen(bytes, data, nbytes));
	x->making->bytes = memory_or_die(sdscatlen(bytes, "\r\n", 2));
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
	struct net_request *request = x->making;
	size_t nbytes = sdslen(request->bytes);

	x->making = NULL;
	x->in_flight += nbytes;
	/* It must not overtake one that is made again. */
	if (x->again.first != NULL)
		queue_append(&x->again, request);
	else
		cluster_append(&x->cluster, request);
	x->unsent += nbytes;
	if (x->unsent >= SEND_BYTES && net_flush(x, error) < 0)
		return -1;
	return go_on(x, IN_FLIGHT_BYTES, error);
}

/* Keep the reply for the caller. */
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
	/* Leave a reply that has nothing to free. */
	*reply = (redisReply){ .type = REDIS_REPLY_NIL };
	return 0;
}

redisReply *
net_call(struct net *x, const char *key, struct error *error,
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
	start_request(x, slot, CARE_NONE, keep_reply, reply, 0,
	    sdsnewlen(bytes, (size_t)n));
	redisFreeCommand(bytes);
	if (net_settle(x, net_end(x, error), error) == 0)
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
	struct net *x = memory_or_die(calloc(1, sizeof *x));

	x->cluster.location = location;
	x->limit_ms = retry_ms;
	x->patience = PATIENCE;
	if (retry_ms * CLOCK_MILLISECOND < x->patience)
		x->patience = retry_ms * CLOCK_MILLISECOND;
	if (x->patience < LEAST_PATIENCE)
		x->patience = LEAST_PATIENCE;
	x->notice = notice;
	if (location->count == 0)
		cluster_node(&x->cluster, NULL, 0);
	for (size_t i = 0; i < location->count; i++)
		cluster_node(&x->cluster, location->hosts[i].name,
		    location->hosts[i].port);
	while (cluster_load_map(&x->cluster, x->patience, &x->reason) < 0) {
		uint64_t now = clock_now();

		if (!patient) {
			*error = x->reason;
			error->status = STATUS_FAILED;
		}
		if (!patient || fail_or_pause(x, error) < 0) {
			net_close(x);
			return -1;
		}
		poll(NULL, 0, (int)((x->next_try - now) /
		    CLOCK_MILLISECOND));
	}
	succeeded(x);
	*result = x;
	return 0;
}

void
net_close(struct net *x)
{
	if (x == NULL)
		return;
	queue_free(x->again.first);
	cluster_free(&x->cluster);
	free(x);
}
