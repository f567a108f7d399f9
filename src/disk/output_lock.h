/*
 * Locks by which runs of this program agree about an output. Other programs do
 * not take them, so they only spare runs an error, or lines that are there
 * twice.
 *
 * They are OFD locks (fcntl(2)), on bytes that no file has: `flock FILE
 * bloomdedup ...` does not wait for itself, and other descriptors of the same
 * file may be closed. They belong to the open file description, so they are
 * only taken where we have opened the file ourselves, or for moments.
 */
#ifndef DISK_OUTPUT_LOCK_H
#define DISK_OUTPUT_LOCK_H

#include "base/error.h"
#include "disk/lock_wait.h"

enum output_lock {
	OUTPUT_TURN,    /* held by a run whose turn it is to append */
	OUTPUT_CONTENTS /* shared by runs that write to the file, and held alone
			 * by one that empties or replaces it */
};

/*
 * Take the lock, alone or shared with others that share it; if we have it
 * already, it changes. `fd` must be open for writing to have it alone, and for
 * reading to share it. Waits as `wait` says (STATUS_LOCKED after the timeout),
 * until a signal asks to stop. Returns 0; -1 with `error` filled; or 1 if there
 * is no such lock, because of the file system or the descriptor, and so nobody
 * is kept away.
 */
int output_lock_alone(int fd, enum output_lock lock, const char *name,
    const struct lock_wait *wait, struct error *error);
int output_lock_shared(int fd, enum output_lock lock, const char *name,
    const struct lock_wait *wait, struct error *error);

void output_unlock(int fd, enum output_lock lock);

/* Tell `notice` that there is no such lock, and who is therefore not kept away
 * from the file `name`. */
void output_lock_lacking(enum output_lock lock, const char *name,
    void (*notice)(const char *text));

#endif
