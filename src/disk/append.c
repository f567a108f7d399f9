#include "disk/append.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/os.h"
#include "base/path.h"
#include "bits/loops.h"
#include "disk/output_lock.h"

/*
 * In this time, the writer of half a record goes on: 20 ms, in nanoseconds. It
 * is looked at every millisecond, since one that is just writing is soon done.
 */
#define WRITER_PAUSE 20000000
#define WRITER_LOOK 1000000
/*
 * A program that writes through stdio ends within a record nearly always, so
 * the pauses for it, and the messages about it, are limited: so many pauses,
 * and one message, a minute.
 */
#define PAUSES_MAX 20
#define MINUTE (60 * CLOCK_SECOND)

/* How often a piece is written at most, if others always write in between. */
#define WRITES_MAX 20

/* Bytes of a file that are read at a time. */
#define READ_BYTES (64 * 1024)
/* How much of a torn record a message shows. */
#define SHOWN_BYTES 80
/*
 * A file of CSV that nothing is known about is scanned from its beginning, or,
 * if it is larger, this part of its end is scanned under two hypotheses.
 */
#define SCAN_BYTES (UINT64_C(64) * 1024 * 1024)
#define GUESS_BYTES (UINT64_C(16) * 1024 * 1024)
/* If this many bytes are as noted, it is no coincidence. */
#define NOTED_BYTES_MIN 64
/* This is more than others write between two system calls of ours. */
#define SEARCH_BYTES (UINT64_C(64) * 1024 * 1024)

/* A piece of whole records, and where it goes. */
struct piece {
	const uint8_t *data;
	size_t nbytes;
	uint8_t ending[NOTES_ENDING_MAX]; /* written in front of it, to end a
			      * torn record */
	size_t ending_bytes;
	uint64_t begin;      /* offset at which it is written if nobody else
			      * writes */
};

/* --- records */

/* Like record_step, for lines, too: a line feed ends one. */
static void
step(const struct record_format *format, struct csv_state *state, uint8_t byte)
{
	if (format->is_csv)
		record_step(&format->csv, state, byte);
	else
		state->in = byte == format->csv.terminator ? CSV_RECORD_START :
		    CSV_PLAIN;
}

size_t
append_whole(const struct record_format *format, const uint8_t *data,
    size_t nbytes)
{
	struct csv_state state = { 0 };
	size_t whole = 0;

	for (size_t i = 0; i < nbytes; i++) {
		step(format, &state, data[i]);
		if (state.in == CSV_RECORD_START)
			whole = i + 1;
	}
	return whole;
}

/* --- reading the file */

static int
is_whole(const struct append *a)
{
	return a->scanned != APPEND_UNKNOWN && a->state.in == CSV_RECORD_START;
}

/* The last byte of a file of lines says whether its last line is whole. */
static int
look_at_last(struct append *a, int reader, uint64_t size)
{
	uint8_t last;

	if (size == 0)
		return 0;
	if (io_pread(reader, &last, 1, size - 1) != 1)
		return -1;
	a->state = (struct csv_state){
		.in = last == a->format.csv.terminator ? CSV_RECORD_START :
		CSV_PLAIN };
	return 0;
}

/* Scan CSV from a->scanned on. */
static int
scan_csv(struct append *a, int reader, uint64_t size)
{
	uint8_t *data = memory_or_die(malloc(READ_BYTES + LOOPS_PADDING));

	while (a->scanned < size) {
		uint64_t left = size - a->scanned;
		ssize_t n = io_pread(reader, data, left < READ_BYTES ?
		    (size_t)left : READ_BYTES, a->scanned);

		if (n <= 0)
			break;
		record_scan(&a->format, &a->state, data, (size_t)n);
		a->scanned += (uint64_t)n;
	}
	free(data);
	return a->scanned < size ? -1 : 0;
}

/* One hypothesis about the end of a file: what a scan says that is based on it.
 */
struct hypothesis {
	struct csv_state state;
	int is_placed;  /* has it passed the beginning of a field? */
	int is_refuted; /* a quote was in a field without quotes, or text
			 * behind the quote that closes one */
};

static void
test_hypothesis(const struct csv_format *format, struct hypothesis *h,
    uint8_t byte)
{
	const int before = (int)h->state.in;

	if (byte == '"' && before == CSV_PLAIN && h->is_placed)
		h->is_refuted = 1;
	record_step(format, &h->state, byte);
	if (before == CSV_QUOTE_IN_QUOTED && h->state.in == CSV_PLAIN &&
	    byte != '\r')
		h->is_refuted = 1;
	if (h->state.in != CSV_PLAIN)
		h->is_placed = 1;
}

