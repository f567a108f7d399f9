/*
 * The frames that a journal consists of, each with a checksum: u32s magic,
 * kind, length of the payload and CRC-32 of it all, then the payload. See
 * bloomdedup(5), "Journal".
 */
#ifndef DISK_FRAME_H
#define DISK_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "key/record.h"

enum {
	FRAME_HEAD_BYTES = 16,
	FRAME_PAYLOAD_MAX = 4096 * 16
};

enum frame_kind { /* values as stored in the file */
	FRAME_BEGIN = 1,
	FRAME_DIGESTS = 2,
	FRAME_COMMIT = 3,
	/* 4 was used by versions that were never released. */
	FRAME_TEXT = 5,
	FRAME_OUTPUT = 6,
	FRAME_FILE = 7, /* this kind and the next one are for notes.h */
	FRAME_NOTE = 8,
	FRAME_DONE = 9
};

extern const uint8_t frame_magic[4];

/* Write the head of a frame, whose payload of `nbytes` is already behind it. */
void frame_seal(uint8_t *frame, enum frame_kind kind, size_t nbytes);

/* The head of a frame that has been read. */
struct frame {
	uint32_t kind;
	size_t nbytes;
};

/*
 * Read the frame at `offset` of the file `path` to `data`, which has room for
 * the head and the longest payload. Returns 1 if no complete frame is there:
 * the end of the file, or what a crash left. -1, with `error` filled, if the
 * file cannot be read.
 */
int frame_read(int fd, const char *path, uint64_t offset, uint8_t *data,
    struct frame *frame, struct error *error);

/* The format of an output's records, as payloads have it, in 4 bytes. */
#define FRAME_FORMAT_BYTES 4
void frame_put_format(uint8_t *to, const struct record_format *format);
struct record_format frame_format(const uint8_t *from);

#endif
