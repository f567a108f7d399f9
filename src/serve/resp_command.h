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

/* What a client that speaks RESP has besides: its request, and its queue. */
struct resp {
	struct client *client;
	int resp3;              /* version 3 of the protocol */
	uint64_t id;            /* of the connection */
	char *name;             /* that the client gave itself, or NULL */
	struct resp_parser parser;
	/* The request: */
	const struct resp_command *command;
	uint32_t count;         /* words of it */
	uint32_t items;         /* of them, given one by one so far */
	char *refusal;          /* the error it is answered with, or NULL */
	/* The words kept, each with a NUL after it. */
	struct buffer text;
	size_t ends[RESP_KEPT_MAX];
	unsigned kept;
	/* For the command; its filter is client->served: */
	int missing;            /* there is no such filter, and that is fine */
	uint64_t sum;
	/* MULTI: */
	int queuing;            /* requests are queued, not carried out */
	int queue_failed;       /* one of them was refused */
	uint32_t queue_count;   /* requests */
	struct buffer queue;   /* with EXEC, LOOPS_PADDING more bytes */
};

struct resp_command {
	const char *name;       /* in lower case */
	int at_once;            /* also after MULTI */
	uint32_t least, most;   /* words, with the name; 0: any number */
	unsigned kept;          /* the words kept, or all */
	const char *until;      /* or those up to this word; or NULL */
	int asks;               /* of a subkey: it only looks it up */
	int array;              /* of subkeys: it replies with an array */
	/*
	 * The words to be kept are complete; an item, whose data is NULL if it
	 * is too long; the end, where the reply is written. Or NULL.
	 */
	void (*begin)(struct resp *r);
	void (*item)(struct resp *r, struct bytes word);
	void (*end)(struct resp *r);
};

/* In resp_filters.c and so on; the last one has no name. */
extern const struct resp_command resp_filter_commands[],
    resp_connection_commands[], resp_session_commands[],
    resp_lease_commands[];

/*
 * The command of that name, in any case; NULL if there is none. Those about
 * leases are looked for if the server has `leases`.
 */
const struct resp_command *resp_command_find(struct bytes name, int leases);

/* A word that was kept; empty if there is none. Word 0 is the name. */
struct bytes resp_kept(const struct resp *r, unsigned i);
/* The same as a string: it ends at a NUL in it. */
const char *resp_string(const struct resp *r, unsigned i);
/* Is it this word, in any case? `word` is in upper case. */
int resp_is(const struct resp *r, unsigned i, const char *word);

/* The request is answered with this error, which begins with its code. */
void resp_refuse(struct resp *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* May the client do this (memcached_refusal)? If not, it is refused. */
int resp_may(struct resp *r, enum verb verb);

/* Before a direct reply: write those to earlier requests of the client. */
void resp_answer_earlier(struct resp *r);

/* For client->answer: the reply to a subkey. */
void resp_answer(struct client *client, const struct operation *operation,
    const struct outcome *outcome);

/*
 * If an operation of the sweep has failed, write the error that is its reply.
 * Returns whether it has.
 */
int resp_put_failure(struct resp *r, const struct operation *operation,
    const struct outcome *outcome);

/*
 * For DEL: if there are leases, and `key` is FILTER|SUBKEY, give back its
 * lease, and add 1 to r->sum if it had one. Returns 0 if it is another key.
 */
int resp_return_lease(struct resp *r, struct bytes key);

/* Parts of a reply, in the version of the protocol that the client speaks. */
void resp_put_simple(struct resp *r, const char *text);
void resp_put_error(struct resp *r, const char *text);
void resp_put_integer(struct resp *r, uint64_t value);
void resp_put_bulk(struct resp *r, const void *data, size_t nbytes);
void resp_put_text(struct resp *r, const char *text);
void resp_put_null(struct resp *r);
void resp_put_array(struct resp *r, size_t count);
void resp_put_map(struct resp *r, size_t count);

#endif
