/* The figures of the server and its filters, as memcached gives its own. */
#ifndef SERVE_MEMCACHED_STATS_H
#define SERVE_MEMCACHED_STATS_H

#include "serve/buffer.h"
#include "serve/protocol.h"
#include "serve/service.h"

/* Carry out a request of VERB_STATS, and write its reply. */
void memcached_stats(struct service *service, const struct request *request,
    struct buffer *replies);

#endif
