#include "disk/replaced.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "base/path.h"
#include "disk/output_lock.h"

void
replaced_begin(struct replaced *r, const struct stat *st)
{
	*r = (struct replaced)REPLACED_NONE;
	if (st == NULL)
		return;
	r->exists = 1;
	r->device = st->st_dev;
	r->inode = st->st_ino;
	r->nbytes = st->st_size;
	r->changed = os_changed(st);
}

/* It is not certain that what is there has been read. */
static int
refuse_changed(const char *path, struct error *error)
{
	return error_set(error, STATUS_FAILED, "%s: another program changed"
	    " this file during the run; it is left as it is", path);
}

/* Or it keeps others, too, from opening it. */
static int
refuse_open(const char *path, struct error *error)
{
	return error_set(error, STATUS_FAILED, "%s: another program has this"
	    " file open for writing; it is left as it is", path);
}

static int
check_unchanged(struct replaced *r, const char *path, struct error *error)
{
	struct stat st;

	if (stat(path, &st) < 0 && errno == ENOENT) {
		r->exists = 0;
		return 0;
	}
	if (stat(path, &st) < 0)
		return error_system(error, errno, path);
	if (st.st_dev == r->device && st.st_ino == r->inode &&
	    st.st_size == r->nbytes && os_changed(&st) == r->changed)
		return 0;
	return refuse_changed(path, error);
}

/*
 * Open the file. Returns 1 if it cannot be opened so, though nothing is wrong:
 * we may not, or it is being executed, or it is gone.
 */
static int
open_old(struct replaced *r, const char *path, int how, struct error *error)
{
	r->fd = open(path, how | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (r->fd >= 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return refuse_open(path, error);
	if (errno == EACCES || errno == EPERM || errno == EROFS ||
	    errno == ETXTBSY || errno == ENOENT)
		return 1;
	return error_system(error, errno, path);
}

int
replaced_lock(struct replaced *r, const char *path,
    const struct lock_wait *wait, struct error *error)
{
	int locked;

	if (!r->exists)
		return 0;
	locked = open_old(r, path, O_RDWR, error);
	if (locked == 0)
		locked = output_lock_alone(r->fd, OUTPUT_CONTENTS, path, wait,
		    error);
	if (locked < 0 || check_unchanged(r, path, error) < 0)
		return -1;
	if (locked > 0 && r->fd >= 0)
		error_notify(wait->notice, "%s: its file system has no locks;"
		    " another run that writes to it is not kept away", path);
	return 0;
}

int
replaced_check(struct replaced *r, const char *path,
    void (*notice)(const char *text), struct error *error)
{
	enum os_lease lease = OS_LEASE_UNKNOWN;
	int opened;

	if (!r->exists)
		return 0;
	/* A descriptor for writing, even our own, forbids the lease. */
	replaced_end(r);
	opened = open_old(r, path, O_RDONLY, error);
	if (opened == 0)
		lease = os_keep_writers_out(r->fd);
	if (opened < 0 || check_unchanged(r, path, error) < 0)
		return -1;
	if (!r->exists)
		return 0;
	if (lease == OS_LEASE_REFUSED)
		return refuse_open(path, error);
	if (lease == OS_LEASE_UNKNOWN)
		error_notify(notice, "%s: the system cannot tell whether"
		    " another program has this file open for writing", path);
	return 0;
}

void
replaced_end(struct replaced *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}
