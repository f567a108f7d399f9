/*
 * A connection that speaks RESP: collects the words of its requests, finds the
 * command, and carries it out: at once, or, between MULTI and EXEC, later. Used
 * by client.c. What commands use of a session is in resp_command.h.
 */
#ifndef RESP_SESSION_H
#define RESP_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include "serve/service.h"
#include "serve/sweep.h"

struct resp_session;

/* `local`: it came through a unix socket. Sets asker->answer. */
struct resp_session *resp_session_new(struct service *service,
    struct sweep *sweep, struct asker *asker, int local);
void resp_session_free(struct resp_session *session); /* NULL is none */

/*
 * The caller has been elsewhere: filters may be gone. To be called before
 * resp_session_take is called again, as often as is wanted.
 */
void resp_session_resume(struct resp_session *session);

enum resp_progress {
	RESP_WENT_ON,    /* call it again */
	RESP_NEEDS_MORE, /* bytes, as after RESP_MORE */
	RESP_PAUSES,     /* it took long: the others come first */
	RESP_HANGS_UP    /* no more requests are read */
};

/*
 * Take a word of the bytes that have arrived, or of requests that are queued.
 * *used becomes the number of bytes that were consumed. The bytes, and
 * LOOPS_PADDING after them, must not change until sweep_run.
 */
enum resp_progress resp_session_take(struct resp_session *session,
    const uint8_t *data, size_t nbytes, size_t *used);

/* Is there work for resp_session_take even without bytes? */
int resp_session_is_busy(const struct resp_session *session);

#endif
