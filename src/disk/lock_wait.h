/* The patience with others that hold a lock. */
#ifndef DISK_LOCK_WAIT_H
#define DISK_LOCK_WAIT_H

#include <stdint.h>

#include "base/error.h"

/* The lock to take, and the patience with another run that holds it. */
struct lock_wait {
	int shared;                        /* together with other runs */
	uint64_t milliseconds;             /* 0: not at all */
	void (*notice)(const char *text);  /* called once, after 1 s */
};

/* A wait for a lock that others hold. */
struct lock_pauses {
	const char *name;      /* name of the file, for messages; not copied */
	uint64_t since;        /* time at which it began, by clock_now */
	uint64_t milliseconds; /* length of the wait; 0: none */
	void (*notice)(const char *text);
	int *noticed;          /* was it said that this run waits? */
	long pause;            /* length of the next pause in microseconds */
};

/*
 * Does the next call of lock_pause say who has the lock? The caller need not
 * find out before.
 */
int lock_pause_speaks(const struct lock_pauses *pauses);

/*
 * The lock is busy: pause, longer each time. After a second, `notice` is told
 * once: "NAME: waiting for WHOM". Returns 0; or -1 at the end of the patience,
 * with `error` filled: "NAME: BUSY", STATUS_LOCKED.
 */
int lock_pause(struct lock_pauses *pauses, const char *busy, const char *whom,
    struct error *error);

#endif
