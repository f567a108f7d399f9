#define _GNU_SOURCE /* mkostemp */
#include "base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/path.h"

int
temporary_open(const char *path, char **result)
{
	size_t nbytes = strlen(path) + 40;
	char *name = memory_or_die(malloc(nbytes));
	int fd, errnum;

	snprintf(name, nbytes, "%.*s.bloomdedup-XXXXXX",
	    path_folder_bytes(path), path);
	fd = mkostemp(name, O_CLOEXEC);
	*result = name;
	if (fd >= 0)
		return fd;
	errnum = errno;
	free(name);
	*result = NULL;
	errno = errnum;
	return -1;
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

void
temporary_take_rights(int fd, const struct stat *other)
{
	mode_t mode = other->st_mode & 0777;

	if (fchown(fd, other->st_uid, other->st_gid) < 0 &&
	    fchown(fd, (uid_t)-1, other->st_gid) < 0)
		mode &= 0707;
	if (fchmod(fd, mode) < 0)
		return;
}

void
temporary_new_rights(int fd)
{
	mode_t mask = umask(077);

	umask(mask);
	if (fchmod(fd, 0666 & ~mask) < 0)
		return;
}
