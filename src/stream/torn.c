#define _GNU_SOURCE /* memrchr */
#include "stream/torn.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "bits/loops.h"

/* In this time a writer of half a line goes on: 20 ms, in nanoseconds. */
#define WRITER_PAUSE 20000000
/* Of a file that is searched for its last whole record, at a time. */
#define PIECE_BYTES (64 * 1024)
/* How much of a torn record a message shows. */
#define SHOWN_BYTES 80

static int
is_appended_to(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_APPEND);
}

int
torn_watch(struct output *out, struct notes *notes, unsigned number)
{
	struct stat st;

	if (out->fd < 0 || fstat(out->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	out->is_watched = 1;
	out->is_appended_to = is_appended_to(out->fd);
	out->notes = notes;
	out->number = number;
	out->note = (struct note){ .inode = st.st_ino };
	return 1;
}

void
torn_begin(struct output *out)
{
	off_t begin;

	if (!out->is_watched)
		return;
	begin = lseek(out->fd, 0, out->is_appended_to ? SEEK_END : SEEK_CUR);
	out->note.begin = begin < 0 ? 0 : (uint64_t)begin;
	out->note.nbytes = 0;
}

void
torn_cut(struct output *out, uint64_t whole, struct error *error)
{
	const struct note *note = &out->note;
	struct error reason = *error;

	if (!out->is_watched || note->nbytes <= whole)
		return;
	if (io_take_back(out->fd, note->begin, note->nbytes, whole) == 0) {
		out->note.nbytes = whole;
		return;
	}
	out->is_torn = 1;
	error_set(error, reason.status, "%s; its last line is torn",
	    reason.text);
	error->errnum = reason.errnum;
}

int
torn_write(struct output *out, const void *data, size_t nbytes,
    struct error *error)
{
	torn_begin(out);
	if (output_write(out, data, nbytes, error) == 0)
		return 0;
	torn_cut(out, 0, error);
	return -1;
}

/* --- what an earlier run has left */

/*
 * Where the last record of [begin, size) ends that is whole; `begin` if none
 * is, -1 if that can't be read. *state becomes that of the scan at the end.
 */
static off_t
find_end(int fd, const struct record_format *format, off_t begin, off_t size,
    struct csv_state *state)
{
	uint8_t *data = memory_or_die(malloc(PIECE_BYTES + LOOPS_PADDING));
	off_t at = begin, end = begin;

	*state = (struct csv_state){ 0 };
	while (at < size) {
		size_t left = (size_t)(size - at), last;
		ssize_t n = io_pread(fd, data, left < PIECE_BYTES ? left :
		    PIECE_BYTES, (uint64_t)at);

		if (n <= 0)
			break;
		last = record_scan(format, state, data, (size_t)n);
		if (last > 0)
			end = at + (off_t)last;
		at += n;
	}
	free(data);
	return at < size ? -1 : end;
}

/* How many of the file's bytes, up to `size`, are those that were noted? */
static uint64_t
count_noted(int fd, const struct note *note, uint64_t size)
{
	uint8_t *there = memory_or_die(malloc(note->text_bytes));
	ssize_t n = io_pread(fd, there, note->text_bytes, note->begin);
	uint64_t same = 0;

	while (n > 0 && same < (uint64_t)n && same < size - note->begin &&
	    there[same] == note->text[same])
		same++;
	free(there);
	return same;
}

/*
 * The note about this file, open for reading as `fd`, in which it ends; NULL if
 * there is none, or if the file doesn't begin there as was noted. Its device
 * isn't compared, whose number may be another one after the system has started
 * anew. *same becomes how many bytes, from where the write began on, are those
 * that were noted.
 */
static const struct note *
find_note(int fd, const struct note notes[NOTES_COUNT], const struct stat *st,
    uint64_t *same)
{
	const uint64_t size = (uint64_t)st->st_size;

	for (unsigned i = 0; i < NOTES_COUNT; i++) {
		const struct note *note = &notes[i];

		if (note->inode != st->st_ino || note->begin >= size ||
		    size - note->begin >= note->nbytes)
			continue;
		*same = count_noted(fd, note, size);
		if (*same == size - note->begin || *same >= NOTES_FEW_BYTES)
			return note;
	}
	return NULL;
}

/* How a file that is appended to ends. */
enum ending {
	ENDING_WHOLE,
	ENDING_TORN,
	ENDING_QUOTED /* torn, inside a quoted field of CSV */
};

/*
 * May all be cut off that is behind the last whole record, or have others
 * appended to a torn one? Behind the bytes that were noted nobody knows; but
 * whole records of others would only be there if the torn one ends in quotes.
 */
static int
is_ours(const struct note *note, uint64_t same, off_t size, int in_quotes)
{
	if (note->begin + same == (uint64_t)size)
		return 1;
	return same == note->text_bytes && !in_quotes;
}

/*
 * `reader` is the file, open for reading. What can't be read counts as whole.
 * *begin becomes where the torn record begins, if that is known and it may be
 * cut off, else -1.
 */
static enum ending
look_at_end(int reader, const struct record_format *format,
    const struct note notes[NOTES_COUNT], const struct stat *st, off_t *begin)
{
	const off_t size = st->st_size;
	struct csv_state state = { 0 };
	const struct note *note;
	off_t end = -1;
	uint64_t same;
	uint8_t last;
	int in_quotes;

	*begin = -1;
	if (io_pread(reader, &last, 1, (uint64_t)size - 1) != 1)
		return ENDING_WHOLE;
	note = find_note(reader, notes, st, &same);
	if (note != NULL)
		end = find_end(reader, format, (off_t)note->begin, size,
		    &state);
	if (note == NULL || end < 0)
		return last == format->csv.terminator ? ENDING_WHOLE :
		    ENDING_TORN;
	if (end == size)
		return ENDING_WHOLE;
	in_quotes = state.in == CSV_QUOTED;
	if (is_ours(note, same, size, in_quotes))
		*begin = end;
	return in_quotes ? ENDING_QUOTED : ENDING_TORN;
}

/* Say what the last, torn line is. */
static void
tell_torn(const struct output *out, int reader, off_t size, uint8_t terminator,
    void (*notice)(const char *text))
{
	char text[SHOWN_BYTES];
	off_t from = size < SHOWN_BYTES ? 0 : size - SHOWN_BYTES;
	ssize_t n = io_pread(reader, text, (size_t)(size - from),
	    (uint64_t)from);
	const char *start = text, *last;

	if (n < 0)
		n = 0;
	last = n == 0 ? NULL : memrchr(text, terminator, (size_t)n);
	if (last != NULL)
		start = last + 1;
	error_notify(notice, "%s: its last line is torn ('%s%.*s'); the new"
	    " lines begin on a line of their own", out->name,
	    last == NULL && from > 0 ? "..." : "", (int)(text + n - start),
	    start);
}

/* End the torn record of a file that can't be cut, unless others go on. */
static int
end_torn(struct output *out, int reader, const struct record_format *format,
    enum ending ending, off_t size, void (*notice)(const char *text),
    struct error *error)
{
	const char text[] = { '"', (char)format->csv.terminator };
	struct stat st;

	/* A line that others are writing goes on; a torn line stays. */
	nanosleep(&(struct timespec){ .tv_nsec = WRITER_PAUSE }, NULL);
	if (fstat(out->fd, &st) < 0 || st.st_size != size)
		return 0;
	tell_torn(out, reader, size, format->csv.terminator, notice);
	if (ending == ENDING_QUOTED)
		return output_write(out, text, sizeof text, error);
	return output_write(out, text + 1, 1, error);
}

int
torn_mend(struct output *out, const struct record_format *format,
    const struct note notes[NOTES_COUNT], void (*notice)(const char *text),
    struct error *error)
{
	enum ending ending;
	struct stat st;
	off_t begin;
	int reader, result = 0;

	if (out->fd < 0 || !is_appended_to(out->fd) ||
	    fstat(out->fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return 0;
	reader = io_reopen(out->fd, O_RDONLY);
	if (reader < 0)
		return 0;
	ending = look_at_end(reader, format, notes, &st, &begin);
	/* Our own second descriptor would stand in the way of a lease. */
	if (ending != ENDING_WHOLE && begin >= 0) {
		close(reader);
		if (io_cut(out->fd, st.st_size, begin) == 0) {
			error_notify(notice, "%s: cut back to its last whole"
			    " %s: an earlier run was killed while it wrote to"
			    " it", out->name, format->is_csv ? "record" :
			    "line");
			return 0;
		}
		reader = io_reopen(out->fd, O_RDONLY);
	}
	if (ending != ENDING_WHOLE)
		result = end_torn(out, reader, format, ending, st.st_size,
		    notice, error);
	if (reader >= 0)
		close(reader);
	return result;
}
