#include "disk/redo.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "disk/append.h"
#include "disk/output_lock.h"

/* So much of a file is compared with the text at a time. */
#define PIECE_BYTES 4096

/* An output that is appended to. */
struct target {
	struct journal *journal;
	unsigned number;
	int fd;             /* -1 if there is no such output */
	int is_readable;
	uint64_t length;    /* length of the file at the commit */
	uint64_t total;     /* bytes of text, if it was looked at */
	uint64_t size;      /* size of the file, if it was looked at */
	uint64_t compared;  /* bytes of text that were compared with it, */
	uint64_t present;   /* the first of which it has already; */
	int is_foreign;     /* others have written behind these */
	uint64_t passed;    /* bytes of text passed over so far */
	uint64_t appended;  /* bytes appended by this process */
	struct append append;
};

static const char *
path_of(const struct target *t)
{
	return t->journal->outputs[t->number].path;
}

int
redo_gone(const char *name, struct error *error)
{
	return error_set(error, STATUS_FAILED, "%s: it was removed, replaced or"
	    " shortened while new lines waited to be added to it; they are"
	    " discarded, and nothing is remembered", name);
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
	return redo_gone(path_of(t), error);
}

/*
 * Until the output gets its text, no run of the filter goes on, since it would
 * print the lines once more: say how to get on. A run that is only asked to
 * wait or to stop needs no help.
 */
static enum redo
stay_unfinished(const struct target *t, struct error *error)
{
	const struct journal *j = t->journal;
	const struct error reason = *error;

	if (reason.status != STATUS_FAILED)
		return REDO_UNFINISHED;
	error_set(error, reason.status, "%s; %s holds the new lines of an"
	    " earlier run (%" PRIu64 ") for %s: the next run adds them once"
	    " that works; to give them up, remove the journal, and they are not"
	    " remembered", reason.text, j->path, j->count, path_of(t));
	error->errnum = reason.errnum;
	return REDO_UNFINISHED;
}

/* --- what an earlier run has appended */

static int
count_appended(void *context, const uint8_t *text, size_t nbytes,
    struct error *error)
{
	struct target *t = context;

	(void)text;
	(void)error;
	t->total += nbytes;
	return 0;
}

/*
 * How much of the text has the file? Returns 1 where it ends, or where others
 * have written to it. A power failure leaves zeros in the place of bytes that
 * were not on the disk yet. It does so by sectors, but that is not compared: a
 * sector may also be as it was between two writes, text with zeros behind it,
 * and then looks as if others had written zeros behind a torn text.
 */
