/*
 * What the commands of RESP are made of: the request they are given, and how
 * they reply.
 *
 * A command keeps the first words of its request, and is given the others one
 * by one. It writes one reply: either the sweep's operations that it added do
 * (resp_answer), or it does so itself, at its end.
 */
#ifndef SERVE_RESP_COMMAND_H
#define SERVE_RESP_COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include "serve/buffer.h"
#include "serve/client.h"
#include "serve/resp.h"
#include "serve/sweep.h"

/* The most words that are kept of a request. */
#define RESP_KEPT_MAX 24

/* The state of a client that speaks RESP: its request and its queue. */
struct resp {
	struct client *client;
	int resp3;              /* does it speak version 3 of the protocol? */
	uint64_t id;            /* the number of the connection */
	char *name;             /* the name the client gave itself, or NULL */
	struct resp_parser parser;
	/* The request: */
	const struct resp_command *command; /* NULL: an unknown one */
	uint32_t count;         /* the number of its words */
	uint32_t items;         /* the words that were given as items so far */
	uint64_t number;        /* counts the requests, from 1 on */
	char *refusal;          /* the error it is answered with, or NULL */
	/* The words of it that are kept, each with a NUL after it: */
	struct buffer text;
	size_t ends[RESP_KEPT_MAX]; /* offset in `text` at which each of them
				     * ends */
	unsigned kept;          /* the number of these words */
	/* These two are for the command, whose filter is client->served. */
	int missing;            /* there is no such filter, and that is fine */
	uint64_t sum;           /* the integer that say_sum replies with */
	/*
	 * An array of replies to subkeys ends at the first error, as in
	 * RedisBloom: items after it are neither looked at nor answered. So
	 * how long it is is not known before.
	 */
	struct buffer array;    /* its replies, until it is complete */
	uint32_t array_count;   /* their number */
	uint64_t array_failed;  /* the request whose array last had an error */
	int array_closed;       /* does this request's array take no more? */
	/* MULTI: */
	int queuing;            /* are requests queued, not carried out? */
	int queue_failed;       /* was one of them refused? */
	uint32_t queue_count;
	struct buffer queue;    /* their bytes; LOOPS_PADDING more after EXEC */
	size_t turn_bytes;      /* bytes of the queue that were carried out
	                         * since the client was paused last */
};

/* A command, and the functions that carry it out. */
struct resp_command {
	const char *name;       /* name of the command, in lower case */
	int at_once;            /* is it carried out even after MULTI? */
	uint32_t least, most;   /* the number of words, with the name; a `most`
	                         * of 0 is no limit */
	unsigned kept;          /* the number of words kept; 0 is all */
	const char *until;      /* the last word that is kept; NULL: `kept`
				 * decides */
	int asks;               /* does it look up subkeys without marking? */
	int array;              /* does it reply to subkeys with an array? */
	/*
	 * Called, unless they are NULL or the request has been refused:
	 * `begin` when the words to be kept are complete; `item` for each
	 * other word, whose data is NULL if it is too long; `end` at the end of
	 * the request, to write the reply. Each may refuse it (resp_refuse).
	 */
	void (*begin)(struct resp *resp);
	void (*item)(struct resp *resp, struct bytes word);
	void (*end)(struct resp *resp);
};

/* The tables of commands, each in the file of that name; they end with NULL. */
extern const struct resp_command resp_filter_commands[],
    resp_connection_commands[], resp_session_commands[],
    resp_lease_commands[];

/* A position among all commands; all zero before the first one. */
struct resp_position {
	size_t table, row;
};

/*
 * Returns the next command, and advances the position past it; NULL after the
 * last one. Those about leases are left out unless the server has `leases`.
 */
const struct resp_command *resp_command_next(struct resp_position *position,
    int leases);

/* Has the command this name, in upper or lower case? */
int resp_command_is(const struct resp_command *command, struct bytes name);

/*
 * Returns the command of that name, in upper or lower case; NULL if there is
 * none.
 */
const struct resp_command *resp_command_find(struct bytes name, int leases);

/*
 * Returns word i of those that were kept, which is valid until the end of the
 * request; an empty one if there are fewer. Word 0 is the name of the command.
 */
struct bytes resp_kept(const struct resp *resp, unsigned i);

/* Returns the same word as a string, which ends at the first NUL in it. */
const char *resp_string(const struct resp *resp, unsigned i);

/* Is word i this one, in upper or lower case? */
int resp_is(const struct resp *resp, unsigned i, const char *word);

/*
 * Answer the request with this error, whose text begins with its code, such as
 * "ERR". Counts it as refused; of several errors of a request, the last counts.
 */
void resp_refuse(struct resp *resp, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Does the same with an error that is counted already, because an operation of
 * the sweep has failed with it.
 */
void resp_fail(struct resp *resp, const char *error);

/* May the client do this (memcached_refusal)? If not, refuse the request. */
int resp_may(struct resp *resp, enum verb verb);

/* Write the replies to earlier requests. To be called before another reply. */
void resp_answer_earlier(struct resp *resp);

/* Write the reply to a subkey; this is client->answer. */
void resp_answer(struct client *client, const struct operation *operation,
    const struct outcome *outcome);

/*
 * If an operation of the sweep has failed, add the error that is its reply to
 * `to`. Returns whether it has failed.
 */
int resp_put_failure(struct buffer *to, const struct operation *operation,
    const struct outcome *outcome);

/*
 * Give back the lease of `key`, a word of DEL, and add 1 to resp->sum if it had
 * one. Returns 1; 0 if there are no leases, or if the key is not FILTER|SUBKEY.
 */
int resp_return_lease(struct resp *resp, struct bytes key);

/* Write a part of a reply, in the version of the protocol of the client. */
void resp_put_simple(struct resp *resp, const char *text);
void resp_put_error(struct resp *resp, const char *text);
void resp_put_integer(struct resp *resp, uint64_t value);
void resp_put_bulk(struct resp *resp, const void *data, size_t nbytes);
void resp_put_text(struct resp *resp, const char *text);
void resp_put_null(struct resp *resp);
void resp_put_array(struct resp *resp, size_t count);
void resp_put_map(struct resp *resp, size_t count);

#endif
