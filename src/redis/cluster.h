/*
 * Which node of a Redis cluster has a key: its slot is CRC-16 (XMODEM) of what
 * is between the key's braces, modulo 16384; a map says which node has a slot.
 * See the Redis cluster specification, "Key distribution model". Makes no
 * connections.
 */
#ifndef REDIS_CLUSTER_H
#define REDIS_CLUSTER_H

#include <stddef.h>

#define CLUSTER_SLOTS 16384u

/* The slot of a key, by its hash tag if it has one. */
unsigned cluster_slot(const char *key, size_t nbytes);

/* What an error asks the client to do. */
enum cluster_advice {
	CLUSTER_FAIL,      /* it won't pass: tell the caller */
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
