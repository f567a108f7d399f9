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

/*
 * The first bytes of what is about to be written are noted, too: inode numbers
 * are used again, and a file may be written anew, so whoever finds a note must
 * look whether the file has them. Of CSV it is all that fits, so that records
 * that others append to one torn within quotes can be told from its rest.
 */
#define NOTES_FEW_BYTES 64
#define NOTES_CSV_BYTES (128 * 1024)

/*
 * Bytes `begin` to begin + nbytes of a file are, or are about to be, written:
 * whole records.
 */
struct note {
	uint64_t inode;
	uint64_t begin;
	uint64_t nbytes; /* 0: there is no note */
	/* Only of one that was read: the first of these bytes. */
	uint8_t *text;
	size_t text_bytes;
};

/* A run has two outputs at most. */
#define NOTES_COUNT 2

struct notes {
	struct journal journal;
	uint8_t *page;     /* the mapped file; NULL: there are no notes */
	size_t page_bytes;
	size_t text_room;  /* bytes of each output that are noted at most */
	struct note of[NOTES_COUNT];
};

#define NOTES_NONE { .journal = JOURNAL_NONE }

/*
 * Begin notes for the filter file `filter` (its resolved name), which is locked
 * for this run alone; those of an earlier run are replaced. `text_room` is one
 * of the two constants above. Returns 0, or -1 with `error` filled; then there
 * are none, and notes_put does nothing.
 */
int notes_begin(struct notes *notes, const char *filter,
    const uint8_t id[FILTER_ID_BYTES], size_t text_room,
    struct error *error);

/*
 * Note a write to output i, before it begins: of `nbytes` bytes behind those
 * that `written` says have been written.
 */
void notes_put(struct notes *notes, unsigned i, const struct note *written,
    const void *text, size_t nbytes);

/* End a run: remove its notes or, with `keep`, leave them. */
void notes_end(struct notes *notes, int keep);

/*
 * Read the notes that an earlier run of this filter left; notes_free frees the
 * memory that they own. All are empty if there are none, or if they cannot be
 * read.
 */
void notes_read(const char *filter, const uint8_t id[FILTER_ID_BYTES],
    struct note notes[NOTES_COUNT]);
void notes_free(struct note notes[NOTES_COUNT]);

#endif
