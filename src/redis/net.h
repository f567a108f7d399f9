/*
 * Requests to a Redis server, or to the nodes of a cluster, which is detected
 * at the start. A request is one command with one key. Many are under way at
 * once, within a bound of bytes; to each node they go in order. A request that
 * was refused for a time, or whose connection was lost, is made again, with
 * growing pauses, until `retry_ms` have passed without any success: so it must
 * be safe to repeat, or say what may be done with it (enum care in node.h).
 * Those of one slot are repeated in their order.
 *
 * Functions return 0, or -1 with `error` filled. After a failure nothing is
 * sent any more: all fail at once, and leave `error` alone.
 */
#ifndef REDIS_NET_H
#define REDIS_NET_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/address.h"
#include "redis/node.h"

struct net;

/*
 * Connect. *net becomes the caller's, to be closed. `location` must stay
 * unchanged until then. A server that cannot be reached is waited for as long
 * as for a repeated request, or not at all if not `patient`. Waiting for more
 * than a second is reported to `notice`, once.
 */
int net_open(struct net **net, const struct address *location,
    uint64_t retry_ms, int patient, void (*notice)(const char *text),
    struct error *error);

/* Close all connections and free the net. NULL does nothing. */
void net_close(struct net *net);

/*
 * Make a request of `words` words for a slot: net_begin, one call for each
 * word, which is copied, then net_end, and nothing else in between. `answer` is
 * called once, with `context` and `tag`, by this or a later function of the
 * net. If too much is under way, net_end waits.
 */
void net_begin(struct net *net, unsigned slot, enum care care,
    redis_answer *answer, void *context, size_t tag, size_t words);
void net_word(struct net *net, const void *data, size_t nbytes);
void net_text(struct net *net, const char *word);
void net_number(struct net *net, int64_t number);
int net_end(struct net *net, struct error *error);

/*
 * Answer all requests that were not answered, with FATE_LOST or
 * FATE_UNSENT, after a failure, when nothing is sent any more.
 */
void net_abandon(struct net *net);

/* Send what can be sent without waiting. */
int net_flush(struct net *net, struct error *error);

/* Wait until all requests are answered. */
int net_finish(struct net *net, struct error *error);

/*
 * End a series of requests, the making of which has given `result`: wait until
 * all requests are answered, or after a failure, answer them by net_abandon.
 * Either way, nothing that an answer refers to is needed any more.
 */
int net_settle(struct net *net, int result, struct error *error);

/* Are there requests that are not answered? */
int net_is_busy(const struct net *net);

/* Returns how many requests were repeated so far. */
uint64_t net_repeats(const struct net *net);

/*
 * Make a single command for a key and wait for the reply, which the caller
 * frees; NULL on failure. `format` is as for redisCommand: words separated by
 * blanks, %s a string, %b bytes with their size_t length.
 */
redisReply *net_call(struct net *net, const char *key, struct error *error,
    const char *format, ...);

#endif
