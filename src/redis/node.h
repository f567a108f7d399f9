/*
 * A node: one server, its connection, and the requests that wait for it.
 * hiredis connects, buffers what is sent, and parses the replies; waiting is
 * done in net.c, for many nodes at once.
 *
 * Functions return 0, or -1 with `error` filled (STATUS_FAILED; the text has
 * the location's name). After a failure to send or receive, the connection is
 * useless and must be closed.
 */
#ifndef REDIS_NODE_H
#define REDIS_NODE_H

#include <hiredis/hiredis.h>
#include <hiredis/sds.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/address.h"

/*
 * Called once for each request with its reply, which may be an error, or NULL
 * if it is unknown (`once`). Returns 0, or -1 if the whole net has failed.
 */
typedef int redis_answer(void *context, size_t tag, redisReply *reply,
    struct error *error);

/* One command for one key. */
struct request {
	struct request *next;
	redis_answer *answer;
	void *context;
	size_t tag;
	unsigned slot;
	int once;           /* if it may have been done before its connection
	                       was lost, its next reply is no reply */
	struct node *node;  /* that takes it before it has the slot, or NULL */
	int asked;          /* the reply to ASKING has come */
	int sent;           /* hiredis has got it, and so may the node */
	int lost;           /* with `once`: its first reply is */
	sds bytes;          /* as they are sent */
};

struct queue {
	struct request *first, *last; /* first is NULL: empty */
};

void queue_append(struct queue *queue, struct request *request);

/* Free a request; all from it on. */
void request_free(struct request *request);
void queue_free(struct request *first);

struct node {
	struct node *next;
	const struct address *location;
	char *host;             /* NULL: the location's socket */
	int port;
	redisContext *context;  /* NULL: not connected */
	struct queue queue;     /* sent, or to be sent, in order */
	struct request *unsent; /* the first that hiredis hasn't got */
	uint64_t heard;         /* when it last sent, or waiting began */
};

/*
 * Connect to a node and authenticate with the location's user and password, if
 * there are any; NULL on failure. If the server refuses them, fails with
 * STATUS_USAGE: retrying is useless.
 */
redisContext *node_connect(const struct node *node, struct error *error);

/* A command that is waited for, on a connection without others;
 * NULL on failure. */
redisReply *node_ask(const struct node *node, redisContext *context,
    const char **words, int n, struct error *error);

/* Connect it for requests. */
int node_open(struct node *node, struct error *error);

/* Close the connection, and remove the whole queue. */
struct request *node_close(struct node *node);

/* Is there something to send, on its connection? */
int node_has_output(const struct node *node);

/* Send what the socket takes now: returns 1 if that is anything. Receive what
 * has arrived. */
int node_send(struct node *node, struct error *error);
int node_receive(struct node *node, struct error *error);

/* The next complete reply, to be freed; NULL if it has not arrived yet. */
int node_reply(struct node *node, redisReply **reply, struct error *error);

#endif
