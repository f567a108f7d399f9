#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"

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

int
io_begin_reading(int fd)
{
	const int flags = fcntl(fd, F_GETFL);

	if (flags >= 0 && (flags & O_ACCMODE) == O_RDWR)
		return fd;
	return os_reopen(fd, O_RDONLY);
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

	if (os_keep_others_out(fd) != OS_LEASE_GIVEN)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_size == size)
		result = ftruncate(fd, to);
	os_let_in(fd);
	if (result == 0 && lseek(fd, 0, SEEK_CUR) > to)
		lseek(fd, to, SEEK_SET);
	return result;
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