/*
 * Does a large file of CSV end within quotes? If neither hypothesis about its
 * end is refuted, it doesn't; if both are, its last byte decides, as for lines.
 */
static int
guess(struct append *a, int reader, uint64_t size)
{
	struct hypothesis plain = { .state = { .in = CSV_PLAIN } };
	struct hypothesis quoted = { .state = { .in = CSV_QUOTED } };
	uint8_t *data = memory_or_die(malloc(READ_BYTES));
	uint64_t at = size - GUESS_BYTES;
	ssize_t n = 0;

	while (at < size && (n = io_pread(reader, data, READ_BYTES, at)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			test_hypothesis(&a->format.csv, &plain, data[i]);
			test_hypothesis(&a->format.csv, &quoted, data[i]);
		}
		at += (uint64_t)n;
	}
	free(data);
	if (at < size)
		return -1;
	a->scanned = size;
	a->state = plain.is_refuted ? quoted.state : plain.state;
	if (!plain.is_refuted || !quoted.is_refuted)
		return 0;
	error_notify(a->notice, "%s: it has quotes within fields without"
	    " quotes, so nothing but its last byte says whether its last record"
	    " is complete", a->name);
	return look_at_last(a, reader, size);
}

/* Scan the file up to `size`. Returns -1 with errno set if it can't be read. */
static int
scan_to(struct append *a, int reader, uint64_t size)
{
	/*
	 * A file that became shorter was truncated, and must be scanned anew.
	 */
	if (a->scanned != APPEND_UNKNOWN && a->scanned > size)
		a->scanned = APPEND_UNKNOWN;
	if (a->scanned == APPEND_UNKNOWN)
		a->state = (struct csv_state){ 0 };
	if (a->format.is_csv && a->scanned == APPEND_UNKNOWN &&
	    size > SCAN_BYTES)
		return guess(a, reader, size);
	if (a->format.is_csv) {
		if (a->scanned == APPEND_UNKNOWN)
			a->scanned = 0;
		return scan_csv(a, reader, size);
	}
	if (look_at_last(a, reader, size) < 0)
		return -1;
	a->scanned = size;
	return 0;
}

/* --- looking at the end */

/*
 * Others write to the file, too. If they may do so on other hosts, say once
 * what nobody can prevent there.
 */
static void
tell_network(struct append *a)
{
	if (a->is_shared)
		return;
	a->is_shared = 1;
	if (os_file_system(a->fd) != OS_LOCAL)
		error_notify(a->notice, "%s: other programs add lines to it,"
		    " too, and it may be on a network file system: lines that"
		    " are added on several hosts at once can be lost", a->name);
}

/*
 * Wait for the program that may still be writing its record. Returns 1 if the
 * file changes meanwhile.
 */
static int
wait_for_writer(struct append *a, uint64_t size)
{
	const uint64_t start = clock_now();

	if (start - a->minute >= MINUTE) {
		a->minute = start;
		a->pauses = 0;
	}
	if (a->pauses == PAUSES_MAX)
		return 0;
	a->pauses++;
	while (clock_now() - start < WRITER_PAUSE) {
		nanosleep(&(struct timespec){ .tv_nsec = WRITER_LOOK }, NULL);
		if (lseek(a->fd, 0, SEEK_END) != (off_t)size)
			return 1;
	}
	return 0;
}

/* Say, at most once a minute, what the last, torn record is. */
static void
tell_torn(struct append *a, int reader, uint64_t size)
{
	const uint64_t now = clock_now();
	const uint64_t from = size < SHOWN_BYTES ? 0 : size - SHOWN_BYTES;
	char text[SHOWN_BYTES], before[80] = "";
	char shown[sizeof "\\x00" * SHOWN_BYTES]; /* NULs are longer there */
	const char *start = text;
	ssize_t n;

	a->endings++;
	if (a->told != 0 && now - a->told < MINUTE)
		return;
	n = io_pread(reader, text, (size_t)(size - from), from);
	/* If its last byte is a terminator, that is inside the torn record. */
	for (ssize_t i = 0; i < n - 1; i++) {
		if (text[i] == (char)a->format.csv.terminator)
			start = text + i + 1;
	}
	if (a->endings > 1)
		snprintf(before, sizeof before, " (%u times since the last"
		    " such message)", a->endings);
	error_bytes(shown, sizeof shown, start, n > 0 ?
	    (size_t)(text + n - start) : 0);
	error_notify(a->notice, "%s: its last line is torn ('%s%s')%s; the"
	    " new lines begin on a line of their own", a->name,
	    start == text && from > 0 ? "..." : "", shown, before);
	a->told = now;
	a->endings = 0;
}

