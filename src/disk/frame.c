#include "disk/frame.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "base/io.h"
#include "base/le.h"

enum { /* offsets in a frame */
	AT_KIND = 4,
	AT_NBYTES = 8,
	AT_CRC = 12
};

const uint8_t frame_magic[4] = { 0x89, 'b', 'd', 'j' };

/* The CRC-32 counts its own field as zero. */
static uint32_t
checksum(uint8_t *frame, size_t nbytes)
{
	le_put32(frame + AT_CRC, 0);
	return (uint32_t)crc32(crc32(0, NULL, 0), frame,
	    (uInt)(FRAME_HEAD_BYTES + nbytes));
}

void
frame_seal(uint8_t *frame, enum frame_kind kind, size_t nbytes)
{
	memcpy(frame, frame_magic, sizeof frame_magic);
	le_put32(frame + AT_KIND, kind);
	le_put32(frame + AT_NBYTES, (uint32_t)nbytes);
	le_put32(frame + AT_CRC, checksum(frame, nbytes));
}

int
frame_read(int fd, const char *path, uint64_t offset, uint8_t *data,
    struct frame *frame, struct error *error)
{
	ssize_t n = io_pread(fd, data, FRAME_HEAD_BYTES, offset);
	uint32_t nbytes, crc;

	if (n < 0)
		return error_system(error, errno, path);
	nbytes = le_get32(data + AT_NBYTES);
	if (n < FRAME_HEAD_BYTES ||
	    memcmp(data, frame_magic, sizeof frame_magic) != 0 ||
	    nbytes > FRAME_PAYLOAD_MAX)
		return 1;
	n = io_pread(fd, data + FRAME_HEAD_BYTES, nbytes,
	    offset + FRAME_HEAD_BYTES);
	if (n < 0)
		return error_system(error, errno, path);
	if ((size_t)n < nbytes)
		return 1;
	crc = le_get32(data + AT_CRC);
	if (crc != checksum(data, nbytes))
		return 1;
	frame->kind = le_get32(data + AT_KIND);
	frame->nbytes = nbytes;
	return 0;
}

/* What the third byte of a format says. */
enum { LINES = 0, CSV = 1, CSV_WITH_BACKSLASHES = 2 };

void
frame_put_format(uint8_t *to, const struct record_format *format)
{
	to[0] = format->csv.terminator;
	to[1] = format->csv.separator;
	to[2] = LINES;
	if (format->is_csv)
		to[2] = format->csv.backslash ? CSV_WITH_BACKSLASHES : CSV;
	to[3] = 0;
}

struct record_format
frame_format(const uint8_t *from)
{
	return (struct record_format){ .is_csv = from[2] != LINES,
		.csv = { .terminator = from[0], .separator = from[1],
		.backslash = from[2] == CSV_WITH_BACKSLASHES } };
}
