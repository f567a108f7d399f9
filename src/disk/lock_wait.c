#include "disk/lock_wait.h"

#include <time.h>

#include "base/clock.h"

/* After how many milliseconds a run says that it waits. */
#define NOTICE_AFTER 1000
/* Microseconds between two tries to take a lock, at most. */
#define LONGEST_PAUSE 50000

static uint64_t
waited(const struct lock_pauses *p)
{
	return (clock_now() - p->since) / CLOCK_MILLISECOND;
}

int
lock_pause_speaks(const struct lock_pauses *p)
{
	const uint64_t milliseconds = waited(p);

	return milliseconds >= p->milliseconds ||
	    (milliseconds >= NOTICE_AFTER && !*p->noticed);
}

/* Polls, since locks have no timeout and an alarm can come too early. */
int
lock_pause(struct lock_pauses *p, const char *busy, const char *whom,
    struct error *error)
{
	const uint64_t milliseconds = waited(p);

	if (p->milliseconds == 0)
		return error_set(error, STATUS_LOCKED, "%s: %s", p->name, busy);
	if (milliseconds >= p->milliseconds)
		return error_set(error, STATUS_LOCKED, "%s: %s; gave up after"
		    " %g s (--lock-timeout)", p->name, busy,
		    (double)p->milliseconds / 1000);
	if (milliseconds >= NOTICE_AFTER && !*p->noticed) {
		error_notify(p->notice, "%s: waiting for %s", p->name, whom);
		*p->noticed = 1;
	}
	nanosleep(&(struct timespec){ .tv_nsec = p->pause * 1000 }, NULL);
	p->pause = p->pause < LONGEST_PAUSE / 2 ? p->pause * 2 : LONGEST_PAUSE;
	return 0;
}
