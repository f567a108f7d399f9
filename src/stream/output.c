#include "stream/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "base/path.h"
#include "base/signals.h"
#include "disk/journal.h"
#include "disk/output_lock.h"

static const char *
shown_name(const char *path)
{
	return path != NULL ? path : "standard output";
}

int
output_is_same(const char *a, const char *b)
{
	struct stat x, y;
	int x_is = path_stat(a, STDOUT_FILENO, &x) == 0;
	int y_is = path_stat(b, STDOUT_FILENO, &y) == 0;

	/* Reading and writing the same terminal or /dev/null is all right. */
	if (x_is && y_is)
		return S_ISREG(x.st_mode) && path_same_file(&x, &y);
	return !x_is && !y_is && a != NULL && b != NULL &&
	    path_same_place(a, b);
}

static int
is_journal_of(const char *path, const char *filter)
{
	char *real = path_real(filter);
	char *journal = real == NULL ? NULL : journal_name(real);
	int result = journal != NULL && output_is_same(path, journal);

	free(real);
	free(journal);
	return result;
}

/* Not a device, nor an open file that has no name any more (/dev/fd/N). */
static int
is_replaceable(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_nlink > 0;
}

int
output_check(const char *path, int atomic, const struct inputs *inputs,
    const char *filter, struct error *error)
{
	const char *name = NULL;
	struct stat st;

	if (path_stat(path, STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode) &&
	    !(atomic && path != NULL && is_replaceable(&st)))
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
		    shown_name(path), filter, JOURNAL_SUFFIX);
	}
	return 0;
}

/*
 * Open a file that gets its name in the end. A link to the old file stays. The
 * new one gets its rights only at the end, so that a run that fails shows
 * nothing to others. `old` is the file that is there, or NULL.
 */
static int
open_new(struct output *out, const char *path, const struct stat *old)
{
	out->target = path_follow(path);
	if (out->target == NULL)
		return -1;
	replaced_begin(&out->replaced, old);
	return temporary_open_nameless(out->target, &out->hidden);
}

static int
open_uninterrupted(const char *path, int flags)
{
	int fd;

	while ((fd = open(path, flags | O_CREAT | O_CLOEXEC | O_NOCTTY,
	    0666)) < 0 && errno == EINTR && !signals_stop)
		signals_take_figures(); /* There are no figures yet. */
	return fd;
}

/* If its name leads to another file by then, an output is opened this often. */
#define OPENS 10

/* Is this regular file another one than the name leads to now? */
static int
has_lost_name(int fd, const char *path)
{
	struct stat st, named;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    stat(path, &named) == 0 && !path_same_file(&st, &named);
}

/*
 * Open the file itself. A regular one is written to at its end, whoever else
 * does so, and read, if we may, to see how it ends; a FIFO is waited for until
 * it has a reader.
 */
static int
open_at_end(const char *path, int is_regular)
{
	int fd = -1;

	if (is_regular)
		fd = open_uninterrupted(path, O_RDWR | O_APPEND);
	if (fd < 0 && (!is_regular || errno == EACCES))
		fd = open_uninterrupted(path, O_WRONLY | O_APPEND);
	return fd;
}

/*
 * A run that is about to replace the file keeps us waiting (replaced_check),
 * and then the one that was opened has no name. No run of ours replaces it once
 * it is open. A file system may give a file another number each time: then this
 * ends.
 */
static int
open_in_place(const char *path, int is_regular)
{
	int fd = open_at_end(path, is_regular);

	for (unsigned i = 1; i < OPENS && fd >= 0 && has_lost_name(fd, path);
	    i++) {
		close(fd);
		fd = open_at_end(path, is_regular);
	}
	return fd;
}

/* Resolve the output's path, which must fit into a journal. */
static int
resolve(struct output *out, const char *path, struct error *error)
{
	out->path = path_absolute(path);
	if (out->path == NULL)
		return error_system(error, errno, path);
	if (strlen(out->path) < JOURNAL_PATH_MAX)
		return 0;
	/* The output has no lines yet that closing could lose. */
	output_close(out, error_ignored());
	return error_system(error, ENAMETOOLONG, path);
}

