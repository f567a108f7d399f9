/*
 * One sweep of the server over its connections: the subkeys that all clients
 * have asked for, as one batch for each filter. The replies are as if the
 * requests had been carried out one by one, in the order in which they were
 * added. Knows no protocol: a client's function writes its replies.
 */
#ifndef SERVE_SWEEP_H
#define SERVE_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/action.h"
#include "serve/buffer.h"
#include "serve/protocol.h"
#include "serve/service.h"

struct client;
struct outcome;
struct resp;
struct served;

/* A subkey that is looked up, or a reply that waits for those before it. */
struct operation {
	struct served *served; /* its filter; NULL: only a reply */
	struct bytes subkey;
	enum action action;
	uint64_t length;       /* of a lease, in nanoseconds */
	/* for client->answer: */
	const char *reply;     /* instead of an outcome; or NULL */
	struct request request; /* of memcached's protocol */
	uint32_t items;        /* a reply of so many begins with it; or 0 */
	/* in RESP, writes the reply; NULL: it is a boolean */
	void (*put)(struct resp *resp, const struct operation *operation,
	    const struct outcome *outcome);
};

/* What became of it. */
struct outcome {
	int seen;              /* before: 1 or 0 */
	int leased;            /* before: 1 or 0 */
	uint64_t left;         /* of the lease, in nanoseconds */
	int no_lease;          /* it failed since the table is full */
	const char *failure;   /* why it failed, or NULL */
	int status;            /* of the failure: STATUS_FULL, ... */
};

struct sweep;

struct sweep *sweep_new(struct service *service);
void sweep_free(struct sweep *sweep);

/*
 * Add an operation. The bytes it points to, and LOOPS_PADDING bytes after its
 * subkey, must not change until sweep_run. If there is no room, runs the sweep
 * first. The client is paused if more operations would make the others wait for
 * long: a window of few lines moves on, and syncs its file, again and again.
 */
void sweep_add(struct sweep *sweep, struct client *client,
    const struct operation *operation);

/*
 * Carry out the operations: look up and mark, write back and sync as the plan
 * says, and only then write the replies.
 */
void sweep_run(struct sweep *sweep);

/* How many operations were added. */
size_t sweep_count(const struct sweep *sweep);

#endif
