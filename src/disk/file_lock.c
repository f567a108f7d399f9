/*
 * Locks on a filter's file: one that a run holds until it ends, which others
 * wait for, and a short one for runs that share the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/os.h"
#include "base/signals.h"
#include "disk/file.h"

/*
 * How long a run waits for the short lock at least, in milliseconds, whatever
 * its timeout and even when asked to stop: others hold it only for moments.
 */
#define LEAST_PATIENCE 1000
/*
 * The first pause between two tries, in microseconds: of the lock that a run
 * holds until it ends, and of the short one, which others hold for less.
 */
#define FIRST_PAUSE 1000
#define FIRST_SHORT_PAUSE 50
/*
 * How often the short lock is tried without a pause: the marks of a batch take
 * less time than the shortest sleep.
 */
#define YIELDS 20
/* The holder of a flock(2), which the system may tell */
#define LOOK_HOLDER_UP 0

pid_t
file_lock_holder(const char *path, char name[FILE_HOLDER_NAME])
{
	struct stat st;
	pid_t holder;

	if (stat(path, &st) < 0)
		return 0;
	holder = os_lock_holder(&st);
	if (name != NULL && holder != 0)
		os_command(holder, name, FILE_HOLDER_NAME);
	return holder;
}

static struct lock_pauses
pauses_since(struct file *file, uint64_t start, long pause)
{
	return (struct lock_pauses){ .name = file->path, .since = start,
		.milliseconds = file->wait.milliseconds,
		.notice = file->wait.notice, .noticed = &file->noticed,
		.pause = pause };
}

/*
 * `holder` is the process that has the lock, LOOK_HOLDER_UP, or less if nobody
 * knows: fcntl(2) says -1 of a lock that no single process has, and file
 * systems of other machines say what they like.
 */
static int
pause_for_lock(struct lock_pauses *pauses, pid_t holder, struct error *error)
{
	char whom[40] = "another run", busy[60];

	if (holder == LOOK_HOLDER_UP && lock_pause_speaks(pauses))
		holder = file_lock_holder(pauses->name, NULL);
	if (holder > 0)
		snprintf(whom, sizeof whom, "process %d", (int)holder);
	snprintf(busy, sizeof busy, "in use by %s", whom);
	return lock_pause(pauses, busy, whom, error);
}

/* No lock can be had at all, by nobody, of a file with this name. */
static int
refuse_to_lock(const char *path, int errnum, struct error *error)
{
	return error_set(error, STATUS_FAILED, "%s: cannot be locked: %s; keep"
	    " the filter where files can be locked, such as on a local disk",
	    path, strerror(errnum));
}

int
file_take_lock(struct file *file, uint64_t start, struct error *error)
{
	struct lock_pauses pauses = pauses_since(file, start, FIRST_PAUSE);
	int kind = file->wait.shared ? LOCK_SH : LOCK_EX;

	while (flock(file->fd, kind | LOCK_NB) < 0) {
		if (errno != EINTR && errno != EWOULDBLOCK)
			return refuse_to_lock(file->path, errno, error);
		if (signals_stop)
			return signals_stopped(file->path, error);
		if (errno == EWOULDBLOCK && pause_for_lock(&pauses,
		    LOOK_HOLDER_UP, error) < 0)
			return -1;
	}
	return 0;
}

int
file_lock_new(struct file *file, struct error *error)
{
	if (flock(file->fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return refuse_to_lock(file->path, errno, error);
}

void
file_share_lock(struct file *file)
{
	/* Nobody else has it, so this can't block or fail. */
	while (flock(file->fd, LOCK_SH) < 0 && errno == EINTR)
		continue;
}

int
file_lock_alone(struct file *file)
{
	return flock(file->fd, LOCK_EX | LOCK_NB) == 0;
}

static struct flock
range_of(short type, uint64_t offset, uint64_t nbytes)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET,
		.l_start = (off_t)offset, .l_len = (off_t)nbytes };
}

/*
 * Does a lock of a range wait for the locks of whole files? It does on NFS, and
 * where another machine has the locks: runs that share the file, each of which
 * has such a lock, would wait for each other, or for themselves. Nobody ever
 * locks the first byte alone, so if it isn't free, it is for that reason.
 */
static int
waits_for_whole_files(const struct file *file)
{
	struct flock first = range_of(F_WRLCK, 0, 1);

	return fcntl(file->fd, F_GETLK, &first) == 0 &&
	    first.l_type != F_UNLCK;
}

int
file_lock_range(struct file *file, uint64_t offset, uint64_t nbytes,
    enum file_range whom, struct error *error)
{
	struct flock ours = range_of(whom == FILE_RANGE_ONE ? F_WRLCK :
	    F_RDLCK, offset, nbytes), other;
	struct lock_pauses pauses = pauses_since(file, clock_now(),
	    FIRST_SHORT_PAUSE);
	int yields = YIELDS;

	if (pauses.milliseconds < LEAST_PATIENCE)
		pauses.milliseconds = LEAST_PATIENCE;
	while (fcntl(file->fd, F_SETLK, &ours) < 0) {
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN && errno != EACCES)
			return refuse_to_lock(file->path, errno, error);
		if (signals_stop && (clock_now() - pauses.since) /
		    CLOCK_MILLISECOND >= LEAST_PATIENCE)
			return signals_stopped(file->path, error);
		if (yields-- > 0) {
			sched_yield();
			continue;
		}
		if (waits_for_whole_files(file)) {
			return error_set(error, STATUS_FAILED, "%s: several"
			    " runs cannot use it at once on this file system,"
			    " whose locks exclude all other locks; keep the"
			    " filter on a local disk", file->path);
		}
		other = ours;
		other.l_pid = -1;
		if (fcntl(file->fd, F_GETLK, &other) == 0 &&
		    other.l_type == F_UNLCK)
			continue; /* it is free now */
		if (pause_for_lock(&pauses, other.l_pid, error) < 0)
			return -1;
	}
	return 0;
}

int
file_try_range(struct file *file, uint64_t offset, uint64_t nbytes)
{
	struct flock ours = range_of(F_WRLCK, offset, nbytes);

	return fcntl(file->fd, F_SETLK, &ours) == 0;
}

void
file_unlock_range(struct file *file, uint64_t offset, uint64_t nbytes)
{
	struct flock ours = range_of(F_UNLCK, offset, nbytes);

	while (fcntl(file->fd, F_SETLK, &ours) < 0 && errno == EINTR)
		continue;
}
