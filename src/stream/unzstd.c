/*
 * When libzstd fails, it says nothing of what it has decompressed, so it gets
 * block by block: then nothing before a damaged one is lost.
 */
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.h"
#include "stream/decompress.h"

/* The least that says how much a frame's header has (section 3.1.1). */
#define FRAME_HEAD_BYTES 5
#define BLOCK_HEAD_BYTES 3
/* Larger windows need more memory than a filter often has: 128 MiB. */
#define WINDOW_LOG_MOST 27

struct unzstd {
	ZSTD_DCtx *stream;
	size_t wanted; /* bytes of the next parts of the frame */
};

static void *
zstd_begin(void)
{
	struct unzstd *u = memory_or_die(malloc(sizeof *u));

	u->stream = memory_or_die(ZSTD_createDCtx());
	ZSTD_DCtx_setParameter(u->stream, ZSTD_d_windowLogMax,
	    WINDOW_LOG_MOST);
	u->wanted = FRAME_HEAD_BYTES;
	return u;
}

static const char *
why(size_t result)
{
	switch (ZSTD_getErrorCode(result)) {
	case ZSTD_error_memory_allocation:
		memory_or_die(NULL);
		return NULL;
	case ZSTD_error_frameParameter_windowTooLarge:
		return "its zstd window is larger than 128 MiB; use 'zstd -dc"
		    " --long=31 FILE |'";
	case ZSTD_error_dictionary_wrong:
		return "the zstd data needs a dictionary; use 'zstd -dc -D"
		    " DICTIONARY FILE |'";
	default:
		return NULL;
	}
}

static enum codec_result
zstd_run(void *state, struct codec_io *io, const char **reason)
{
	struct unzstd *u = state;

	do {
		/*
		 * Hand over only the next part, without the head of the block
		 * behind it.
		 */
		size_t part = u->wanted > BLOCK_HEAD_BYTES ?
		    u->wanted - BLOCK_HEAD_BYTES : u->wanted;
		ZSTD_inBuffer in = { io->in, part < io->in_bytes ? part :
			io->in_bytes, 0 };
		ZSTD_outBuffer out = { io->out, io->out_bytes, 0 };

		u->wanted = ZSTD_decompressStream(u->stream, &out, &in);
		if (ZSTD_isError(u->wanted)) {
			*reason = why(u->wanted);
			return CODEC_FAILS;
		}
		io->in += in.pos;
		io->in_bytes -= in.pos;
		io->out += out.pos;
		io->out_bytes -= out.pos;
		if (u->wanted == 0) {
			ZSTD_DCtx_reset(u->stream, ZSTD_reset_session_only);
			u->wanted = FRAME_HEAD_BYTES;
			return CODEC_ENDS;
		}
	} while (io->in_bytes > 0 && io->out_bytes > 0);
	return CODEC_GOES_ON;
}

static void
zstd_end(void *state)
{
	struct unzstd *u = state;

	ZSTD_freeDCtx(u->stream);
	free(u);
}

const struct codec codec_zstd = { zstd_begin, zstd_run, zstd_end };
