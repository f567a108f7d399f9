/*
 * Carries out memcached's requests (protocol.h), and writes the replies. Those
 * about the server or a whole filter are in admin.h.
 */
#ifndef MEMCACHED_H
#define MEMCACHED_H

#include "serve/client.h"

/* For client->take and client->answer. */
size_t memcached_take(struct client *client, const uint8_t *data,
    size_t nbytes, int *more);
void memcached_answer(struct client *client,
    const struct operation *operation, const struct outcome *outcome);

#endif
