/*
 * A file that is to be replaced by another one in the end of a run. What others
 * write to it until then would be lost, so it must be as it was when the run
 * began, and nobody may have it open for writing.
 *
 * A program that opens it at the very moment of the replacement writes to a
 * file without a name: no system call replaces a file only if nobody uses it.
 *
 * Functions return 0, or -1 with `error` filled.
 */
#ifndef DISK_REPLACED_H
#define DISK_REPLACED_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"
#include "disk/lock_wait.h"

struct replaced {
	int fd;       /* -1: it is not open */
	int exists;   /* is there such a file? if not, nothing is compared */
	dev_t device;
	ino_t inode;
	off_t nbytes;
	uint64_t changed; /* time of its last change (os_changed) */
};

#define REPLACED_NONE { .fd = -1 }

/* The file as it is when the run begins; NULL: there is none. */
void replaced_begin(struct replaced *replaced, const struct stat *st);

/*
 * The run is done: no run of ours that writes to the file may go on
 * (OUTPUT_CONTENTS), and it must be as it was. `notice` of `wait` is told if
 * other runs cannot be kept away. If the file is gone by now, it does not exist
 * any more for us, either.
 */
int replaced_lock(struct replaced *replaced, const char *path,
    const struct lock_wait *wait, struct error *error);

/*
 * Immediately before the file is replaced: fails unless it is still as it was,
 * and nobody has it open for writing. Until replaced_end, who wants to open it
 * for writing waits, where the system can do that; elsewhere `notice` is told.
 */
int replaced_check(struct replaced *replaced, const char *path,
    void (*notice)(const char *text), struct error *error);

/* Close it, which ends the lock and lets others open it again. */
void replaced_end(struct replaced *replaced);

#endif