/*
 * The file can't be read: nobody can tell how it ends. Of lines that is said
 * once.
 */
static int
go_on_blindly(struct append *a, uint64_t size, int errnum,
    struct error *error)
{
	if (size > 0 && a->format.is_csv)
		return error_set(error, STATUS_FAILED, "%s: its end cannot be"
		    " read, to see whether it ends within a record: %s",
		    a->name, strerror(errnum));
	if (size > 0 && !a->is_blind)
		error_notify(a->notice, "%s: its end cannot be read, so that if"
		    " its last line is torn, the first new line continues it:"
		    " %s", a->name, strerror(errnum));
	a->is_blind = 1;
	a->scanned = size;
	a->state = (struct csv_state){ 0 };
	return 0;
}

/*
 * Others have written to the file, or it is looked at for the first time: how
 * does it end? *size becomes where.
 */
static int
look_at_end(struct append *a, uint64_t *size, struct error *error)
{
	int reader = io_begin_reading(a->fd), result = 0;

	if (reader < 0)
		return go_on_blindly(a, *size, errno, error);
	do {
		off_t end = lseek(a->fd, 0, SEEK_END);

		if (end >= 0)
			*size = (uint64_t)end;
		if (end < 0 || scan_to(a, reader, *size) < 0)
			result = error_system(error, errno, a->name);
	} while (result == 0 && !is_whole(a) && wait_for_writer(a, *size));
	if (result == 0 && !is_whole(a))
		tell_torn(a, reader, *size);
	io_end_reading(a->fd, reader);
	return result;
}

/* Where does the piece begin, and what must be written in front of it? */
static int
place_piece(struct append *a, struct piece *piece, struct error *error)
{
	off_t size = lseek(a->fd, 0, SEEK_END);

	if (size < 0)
		return error_system(error, errno, a->name);
	piece->begin = (uint64_t)size;
	piece->ending_bytes = 0;
	if (size == 0) {
		a->scanned = 0;
		a->state = (struct csv_state){ 0 };
	}
	if (piece->begin == a->scanned && is_whole(a))
		return 0;
	if (a->scanned != APPEND_UNKNOWN && a->scanned < piece->begin)
		tell_network(a);
	if (look_at_end(a, &piece->begin, error) < 0)
		return -1;
	if (is_whole(a))
		return 0;
	/* The closing quote would belong to a backslash before it. */
	if (a->state.in == CSV_ESCAPED)
		piece->ending[piece->ending_bytes++] = '\\';
	if (record_in_quotes(&a->state))
		piece->ending[piece->ending_bytes++] = '"';
	piece->ending[piece->ending_bytes++] = a->format.csv.terminator;
	return 0;
}

/* --- writing */

/*
 * Write `nbytes`; *done becomes how many of them were written. A regular file
 * takes them at once, or doesn't have room, so no signal is waited for.
 */
