#define _GNU_SOURCE /* fallocate */
#include "disk/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/path.h"
#include "base/signals.h"

/* How often a file may have been replaced when its lock was taken. */
#define REPLACED_MAX 1000
/*
 * How long a run waits for the short lock at least, in milliseconds, whatever
 * its timeout and even when asked to stop: others hold it only for moments.
 */
#define LEAST_PATIENCE 1000
/* f_type of statfs(2), from <linux/magic.h> */
#define NFS_MAGIC 0x6969
/* Microseconds between two tries to take a lock, at most. */
#define LONGEST_PAUSE 50000

static int
stopped(struct file *file, struct error *error)
{
	return error_set(error, 128 + signals_stop,
	    "%s: stopped by a signal", file->path);
}

/* Open it, if it is a regular file. Returns 1 if there is none. */
static int
open_path(struct file *file, unsigned how, struct error *error)
{
	struct stat st;

	/* O_NONBLOCK: opening a FIFO must not wait for its other end */
	do {
		file->fd = open(file->path,
		    (file->writable ? O_RDWR : O_RDONLY) |
		    (how & FILE_NO_LINK ? O_NOFOLLOW : 0) |
		    O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	} while (file->fd < 0 && errno == EINTR && !signals_stop);
	if (file->fd < 0 && errno == ENOENT)
		return 1;
	if (file->fd < 0 && errno == EINTR)
		return stopped(file, error);
	if (file->fd < 0 && errno == ELOOP && (how & FILE_NO_LINK))
		return error_set(error, STATUS_FAILED, "%s: a symbolic link",
		    file->path);
	if (file->fd < 0 || fstat(file->fd, &st) < 0)
		return error_system(error, errno, file->path);
	file->nameless = st.st_nlink == 0;
	if (S_ISDIR(st.st_mode))
		return error_system(error, EISDIR, file->path);
	return S_ISREG(st.st_mode) ? 0 : error_set(error, STATUS_FAILED,
	    "%s: a filter must be a regular file", file->path);
}

pid_t
file_lock_holder(const char *path, char name[FILE_HOLDER_NAME])
{
	char line[256];
	struct stat st;
	FILE *proc;
	pid_t holder = 0;

	if (stat(path, &st) < 0)
		return 0;
	proc = fopen("/proc/locks", "re");
	if (proc == NULL)
		return 0;
	/* "1: FLOCK  ADVISORY  WRITE 1234 fd:00:5678 0 EOF", proc(5) */
	while (holder == 0 && fgets(line, sizeof line, proc) != NULL) {
		unsigned major_number, minor_number;
		unsigned long inode;
		int pid;

		if (sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%lu", &pid,
		    &major_number, &minor_number, &inode) == 4 && pid > 0 &&
		    inode == st.st_ino && major_number == major(st.st_dev) &&
		    minor_number == minor(st.st_dev))
			holder = pid;
	}
	fclose(proc);
	if (name == NULL || holder == 0)
		return holder;
	name[0] = '\0';
	snprintf(line, sizeof line, "/proc/%d/comm", (int)holder);
	proc = fopen(line, "re");
	if (proc == NULL)
		return holder;
	if (fgets(name, FILE_HOLDER_NAME, proc) != NULL)
		name[strcspn(name, "\n")] = '\0';
	fclose(proc);
	return holder;
}

/*
 * The lock has been busy since `start`: sleep for `pause` microseconds, and
 * longer each time. Polls, since locks have no timeout and an alarm can come
 * too early. `holder` is 0 if it isn't known.
 */
static int
pause_for_lock(struct file *file, uint64_t start, uint64_t patience,
    long *pause, pid_t holder, struct error *error)
{
	uint64_t waited = (clock_now() - start) / CLOCK_MILLISECOND;
	int notice = waited >= 1000 && !file->noticed;
	char text[5000], who[40] = "another run";

	if (holder == 0 && (waited >= patience || notice))
		holder = file_lock_holder(file->path, NULL);
	if (holder != 0)
		snprintf(who, sizeof who, "process %d", (int)holder);
	if (waited >= patience && patience == 0)
		return error_set(error, STATUS_LOCKED, "%s: in use by %s",
		    file->path, who);
	if (waited >= patience)
		return error_set(error, STATUS_LOCKED, "%s: in use by %s; gave"
		    " up after %g s (--lock-timeout)", file->path, who,
		    (double)patience / 1000);
	if (notice) {
		snprintf(text, sizeof text, "%s: waiting for %s", file->path,
		    who);
		file->wait.notice(text);
		file->noticed = 1;
	}
	nanosleep(&(struct timespec){ .tv_nsec = *pause * 1000 }, NULL);
	*pause = *pause < LONGEST_PAUSE / 2 ? *pause * 2 : LONGEST_PAUSE;
	return 0;
}

