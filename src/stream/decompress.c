#include "stream/decompress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/error.h"

#define HEAD_BYTES_MOST 10

struct format_head {
	const char *name;
	const char *refusal;       /* the reason for refusing it, or NULL */
	const struct codec *codec; /* the codec that reads it, or NULL */
	size_t nbytes;
	uint8_t bytes[HEAD_BYTES_MOST];
	uint8_t ignored[HEAD_BYTES_MOST]; /* bits that may differ */
};

/* A format that is refused, with the name of the program that reads it. */
#define REFUSED(name) (name), "it is compressed: pipe it through '" name \
	" -dc', or read it as it is with --no-decompress", NULL

#ifdef WITH_ZSTD
#define ZSTD "zstd", NULL, &codec_zstd
#else
#define ZSTD REFUSED("zstd")
#endif

static void *
gzip_begin(void)
{
	z_stream *z = memory_or_die(calloc(1, sizeof *z));

	if (inflateInit2(z, 16 + MAX_WBITS) != Z_OK)
		memory_or_die(NULL);
	return z;
}

static enum codec_result
gzip_run(void *state, struct codec_io *io, const char **reason)
{
	z_stream *z = state;
	int result;

	(void)reason; /* Any failure of zlib means that the data are damaged. */
	z->next_in = (Bytef *)(uintptr_t)io->in;
	z->avail_in = (uInt)io->in_bytes;
	z->next_out = io->out;
	z->avail_out = (uInt)io->out_bytes;
	result = inflate(z, Z_NO_FLUSH);
	*io = (struct codec_io){ z->next_in, z->avail_in, z->next_out,
		z->avail_out };
	if (result == Z_MEM_ERROR)
		memory_or_die(NULL);
	if (result == Z_STREAM_END) {
		inflateReset(z);
		return CODEC_ENDS;
	}
	return result == Z_OK || result == Z_BUF_ERROR ? CODEC_GOES_ON :
	    CODEC_FAILS;
}

static void
gzip_end(void *state)
{
	inflateEnd(state);
	free(state);
}

/* RFC 1952 */
static const struct codec gzip = { gzip_begin, gzip_run, gzip_end };

static const struct format_head heads[] = {
	{ "gzip", NULL, &gzip, 4, { 0x1f, 0x8b, 8, 0 }, { 0, 0, 0, 0x1f } },
	{ ZSTD, 4, { 0x28, 0xb5, 0x2f, 0xfd }, { 0 } },
	/* a frame to skip */
	{ ZSTD, 4, { 0x50, '*', 'M', 0x18 }, { 0x0f } },
	/* The first has something in it, the second is empty. */
	{ REFUSED("bzip2"), 10, { 'B', 'Z', 'h', '0',
	    0x31, 0x41, 0x59, 0x26, 0x53, 0x59 }, { 0, 0, 0, 0x0f } },
	{ REFUSED("bzip2"), 10, { 'B', 'Z', 'h', '0',
	    0x17, 0x72, 0x45, 0x38, 0x50, 0x90 }, { 0, 0, 0, 0x0f } },
	{ REFUSED("xz"), 6, { 0xfd, '7', 'z', 'X', 'Z', 0 }, { 0 } },
	{ REFUSED("lz4"), 4, { 4, '"', 'M', 0x18 }, { 0 } },
};

struct decompressor {
	decompress_source *source;
	void *context;
	const struct format_head *head;
	void *state;            /* the codec's */
	struct codec_io io;
	enum codec_result result;
	const char *reason;     /* the reason for a failure; NULL: damage */
	char text[100];         /* the message about what is wrong */
	int at_end;             /* no more can be read */
	uint8_t packed[DECOMPRESS_BYTES];
};

const struct format_head *
decompress_head(const uint8_t *p, size_t nbytes, int *unsure)
{
	*unsure = 0;
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		const struct format_head *head = &heads[i];
		size_t same = 0;

		while (same < nbytes && same < head->nbytes &&
		    (p[same] & ~head->ignored[same]) == head->bytes[same])
			same++;
		if (same == head->nbytes)
			return head;
		*unsure |= same == nbytes;
	}
	return NULL;
}

