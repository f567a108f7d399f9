/*
 * The exchange with the nodes: sends requests, passes replies to the answer
 * functions, and retries after temporary errors. Functions return 0, or -1 with
 * `error` filled.
 */
#ifndef REDIS_EXCHANGE_H
#define REDIS_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "redis/answer.h"
#include "redis/nodes.h"
#include "redis/request.h"
#include "redis/retry.h"

struct exchange {
	struct nodes nodes;
	struct request *again, **again_last; /* to be tried again */
	struct retry retry;
	size_t in_flight, unanswered;   /* bytes, requests */
	int answering;                  /* an answer function is running */
	uint64_t losses;                /* of connections */
	struct redis_figures figures;
};

/* Find the nodes. */
int exchange_open(struct exchange *exchange, const struct address *location,
    uint64_t retry_ms, void (*notice)(const char *text), struct error *error);
void exchange_free(struct exchange *exchange);

/* Queue a complete request; it is freed once it is answered. */
void exchange_add(struct exchange *exchange, struct request *request);

/* Send what can be sent without waiting. */
int exchange_flush(struct exchange *exchange, struct error *error);

/*
 * Go on until at most `bytes` are in flight, or `requests` unanswered. Does
 * nothing while an answer function runs.
 */
int exchange_go_on(struct exchange *exchange, size_t bytes, size_t requests,
    struct error *error);

#endif
