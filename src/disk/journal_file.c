/* The file of a journal: its name, opening, removing and closing it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "disk/journal.h"
#include "disk/journal_inside.h"

char *
journal_name(const char *filter)
{
	size_t nbytes = strlen(filter) + sizeof JOURNAL_SUFFIX;
	char *name = memory_or_die(malloc(nbytes));

	snprintf(name, nbytes, "%s%s", filter, JOURNAL_SUFFIX);
	return name;
}

int
journal_begin(struct journal *j, const char *filter, int flags,
    struct error *error)
{
	struct stat st;

	*j = (struct journal)JOURNAL_NONE;
	j->path = journal_name(filter);
	j->frame = memory_or_die(calloc(1, HEAD_BYTES + FRAME_PAYLOAD_MAX));
	/* Don't follow a planted link or wait for a planted FIFO. */
	do {
		j->fd = open(j->path, flags | O_CLOEXEC | O_NOFOLLOW |
		    O_NONBLOCK | O_NOCTTY, 0600);
	} while (j->fd < 0 && errno == EINTR);
	if (j->fd < 0 || fstat(j->fd, &st) < 0)
		return error_system(error, errno, j->path);
	if (!S_ISREG(st.st_mode)) {
		return error_set(error, STATUS_FAILED,
		    "%s: a journal must be a regular file", j->path);
	}
	return 0;
}

/*
 * Take away the journal's name, if it is still its own: when the filter was
 * removed meanwhile, another one, with its journal, may be in its place.
 */
static int
unlink_own(const struct journal *j)
{
	struct stat ours, named;

	if (fstat(j->fd, &ours) < 0)
		return -1;
	if (lstat(j->path, &named) == 0) {
		if (!path_same_file(&ours, &named) || unlink(j->path) == 0)
			return 0;
	}
	return errno == ENOENT ? 0 : -1;
}

int
journal_remove(struct journal *j, struct error *error)
{
	struct error ignored;
	int result = 0;

	if (j->fd >= 0) {
		if (unlink_own(j) < 0)
			result = error_system(error, errno, j->path);
		else /* if this and the power fail, a later run removes it */
			path_sync_directory(j->path, &ignored);
	}
	journal_close(j);
	return result;
}

void
journal_forget(struct journal *j)
{
	if (j->fd >= 0)
		unlink_own(j);
	journal_close(j);
}

void
journal_close(struct journal *j)
{
	if (j->fd >= 0)
		close(j->fd);
	free(j->path);
	free(j->frame);
	*j = (struct journal)JOURNAL_NONE;
}
