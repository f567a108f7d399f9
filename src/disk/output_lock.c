#include "disk/output_lock.h"

#include <errno.h>
#include <fcntl.h>

#include "base/clock.h"
#include "base/os.h"
#include "base/signals.h"

/* The byte of the first lock; no file has it. */
#define FIRST_BYTE ((off_t)1 << 62)
/* Between the first two tries to take a lock, in microseconds. */
#define FIRST_PAUSE 1000

/* What is said of a run that has the lock. */
static const struct {
	const char *busy, *whom, *other;
} texts[] = {
	[OUTPUT_TURN] = { "another run is appending to it",
	    "another run that appends to it",
	    "another run that adds to it" },
	[OUTPUT_CONTENTS] = { "another run is writing to it",
	    "another run that writes to it",
	    "another run that writes to it" },
};

static struct flock
byte_of(enum output_lock lock, short type)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET,
		.l_start = FIRST_BYTE + (off_t)lock, .l_len = 1 };
}

static int
take_lock(int fd, enum output_lock lock, short type, const char *name,
    const struct lock_wait *wait, struct error *error)
{
	struct flock byte = byte_of(lock, type);
	int noticed = 0;
	struct lock_pauses pauses = { .name = name, .since = clock_now(),
		.milliseconds = wait->milliseconds, .notice = wait->notice,
		.noticed = &noticed, .pause = FIRST_PAUSE };

	while (os_lock_opened(fd, &byte) < 0) {
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN && errno != EACCES)
			return 1;
		if (signals_stop)
			return signals_stopped(name, error);
		if (lock_pause(&pauses, texts[lock].busy, texts[lock].whom,
		    error) < 0)
			return -1;
	}
	return 0;
}

int
output_lock_alone(int fd, enum output_lock lock, const char *name,
    const struct lock_wait *wait, struct error *error)
{
	return take_lock(fd, lock, F_WRLCK, name, wait, error);
}

int
output_lock_shared(int fd, enum output_lock lock, const char *name,
    const struct lock_wait *wait, struct error *error)
{
	return take_lock(fd, lock, F_RDLCK, name, wait, error);
}

void
output_unlock(int fd, enum output_lock lock)
{
	struct flock byte = byte_of(lock, F_UNLCK);

	os_lock_opened(fd, &byte);
}

void
output_lock_lacking(enum output_lock lock, const char *name,
    void (*notice)(const char *text))
{
	error_notify(notice, "%s: its file system has no locks; %s is not kept"
	    " away", name, texts[lock].other);
}
