/* The sockets that serve listens on: HOST:PORT, [::1]:PORT, unix:PATH, fd:N. */
#ifndef SERVE_LISTENER_H
#define SERVE_LISTENER_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct evconnlistener;

/* A socket that listens; it does not block, and exec closes it. */
struct listener {
	int fd;
	int beyond;     /* can other machines connect? */
	char name[300]; /* its address for messages, with the real port */
	char *path;     /* the unix socket to remove at the end, or NULL;
			 * owned */
	struct evconnlistener *event; /* the caller's, who frees it */
};

/* All sockets that a server listens on; all zero at first. */
struct listeners {
	struct listener *items;
	size_t count;
	size_t room;          /* number of items that there is room for */
};

/*
 * Listen on the address `text`, and add a listener to `listeners`, or several
 * if it names a host with several addresses. A unix socket gets `socket_mode`;
 * an existing one on which nobody listens is replaced. Returns 0, or -1 with
 * `error` filled: STATUS_USAGE if `text` is no address. Listeners that were
 * added before a failure stay, until listeners_close.
 */
int listener_open(struct listeners *listeners, const char *text,
    mode_t socket_mode, struct error *error);

/* Close all sockets, remove those of unix, and free the memory. */
void listeners_close(struct listeners *listeners);

#endif