static int
compare(void *context, const uint8_t *text, size_t nbytes,
    struct error *error)
{
	struct target *t = context;
	const struct journal_output *o = &t->journal->outputs[t->number];
	const uint8_t end = o->format.csv.terminator;
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
			/* A zero may also be the end of somebody's record. */
			t->is_foreign = there[i] != text[i] &&
			    (there[i] != 0 || end == 0);
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
find_missing(struct target *t, struct error *error)
{
	struct stat st;

	if (journal_each_text(t->journal, t->number, count_appended, t,
	    error) < 0)
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

/*
 * Go on where the earlier run stopped; but if that isn't certain, such as when
 * others have appended behind a part of the text, all of it is appended again:
 * a line may be there twice, but none is lost.
 */
static int
find_start(struct target *t, const struct lock_wait *wait,
    struct error *error)
{
	const struct journal_output *o = &t->journal->outputs[t->number];
	const char end = (char)o->format.csv.terminator;

	if (find_missing(t, error) < 0)
		return -1;
	if (t->present == t->total || t->size == t->length + t->present)
		return 0;
	/* What a power failure has left in the place of text. */
	if (is_ours(t) && io_cut(t->fd, (off_t)t->size,
	    (off_t)(t->length + t->present)) == 0)
		return 0;
	t->present = 0;
	/* The file isn't empty any more, so it gets no header. */
	t->journal->outputs[t->number].length = t->size;
	/*
	 * A file that cannot be read may end within a line, so that is ended.
	 */
	if (!t->is_readable && t->size < t->length + t->total &&
	    write(t->fd, &end, 1) != 1)
		return error_system(error, errno, path_of(t));
	error_notify(wait->notice, "%s: it is longer than when the earlier run"
	    " added lines to it, so all of them are added again", path_of(t));
	return 0;
}

/* --- appending */

/*
 * The rest of a piece that a kill has torn continues it, as one write. If
 * others come in between, the whole piece is written again.
 */
static int
append_rest(struct target *t, const uint8_t *text, size_t nbytes, size_t there,
    struct error *error)
{
	const uint64_t end = t->length + t->passed + nbytes;
	size_t at = there;

	while (at < nbytes) {
		ssize_t n = write(t->fd, text + at, nbytes - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_system(error, errno, path_of(t));
		at += (size_t)n;
	}
	t->appended += nbytes - there;
	if (lseek(t->fd, 0, SEEK_CUR) == (off_t)end)
		return 1;
	return 0;
}

/* Append a piece, without what the file has of it already. */
static int
append_text(void *context, const uint8_t *text, size_t nbytes,
    struct error *error)
{
	struct target *t = context;
	const uint64_t left = t->present - t->passed;
	uint64_t written;
	int result = 0;

	if (left > 0 && left < nbytes)
		result = append_rest(t, text, nbytes, (size_t)left, error);
	else if (left >= nbytes)
		result = 1;
	if (left > 0)
		t->passed += left < nbytes ? left : nbytes;
	if (result != 0)
		return result < 0 ? -1 : 0;
	result = append_records(&t->append, text, nbytes, &written, error);
	t->appended += written;
	return result;
}

static int
append_all(struct target *t, struct error *error)
{
	if (journal_each_text(t->journal, t->number, append_text, t,
	    error) < 0)
		return -1;
	return fsync(t->fd) == 0 ? 0 :
	    error_system(error, errno, path_of(t));
}

static int
append_again(struct target *t, const struct lock_wait *wait,
    struct error *error)
{
	int result;

	if (output_lock_alone(t->fd, OUTPUT_TURN, path_of(t), wait,
	    error) < 0)
		return -1;
	result = find_start(t, wait, error);
	if (result == 0)
		result = append_all(t, error);
	output_unlock(t->fd, OUTPUT_TURN);
	return result;
}

/* --- taking back */

/* Take back what this run has appended, unless that isn't possible. */
static int
take_back(struct target *t)
{
	if (t->fd < 0 || t->appended == 0)
		return 0;
	return io_take_back(t->fd, t->length, t->appended, 0);
}

/*
 * Another output can't get its text: take back what an earlier run has
 * appended to this one. `error`, which says why, also says if it stays.
 */
static int
withdraw(struct target *t, const struct lock_wait *wait, struct error *error)
{
	const struct error reason = *error;
	int result;

	if (output_lock_alone(t->fd, OUTPUT_TURN, path_of(t), wait,
	    error) < 0)
		return -1;
	result = find_missing(t, error);
	output_unlock(t->fd, OUTPUT_TURN);
	if (result < 0)
		return -1;
	*error = reason;
	if (t->size == t->length)
		return 0;
	if (is_ours(t) &&
	    io_cut(t->fd, (off_t)t->size, (off_t)t->length) == 0)
		return 0;
	/* Only others have appended to it, so nothing of ours is left there. */
	if (t->is_foreign && t->present == 0)
		return 0;
	error_set(error, reason.status, "%s; %s may keep some of them",
	    reason.text, path_of(t));
	return 0;
}

/* Output number `gone` is gone: no other keeps what it has got. */
static enum redo
discard_appended(struct target targets[JOURNAL_OUTPUTS], unsigned gone,
    const struct lock_wait *wait, struct error *error)
{
	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++) {
		struct target *t = &targets[i];

		if (i == gone ||
		    t->journal->outputs[i].kind != JOURNAL_APPENDED)
			continue;
		/*
		 * Nothing can be taken back from a file that cannot be opened.
		 */
		if (t->fd < 0 && open_target(t, error_ignored()) < 0)
			continue;
		if (withdraw(t, wait, error) < 0)
			return REDO_UNFINISHED;
	}
	return REDO_DISCARDED;
}

static enum redo
apply_again(struct target targets[JOURNAL_OUTPUTS],
    const struct lock_wait *wait, struct error *error)
{
	/* None gets anything unless all can. */
	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++) {
		struct target *t = &targets[i];

		if (t->journal->outputs[i].kind != JOURNAL_APPENDED ||
		    open_target(t, error) == 0)
			continue;
		/* Only of a file that is gone the system has no error. */
		if (error->errnum != 0)
			return stay_unfinished(t, error);
		return discard_appended(targets, i, wait, error);
	}
	for (unsigned i = JOURNAL_OUTPUTS; i-- > 0;) {
		struct target *t = &targets[i];

		if (t->fd < 0)
			continue;
		append_begin(&t->append, t->fd, path_of(t),
		    &t->journal->outputs[i].format, wait->notice);
		append_expect_at(&t->append, t->length);
		if (append_again(t, wait, error) < 0)
			return stay_unfinished(t, error);
	}
	return REDO_DONE;
}

static struct target
make_target(struct journal *journal, unsigned number, int fd)
{
	return (struct target){ .journal = journal, .number = number, .fd = fd,
		.length = journal->outputs[number].length };
}

enum redo
redo_again(struct journal *journal, const struct lock_wait *wait,
    struct error *error)
{
	struct target targets[JOURNAL_OUTPUTS];
	enum redo result;

	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++)
		targets[i] = make_target(journal, i, -1);
	result = apply_again(targets, wait, error);
	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++) {
		if (targets[i].fd >= 0)
			close(targets[i].fd);
	}
	return result;
}

enum redo
redo_first(struct journal *journal, const int fds[JOURNAL_OUTPUTS],
    void (*notice)(const char *text), struct error *error)
{
	struct target targets[JOURNAL_OUTPUTS];
	int is_taken_back = 1;

	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++)
		targets[i] = make_target(journal, i, fds[i]);
	/* The output is the last to change. */
	for (unsigned i = JOURNAL_OUTPUTS; i-- > 0;) {
		struct target *t = &targets[i];

		if (journal->outputs[i].kind != JOURNAL_APPENDED)
			continue;
		append_begin(&t->append, t->fd, path_of(t),
		    &journal->outputs[i].format, notice);
		append_expect_at(&t->append, t->length);
		if (append_all(t, error) == 0)
			continue;
		for (unsigned j = i; j < JOURNAL_OUTPUTS; j++)
			is_taken_back &= take_back(&targets[j]) == 0;
		return is_taken_back ? REDO_DISCARDED : REDO_UNFINISHED;
	}
	return REDO_DONE;
}
