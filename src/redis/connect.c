#include "redis/connect.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/os.h"
#include "base/signals.h"
#include "redis/patience.h"
#ifdef WITH_TLS
#include "redis/tls.h"
#endif

/* How long a connection may take, if there is more patience. */
#define CONNECT_PATIENCE (5 * CLOCK_SECOND)
/* How often a connection that rests is kept alive, in seconds: routers forget
 * those that are silent for minutes. */
#define KEEP_ALIVE_SECONDS 60
#define KEEP_ALIVE_TRIES 3

int
connect_lost(const struct address *location, const redisContext *context,
    struct error *error)
{
	const char *why = context->errstr;

	if (context->err == REDIS_ERR_EOF)
		why = "the server closed the connection, or a proxy before it"
		    " (client-output-buffer-limit, maxclients, a timeout?)";
	return error_set(error, STATUS_FAILED, "%s: %s", location->shown, why);
}

int
connect_too_long(const struct address *location, struct error *error)
{
	return error_set(error, STATUS_USAGE, "%s: the server's answer is"
	    " longer than any that was asked for", location->shown);
}

int
connect_read(redisContext *context, size_t *received)
{
	size_t before = context->reader->len;
	int result = redisBufferRead(context);

	*received += context->reader->len - before;
	return result;
}

redisReply *
connect_ask(const struct address *location, redisContext *context,
    const char **words, int n, uint64_t patience, struct error *error)
{
	uint64_t since = clock_now();
	size_t received = 0;
	void *reply = NULL;
	int done = 0, result;

	if (redisAppendCommandArgv(context, n, words, NULL) != REDIS_OK)
		memory_or_die(NULL);
	while (reply == NULL) {
		signals_in_socket = 1;
		if (!done)
			result = redisBufferWrite(context, &done);
		else
			result = connect_read(context, &received);
		signals_in_socket = 0;
		if (result != REDIS_OK || redisGetReplyFromReader(context,
		    &reply) != REDIS_OK) {
			connect_lost(location, context, error);
			return NULL;
		}
		if (reply == NULL && received > CONNECT_ANSWER_MAX) {
			connect_too_long(location, error);
			return NULL;
		}
		if (reply == NULL && patience_wait(location, context,
		    done ? POLLIN : POLLOUT, since, patience, error) < 0)
			return NULL;
	}
	return reply;
}

/* Connecting */

/* One that rests for long is heard of by routers, or is noticed to be dead. */
static void
keep_alive(int fd)
{
	const int on = 1;

	os_keep_alive(fd, KEEP_ALIVE_SECONDS, KEEP_ALIVE_SECONDS /
	    KEEP_ALIVE_TRIES, KEEP_ALIVE_TRIES);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* Wait until a connection that was begun is there; frees it on failure. */
static redisContext *
complete(const struct address *location, redisContext *context,
    uint64_t patience, struct error *error)
{
	int failed = 0, result;
	socklen_t nbytes = sizeof failed;

	/* EAGAIN: the unix socket's queue of connections is full. */
	if (memory_or_die(context) != NULL && context->err != 0 &&
	    errno == EAGAIN)
		result = patience_end(location, error);
	else if (context->err != 0)
		result = connect_lost(location, context, error);
	else
		result = patience_wait(location, context, POLLOUT, clock_now(),
		    patience, error);
	if (result == 0 && getsockopt(context->fd, SOL_SOCKET, SO_ERROR,
	    &failed, &nbytes) == 0 && failed != 0)
		result = error_set(error, STATUS_FAILED, "%s: %s",
		    location->shown, strerror(failed));
	if (result == 0)
		return context;
	redisFree(context);
	return NULL;
}

/* Connect to the first of the host's addresses that accepts. */
static redisContext *
connect_host(const struct address *location, const char *host, int port,
    uint64_t patience, struct error *error)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *all, *one;
	redisContext *context = NULL;
	int failed = getaddrinfo(host, NULL, &hints, &all);

	if (failed != 0) {
		error_set(error, STATUS_FAILED, "%s: %s: %s", location->shown,
		    host, gai_strerror(failed));
		return NULL;
	}
	for (one = all; one != NULL && context == NULL; one = one->ai_next) {
		char text[NI_MAXHOST];

		failed = getnameinfo(one->ai_addr, one->ai_addrlen, text,
		    sizeof text, NULL, 0, NI_NUMERICHOST);
		if (failed == 0)
			context = complete(location, redisConnectNonBlock(text,
			    port), patience, error);
		else
			error_set(error, STATUS_FAILED, "%s: %s: %s",
			    location->shown, host, gai_strerror(failed));
	}
	freeaddrinfo(all);
	if (context != NULL)
		keep_alive(context->fd);
	return context;
}

static int
log_in(const struct address *location, redisContext *context,
    uint64_t patience, struct error *error)
{
	const char *words[3] = { "AUTH" };
	redisReply *reply;
	int n = 1, result = 0;

	if (location->password == NULL)
		return 0;
	if (location->user != NULL)
		words[n++] = location->user;
	words[n++] = location->password;
	reply = connect_ask(location, context, words, n, patience, error);
	if (reply == NULL)
		return -1;
	/* Behind a comma, the error may repeat user and password. */
	if (reply->type == REDIS_REPLY_ERROR)
		result = error_set(error, STATUS_USAGE, "%s: the server refuses"
		    " the password: %.*s", location->shown,
		    (int)strcspn(reply->str, ","), reply->str);
	freeReplyObject(reply);
	return result;
}

redisContext *
connect_to(const struct address *location, const char *host, int port,
    uint64_t patience, struct error *error)
{
	redisContext *context;
	int result = 0;

	if (patience > CONNECT_PATIENCE)
		patience = CONNECT_PATIENCE;
	if (host != NULL)
		context = connect_host(location, host, port, patience, error);
	else
		context = complete(location, redisConnectUnixNonBlock(
		    location->path), patience, error);
	if (context == NULL)
		return NULL;
#ifdef WITH_TLS
	if (location->tls)
		result = tls_start(context, location, host, patience, error);
#endif
	if (result == 0)
		result = log_in(location, context, patience, error);
	if (result == 0)
		return context;
	redisFree(context);
	return NULL;
}
