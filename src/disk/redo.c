#define _GNU_SOURCE /* F_OFD_SETLK */
#include "disk/redo.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/signals.h"

/*
 * Runs of ours that append to one file take turns: by a lock on a byte that no
 * file has, so that `flock FILE bloomdedup ...` doesn't wait for itself.
 */
#define LOCKED_BYTE ((off_t)1 << 62)
/* Between two tries to take that lock, in nanoseconds. */
#define LOCK_PAUSE 10000000
/* Of a file that is compared with the text, at a time. */
#define PIECE_BYTES 4096

/* An output that is appended to. */
struct target {
	struct journal *journal;
	unsigned number;
	int fd;             /* -1 if there is no such output */
	int is_readable;
	uint64_t length;    /* of the file at the commit */
	uint64_t total;     /* bytes of text, if it was looked at */
	uint8_t last;       /* the last one, which ends a record */
	uint64_t size;      /* of the file, if it was looked at */
	uint64_t compared;  /* bytes of text that were compared with it, */
	uint64_t present;   /* the first of which it has already; */
	int is_foreign;     /* others have written behind these */
	int needs_end;      /* it ends within a record */
	uint64_t passed;    /* bytes of text passed over so far */
	uint64_t begin;     /* where the first byte was appended */
	uint64_t appended;  /* how many were */
};

static const char *
path_of(const struct target *t)
{
	return t->journal->outputs[t->number].path;
}

static int
set_gone(const struct target *t, struct error *error)
{
	return error_set(error, STATUS_FAILED, "%s: it was removed, replaced or"
	    " shortened while new lines waited to be added to it; they are"
	    " discarded, and nothing is remembered", path_of(t));
}

/* Open the output, if it is still the same file. */
static int
open_target(struct target *t, struct error *error)
{
	const struct journal_output *o = &t->journal->outputs[t->number];
	const int flags = O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	struct stat st;

	t->fd = open(o->path, O_RDWR | flags);
	t->is_readable = t->fd >= 0;
	if (t->fd < 0 && errno == EACCES)
		t->fd = open(o->path, O_WRONLY | flags);
	if (t->fd < 0 && errno != ENOENT)
		return error_system(error, errno, o->path);
	t->length = o->length;
	if (t->fd >= 0 && fstat(t->fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_ino == o->inode && (uint64_t)st.st_size >= o->length)
		return 0;
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	return set_gone(t, error);
}

/* --- turns */

/* The lock has been busy since `start`, and is waited for until the timeout. */
static int
pause_for_turn(const struct target *t, const struct lock_wait *wait,
    uint64_t start, int *noticed, struct error *error)
{
	const uint64_t waited = (clock_now() - start) / CLOCK_MILLISECOND;

	if (waited >= wait->milliseconds)
		return error_set(error, STATUS_LOCKED, "%s: another run is"
		    " appending to it; gave up after %g s (--lock-timeout)",
		    path_of(t), (double)wait->milliseconds / 1000);
	if (waited >= 1000 && !*noticed) {
		error_notify(wait->notice, "%s: waiting for another run that"
		    " appends to it", path_of(t));
		*noticed = 1;
	}
	nanosleep(&(struct timespec){ .tv_nsec = LOCK_PAUSE }, NULL);
	return 0;
}

/* Where there are no such locks, two runs may mix their lines' order. */
static int
begin_turn(struct target *t, const struct lock_wait *wait, struct error *error)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
		.l_start = LOCKED_BYTE, .l_len = 1 };
	const uint64_t start = clock_now();
	int noticed = 0;

	while (fcntl(t->fd, F_OFD_SETLK, &lock) < 0) {
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN && errno != EACCES)
			return 0;
		if (signals_stop)
			return signals_stopped(path_of(t), error);
		if (pause_for_turn(t, wait, start, &noticed, error) < 0)
			return -1;
	}
	return 0;
}

