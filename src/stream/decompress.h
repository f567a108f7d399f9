/*
 * Decompress files as they are read: frame after frame, ignoring zeros after
 * the last one, as gzip(1) does. Hands out bytes before more is read.
 */
#ifndef STREAM_DECOMPRESS_H
#define STREAM_DECOMPRESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The most bytes that are read at a time. */
#define DECOMPRESS_BYTES (256 * 1024)

/* The first bytes of files of a format. */
struct format_head;

struct decompressor;

/* A function like read(2) of up to DECOMPRESS_BYTES, which waits for input. */
typedef ssize_t decompress_source(void *context, uint8_t *data, size_t nbytes);

/*
 * Returns the format that these bytes begin with; NULL if none. *unsure then
 * becomes whether it could be one if there were more bytes.
 */
const struct format_head *decompress_head(const uint8_t *data, size_t nbytes,
    int *unsure);

/*
 * Begin a file; `data`, at most DECOMPRESS_BYTES, begins with its head. Returns
 * NULL if its format is not supported; *wrong then becomes a text that says
 * what to do. decompress_end frees it.
 */
struct decompressor *decompress_begin(const struct format_head *head,
    const uint8_t *data, size_t nbytes, decompress_source *source,
    void *context, const char **wrong);

/*
 * Returns the next bytes, up to `nbytes` of them; 0 at the end; -1 on an error.
 * Then, and at an end after which something is ignored, *wrong becomes what is
 * wrong with the data; if it is NULL, errno says why no more could be read.
 * Bytes before an error are handed out first.
 */
ssize_t decompress_read(struct decompressor *decompressor, uint8_t *data,
    size_t nbytes, const char **wrong);

/*
 * Free the decompressor, at the end of its file or before. Does nothing if it
 * is NULL.
 */
void decompress_end(struct decompressor *decompressor);

/* May decompress_read have bytes to hand out without reading any? */
int decompress_has_more(const struct decompressor *decompressor);

/*
 * Decompress the beginning of a file. *nbytes becomes the number of compressed
 * bytes used. Returns the number of decompressed bytes, 0 if they are damaged
 * or the format is not understood.
 */
size_t decompress_sample(const struct format_head *head,
    const uint8_t *packed, size_t *nbytes, uint8_t *data, size_t room);

/*
 * A codec, which knows one format, as unzstd.c does: files are frames (gzip
 * calls them members), one after the other.
 */

/* Compressed bytes that are not used yet, and room for decompressed ones. */
struct codec_io {
	const uint8_t *in;
	size_t in_bytes;
	uint8_t *out;
	size_t out_bytes;
};

enum codec_result {
	CODEC_GOES_ON, /* all of `in` is used, or there is no more room */
	CODEC_ENDS,    /* the frame ends; the next run begins another one */
	CODEC_FAILS
};

struct codec {
	/* Returns the state of the codec for a new file; `end` frees it. */
	void *(*begin)(void);
	/*
	 * Decompress to the end of a frame; bytes before an error come first.
	 * If it fails and leaves *reason NULL, the data are damaged.
	 */
	enum codec_result (*run)(void *state, struct codec_io *io,
	    const char **reason);
	void (*end)(void *state);
};

extern const struct codec codec_zstd; /* RFC 8878; if it is built in */

#endif
