/*
 * The text of a complete journal, which is appended to its outputs in place.
 * If that is interrupted, it is done again: what the files have already is not
 * added twice.
 */
#ifndef DISK_REDO_H
#define DISK_REDO_H

#include "base/error.h"
#include "disk/journal.h"
#include "disk/lock_wait.h"

enum redo {
	REDO_DONE,      /* all outputs have their text, on the disk */
	REDO_DISCARDED, /* no output has any of it, except where `error` says
	                   so, and none can get it: `error` says why; the
	                   journal is of no use any more */
	REDO_UNFINISHED /* `error` says why; the journal must stay */
};

/*
 * Append the text to the outputs of a run that has just been committed, which
 * are open as `fds` and locked (OUTPUT_TURN): no name is looked up. A failure
 * takes back what was appended, unless somebody else has the file open.
 */
enum redo redo_first(struct journal *journal, const int fds[JOURNAL_OUTPUTS],
    void (*notice)(const char *text), struct error *error);

/*
 * Append what the outputs lack, after the run was interrupted: an earlier one
 * may have appended some of it, from the length on that the file had at the
 * commit. A file that is gone, was replaced or is shorter than at the commit
 * gets nothing, and then neither do the others, from which text of an earlier
 * run is taken back. Files are known by their names and inodes: the
 * number of a device may change when the system starts anew. To be called only
 * for a journal that is not done (journal_done), since before that nothing can
 * be remembered, and after that the outputs are none of our business.
 *
 * If another run appends to the same file, its end is waited for as `wait` says
 * (STATUS_LOCKED after the timeout), until a signal asks to stop. wait->notice
 * is also told if text may now be in a file twice.
 */
enum redo redo_again(struct journal *journal, const struct lock_wait *wait,
    struct error *error);

/* Fills `error`: the output of this name is another file now. Returns -1. */
int redo_gone(const char *name, struct error *error);

#endif