static void
end_turn(struct target *t)
{
	struct flock lock = { .l_type = F_UNLCK, .l_whence = SEEK_SET,
		.l_start = LOCKED_BYTE, .l_len = 1 };

	fcntl(t->fd, F_OFD_SETLK, &lock);
}

/* --- what an earlier run has appended */

static int
count(void *context, const uint8_t *text, size_t nbytes, struct error *error)
{
	struct target *t = context;

	(void)error;
	t->total += nbytes;
	if (nbytes > 0)
		t->last = text[nbytes - 1];
	return 0;
}

/*
 * How much of the text has the file? Returns 1 where it ends, or where others
 * have written to it. A power failure leaves zeros in the place of bytes that
 * were not on the disk yet.
 */
static int
compare(void *context, const uint8_t *text, size_t nbytes,
    struct error *error)
{
	struct target *t = context;
	uint8_t there[PIECE_BYTES];

	while (nbytes > 0) {
		size_t n = nbytes < sizeof there ? nbytes : sizeof there;
		ssize_t have = io_pread(t->fd, there, n, t->length +
		    t->compared);

		if (have < 0)
			return error_system(error, errno, path_of(t));
		for (size_t i = 0; i < n; i++) {
			if (i == (size_t)have)
				return 1;
			t->is_foreign = there[i] != text[i] && there[i] != 0;
			if (t->is_foreign)
				return 1;
			if (t->present == t->compared && there[i] == text[i])
				t->present++;
			t->compared++;
		}
		text += n;
		nbytes -= n;
	}
	return 0;
}

/*
 * After a run was killed: how much of the text is in the file? What can't be
 * read is known only by its length.
 */
static int
look(struct target *t, struct error *error)
{
	struct stat st;

	if (journal_each_text(t->journal, t->number, count, t, error) < 0)
		return -1;
	if (t->is_readable &&
	    journal_each_text(t->journal, t->number, compare, t, error) < 0)
		return -1;
	if (fstat(t->fd, &st) < 0)
		return error_system(error, errno, path_of(t));
	t->size = (uint64_t)st.st_size;
	if (!t->is_readable && t->size == t->length + t->total)
		t->present = t->total;
	return 0;
}

/* Is all that was appended since the commit text of this journal? */
static int
is_ours(const struct target *t)
{
	return t->is_readable && !t->is_foreign &&
	    t->size <= t->length + t->total;
}

/* Does the file end within a record? */
static int
ends_within(const struct target *t)
{
	uint8_t last;

	if (t->is_readable)
		return io_pread(t->fd, &last, 1, t->size - 1) == 1 &&
		    last != t->last;
	return t->size < t->length + t->total;
}

/*
 * Go on where the earlier run stopped; but if that isn't certain, such as when
 * others have appended behind a part of the text, all of it is appended again:
 * a line may be there twice, but none is lost.
 */
static int
find_start(struct target *t, const struct lock_wait *wait,
    struct error *error)
{
	if (look(t, error) < 0)
		return -1;
	if (t->present == t->total || t->size == t->length + t->present)
		return 0;
	/* What a power failure has left in the place of text. */
	if (is_ours(t) && io_cut(t->fd, (off_t)t->size,
	    (off_t)(t->length + t->present)) == 0)
		return 0;
	t->present = 0;
	t->needs_end = ends_within(t);
	error_notify(wait->notice, "%s: it is longer than when the earlier run"
	    " added lines to it, so all of them are added again", path_of(t));
	return 0;
}

/* --- appending */

static int
append(struct target *t, const uint8_t *text, size_t nbytes,
    struct error *error)
{
	while (nbytes > 0) {
		ssize_t n = write(t->fd, text, nbytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_system(error, errno, path_of(t));
		if (t->appended == 0)
			t->begin = (uint64_t)(lseek(t->fd, 0, SEEK_CUR) - n);
		t->appended += (uint64_t)n;
		text += n;
		nbytes -= (size_t)n;
	}
	return 0;
}

/* Append what comes after `present` bytes. */
static int
append_text(void *context, const uint8_t *text, size_t nbytes,
    struct error *error)
{
	struct target *t = context;
	uint64_t left = t->present - t->passed;
	size_t skipped = left < nbytes ? (size_t)left : nbytes;

