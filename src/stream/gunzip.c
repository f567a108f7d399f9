#include "stream/gunzip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/error.h"

#define HEAD_BYTES 4

struct gunzip {
	struct gunzip_source source;
	z_stream stream;
	int result;         /* of the last inflate */
	uint8_t *packed;    /* GUNZIP_BYTES: what was read, not inflated yet */
	int over;           /* no more can be read: 1 at the end, -1 on an */
	int over_reason;    /* error, this errno */
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
gunzip_new(const struct gunzip_source *source)
{
	struct gunzip *g = memory_or_die(calloc(1, sizeof *g));

	g->source = *source;
	g->packed = memory_or_die(malloc(GUNZIP_BYTES));
	return g;
}

void
gunzip_free(struct gunzip *g)
{
	if (g == NULL)
		return;
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
	z_stream *z = &g->stream;

	begin_inflating(z);
	memcpy(g->packed, data, nbytes);
	z->next_in = g->packed;
	z->avail_in = (uInt)nbytes;
	g->over = 0;
}

void
gunzip_end(struct gunzip *g)
{
	inflateEnd(&g->stream);
}

int
gunzip_has_more(const struct gunzip *g)
{
	const z_stream *z = &g->stream;

	/* Packed bytes, or inflated bytes for which there was no room. */
	return z->avail_in > 0 || z->avail_out == 0;
}

/*
 * Fill the packed bytes up to at least `wanted`; fewer only at the end. The end
 * or an error is remembered until all bytes before it are used.
 */
static int
read_packed(struct gunzip *g, size_t wanted)
{
	z_stream *z = &g->stream;

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
 * After a member. Zeros at the end are padding, as for gzip(1). Returns 1 if
 * another one begins, 0 at the end, -1 if reading failed.
 */
static int
next_member(struct gunzip *g, const char **wrong)
{
	z_stream *z = &g->stream;

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
			    " data; it is ignored";
			return 0;
		}
		if (read_packed(g, 1) < 0)
			return -1;
		if (z->avail_in == 0)
			return 0;
	}
}

/*
 * Inflate the packed bytes, member after member, as long as there is room. If
 * there is nothing more to do, calling it again gives the same result.
 */
static void
inflate_some(struct gunzip *g)
{
	z_stream *z = &g->stream;

	do {
		g->result = inflate(z, Z_NO_FLUSH);
	} while (g->result == Z_STREAM_END &&
	    gunzip_is_head(z->next_in, z->avail_in) &&
	    inflateReset(z) == Z_OK);
}

ssize_t
gunzip_read(struct gunzip *g, uint8_t *data, size_t nbytes, const char **wrong)
{
	z_stream *z = &g->stream;

	*wrong = NULL;
	z->next_out = data;
	z->avail_out = nbytes < GUNZIP_BYTES ? (uInt)nbytes : GUNZIP_BYTES;
	for (;;) {
		int more;

		inflate_some(g);
		if (z->next_out > data)
			return z->next_out - data;
		if (g->result == Z_STREAM_END) {
			more = next_member(g, wrong);
			if (more <= 0)
				return more;
			inflateReset(z);
		} else if (g->result == Z_OK || g->result == Z_BUF_ERROR) {
			if (read_packed(g, 1) < 0)
				return -1;
			if (z->avail_in == 0) {
				*wrong = "the gzip data ends too early";
				return -1;
			}
		} else {
			if (g->result == Z_MEM_ERROR)
				memory_or_die(NULL);
			*wrong = z->msg != NULL && g->result == Z_DATA_ERROR ?
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
