#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "journal.h"
#include "signals.h"
#include "store.h"

/* So often, 20 ms apart, a file is looked at that others append to. */
#define LOOKS 50

static const char *
shown_name(const char *path)
{
	return path != NULL ? path : "standard output";
}

static int
look(const char *path, struct stat *st)
{
	return path == NULL ? fstat(STDOUT_FILENO, st) : stat(path, st);
}

int
output_is_same(const char *a, const char *b)
{
	struct stat x, y;
	int x_is = look(a, &x) == 0, y_is = look(b, &y) == 0;

	/* Reading and writing the same terminal or /dev/null is all right. */
	if (x_is && y_is)
		return S_ISREG(x.st_mode) && store_same_file(&x, &y);
	return !x_is && !y_is && a != NULL && b != NULL &&
	    store_same_place(a, b);
}

static int
is_journal_of(const char *path, const char *filter)
{
	char *real = store_real_path(filter);
	char *journal = real == NULL ? NULL : journal_name(real);
	int result = journal != NULL && output_is_same(path, journal);

	free(real);
	free(journal);
	return result;
}

/*
 * Is `st`, opened by this path, a file that a new one takes the place of? Not
 * if it is known to have no name any more, as /dev/fd/N may.
 */
static int
is_replaceable(const char *path, const struct stat *st)
{
	char *name = store_follow(path);
	struct stat named;
	int gone = name != NULL && (stat(name, &named) < 0 ?
	    errno == ENOENT : !store_same_file(st, &named));

	free(name);
	return S_ISREG(st->st_mode) && !gone;
}

int
output_check(const char *path, int atomic, const struct input_plan *inputs,
    const char *filter, struct error *error)
{
	const char *name = NULL;
	struct stat st;

	if (look(path, &st) == 0 && S_ISREG(st.st_mode) &&
	    !(atomic && path != NULL && is_replaceable(path, &st)))
		name = input_same_file(inputs, &st);
	if (name != NULL) {
		return error_set(error, STATUS_USAGE,
		    "%s: the output is also an input", name);
	}
	if (filter != NULL && output_is_same(path, filter)) {
		return error_set(error, STATUS_USAGE,
		    "%s: the output is the filter", filter);
	}
	if (filter != NULL && is_journal_of(path, filter)) {
		return error_set(error, STATUS_USAGE,
		    "%s: the output would be the filter's journal, %s%s",
		    shown_name(path), filter, STORE_JOURNAL);
	}
	return 0;
}

/*
 * Make the file that will replace `path`, beside it. It gets its rights at the
 * end only: a run that fails has shown nothing to others.
 */
static int
open_hidden(struct output *out, const char *path, const struct stat *old,
    struct error *error)
{
	/* Through a link it is the file that is replaced, not the link. */
	out->target = store_follow(path);
	if (out->target == NULL)
		return error_system(error, errno, path);
	out->replaces = old != NULL;
	out->mode = old != NULL ? old->st_mode & 07777 :
	    store_new_mode(out->target);
	out->fd = store_open_hidden(out->target, &out->hidden);
	if (out->fd < 0)
		return error_system(error, errno, path);
	if (old == NULL)
		return 0;
	/* What is written by who isn't root loses these. */
	if (geteuid() != 0)
		out->mode &= 01777;
	/* Owner and group as far as we may; no rights for another one. */
	if (fchown(out->fd, old->st_uid, old->st_gid) < 0) {
		out->mode &= 0777;
		if (fchown(out->fd, (uid_t)-1, old->st_gid) < 0)
			out->mode &= 0707;
	}
	return 0;
}

static int
open_path(struct output *out, const char *path, int atomic,
    struct error *error)
{
	struct stat st;
	int exists = stat(path, &st) == 0;

	if (atomic && (!exists || is_replaceable(path, &st)))
		return open_hidden(out, path, exists ? &st : NULL, error);
	do {
		out->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC |
		    O_NOCTTY, 0666);
	} while (out->fd < 0 && errno == EINTR && !signals_stop);
	return out->fd < 0 ? error_system(error, errno, path) : 0;
}

int
output_open(struct output *out, const char *path, int atomic,
    const struct input_plan *inputs, const char *filter, struct error *error)
{
	*out = (struct output){ .fd = STDOUT_FILENO,
		.name = shown_name(path) };
	/* Once more: much may have happened since the first look. */
	if (output_check(path, atomic, inputs, filter, error) < 0)
		return -1;
	if (path == NULL)
		return 0;
	out->fd = -1;
	if (open_path(out, path, atomic, error) == 0)
		return 0;
	output_close(out, &(struct error){ 0 });
	return -1;
}

int
output_begin(struct output *out, struct error *error)
{
	int result;

	if (out->fd <= STDOUT_FILENO || out->hidden != NULL)
		return 0;
	do {
		result = ftruncate(out->fd, 0);
	} while (result < 0 && errno == EINTR && !signals_stop);
	/* EINVAL: a pipe or a device, which has no length */
	if (result < 0 && errno != EINVAL)
		return error_system(error, errno, out->name);
	return 0;
}