static int
write_bytes(int fd, const uint8_t *data, size_t nbytes, size_t *done)
{
	*done = 0;
	while (*done < nbytes) {
		ssize_t n = write(fd, data + *done, nbytes - *done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		*done += (size_t)n;
	}
	return 0;
}

/* Write the ending and the piece, in one system call if all goes well. */
static int
write_piece(struct append *a, const struct piece *piece, size_t *done)
{
	const size_t nbytes = piece->ending_bytes + piece->nbytes;
	uint8_t *both;
	int result, errnum;

	if (a->notes != NULL)
		notes_put(a->notes, a->number, piece->begin, piece->ending,
		    piece->ending_bytes, piece->data, piece->nbytes);
	if (piece->ending_bytes == 0)
		return write_bytes(a->fd, piece->data, nbytes, done);
	both = memory_or_die(malloc(nbytes));
	memcpy(both, piece->ending, piece->ending_bytes);
	memcpy(both + piece->ending_bytes, piece->data, piece->nbytes);
	result = write_bytes(a->fd, both, nbytes, done);
	errnum = errno;
	free(both);
	errno = errnum;
	return result;
}

/*
 * In [from, to) of the file, whose scan was at `from` before: find the first
 * `nbytes` of the piece where a record begins. Returns its offset, or
 * APPEND_UNKNOWN.
 */
static uint64_t
find_piece(const struct append *a, const struct piece *piece, size_t nbytes,
    uint64_t from, uint64_t to)
{
	const size_t total = to - from < SEARCH_BYTES ? (size_t)(to - from) :
	    (size_t)SEARCH_BYTES;
	struct csv_state state = a->state;
	uint64_t found = APPEND_UNKNOWN;
	uint8_t *data;
	int reader;
	ssize_t n;

	if (nbytes > total)
		return APPEND_UNKNOWN;
	reader = io_begin_reading(a->fd);
	data = memory_or_die(malloc(total));
	n = reader < 0 ? -1 : io_pread(reader, data, total, from);
	io_end_reading(a->fd, reader);
	for (ssize_t i = 0; i + (ssize_t)nbytes <= n; i++) {
		if (state.in == CSV_RECORD_START &&
		    memcmp(data + i, piece->data, nbytes) == 0) {
			found = from + (uint64_t)i;
			break;
		}
		step(&a->format, &state, data[i]);
	}
	free(data);
	return found;
}

/*
 * The piece was written completely. Does it begin a record? Others may have
 * written since the look, or moved our position, if they share it with us.
 */
static int
verify(struct append *a, const struct piece *piece)
{
	const off_t position = lseek(a->fd, 0, SEEK_CUR);
	uint64_t begin = piece->begin + piece->ending_bytes;

	if (position != (off_t)(begin + piece->nbytes) && !a->is_blind)
		begin = position < 0 ? APPEND_UNKNOWN : find_piece(a, piece,
		    piece->nbytes, piece->begin, (uint64_t)position);
	if (begin == APPEND_UNKNOWN)
		return 0;
	a->scanned = begin + piece->nbytes;
	a->state = (struct csv_state){ 0 };
	return 1;
}

/*
 * A write failed after so many bytes: keep the whole records, and cut off the
 * rest. Returns how many bytes of the piece are whole records in the file.
 */
static uint64_t
keep_whole(struct append *a, const struct piece *piece, size_t done,
    struct error *error)
{
	const struct error reason = *error;
	const off_t position = lseek(a->fd, 0, SEEK_CUR);
	size_t of_piece = 0, whole, kept;

	if (done == 0)
		return 0;
	if (done > piece->ending_bytes)
		of_piece = done - piece->ending_bytes;
	whole = append_whole(&a->format, piece->data, of_piece);
	/* If no record is whole, the file becomes as it was. */
	kept = whole > 0 ? piece->ending_bytes + whole : 0;
	/* Others may have written in between: then nothing may be cut. */
	if (position != (off_t)(piece->begin + done)) {
		if (whole > 0 && (position < 0 || find_piece(a, piece, whole,
		    piece->begin, (uint64_t)position) == APPEND_UNKNOWN))
			whole = 0;
	} else if (kept == done || io_take_back(a->fd, piece->begin, done,
	    kept) == 0) {
		return whole;
	}
	a->is_torn = 1;
	error_set(error, reason.status, "%s; its last line is torn",
	    reason.text);
	error->errnum = reason.errnum;
	return whole;
}

static int
set_crowded(const struct append *a, struct error *error)
{
	return error_set(error, STATUS_FAILED, "%s: another program wrote parts"
	    " of lines between ours, %d times in a row", a->name, WRITES_MAX);
}

int
append_records(struct append *a, const void *data, size_t nbytes,
    uint64_t *written, struct error *error)
{
	struct piece piece = { .data = data, .nbytes = nbytes };
	size_t done;

	*written = 0;
	for (int i = 0; nbytes > 0 && i < WRITES_MAX; i++) {
		if (place_piece(a, &piece, error) < 0)
			return -1;
		if (write_piece(a, &piece, &done) < 0) {
			error_system(error, errno, a->name);
			*written = keep_whole(a, &piece, done, error);
			return -1;
		}
		if (verify(a, &piece)) {
			*written = nbytes;
			return 0;
		}
	}
	if (nbytes == 0)
		return 0;
	return set_crowded(a, error);
}

int
append_end_torn(struct append *a, struct error *error)
{
	struct piece piece = { 0 };
	size_t done;

	/* Others may write before the ending, which then ends nothing. */
	for (int i = 0; i < WRITES_MAX; i++) {
		if (place_piece(a, &piece, error) < 0)
			return -1;
		if (piece.ending_bytes == 0)
			return 0;
		if (write_bytes(a->fd, piece.ending, piece.ending_bytes,
		    &done) < 0)
			return error_system(error, errno, a->name);
		a->scanned = APPEND_UNKNOWN;
	}
	return set_crowded(a, error);
}

/* --- headers */

/* Are the file's first bytes, all that it has, the beginning of the header? */
static int
has_part_of(const struct append *a, const uint8_t *header, size_t nbytes,
    uint64_t size)
{
	uint8_t *there;
	int reader, result;

	if (size == 0)
		return 1;
	if (size >= nbytes)
		return 0;
	reader = io_begin_reading(a->fd);
	there = memory_or_die(malloc((size_t)size));
	result = reader >= 0 && io_pread(reader, there, (size_t)size, 0) ==
	    (ssize_t)size && memcmp(there, header, (size_t)size) == 0;
	io_end_reading(a->fd, reader);
	free(there);
	return result;
}

/*
 * The turn is taken on an open file of our own: if we are killed, a lock on the
 * one that we were given would stay with those that share it. Returns its
 * descriptor, or a->fd where it cannot be opened; or -1 with `error` filled.
 */
static int
begin_turn(struct append *a, const struct lock_wait *wait, struct error *error)
{
	int turn = os_reopen(a->fd, O_WRONLY | O_NONBLOCK);

	if (turn < 0)
		turn = a->fd;
	if (output_lock_alone(turn, OUTPUT_TURN, a->name, wait, error) >= 0)
		return turn;
	if (turn != a->fd)
		close(turn);
	return -1;
}

static void
end_turn(const struct append *a, int turn)
{
	output_unlock(turn, OUTPUT_TURN);
	if (turn != a->fd)
		close(turn);
}

/*
 * Write the rest of a header, of which the file has so many bytes. A torn one
 * is completed and not cut off, since others may have written it.
 */
static int
complete_header(struct append *a, const struct piece *rest, size_t there,
    const char *header, size_t *done)
{
	if (there > 0)
		error_notify(a->notice, "%s: its header was torn ('%.*s') and"
		    " is completed", a->name, (int)(there < SHOWN_BYTES ? there
		    : SHOWN_BYTES), header);
	/* Whoever writes in between is seen at the next look. */
	a->scanned = APPEND_UNKNOWN;
	return write_piece(a, rest, done);
}

int
append_header(struct append *a, const void *data, size_t nbytes,
    const struct lock_wait *wait, struct error *error)
{
	const int turn = begin_turn(a, wait, error);
	const uint8_t *header = data;
	struct piece rest = { 0 };
	int result = 1, errnum;
	size_t done = 0;
	off_t size;

	if (turn < 0)
		return -1;
	size = lseek(a->fd, 0, SEEK_END);
	if (size < 0) {
		result = -1;
	} else if (has_part_of(a, data, nbytes, (uint64_t)size)) {
		rest = (struct piece){ .data = header + size,
			.nbytes = nbytes - (size_t)size,
			.begin = (uint64_t)size };
		result = complete_header(a, &rest, (size_t)size, data, &done);
	}
	errnum = errno;
	/* Before anything is cut off, which a second descriptor forbids. */
	end_turn(a, turn);
	if (result < 0) {
		error_system(error, errnum, a->name);
		keep_whole(a, &rest, done, error);
	}
	return result;
}

/* --- beginning */

/*
 * A run that was killed while it cut a file leaves its lease to who shares its
 * open file: nobody else could open the file now, not even to read it.
 */
static void
drop_left_lease(int fd)
{
	os_let_in(fd);
}

int
append_begin(struct append *a, int fd, const char *name,
    const struct record_format *format, void (*notice)(const char *text))
{
	const int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
	off_t before, after;
	struct stat st;

	*a = (struct append){ .fd = -1, .name = name, .format = *format,
		.notice = notice, .scanned = APPEND_UNKNOWN };
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return 0;
	/* Others that share the position may be writing just now. */
	before = lseek(fd, 0, SEEK_CUR);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	/*
	 * The file was cut since, such as by a run that was killed before it
	 * had moved a position that it shared: a write would leave a hole.
	 */
	if (!(flags & O_APPEND) && before > st.st_size)
		before = lseek(fd, 0, SEEK_END);
	after = lseek(fd, 0, SEEK_CUR);
	if (!(flags & O_APPEND) &&
	    (st.st_size < before || st.st_size > after))
		return 0;
	a->fd = fd;
	drop_left_lease(fd);
	return 1;
}

void
append_expect(struct append *a, uint64_t inode, uint64_t offset)
{
	struct stat st;

	if (offset == APPEND_UNKNOWN || fstat(a->fd, &st) < 0 ||
	    st.st_ino != inode || (uint64_t)st.st_size < offset)
		return;
	append_expect_at(a, offset);
}

void
append_expect_at(struct append *a, uint64_t offset)
{
	a->scanned = offset;
	a->state = (struct csv_state){ 0 };
}

int
append_describe(const struct append *a, struct notes_file *file)
{
	struct stat st, named;
	char *path = path_of_opened(a->fd);

	/* Without /proc, the name that it was opened by is known, or none. */
	if (path == NULL)
		path = path_absolute(a->name);
	if (path == NULL || fstat(a->fd, &st) < 0 ||
	    lstat(path, &named) < 0 || !path_same_file(&st, &named)) {
		free(path);
		return -1;
	}
	*file = (struct notes_file){ .device = st.st_dev, .inode = st.st_ino,
		.format = a->format, .path = path };
	return 0;
}

/* --- what a killed run has left */

/* Which of our descriptors is this file? */
static int
find_opened(const struct stat *st, const int *opened, size_t count)
{
	struct stat other;

	for (size_t i = 0; i < count; i++) {
		if (opened[i] >= 0 && fstat(opened[i], &other) == 0 &&
		    path_same_file(st, &other))
			return opened[i];
	}
	return -1;
}

/*
 * How many of the file's bytes, from where the write began on, are those that
 * were noted? 0 if it can't be read.
 */
static size_t
count_noted(int reader, const struct note *note)
{
	uint8_t *there = memory_or_die(malloc(note->text_bytes + 1));
	ssize_t n = io_pread(reader, there, note->text_bytes, note->begin);
	size_t same = 0;

	while (n > 0 && same < (size_t)n && there[same] == note->text[same])
		same++;
	free(there);
	return same;
}

/*
 * The file `fd` ends `same` bytes behind the beginning of the write, and all of
 * these are ours. Cut off what is not a whole record. *whole becomes where a
 * record begins, and 0 is returned if the file can't be cut now.
 */
static int
cut_noted(int fd, const struct note *note, size_t same,
    void (*notice)(const char *text), uint64_t *whole)
{
	const uint64_t size = note->begin + same;
	uint64_t end = note->begin + note->ending;

	/* Complete, or only with the end of a torn record. */
	*whole = size;
	if (same == note->nbytes)
		return 1;
	*whole = APPEND_UNKNOWN;
	if (same <= note->ending)
		return 1;
	end += append_whole(&note->file.format, note->text + note->ending,
	    same - (size_t)note->ending);
	*whole = end;
	if (end == size)
		return 1;
	if (io_cut(fd, (off_t)size, (off_t)end) < 0)
		return 0;
	error_notify(notice, "%s: cut back to its last whole %s: an earlier run"
	    " was killed while it wrote to it", note->file.path,
	    note->file.format.is_csv ? "record" : "line");
	return 1;
}

/* Settle the note about the file that is open as `fd`. */
static int
settle(int fd, const struct note *note, void (*notice)(const char *text),
    uint64_t *whole)
{
	int reader = io_begin_reading(fd);
	struct stat st;
	size_t same;

	if (reader < 0)
		return 1;
	same = count_noted(reader, note);
	/* A second descriptor would be in the way of cutting. */
	io_end_reading(fd, reader);
	if (fstat(fd, &st) == 0 && note->begin + same == (uint64_t)st.st_size)
		return cut_noted(fd, note, same, notice, whole);
	if (same >= NOTED_BYTES_MIN && same > note->ending)
		*whole = note->begin + note->ending;
	return 1;
}

int
append_settle(const struct note *note, const int *opened, size_t count,
    void (*notice)(const char *text), uint64_t *whole)
{
	struct stat st;
	int ours, fd, result = 1;

	*whole = APPEND_UNKNOWN;
	/* By the inode: the device may have another number after a reboot. */
	if (lstat(note->file.path, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_ino != note->file.inode)
		return 1;
	ours = find_opened(&st, opened, count);
	fd = ours;
	if (fd >= 0)
		drop_left_lease(fd);
	else
		fd = open(note->file.path, O_RDWR | O_APPEND | O_CLOEXEC |
		    O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_ino == note->file.inode && os_file_system(fd) == OS_LOCAL)
		result = settle(fd, note, notice, whole);
	if (fd != ours)
		close(fd);
	return result;
}
