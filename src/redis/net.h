/*
 * Requests to a Redis server, or to the nodes of a cluster, which is detected
 * at the start. A request is one or several commands for keys of one slot. They
 * are sent one after the other, answered together, and repeated together after
 * a lost connection or a temporary error: so a request must be safe to repeat,
 * or say that it isn't (REQUEST_ONCE).
 *
 * Many requests are under way at once, within a bound of bytes; to each node
 * they go in order. A temporary error is retried, with growing pauses, until
 * `retry_ms` have passed without any success.
 *
 * Functions return 0, or -1 with `error` filled. After a failure no more
 * requests can be made.
 */
#ifndef REDIS_NET_H
#define REDIS_NET_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/address.h"
#include "redis/answer.h"
#include "redis/retry.h"

struct redis_net;

/*
 * Connect. `location` must stay unchanged until the net is closed. Retries that
 * take more than a second are reported to `notice`, once.
 */
int redis_net_open(struct redis_net **net, const struct address *location,
    uint64_t retry_ms, void (*notice)(const char *text), struct error *error);
void redis_net_close(struct redis_net *net);

/* How many nodes are known. */
size_t redis_net_nodes(const struct redis_net *net);

/* How often a connection was lost. */
uint64_t redis_net_losses(const struct redis_net *net);

/* How requests are retried: for callers that must do that themselves. */
struct retry redis_net_retry(const struct redis_net *net);

const struct redis_figures *redis_net_figures(const struct redis_net *net);

/*
 * Make a request: begin, then for each command the number of its words, and the
 * words, then end. Nothing else may be called between begin and end. If too
 * much is under way, `end` waits until it is less.
 */
void redis_net_begin(struct redis_net *net, unsigned slot, unsigned flags,
    redis_answer *answer, void *context, size_t tag);
void redis_net_command(struct redis_net *net, size_t words);
void redis_net_word(struct redis_net *net, const void *data, size_t nbytes);
void redis_net_text(struct redis_net *net, const char *word);
void redis_net_number(struct redis_net *net, int64_t number);

/* Add a command in wire format (redisFormatCommand). */
void redis_net_formatted(struct redis_net *net, const char *command,
    size_t nbytes);

/*
 * Begin a request with REQUEST_ONCE to a node, given by its number, which
 * becomes the tag. Returns 0, with nothing begun, if the node is not connected.
 */
int redis_net_begin_at(struct redis_net *net, size_t node,
    redis_answer *answer, void *context);

/* `reply_bytes`: about how long all replies will be. */
int redis_net_end(struct redis_net *net, size_t reply_bytes,
    struct error *error);

/* Send what can be sent without waiting. */
int redis_net_flush(struct redis_net *net, struct error *error);

/* Wait until all requests are answered. */
int redis_net_finish(struct redis_net *net, struct error *error);

/* Are there requests that are not answered? */
int redis_net_is_busy(const struct redis_net *net);

#endif
