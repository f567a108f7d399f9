/* Outcomes of requests to a server, for the code that makes them. */
#ifndef REDIS_ANSWER_H
#define REDIS_ANSWER_H

#include <hiredis/hiredis.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct redis_figures {
	uint64_t round_trips; /* how often replies were waited for */
	uint64_t bytes_sent;
	uint64_t bytes_received;
};

/* What became of a request. */
enum redis_outcome {
	REDIS_ANSWERED,
	/*
	 * REQUEST_SEVERAL_KEYS: its slot is migrating to another node, and
	 * meanwhile only commands with one key work. It may have been done in
	 * part.
	 */
	REDIS_MIGRATING,
	/* REQUEST_ONCE: the connection was lost; it may have been done. */
	REDIS_LOST
};

enum { /* flags of a request */
	REQUEST_SEVERAL_KEYS = 1,
	REQUEST_ONCE = 2,
	/* Permanent errors are passed on as replies. */
	REQUEST_ERRORS = 4,
	/*
	 * With REQUEST_ONCE: it depends on an earlier request of the same
	 * connection (WATCH), so it is not made again; but it follows ASK, as
	 * that request did. Temporary errors are passed on as replies.
	 */
	REQUEST_WATCHED = 8
};

/* What an answer function returns to have the same request made again. */
#define REDIS_AGAIN 1

/*
 * Called once for each request with the replies to its commands (none if it
 * was not answered), of which none is an error. Returns 0, REDIS_AGAIN, or -1,
 * which is a failure of the whole net. It may begin new requests.
 */
typedef int redis_answer(void *context, size_t tag,
    enum redis_outcome outcome, redisReply *const *replies, size_t count,
    struct error *error);

#endif
