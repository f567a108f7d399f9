#define _GNU_SOURCE /* asprintf, mkostemp */
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"

/* Linux follows this many links, one after the other. */
#define LINKS_MAX 40

/* The length of `path`'s directory part, with the slash; 0 if it has none. */
static int
directory_bytes(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? 0 : (int)(slash - path + 1);
}

/* Not realpath, which needs access to all directories above the current one. */
char *
path_follow(const char *path)
{
	char *name = memory_or_die(strdup(path)), *next, link[4096];
	int errnum = ELOOP;

	for (int i = 0; i < LINKS_MAX; i++) {
		ssize_t n = readlink(name, link, sizeof link - 1);
		int directory = 0; /* bytes of it, before a relative link */

		if (n < 0 && (errno == EINVAL || errno == ENOENT))
			/* it is no link, or there is no such file yet */
			return name;
		if (n < 0) {
			errnum = errno;
			break;
		}
		link[n] = '\0';
		if (link[0] != '/')
			directory = directory_bytes(name);
		if (asprintf(&next, "%.*s%s", directory, name, link) < 0)
			memory_or_die(NULL);
		free(name);
		name = next;
	}
	free(name);
	errno = errnum;
	return NULL;
}

/* The name of the directory of `path`; to be freed. */
static char *
directory_name(const char *path)
{
	int nbytes = directory_bytes(path);
	char *directory = memory_or_die(strdup(nbytes == 0 ? "." : path));

	if (nbytes > 0)
		directory[nbytes] = '\0';
	return directory;
}

char *
path_real(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 && errno == ENOENT)
		return memory_or_die(strdup(path));
	return path_follow(path);
}

char *
path_absolute(const char *path)
{
	char *name = path_follow(path), *directory, *absolute;

	if (name == NULL || name[0] == '/')
		return name;
	directory = getcwd(NULL, 0);
	if (directory == NULL) {
		free(name);
		return NULL;
	}
	if (asprintf(&absolute, "%s/%s", directory, name) < 0)
		memory_or_die(NULL);
	free(directory);
	free(name);
	return absolute;
}

char *
path_of_opened(int fd)
{
	char name[4096 + 1];
	ssize_t n = readlink(os_name(fd).text, name, sizeof name - 1);

	if (n <= 0 || n == sizeof name - 1)
		return NULL;
	name[n] = '\0';
	return memory_or_die(strdup(name));
}

int
path_stat(const char *path, int standard, struct stat *st)
{
	if (path == NULL)
		return fstat(standard, st);
	return stat(path, st);
}

int
path_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

