/*
 * The location of a filter, as written on the command line: the path of a file,
 * or the address of a Redis server.
 *
 *     redis://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]].../NAME
 *     rediss://...[?certificate=FILE] (with TLS)
 *     redis+unix://[USER:PASSWORD@]/PATH?name=NAME
 *
 * The schemes may also be written with valkey in place of redis, and in upper
 * or lower case. Several HOSTs are nodes of a cluster, of which some may be
 * down. HOST is a name, an IPv4 address, or an IPv6 address in brackets. USER
 * may be empty (the default user). Without a password in the address, the one
 * in the environment variable REDISCLI_AUTH is used. FILE has the client's
 * certificate. %XX stands for a byte, in all parts; an @ must be written so,
 * and so must a / or ? in NAME. NAME cannot be a number, which would be a
 * database elsewhere.
 */
#ifndef REDIS_ADDRESS_H
#define REDIS_ADDRESS_H

#include <stddef.h>

#include "base/error.h"

#define ADDRESS_PORT 6379

/* The longest name of a filter on a server, in bytes. */
#define ADDRESS_NAME_MAX 200

/* The most hosts of an address. */
#define ADDRESS_HOSTS_MAX 64

struct address_host {
	char *name;
	int port;
};

struct address {
	/* The hosts and ports of the server, or of nodes of the cluster. */
	struct address_host hosts[ADDRESS_HOSTS_MAX];
	size_t count;    /* 0: a socket in the file system */
	int tls;
	char *path;      /* the path of that socket, or NULL */
	char *user;      /* NULL: the default user */
	char *password;  /* NULL: none */
	char *certificate; /* the PEM file with the client's certificate and
	                      key, or NULL */
	char *name;      /* the filter's name, without braces, blanks and
	                    control bytes */
	char *shown;     /* the address without user and password, for
	                    messages */
};

/* Does the text name a server, not a file? "redis:..." and the like. */
int address_is_server(const char *text);

/*
 * Does it look like the address of something else: "SCHEME://..." with a scheme
 * that no server has? A file of such a name is written "./SCHEME://...".
 */
int address_is_foreign(const char *text);

/* Fill `error` (STATUS_USAGE) for a location that is foreign; returns -1. */
int address_refuse(const char *text, struct error *error);

/*
 * Parse the address of a server into *location, which owns its strings until
 * address_free. Returns 0, or -1 with `error` filled (STATUS_USAGE): its text
 * shows no password, and there is nothing to free.
 */
int address_parse(struct address *location, const char *text,
    struct error *error);

/* Free what address_parse has filled; nothing if all of it is zero. */
void address_free(struct address *location);

#endif
