/*
 * Where a server listens, as people write it: HOST, HOST:PORT, [HOST] or
 * [HOST]:PORT. In brackets, HOST may have colons, as an IPv6 address has.
 */
#ifndef BASE_HOST_H
#define BASE_HOST_H

#include <stddef.h>

#define HOST_PORT_MAX 65535

struct host {
	const char *name; /* points into the text; without the brackets */
	size_t nbytes;    /* length of the name, which may be empty */
	int port;         /* 0 to HOST_PORT_MAX, or -1 if there is none */
};

enum host_state {
	HOST_OK,
	HOST_OPEN,    /* a [ lacks its ] */
	HOST_NO_PORT  /* something else than a colon and a port follows */
};

/*
 * Divide the `nbytes` bytes of `text`. The port is of digits alone: 1e4 and 12k
 * are numbers elsewhere, but no ports. `host` is filled in full only with
 * HOST_OK; with HOST_NO_PORT, its name is.
 */
enum host_state host_split(struct host *host, const char *text, size_t nbytes);

#endif
