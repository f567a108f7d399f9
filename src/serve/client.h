/* A client: its connection, what it has sent, and the replies to it. */
#ifndef CLIENT_H
#define CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "serve/protocol.h"
#include "serve/buffer.h"
#include "serve/service.h"

struct operation;
struct outcome;

struct client {
	struct service *service;
	int fd;
	int local;             /* it came through a unix socket */
	/* The protocol it speaks: */
	struct protocol protocol; /* memcached's */
	struct resp *resp;     /* Redis'; or NULL */
	/*
	 * Take a request, or in RESP a word of one. Returns how many bytes it
	 * had; *more becomes 1 if it isn't whole. The bytes, and LOOPS_PADDING
	 * after them, must not change until sweep_run.
	 */
	size_t (*take)(struct client *client, const uint8_t *data,
	    size_t nbytes, int *more);
	/* Write the reply to an operation of the sweep. */
	void (*answer)(struct client *client,
	    const struct operation *operation, const struct outcome *outcome);
	/* Its requests: */
	uint8_t *kept;         /* bytes not consumed yet */
	size_t kept_bytes, kept_capacity;
	int begun;             /* its first byte was looked at */
	int busy;              /* `take` has work even without bytes */
	int full;              /* must read its replies before we read on */
	int paused;            /* the others come first: one costly request a
	                        * sweep; the rest of what was read is kept */
	int hang_up;           /* no more requests are read; close when sent */
	int broken;            /* nothing can be sent any more */
	/* The replies to it: */
	struct buffer replies;
	size_t owed;           /* about how many bytes wait for sweep_run */
	/* for memcached_answer: */
	int get_failed;        /* the get line that is answered has failed */
	/* for RESP: */
	struct served *served; /* its request's filter; NULL: not known now */
	/* Of server.c: */
	struct event *readable, *writable;
	int reading, writing;  /* these events are waited for */
	int touched;           /* in this sweep */
	struct client *next_touched;
	struct client *next, **link; /* of all */
};

/*
 * Read what has arrived, at most a buffer, and add the requests in it to the
 * sweep; or, after the client was full or paused, those that were left over.
 */
void intake_read(struct client *client);

/* Of memcached's protocol, for `take` and `answer`. */
size_t memcached_take(struct client *client, const uint8_t *data,
    size_t nbytes, int *more);
void memcached_answer(struct client *client,
    const struct operation *operation, const struct outcome *outcome);

/*
 * Why a client may not do this; NULL if it may. `verb` is VERB_SET (of a
 * subkey), VERB_ADD (of a filter), VERB_DELETE or VERB_SETMEM; all may do
 * anything else.
 */
const char *memcached_refusal(const struct client *client, enum verb verb);

/* From now on, the client speaks RESP. */
void resp_begin(struct client *client);
void resp_free(struct resp *resp); /* NULL is none */

#endif