struct decompressor *
decompress_begin(const struct format_head *head, const uint8_t *data,
    size_t nbytes, decompress_source *source, void *context,
    const char **wrong)
{
	struct decompressor *d;

	*wrong = head->refusal;
	if (*wrong != NULL)
		return NULL;
	d = memory_or_die(malloc(sizeof *d));
	d->source = source;
	d->context = context;
	d->head = head;
	d->state = head->codec->begin();
	d->result = CODEC_GOES_ON;
	d->reason = NULL;
	memcpy(d->packed, data, nbytes);
	d->io = (struct codec_io){ .in = d->packed, .in_bytes = nbytes };
	d->at_end = 0;
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
	/* A full output may have left decompressed bytes in the codec. */
	return d->io.in_bytes > 0 || d->io.out_bytes == 0;
}

/* Read until `wanted` bytes are there, or the end. -1 if reading fails. */
static int
read_packed(struct decompressor *d, size_t wanted)
{
	struct codec_io *io = &d->io;

	while (io->in_bytes < wanted && !d->at_end) {
		ssize_t n;

		memmove(d->packed, io->in, io->in_bytes);
		io->in = d->packed;
		n = d->source(d->context, d->packed + io->in_bytes,
		    DECOMPRESS_BYTES - io->in_bytes);
		if (n < 0)
			return -1;
		d->at_end = n == 0;
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
	int unsure;
	const struct format_head *head = decompress_head(d->io.in,
	    d->io.in_bytes, &unsure);

	return head != NULL && head->codec == d->head->codec;
}

/*
 * Decompress what was read, until the codec wants more bytes or more room, or
 * fails, or until a frame ends and none follows in what was read.
 */
static void
run_codec(struct decompressor *d)
{
	do {
		d->result = d->head->codec->run(d->state, &d->io, &d->reason);
	} while (d->result == CODEC_ENDS && is_at_frame(d));
}

/* Read more of an unfinished frame. -1 if reading fails or there is no more. */
static int
read_on(struct decompressor *d, const char **wrong)
{
	if (read_packed(d, 1) < 0)
		return -1;
	if (d->io.in_bytes > 0)
		return 0;
	*wrong = say(d, "the %s data ends too early");
	return -1;
}

/*
 * No frame follows. Zeros at the end are padding, as for gzip(1); anything else
 * is reported. Returns 0, or -1 if reading fails.
 */
static int
skip_padding(struct decompressor *d, const char **wrong)
{
	struct codec_io *io = &d->io;

	while (io->in_bytes > 0 && *io->in == 0) {
		io->in++;
		io->in_bytes--;
		if (read_packed(d, 1) < 0)
			return -1;
	}
	if (io->in_bytes > 0)
		*wrong = say(d, "something that is not %s follows the data; it"
		    " is ignored");
	return 0;
}

ssize_t
decompress_read(struct decompressor *d, uint8_t *data, size_t nbytes,
    const char **wrong)
{
	*wrong = NULL;
	d->io.out = data;
	d->io.out_bytes = nbytes;
	for (;;) {
		if (d->result == CODEC_GOES_ON ||
		    (d->result == CODEC_ENDS && is_at_frame(d)))
			run_codec(d);
		if (d->io.out > data)
			return d->io.out - data;
		switch (d->result) {
		case CODEC_GOES_ON:
			if (read_on(d, wrong) < 0)
				return -1;
			break;
		case CODEC_ENDS:
			/*
			 * Read on, since the beginning of a next frame may not
			 * be here yet.
			 */
			if (read_packed(d, d->head->nbytes) < 0)
				return -1;
			if (!is_at_frame(d))
				return skip_padding(d, wrong);
			break;
		case CODEC_FAILS:
			*wrong = d->reason;
			if (*wrong == NULL)
				*wrong = say(d, "the %s data is damaged");
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