/* Of standard output it isn't known; who opened it sees to it. */
static int
sync_name(const struct output *out, struct error *error)
{
	char *name;
	int result;

	if (out->fd == STDOUT_FILENO)
		return 0;
	name = store_follow(out->name);
	if (name == NULL)
		return error_system(error, errno, out->name);
	result = store_sync_folder(name, error);
	free(name);
	return result;
}

static int
is_on_disk(const struct stat *st, const char *name, struct error *error)
{
	if (S_ISREG(st->st_mode) || S_ISBLK(st->st_mode))
		return 0;
	return error_set(error, STATUS_USAGE, "--sync: %s is no file, and can't"
	    " be put on the disk; write to one with -o FILE", name);
}

int
output_check_sync(const char *path, struct error *error)
{
	struct stat st;

	return look(path, &st) < 0 ? 0 :
	    is_on_disk(&st, shown_name(path), error);
}

int
output_sync_name(const struct output *out, struct error *error)
{
	struct stat st = { 0 };

	fstat(out->fd, &st);
	if (is_on_disk(&st, out->name, error) < 0)
		return -1;
	return S_ISREG(st.st_mode) ? sync_name(out, error) : 0;
}

int
output_sync(struct output *out, struct error *error)
{
	struct stat st;
	int errnum;

	/* The system tells it once; what was lost is not written later. */
	if (out->unsafe != 0)
		return error_system(error, out->unsafe, out->name);
	if (out->fd < 0 || fsync(out->fd) == 0)
		return 0;
	errnum = errno;
	/* A pipe, a terminal, /dev/null; but a file, when its disk failed. */
	if ((errnum == EINVAL || errnum == EROFS) &&
	    fstat(out->fd, &st) == 0 && !S_ISREG(st.st_mode))
		return 0;
	out->unsafe = errnum;
	return error_system(error, errnum, out->name);
}

/* Where there are no modes, a new file has what the file system gives. */
static int
set_mode(struct output *out, struct error *error)
{
	if (fchmod(out->fd, out->mode) == 0 || (!out->replaces &&
	    (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS)))
		return 0;
	return error_system(error, errno, out->name);
}

int
output_settle(struct output *out, struct error *error)
{
	/* The mode is on the disk, too, before the name. */
	if (out->hidden != NULL && set_mode(out, error) < 0)
		return -1;
	return output_sync(out, error);
}

int
output_finish(struct output *out, struct error *error)
{
	if (out->hidden == NULL)
		return 0;
	if (rename(out->hidden, out->target) < 0)
		return error_system(error, errno, out->name);
	store_end_hidden(&out->hidden, 0);
	return store_sync_folder(out->target, error);
}

/*
 * How long a file is that does not end in the terminator; 0 if it does, or that
 * can't be told. It is open for writing only, so a second descriptor reads it.
 */
static off_t
torn_length(int fd, char terminator)
{
	char path[40], byte = terminator;
	struct stat st;
	int again;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return 0;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC);
	if (again < 0)
		return 0;
	if (pread(again, &byte, 1, st.st_size - 1) != 1)
		byte = terminator;
	close(again);
	return byte == terminator ? 0 : st.st_size;
}

/* Others, in the middle of a write, go on; what is torn stays as it is. */
static int
is_torn(int fd, char terminator)
{
	off_t before = 0;

	for (int i = 0; i < LOOKS; i++) {
		off_t length = torn_length(fd, terminator);

		if (length == 0 || length == before)
			return length != 0;
		before = length;
		nanosleep(&(struct timespec){ .tv_nsec = 20 * 1000000 }, NULL);
	}
	return 0;
}

int
output_mend(struct output *out, char terminator,
    void (*notice)(const char *text), struct error *error)
{
	int flags = fcntl(out->fd, F_GETFL);
	char text[4700];
	size_t written;

	if (flags < 0 || !(flags & O_APPEND) || !is_torn(out->fd, terminator))
		return 0;
	snprintf(text, sizeof text, "%s: its last line was torn by an earlier"
	    " run; the new lines begin on a line of their own", out->name);
	notice(text);
	return output_write(out, &terminator, 1, &written, error);
}

int
output_write(struct output *out, const void *data, size_t nbytes,
    size_t *written, struct error *error)
{
	const char *p = data;

	*written = 0;
	while (*written < nbytes) {
		ssize_t n = write(out->fd, p + *written, nbytes - *written);

		if (n >= 0) {
			*written += (size_t)n;
			out->nbytes += (uint64_t)n;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			struct pollfd wait = { out->fd, POLLOUT, 0 };
			poll(&wait, 1, -1);
		} else if (errno != EINTR) {
			return error_system(error, errno, out->name);
		}
		if (*written < nbytes && out->interrupted != NULL)
			out->interrupted(NULL);
		/* Whoever reads us may have stopped: don't insist. */
		if (*written < nbytes && signals_stop) {
			return error_set(error, 128 + signals_stop,
			    "%s: stopped by a signal", out->name);
		}
	}
	return 0;
}

int
output_close(struct output *out, struct error *error)
{
	int fd = out->fd, result = 0;

	store_end_hidden(&out->hidden, 1);
	free(out->target);
	out->target = NULL;
	out->fd = -1;
	/* Standard output too: network file systems tell of errors here. */
	if (fd >= 0 && close(fd) < 0 && errno != EINTR)
		result = error_system(error, errno, out->name);
	return result;
}