/* The timeout counts from `start` (clock_now). */
static int
take_lock(struct file *file, uint64_t start, struct error *error)
{
	long pause = 1000;

	while (flock(file->fd, (file->wait.shared ? LOCK_SH : LOCK_EX) |
	    LOCK_NB) < 0) {
		if (errno != EINTR && errno != EWOULDBLOCK)
			return error_system(error, errno, file->path);
		if (signals_stop)
			return stopped(file, error);
		if (errno == EWOULDBLOCK && pause_for_lock(file, start,
		    file->wait.milliseconds, &pause, 0, error) < 0)
			return -1;
	}
	return 0;
}

int
file_open(struct file *file, const char *path, unsigned how,
    const struct lock_wait *wait, struct error *error)
{
	uint64_t start = clock_now();
	int result;

	*file = (struct file)FILE_NONE;
	file->path = memory_or_die(strdup(path));
	file->writable = (how & FILE_WRITE) != 0;
	file->wait = *wait;
	for (int tries = 0;; tries++) {
		result = open_path(file, how, error);
		if (result == 0 && file->writable)
			result = take_lock(file, start, error);
		if (result == 0) {
			file->real_path = path_real(path);
			if (file->real_path == NULL)
				result = error_system(error, errno, path);
		}
		/* While we waited, the file may have been replaced. */
		if (result != 0 || !file->writable || file_has_name(file))
			break;
		close(file->fd);
		free(file->real_path);
		file->fd = -1;
		file->real_path = NULL;
		if (tries == REPLACED_MAX) {
			result = error_set(error, STATUS_LOCKED, "%s: replaced"
			    " again and again", path);
			break;
		}
	}
	if (result == 0)
		result = file_measure(file, error);
	if (result != 0)
		file_close(file);
	return result;
}

int
file_has_name(const struct file *file)
{
	struct stat opened, named;

	/* /dev/fd/N of a file without a name leads to it all the same. */
	return fstat(file->fd, &opened) == 0 &&
	    (lstat(file->real_path, &named) == 0 ||
	    stat(file->path, &named) == 0) &&
	    path_same_file(&opened, &named);
}

/* On NFS, a file that is removed while it is open gets another name. */
static int
is_on_nfs(const struct file *file)
{
	struct statfs fs;

	return fstatfs(file->fd, &fs) == 0 && fs.f_type == NFS_MAGIC;
}

int
file_check_link(struct file *file, struct error *error)
{
	struct stat opened, named;
	int gone;

	if (file->fd < 0 || file->nameless)
		return 0;
	if (fstat(file->fd, &opened) < 0)
		return error_system(error, errno, file->path);
	gone = opened.st_nlink == 0;
	if (!gone && is_on_nfs(file))
		gone = stat(file->path, &named) < 0 && errno == ENOENT;
	if (!gone)
		return 0;
	error_set(error, STATUS_FAILED, "%s: the filter was removed or"
	    " replaced while it was in use: what this run remembers is lost",
	    file->path);
	error->repeated = file->gone;
	file->gone = 1;
	return -1;
}

