/*
 * Single commands, which wait for their reply; built on redis_net, whose
 * contract applies.
 */
#ifndef REDIS_CALL_H
#define REDIS_CALL_H

#include <hiredis/hiredis.h>

#include "base/error.h"
#include "redis/net.h"

/* An answer function for replies that don't matter. */
redis_answer redis_ignore;

/*
 * Request a single command and wait; the reply is to be freed. `format` as for
 * redisCommand: words separated by blanks, %s a string, %b bytes with their
 * size_t length. With REQUEST_ONCE, NULL and error->status STATUS_OK: lost.
 */
redisReply *redis_call(struct redis_net *net, unsigned slot, unsigned flags,
    struct error *error, const char *format, ...);

/*
 * The same to every connected node: for commands about a connection, such as
 * "WAIT 1 1000". If a connection is lost, the outcome is REDIS_LOST.
 */
int redis_call_all(struct redis_net *net, redis_answer *answer, void *context,
    struct error *error, const char *command);

#endif
