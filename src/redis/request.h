/*
 * One request of redis_net: its commands as the bytes that are sent, how much
 * of them was sent, and the replies that have come.
 */
#ifndef REDIS_REQUEST_H
#define REDIS_REQUEST_H

#include <hiredis/hiredis.h>
#include <stddef.h>
#include <sys/uio.h>

#include "redis/answer.h"

struct request {
	struct request *next;
	redis_answer *answer;
	void *context;
	size_t tag;
	unsigned slot, flags;
	int node;             /* a node that it is for, or -1: by its slot */
	int asking;           /* is each command sent after ASKING? */
	size_t commands, answered;
	redisReply **replies; /* `commands` */
	size_t asked;         /* replies to ASKING */
	char *bytes;
	size_t nbytes, room, sent, cost;
	char *with_asking;    /* the bytes sent in that case; or NULL */
	size_t with_asking_bytes;
};

struct request *request_new(unsigned slot, unsigned flags,
    redis_answer *answer, void *context, size_t tag);
void request_free(struct request *request);

/* Add bytes of commands; the beginning of a command of some words; a word. */
void request_add_bytes(struct request *request, const void *data,
    size_t nbytes);
void request_add_command(struct request *request, size_t words);
void request_add_word(struct request *request, const void *data,
    size_t nbytes);

/* It is complete, and its replies will have about `reply_bytes` bytes. */
void request_end(struct request *request, size_t reply_bytes);

/* Back to the state before it was sent. */
void request_reset(struct request *request);

/*
 * It will be sent to a node that doesn't have its slot yet, with ASKING, which
 * holds for one command, before each command. Not for a MULTI.
 */
void request_ask(struct request *request, int node);

/* It will be sent to the node that has its slot. */
void request_ask_no_more(struct request *request);

/* How many bytes it takes to send it. */
size_t request_length(const struct request *request);

#define REQUEST_PARTS 64

/* The next bytes of a list of requests that are to be sent; returns how many
 * parts there are. */
int request_gather(struct request *first, struct iovec parts[REQUEST_PARTS]);

/* Take the next reply. Returns 1 if it was the last one. */
int request_take(struct request *request, redisReply *reply);

/* The first error among the replies, NULL if there is none. */
const char *request_error(const struct request *request);

#endif
