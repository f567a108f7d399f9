/*
 * What the commands of RESP are made of: the request they are given, and how
 * they reply.
 *
 * A command keeps the first words of its request, and is given the others one
 * by one. It writes one reply: either the sweep's operations that it added do
 * (resp_answer), or it does so itself, at its end.
 */
#ifndef RESP_COMMAND_H
#define RESP_COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include "serve/bytes.h"
#include "serve/service.h"
#include "serve/sweep.h"

/* The most words that are kept of a request. */
#define RESP_KEPT_MAX 24

struct resp_request {
	struct service *service;
	struct sweep *sweep;
	struct asker *asker;
	int local;              /* it came through a unix socket */
	const struct resp_command *command;
	uint32_t count;         /* words of the request */
	uint32_t items;         /* of them, given one by one so far */
	char *refusal;          /* the error it is answered with, or NULL */
	/* The words kept, each with a NUL after it. */
	char *text;
	size_t text_bytes, text_capacity;
	size_t ends[RESP_KEPT_MAX];
	unsigned kept;
	/* For the command: */
	struct served *served;  /* its filter; NULL: not known now */
	int missing;            /* there is no such filter, and that is fine */
	int failed;             /* an item failed: the others aren't tried */
	uint64_t sum;
	int costly;             /* it took long, as for a whole filter */
	/* Of the connection: */
	uint64_t id;
	char *name;             /* or NULL */
	int hang_up;            /* after this request */
};

/* What the session does itself. */
enum resp_role {
	RESP_ORDINARY,
	RESP_MULTI,
	RESP_EXEC,
	RESP_DISCARD,
	RESP_QUIT
};

struct resp_command {
	const char *name;       /* in lower case */
	enum resp_role role;
	uint32_t least, most;   /* words, with the name; 0: any number */
	unsigned kept;          /* the words kept, or all */
	const char *until;      /* or those up to this word; or NULL */
	int keys;               /* 1: word 1 is a key; -1: and all others */
	int asks;               /* of a subkey: it only looks it up */
	int array;              /* of subkeys: it replies with an array */
	/*
	 * The words to be kept are complete; an item, whose data is NULL if it
	 * is too long; the end, where the reply is written. Or NULL.
	 */
	void (*begin)(struct resp_request *request);
	void (*item)(struct resp_request *request, struct bytes word);
	void (*end)(struct resp_request *request);
};

/*
 * In resp_filters.c, resp_keys.c and resp_connection.c; the last one has no
 * name.
 */
extern const struct resp_command resp_filter_commands[], resp_key_commands[],
    resp_connection_commands[];

/* The command of that name, in any case; NULL if there is none. */
const struct resp_command *resp_command_find(struct bytes name);

/* A word that was kept; empty if there is none. Word 0 is the name. */
struct bytes resp_kept(const struct resp_request *request, unsigned i);
/* The same as a string: it ends at a NUL in it. */
const char *resp_string(const struct resp_request *request, unsigned i);
/* Is it this word, in any case? `word` is in upper case. */
int resp_is(const struct resp_request *request, unsigned i, const char *word);
/* A word that is a whole number, as Redis takes it. Returns 0, or -1. */
int resp_integer(const struct resp_request *request, unsigned i,
    int64_t *value);

/* The request is answered with this error, which begins with its code. */
void resp_refuse(struct resp_request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Before a reply is written directly: those to earlier requests of the
 * connection are written first.
 */
void resp_answer_earlier(struct resp_request *request);

/* For asker.answer: the reply to a subkey. */
void resp_answer(struct service *service, struct asker *asker,
    const struct operation *operation, const struct outcome *outcome);

/* Parts of a reply, in the version of the protocol that the asker speaks. */
void resp_put_simple(struct asker *asker, const char *text);
void resp_put_error(struct asker *asker, const char *text);
void resp_put_integer(struct asker *asker, uint64_t value);
void resp_put_bulk(struct asker *asker, const void *data, size_t nbytes);
void resp_put_text(struct asker *asker, const char *text);
void resp_put_null(struct asker *asker);
void resp_put_array(struct asker *asker, size_t count);
void resp_put_map(struct asker *asker, size_t count);

#endif
