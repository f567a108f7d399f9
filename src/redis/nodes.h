/*
 * The nodes of a server (one) or a cluster, and the map of slots to nodes.
 */
#ifndef REDIS_NODES_H
#define REDIS_NODES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/cluster.h"
#include "redis/node.h"

/* All zero at first, except the location. */
struct nodes {
	const struct address *location;
	struct node *first;               /* a list, which only grows */
	int cluster;                      /* it is a cluster, */
	int stale;                        /* and its map must be reloaded */
	struct node *map[CLUSTER_SLOTS];  /* which node has a slot */
};

/* A node, which is added if it is new. */
struct node *nodes_find(struct nodes *nodes, const char *host, int port);

/* Ask the nodes, one after the other, for the map of slots. */
int nodes_load_map(struct nodes *nodes, struct error *error);

/* The node that has a slot. */
struct node *nodes_of_slot(struct nodes *nodes, unsigned slot);

/* Close connections; the queues must be empty. */
void nodes_free(struct nodes *nodes);

#endif
