/*
 * Bytes are read into a buffer that all connections share; a connection keeps
 * only the bytes of an incomplete request, so idle ones have no buffer. A
 * request longer than SMALL_BYTES grows in its connection's own buffer, so that
 * no byte is moved more than a few times, however slowly it arrives.
 */
#include "serve/intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "key/scan.h"
#include "serve/client.h"
#include "serve/resp.h"
#include "serve/sweep.h"

/* At most this much is read from a client in one sweep. */
#define READ_BYTES ((size_t)64 << 10)
#define SMALL_BYTES ((size_t)4 << 10)
#define INTAKE_BYTES (16 * (READ_BYTES + SMALL_BYTES + LOOPS_PADDING))

struct intake {
	struct service *service;
	size_t used;
	uint8_t data[INTAKE_BYTES];
};

struct intake *
intake_new(struct service *service)
{
	struct intake *intake = memory_or_die(calloc(1, sizeof *intake));

	intake->service = service;
	return intake;
}

void
intake_free(struct intake *intake)
{
	free(intake);
}

static void
reserve_kept(struct client *c, size_t nbytes)
{
	if (c->kept_capacity >= nbytes + LOOPS_PADDING)
		return;
	c->kept_capacity = nbytes + LOOPS_PADDING;
	c->kept = memory_or_die(realloc(c->kept, c->kept_capacity));
}

/* Keep the bytes not consumed, which may be in c->kept already. */
static void
keep(struct client *c, const uint8_t *rest, size_t nbytes)
{
	uint8_t *old = c->kept;

	if (c->hang_up)
		nbytes = 0;
	if (nbytes > SMALL_BYTES &&
	    nbytes + LOOPS_PADDING <= c->kept_capacity) {
		memmove(c->kept, rest, nbytes);
	} else {
		c->kept = NULL;
		c->kept_capacity = 0;
		if (nbytes > 0) {
			reserve_kept(c, nbytes);
			memcpy(c->kept, rest, nbytes);
		}
		free(old);
	}
	c->kept_bytes = nbytes;
}

/* Are enough replies waiting? */
static int
is_full(struct client *c)
{
	uint64_t limit = c->service->plan->reply_bytes;

	if (buffer_bytes(&c->replies) + c->owed >= limit)
		sweep_run(c->service->sweep);
	return buffer_bytes(&c->replies) >= limit;
}

/* Take the requests from the bytes at `data`. */
static void
parse(struct client *c, const uint8_t *data, size_t nbytes)
{
	struct sweep *sweep = c->service->sweep;
	size_t at = 0;
	int more = 0;

	c->full = c->paused = 0;
	c->served = NULL;
	while (!more && !c->hang_up && !c->paused && !(c->full = is_full(c))) {
		at += c->take(c, data + at, nbytes - at, &more);
		c->paused |= sweep_is_costly(sweep);
	}
	/* requests may point to the bytes that are moved now */
	if (data == c->kept || c->paused)
		sweep_run(sweep);
	keep(c, data + at, nbytes - at);
}

/* A buffer with the kept bytes, and room for READ_BYTES after them. */
static uint8_t *
make_room(struct client *c, struct intake *intake)
{
	size_t nbytes = c->kept_bytes + READ_BYTES;
	uint8_t *data;

	if (c->kept_bytes > SMALL_BYTES) {
		size_t most = READ_BYTES +
		    protocol_bytes_max(&c->service->plan->limits);

		if (c->kept_capacity < nbytes + LOOPS_PADDING)
			reserve_kept(c, 2 * nbytes < most ? 2 * nbytes : most);
		return c->kept;
	}
	if (INTAKE_BYTES - intake->used < nbytes + LOOPS_PADDING)
		sweep_run(intake->service->sweep);
	if (sweep_count(intake->service->sweep) == 0)
		intake->used = 0;
	data = intake->data + intake->used;
	if (c->kept_bytes > 0)
		memcpy(data, c->kept, c->kept_bytes);
	return data;
}

/*
 * Look at the first byte that a client sends. Returns -1 if it is that of TLS
 * or memcached's binary protocol, whose bytes would be carried out where they
 * look like requests.
 */
static int
begin(struct client *c, uint8_t first)
{
	c->begun = 1;
	if (first == RESP_FIRST_BYTE)
		resp_begin(c);
	return first == 0x16 || first == 0x80 ? -1 : 0;
}

void
intake_read(struct intake *intake, struct client *c)
{
	size_t nbytes = c->kept_bytes;
	uint8_t *data;
	ssize_t n;

	if ((c->full || c->paused) && (nbytes > 0 || c->busy)) {
		parse(c, c->kept, nbytes);
		return;
	}
	c->full = c->paused = 0;
	data = make_room(c, intake);
	do
		n = read(c->fd, data + nbytes, READ_BYTES);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return;
	intake->service->counters.bytes_read += n > 0 ? (uint64_t)n : 0;
	if (n <= 0 || (!c->begun && begin(c, data[nbytes]) < 0)) {
		/* earlier requests are still answered */
		c->hang_up = 1;
		c->broken |= n < 0;
		keep(c, NULL, 0);
		return;
	}
	nbytes += (size_t)n;
	if (data != c->kept)
		intake->used += nbytes + LOOPS_PADDING;
	parse(c, data, nbytes);
}
