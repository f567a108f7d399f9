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

/* What the reply to a request in memcached's protocol depends on. */
struct reply_form {
	enum verb verb;        /* the request's verb, or VERB_GET_END */
	uint8_t several;       /* is it one of several keys of a get? */
	uint8_t with_cas;      /* is the request gets? */
	uint8_t noreply;       /* is no answer wanted, not even an error? */
	struct bytes key;      /* the key, which values repeat */
};

/* A subkey that is looked up, or a reply that waits for those before it. */
struct operation {
	struct served *served; /* its filter; NULL: it is only a reply */
	struct bytes subkey;
	enum action action;
	/* The next five are for client->answer. */
	int ends_array;
	uint64_t array;        /* the request whose array of replies has this
	                        * one, counted from 1 on; 0: no array */
	const char *reply;     /* the reply, whatever the outcome; or NULL */
	struct reply_form form; /* form of the reply in memcached's protocol */
	/*
	 * The function that writes the reply, in RESP; NULL: the reply is a
	 * boolean.
	 */
	void (*put)(struct resp *resp, const struct operation *operation,
	    const struct outcome *outcome);
	/* The last one is for sweep.c. */
	uint64_t length;       /* length of a lease, in nanoseconds */
};

/* The result of an operation. */
struct outcome {
	int seen;              /* was the subkey remembered before? */
	int leased;            /* was it leased before? */
	uint64_t left;         /* nanoseconds left of that lease */
	int no_lease;          /* did it fail since the table is full? */
	const char *failure;   /* why it failed, or NULL */
	int status;            /* the status of the failure: STATUS_FULL, ... */
};

/* Is the reply an error, or one that was known before the sweep? */
static inline int
outcome_is_settled(const struct operation *operation,
    const struct outcome *outcome)
{
	return operation->reply != NULL || outcome->failure != NULL;
}

struct sweep;

/* Returns an empty sweep, for sweep_free. */
struct sweep *sweep_new(struct service *service);

/* Free it. Operations that were not carried out are forgotten. */
void sweep_free(struct sweep *sweep);

/*
 * Add a copy of an operation. The bytes it points to, and LOOPS_PADDING bytes
 * after its subkey, must not change until sweep_run. If there is no room, this
 * first runs the sweep. The client is paused if more operations would keep the
 * others waiting: a small window moves on, and syncs its file, again and again.
 */
void sweep_add(struct sweep *sweep, struct client *client,
    const struct operation *operation);

/*
 * Carry out the operations: look up and mark them, with settings->sync sync the
 * filters, and only then write the replies. The sweep is empty then.
 */
void sweep_run(struct sweep *sweep);

/* Returns the number of operations that were added. */
size_t sweep_count(const struct sweep *sweep);

#endif
