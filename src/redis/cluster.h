/*
 * The nodes of a server (one) or a Redis cluster, and which of them has a key:
 * its slot is CRC-16 (XMODEM) of what is between the key's braces, modulo
 * 16384; a map says which node has a slot. See the Redis cluster specification,
 * "Key distribution model".
 */
#ifndef REDIS_CLUSTER_H
#define REDIS_CLUSTER_H

#include <stddef.h>

#include "base/error.h"
#include "redis/node.h"

#define CLUSTER_SLOTS 16384u

/* All zero at first, except the location. */
struct cluster {
	const struct address *location;   /* not owned */
	struct node *first;               /* all known nodes; none is removed */
	struct node *home;                /* the one that was asked for the map
	                                     last, and answered */
	int has_map;                      /* this is a cluster, not a server */
	int stale;                        /* the map must be loaded again, or
	                                     for the first time */
	struct node *map[CLUSTER_SLOTS];  /* the node of each slot, or NULL */
};

/* Returns the slot of a key, by its hash tag if it has one. */
unsigned cluster_slot(const char *key, size_t nbytes);

/* Find a node, or add it. `host` is copied; NULL is the location's socket. */
struct node *cluster_node(struct cluster *cluster, const char *host, int port);

/*
 * Ask the nodes, one after the other, for the map of slots, until one has
 * answered; each is waited for as patience.h says. Returns 0, or -1 with
 * `error` filled by the last one; its status is STATUS_USAGE if asking again is
 * useless.
 */
int cluster_load_map(struct cluster *cluster, uint64_t patience,
    struct error *error);

/*
 * Append a request to the queue of the node that it names, or else of the node
 * that has its slot. The node owns it from now on.
 */
void cluster_append(struct cluster *cluster, struct net_request *request);

/* Close all connections, and free all nodes and their requests. */
void cluster_free(struct cluster *cluster);

/* The next step that an error asks of the client. */
enum cluster_advice {
	CLUSTER_FAIL,      /* repeating is useless: the caller is told */
	CLUSTER_WAIT,      /* try again later */
	CLUSTER_MOVED,     /* another node has the slot: load the map */
	CLUSTER_ASK        /* ask another node, this time only */
};

/*
 * Find the advice in the text of an error. With CLUSTER_MOVED and CLUSTER_ASK,
 * the node is stored in `host` ("" for the host that was asked) and `port`.
 */
enum cluster_advice cluster_advice(const char *text, char host[256],
    int *port);

/* Does the text of an error say that the request was not carried out? */
int cluster_refuses(const char *text);

#endif
