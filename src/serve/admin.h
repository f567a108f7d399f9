/*
 * Requests about the server or a whole filter: add NAME, delete, stats, try,
 * setmem, version, verbosity. Each is carried out at once.
 */
#ifndef ADMIN_H
#define ADMIN_H

#include <stdint.h>

#include "disk/format.h"
#include "serve/protocol.h"
#include "serve/replies.h"
#include "serve/service.h"

/* `local`: the request came through a unix socket. */
void admin_answer(struct service *service, int local,
    const struct request *request, struct replies *replies);

/*
 * Why a client may not make this request; NULL if it may. `verb` is VERB_ADD
 * (of a filter), VERB_DELETE or VERB_SETMEM.
 */
const char *admin_refusal(const struct serve_settings *plan, int local,
    enum verb verb);

/*
 * A filter's window. One of lines must be *lines, which are rounded up like it.
 * Returns 0, or -1.
 */
int admin_parse_window(struct window *window, uint64_t *lines,
    const char *text);

#endif