/* Can the file be made later? Its directory must be there. */
static int
check_directory(struct output *out, struct error *error)
{
	char *directory = memory_or_die(strdup(out->path));
	int result = 0;

	*strrchr(directory, '/') = '\0';
	if (access(*directory == '\0' ? "/" : directory, W_OK | X_OK) < 0)
		result = error_system(error, errno, out->name);
	free(directory);
	/* The output has no lines yet that closing could lose. */
	if (result < 0)
		output_close(out, error_ignored());
	return result;
}

int
output_open(struct output *out, const char *path, enum output_how how,
    int append, struct error *error)
{
	struct stat st;
	int exists, is_atomic;

	*out = (struct output){ .fd = STDOUT_FILENO,
		.name = shown_name(path), .appends = append,
		.replaced = REPLACED_NONE, .append = APPEND_NONE };
	if (path == NULL)
		return 0;
	out->fd = -1;
	exists = stat(path, &st) == 0;
	/* Otherwise a device could be taken for a new name, and replaced. */
	if (!exists && errno != ENOENT)
		return error_system(error, errno, path);
	is_atomic = how == OUTPUT_ATOMIC && (!exists || is_replaceable(&st));
	/* At the end, the name might lead to something else. */
	if (is_atomic && resolve(out, path, error) < 0)
		return -1;
	out->is_redone = is_atomic && append;
	if (out->is_redone && !exists)
		return check_directory(out, error);
	if (is_atomic && !append)
		out->fd = open_new(out, path, exists ? &st : NULL);
	else
		out->fd = open_in_place(path, !exists || S_ISREG(st.st_mode));
	if (out->fd >= 0)
		return 0;
	error_system(error, errno, path);
	/* The output has no lines yet that closing could lose. */
	output_close(out, error_ignored());
	return -1;
}

/* Cut a file to nothing, which no other run of ours writes to. */
static int
empty(struct output *out, const struct lock_wait *wait, struct error *error)
{
	int result = output_lock_alone(out->fd, OUTPUT_CONTENTS, out->name,
	    wait, error);

	if (result < 0)
		return -1;
	if (result > 0)
		output_lock_lacking(OUTPUT_CONTENTS, out->name, wait->notice);
	do {
		result = ftruncate(out->fd, 0);
	} while (result < 0 && errno == EINTR && !signals_stop);
	return result == 0 ? 0 : error_system(error, errno, out->name);
}

int
output_begin(struct output *out, int may_be_emptied,
    const struct lock_wait *wait, struct error *error)
{
	struct stat st;

	if (out->fd <= STDOUT_FILENO || out->target != NULL)
		return 0;
	/* What is no file has no length, and not every system says EINVAL. */
	if (fstat(out->fd, &st) < 0)
		return error_system(error, errno, out->name);
	if (!S_ISREG(st.st_mode))
		return 0;
	/* ext4 writes what was truncated to the disk when it is closed. */
	if (st.st_size > 0 && may_be_emptied && !out->appends &&
	    empty(out, wait, error) < 0)
		return -1;
	/* Without locks, or the right to read, an append goes on. */
	return output_lock_shared(out->fd, OUTPUT_CONTENTS, out->name, wait,
	    error) < 0 ? -1 : 0;
}

int
output_check_sync(const char *path, struct error *error)
{
	struct stat st;

	if (path_stat(path, STDOUT_FILENO, &st) < 0 || S_ISREG(st.st_mode) ||
	    S_ISBLK(st.st_mode))
		return 0;
	return error_set(error, STATUS_USAGE, "--sync: %s is not a file, and"
	    " cannot be synced; write to a file with -o FILE",
	    shown_name(path));
}

