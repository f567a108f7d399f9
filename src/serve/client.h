/* A client: its connection, what it has sent, and the replies to it. */
#ifndef SERVE_CLIENT_H
#define SERVE_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "serve/protocol.h"
#include "serve/buffer.h"
#include "serve/service.h"

struct operation;
struct outcome;

/*
 * What becomes of the requests of a client. The functions below the struct are
 * the transitions, and nothing else assigns a state:
 *
 *   from            when                                      to
 *   open            as many replies wait as it may leave      full
 *                   unread
 *   open            too much waits for all clients            held
 *                   together, and this one leaves replies
 *                   unread
 *   open            its request was costly: the other         paused
 *                   clients come first
 *   full, held,     it is its turn again: a full one has      open
 *   paused          read all its replies, a held one too, or
 *                   others have read theirs, and a paused one
 *                   has waited for a sweep
 *   open, full,     it wants to quit, has sent its last       ended
 *   held, paused    byte, cannot be understood, or was idle
 *                   for too long
 *   any             its socket has failed, or it is ended     broken
 *                   and does not read its last replies
 *
 * Full, held and paused clients may have sent requests that are kept. An ended
 * one is closed as soon as its replies have been sent, a broken one at once.
 */
enum client_state {
	CLIENT_OPEN,   /* its requests are read and taken */
	CLIENT_FULL,
	CLIENT_HELD,
	CLIENT_PAUSED,
	CLIENT_ENDED,  /* no more requests are read */
	CLIENT_BROKEN  /* no more requests are read, and nothing can be sent */
};

struct client {
	struct service *service;
	enum client_state state;
	int fd;
	int surplus;           /* is it one too many, only to be told so? */
	int local;             /* did it come through a unix socket? */
	/* The protocol it speaks: */
	struct protocol protocol; /* the parser of memcached's protocol */
	struct resp *resp;     /* the state of Redis' protocol; or NULL */
	/*
	 * Take a request, or in RESP a word of one, from the `nbytes` bytes at
	 * `data`. Returns the number of bytes taken; *more becomes 1 if the
	 * request is not whole. The bytes, and LOOPS_PADDING after them, must
	 * not change until sweep_run.
	 */
	size_t (*take)(struct client *client, const uint8_t *data,
	    size_t nbytes, int *more);
	/* Write the reply to an operation of the sweep. */
	void (*answer)(struct client *client,
	    const struct operation *operation, const struct outcome *outcome);
	/* Its requests: */
	uint8_t *kept;         /* the bytes that are not consumed yet */
	size_t kept_bytes;     /* their number */
	size_t kept_capacity;
	int begun;             /* has its first byte been looked at? */
	int busy;              /* does `take` have work even without bytes? */
	/* The replies to it: */
	struct buffer replies;
	size_t owed;           /* about the bytes of replies that sweep_run will
	                        * add */
	size_t queued;         /* bytes of memory for requests after MULTI */
	size_t waiting;        /* its share of service->waiting */
	/* Only for RESP: */
	struct served *served; /* its request's filter; NULL: not known now */
	/* Only for server.c: */
	struct event *readable, *writable;
	int reading, writing;  /* are these events waited for? */
	int touched;           /* did it have an event in this sweep? */
	struct client *next_touched;
	struct client *next, **link; /* links of the list of all clients */
};

/* Are more requests taken from it, now or later? */
static inline int
client_goes_on(const struct client *client)
{
	return client->state != CLIENT_ENDED && client->state != CLIENT_BROKEN;
}

/* Does it wait: are its next requests, perhaps, here already? */
static inline int
client_waits(const struct client *client)
{
	return client->state == CLIENT_FULL || client->state == CLIENT_HELD ||
	    client->state == CLIENT_PAUSED;
}

/*
 * Count the bytes that wait for the client: `nbytes` of replies, the requests
 * after MULTI, and those that are not complete.
 */
static inline void
client_count_waiting(struct client *client, size_t nbytes)
{
	nbytes += client->queued + client->kept_capacity;
	client->service->waiting += nbytes - client->waiting;
	client->waiting = nbytes;
}

/* Does as much wait for all clients together as may? */
static inline int
clients_wait_too_much(const struct service *service)
{
	return service->waiting >= service->waiting_max;
}

static inline void
client_fill(struct client *client)
{
	if (client->state == CLIENT_OPEN)
		client->state = CLIENT_FULL;
}

static inline void
client_hold(struct client *client)
{
	if (client->state != CLIENT_OPEN)
		return;
	client->state = CLIENT_HELD;
	client->service->holds_clients = 1;
}

static inline void
client_pause(struct client *client)
{
	if (client->state == CLIENT_OPEN)
		client->state = CLIENT_PAUSED;
}

static inline void
client_reopen(struct client *client)
{
	if (client_waits(client))
		client->state = CLIENT_OPEN;
}

static inline void
client_end(struct client *client)
{
	if (client->state != CLIENT_BROKEN)
		client->state = CLIENT_ENDED;
}

static inline void
client_break(struct client *client)
{
	client->state = CLIENT_BROKEN;
}

/* `take` and `answer` of clients that speak memcached's protocol. */
size_t memcached_take(struct client *client, const uint8_t *data,
    size_t nbytes, int *more);
void memcached_answer(struct client *client,
    const struct operation *operation, const struct outcome *outcome);

/*
 * Returns why a client may not do this; NULL if it may. `verb` is VERB_SET (of
 * a subkey), VERB_ADD (of a filter), VERB_DELETE or VERB_SETMEM; every client
 * may do anything else.
 */
const char *memcached_refusal(const struct client *client, enum verb verb);

/* Make it a client that speaks RESP from now on. */
void resp_begin(struct client *client);

/* Free the state of RESP; NULL does nothing. */
void resp_free(struct resp *resp);

#endif
