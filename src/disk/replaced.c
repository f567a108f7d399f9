#include "disk/replaced.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "base/path.h"
#include "disk/output_lock.h"

void
replaced_begin(struct replaced *replaced, const struct stat *st)
{
	*replaced = (struct replaced)REPLACED_NONE;
	if (st == NULL)
		return;
	replaced->exists = 1;
	replaced->device = st->st_dev;
	replaced->inode = st->st_ino;
	replaced->nbytes = st->st_size;
	replaced->changed = os_changed(st);
}

/* It is not certain that what is there has been read. */
static int
refuse_changed(const char *path, struct error *error)
{
	return error_set(error, STATUS_FAILED, "%s: another program changed"
	    " this file during the run; it is left as it is", path);
}

/* It has the file open, or a lease that keeps us from opening it. */
static int
refuse_open(const char *path, struct error *error)
{
	return error_set(error, STATUS_FAILED, "%s: another program has this"
	    " file open for writing; it is left as it is", path);
}

static int
check_unchanged(struct replaced *replaced, const char *path,
    struct error *error)
{
	struct stat st;

	if (stat(path, &st) < 0) {
		if (errno != ENOENT)
			return error_system(error, errno, path);
		replaced->exists = 0;
		return 0;
	}
	if (st.st_dev == replaced->device && st.st_ino == replaced->inode &&
	    st.st_size == replaced->nbytes &&
	    os_changed(&st) == replaced->changed)
		return 0;
	return refuse_changed(path, error);
}

/*
 * Open the file. Returns 1 if it cannot be opened so, though nothing is wrong:
 * we may not, or it is being executed, or it is gone.
 */
static int
open_old(struct replaced *replaced, const char *path, int how,
    struct error *error)
{
	replaced->fd = open(path, how | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (replaced->fd >= 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return refuse_open(path, error);
	if (errno == EACCES || errno == EPERM || errno == EROFS ||
	    errno == ETXTBSY || errno == ENOENT)
		return 1;
	return error_system(error, errno, path);
}

int
replaced_lock(struct replaced *replaced, const char *path,
    const struct lock_wait *wait, struct error *error)
{
	int locked;

	if (!replaced->exists)
		return 0;
	locked = open_old(replaced, path, O_RDWR, error);
	if (locked == 0)
		locked = output_lock_alone(replaced->fd, OUTPUT_CONTENTS, path,
		    wait, error);
	if (locked < 0 || check_unchanged(replaced, path, error) < 0)
		return -1;
	if (locked > 0 && replaced->fd >= 0)
		output_lock_lacking(OUTPUT_CONTENTS, path, wait->notice);
	return 0;
}

int
replaced_check(struct replaced *replaced, const char *path,
    void (*notice)(const char *text), struct error *error)
{
	enum os_lease lease = OS_LEASE_UNKNOWN;
	int opened;

	if (!replaced->exists)
		return 0;
	/* A descriptor for writing, even our own, forbids the lease. */
	replaced_end(replaced);
	opened = open_old(replaced, path, O_RDONLY, error);
	if (opened == 0)
		lease = os_keep_writers_out(replaced->fd);
	if (opened < 0 || check_unchanged(replaced, path, error) < 0)
		return -1;
	if (!replaced->exists)
		return 0;
	if (lease == OS_LEASE_REFUSED)
		return refuse_open(path, error);
	if (lease == OS_LEASE_UNKNOWN)
		error_notify(notice, "%s: the system cannot tell whether"
		    " another program has this file open for writing", path);
	return 0;
}

void
replaced_end(struct replaced *replaced)
{
	if (replaced->fd >= 0)
		close(replaced->fd);
	replaced->fd = -1;
}
