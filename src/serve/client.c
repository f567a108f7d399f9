/*
 * Bytes are read into a buffer that all connections share; a connection keeps
 * only the bytes of an incomplete request, so idle ones have no buffer. A
 * request longer than SMALL_BYTES grows in its connection's own buffer, so that
 * no byte is moved more than a few times, however slowly it arrives.
 */
#include "serve/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "key/scan.h"
#include "serve/admin.h"
#include "serve/memcached.h"
#include "serve/resp.h"

/* At most this much is read from a connection in one sweep. */
#define READ_BYTES ((size_t)64 << 10)
#define SMALL_BYTES ((size_t)4 << 10)
#define INTAKE_BYTES (16 * (READ_BYTES + SMALL_BYTES + LOOPS_PADDING))

struct intake {
	struct service *service;
	struct sweep *sweep;
	struct protocol_limits limits;
	size_t used;
	uint8_t data[INTAKE_BYTES];
};

struct intake *
intake_new(struct service *service, struct sweep *sweep)
{
	struct intake *intake = memory_or_die(calloc(1, sizeof *intake));

	intake->service = service;
	intake->sweep = sweep;
	intake->limits = (struct protocol_limits){
		(size_t)service->plan->key_bytes,
		(size_t)service->plan->value_bytes };
	return intake;
}

void
intake_free(struct intake *intake)
{
	free(intake);
}

void
client_begin(struct client *c, int fd, int local)
{
	*c = (struct client){ .fd = fd, .local = local,
		.asker = { .answer = memcached_answer } };
}

void
client_end(struct client *c)
{
	close(c->fd);
	replies_free(&c->asker.replies);
	resp_session_free(c->resp);
	free(c->kept);
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

/*
 * Are enough replies waiting? Those to a get line are sent before it has ended
 * if they alone are too long.
 */
static int
is_full(struct client *c, struct intake *intake)
{
	struct replies *replies = &c->asker.replies;
	uint64_t limit = intake->service->plan->reply_bytes;

	if (replies_bytes(replies) + c->asker.owed < limit)
		return 0;
	sweep_run(intake->sweep);
	if (replies_bytes(replies) >= limit)
		replies_let_go(replies);
	return replies_bytes(replies) >= limit;
}

/*
 * Take a request of memcached's protocol. Returns how many bytes it had; *more
 * becomes 1 if it isn't whole.
 */
static size_t
take_request(struct client *c, struct intake *intake, const uint8_t *data,
    size_t nbytes, int *more)
{
	struct request request;
	size_t n = protocol_next(&c->protocol, &intake->limits, data, nbytes,
	    &request);

	*more = request.verb == VERB_MORE;
	if (*more)
		return n;
	if (memcached_is_alone(&request)) {
		sweep_run(intake->sweep);
		admin_answer(intake->service, c->local, &request,
		    &c->asker.replies);
		c->paused = 1;
	} else {
		memcached_add(intake->service, intake->sweep, &c->asker,
		    &request);
	}
	c->hang_up |= request.hang_up;
	return n;
}

/* The same for RESP, where it is a word. */
static size_t
take_word(struct client *c, const uint8_t *data, size_t nbytes, int *more)
{
	size_t n;
	enum resp_progress progress = resp_session_take(c->resp, data, nbytes,
	    &n);

	*more = progress == RESP_NEEDS_MORE;
	c->paused |= progress == RESP_PAUSES;
	c->hang_up |= progress == RESP_HANGS_UP;
	return n;
}

/* Take the requests from the bytes at `data`. */
static void
parse(struct client *c, struct intake *intake, const uint8_t *data,
    size_t nbytes)
{
	size_t at = 0;
	int more = 0;

	c->full = c->paused = 0;
	if (c->resp != NULL)
		resp_session_resume(c->resp);
	while (!more && !c->hang_up && !c->paused &&
	    !(c->full = is_full(c, intake))) {
		const uint8_t *rest = data + at;

		at += c->resp != NULL ?
		    take_word(c, rest, nbytes - at, &more) :
		    take_request(c, intake, rest, nbytes - at, &more);
		c->paused |= sweep_is_costly(intake->sweep);
	}
	/* requests may point to the bytes that are moved now */
	if (data == c->kept || c->paused)
		sweep_run(intake->sweep);
	keep(c, data + at, nbytes - at);
}

/* A buffer with the kept bytes, and room for READ_BYTES after them. */
static uint8_t *
make_room(struct client *c, struct intake *intake)
{
	size_t nbytes = c->kept_bytes + READ_BYTES;
	uint8_t *data;

	if (c->kept_bytes > SMALL_BYTES) {
		size_t most = protocol_bytes_max(&intake->limits) + READ_BYTES;

		if (c->kept_capacity < nbytes + LOOPS_PADDING)
			reserve_kept(c, 2 * nbytes < most ? 2 * nbytes : most);
		return c->kept;
	}
	if (INTAKE_BYTES - intake->used < nbytes + LOOPS_PADDING)
		sweep_run(intake->sweep);
	if (sweep_count(intake->sweep) == 0)
		intake->used = 0;
	data = intake->data + intake->used;
	if (c->kept_bytes > 0)
		memcpy(data, c->kept, c->kept_bytes);
	return data;
}

/*
 * Not the first byte of TLS, or of memcached's binary protocol, whose bytes
 * would be carried out where they look like requests.
 */
static int
is_text(uint8_t first)
{
	return first != 0x16 && first != 0x80;
}

void
client_read(struct client *c, struct intake *intake)
{
	size_t nbytes = c->kept_bytes;
	uint8_t *data;
	ssize_t n;

	if ((c->full || c->paused) && (c->kept_bytes > 0 ||
	    (c->resp != NULL && resp_session_is_busy(c->resp)))) {
		parse(c, intake, c->kept, c->kept_bytes);
		return;
	}
	c->full = c->paused = 0;
	data = make_room(c, intake);
	do
		n = read(c->fd, data + nbytes, READ_BYTES);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return;
	if (n <= 0) {
		/* earlier requests are still answered */
		c->hang_up = 1;
		c->broken |= n < 0;
		keep(c, NULL, 0);
		return;
	}
	intake->service->counters.bytes_read += (uint64_t)n;
	if (!c->begun && !is_text(data[nbytes])) {
		c->hang_up = 1;
		keep(c, NULL, 0);
		return;
	}
	if (!c->begun && data[nbytes] == RESP_FIRST_BYTE)
		c->resp = resp_session_new(intake->service, intake->sweep,
		    &c->asker, c->local);
	c->begun = 1;
	nbytes += (size_t)n;
	if (data != c->kept)
		intake->used += nbytes + LOOPS_PADDING;
	parse(c, intake, data, nbytes);
}

void
client_send(struct client *c, struct service *service)
{
	long n = c->broken ? -1 : replies_send(&c->asker.replies, c->fd);

	if (n < 0)
		c->broken = c->hang_up = 1;
	else
		service->counters.bytes_written += (uint64_t)n;
}

int
client_is_sending(const struct client *c)
{
	return !c->broken && replies_ready(&c->asker.replies) > 0;
}