int
output_sync_name(const struct output *out, struct error *error)
{
	const int standard = out->fd == STDOUT_FILENO;
	struct stat st, named;
	char *name;
	int result = 0;

	if (out->fd < 0 && out->path != NULL)
		return path_sync_directory(out->path, error);
	if (fstat(out->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (out->target != NULL)
		return path_sync_directory(out->target, error);
	name = path_follow(standard ? os_name(out->fd).text : out->name);
	if (name == NULL && !standard)
		return error_system(error, errno, out->name);
	/* Nobody knows the name without /proc, or of a file that has none. */
	if (name != NULL && (!standard || (stat(name, &named) == 0 &&
	    path_same_file(&st, &named))))
		result = path_sync_directory(name, error);
	free(name);
	return result;
}

int
output_sync(struct output *out, struct error *error)
{
	struct stat st;
	int errnum;

	/* The system reports a failure once, and doesn't write it later. */
	if (out->unsafe != 0)
		return error_again(error, out->unsafe, out->name);
	if (out->fd < 0 || fsync(out->fd) == 0)
		return 0;
	errnum = errno;
	/* Fine for a pipe, a terminal, /dev/null; a file's disk has failed. */
	if ((errnum == EINVAL || errnum == EROFS) &&
	    fstat(out->fd, &st) == 0 && !S_ISREG(st.st_mode))
		return 0;
	out->unsafe = errnum;
	return error_system(error, errnum, out->name);
}

int
output_secure(struct output *out, struct error *error)
{
	struct stat old;

	/* The mode, too, must be on the disk before the name. */
	if (out->target != NULL && stat(out->target, &old) == 0)
		temporary_take_rights(out->fd, out->target, &old);
	else if (out->target != NULL)
		temporary_new_rights(out->fd, out->target);
	return output_sync(out, error);
}

int
output_hold(struct output *out, const struct lock_wait *wait,
    struct error *error)
{
	if (out->target == NULL)
		return 0;
	return replaced_lock(&out->replaced, out->target, wait, error);
}

int
output_claim(struct output *out, void (*notice)(const char *text),
    struct error *error)
{
	if (out->target == NULL)
		return 0;
	return replaced_check(&out->replaced, out->target, notice, error);
}

int
output_finish(struct output *out, struct error *error)
{
	int directory, errnum;

	if (out->target == NULL)
		return 0;
	directory = path_open_directory(out->target, error);
	if (directory < 0)
		return -1;
	if (temporary_publish(out->fd, &out->hidden, out->target,
	    out->replaced.exists) == 0) {
		replaced_end(&out->replaced);
		return path_sync_opened(directory, out->target, error);
	}
	errnum = errno;
	close(directory);
	if (errnum == EEXIST)
		return error_set(error, STATUS_FAILED, "%s: another program"
		    " made this file during the run; it is left as it is",
		    out->name);
	if (errnum == EBUSY)
		return error_set(error, STATUS_FAILED, "%s: a mount point,"
		    " which cannot be replaced; with --append, the lines are"
		    " added to it", out->name);
	return error_system(error, errnum, out->name);
}

int
output_is_appended_to(const struct output *out)
{
	int flags = fcntl(out->fd, F_GETFL);

	return flags >= 0 && (flags & O_APPEND);
}

int
output_continues(const struct output *out)
{
	struct stat st;

	return output_is_appended_to(out) && fstat(out->fd, &st) == 0 &&
	    S_ISREG(st.st_mode) && st.st_size > 0;
}

/*
 * A write to a pipe or a terminal may block, and would miss a signal that came
 * just before, or that another thread gets. So open our own description, which
 * doesn't block; the one that we were given is shared with other processes, and
 * must not change.
 */
static void
choose_writer(struct output *out)
{
	struct stat st;
	int fd = -1;

	out->writer = out->fd;
	if (fstat(out->fd, &st) < 0)
		return;
	out->is_socket = S_ISSOCK(st.st_mode);
	if (S_ISFIFO(st.st_mode) || isatty(out->fd))
		fd = os_reopen(out->fd, O_WRONLY | O_NONBLOCK);
	if (fd >= 0)
		out->writer = fd;
}

static void
wait_for_output(struct output *out)
{
	if (signals_wait(out->writer, POLLOUT, -1) >= 0 || signals_stop)
		return;
	if (out->interrupted != NULL)
		out->interrupted(out->context);
	else
		signals_take_figures();
}

/* One write(2) or send(2). */
static ssize_t
write_some(struct output *out, const char *data, size_t nbytes)
{
	if (out->writer == 0)
		choose_writer(out);
	if (out->is_socket)
		return send(out->writer, data, nbytes, MSG_DONTWAIT);
	return write(out->writer, data, nbytes);
}

/* Write to what isn't a file that is written to at its end. */
static int
write_plain(struct output *out, const void *data, size_t nbytes,
    struct error *error)
{
	const char *p = data;

	while (nbytes > 0) {
		ssize_t n = write_some(out, p, nbytes);

		if (n >= 0) {
			p += n;
			nbytes -= (size_t)n;
			out->nbytes += (uint64_t)n;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			wait_for_output(out);
		} else if (errno != EINTR) {
			out->failed = 1;
			return error_system(error, errno, out->name);
		}
		/* The reader may have stopped: don't wait for it. */
		if (nbytes > 0 && signals_stop) {
			out->failed = 1;
			return signals_stopped(out->name, error);
		}
	}
	return 0;
}

void
output_append(struct output *out, const struct record_format *format,
    void (*notice)(const char *text))
{
	/* A file without a name yet has no other writer. */
	out->append.format = *format;
	if (out->fd >= 0 && out->target == NULL)
		append_begin(&out->append, out->fd, out->name, format, notice);
}

int
output_records(struct output *out, const void *data, size_t nbytes,
    struct error *error)
{
	uint64_t written;
	int result;

	if (out->divert != NULL) {
		out->nbytes += nbytes;
		return out->divert(out->context, out, data, nbytes, error);
	}
	if (out->append.fd < 0)
		return write_plain(out, data, nbytes, error);
	result = append_records(&out->append, data, nbytes, &written, error);
	out->nbytes += written;
	if (result < 0)
		out->failed = 1;
	return result;
}

int
output_flush(struct output *out, struct output_lines *lines,
    struct error *error)
{
	size_t nbytes = lines->used;

	lines->used = 0;
	return output_records(out, lines->data, nbytes, error);
}

/* Write a record that is larger than the buffer by one call. */
static int
write_large(struct output *out, const struct output_record *record,
    struct error *error)
{
	const size_t nbytes =
	    record->front_bytes + record->nbytes + record->back_bytes;
	uint8_t *data;
	int result;

	if (nbytes == record->nbytes)
		return output_records(out, record->line, nbytes, error);
	data = memory_or_die(malloc(nbytes));
	if (record->front != NULL)
		memcpy(data, record->front, record->front_bytes);
	memcpy(data + record->front_bytes, record->line, record->nbytes);
	if (record->back != NULL)
		memcpy(data + record->front_bytes + record->nbytes,
		    record->back, record->back_bytes);
	result = output_records(out, data, nbytes, error);
	free(data);
	return result;
}

int
output_make_room(struct output *out, struct output_lines *lines,
    const struct output_record *record, struct error *error)
{
	if (output_flush(out, lines, error) < 0)
		return -1;
	if (record->front_bytes + record->nbytes + record->back_bytes <=
	    lines->room)
		return 0;
	return write_large(out, record, error) < 0 ? -1 : 1;
}

int
output_close(struct output *out, struct error *error)
{
	int fd = out->fd, result = 0;

	if (out->writer > 0 && out->writer != fd)
		close(out->writer);
	out->writer = 0;
	out->fd = -1;
	out->append.fd = -1;
	replaced_end(&out->replaced);
	temporary_end(&out->hidden, 1);
	free(out->target);
	free(out->path);
	out->target = NULL;
	out->path = NULL;
	/* Standard output, too: network file systems report errors here. */
	if (fd >= 0 && close(fd) < 0 && errno != EINTR)
		result = error_system(error, errno, out->name);
	return result;
}
