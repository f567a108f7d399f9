/*
 * Connecting to a server, and asking it one thing at a time before a connection
 * is used for many requests (node.h). hiredis connects and parses, OpenSSL
 * encrypts; nothing waits for longer than `patience` nanoseconds (patience.h),
 * but looking up a host's name takes as long as the system lets it.
 *
 * Functions return NULL or -1 on failure, with `error` filled: STATUS_FAILED,
 * or STATUS_USAGE if trying again is useless. The text begins with the
 * location's name.
 */
#ifndef REDIS_CONNECT_H
#define REDIS_CONNECT_H

#include <hiredis/hiredis.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/address.h"

/*
 * Connect to a host (NULL: the location's socket), begin TLS if the location
 * has it, and authenticate with its user and password, if there are any. The
 * connection does not block, and belongs to the caller.
 */
redisContext *connect_to(const struct address *location, const char *host,
    int port, uint64_t patience, struct error *error);

/*
 * Make a command on a connection that has no others, and wait for the reply,
 * which the caller frees.
 */
redisReply *connect_ask(const struct address *location, redisContext *context,
    const char **words, int n, uint64_t patience, struct error *error);

/*
 * Fill `error` with the reason for which hiredis gave a connection up. Returns
 * -1.
 */
int connect_lost(const struct address *location, const redisContext *context,
    struct error *error);

/*
 * No answer is longer: a batch of questions has 4 MB, and its answers are
 * shorter.
 */
#define CONNECT_ANSWER_MAX ((size_t)8 << 20)

/* Fill `error` for an answer that is longer; asking again is useless. */
int connect_too_long(const struct address *location, struct error *error);

/*
 * Read what has arrived, as redisBufferRead, and add its number of bytes to
 * *received.
 */
int connect_read(redisContext *context, size_t *received);

#endif
