/*
 * Notes of a run: which bytes it is about to append to which file. If it is
 * killed while it writes, the file ends within these bytes, and the next run of
 * the filter cuts off what is torn, whatever it writes to itself
 * (append_settle).
 *
 * They are in a file next to the filter, FILTER.notes-UID, one for each user,
 * so that one user's notes are never in another's way. Since they name a file
 * that is then cut, they are believed only if nobody else could have written
 * them: the file is a regular one of root's or ours, with one name, that
 * neither group nor others may write to. Notes that are not believed are left
 * alone.
 *
 * A note is stored in a mapped page: it costs no system call, and survives the
 * process, but not the system.
 */
#ifndef DISK_NOTES_H
#define DISK_NOTES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "disk/table.h"
#include "key/record.h"

/*
 * As many of the bytes are noted, at most: inode numbers are used again, and
 * others may append to what is torn, so only what is byte for byte as it was
 * noted may be cut off. Longer pieces are better written in several writes.
 */
#define NOTES_TEXT_MAX (128 * 1024)
/* So many bytes behind notes_text may be overwritten, too. */
#define NOTES_PADDING 128
/* The most bytes that end another's torn record. */
#define NOTES_ENDING_MAX 3

/* One file that may be written to. */
struct notes_file {
	uint64_t device, inode;
	struct record_format format;
	char *path; /* absolute name, links resolved; owned */
};

/* The most files of a run. */
#define NOTES_FILES 3

/* A note: these bytes are, or are about to be, at this place of the file. */
struct note {
	struct notes_file file;
	uint64_t begin;
	uint64_t ending;  /* number of first bytes that only end another's torn
			   * record */
	uint64_t nbytes;  /* number of bytes, these included */
	uint8_t *text;    /* the bytes, as far as they were noted; owned */
	size_t text_bytes;
};

struct notes {
	int fd;             /* -1: there are no notes */
	char *path;         /* owned */
	uint8_t *page;      /* the mapped file */
	size_t at;          /* offset of the note, behind the files */
	size_t text_room;   /* bytes of text that there is room for on the
			     * disk, at most NOTES_TEXT_MAX */
};

#define NOTES_NONE { .fd = -1 }

/*
 * Begin notes for the filter file `filter` (its resolved name), which is locked
 * for this run alone; those of an earlier run of this user are replaced.
 * Returns 0, or -1 with `error` filled; then there are none, and the next calls
 * do nothing.
 */
int notes_begin(struct notes *notes, const char *filter,
    const uint8_t id[FILTER_ID_BYTES], const struct notes_file files[],
    unsigned count, struct error *error);

/*
 * Where the bytes of the next write can be put together, so that notes_put need
 * not copy them: NOTES_TEXT_MAX bytes, and the padding. NULL if there is no
 * such place. What the last note says must have been written completely.
 */
uint8_t *notes_text(const struct notes *notes);

/*
 * Note a write of `ending`, of up to NOTES_ENDING_MAX bytes, and then `data` to
 * file `number`, at offset `begin`, before it begins.
 */
void notes_put(struct notes *notes, unsigned number, uint64_t begin,
    const void *ending, size_t ending_bytes, const void *data, size_t nbytes);

/* End a run: remove its notes or, with `keep`, leave them. */
void notes_end(struct notes *notes, int keep);

/*
 * Read the note that an earlier run of this filter by this user left. Returns 1
 * if there is one that may be believed, which note_free frees, otherwise 0; or
 * -1 with `error` filled if its file cannot be opened, unless it is that of
 * somebody else. A file that may be believed, but has no note about this
 * filter, is removed.
 */
int notes_read(const char *filter, const uint8_t id[FILTER_ID_BYTES],
    struct note *note, struct error *error);
void note_free(struct note *note);

/* Remove this user's notes of a filter that is removed or replaced. */
void notes_discard(const char *filter);

#endif
