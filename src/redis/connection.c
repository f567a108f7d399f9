#include "redis/connection.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#ifdef WITH_TLS
#include "redis/tls.h"
#endif

#define CONNECT_SECONDS 5
#define PATIENCE_SECONDS 15

/*
 * hiredis moves the rest of its buffer after each larger reply, so it is fed
 * only a little at a time.
 */
#define FEED_BYTES (16 * 1024)

struct connection {
	redisContext *context;
	redisReader *reader;
	const struct address *location; /* not owned */
	ssize_t (*send)(redisContext *, const struct iovec *parts, int count);
	ssize_t (*receive)(redisContext *, void *buffer, size_t nbytes);
	uint8_t buffer[4 * FEED_BYTES];
	size_t begin, end; /* the part the reader hasn't got */
};

int
connection_patience(void)
{
	return PATIENCE_SECONDS * 1000;
}

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
	if (c->reader != NULL)
		redisReaderFree(c->reader);
	free(c);
}

int
connection_fd(const struct connection *c)
{
	return c->context->fd;
}

static int
authenticate(struct connection *c, struct error *error)
{
	const struct address *l = c->location;
	const char *words[3] = { "AUTH" };
	size_t n = 1;
	redisReply *reply;
	int result = 0;

	if (l->password == NULL)
		return 0;
	if (l->user != NULL)
		words[n++] = l->user;
	words[n++] = l->password;
	if (connection_call(c, &reply, words, n, error) < 0)
		return -1;
	if (reply->type == REDIS_REPLY_ERROR)
		result = error_set(error, STATUS_USAGE, "%s: the server"
		    " refuses the password: %s", l->shown, reply->str);
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

#ifdef WITH_TLS
static int
begin_tls(struct connection *c, const char *host, struct timeval patience,
    struct error *error)
{
	if (redisSetTimeout(c->context, patience) != REDIS_OK)
		return lost(c, error, c->context->errstr);
	c->send = tls_send;
	c->receive = tls_receive;
	return tls_start(c->context, c->location, host, error);
}
#endif

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
	c->reader = memory_or_die(redisReaderCreate());
	c->reader->maxbuf = 0; /* don't reallocate the buffer for each reply */
	c->context = memory_or_die(host != NULL ?
	    redisConnectWithTimeout(host, port, patience) :
	    redisConnectUnixWithTimeout(location->path, patience));
	if (c->context->err != 0) {
		lost(c, error, c->context->errstr);
		connection_close(c);
		return -1;
	}
#ifdef WITH_TLS
	if (location->tls && begin_tls(c, host, patience, error) < 0) {
		connection_close(c);
		return -1;
	}
#endif
	if (authenticate(c, error) < 0) {
		connection_close(c);
		return -1;
	}
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

		if (redisReaderGetReply(c->reader, &got) != REDIS_OK)
			return lost(c, error, c->reader->errstr);
		*reply = got;
		if (got != NULL || n == 0)
			return 0;
		n = n < FEED_BYTES ? n : FEED_BYTES;
		if (redisReaderFeed(c->reader, (char *)c->buffer + c->begin,
		    n) != REDIS_OK)
			return lost(c, error, c->reader->errstr);
		c->begin += n;
	}
}

/* Wait for the connection; if nothing happens for too long, it is lost. */
static int
wait_for(struct connection *c, short events, struct error *error)
{
	struct pollfd pollfd = { connection_fd(c), events, 0 };
	uint64_t end = clock_now() + PATIENCE_SECONDS * CLOCK_SECOND;
	int n;

	do {
		n = poll(&pollfd, 1, 1000);
	} while (n == 0 ? clock_now() < end : n < 0 && errno == EINTR);
	return n > 0 ? 0 : lost(c, error, "the server doesn't answer");
}

static int
send_all(struct connection *c, char *bytes, size_t nbytes,
    struct error *error)
{
	while (nbytes > 0) {
		const struct iovec part = { bytes, nbytes };
		size_t sent;

		if (connection_send(c, &part, 1, &sent, error) < 0)
			return -1;
		bytes += sent;
		nbytes -= sent;
		if (sent == 0 && wait_for(c, POLLOUT, error) < 0)
			return -1;
	}
	return 0;
}

int
connection_call(struct connection *c, redisReply **reply,
    const char *const *words, size_t n, struct error *error)
{
	const char *copy[8];
	size_t received;
	char *bytes;
	long long length; /* hiredis before 1.0: int */
	int result;

	memcpy(copy, words, n * sizeof *words);
	length = redisFormatCommandArgv(&bytes, (int)n, copy, NULL);
	if (length < 0)
		memory_or_die(NULL);
	result = send_all(c, bytes, (size_t)length, error);
	redisFreeCommand(bytes);
	*reply = NULL;
	while (result == 0) {
		result = connection_reply(c, reply, error);
		if (result < 0 || *reply != NULL)
			break;
		result = wait_for(c, POLLIN, error) < 0 ||
		    connection_receive(c, &received, error) < 0 ? -1 : 0;
	}
	return result;
}
