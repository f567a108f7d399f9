/*
 * What memcached's requests about subkeys (protocol.h) mean, and the replies to
 * them. Requests about the server or a whole filter are in admin.h.
 */
#ifndef MEMCACHED_H
#define MEMCACHED_H

#include "serve/protocol.h"
#include "serve/sweep.h"

/*
 * Is it a request about the server or about a whole filter? Such a request is
 * carried out by itself (admin.h), after a sweep_run.
 */
int memcached_is_alone(const struct request *request);

/* Add any other request to the sweep, which needs its bytes (sweep_add). */
void memcached_add(struct service *service, struct sweep *sweep,
    struct asker *asker, const struct request *request);

/* For asker.answer. */
void memcached_answer(struct service *service, struct asker *asker,
    const struct operation *operation, const struct outcome *outcome);

#endif
