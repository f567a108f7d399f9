/*
 * A compressed format, as stream/decompress needs it: files are frames (those
 * of gzip are called members), one after the other.
 */
#ifndef CODEC_H
#define CODEC_H

#include <stddef.h>
#include <stdint.h>

/* Compressed bytes that are not used yet, and room for decompressed ones. */
struct codec_io {
	const uint8_t *in;
	size_t in_bytes;
	uint8_t *out;
	size_t out_bytes;
};

enum codec_result {
	CODEC_GOES_ON, /* all of `in` is used, or there is no more room */
	CODEC_ENDS,    /* the frame; the next run begins another one */
	CODEC_FAILS
};

struct codec {
	/* At the beginning of a file. */
	void *(*begin)(void);
	/*
	 * Decompress, up to the end of a frame. Bytes before an error are
	 * handed out first. If it fails and says no reason, the data are
	 * damaged.
	 */
	enum codec_result (*run)(void *state, struct codec_io *io,
	    const char **reason);
	void (*end)(void *state);
};

extern const struct codec codec_zstd; /* RFC 8878; if it is built in */

#endif
