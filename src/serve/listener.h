/*
 * Where serve listens: HOST:PORT, [::1]:PORT, unix:PATH, fd:N.
 */
#ifndef SERVE_LISTENER_H
#define SERVE_LISTENER_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct evconnlistener;

/* A socket that listens: non-blocking, closed by exec. */
struct listener {
	int fd;
	int beyond;     /* other machines may connect */
	char name[300]; /* for messages, with the port chosen for 0 */
	char *path;     /* of a unix socket that we must remove; or NULL */
	struct evconnlistener *event; /* the caller's */
};

struct listeners {
	struct listener *items;
	size_t count;
};

/*
 * Add listeners for the address `text`; a host name may have several addresses.
 * A unix socket gets `socket_mode`; one that nobody listens on is replaced.
 * Returns 0, or -1 with `error` filled (STATUS_USAGE if it is not an address).
 */
int listener_open(struct listeners *listeners, const char *text,
    mode_t socket_mode, struct error *error);

/* Close all, and remove the unix sockets. */
void listeners_close(struct listeners *listeners);

#endif
