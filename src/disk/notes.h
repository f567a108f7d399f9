/*
 * Notes of a run: which part of which output it is about to write. If it is
 * killed while it writes, the file ends within that part, and the next run of
 * the filter that appends to the file knows that its last record may be torn.
 *
 * They are a journal (journal.h) without a commit, which means nothing to the
 * filter, and which every version ignores. A note is stored in a mapped page:
 * it costs no system call, and survives the process, but not the system.
 */
#ifndef DISK_NOTES_H
#define DISK_NOTES_H

#include <stdint.h>

#include "base/error.h"
#include "disk/table.h"
#include "disk/journal.h"

/* Of what is written, so many bytes are noted themselves. */
#define NOTE_SAMPLE_BYTES 64

/*
 * Bytes `begin` to begin + nbytes of a file are about to be written. The first
 * ones are noted, too: inode numbers are used again, and a file may be written
 * anew, so whoever finds a note must look whether the file has them.
 */
struct note {
	uint64_t device, inode;
	uint64_t begin;
	uint64_t nbytes; /* 0: there is no note */
	uint64_t sample_bytes;
	uint8_t sample[NOTE_SAMPLE_BYTES]; /* zeros behind sample_bytes */
};

/* A run has two outputs at most. */
#define NOTES_COUNT 2

struct notes {
	struct journal journal;
	uint8_t *frame;  /* in the mapped page; NULL: there are no notes */
	void *page;
	struct note of[NOTES_COUNT];
};

#define NOTES_NONE { .journal = JOURNAL_NONE }

/*
 * Begin notes for the filter file `filter` (its resolved name), which is locked
 * for this run alone; those of an earlier run are replaced. Returns 0, or -1
 * with `error` filled; then there are none, and notes_put does nothing.
 */
int notes_begin(struct notes *notes, const char *filter,
    const uint8_t id[FILTER_ID_BYTES], struct error *error);

/* Note a write to output i, before it begins. */
void notes_put(struct notes *notes, unsigned i, const struct note *note);

/* The run has ended: remove its notes, or with `keep`, leave them. */
void notes_end(struct notes *notes, int keep);

/*
 * The notes that an earlier run of this filter left. All are empty if there are
 * none, or if they can't be read.
 */
void notes_read(const char *filter, const uint8_t id[FILTER_ID_BYTES],
    struct note notes[NOTES_COUNT]);

#endif
