/*
 * A request: one command for one key, as the bytes that are sent, and how much
 * of them was sent.
 */
#ifndef REDIS_REQUEST_H
#define REDIS_REQUEST_H

#include <hiredis/hiredis.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"

enum { /* flags of a request */
	/* If it was made again after a lost connection, and so may have been
	   done before, its reply is unknown. */
	REQUEST_ONCE = 1,
	/* Errors that won't pass are replies like others. */
	REQUEST_ERRORS = 2
};

/*
 * Called once for each request with its reply, or with NULL if it is unknown
 * (REQUEST_ONCE). Returns 0, or -1, which is a failure of the whole net.
 */
typedef int redis_answer(void *context, size_t tag, redisReply *reply,
    struct error *error);

struct request {
	struct request *next;
	redis_answer *answer;
	void *context;
	size_t tag;
	unsigned slot, flags;
	int node;           /* that takes it before it has the slot, or -1 */
	int asked;          /* the reply to ASKING has come */
	int lost;           /* with REQUEST_ONCE: its first reply is */
	char *bytes;
	size_t nbytes, room, sent;
};

struct request *request_new(unsigned slot, unsigned flags,
    redis_answer *answer, void *context, size_t tag);
void request_free(struct request *request);

/* The number of words, then each of them. */
void request_words(struct request *request, size_t words);
void request_word(struct request *request, const void *data, size_t nbytes);

/* Instead: a command in wire format (redisFormatCommand). */
void request_formatted(struct request *request, const char *command,
    size_t nbytes);

/* Back to the state before it was sent. */
void request_reset(struct request *request);

/* How many bytes it takes to send it: after ASKING, if it has a node. */
size_t request_length(const struct request *request);

#define REQUEST_PARTS 64

/* The next bytes of a list of requests that are to be sent; returns how many
 * parts there are. */
int request_gather(struct request *first, struct iovec parts[REQUEST_PARTS]);

#endif
