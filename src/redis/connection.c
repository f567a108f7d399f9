#include "redis/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/signals.h"
#ifdef WITH_TLS
#include "redis/tls.h"
#endif

#define CONNECT_SECONDS 5

/*
 * hiredis moves the rest of its buffer after each larger reply, so it is fed
 * only a little at a time.
 */
#define FEED_BYTES (16 * 1024)

struct connection {
	redisContext *context;
	const struct address *location; /* not owned */
	ssize_t (*send)(redisContext *, const struct iovec *parts, int count);
	ssize_t (*receive)(redisContext *, void *buffer, size_t nbytes);
	uint8_t buffer[4 * FEED_BYTES];
	size_t begin, end; /* the part the reader hasn't got */
};

static int
lost(const struct connection *c, struct error *error, const char *why)
{
	return error_set(error, STATUS_FAILED, "%s: %s", c->location->shown,
	    why);
}

void
connection_close(struct connection *c)
{
	if (c == NULL)
		return;
	if (c->context != NULL)
		redisFree(c->context);
	free(c);
}

int
connection_fd(const struct connection *c)
{
	return c->context->fd;
}

/*
 * A command that is waited for, before all others. hiredis writes with
 * write(2).
 */
static redisReply *
ask(struct connection *c, const char **words, int n, struct error *error)
{
	sigset_t before = signals_hold_pipe();
	redisReply *reply = redisCommandArgv(c->context, n, words, NULL);

	signals_release_pipe(before);
	if (reply == NULL)
		lost(c, error, c->context->errstr);
	return reply;
}

redisReply *
connection_slots(struct connection *c, struct error *error)
{
	const char *words[] = { "CLUSTER", "SLOTS" };

	return ask(c, words, 2, error);
}

static int
authenticate(struct connection *c, struct error *error)
{
	const struct address *l = c->location;
	const char *words[3] = { "AUTH" };
	int n = 1, result = 0;
	redisReply *reply;

	if (l->password == NULL)
		return 0;
	if (l->user != NULL)
		words[n++] = l->user;
	words[n++] = l->password;
	reply = ask(c, words, n, error);
	if (reply == NULL)
		return -1;
	/* Behind a comma, an error may repeat user and password. */
	if (reply->type == REDIS_REPLY_ERROR)
		result = error_set(error, STATUS_USAGE, "%s: the server"
		    " refuses the password: %.*s", l->shown,
		    (int)strcspn(reply->str, ","), reply->str);
	freeReplyObject(reply);
	return result;
}

/* The result of a call for the socket, as send and receive return it. */
static ssize_t
taken(redisContext *context, ssize_t n)
{
	if (n >= 0)
		return n;
	if (errno == EAGAIN || errno == EINTR)
		return 0;
	snprintf(context->errstr, sizeof context->errstr, "%s",
	    strerror(errno));
	return -1;
}

static ssize_t
plain_send(redisContext *context, const struct iovec *parts, int count)
{
	struct iovec copy[64];
	struct msghdr message = { .msg_iov = copy };

	count = count < 64 ? count : 64;
	memcpy(copy, parts, (size_t)count * sizeof *copy);
	message.msg_iovlen = (size_t)count;
	return taken(context, sendmsg(context->fd, &message,
	    MSG_NOSIGNAL | MSG_DONTWAIT));
}

static ssize_t
plain_receive(redisContext *context, void *buffer, size_t nbytes)
{
	ssize_t n = recv(context->fd, buffer, nbytes, MSG_DONTWAIT);

	if (n != 0)
		return taken(context, n);
	strcpy(context->errstr, "the server closed the connection");
	return -1;
}

static int
greet(struct connection *c, const char *host, struct timeval patience,
    struct error *error)
{
	if (redisSetTimeout(c->context, patience) != REDIS_OK)
		return lost(c, error, c->context->errstr);
#ifdef WITH_TLS
	if (c->location->tls) {
		c->send = tls_send;
		c->receive = tls_receive;
		if (tls_start(c->context, c->location, host, error) < 0)
			return -1;
	}
#else
	(void)host;
#endif
	return authenticate(c, error);
}

int
connection_open(struct connection **connection,
    const struct address *location, const char *host, int port,
    struct error *error)
{
	const struct timeval patience = { CONNECT_SECONDS, 0 };
	struct connection *c = memory_or_die(calloc(1, sizeof *c));

	c->location = location;
	c->send = plain_send;
	c->receive = plain_receive;
	c->context = memory_or_die(host != NULL ?
	    redisConnectWithTimeout(host, port, patience) :
	    redisConnectUnixWithTimeout(location->path, patience));
	if (c->context->err != 0)
		lost(c, error, c->context->errstr);
	if (c->context->err != 0 || greet(c, host, patience, error) < 0) {
		connection_close(c);
		return -1;
	}
	/* don't reallocate the buffer for each reply */
	c->context->reader->maxbuf = 0;
	*connection = c;
	return 0;
}

int
connection_send(struct connection *c, const struct iovec *parts, int count,
    size_t *sent, struct error *error)
{
	ssize_t n = c->send(c->context, parts, count);

	*sent = n < 0 ? 0 : (size_t)n;
	return n < 0 ? lost(c, error, c->context->errstr) : 0;
}

int
connection_receive(struct connection *c, size_t *received,
    struct error *error)
{
	ssize_t n;

	*received = 0;
	if (c->begin < c->end)
		return 0;
	n = c->receive(c->context, c->buffer, sizeof c->buffer);
	if (n < 0)
		return lost(c, error, c->context->errstr);
	c->begin = 0;
	c->end = *received = (size_t)n;
	return 0;
}

int
connection_reply(struct connection *c, redisReply **reply,
    struct error *error)
{
	for (;;) {
		size_t n = c->end - c->begin;
		void *got = NULL;

		if (redisReaderGetReply(c->context->reader, &got) != REDIS_OK)
			return lost(c, error, c->context->reader->errstr);
		*reply = got;
		if (got != NULL || n == 0)
			return 0;
		n = n < FEED_BYTES ? n : FEED_BYTES;
		if (redisReaderFeed(c->context->reader,
		    (char *)c->buffer + c->begin, n) != REDIS_OK)
			return lost(c, error, c->context->reader->errstr);
		c->begin += n;
	}
}
