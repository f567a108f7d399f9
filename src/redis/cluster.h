/*
 * Which node of a Redis cluster has a key: its slot is CRC-16 (XMODEM) of what
 * is between the key's braces, modulo 16384; a map says which node has a slot.
 * See the Redis cluster specification, "Key distribution model". Makes no
 * connections.
 */
#ifndef REDIS_CLUSTER_H
#define REDIS_CLUSTER_H

#include <stddef.h>
#include <stdint.h>
#include <hiredis/hiredis.h>

#define CLUSTER_SLOTS 16384u

/* The slot of a key, by its hash tag if it has one. */
unsigned cluster_slot(const char *key, size_t nbytes);

/* The address of another node, as the server gives it. */
struct cluster_address {
	char host[256]; /* "": the host that was asked */
	int port;
};

/*
 * Visit the ranges of a reply to CLUSTER SLOTS: the slots [first, last] and the
 * node that has them; replicas come with first > last. Returns -1 if it isn't
 * such a reply.
 */
typedef void cluster_visit(void *context, unsigned first, unsigned last,
    const struct cluster_address *address);
int cluster_read_slots(const redisReply *reply, cluster_visit *visit,
    void *context);

/* What an error asks the client to do. */
enum cluster_advice {
	CLUSTER_FAIL,      /* permanent */
	CLUSTER_WAIT,      /* try again later */
	CLUSTER_MOVED,     /* the slot is at another node: load the map */
	CLUSTER_ASK        /* this time, ask another node */
};

/* The advice in an error's text; *address is set for MOVED and ASK. */
enum cluster_advice cluster_advice(const char *text,
    struct cluster_address *address);

#endif
