#define _GNU_SOURCE /* F_SETPIPE_SZ, F_SETLEASE */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

ssize_t
io_pread(int fd, void *data, size_t nbytes, uint64_t offset)
{
	char *p = data;
	size_t have = 0;

	while (have < nbytes) {
		ssize_t n = pread(fd, p + have, nbytes - have,
		    (off_t)(offset + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

int
io_pwrite(int fd, const void *data, size_t nbytes, uint64_t offset)
{
	const char *p = data;

	while (nbytes > 0) {
		ssize_t n = pwrite(fd, p, nbytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		p += n;
		nbytes -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

struct io_name
io_name(int fd)
{
	struct io_name name;

	snprintf(name.text, sizeof name.text, "/proc/self/fd/%d", fd);
	return name;
}

int
io_reopen(int fd, int flags)
{
	return open(io_name(fd).text, flags | O_CLOEXEC | O_NOCTTY);
}

int
io_begin_reading(int fd)
{
	const int flags = fcntl(fd, F_GETFL);

	if (flags >= 0 && (flags & O_ACCMODE) == O_RDWR)
		return fd;
	return io_reopen(fd, O_RDONLY);
}

void
io_end_reading(int fd, int reader)
{
	if (reader >= 0 && reader != fd)
		close(reader);
}

int
io_cut(int fd, off_t size, off_t to)
{
	struct stat st;
	int result = -1;

	/*
	 * A write lease is given only if nobody else has the file open. Who
	 * wants to open it then waits until it ends, and sends us this signal.
	 */
	signal(SIGIO, SIG_IGN);
	if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_size == size)
		result = ftruncate(fd, to);
	fcntl(fd, F_SETLEASE, F_UNLCK);
	if (result == 0 && lseek(fd, 0, SEEK_CUR) > to)
		lseek(fd, to, SEEK_SET);
	return result;
}

enum io_lease
io_keep_writers_out(int fd)
{
	/* Who wants to open the file sends us this signal. */
	signal(SIGIO, SIG_IGN);
	if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0)
		return IO_LEASE_GIVEN;
	return errno == EAGAIN ? IO_LEASE_REFUSED : IO_LEASE_UNKNOWN;
}

int
io_take_back(int fd, uint64_t begin, uint64_t nbytes, uint64_t kept)
{
	off_t end = (off_t)(begin + nbytes);

	/* Each write moves the position to the end of what it has written. */
	if (lseek(fd, 0, SEEK_CUR) != end)
		return -1;
	return io_cut(fd, end, (off_t)(begin + kept));
}

/* For kernels without getrandom(2), which came with Linux 3.17. */
static int
read_random(void *data, size_t nbytes, struct error *error)
{
	const char *path = "/dev/urandom";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n = 0;

	if (fd < 0)
		return error_system(error, errno, path);
	do {
		n = read(fd, data, nbytes);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		error_system(error, errno, path);
	else if (n != (ssize_t)nbytes) /* never short up to 256 bytes */
		error_set(error, STATUS_FAILED, "%s: not enough bytes", path);
	close(fd);
	return n == (ssize_t)nbytes ? 0 : -1;
}

int
io_random(void *data, size_t nbytes, struct error *error)
{
	ssize_t n;

	do {
		n = getrandom(data, nbytes, 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno == ENOSYS)
		return read_random(data, nbytes, error);
	if (n != (ssize_t)nbytes) /* never short up to 256 bytes */
		return error_system(error, errno, "getrandom");
	return 0;
}

uint64_t
io_descriptors(void)
{
	struct rlimit limit = { 0 };

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur;
}

int
io_has_peer(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 &&
	    (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

void
io_widen_pipe(int fd)
{
	fcntl(fd, F_SETPIPE_SZ, 1024 * 1024);
}
