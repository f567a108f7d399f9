#include "serve/listener.h"

#include <errno.h>
#include <event2/util.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/host.h"
#include "base/number.h"
#include "base/os.h"

/* The kernel limits it to net.core.somaxconn. */
#define BACKLOG 1024
/* The longest name of a host in an address, in bytes. */
#define HOST_MAX 255

static struct listener *
new_listener(struct listeners *listeners)
{
	struct listener *listener;

	listeners->items = memory_grow(listeners->items, &listeners->room,
	    listeners->count + 1, sizeof *listeners->items);
	listener = &listeners->items[listeners->count++];
	*listener = (struct listener){ .fd = -1 };
	return listener;
}

static int
wrong(const char *text, struct error *error)
{
	return error_set(error, STATUS_USAGE, "--listen=%s: an address is"
	    " HOST:PORT, [IPV6]:PORT, unix:PATH or fd:NUMBER", text);
}

static int
failed(const char *text, struct error *error)
{
	return error_set(error, STATUS_FAILED, "--listen=%s: %s", text,
	    strerror(errno));
}

/* Fill in the address and the kind of a socket, which it knows itself. */
static int
describe_socket(struct listener *listener)
{
	struct sockaddr_storage address = { 0 };
	socklen_t length = sizeof address;
	char host[INET6_ADDRSTRLEN + 20], port[8];

	if (getsockname(listener->fd, (struct sockaddr *)&address, &length) < 0)
		return -1;
	if (address.ss_family == AF_UNIX) {
		snprintf(listener->name, sizeof listener->name, "unix:%.*s",
		    (int)sizeof ((struct sockaddr_un *)0)->sun_path,
		    ((struct sockaddr_un *)&address)->sun_path);
		return 0;
	}
	if (getnameinfo((struct sockaddr *)&address, length, host, sizeof host,
	    port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	if (address.ss_family == AF_INET6)
		snprintf(listener->name, sizeof listener->name, "[%s]:%s", host,
		    port);
	else
		snprintf(listener->name, sizeof listener->name, "%s:%s", host,
		    port);
	listener->beyond = strncmp(listener->name, "127.", 4) != 0 &&
	    strncmp(listener->name, "[::1]", 5) != 0;
	return 0;
}

static int
listen_there(struct listener *listener, const struct addrinfo *where)
{
	const int on = 1;

	listener->fd = os_socket(where->ai_family, where->ai_socktype,
	    where->ai_protocol);
	if (listener->fd < 0)
		return -1;
	setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (where->ai_family == AF_INET6)
		setsockopt(listener->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on,
		    sizeof on);
	if (bind(listener->fd, where->ai_addr, where->ai_addrlen) < 0 ||
	    listen(listener->fd, BACKLOG) < 0)
		return -1;
	return describe_socket(listener);
}

static int
listen_tcp(struct listeners *listeners, const char *text,
    struct error *error)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE };
	struct addrinfo *found, *a;
	char name[HOST_MAX + 1], port[8];
	struct host host;
	int result;

	if (host_split(&host, text, strlen(text)) != HOST_OK ||
	    host.port < 0 || host.nbytes == 0 || host.nbytes > HOST_MAX)
		return wrong(text, error);
	snprintf(name, sizeof name, "%.*s", (int)host.nbytes, host.name);
	snprintf(port, sizeof port, "%d", host.port);
	result = getaddrinfo(name, port, &hints, &found);
	if (result != 0) {
		return error_set(error, STATUS_FAILED, "--listen=%s: %s",
		    text, gai_strerror(result));
	}
	for (a = found, result = 0; a != NULL && result == 0; a = a->ai_next)
		result = listen_there(new_listener(listeners), a);
	if (result < 0)
		failed(text, error);
	freeaddrinfo(found);
	return result;
}

/* Is it a socket that nobody listens on any more? */
static int
is_stale(const struct sockaddr_un *address)
{
	struct stat st;
	int fd, stale;

	if (lstat(address->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return 0;
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd < 0)
		return 0;
	stale = connect(fd, (const struct sockaddr *)address,
	    sizeof *address) < 0 && errno == ECONNREFUSED;
	close(fd);
	return stale;
}

static int
listen_unix(struct listeners *listeners, const char *text, mode_t mode,
    struct error *error)
{
	const char *path = text + strlen("unix:");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const struct sockaddr *name = (const struct sockaddr *)&address;
	struct listener *listener;
	int result;
	mode_t old;

	if (path[0] == '\0')
		return wrong(text, error);
	if (strlen(path) >= sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		return failed(text, error);
	}
	strcpy(address.sun_path, path);
	listener = new_listener(listeners);
	listener->fd = os_socket(AF_UNIX, SOCK_STREAM, 0);
	if (listener->fd < 0)
		return failed(text, error);
	/* With this umask, the socket's file never has another mode. */
	old = umask(~mode & 0777);
	result = bind(listener->fd, name, sizeof address);
	if (result < 0 && errno == EADDRINUSE) {
		if (is_stale(&address) && unlink(path) == 0)
			result = bind(listener->fd, name, sizeof address);
		else
			errno = EADDRINUSE;
	}
	umask(old);
	if (result < 0)
		return failed(text, error);
	listener->path = memory_or_die(strdup(path));
	if (listen(listener->fd, BACKLOG) < 0 || describe_socket(listener) < 0)
		return failed(text, error);
	return 0;
}

/* A socket that a service manager has opened. */
static int
listen_fd(struct listeners *listeners, const char *text, struct error *error)
{
	int listens = 0;
	socklen_t length = sizeof listens;
	struct listener *listener;
	uint64_t fd;

	const char *number = text + strlen("fd:");

	if (number_digits(&number, NULL, 1000000, &fd) < 0 || *number != '\0')
		return wrong(text, error);
	if (getsockopt((int)fd, SOL_SOCKET, SO_ACCEPTCONN, &listens,
	    &length) < 0 || !listens) {
		return error_set(error, STATUS_USAGE, "--listen=%s: not a"
		    " socket that listens", text);
	}
	listener = new_listener(listeners);
	listener->fd = (int)fd;
	if (evutil_make_socket_nonblocking(listener->fd) < 0 ||
	    evutil_make_socket_closeonexec(listener->fd) < 0 ||
	    describe_socket(listener) < 0)
		return failed(text, error);
	return 0;
}

int
listener_open(struct listeners *listeners, const char *text,
    mode_t socket_mode, struct error *error)
{
	if (strncmp(text, "unix:", 5) == 0)
		return listen_unix(listeners, text, socket_mode, error);
	if (strncmp(text, "fd:", 3) == 0)
		return listen_fd(listeners, text, error);
	return listen_tcp(listeners, text, error);
}

void
listeners_close(struct listeners *listeners)
{
	for (size_t i = 0; i < listeners->count; i++) {
		struct listener *listener = &listeners->items[i];

		if (listener->path != NULL)
			unlink(listener->path);
		free(listener->path);
		if (listener->fd >= 0)
			close(listener->fd);
	}
	free(listeners->items);
	*listeners = (struct listeners){ 0 };
}
