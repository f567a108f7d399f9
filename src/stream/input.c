/*
 * Input is appended to the unfinished line of the last read, and handed out up
 * to the last newline; the rest is kept for the next chunk. Only new bytes are
 * searched for a newline, and a long line is read to its end into one chunk, so
 * that a line of a gigabyte costs no more per byte than others.
 */
#include "stream/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/signals.h"
#include "disk/format.h"
#include "stream/decompress.h"

/*
 * What is read goes to multiples of this. If it were 1 to 31 bytes further in a
 * page than in the page cache, some processors would copy it at a fifth of the
 * speed (AMD Zen 3, `rep movsb`).
 */
#define COPY_ALIGNMENT 64
/*
 * More than wanted is read from a pipe, whose writer would be woken for each
 * page, of decompressed bytes, and of a long line.
 */
#define READ_BYTES_LEAST (128 * 1024)
/* A buffer that a long line made larger than this is shrunk again. */
#define KEEP_BYTES (4 * 1024 * 1024)

struct input {
	struct inputs plan;
	size_t next;        /* the path after the open one */
	int fd;             /* -1 if none is open */
	int waits;          /* it is not a regular file */
	const char *name;   /* of the open one, for messages */
	int failed;
	int ended;          /* `interrupted` asked for it */
	uint64_t position;  /* bytes read, or passed over, of all files */
	struct csv_state record; /* of the scan for its end */

	uint8_t *rest;      /* the beginning of a line, for the next chunk */
	size_t rest_bytes, rest_capacity;

	struct columns columns; /* of the open file, */
	int fresh;          /* nothing of which was handed out */
	int named;          /* whose header was read */
	int begun;          /* the open file's first bytes were looked at */
	struct decompressor *decompressor; /* of the open file, or NULL */
};

struct input *
input_new(const struct inputs *plan)
{
	struct input *in = memory_or_die(calloc(1, sizeof *in));

	in->plan = *plan;
	in->fd = -1;
	return in;
}

/* Keep what follows the last whole line for the next chunk. */
static void
keep_rest(struct input *in, const uint8_t *data, size_t nbytes)
{
	if (nbytes > in->rest_capacity) {
		free(in->rest);
		in->rest_capacity = nbytes + nbytes / 2;
		in->rest = memory_or_die(malloc(in->rest_capacity));
	}
	if (nbytes > 0)
		memcpy(in->rest, data, nbytes);
	in->rest_bytes = nbytes;
}

static void
close_file(struct input *in)
{
	decompress_end(in->decompressor);
	in->decompressor = NULL;
	if (in->fd > STDIN_FILENO)
		close(in->fd);
	in->fd = -1;
}

void
input_free(struct input *in)
{
	if (in == NULL)
		return;
	close_file(in);
	free(in->rest);
	free(in);
}

void
chunk_free(struct chunk *chunk)
{
	free(chunk->buffer);
	*chunk = (struct chunk){ 0 };
}

int
input_failed(const struct input *in)
{
	return in->failed;
}

static int
is_stopped(const struct input *in)
{
	return in->ended || signals_stop;
}

static void
tell(struct input *in, const char *what)
{
	struct error error;

	error_set(&error, STATUS_FAILED, "%s: %s", in->name, what);
	in->plan.report(in->plan.context, error.text);
}

static void
report(struct input *in, const char *reason)
{
	tell(in, reason);
	in->failed = 1;
}

/* Returns 0 if the file can't be opened, which is reported. */
static int
open_next(struct input *in)
{
	const char *path = in->plan.paths[in->next++];
	struct stat st;

	in->name = input_name(path);
	in->begun = 0;
	in->record = (struct csv_state){ 0 };
	in->named = 0;
	in->fresh = 1;
	if (strcmp(path, "-") == 0) {
		in->fd = STDIN_FILENO;
	} else {
		/* O_NONBLOCK: opening a FIFO must not wait for its writer */
		do {
			in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY |
			    O_NONBLOCK);
		} while (in->fd < 0 && errno == EINTR && !signals_stop);
	}
	if (in->fd < 0) {
		if (!signals_stop)
			report(in, strerror(errno));
		return 0;
	}
	in->waits = fstat(in->fd, &st) < 0 || !S_ISREG(st.st_mode);
	if (in->waits) {
		io_widen_pipe(in->fd);
	} else {
		posix_fadvise(in->fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* a hint */
		/* Some of standard input may have been read before. */
		in->position += (uint64_t)lseek(in->fd, 0, SEEK_CUR);
	}
	return 1;
}

