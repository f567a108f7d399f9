/*
 * A filter's file: opened and locked, or created under a temporary name; read,
 * written, extended and synced. Knows nothing of its contents. file.c has these
 * functions, file_lock.c those whose names have "lock" in them.
 *
 * All functions return 0, or -1 with `error` filled (it names the file);
 * exceptions are stated. Paths are copied. Offsets and lengths are in bytes.
 */
#ifndef DISK_FILE_H
#define DISK_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "disk/lock_wait.h"

/*
 * Another thread may extend and sync the file with a copy; what it changes
 * (length, unsafe) comes back by file_take_over.
 */
struct file {
	int fd;        /* -1 if there is no file */
	char *path;    /* name as given, for messages; owned, as are the next
		        * two */
	char *real_path; /* links resolved; the journal is next to it */
	char *hidden;  /* the temporary name before file_publish, or NULL */
	int writable;
	uint64_t length; /* length in bytes when it was last measured or
			  * changed */
	int unsafe;    /* errno of a failed sync, which is final; else 0 */
	int cut_short; /* it was found truncated, which was reported */
	int gone;      /* it was found without a name, which was reported */
	int nameless;  /* it had no name when it was opened, through /dev/fd */
	struct lock_wait wait; /* lock and patience that file_open was given */
	int noticed;   /* wait.notice was called */
};

/* The state before any open, on which file_close does nothing. */
#define FILE_NONE { .fd = -1 }

enum file_how { /* flags of file_open */
	FILE_READ = 0,
	FILE_WRITE = 1,
	FILE_NO_LINK = 2 /* a symbolic link is refused */
};

/*
 * Open the regular file `path`. For writing, lock it, too (flock, exclusive or
 * shared), and wait for the lock as `wait` says (STATUS_LOCKED after the
 * timeout); if the file is replaced meanwhile, the new one is opened. Reading
 * takes no lock. Returns 1 if there is no such file.
 */
int file_open(struct file *file, const char *path, unsigned how,
    const struct lock_wait *wait, struct error *error);

/*
 * Create an empty file, mode 0600 less the umask, locked, under a temporary
 * name in the directory of `path`. file_close removes it if it was never
 * published.
 */
int file_create(struct file *file, const char *path, struct error *error);

/*
 * Sync a file of file_create, so that it is complete, and give it its name. If
 * there is such a file by then, the new one takes its mode, owner and group and
 * replaces it; or, without `replace`, nothing happens and 1 is returned. The
 * name is synced if the directory can be opened. If `unsynced`, nothing is
 * synced: after a power failure, there may be a part of the file, or none.
 */
int file_publish(struct file *file, int replace, int unsynced,
    struct error *error);

/* Is it still the file that its name leads to? Returns 1 or 0. */
int file_has_name(const struct file *file);

/*
 * Fail if the file has lost its last name since it was opened: what is written
 * to it is lost. A file that was only moved has a name.
 */
int file_check_link(struct file *file, struct error *error);

/*
 * Close the file, which releases the lock, and remove it if it never got its
 * name. It is then FILE_NONE.
 */
void file_close(struct file *file);

/* Set file->length to what it is now. */
int file_measure(struct file *file, struct error *error);

/*
 * Fail if the file was truncated to less than `nbytes`: a write past its end
 * would leave zeros in place of what was lost.
 */
int file_check_length(struct file *file, uint64_t nbytes,
    struct error *error);

/* Read or write all nbytes at an offset. An early end is an error. */
int file_read(struct file *file, void *data, size_t nbytes,
    uint64_t offset, struct error *error);
int file_write(struct file *file, const void *data, size_t nbytes,
    uint64_t offset, struct error *error);

/*
 * Make the file end at `length` + `nbytes`: truncate it to `length`, then
 * allocate zeros, so that a full disk is an error here and not SIGBUS later.
 * A signal that stops the program while it does so is an error; one that came
 * before is the caller's.
 */
int file_extend(struct file *file, uint64_t length, uint64_t nbytes,
    struct error *error);

/*
 * Fill a range with zeros and allocate it, whatever was there. The file is
 * extended if need be, and never truncated. For signals, the same holds as in
 * file_extend.
 */
int file_clear(struct file *file, uint64_t offset, uint64_t nbytes,
    struct error *error);

/*
 * May the range have data? 0 only if the file system says that all of it is a
 * hole, or allocated and never written: then it reads as zeros.
 */
int file_may_have_data(const struct file *file, uint64_t offset,
    uint64_t nbytes);

/* Free the disk space of a range. Returns 0 if that worked: it is zero then. */
int file_punch(struct file *file, uint64_t offset, uint64_t nbytes);

/*
 * Sync data and length to the disk. A failure is final: each later call reports
 * it again.
 */
int file_sync(struct file *file, struct error *error);

/* Take over what changed in a copy that another thread worked with. */
void file_take_over(struct file *file, const struct file *copy);

/*
 * Take the lock of an open file as file->wait says, waiting from `start`
 * (clock_now) on; file_open does so for writers. Fails with STATUS_LOCKED after
 * the timeout, and if a signal asks to stop.
 */
int file_take_lock(struct file *file, uint64_t start, struct error *error);

/* Lock a new file that nobody else knows. */
int file_lock_new(struct file *file, struct error *error);

/* Turn the lock of file_create into a shared one. */
void file_share_lock(struct file *file);

/*
 * Make the lock exclusive without waiting. Returns 1 if that worked; otherwise
 * the lock is lost.
 */
int file_lock_alone(struct file *file);

/*
 * A short lock on a range of bytes (fcntl(2)), for runs that share the file:
 * for one of them, or for all that read. Waits as file_open does, but at least
 * a second: others hold it only for moments. It is released when the process
 * ends. Fails at once where it could wait for the lock of a whole file, which
 * file_open takes. file_try_range tries once to lock it for one, and returns 1
 * if it did.
 */
enum file_range { FILE_RANGE_ONE, FILE_RANGE_READERS };
int file_lock_range(struct file *file, uint64_t offset, uint64_t nbytes,
    enum file_range whom, struct error *error);
int file_try_range(struct file *file, uint64_t offset, uint64_t nbytes);
void file_unlock_range(struct file *file, uint64_t offset, uint64_t nbytes);

/*
 * Returns the process that holds the lock on a file (os_lock_holder); 0
 * if none or unknown. The name of its command ("" if unknown) goes to `name`
 * unless that is NULL.
 */
#define FILE_HOLDER_NAME 32
pid_t file_lock_holder(const char *path, char name[FILE_HOLDER_NAME]);

#endif
