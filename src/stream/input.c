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
#include "base/os.h"
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
	const char *name;   /* the open file's name in messages */
	int failed;
	int ended;          /* `interrupted` asked for it */
	uint64_t position;  /* bytes read, or passed over, of all files */
	struct csv_state record; /* state of the scan for a record's end */

	uint8_t *rest;      /* the beginning of a line, for the next chunk */
	size_t rest_bytes, rest_capacity;

	uint8_t *header;    /* the open file's header */
	size_t header_length;
	struct columns columns; /* the open file's */
	int at_start;       /* nothing of the open file was handed out */
	int begun;          /* the open file's first bytes were looked at */
	struct decompressor *decompressor; /* the open file's; or NULL */
};

struct input *
input_new(const struct inputs *plan)
{
	struct input *in = memory_or_die(calloc(1, sizeof *in));

	in->plan = *plan;
	in->fd = -1;
	return in;
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
	free(in->header);
	free(in->rest);
	free(in);
}

void
chunk_free(struct chunk *chunk)
{
	free(chunk->buffer);
	free(chunk->header);
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
	in->plan.notice(in->plan.context, error.text);
}

static void
report_failure(struct input *in, const char *reason)
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
	in->at_start = 1;
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
			report_failure(in, strerror(errno));
		return 0;
	}
	in->waits = fstat(in->fd, &st) < 0 || !S_ISREG(st.st_mode);
	if (in->waits) {
		os_widen_pipe(in->fd);
	} else {
		os_will_read_on(in->fd);
		/* Some of standard input may have been read before. */
		in->position += (uint64_t)lseek(in->fd, 0, SEEK_CUR);
	}
	return 1;
}

