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
	const struct address *location;
	struct node *first;               /* a list, which only grows */
	int has_map;                      /* it is a cluster, not a server, */
	int stale;                        /* and its map must be reloaded */
	struct node *map[CLUSTER_SLOTS];  /* which node has a slot, or NULL */
};

/* The slot of a key, by its hash tag if it has one. */
unsigned cluster_slot(const char *key, size_t nbytes);

/* A node, which is added if it is new. */
struct node *cluster_node(struct cluster *cluster, const char *host, int port);

/* Ask the nodes, one after the other, for the map of slots. */
int cluster_load_map(struct cluster *cluster, struct error *error);

/* Append a request to the queue of the node that it names, or has its slot. */
void cluster_append(struct cluster *cluster, struct request *request);

/* Close connections and free all requests. */
void cluster_free(struct cluster *cluster);

/* What an error asks the client to do. */
enum cluster_advice {
	CLUSTER_FAIL,      /* none, it won't pass: tell the caller */
	CLUSTER_WAIT,      /* try again later */
	CLUSTER_MOVED,     /* the slot is at another node: load the map */
	CLUSTER_ASK        /* this time, ask another node */
};

/*
 * The advice in an error's text. With CLUSTER_MOVED and CLUSTER_ASK, `host` (""
 * for the one that was asked) and `port` are set.
 */
enum cluster_advice cluster_advice(const char *text, char host[256],
    int *port);

#endif
