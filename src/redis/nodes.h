/*
 * The nodes of a server (one) or a cluster, each with its connection and the
 * requests that wait for it, and the map of slots to nodes.
 */
#ifndef REDIS_NODES_H
#define REDIS_NODES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/address.h"
#include "redis/cluster.h"
#include "redis/connection.h"
#include "redis/request.h"

struct node {
	char *host;    /* NULL: the location's socket */
	int port;
	struct connection *connection;
	struct request *first, **last; /* sent, or to be sent, in order */
	struct request *unsent;        /* the first not completely sent */
	uint64_t heard;                /* when it last sent, or waiting began */
	int used;                      /* requests were sent to it */
};

/* All zero at first, except the location. */
struct nodes {
	const struct address *location;
	struct node *list;
	size_t count;
	int cluster;                 /* it is a cluster, */
	int stale;                   /* and its map must be reloaded */
	uint16_t map[CLUSTER_SLOTS]; /* which node has a slot */
};

/* The number of a node, which is added if it is new. */
size_t nodes_find(struct nodes *nodes, const char *host, int port);

/*
 * Ask the nodes, one after the other, for the map of slots. error->errnum is
 * EAGAIN if they are there, and load their data.
 */
int nodes_load_map(struct nodes *nodes, struct error *error);

/* The node that has a slot. */
struct node *nodes_of_slot(struct nodes *nodes, unsigned slot);

/* Close connections; the queues must be empty. */
void nodes_free(struct nodes *nodes);

/* Append a request to a node's queue. */
void node_append(struct node *node, struct request *request);

/*
 * Send as much of the unsent requests as the node's connection takes now: *sent
 * bytes. The node must have a connection and an unsent request.
 */
int node_send(struct node *node, size_t *sent, struct error *error);

/* Remove the first request, which must exist, from the queue. */
struct request *node_shift(struct node *node);

/* Remove the whole queue. */
struct request *node_take_all(struct node *node);

#endif
