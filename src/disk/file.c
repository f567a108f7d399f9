#include "disk/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/os.h"
#include "base/path.h"
#include "base/signals.h"

/* How often a file may have been replaced when its lock was taken. */
#define REPLACED_MAX 1000

/* Call open(2) for the file's path, until a signal asks to stop. */
static int
open_uninterrupted(const struct file *file, unsigned how)
{
	/* O_NONBLOCK: opening a FIFO must not wait for its other end */
	int flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int fd;

	flags |= file->writable ? O_RDWR : O_RDONLY;
	if (how & FILE_NO_LINK)
		flags |= O_NOFOLLOW;
	do {
		fd = open(file->path, flags);
	} while (fd < 0 && errno == EINTR && !signals_stop);
	return fd;
}

/* Open it, if it is a regular file. Returns 1 if there is none. */
static int
open_path(struct file *file, unsigned how, struct error *error)
{
	struct stat st;

	file->fd = open_uninterrupted(file, how);
	if (file->fd < 0) {
		if (errno == ENOENT)
			return 1;
		if (errno == EINTR)
			return signals_stopped(file->path, error);
		if (errno == ELOOP && (how & FILE_NO_LINK)) {
			return error_set(error, STATUS_FAILED,
			    "%s: a symbolic link, which is not followed",
			    file->path);
		}
		return error_system(error, errno, file->path);
	}
	if (fstat(file->fd, &st) < 0)
		return error_system(error, errno, file->path);
	file->nameless = st.st_nlink == 0;
	if (S_ISDIR(st.st_mode))
		return error_system(error, EISDIR, file->path);
	if (!S_ISREG(st.st_mode)) {
		return error_set(error, STATUS_FAILED,
		    "%s: a filter must be a regular file", file->path);
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
			result = file_take_lock(file, start, error);
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
			result = error_set(error, STATUS_LOCKED, "%s: other"
			    " processes keep replacing it", path);
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
	/* Removed there, it has another name as long as it is open. */
	if (!gone && os_file_system(file->fd) == OS_NFS)
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
	if (file->fd < 0)
		error_system(error, errno, path);
	else if (file_lock_new(file, error) == 0)
		return 0;
	file_close(file);
	return -1;
}

int
file_publish(struct file *file, int replace, int unsynced,
    struct error *error)
{
	struct stat old;
	int directory;

	/* A replacement is accessible to the same people as the old file. */
	if (replace && stat(file->real_path, &old) == 0)
		temporary_take_rights(file->fd, file->real_path, &old);
	if (!unsynced && file_sync(file, error) < 0)
		return -1;
	if (temporary_publish(file->fd, &file->hidden, file->real_path,
	    replace) < 0) {
		if (errno == EEXIST && !replace)
			return 1;
		return error_system(error, errno, file->path);
	}
	if (unsynced)
		return 0;
	/* Callers that promise more sync the directory again. */
	directory = path_open_directory(file->real_path, error_ignored());
	if (directory < 0)
		return 0;
	return path_sync_opened(directory, file->real_path, error);
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
	if ((uint64_t)st.st_size < nbytes || file->cut_short) {
		return cut_short(file, "the file was cut short while it was in"
		    " use", error);
	}
	return 0;
}

int
file_read(struct file *file, void *data, size_t nbytes, uint64_t offset,
    struct error *error)
{
	ssize_t n = io_pread(file->fd, data, nbytes, offset);

	if (n < 0)
		return error_system(error, errno, file->path);
	if ((size_t)n < nbytes)
		return cut_short(file, "the file ends too early", error);
	return 0;
}

int
file_write(struct file *file, const void *data, size_t nbytes,
    uint64_t offset, struct error *error)
{
	if (io_pwrite(file->fd, data, nbytes, offset) < 0)
		return error_system(error, errno, file->path);
	return 0;
}

/* Write zeros, on file systems (and C libraries) that cannot allocate. */
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
			return signals_stopped(file->path, error);
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
	int result;

	do {
		result = os_punch(file->fd, offset, nbytes);
	} while (result < 0 && errno == EINTR && !signals_stop);
	return result;
}

int
file_may_have_data(const struct file *file, uint64_t offset, uint64_t nbytes)
{
	return os_may_have_data(file->fd, offset, nbytes);
}

/*
 * Has the disk no space for so many bytes? To allocate more than there is fails
 * in the end, but takes space from others until then. File systems that can't
 * tell report 0 blocks.
 */
static int
disk_is_full(const struct file *file, uint64_t nbytes)
{
	struct statvfs fs;

	if (fstatvfs(file->fd, &fs) < 0 || fs.f_blocks == 0 || fs.f_frsize == 0)
		return 0;
	return nbytes / fs.f_frsize > fs.f_bfree;
}

/*
 * Allocate a range, of which the first `old` bytes are in the file and zero;
 * the rest is zero then, too.
 */
static int
allocate(struct file *file, uint64_t offset, uint64_t old, uint64_t nbytes,
    struct error *error)
{
	const int before = signals_stop;
	int errnum;

	do {
		errnum = os_allocate(file->fd, offset, nbytes);
	} while (errnum == EINTR && signals_stop == before);
	if (errnum == 0)
		return 0;
	if (errnum == EINTR)
		return signals_stopped(file->path, error);
	if (errnum == EOPNOTSUPP || errnum == EINVAL)
		return write_zeros(file, offset + old, nbytes - old, error);
	return error_system(error, errnum, file->path);
}

int
file_clear(struct file *file, uint64_t offset, uint64_t nbytes,
    struct error *error)
{
	/* How much of the range is in the file already? */
	uint64_t old = file->length > offset ? file->length - offset : 0;

	if (old > nbytes)
		old = nbytes;
	if (offset + nbytes > (uint64_t)INT64_MAX)
		return error_system(error, EFBIG, file->path);
	if (disk_is_full(file, nbytes - old))
		return error_system(error, ENOSPC, file->path);
	if (old > 0 && file_punch(file, offset, old) < 0 &&
	    write_zeros(file, offset, old, error) < 0)
		return -1;
	if (allocate(file, offset, old, nbytes, error) < 0)
		return -1;
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
	if (file_clear(file, length, nbytes, error) < 0) {
		/* Undo; if that fails, too, it only leaves unused space. */
		(void)!ftruncate(file->fd, (off_t)length);
		return -1;
	}
	return 0;
}

int
file_sync(struct file *file, struct error *error)
{
	/* The system reports this once, and doesn't write lost data later. */
	if (file->unsafe != 0)
		return error_again(error, file->unsafe, file->path);
	if (file->fd < 0 || os_sync(file->fd) == 0)
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