/* Wait for input or its end; -1 if asked to stop. */
static int
wait_for_input(struct input *in)
{
	int tick = in->plan.tick > 0 ? in->plan.tick : -1;

	while (signals_wait(in->fd, POLLIN, tick) != 1) {
		if (signals_stop)
			return -1;
		if (in->plan.interrupted != NULL)
			in->ended = in->plan.interrupted(in->plan.context);
		else
			signals_take_figures();
		if (in->ended)
			return -1;
	}
	return 0;
}

/* read(2) that waits for input; -1 on an error, or if asked to stop. */
static ssize_t
read_some(void *context, uint8_t *data, size_t nbytes)
{
	struct input *in = context;

	while (!is_stopped(in)) {
		ssize_t n;

		if (in->waits && wait_for_input(in) < 0)
			break;
		n = read(in->fd, data, nbytes);
		if (n >= 0) {
			in->position += (uint64_t)n;
			return n;
		}
		if (errno == EAGAIN || errno == EWOULDBLOCK)
			in->waits = 1;
		else if (errno != EINTR)
			return -1;
	}
	return -1;
}

/*
 * Read the file's first bytes to `data` to see what it is; waits for more only
 * as long as they could begin a compressed file. Returns how many of them are
 * lines, or -1; then *wrong says what is wrong with them, unless errno does.
 */
static ssize_t
begin_file(struct input *in, uint8_t *data, size_t nbytes,
    const char **wrong)
{
	const struct format_head *head = NULL;
	size_t have = 0;
	int unsure = 0;
	ssize_t n;

	nbytes = nbytes < DECOMPRESS_BYTES ? nbytes : DECOMPRESS_BYTES;
	do {
		n = read_some(in, data + have, nbytes - have);
		if (n < 0)
			return -1;
		have += (size_t)n;
		if (in->plan.decompress)
			head = decompress_head(data, have, &unsure);
	} while (n > 0 && head == NULL && unsure);
	in->begun = 1;
	if (format_is_filter(data, have)) {
		*wrong = "a filter is not read as lines";
		return -1;
	}
	if (head == NULL)
		return (ssize_t)have;
	in->decompressor = decompress_begin(head, data, have, read_some, in,
	    wrong);
	return in->decompressor == NULL ? -1 : 0;
}

/*
 * Read what has arrived to `data`, up to `nbytes`. Returns the number of bytes,
 * 0 at the end of the file, -1 on an error (which is reported) or if asked to
 * stop.
 */
static ssize_t
fill(struct input *in, uint8_t *data, size_t nbytes)
{
	const char *wrong = NULL;
	ssize_t n = 0;

	if (!in->begun)
		n = begin_file(in, data, nbytes, &wrong);
	else if (in->decompressor == NULL)
		n = read_some(in, data, nbytes);
	if (n == 0 && in->decompressor != NULL)
		n = decompress_read(in->decompressor, data, nbytes, &wrong);
	if (wrong != NULL)
		report(in, wrong);
	else if (n < 0 && !is_stopped(in))
		report(in, strerror(errno));
	return n;
}

/* Make room for `nbytes` more after the first `have` bytes. */
static void
make_room(struct chunk *chunk, size_t have, size_t nbytes)
{
	size_t wanted = have + nbytes + 1 + INPUT_PADDING;

	if (wanted <= chunk->capacity && (chunk->capacity <= KEEP_BYTES ||
	    wanted > chunk->capacity / 4))
		return;
	/* More than wanted, for a long line; don't copy an empty buffer. */
	chunk->capacity = wanted + wanted / 2;
	if (have == 0) {
		free(chunk->buffer);
		chunk->buffer = NULL;
	}
	chunk->buffer = memory_or_die(realloc(chunk->buffer,
	    chunk->capacity));
}

/*
 * Where the last line in data[0, to) ends; the first `from` bytes were searched
 * before. 0 if no line ends there. If a line is too long, which is reported,
 * *failed is set, and the result is where it begins.
 */
