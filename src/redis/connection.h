/*
 * One connection to a Redis server. hiredis opens it and parses the replies;
 * writing and waiting are done here, since a write must not raise SIGPIPE and
 * many connections are waited for at once.
 *
 * Functions return 0, or -1 with `error` filled (STATUS_FAILED; the text has
 * the location's name). After a failure of send or receive the connection is
 * useless and must be closed.
 */
#ifndef REDIS_CONNECTION_H
#define REDIS_CONNECTION_H

#include <hiredis/hiredis.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"
#include "redis/address.h"

struct connection;

/*
 * Connect to host:port (or the location's socket if host is NULL) and
 * authenticate with the location's user and password, if there are any. If the
 * server refuses them, fails with STATUS_USAGE: retrying is useless.
 */
int connection_open(struct connection **connection,
    const struct address *location, const char *host, int port,
    struct error *error);
void connection_close(struct connection *connection);

int connection_fd(const struct connection *connection);

/* Send what the socket takes now: *sent bytes, which may be none. */
int connection_send(struct connection *connection, const struct iovec *parts,
    int count, size_t *sent, struct error *error);

/* Read what has arrived: *received bytes, which may be none. */
int connection_receive(struct connection *connection, size_t *received,
    struct error *error);

/* The next complete reply, to be freed; NULL if it has not arrived yet. */
int connection_reply(struct connection *connection, redisReply **reply,
    struct error *error);

/*
 * CLUSTER SLOTS, waited for, on a connection that is used for nothing else; to
 * be freed. NULL: the connection failed.
 */
redisReply *connection_slots(struct connection *connection,
    struct error *error);

#endif
