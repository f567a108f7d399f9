/*
 * Locks on an open file: one for the whole run (flock(2), exclusive or shared)
 * and a short one on a range of bytes (fcntl(2)) for runs that share the file.
 *
 * Functions return 0, or -1 with `error` filled; `path` is the file's name for
 * messages.
 */
#ifndef LOCK_H
#define LOCK_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Which lock to take, and how to wait for another run that holds it. */
struct lock_wait {
	int shared;                        /* together with other runs */
	uint64_t milliseconds;             /* 0: not at all */
	void (*notice)(const char *text);  /* called once, after 1 s */
};

struct lock {
	struct lock_wait wait;
	int noticed;                       /* notice was called */
};

/*
 * Take the lock on `fd`, as lock->wait says. The timeout counts from `start`
 * (clock_now) and ends in STATUS_LOCKED.
 */
int lock_take(struct lock *lock, int fd, const char *path, uint64_t start,
    struct error *error);

/*
 * Downgrade the lock to a shared one, and use `wait` from now on; or try to
 * make it exclusive: returns 1 if that worked, else the lock is lost.
 */
void lock_share(struct lock *lock, int fd, const struct lock_wait *wait);
int lock_is_alone(int fd);

/*
 * The short lock. Waits as lock_take does, but at least a second: others hold
 * it only for moments. It is released when the process ends.
 */
int lock_range(struct lock *lock, int fd, const char *path, uint64_t offset,
    uint64_t nbytes, struct error *error);
void lock_range_end(int fd, uint64_t offset, uint64_t nbytes);

/*
 * Which process holds the lock on a file, read from /proc/locks; 0 if none or
 * unknown. Its command's name is "" if that is unknown.
 */
#define LOCK_HOLDER_NAME 32
pid_t lock_holder(const char *path);
void lock_holder_name(pid_t process, char name[LOCK_HOLDER_NAME]);

#endif
