/*
 * Requests about the server or a whole filter: add NAME, delete, stats, try,
 * setmem, version, verbosity. Each is carried out at once.
 */
#ifndef ADMIN_H
#define ADMIN_H

#include "serve/protocol.h"
#include "serve/replies.h"
#include "serve/service.h"

/* `local`: the request came through a unix socket. */
void admin_answer(struct service *service, int local,
    const struct request *request, struct replies *replies);

#endif
