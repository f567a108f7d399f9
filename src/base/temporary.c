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
temporary_new_rights(int fd, const char *path)
{
	struct stat st = { .st_mode = 0600 };
	char *name;
	int other = temporary_open(path, &name);

	if (other < 0)
		return;
	/* An empty file tells: the folder may have a default ACL. */
	close(other);
	unlink(name);
	other = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (other >= 0) {
		fstat(other, &st);
		close(other);
	}
	temporary_end(&name, other >= 0);
	if (fchmod(fd, st.st_mode & 0666) < 0)
		return;
}
