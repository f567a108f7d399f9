/*
 * A connection: its socket, the bytes of an incomplete request, and the replies
 * that were not sent yet. Knows nothing of events.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "serve/protocol.h"
#include "serve/resp_session.h"
#include "serve/service.h"
#include "serve/sweep.h"

struct client {
	int fd;
	int local;             /* a unix socket */
	struct asker asker;
	struct protocol protocol;
	struct resp_session *resp; /* if it speaks RESP; or NULL */
	uint8_t *kept;         /* bytes not consumed yet */
	size_t kept_bytes, kept_capacity;
	int full;              /* must read its replies before we read on */
	int paused;            /* the others come first: one costly request a
	                        * sweep; the rest of what was read is kept */
	int begun;             /* its first byte was looked at */
	int hang_up;           /* no more requests are read; close when sent */
	int broken;            /* nothing can be sent any more */
};

/* The buffer for the requests of a sweep, of all clients. */
struct intake;

struct intake *intake_new(struct service *service, struct sweep *sweep);
void intake_free(struct intake *intake);

/* Take over the socket. client_end closes it, but only after sweep_run. */
void client_begin(struct client *client, int fd, int local);
void client_end(struct client *client);

/*
 * Read what has arrived, at most a buffer, and add the requests in it to the
 * sweep; or, after the client was full or paused, those that were left over.
 */
void client_read(struct client *client, struct intake *intake);

/* After sweep_run: send as much as the socket takes. */
void client_send(struct client *client, struct service *service);

/* Is anything left to send? */
int client_is_sending(const struct client *client);

#endif