int
file_create(struct file *file, const char *path, struct error *error)
{
	*file = (struct file)FILE_NONE;
	file->path = memory_or_die(strdup(path));
	file->writable = 1;
	/* A link stays: its target is created or replaced. */
	file->real_path = path_real(path);
	if (file->real_path != NULL)
		file->fd = temporary_open(file->real_path, &file->hidden);
	if (file->fd >= 0 && flock(file->fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	error_system(error, errno, path);
	file_close(file);
	return -1;
}

int
file_publish(struct file *file, int replace, int unsynced,
    struct error *error)
{
	struct error ignored;
	struct stat old;
	int result, folder;

	/* A replacement is accessible to the same people as the old file. */
	if (replace && stat(file->real_path, &old) == 0)
		temporary_take_rights(file->fd, &old);
	if (!unsynced && file_sync(file, error) < 0)
		return -1;
	if (replace) {
		result = rename(file->hidden, file->real_path);
	} else {
		result = link(file->hidden, file->real_path);
		if (result < 0 && errno == EEXIST)
			return 1;
#ifdef SYS_renameat2
		/* File systems without hard links, such as FAT. */
		if (result < 0 && (errno == EPERM || errno == EOPNOTSUPP)) {
			result = (int)syscall(SYS_renameat2, AT_FDCWD,
			    file->hidden, AT_FDCWD, file->real_path,
			    1 /* RENAME_NOREPLACE */);
			if (result < 0 && errno == EEXIST)
				return 1;
			replace = 1;
		}
#endif
	}
	if (result < 0)
		return error_system(error, errno, file->path);
	temporary_end(&file->hidden, !replace);
	if (unsynced)
		return 0;
	/* Callers that promise more sync the folder again. */
	folder = path_open_folder(file->real_path, &ignored);
	return folder < 0 ? 0 :
	    path_sync_opened(folder, file->real_path, error);
}

void
file_close(struct file *file)
{
	temporary_end(&file->hidden, 1);
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file->real_path);
	*file = (struct file)FILE_NONE;
}

int
file_measure(struct file *file, struct error *error)
{
	struct stat st;

	if (fstat(file->fd, &st) < 0)
		return error_system(error, errno, file->path);
	file->length = (uint64_t)st.st_size;
	return 0;
}

static int
cut_short(struct file *file, const char *text, struct error *error)
{
	int before = file->cut_short;

	file->cut_short = 1;
	error_set(error, STATUS_FAILED, "%s: %s", file->path, text);
	error->repeated = before;
	return -1;
}

int
file_check_length(struct file *file, uint64_t nbytes, struct error *error)
{
	struct stat st;

	if (file->fd < 0)
		return 0;
	if (fstat(file->fd, &st) < 0)
		return error_system(error, errno, file->path);
	return (uint64_t)st.st_size >= nbytes && !file->cut_short ? 0 :
	    cut_short(file, "the file was cut short while it was in use",
	    error);
}

int
file_read(struct file *file, void *data, size_t nbytes, uint64_t offset,
    struct error *error)
{
	ssize_t n = io_pread(file->fd, data, nbytes, offset);

	if (n < 0)
		return error_system(error, errno, file->path);
	return (size_t)n == nbytes ? 0 :
	    cut_short(file, "the file ends too early", error);
}

int
file_write(struct file *file, const void *data, size_t nbytes,
    uint64_t offset, struct error *error)
{
	return io_pwrite(file->fd, data, nbytes, offset) == 0 ? 0 :
	    error_system(error, errno, file->path);
}

/* For file systems (and C libraries) that can't allocate. */
static int
write_zeros(struct file *file, uint64_t offset, uint64_t nbytes,
    struct error *error)
{
	static const char zeros[64 * 1024];
	const int before = signals_stop;

	while (nbytes > 0) {
		size_t n = nbytes < sizeof zeros ? (size_t)nbytes :
		    sizeof zeros;

		if (signals_stop != before)
			return stopped(file, error);
		if (file_write(file, zeros, n, offset, error) < 0)
			return -1;
		offset += n;
		nbytes -= n;
	}
	return 0;
}

int
file_punch(struct file *file, uint64_t offset, uint64_t nbytes)
{
#ifdef FALLOC_FL_PUNCH_HOLE
	int result;

	do {
		result = fallocate(file->fd, FALLOC_FL_PUNCH_HOLE |
		    FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)nbytes);
	} while (result < 0 && errno == EINTR && !signals_stop);
	return result;
#else
	(void)file, (void)offset, (void)nbytes;
	return -1;
#endif
}

int
file_may_have_data(const struct file *file, uint64_t offset, uint64_t nbytes)
{
#ifdef SEEK_DATA
	off_t data = lseek(file->fd, (off_t)offset, SEEK_DATA);

	if (data < 0)
		return errno != ENXIO; /* ENXIO: none up to the end */
	return (uint64_t)data < offset + nbytes;
#else
	(void)file, (void)offset, (void)nbytes;
	return 1;
#endif
}