	t->passed += skipped;
	return append(t, text + skipped, nbytes - skipped, error);
}

static int
append_missing(struct target *t, int again, const struct lock_wait *wait,
    struct error *error)
{
	if (again && find_start(t, wait, error) < 0)
		return -1;
	if (t->needs_end && append(t, &t->last, 1, error) < 0)
		return -1;
	if (journal_each_text(t->journal, t->number, append_text, t,
	    error) < 0)
		return -1;
	return fsync(t->fd) == 0 ? 0 :
	    error_system(error, errno, path_of(t));
}

static int
append_in_turn(struct target *t, int again, const struct lock_wait *wait,
    struct error *error)
{
	int result;

	if (begin_turn(t, wait, error) < 0)
		return -1;
	result = append_missing(t, again, wait, error);
	end_turn(t);
	return result;
}

/* --- taking back */

/* Take back what this run has appended, unless that isn't possible. */
static int
take_back(struct target *t)
{
	if (t->fd < 0 || t->appended == 0)
		return 0;
	return io_take_back(t->fd, t->begin, t->appended, 0);
}

/*
 * The other output can't get its text: take back what an earlier run has
 * appended to this one. `error`, which says why, also says if it stays.
 */
static int
withdraw(struct target *t, const struct lock_wait *wait, struct error *error)
{
	const struct error reason = *error;
	int result;

	if (begin_turn(t, wait, error) < 0)
		return -1;
	result = look(t, error);
	end_turn(t);
	if (result < 0)
		return -1;
	*error = reason;
	if (t->size == t->length)
		return 0;
	if (is_ours(t) &&
	    io_cut(t->fd, (off_t)t->size, (off_t)t->length) == 0)
		return 0;
	/* Only others have appended to it. */
	if (t->is_foreign && t->present == 0)
		return 0;
	error_set(error, reason.status, "%s; %s may keep some of them",
	    reason.text, path_of(t));
	return 0;
}

/* Output number `gone` is gone: no other keeps what it has got. */
static enum redo
discard(struct target targets[JOURNAL_OUTPUTS], unsigned gone,
    const struct lock_wait *wait, struct error *error)
{
	struct error ignored;

	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++) {
		struct target *t = &targets[i];

		if (i == gone ||
		    t->journal->outputs[i].kind != JOURNAL_APPENDED)
			continue;
		if (t->fd < 0 && open_target(t, &ignored) < 0)
			continue;
		if (withdraw(t, wait, error) < 0)
			return REDO_UNFINISHED;
	}
	return REDO_DISCARDED;
}

static enum redo
apply(struct target targets[JOURNAL_OUTPUTS], int again,
    const struct lock_wait *wait, struct error *error)
{
	int is_taken_back = 1;

	/* Neither gets anything unless both can. */
	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++) {
		struct target *t = &targets[i];

		if (t->journal->outputs[i].kind != JOURNAL_APPENDED ||
		    open_target(t, error) == 0)
			continue;
		if (!again)
			return REDO_DISCARDED;
		/* Only of a file that is gone the system has no error. */
		if (error->errnum != 0)
			return REDO_UNFINISHED;
		return discard(targets, i, wait, error);
	}
	/* The duplicates first: the output is the last to change. */
	for (unsigned i = JOURNAL_OUTPUTS; i-- > 0;) {
		if (targets[i].fd < 0 ||
		    append_in_turn(&targets[i], again, wait, error) == 0)
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
redo_apply(struct journal *journal, int again, const struct lock_wait *wait,
    struct error *error)
{
	struct target targets[JOURNAL_OUTPUTS];
	enum redo result;

	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++)
		targets[i] = (struct target){ .journal = journal, .number = i,
			.fd = -1 };
	result = apply(targets, again, wait, error);
	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++) {
		if (targets[i].fd >= 0)
			close(targets[i].fd);
	}
	return result;
}
