/*
 * One turn of the server: the requests that all clients have ready, as one
 * batch for each filter. The replies are as if the requests had been carried
 * out one by one, in the order in which they were added.
 */
#ifndef TURN_H
#define TURN_H

#include <stddef.h>

#include "serve/protocol.h"
#include "serve/replies.h"
#include "serve/service.h"

/* The receiver of replies. */
struct asker {
	struct replies replies;
	int in_get;     /* the replies to a get line have begun, */
	int get_failed; /* and it has failed */
	size_t owed;    /* about how many bytes of replies wait for turn_run */
};

struct turn;

struct turn *turn_new(struct service *service);
void turn_free(struct turn *turn);

/*
 * Add a request for which turn_is_alone returns 0. The bytes it points to, and
 * LOOPS_PADDING bytes after them, must not change until turn_run. Returns how
 * many bytes the reply may have. If there is no room, runs the turn first.
 */
size_t turn_add(struct turn *turn, struct asker *asker,
    const struct request *request);

/*
 * Carry out the requests: look up and mark, write back and sync as the plan
 * says, and only then write the replies.
 */
void turn_run(struct turn *turn);

/* How many requests were added. */
size_t turn_count(const struct turn *turn);

/*
 * Is it a request about the server or about a whole filter? Such a request is
 * carried out by itself (admin.h), after a turn_run.
 */
int turn_is_alone(const struct request *request);

/* Between turns: do work that makes the next ones faster. */
void turn_idle(struct turn *turn);

#endif
