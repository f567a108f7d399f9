#include "gunzip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "error.h"
#include "worker.h"

/*
 * What a worker inflates at once: so much that it doesn't matter when one of
 * the two threads is kept waiting by other programs for a moment.
 */
#define PIECE_BYTES (1024 * 1024)

#define HEAD_BYTES 4

/* The worker's, while it is at work. */
struct inflating {
	z_stream stream;
	int result;         /* what inflate said last */
};

struct gunzip {
	struct gunzip_source source;
	unsigned threads;
	struct inflating inflating;
	uint8_t *packed;    /* GUNZIP_BYTES: what was read, not inflated yet */
	int over;           /* no more can be read: 1 at the end, -1 by */
	int over_reason;    /* this errno */
	struct worker *worker; /* NULL as long as it isn't worth one */
	int ahead;          /* it has the next piece */
	uint8_t *pieces;    /* two of PIECE_BYTES, one of them the worker's */
	int turn;
	const uint8_t *piece; /* what of the other is not taken yet */
	size_t left;
};

int
gunzip_may_be_head(const uint8_t *p, size_t nbytes)
{
	static const uint8_t head[] = { 0x1f, 0x8b, 8 };

	if (nbytes >= HEAD_BYTES && (p[3] & 0xe0) != 0)
		return 0;
	return nbytes > 0 &&
	    memcmp(p, head, nbytes < sizeof head ? nbytes : sizeof head) == 0;
}

int
gunzip_is_head(const uint8_t *p, size_t nbytes)
{
	return nbytes >= HEAD_BYTES && gunzip_may_be_head(p, nbytes);
}

struct gunzip *
gunzip_new(const struct gunzip_source *source, unsigned threads)
{
	struct gunzip *g = memory_or_die(calloc(1, sizeof *g));

	g->source = *source;
	g->threads = threads;
	g->packed = memory_or_die(malloc(GUNZIP_BYTES));
	return g;
}

void
gunzip_free(struct gunzip *g)
{
	if (g == NULL)
		return;
	worker_free(g->worker);
	free(g->pieces);
	free(g->packed);
	free(g);
}

static void
begin_inflating(z_stream *z)
{
	*z = (z_stream){ 0 };
	if (inflateInit2(z, 16 + MAX_WBITS) != Z_OK)
		memory_or_die(NULL);
}

void
gunzip_begin(struct gunzip *g, const uint8_t *data, size_t nbytes)
{
	z_stream *z = &g->inflating.stream;

	begin_inflating(z);
	memcpy(g->packed, data, nbytes);
	z->next_in = g->packed;
	z->avail_in = (uInt)nbytes;
	g->over = 0;
	g->left = 0;
}

void
gunzip_end(struct gunzip *g)
{
	if (g->ahead)
		worker_wait(g->worker);
	g->ahead = 0;
	inflateEnd(&g->inflating.stream);
}

static uint8_t *
workers_piece(const struct gunzip *g)
{
	return g->pieces + (g->turn ? PIECE_BYTES : 0);
}

int
gunzip_has_more(struct gunzip *g)
{
	if (g->left > 0 || !g->ahead)
		return g->left > 0;
	worker_wait(g->worker);
	return g->inflating.stream.next_out > workers_piece(g);
}

int
gunzip_is_ahead(const struct gunzip *g)
{
	return g->ahead;
}

/*
 * Fill the packed bytes up to at least `wanted`; fewer only at the end. Both
 * the end and an error are kept, for when all that came before is done with.
 */
static int
read_packed(struct gunzip *g, size_t wanted)
{
	z_stream *z = &g->inflating.stream;

	while (z->avail_in < wanted && !g->over) {
		ssize_t n;

		memmove(g->packed, z->next_in, z->avail_in);
		z->next_in = g->packed;
		n = g->source.read(g->source.context, g->packed + z->avail_in,
		    GUNZIP_BYTES - z->avail_in);
		if (n > 0) {
			z->avail_in += (uInt)n;
		} else {
			g->over = n < 0 ? -1 : 1;
			g->over_reason = errno;
		}
	}
	if (z->avail_in >= wanted || g->over >= 0)
		return 0;
	errno = g->over_reason;
	return -1;
}

/*
 * Behind a member. Zeros at the end are padding, as gzip(1) has it. Returns 1
 * when another one begins, 0 at the end, -1 if neither.
 */