static size_t
last_line_end(struct input *in, const uint8_t *data, size_t from, size_t to,
    int *failed)
{
	size_t end = from == to ? 0 : record_scan(&in->plan.format,
	    &in->record, data + from, to - from);
	struct error error;

	end = end > 0 ? from + end : 0;
	if (record_check_size(&in->plan.format, &in->record, data, &end, to,
	    &error) < 0) {
		report(in, error.text);
		*failed = 1;
	}
	return end;
}

/*
 * At the end of a file, or after an error, when the rest is not a line. Returns
 * how many bytes to hand out.
 */
static size_t
end_file(struct input *in, uint8_t *data, size_t have, int failed)
{
	uint8_t terminator = in->plan.format.csv.terminator;
	struct error error;

	close_file(in);
	if (failed || have == 0)
		return 0;
	/* it is a line in any case */
	if (record_check_end(&in->plan.format, &in->record, data, have,
	    &error) < 0)
		tell(in, error.text);
	/* A CSV record with an open quote may have a terminator already. */
	if (data[have - 1] != terminator)
		data[have++] = terminator;
	return have;
}

/*
 * Whole lines of a file that has a header: at its beginning, find the header
 * and its columns. Returns -1 if a column is missing, which is reported.
 */
static int
read_header(struct input *in, struct chunk *chunk, const uint8_t *data,
    size_t nbytes)
{
	const uint8_t *starts[2];
	struct error error;

	if (in->named)
		return 0;
	record_split(&in->plan.format, data, data + nbytes, starts, 1);
	chunk->header_bytes = (size_t)(starts[1] - starts[0]);
	if (columns_find(in->plan.header, data, chunk->header_bytes,
	    &in->columns, &error) < 0) {
		report(in, error.text);
		return -1;
	}
	in->named = 1;
	return 0;
}

/*
 * Read to the end of a line, or of the file. Returns 0 when there is nothing
 * more to hand out; else *nbytes are, or none when a pipe was opened.
 */
static int
read_lines(struct input *in, struct chunk *chunk, size_t wanted,
    size_t *nbytes)
{
	size_t have = in->rest_bytes, end = 0, before;
	uint8_t *data;

	make_room(chunk, 0, COPY_ALIGNMENT + have + wanted);
	before = -((uintptr_t)chunk->buffer + have) % COPY_ALIGNMENT;
	data = chunk->buffer + before;
	if (have > 0)
		memcpy(data, in->rest, have);
	in->rest_bytes = 0;
	while (end == 0) {
		int failed = 0;
		ssize_t n;

		if (in->fd < 0) {
			if (in->next == in->plan.count || is_stopped(in))
				return 0;
			if (open_next(in) && in->waits)
				break;
			continue;
		}
		if (wanted < READ_BYTES_LEAST && (in->waits || have >= wanted ||
		    in->decompressor != NULL))
			wanted = READ_BYTES_LEAST;
		make_room(chunk, before + have, wanted);
		data = chunk->buffer + before;
		n = fill(in, data + have, wanted);
		if (n < 0 && is_stopped(in))
			return 0;
		if (n >= 0) {
			end = last_line_end(in, data, have, have + (size_t)n,
			    &failed);
			have += (size_t)n;
		}
		if (failed) {
			close_file(in);
			have = end;
		} else if (n <= 0) {
			end = have = end_file(in, data, have, n < 0);
		}
		if (end > 0 && in->plan.header != NULL &&
		    read_header(in, chunk, data, end) < 0) {
			chunk->header_bytes = 0;
			close_file(in);
			end = have = 0;
		}
	}
	keep_rest(in, data + end, have - end);
	chunk->data = data;
	*nbytes = end;
	return 1;
}

int
input_next(struct input *in, struct chunk *chunk, size_t wanted)
{
	size_t end;

	chunk->header_bytes = 0;
	if (!read_lines(in, chunk, wanted, &end))
		return 0;
	chunk->nbytes = end;
	if (in->plan.header != NULL)
		chunk->columns = in->columns;
	chunk->file = in->name;
	chunk->begins = in->fresh;
	in->fresh = in->fresh && end == 0;
	chunk->position = in->position;
	return 1;
}

int
input_pauses(const struct input *in, int milliseconds)
{
	return in->fd >= 0 && in->waits &&
	    !(in->decompressor != NULL &&
	    decompress_has_more(in->decompressor)) &&
	    signals_wait(in->fd, POLLIN, milliseconds) != 1;
}

int
input_is_packed(const struct input *in)
{
	return in->decompressor != NULL;
}