int
file_clear(struct file *file, uint64_t offset, uint64_t nbytes,
    struct error *error)
{
	uint64_t old = file->length > offset ? file->length - offset : 0;
	const int before = signals_stop;
	struct statvfs fs;
	int errnum;

	old = old < nbytes ? old : nbytes;
	if (offset + nbytes > (uint64_t)INT64_MAX)
		return error_system(error, EFBIG, file->path);
	/*
	 * Allocating more than there is fails in the end, but takes space from
	 * others until then. File systems that can't tell report 0 blocks.
	 */
	if (fstatvfs(file->fd, &fs) == 0 && fs.f_blocks > 0 &&
	    fs.f_frsize > 0 && (nbytes - old) / fs.f_frsize > fs.f_bfree)
		return error_system(error, ENOSPC, file->path);
	if (old > 0 && file_punch(file, offset, old) < 0 &&
	    write_zeros(file, offset, old, error) < 0)
		return -1;
	do {
		errnum = posix_fallocate(file->fd, (off_t)offset,
		    (off_t)nbytes);
	} while (errnum == EINTR && signals_stop == before);
	if (errnum == EINTR)
		return stopped(file, error);
	if (errnum == EOPNOTSUPP || errnum == EINVAL) {
		if (write_zeros(file, offset + old, nbytes - old, error) < 0)
			return -1;
	} else if (errnum != 0) {
		return error_system(error, errnum, file->path);
	}
	return file_measure(file, error);
}

int
file_extend(struct file *file, uint64_t length, uint64_t nbytes,
    struct error *error)
{
	while (ftruncate(file->fd, (off_t)length) < 0) {
		if (errno != EINTR)
			return error_system(error, errno, file->path);
	}
	file->length = length;
	if (file_clear(file, length, nbytes, error) == 0)
		return 0;
	/* Undo; if that fails, too, it only leaves unused space. */
	if (ftruncate(file->fd, (off_t)length) < 0)
		return -1;
	return -1;
}

int
file_sync(struct file *file, struct error *error)
{
	/* The system reports this once, and doesn't write lost data later. */
	if (file->unsafe != 0)
		return error_again(error, file->unsafe, file->path);
	if (file->fd < 0 || fdatasync(file->fd) == 0)
		return 0;
	file->unsafe = errno;
	return error_system(error, file->unsafe, file->path);
}

void
file_take_over(struct file *file, const struct file *copy)
{
	file->length = copy->length;
	/* One of the two may have failed to sync: that is final for both. */
	if (copy->unsafe != 0)
		file->unsafe = copy->unsafe;
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

int
file_lock_range(struct file *file, uint64_t offset, uint64_t nbytes,
    struct error *error)
{
	struct flock ours = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
		.l_start = (off_t)offset, .l_len = (off_t)nbytes }, other;
	uint64_t start = clock_now();
	uint64_t patience = file->wait.milliseconds;
	long pause = 50; /* others hold it for less */

	if (patience < LEAST_PATIENCE)
		patience = LEAST_PATIENCE;
	while (fcntl(file->fd, F_SETLK, &ours) < 0) {
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN && errno != EACCES)
			return error_system(error, errno, file->path);
		if (signals_stop && (clock_now() - start) /
		    CLOCK_MILLISECOND >= LEAST_PATIENCE)
			return stopped(file, error);
		other = ours;
		if (fcntl(file->fd, F_GETLK, &other) == 0 &&
		    other.l_type == F_UNLCK)
			continue; /* by now it is free */
		if (pause_for_lock(file, start, patience, &pause, other.l_pid,
		    error) < 0)
			return -1;
	}
	return 0;
}

void
file_unlock_range(struct file *file, uint64_t offset, uint64_t nbytes)
{
	struct flock ours = { .l_type = F_UNLCK, .l_whence = SEEK_SET,
		.l_start = (off_t)offset, .l_len = (off_t)nbytes };

	while (fcntl(file->fd, F_SETLK, &ours) < 0 && errno == EINTR)
		continue;
}