static int
next_member(struct gunzip *g, const char **wrong)
{
	z_stream *z = &g->inflating.stream;

	if (read_packed(g, HEAD_BYTES) < 0)
		return -1;
	if (gunzip_is_head(z->next_in, z->avail_in))
		return 1;
	for (;;) {
		while (z->avail_in > 0 && *z->next_in == 0) {
			z->next_in++;
			z->avail_in--;
		}
		if (z->avail_in > 0) {
			*wrong = "something that is not gzip follows the gzip"
			    " data; it is left out";
			return 0;
		}
		if (read_packed(g, 1) < 0)
			return -1;
		if (z->avail_in == 0)
			return 0;
	}
}

/*
 * Inflate the packed bytes, member after member, as long as there is room.
 * When there is nothing more to do it may be called again: it says the same.
 */
static void
inflate_piece(void *context)
{
	struct inflating *inflating = context;
	z_stream *z = &inflating->stream;

	do {
		inflating->result = inflate(z, Z_NO_FLUSH);
	} while (inflating->result == Z_STREAM_END &&
	    gunzip_is_head(z->next_in, z->avail_in) &&
	    inflateReset(z) == Z_OK);
}

/* Get the next piece: from the worker, or to `data`. */
static void
next_piece(struct gunzip *g, uint8_t *data)
{
	z_stream *z = &g->inflating.stream;

	if (g->ahead) {
		worker_wait(g->worker);
		g->ahead = 0;
		data = workers_piece(g);
	} else {
		z->next_out = data;
		z->avail_out = GUNZIP_BYTES;
		inflate_piece(&g->inflating);
	}
	g->piece = data;
	g->left = (size_t)(z->next_out - data);
}

/*
 * Let the worker begin the next piece, if packed bytes are there, or can be
 * had without waiting. A file of which there are none costs no thread.
 */
static void
inflate_ahead(struct gunzip *g)
{
	z_stream *z = &g->inflating.stream;

	if (g->threads < 2)
		return;
	if (z->avail_in == 0 && g->source.is_ready(g->source.context))
		read_packed(g, 1);
	if (z->avail_in == 0 && z->avail_out > 0)
		return;
	if (g->worker == NULL) {
		g->worker = worker_new();
		if (g->worker == NULL) {
			g->threads = 1;
			return;
		}
		g->pieces = memory_or_die(malloc(2 * PIECE_BYTES));
	}
	g->turn = !g->turn;
	z->next_out = workers_piece(g);
	z->avail_out = PIECE_BYTES;
	g->ahead = 1;
	worker_start(g->worker, inflate_piece, &g->inflating);
}

/* Take from the piece; what was inflated to `data` is there. */
static size_t
take(struct gunzip *g, uint8_t *data)
{
	size_t nbytes = g->left < GUNZIP_BYTES ? g->left : GUNZIP_BYTES;

	if (g->piece != data)
		memcpy(data, g->piece, nbytes);
	g->piece += nbytes;
	g->left -= nbytes;
	return nbytes;
}

ssize_t
gunzip_read(struct gunzip *g, uint8_t *data, const char **wrong)
{
	z_stream *z = &g->inflating.stream;

	*wrong = NULL;
	for (;;) {
		int more, result;

		if (g->left == 0) {
			next_piece(g, data);
			if (g->left > 0)
				inflate_ahead(g);
		}
		if (g->left > 0)
			return (ssize_t)take(g, data);
		result = g->inflating.result;
		if (result == Z_STREAM_END) {
			more = next_member(g, wrong);
			if (more <= 0)
				return more;
		} else if (result == Z_OK || result == Z_BUF_ERROR) {
			if (read_packed(g, 1) < 0)
				return -1;
			if (z->avail_in == 0) {
				*wrong = "the gzip data ends too early";
				return -1;
			}
		} else {
			if (result == Z_MEM_ERROR)
				memory_or_die(NULL);
			*wrong = z->msg != NULL && result == Z_DATA_ERROR ?
			    "the gzip data is damaged" :
			    "the gzip data can't be inflated";
			return -1;
		}
	}
}

size_t
gunzip_sample(const uint8_t *packed, size_t *nbytes, uint8_t *data,
    size_t room)
{
	z_stream z;

	begin_inflating(&z);
	z.next_in = (Bytef *)(uintptr_t)packed;
	z.avail_in = (uInt)*nbytes;
	z.next_out = data;
	z.avail_out = (uInt)room;
	inflate(&z, Z_SYNC_FLUSH);
	*nbytes -= z.avail_in;
	room -= z.avail_out;
	inflateEnd(&z);
	return room;
}
