#include "stream/decompress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "stream/codec.h"

#define HEAD_BYTES_MOST 10

struct format_head {
	const char *name;
	const char *refusal;       /* NULL: it is understood, */
	const struct codec *codec; /* by this */
	size_t nbytes;
	uint8_t bytes[HEAD_BYTES_MOST];
	uint8_t ignored[HEAD_BYTES_MOST]; /* bits that may differ */
};

/* A format that isn't understood, and its program. */
#define REFUSED(name) (name), "it is compressed: pipe it through '" name \
	" -dc', or read it as it is with --no-decompress", NULL

#ifdef WITH_ZSTD
#define ZSTD "zstd", NULL, &codec_zstd
#else
#define ZSTD REFUSED("zstd")
#endif

static const struct format_head heads[] = {
	{ "gzip", NULL, &codec_gzip, 4, { 0x1f, 0x8b, 8, 0 },
	    { 0, 0, 0, 0x1f } },
	{ ZSTD, 4, { 0x28, 0xb5, 0x2f, 0xfd }, { 0 } },
	/* a frame to skip */
	{ ZSTD, 4, { 0x50, '*', 'M', 0x18 }, { 0x0f } },
	/* with and without anything in it */
	{ REFUSED("bzip2"), 10, { 'B', 'Z', 'h', '0',
	    0x31, 0x41, 0x59, 0x26, 0x53, 0x59 }, { 0, 0, 0, 0x0f } },
	{ REFUSED("bzip2"), 10, { 'B', 'Z', 'h', '0',
	    0x17, 0x72, 0x45, 0x38, 0x50, 0x90 }, { 0, 0, 0, 0x0f } },
	{ REFUSED("xz"), 6, { 0xfd, '7', 'z', 'X', 'Z', 0 }, { 0 } },
	{ REFUSED("lz4"), 4, { 4, '"', 'M', 0x18 }, { 0 } },
};

struct decompressor {
	decompress_source *source;
	void *context;          /* of the source */
	const struct format_head *head;
	void *state;            /* the codec's */
	struct codec_io io;
	enum codec_result result; /* of its last run */
	const char *reason;     /* if it failed; NULL: damage */
	char text[100];         /* what is wrong */
	int over;               /* no more can be read */
	uint8_t packed[DECOMPRESS_BYTES]; /* what was read */
};

static int
is_like(const struct format_head *head, const uint8_t *p, size_t nbytes)
{
	for (size_t i = 0; i < nbytes && i < head->nbytes; i++) {
		if ((p[i] & ~head->ignored[i]) != head->bytes[i])
			return 0;
	}
	return 1;
}

int
decompress_may_be_head(const uint8_t *p, size_t nbytes)
{
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		if (nbytes > 0 && is_like(&heads[i], p, nbytes))
			return 1;
	}
	return 0;
}

const struct format_head *
decompress_head(const uint8_t *p, size_t nbytes)
{
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		if (nbytes >= heads[i].nbytes && is_like(&heads[i], p, nbytes))
			return &heads[i];
	}
	return NULL;
}

const char *
decompress_refusal(const struct format_head *head)
{
	return head->refusal;
}

struct decompressor *
decompress_begin(const struct format_head *head, const uint8_t *data,
    size_t nbytes, decompress_source *source, void *context)
{
	struct decompressor *d = memory_or_die(malloc(sizeof *d));

	d->source = source;
	d->context = context;
	d->head = head;
	d->state = head->codec->begin();
	d->result = CODEC_GOES_ON;
	d->reason = NULL;
	memcpy(d->packed, data, nbytes);
	d->io = (struct codec_io){ .in = d->packed, .in_bytes = nbytes };
	d->over = 0;
	return d;
}

void
decompress_end(struct decompressor *d)
{
	if (d != NULL)
		d->head->codec->end(d->state);
	free(d);
}

