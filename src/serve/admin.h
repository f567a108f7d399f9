/*
 * Requests about the server or a whole filter: add NAME, delete, stats, try,
 * setmem, version, verbosity. Each is carried out at once.
 */
#ifndef ADMIN_H
#define ADMIN_H

#include <stdint.h>

#include "disk/format.h"
#include "serve/client.h"

void admin_answer(struct client *client, const struct request *request);

/*
 * Why a client may not do this; NULL if it may. `verb` is VERB_SET (of a
 * subkey), VERB_ADD (of a filter), VERB_DELETE or VERB_SETMEM; all may do
 * anything else.
 */
const char *admin_refusal(const struct client *client, enum verb verb);

/*
 * A filter's window. One of lines must be *lines, which are rounded up like it.
 * Returns 0, or -1.
 */
int admin_parse_window(struct window *window, uint64_t *lines,
    const char *text);

#endif
