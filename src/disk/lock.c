#include "disk/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/clock.h"
#include "base/signals.h"

/*
 * How long a run waits for the short lock at least, in milliseconds, whatever
 * its timeout and even when asked to stop: others hold it only for moments.
 */
#define LEAST_PATIENCE 1000
/* Microseconds between two tries to take a lock. */
#define LONGEST_PAUSE 50000

static int
stopped(const char *path, struct error *error)
{
	return error_set(error, 128 + signals_stop,
	    "%s: stopped by a signal", path);
}

pid_t
lock_holder(const char *path)
{
	char line[256];
	struct stat st;
	FILE *locks;
	pid_t holder = 0;

	if (stat(path, &st) < 0)
		return 0;
	locks = fopen("/proc/locks", "re");
	if (locks == NULL)
		return 0;
	/* "1: FLOCK  ADVISORY  WRITE 1234 fd:00:5678 0 EOF", proc(5) */
	while (holder == 0 && fgets(line, sizeof line, locks) != NULL) {
		unsigned major_number, minor_number;
		unsigned long inode;
		int pid;

		if (sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%lu", &pid,
		    &major_number, &minor_number, &inode) == 4 && pid > 0 &&
		    inode == st.st_ino && major_number == major(st.st_dev) &&
		    minor_number == minor(st.st_dev))
			holder = pid;
	}
	fclose(locks);
	return holder;
}

void
lock_holder_name(pid_t process, char name[LOCK_HOLDER_NAME])
{
	char path[64];
	FILE *comm;

	name[0] = '\0';
	snprintf(path, sizeof path, "/proc/%d/comm", (int)process);
	comm = fopen(path, "re");
	if (comm == NULL)
		return;
	if (fgets(name, LOCK_HOLDER_NAME, comm) != NULL)
		name[strcspn(name, "\n")] = '\0';
	fclose(comm);
}

static void
describe_holder(const char *path, pid_t holder, char *text, size_t nbytes)
{
	if (holder == 0)
		holder = lock_holder(path);
	if (holder == 0)
		snprintf(text, nbytes, "another run");
	else
		snprintf(text, nbytes, "process %d", (int)holder);
}

/*
 * The lock has been busy since `start`: sleep for `pause` microseconds, and
 * longer each time. Polls, since locks have no timeout and an alarm can come
 * too early. `holder` is 0 if it isn't known.
 */
static int
pause_for(struct lock *lock, const char *path, uint64_t start,
    uint64_t patience, long *pause, pid_t holder, struct error *error)
{
	uint64_t waited = (clock_now() - start) / CLOCK_MILLISECOND;
	char text[5000], who[40];

	if (waited >= patience) {
		describe_holder(path, holder, who, sizeof who);
		if (patience == 0)
			return error_set(error, STATUS_LOCKED, "%s: in use by"
			    " %s", path, who);
		return error_set(error, STATUS_LOCKED, "%s: in use by %s; gave"
		    " up after %g s (--lock-timeout)", path, who,
		    (double)patience / 1000);
	}
	if (waited >= 1000 && !lock->noticed) {
		describe_holder(path, holder, who, sizeof who);
		snprintf(text, sizeof text, "%s: waiting for %s", path, who);
		lock->wait.notice(text);
		lock->noticed = 1;
	}
	nanosleep(&(struct timespec){ .tv_nsec = *pause * 1000 }, NULL);
	*pause = *pause < LONGEST_PAUSE / 2 ? *pause * 2 : LONGEST_PAUSE;
	return 0;
}

int
lock_take(struct lock *lock, int fd, const char *path, uint64_t start,
    struct error *error)
{
	long pause = 1000;

	while (flock(fd, (lock->wait.shared ? LOCK_SH : LOCK_EX) |
	    LOCK_NB) < 0) {
		if (errno != EINTR && errno != EWOULDBLOCK)
			return error_system(error, errno, path);
		if (signals_stop)
			return stopped(path, error);
		if (errno == EWOULDBLOCK && pause_for(lock, path, start,
		    lock->wait.milliseconds, &pause, 0, error) < 0)
			return -1;
	}
	return 0;
}

void
lock_share(struct lock *lock, int fd, const struct lock_wait *wait)
{
	lock->wait = *wait;
	/* Nobody else has it, so this can't block or fail. */
	while (flock(fd, LOCK_SH) < 0 && errno == EINTR)
		continue;
}

int
lock_is_alone(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static struct flock
lock_of_range(short type, uint64_t offset, uint64_t nbytes)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET,
		.l_start = (off_t)offset, .l_len = (off_t)nbytes };
}

int
lock_range(struct lock *lock, int fd, const char *path, uint64_t offset,
    uint64_t nbytes, struct error *error)
{
	struct flock ours = lock_of_range(F_WRLCK, offset, nbytes), other;
	uint64_t start = clock_now();
	uint64_t patience = lock->wait.milliseconds;
	long pause = 50; /* others hold it for less */

	if (patience < LEAST_PATIENCE)
		patience = LEAST_PATIENCE;
	while (fcntl(fd, F_SETLK, &ours) < 0) {
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN && errno != EACCES)
			return error_system(error, errno, path);
		if (signals_stop && (clock_now() - start) /
		    CLOCK_MILLISECOND >= LEAST_PATIENCE)
			return stopped(path, error);
		other = ours;
		if (fcntl(fd, F_GETLK, &other) == 0 &&
		    other.l_type == F_UNLCK)
			continue; /* by now it is free */
		if (pause_for(lock, path, start, patience, &pause, other.l_pid,
		    error) < 0)
			return -1;
	}
	return 0;
}

void
lock_range_end(int fd, uint64_t offset, uint64_t nbytes)
{
	struct flock ours = lock_of_range(F_UNLCK, offset, nbytes);

	while (fcntl(fd, F_SETLK, &ours) < 0 && errno == EINTR)
		continue;
}
