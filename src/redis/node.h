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

/* The fate of a request, for its caller. */
enum fate {
	FATE_ANSWERED, /* the reply is that of the only time that the request
	                * can have been carried out */
	FATE_REPEATED, /* there is a reply, but an earlier one was lost: the
	                * request may have been carried out before, too */
	FATE_LOST,     /* no reply: maybe it was carried out, maybe not */
	FATE_UNSENT    /* no reply: it was certainly not carried out */
};

/*
 * Called once for each request with its reply, which may be an error, and is
 * NULL where the fate says so. The reply is freed afterwards. Returns 0, or
 * -1 with `error` filled if nothing more can be asked of any node.
 */
typedef int redis_answer(void *context, size_t tag, redisReply *reply,
    enum fate fate, struct error *error);

/* The ways in which a request may be repeated. */
enum care {
	CARE_NONE,  /* it may be repeated at any time */
	CARE_CLAIM, /* it may be repeated, but its first reply says more: it is
	               sent only over a connection that is known to work */
	CARE_ONCE   /* it is not repeated if it may have been carried out */
};

/*
 * How far a request has come:
 *
 *     QUEUED --its last byte is sent--> SENT, or ASKING if `node` is set
 *     ASKING --the reply to ASKING--> SENT
 *     SENT   --its reply--> answered, and freed
 *     SENT   --the reply says: later, or another node--> QUEUED, to be repeated
 *     any    --its connection is lost--> QUEUED, to be repeated; with
 *              CARE_ONCE, one that was sent is answered: FATE_LOST
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
struct net_request {
	struct net_request *next;
	enum request_state state;
	redis_answer *answer;
	void *context;
	size_t tag;
	unsigned slot;
	enum care care;
	int lost;           /* an earlier reply to it may have been lost */
	unsigned redirections; /* number of answers that named another node */
	uint64_t since;     /* clock_now when its answer became the next one of
			     * a node for the first time, or 0 */
	struct node *node;  /* the node that takes it before it has the slot,
	                       after ASKING; or NULL */
	sds bytes;
	uint64_t end;       /* position of their end in the node's stream, once
			     * they are handed over to hiredis */
};

/* A list of requests; `first` is NULL if there are none. */
struct queue {
	struct net_request *first, *last;
};

/* Append a request to the queue, which owns it from now on. */
void queue_append(struct queue *queue, struct net_request *request);

/* Free one request. */
void request_free(struct net_request *request);

/* Free this request and all that follow it in its queue. NULL is none. */
void queue_free(struct net_request *first);

/* The connection of a node. */
enum node_state {
	NODE_CLOSED,   /* there is no connection */
	NODE_OPEN,     /* requests are sent */
	NODE_CHECKING  /* a PING was sent after a rest: requests wait for the
		        * reply, which shows that the connection still works */
};

struct node {
	struct node *next;
	enum node_state state;
	const struct address *location; /* not owned */
	char *host;             /* NULL: the socket of the location */
	int port;
	redisContext *context;  /* the connection; NULL: NODE_CLOSED */
	/* Requests in the order in which they are sent and answered: first
	   those that are sent, then those that are QUEUED. */
	struct queue queue;
	struct net_request *queued; /* the first that is QUEUED, or NULL */
	struct net_request *kept;   /* the first that is not yet handed over to
	                           hiredis, or NULL */
	uint64_t handed_over;   /* bytes that hiredis got for this connection */
	uint64_t answered;      /* bytes handed over up to the end of the last
				 * request that was answered */
	uint64_t window;        /* bytes that may be sent without an answer */
	size_t received;        /* bytes that came since the last whole reply */
	uint64_t heard;         /* clock_now when it last sent something, or
				 * when waiting for it began */
};

/*
 * What a connection may send without an answer, if none was lost; it is more
 * than ever is under way. After a lost one, the next one begins with
 * NODE_LEAST_WINDOW, and may send a byte more for each that is answered: so
 * where connections break all the time, half of what they carry has an answer.
 */
#define NODE_WINDOW (UINT64_C(64) << 20)
#define NODE_LEAST_WINDOW (UINT64_C(64) << 10)

/* Append a request to the node's queue. */
void node_append(struct node *node, struct net_request *request);

/*
 * Connect the node, so that its requests can be sent. Nothing is waited for
 * longer than `patience` nanoseconds (connect.h).
 */
int node_open(struct node *node, uint64_t patience, struct error *error);

/*
 * Close the connection of a node to which nothing was sent that was not
 * answered: its requests stay in the queue.
 */
void node_disconnect(struct node *node);

/*
 * Close the connection, if there is one, as lost, and empty the queue: returns
 * its first request, which the caller owns with all that follow. Their states
 * still say how far they had come.
 */
struct net_request *node_close(struct node *node);

/*
 * Take the first request, which was sent and is answered, from the queue; it
 * becomes the caller's.
 */
struct net_request *node_take(struct node *node);

/* Are there requests that could be sent now? */
int node_has_output(const struct node *node);

/* Was something sent that is not answered yet? */
int node_is_waiting(const struct node *node);

/*
 * Send what the socket takes now. Returns 1 if it took anything, 0 if not, or
 * -1 with `error` filled. If nothing was waited for, and the server has closed
 * the connection meanwhile, this is noticed before anything is sent: then
 * node_is_waiting is 0 after the failure.
 */
int node_send(struct node *node, struct error *error);

/* Receive what has arrived. */
int node_receive(struct node *node, struct error *error);

/*
 * Set *reply to the next complete reply to a request, which the caller frees,
 * or to NULL if it has not arrived yet.
 */
int node_reply(struct node *node, redisReply **reply, struct error *error);

/* Free a reply that nobody asked for, and fill `error`. Returns -1. */
int node_refuse(const struct node *node, redisReply *reply,
    struct error *error);

#endif
