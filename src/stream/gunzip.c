#include <stdlib.h>
#include <zlib.h>

#include "base/error.h"
#include "stream/codec.h"

static void *
begin(void)
{
	z_stream *z = memory_or_die(calloc(1, sizeof *z));

	if (inflateInit2(z, 16 + MAX_WBITS) != Z_OK)
		memory_or_die(NULL);
	return z;
}

static void
next(void *state)
{
	inflateReset(state);
}

static enum codec_result
run(void *state, struct codec_io *io, const char **reason)
{
	z_stream *z = state;
	int result;

	(void)reason; /* it is damaged */
	z->next_in = (Bytef *)(uintptr_t)io->in;
	z->avail_in = (uInt)io->in_bytes;
	z->next_out = io->out;
	z->avail_out = (uInt)io->out_bytes;
	result = inflate(z, Z_NO_FLUSH);
	*io = (struct codec_io){ z->next_in, z->avail_in, z->next_out,
		z->avail_out };
	if (result == Z_MEM_ERROR)
		memory_or_die(NULL);
	return result == Z_STREAM_END ? CODEC_ENDS :
	    result == Z_OK || result == Z_BUF_ERROR ? CODEC_GOES_ON :
	    CODEC_FAILS;
}

static void
end(void *state)
{
	inflateEnd(state);
	free(state);
}

const struct codec codec_gzip = { begin, next, run, end };
