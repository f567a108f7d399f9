/*
 * Bytes are read into a buffer that all connections share; a connection keeps
 * only the bytes of an incomplete request, so idle ones have no buffer. A
 * request longer than SMALL_BYTES grows in its connection's own buffer, so that
 * no byte is moved more than a few times, however slowly it arrives. Nothing
 * here knows of events.
 */
#include "serve/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "key/scan.h"
#include "serve/resp.h"
#include "serve/sweep.h"

/* At most this much is read from a client in one sweep. */
#define READ_BYTES ((size_t)64 << 10)
#define SMALL_BYTES ((size_t)4 << 10)
#define INTAKE_BYTES (16 * (READ_BYTES + SMALL_BYTES + LOOPS_PADDING))

/* Keep the bytes not consumed, which may be in c->kept already. */
static void
keep(struct client *c, const uint8_t *rest, size_t nbytes)
{
	uint8_t *old = c->kept;

	if (!client_goes_on(c))
		nbytes = 0;
	c->kept_bytes = nbytes;
	if (nbytes > SMALL_BYTES &&
	    nbytes + LOOPS_PADDING <= c->kept_capacity) {
		memmove(c->kept, rest, nbytes);
		return;
	}
	c->kept = NULL;
	c->kept_capacity = 0;
	if (nbytes > 0) {
		c->kept_capacity = nbytes + LOOPS_PADDING;
		c->kept = memory_or_die(malloc(c->kept_capacity));
		memcpy(c->kept, rest, nbytes);
	}
	free(old);
}

/* The bytes of replies that a client may leave unread at the moment. */
static uint64_t
unread_limit(const struct client *c)
{
	uint64_t limit = c->service->settings->reply_bytes;

	if (clients_leave_too_much(c->service) && limit > SERVE_UNREAD_LITTLE)
		return SERVE_UNREAD_LITTLE;
	return limit;
}

/* Are enough replies waiting? */
static int
is_full(struct client *c, uint64_t limit)
{
	if (buffer_bytes(&c->replies) + c->owed >= limit)
		sweep_run(c->service->sweep);
	return buffer_bytes(&c->replies) >= limit;
}

/* Take the requests from the bytes at `data`. */
static void
parse(struct client *c, const uint8_t *data, size_t nbytes)
{
	uint64_t limit = unread_limit(c);
	size_t at = 0;
	int more = 0;

	c->served = NULL;
	while (!more && c->state == CLIENT_OPEN) {
		if (!is_full(c, limit))
			at += c->take(c, data + at, nbytes - at, &more);
		else if (limit == c->service->settings->reply_bytes)
			client_fill(c);
		else
			client_hold(c);
	}
	client_count_unread(c, buffer_bytes(&c->replies) + c->owed);
	/* requests may point to the bytes that are moved now */
	if (data == c->kept || c->state == CLIENT_PAUSED)
		sweep_run(c->service->sweep);
	keep(c, data + at, nbytes - at);
}

/* A buffer with the kept bytes, and room for READ_BYTES after them. */
static uint8_t *
make_room(struct client *c, struct service *service)
{
	size_t nbytes = c->kept_bytes + READ_BYTES;
	uint8_t *data;

	if (c->kept_bytes > SMALL_BYTES) {
		size_t most = READ_BYTES +
		    protocol_bytes_max(&service->settings->limits);

		if (c->kept_capacity < nbytes + LOOPS_PADDING) {
			c->kept_capacity = LOOPS_PADDING +
			    (2 * nbytes < most ? 2 * nbytes : most);
			c->kept = memory_or_die(realloc(c->kept,
			    c->kept_capacity));
		}
		return c->kept;
	}
	if (service->intake == NULL)
		service->intake = memory_or_die(calloc(1, INTAKE_BYTES));
	if (INTAKE_BYTES - service->intake_used < nbytes + LOOPS_PADDING)
		sweep_run(service->sweep);
	if (sweep_count(service->sweep) == 0)
		service->intake_used = 0;
	data = service->intake + service->intake_used;
	if (c->kept_bytes > 0)
		memcpy(data, c->kept, c->kept_bytes);
	return data;
}

/* There are too many connections: say so in its protocol. */
static void
turn_away(struct client *c, uint8_t first)
{
	if (first == RESP_FIRST_BYTE)
		buffer_line(&c->replies, "-ERR max number of clients reached");
	else
		buffer_line(&c->replies, "ERROR Too many open connections");
	client_end(c);
}

/*
 * The first byte of a connection tells its protocol. Returns 0 if it is one
 * that isn't spoken here: TLS, or memcached's binary protocol, whose bytes
 * would be carried out where they look like requests.
 */
static int
begin(struct client *c, uint8_t first)
{
	c->begun = 1;
	if (first == RESP_FIRST_BYTE)
		resp_begin(c);
	return first != 0x16 && first != 0x80;
}

/* Nothing more can be read; earlier requests are still answered. */
static void
stop_reading(struct client *c, int is_broken)
{
	if (is_broken)
		client_break(c);
	else
		client_end(c);
	keep(c, NULL, 0);
}

void
intake_read(struct client *c)
{
	struct service *service = c->service;
	size_t nbytes = c->kept_bytes;
	int waited = client_waits(c);
	uint8_t *data;
	ssize_t n;

	client_reopen(c);
	if (waited && (nbytes > 0 || c->busy)) {
		parse(c, c->kept, nbytes);
		return;
	}
	data = make_room(c, service);
	do
		n = read(c->fd, data + nbytes, READ_BYTES);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return;
	if (n <= 0) {
		stop_reading(c, n < 0);
		return;
	}
	service->counters.bytes_read += (uint64_t)n;
	if (c->surplus) {
		turn_away(c, data[nbytes]);
		return;
	}
	if (!c->begun && !begin(c, data[nbytes])) {
		stop_reading(c, 0);
		return;
	}
	nbytes += (size_t)n;
	if (data != c->kept)
		service->intake_used += nbytes + LOOPS_PADDING;
	parse(c, data, nbytes);
}
