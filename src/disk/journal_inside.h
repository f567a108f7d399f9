/*
 * Declarations that the three files of the journal share: journal_file.c has
 * its name, and opens, removes and closes it, journal_read.c reads it, and
 * journal.c makes it and writes to it. No other file includes this.
 */
#ifndef DISK_JOURNAL_INSIDE_H
#define DISK_JOURNAL_INSIDE_H

#include <stdint.h>

#include "base/error.h"
#include "disk/frame.h"
#include "disk/table.h"

struct journal;

/* Lengths in bytes, and numbers of things, of the payloads of frames. */
enum {
	HEAD_BYTES = FRAME_HEAD_BYTES,
	DIGEST_BYTES = 16,
	FRAME_DIGESTS_MAX = FRAME_PAYLOAD_MAX / DIGEST_BYTES,
	SPAN_BYTES = 12,
	BEGIN_BYTES = 4 + FILTER_ID_BYTES,
	COMMIT_MAX = 8 + TABLE_LAYERS_MAX * SPAN_BYTES,
	VERSION = 1,
	VERSION_WITH_TEXT = 2,
	TEXT_HEAD_BYTES = 4,
	OUTPUT_HEAD_BYTES = 4 + 4 + 3 * 8
};

/*
 * Open the file of the journal of `filter` (its resolved name) with these flags
 * of open(2). Returns 0, or -1 with `error` filled and errno set; in either
 * case, the caller closes the journal.
 */
int journal_begin(struct journal *journal, const char *filter, int flags,
    struct error *error);

#endif
