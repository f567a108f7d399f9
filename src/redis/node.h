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
 * if it is unknown (`once`). The reply is freed afterwards. Returns 0, or -1
 * with `error` filled if nothing more can be asked of any node.
 */
typedef int redis_answer(void *context, size_t tag, redisReply *reply,
    struct error *error);

/*
 * How far a request has come:
 *
 *     QUEUED --its last byte is sent--> SENT, or ASKING if `node` is set
 *     ASKING --the reply to ASKING--> SENT
 *     SENT   --its reply--> answered, and freed
 *     SENT   --the reply says: later, or another node--> QUEUED, to be repeated
 *     any    --its connection is lost--> QUEUED, to be repeated
 *
 * A node carries a request out only once it has all of its bytes: one that is
 * QUEUED was certainly not carried out over this connection.
 */
enum request_state {
	REQUEST_QUEUED, /* some of its bytes are still here */
	REQUEST_ASKING, /* sent behind an ASKING, whose reply comes first */
	REQUEST_SENT    /* its reply is the next one that comes for it */
};

/* One command for one key. */
struct request {
	struct request *next;
	enum request_state state;
	redis_answer *answer;
	void *context;
	size_t tag;
	unsigned slot;
	int once;           /* if a reply to it was lost, its next reply may
	                       not be taken for an answer */
	int lost;           /* such a reply was lost */
	struct node *node;  /* the node that takes it before it has the slot,
	                       after ASKING; or NULL */
	sds bytes;          /* the bytes that are sent */
	uint64_t end;       /* where they end in the node's stream, once they
	                       are handed over to hiredis */
};

/* A list of requests; `first` is NULL if there are none. */
struct queue {
	struct request *first, *last;
};

/* Append a request to the queue, which owns it from now on. */
void queue_append(struct queue *queue, struct request *request);

/* Free one request. */
void request_free(struct request *request);

/* Free this request and all that follow it in its queue. NULL is none. */
void queue_free(struct request *first);

struct node {
	struct node *next;
	const struct address *location; /* not owned */
	char *host;             /* NULL: the socket of the location */
	int port;
	redisContext *context;  /* the connection; NULL: there is none */
	/* Requests in the order in which they are sent and answered: first
	   those that are sent, then those that are QUEUED. */
	struct queue queue;
	struct request *queued; /* the first that is QUEUED, or NULL */
	struct request *kept;   /* the first that is not yet handed over to
	                           hiredis, or NULL */
	uint64_t handed_over;   /* bytes that hiredis got for this connection */
	uint64_t heard;         /* when it last sent something, or waiting for
	                           it began (clock_now) */
};

/* Append a request to the node's queue. */
void node_append(struct node *node, struct request *request);

/*
 * Connect to a node and authenticate with the location's user and password, if
 * there are any; NULL on failure. If the server refuses them, fails with
 * STATUS_USAGE: retrying is useless.
 */
redisContext *node_connect(const struct node *node, struct error *error);

/*
 * Make a command on a connection that has no others, and wait for the reply,
 * which the caller frees; NULL on failure.
 */
redisReply *node_ask(const struct node *node, redisContext *context,
    const char **words, int n, struct error *error);

/* Connect the node, so that its requests can be sent. */
int node_open(struct node *node, struct error *error);

/*
 * Close the connection, if there is one, and empty the queue: returns its first
 * request, which the caller owns with all that follow. Their states still say
 * how far they had come.
 */
struct request *node_close(struct node *node);

/* Does a node that is connected have something to send? */
int node_has_output(const struct node *node);

/*
 * Send what the socket takes now. Returns 1 if it took anything, 0 if not, or
 * -1 with `error` filled.
 */
int node_send(struct node *node, struct error *error);

/* Receive what has arrived. */
int node_receive(struct node *node, struct error *error);

/*
 * Set *reply to the next complete reply, which the caller frees, or to NULL if
 * it has not arrived yet.
 */
int node_reply(struct node *node, redisReply **reply, struct error *error);

#endif