int
decompress_has_more(const struct decompressor *d)
{
	/* Or decompressed bytes for which there was no room. */
	return d->io.in_bytes > 0 || d->io.out_bytes == 0;
}

/*
 * Read until at least `wanted` bytes are there to be used; fewer only at the
 * end. Returns -1 if reading fails.
 */
static int
read_packed(struct decompressor *d, size_t wanted)
{
	struct codec_io *io = &d->io;

	while (io->in_bytes < wanted && !d->over) {
		ssize_t n;

		memmove(d->packed, io->in, io->in_bytes);
		io->in = d->packed;
		n = d->source(d->context, d->packed + io->in_bytes,
		    DECOMPRESS_BYTES - io->in_bytes);
		if (n < 0)
			return -1;
		d->over = n == 0;
		io->in_bytes += (size_t)n;
	}
	return 0;
}

static const char *
say(struct decompressor *d, const char *format)
{
	snprintf(d->text, sizeof d->text, format, d->head->name);
	return d->text;
}

/* Does a frame of the same format follow? */
static int
is_at_frame(const struct decompressor *d)
{
	const struct format_head *head = decompress_head(d->io.in,
	    d->io.in_bytes);

	return head != NULL && head->codec == d->head->codec;
}

/*
 * After a frame. Zeros at the end are padding, as for gzip(1). Returns 1 if
 * another one begins, 0 at the end, -1 if reading failed.
 */
static int
next_frame(struct decompressor *d, const char **wrong)
{
	struct codec_io *io = &d->io;

	if (read_packed(d, d->head->nbytes) < 0)
		return -1;
	if (is_at_frame(d))
		return 1;
	for (;;) {
		while (io->in_bytes > 0 && *io->in == 0) {
			io->in++;
			io->in_bytes--;
		}
		if (io->in_bytes > 0) {
			*wrong = say(d, "something that is not %s follows the"
			    " data; it is ignored");
			return 0;
		}
		if (read_packed(d, 1) < 0)
			return -1;
		if (io->in_bytes == 0)
			return 0;
	}
}

/*
 * Decompress what was read, frame after frame, as long as there is room. If
 * there is nothing more to do, calling it again gives the same result.
 */
static void
decompress_some(struct decompressor *d)
{
	const struct codec *codec = d->head->codec;

	while (d->result == CODEC_GOES_ON ||
	    (d->result == CODEC_ENDS && is_at_frame(d))) {
		if (d->result == CODEC_ENDS)
			codec->next(d->state);
		d->result = codec->run(d->state, &d->io, &d->reason);
		if (d->result == CODEC_GOES_ON)
			return;
	}
}

ssize_t
decompress_read(struct decompressor *d, uint8_t *data, size_t nbytes,
    const char **wrong)
{
	struct codec_io *io = &d->io;

	*wrong = NULL;
	io->out = data;
	io->out_bytes = nbytes;
	for (;;) {
		int more;

		decompress_some(d);
		if (io->out > data)
			return io->out - data;
		if (d->result == CODEC_ENDS) {
			more = next_frame(d, wrong);
			if (more <= 0)
				return more;
		} else if (d->result == CODEC_GOES_ON) {
			if (read_packed(d, 1) < 0)
				return -1;
			if (io->in_bytes == 0) {
				*wrong = say(d, "the %s data ends too early");
				return -1;
			}
		} else {
			*wrong = d->reason != NULL ? d->reason :
			    say(d, "the %s data is damaged");
			return -1;
		}
	}
}

size_t
decompress_sample(const struct format_head *head, const uint8_t *packed,
    size_t *nbytes, uint8_t *data, size_t room)
{
	const struct codec *codec = head->codec;
	struct codec_io io = { packed, *nbytes, data, room };
	const char *reason;
	void *state;

	if (codec == NULL)
		return 0;
	state = codec->begin();
	codec->run(state, &io, &reason);
	codec->end(state);
	*nbytes -= io.in_bytes;
	return room - io.out_bytes;
}
