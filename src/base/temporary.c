#include "base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/error.h"
#include "base/path.h"

/* Names are random, so even a second try is most unlikely. */
#define NAME_TRIES 100

int
temporary_open(const char *path, char **result)
{
	size_t nbytes = strlen(path) + 40;
	char *name = memory_or_die(malloc(nbytes));
	int fd = -1;

	errno = EEXIST;
	for (int i = 0; i < NAME_TRIES && fd < 0; i++) {
		uint64_t number;

		if (errno != EEXIST && errno != EINTR)
			break;
		if (getrandom(&number, sizeof number, 0) !=
		    (ssize_t)sizeof number)
			break;
		snprintf(name, nbytes, "%.*s.bloomdedup-%016" PRIx64,
		    path_folder_bytes(path), path, number);
		fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	if (fd < 0) {
		int errnum = errno;
		free(name);
		errno = errnum;
		name = NULL;
	}
	*result = name;
	return fd;
}

void
temporary_end(char **name, int remove)
{
	if (*name == NULL)
		return;
	if (remove)
		unlink(*name);
	free(*name);
	*name = NULL;
}

mode_t
temporary_take_owner(int fd, const struct stat *other)
{
	mode_t mode = other->st_mode & 07777;

	/* Writes by anyone but root clear the others. */
	if (geteuid() != 0)
		mode &= 01777;
	if (fchown(fd, other->st_uid, other->st_gid) == 0)
		return mode;
	mode &= 0777;
	if (fchown(fd, (uid_t)-1, other->st_gid) < 0)
		mode &= 0707;
	return mode;
}

void
temporary_take_rights(int fd, const struct stat *other)
{
	mode_t mode = temporary_take_owner(fd, other) & 0777;
	struct stat st;

	if (fstat(fd, &st) < 0 || (st.st_mode & 0777) == mode ||
	    fchmod(fd, mode) < 0)
		return;
}

mode_t
temporary_new_mode(void)
{
	mode_t mask = umask(077);

	umask(mask);
	return 0666 & ~mask;
}
