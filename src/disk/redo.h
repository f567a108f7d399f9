/*
 * The text of a complete journal, which is appended to its outputs in place.
 * If that is interrupted, it is done again: what the files have already is not
 * added twice.
 */
#ifndef DISK_REDO_H
#define DISK_REDO_H

#include "base/error.h"
#include "disk/file.h"
#include "disk/journal.h"

enum redo {
	REDO_DONE,      /* all outputs have their text, on the disk */
	REDO_DISCARDED, /* no output has any of it, except where `error` says
	                   so, and none can get it: `error` says why; the
	                   journal is of no use any more */
	REDO_UNFINISHED /* `error` says why; the journal must stay */
};

/*
 * Append what the outputs lack. With `again`, an earlier run may have appended
 * some of it, from the length on that the file had at the commit; without, a
 * failure takes back what was appended, unless somebody else has the file open.
 *
 * A file that is gone, was replaced or is shorter than at the commit gets
 * nothing, and then neither does the other one, from which text of an earlier
 * run is taken back. Files are known by their names and inodes: the number of a
 * device may change when the system starts anew.
 *
 * If another run appends to the same file, its end is waited for as `wait` says
 * (STATUS_LOCKED after the timeout), until a signal asks to stop. wait->notice
 * is also told if text may now be in a file twice.
 */
enum redo redo_apply(struct journal *journal, int again,
    const struct lock_wait *wait, struct error *error);

#endif