/* read(2) that waits for input; -1 on an error, or if asked to stop. */
static ssize_t
read_some(void *context, uint8_t *data, size_t nbytes)
{
	struct input *in = context;
	int tick = in->plan.tick > 0 ? in->plan.tick : -1;

	while (!is_stopped(in)) {
		ssize_t n;

		if (in->waits && signals_wait(in->fd, POLLIN, tick) != 1) {
			if (signals_stop)
				return -1;
			if (in->plan.interrupted == NULL)
				signals_take_figures();
			else
				in->ended = in->plan.interrupted(
				    in->plan.context);
			continue;
		}
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
 * Does a file that begins with these bytes have 16 bits for each character:
 * behind a byte order mark, or with a NUL in each one of the first line?
 */
static int
is_utf16(const struct input *in, const uint8_t *data, size_t nbytes)
{
	size_t i = 0, nuls[2] = { 0, 0 }; /* even and odd places */

	if (nbytes >= 2 && (memcmp(data, "\xff\xfe", 2) == 0 ||
	    memcmp(data, "\xfe\xff", 2) == 0))
		return 1;
	if (in->plan.format.csv.terminator == '\0')
		return 0;
	for (; i < nbytes && data[i] != '\n'; i++)
		nuls[i % 2] += data[i] == '\0';
	if (i < 4)
		return 0;
	return (nuls[0] == 0 && nuls[1] == i / 2) ||
	    (nuls[1] == 0 && nuls[0] == (i + 1) / 2);
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
		*wrong = "a filter, which cannot be read as lines";
		return -1;
	}
	if (is_utf16(in, data, have))
		tell(in, "it looks like UTF-16, which is not read as text: use"
		    " iconv -f UTF-16 -t UTF-8");
	if (head == NULL)
		return (ssize_t)have;
	in->decompressor = decompress_begin(head, data, have, read_some, in,
	    wrong);
	return in->decompressor == NULL ? -1 : 0;
}

/* Make room for `nbytes` more after the first `have` bytes. */
static void
grow_chunk(struct chunk *chunk, size_t have, size_t nbytes)
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

void
chunk_reserve(struct chunk *chunk, size_t nbytes)
{
	grow_chunk(chunk, 0, COPY_ALIGNMENT + nbytes);
}

/* What came of an attempt to read. */
enum got {
	GOT_BYTES,
	GOT_END,   /* the file has ended */
	GOT_ERROR, /* reading failed, which was reported */
	GOT_STOP   /* a signal, or `interrupted`, asks to end */
};

/* Read what has arrived, up to `room` bytes, decompressed if need be. */
static enum got
read_bytes(struct input *in, uint8_t *data, size_t room, size_t *nbytes)
{
	const char *wrong = NULL;
	ssize_t n = 0;

	if (!in->begun)
		n = begin_file(in, data, room, &wrong);
	else if (in->decompressor == NULL)
		n = read_some(in, data, room);
	if (n == 0 && in->decompressor != NULL)
		n = decompress_read(in->decompressor, data, room, &wrong);
	*nbytes = n > 0 ? (size_t)n : 0;
	if (wrong != NULL)
		report_failure(in, wrong);
	if (n > 0)
		return GOT_BYTES;
	if (n == 0)
		return GOT_END;
	if (is_stopped(in))
		return GOT_STOP;
	if (wrong == NULL)
		report_failure(in, strerror(errno));
	return GOT_ERROR;
}

/*
 * The beginning of a line, of *have bytes, has got `more` behind it. *end
 * becomes where the last line now ends, 0 if none does. A record that is too
 * large is reported, and closes the file; then *have is *end.
 */
static void
find_end(struct input *in, const uint8_t *data, size_t *have, size_t more,
    size_t *end)
{
	const struct record_format *format = &in->plan.format;
	struct error error;
	/* the first bytes were searched before */
	size_t searched = more == 0 ? 0 : record_scan(format, &in->record,
	    data + *have, more);

	*end = searched > 0 ? *have + searched : 0;
	*have += more;
	if (record_check_size(format, &in->record, data, end, *have,
	    &error) == 0)
		return;
	report_failure(in, error.text);
	close_file(in);
	*have = *end;
}

/* At the end of a file: its last bytes are a line in any case. */
static void
end_line(struct input *in, uint8_t *data, size_t *have)
{
	const struct record_format *format = &in->plan.format;
	struct error error;

	if (*have == 0)
		return;
	if (record_check_end(format, &in->record, data, *have, &error) < 0)
		tell(in, error.text);
	/* An open quote may have a terminator behind it already. */
	if (data[*have - 1] != format->csv.terminator)
		data[(*have)++] = format->csv.terminator;
}

/*
 * Read what has arrived, up to `room` bytes, behind the first *have bytes of a
 * line. *end becomes where the last line now ends, 0 if none does. At the end
 * of the file or after an error, which is reported, the file is closed, and
 * *have is *end. Returns -1 if asked to stop.
 */
static int
read_lines(struct input *in, uint8_t *data, size_t *have, size_t room,
    size_t *end)
{
	size_t more;

	switch (read_bytes(in, data + *have, room, &more)) {
	case GOT_STOP:
		return -1;
	case GOT_BYTES:
		find_end(in, data, have, more, end);
		return 0;
	case GOT_END:
		find_end(in, data, have, 0, end);
		if (in->fd < 0)
			return 0;
		close_file(in);
		end_line(in, data, have);
		break;
	case GOT_ERROR:
		close_file(in);
		/* The error has cut a line off, which is not handed out. */
		*have = 0;
		break;
	}
	*end = *have;
	return 0;
}

/* Keep the header of the open file. */
static void
keep_header(struct input *in, const uint8_t *header, size_t nbytes)
{
	in->header = memory_or_die(realloc(in->header, nbytes));
	in->header_length = nbytes;
	memcpy(in->header, header, nbytes);
}

/*
 * Whole lines at the beginning of a file that has a header: find it and its
 * columns. Returns -1 if a column is missing, which is reported.
 */
static int
read_columns(struct input *in, struct chunk *chunk, const uint8_t *data,
    size_t nbytes)
{
	const uint8_t *starts[2];
	struct error error;

	record_split(&in->plan.format, data, data + nbytes, starts, 1, NULL);
	chunk->header_bytes = (size_t)(starts[1] - starts[0]);
	if (columns_find(in->plan.header, data, chunk->header_bytes,
	    &in->columns, &error) == 0) {
		keep_header(in, data, chunk->header_bytes);
		return 0;
	}
	report_failure(in, error.text);
	chunk->header_bytes = 0;
	return -1;
}

/* Keep what follows the last whole line for the next chunk. */
static void
keep_rest(struct input *in, const uint8_t *rest, size_t nbytes)
{
	in->rest_bytes = nbytes;
	if (nbytes > in->rest_capacity) {
		free(in->rest);
		in->rest_capacity = nbytes + nbytes / 2;
		in->rest = memory_or_die(malloc(in->rest_capacity));
	}
	if (nbytes > 0)
		memcpy(in->rest, rest, nbytes);
}

/* Another chunk may be handed out while this one's lines are looked at. */
static void
copy_header(const struct input *in, struct chunk *chunk)
{
	chunk->columns = in->columns;
	if (in->header_length > chunk->header_length)
		chunk->header = memory_or_die(realloc(chunk->header,
		    in->header_length));
	chunk->header_length = in->header_length;
	if (in->header_length > 0)
		memcpy(chunk->header, in->header, in->header_length);
}

/* Hand out the lines [data, data + nbytes) of the open file. */
static void
fill_chunk(struct input *in, struct chunk *chunk, const uint8_t *data,
    size_t nbytes)
{
	chunk->data = data;
	chunk->nbytes = nbytes;
	if (in->plan.header != NULL)
		copy_header(in, chunk);
	chunk->file = in->name;
	chunk->begins = in->at_start;
	in->at_start = in->at_start && nbytes == 0;
	chunk->position = in->position;
	chunk->is_packed = in->decompressor != NULL;
}

/* How much to read at once, behind `have` bytes of a line. */
static size_t
bytes_to_read(const struct input *in, size_t have, size_t wanted)
{
	const int is_costly = in->waits || in->decompressor != NULL ||
	    have >= wanted;

	return is_costly && wanted < READ_BYTES_LEAST ? READ_BYTES_LEAST :
	    wanted;
}

int
input_next(struct input *in, struct chunk *chunk, size_t wanted)
{
	const size_t full = wanted;
	size_t have = in->rest_bytes, end = 0, before;
	uint8_t *data;

	chunk->header_bytes = 0;
	grow_chunk(chunk, 0, COPY_ALIGNMENT + have + wanted);
	before = -((uintptr_t)chunk->buffer + have) % COPY_ALIGNMENT;
	data = chunk->buffer + before;
	if (have > 0)
		memcpy(data, in->rest, have);
	in->rest_bytes = 0;
	while (end == 0) {
		if (in->fd < 0) {
			if (in->next == in->plan.count || is_stopped(in))
				return 0;
			/* Before the wait for a pipe, an empty chunk. */
			if (open_next(in) && in->waits)
				break;
			continue;
		}
		wanted = bytes_to_read(in, have, wanted);
		grow_chunk(chunk, before + have, wanted);
		data = chunk->buffer + before;
		if (read_lines(in, data, &have, wanted, &end) < 0)
			return 0;
		if (end > 0 && in->at_start && in->plan.header != NULL &&
		    read_columns(in, chunk, data, end) < 0) {
			close_file(in);
			end = have = 0;
		}
	}
	chunk->is_full = have >= full;
	keep_rest(in, data + end, have - end);
	fill_chunk(in, chunk, data, end);
	return 1;
}

int
input_has_peer(const struct input *in)
{
	return in->fd >= 0 && io_has_peer(in->fd);
}

int
input_pauses(const struct input *in, int milliseconds)
{
	return in->fd >= 0 && in->waits &&
	    !(in->decompressor != NULL &&
	    decompress_has_more(in->decompressor)) &&
	    signals_wait(in->fd, POLLIN, milliseconds) != 1;
}
