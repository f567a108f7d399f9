#define _GNU_SOURCE /* F_OFD_SETLKW */
#include "disk/redo.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

/*
 * Runs of ours that append to one file take turns: by a lock on a byte that no
 * file has, so that `flock FILE bloomdedup ...` doesn't wait for itself.
 */
#define LOCKED_BYTE ((off_t)1 << 62)
/* Of a file that is compared with the text, at a time. */
#define PIECE_BYTES 4096

/* An output that is appended to. */
struct target {
	struct journal *journal;
	unsigned number;
	int fd;             /* -1 if there is no such output */
	uint64_t length;    /* of the file at the commit */
	uint64_t total;     /* bytes of text */
	uint64_t present;   /* of which the file has the first ones */
	uint64_t passed;    /* bytes of text passed over so far */
	off_t begin;        /* where the first byte was appended, */
	off_t end;          /* and the last one; equal: none was */
	off_t appended;     /* how many were */
};

static int
set_gone(const struct journal_output *o, struct error *error)
{
	return error_set(error, STATUS_FAILED, "%s: it was removed, replaced or"
	    " shortened while new lines waited to be added to it; they are"
	    " discarded, and nothing is remembered", o->path);
}

/* Open the output, if it is still the same file. */
static int
open_target(struct target *t, struct error *error)
{
	const struct journal_output *o = &t->journal->outputs[t->number];
	const int flags = O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	struct stat st;

	t->fd = open(o->path, O_RDWR | flags);
	if (t->fd < 0 && errno == EACCES)
		t->fd = open(o->path, O_WRONLY | flags);
	if (t->fd < 0 && errno != ENOENT)
		return error_system(error, errno, o->path);
	t->length = o->length;
	if (t->fd < 0 || fstat(t->fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_dev != o->device || st.st_ino != o->inode ||
	    (uint64_t)st.st_size < o->length)
		return set_gone(o, error);
	return 0;
}

static int
count(void *context, const uint8_t *text, size_t nbytes, struct error *error)
{
	struct target *t = context;

	(void)text;
	(void)error;
	t->total += nbytes;
	return 0;
}

/* How much of the text has the file? Returns 1 where they differ. */
static int
compare(void *context, const uint8_t *text, size_t nbytes,
    struct error *error)
{
	struct target *t = context;
	uint8_t there[PIECE_BYTES];

	while (nbytes > 0) {
		size_t n = nbytes < sizeof there ? nbytes : sizeof there;
		ssize_t have = io_pread(t->fd, there, n, t->length +
		    t->present);

		if (have < 0)
			return error_system(error, errno,
			    t->journal->outputs[t->number].path);
		for (size_t i = 0; i < n; i++) {
			if (i == (size_t)have || there[i] != text[i])
				return 1;
			t->present++;
		}
		text += n;
		nbytes -= n;
	}
	return 0;
}

/*
 * After a run was killed: how much of the text is in the file? If others have
 * appended behind a part of it, all of it is appended again.
 */
static int
look(struct target *t, struct error *error)
{
	struct stat st;

	if (journal_each_text(t->journal, t->number, count, t, error) < 0 ||
	    journal_each_text(t->journal, t->number, compare, t, error) < 0)
		return -1;
	if (fstat(t->fd, &st) < 0)
		return error_system(error, errno,
		    t->journal->outputs[t->number].path);
	if (t->present < t->total &&
	    t->length + t->present != (uint64_t)st.st_size)
		t->present = 0;
	return 0;
}

/* Append what comes after `present` bytes. */
static int
append(void *context, const uint8_t *text, size_t nbytes, struct error *error)
{
	struct target *t = context;

	if (t->passed < t->present) {
		uint64_t left = t->present - t->passed;
		size_t skipped = left < nbytes ? (size_t)left : nbytes;

		t->passed += skipped;
		text += skipped;
		nbytes -= skipped;
	}
	while (nbytes > 0) {
		ssize_t n = write(t->fd, text, nbytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_system(error, errno,
			    t->journal->outputs[t->number].path);
		if (t->begin == t->end)
			t->begin = lseek(t->fd, 0, SEEK_CUR) - n;
		t->end = lseek(t->fd, 0, SEEK_CUR);
		t->appended += n;
		text += n;
		nbytes -= (size_t)n;
	}
	return 0;
}

static int
append_locked(struct target *t, int again, struct error *error)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
		.l_start = LOCKED_BYTE, .l_len = 1 };
	int result = 0;

	/* Without such locks, two runs may mix their lines' order. */
	while (fcntl(t->fd, F_OFD_SETLKW, &lock) < 0 && errno == EINTR)
		continue;
	if (again)
		result = look(t, error);
	if (result == 0)
		result = journal_each_text(t->journal, t->number, append, t,
		    error);
	if (result == 0 && fsync(t->fd) < 0)
		result = error_system(error, errno,
		    t->journal->outputs[t->number].path);
	lock.l_type = F_UNLCK;
	fcntl(t->fd, F_OFD_SETLK, &lock);
	return result;
}

/* Take back what was appended, unless others have appended in between. */
static int
take_back(struct target *t)
{
	if (t->fd < 0 || t->appended == 0)
		return 0;
	if (t->end - t->begin != t->appended)
		return -1;
	return io_cut(t->fd, t->end, t->begin);
}

static enum redo
apply(struct target targets[JOURNAL_OUTPUTS], int again, struct error *error)
{
	int is_taken_back = 1;

	/* Neither gets anything unless both can. */
	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++) {
		struct target *t = &targets[i];

		if (t->journal->outputs[i].kind == JOURNAL_APPENDED &&
		    open_target(t, error) < 0)
			return error->errnum == 0 || !again ? REDO_DISCARDED :
			    REDO_UNFINISHED;
	}
	/* The duplicates first: the output is the last to change. */
	for (unsigned i = JOURNAL_OUTPUTS; i-- > 0;) {
		if (targets[i].fd < 0 ||
		    append_locked(&targets[i], again, error) == 0)
			continue;
		if (again)
			return REDO_UNFINISHED;
		for (unsigned j = i; j < JOURNAL_OUTPUTS; j++)
			is_taken_back &= take_back(&targets[j]) == 0;
		return is_taken_back ? REDO_DISCARDED : REDO_UNFINISHED;
	}
	return REDO_DONE;
}

enum redo
redo_apply(struct journal *journal, int again, struct error *error)
{
	struct target targets[JOURNAL_OUTPUTS];
	enum redo result;

	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++)
		targets[i] = (struct target){ .journal = journal, .number = i,
			.fd = -1 };
	result = apply(targets, again, error);
	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++) {
		if (targets[i].fd >= 0)
			close(targets[i].fd);
	}
	return result;
}