int
path_is_trusted(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_nlink == 1 &&
	    (st->st_uid == 0 || st->st_uid == geteuid()) &&
	    (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

int
path_same_place(const char *a, const char *b)
{
	char *names[] = { path_follow(a), path_follow(b) };
	struct stat directories[2] = { { 0 } };
	int same = names[0] != NULL && names[1] != NULL;

	for (int i = 0; same && i < 2; i++) {
		char *directory = directory_name(names[i]);

		same = stat(directory, &directories[i]) == 0;
		free(directory);
	}
	same = same && path_same_file(&directories[0], &directories[1]) &&
	    strcmp(names[0] + directory_bytes(names[0]),
	    names[1] + directory_bytes(names[1])) == 0;
	free(names[0]);
	free(names[1]);
	return same;
}

static int
cant_sync(const char *path, struct error *error)
{
	return error_set(error, STATUS_FAILED,
	    "%s: cannot sync its directory: %s",
	    path, strerror(errno));
}

int
path_open_directory(const char *path, struct error *error)
{
	char *directory = directory_name(path);
	int fd;

	do {
		fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0)
		cant_sync(path, error);
	free(directory);
	return fd;
}

int
path_sync_opened(int directory, const char *path, struct error *error)
{
	int result = 0;

	/* EINVAL: this file system can't sync directories */
	if (fsync(directory) < 0 && errno != EINVAL)
		result = cant_sync(path, error);
	close(directory);
	return result;
}

int
path_sync_directory(const char *path, struct error *error)
{
	int directory = path_open_directory(path, error);

	if (directory < 0)
		return -1;
	return path_sync_opened(directory, path, error);
}

int
temporary_open(const char *path, char **name)
{
	int fd, errnum;

	if (asprintf(name, "%.*s.bloomdedup-XXXXXX", directory_bytes(path),
	    path) < 0)
		memory_or_die(NULL);
	fd = mkostemp(*name, O_CLOEXEC);
	errnum = errno;
	if (fd < 0)
		temporary_end(name, 0);
	errno = errnum;
	return fd;
}

/* A file without a name in the directory of `path`; -1 if there can be none. */
static int
open_nameless(const char *path, mode_t mode)
{
	char *directory = directory_name(path);
	int fd = os_open_nameless(directory, mode);

	free(directory);
	return fd;
}

/* Give a file without a name a random one in the directory of `path`. */
static int
link_randomly(int fd, const char *path, char **name)
{
	uint32_t number;
	int result;

	do {
		/* The caller finds in errno what failed. */
		if (os_random(&number, sizeof number, error_ignored()) < 0)
			return -1;
		if (asprintf(name, "%.*s.bloomdedup-%08x",
		    directory_bytes(path), path, (unsigned)number) < 0)
			memory_or_die(NULL);
		result = os_link(fd, *name);
		if (result < 0)
			temporary_end(name, 0);
	} while (result < 0 && errno == EEXIST);
	return result;
}

/*
 * Can a file without a name get one in the directory of `path`? Some file
 * systems have no hard links, and some policies forbid them. Only a trial
 * tells; it takes a file of its own, since none gets a name twice.
 */
static int
can_be_named(const char *path)
{
	int fd = open_nameless(path, 0), result;
	char *name = NULL;

	if (fd < 0)
		return 0;
	result = link_randomly(fd, path, &name);
	temporary_end(&name, 1);
	close(fd);
	return result == 0;
}

int
temporary_open_nameless(const char *path, char **name)
{
	int fd = can_be_named(path) ? open_nameless(path, 0600) : -1;

	*name = NULL;
	return fd >= 0 ? fd : temporary_open(path, name);
}

int
temporary_open_unnamed(const char *path)
{
	int fd = open_nameless(path, 0600);
	char *name = NULL;

	if (fd >= 0)
		return fd;
	fd = temporary_open(path, &name);
	temporary_end(&name, 1);
	return fd;
}

/* Did link(2) fail because no file may have two names here? */
static int
lacks_hard_links(int errnum)
{
	return errnum == EPERM || errnum == EACCES || errnum == EOPNOTSUPP ||
	    errnum == ENOSYS || errnum == EMLINK;
}

/*
 * The last resort: an empty file takes the name, which fails if anything has
 * it, and is then replaced. A kill in between leaves the empty file.
 */
static int
rename_over_placeholder(const char *name, const char *path)
{
	struct stat ours, named;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int result = -1, errnum = EEXIST;

	if (fd < 0)
		return -1;
	/* Somebody may have put another file in its place. */
	if (fstat(fd, &ours) == 0 && lstat(path, &named) == 0 &&
	    path_same_file(&ours, &named)) {
		result = rename(name, path);
		errnum = errno;
		if (result < 0)
			unlink(path);
	}
	close(fd);
	errno = errnum;
	return result;
}

/* Give the file `name` another name, which nothing has yet. */
static int
take_new_name(const char *name, const char *path)
{
	int result = link(name, path);

	if (result == 0) {
		unlink(name);
		return 0;
	}
	if (lacks_hard_links(errno))
		result = os_rename_to_new(name, path);
	/* EINVAL says that the file system has no RENAME_NOREPLACE, either. */
	if (result < 0 && (errno == EINVAL || errno == ENOSYS))
		result = rename_over_placeholder(name, path);
	return result;
}

int
temporary_publish(int fd, char **name, const char *path, int replace)
{
	int result;

	if (*name == NULL) {
		/* A new file has no other name, which a kill would leave. */
		if (os_link(fd, path) == 0)
			return 0;
		/* Only rename(2) replaces, and needs a name to do so. */
		if (errno != EEXIST || !replace ||
		    link_randomly(fd, path, name) < 0)
			return -1;
	}
	result = replace ? rename(*name, path) : take_new_name(*name, path);
	if (result == 0)
		temporary_end(name, 0);
	return result;
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
path_mode(const char *path, const struct stat *st)
{
	const mode_t mode = st->st_mode & 0777;

	if (os_has_acl(path))
		return mode & 0707;
	return mode;
}

void
temporary_take_rights(int fd, const char *path, const struct stat *other)
{
	mode_t mode = path_mode(path, other);

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
	/* An empty file tells: the directory may have a default ACL. */
	int other = open_nameless(path, 0666);
	char *name = NULL;

	if (other < 0) {
		other = temporary_open(path, &name);
		if (other < 0)
			return;
		close(other);
		unlink(name);
		other = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0666);
	}
	if (other >= 0) {
		fstat(other, &st);
		close(other);
	}
	temporary_end(&name, other >= 0);
	if (fchmod(fd, st.st_mode & 0666) < 0)
		return;
}
