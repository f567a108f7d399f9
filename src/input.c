/*
 * One buffer: what is read is appended to the beginning of a line that is
 * already there, and handed out up to the last newline. A long line makes the
 * buffer grow; only new bytes are searched for a newline, so that a line of a
 * gigabyte costs no more a byte than a short one. What a thread of the team
 * reads of a file is there before the caller goes on.
 */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gunzip.h"
#include "signals.h"
#include "store.h"

/* A system call costs nothing, and it is at home in the L2 cache. */
#define READ_BYTES GUNZIP_BYTES
/* A line that made the buffer larger than this gives the memory back. */
#define KEEP_BYTES (4 * 1024 * 1024)

struct input {
	struct input_plan plan;
	size_t next;        /* the path after the open one */
	int fd;             /* -1 if none is open */
	off_t halves_to;    /* so far two threads may read it; -1: not at all */
	const char *name;   /* of the open one, for messages */
	int failed;
	int may_wait;       /* to open the next one, which was told */
	uint64_t handed_out;
	uint64_t position;  /* bytes read */
	struct csv_state csv; /* where the scan for the end of a record is */

	uint8_t *data;
	size_t capacity;
	size_t start, end;  /* of what is not handed out yet */

	int begun;          /* the open file's first bytes were looked at */
	int gzip;           /* the open file is inflated */
	struct gunzip *gunzip; /* NULL as long as no file was */
};

struct input *
input_new(const struct input_plan *plan)
{
	struct input *in = memory_or_die(calloc(1, sizeof *in));

	in->plan = *plan;
	in->fd = -1;
	in->capacity = 2 * READ_BYTES;
	in->data = memory_or_die(calloc(1, in->capacity));
	return in;
}

static void
close_file(struct input *in)
{
	if (in->gzip)
		gunzip_end(in->gunzip);
	in->gzip = 0;
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
	gunzip_free(in->gunzip);
	free(in->data);
	free(in);
}

unsigned
input_threads(const struct input *in)
{
	return in->gzip && gunzip_is_ahead(in->gunzip);
}

int
input_failed(const struct input *in)
{
	return in->failed;
}

uint64_t
input_bytes(const struct input *in)
{
	return in->handed_out;
}

static void
report(struct input *in, const char *reason)
{
	struct error error;

	error_set(&error, STATUS_FAILED, "%s: %s", in->name, reason);
	in->plan.report(error.text);
	in->failed = 1;
}

static const char *
shown_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* Returns 0 if there is no such file, which is reported. */
static int
open_next(struct input *in)
{
	const char *path = in->plan.paths[in->next++];
	struct stat st;

	in->name = shown_name(path);
	in->begun = 0;
	in->csv = (struct csv_state){ CSV_FIELD_START };
	if (strcmp(path, "-") == 0) {
		in->fd = STDIN_FILENO;
	} else {
		do {
			in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		} while (in->fd < 0 && errno == EINTR && !signals_stop);
	}
	if (in->fd < 0) {
		if (!signals_stop)
			report(in, strerror(errno));
		return 0;
	}
	in->halves_to = -1;
	if (in->fd != STDIN_FILENO && fstat(in->fd, &st) == 0 &&
	    S_ISREG(st.st_mode) && st.st_size >= READ_BYTES)
		in->halves_to = st.st_size - READ_BYTES;
	store_widen_pipe(in->fd);
	/* A hint; pipes refuse it. */
	posix_fadvise(in->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return 1;
}

/* To open one is to wait for who writes to it. */
static int
is_fifo(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && stat(path, &st) == 0 &&
	    S_ISFIFO(st.st_mode);
}

/* read(2), patient; -1 is an error or a signal that asks to stop. */
static ssize_t
read_some(void *context, uint8_t *data, size_t nbytes)
{
	struct input *in = context;

	for (;;) {
		ssize_t n;

		if (signals_stop)
			return -1;
		n = read(in->fd, data, nbytes);
		if (n >= 0) {
			in->position += (uint64_t)n;
			return n;
		}
		if (errno == EAGAIN || errno == EWOULDBLOCK) {
			struct pollfd wait = { in->fd, POLLIN, 0 };
			poll(&wait, 1, -1);
		} else if (errno != EINTR) {
			return -1;
		}
		if (!signals_stop && in->plan.interrupted != NULL)
			in->plan.interrupted(in->plan.context);
	}
}

/* The second half of what is to be read, for a thread of the team. */
struct half {
	int fd;
	uint8_t *data;
	size_t nbytes;
	off_t offset;
	ssize_t got;
};

static void
read_half(void *context, unsigned part, unsigned parts)
{
	struct half *half = context;

	(void)part, (void)parts;
	half->got = pread(half->fd, half->data, half->nbytes, half->offset);
}

/*
 * As read_some, of READ_BYTES. Where they are in memory, to read is to copy;
 * so two threads read one half each: of a regular file that has as much (those
 * of /proc say that they have nothing), and that we have opened, so that nobody
 * else moves the offset.
 */
static ssize_t
read_in_halves(struct input *in, uint8_t *data)
{
	const size_t nbytes = READ_BYTES / 2;
	struct half second = { in->fd, data + nbytes, nbytes, 0, 0 };
	off_t offset;
	ssize_t n;

	if (in->halves_to < 0 ||
	    team_parts(in->plan.team, READ_BYTES) == 1 ||
	    (offset = lseek(in->fd, 0, SEEK_CUR)) < 0 ||
	    offset > in->halves_to)
		return read_some(in, data, READ_BYTES);
	second.offset = offset + (off_t)nbytes;
	team_start(in->plan.team, 1, read_half, &second);
	n = read_some(in, data, nbytes);
	team_wait(in->plan.team);
	if (n < (ssize_t)nbytes || second.got <= 0)
		return n;
	/* What can't be read now, or isn't there, is so the next time. */
	if (lseek(in->fd, second.got, SEEK_CUR) < 0)
		return n;
	in->position += (uint64_t)second.got;
	return n + second.got;
}

static int
is_ready(void *context)
{
	const struct input *in = context;
	struct pollfd readable = { in->fd, POLLIN, 0 };

	return poll(&readable, 1, 0) > 0;
}

/*
 * Look at the file's first bytes, which are read to `data`; waits for more
 * only as long as they could be gzip's. Returns how many there are.
 */
static ssize_t
begin_file(struct input *in, uint8_t *data)
{
	const struct gunzip_source source = { read_some, is_ready, in };
	size_t have = 0;
	ssize_t n;

	do {
		n = read_some(in, data + have, READ_BYTES - have);
		if (n < 0)
			return -1;
		have += (size_t)n;
	} while (n > 0 && in->plan.gunzip && !gunzip_is_head(data, have) &&
	    gunzip_may_be_head(data, have));
	in->begun = 1;
	if (!in->plan.gunzip || !gunzip_is_head(data, have))
		return (ssize_t)have;

	in->gzip = 1;
	if (in->gunzip == NULL)
		in->gunzip = gunzip_new(&source, in->plan.threads);
	gunzip_begin(in->gunzip, data, have);
	return 0;
}

/*
 * Append to the buffer what is there. Returns the number of bytes, 0 at the
 * end of the file, -1 on an error (which is reported) or a signal to stop.
 */
static ssize_t
fill(struct input *in)
{
	uint8_t *data = in->data + in->end;
	const char *wrong = NULL;
	ssize_t n = 0;

	if (!in->begun)
		n = begin_file(in, data);
	else if (!in->gzip)
		n = read_in_halves(in, data);
	if (n == 0 && in->gzip)
		n = gunzip_read(in->gunzip, data, &wrong);
	if (wrong != NULL)
		report(in, wrong);
	else if (n < 0 && !signals_stop)
		report(in, strerror(errno));
	return n;
}

/* Make room for another read, behind the unfinished line at the beginning. */
static void
make_room(struct input *in)
{
	size_t kept = in->end - in->start;
	size_t wanted = kept + READ_BYTES + 1 + INPUT_PADDING;

	memmove(in->data, in->data + in->start, kept);
	in->start = 0;
	in->end = kept;
	if (wanted > in->capacity)
		in->capacity = wanted + wanted / 2;
	else if (in->capacity > KEEP_BYTES && kept < READ_BYTES)
		in->capacity = 2 * READ_BYTES;
	else
		return;
	in->data = memory_or_die(realloc(in->data, in->capacity));
}

/* Where the last line in data[from, to) ends; `from` if there is none. */
static size_t
last_line_end(struct input *in, size_t from, size_t to)
{
	uint8_t terminator = (uint8_t)in->plan.terminator;

	if (in->plan.csv) {
		struct csv_format format = { in->plan.separator, terminator };
		return from + csv_scan(&format, &in->csv, in->data + from,
		    to - from);
	}
	while (to > from && in->data[to - 1] != terminator)
		to--;
	return to;
}

int
input_next(struct input *in, struct chunk *chunk)
{
	size_t end = 0;

	while (end == 0) {
		size_t from;
		ssize_t n;

		make_room(in);
		if (in->fd < 0) {
			if (in->next == in->plan.count || signals_stop)
				return 0;
			if (!in->may_wait &&
			    is_fifo(in->plan.paths[in->next])) {
				in->may_wait = 1;
				break;
			}
			in->may_wait = 0;
			if (!open_next(in))
				continue;
		}
		from = in->end;
		n = fill(in);
		if (n > 0) {
			in->end += (size_t)n;
			end = last_line_end(in, from, in->end);
			end = end == from ? 0 : end;
			continue;
		}
		if (n < 0) {
			if (signals_stop)
				return 0;
			in->end = 0; /* an unfinished line */
		} else if (in->end > 0) {
			/* A record of CSV that isn't closed may have one. */
			if (in->data[in->end - 1] !=
			    (uint8_t)in->plan.terminator)
				in->data[in->end++] =
				    (uint8_t)in->plan.terminator;
			end = in->end;
		}
		close_file(in);
	}
	chunk->data = in->data;
	chunk->nbytes = end;
	in->start = end;
	in->handed_out += end;
	return 1;
}

int
input_pauses(const struct input *in, int milliseconds)
{
	struct pollfd now = { in->fd, POLLIN, 0 };

	if (in->fd < 0)
		return in->may_wait;
	return !(in->gzip && gunzip_has_more(in->gunzip)) &&
	    poll(&now, 1, milliseconds) == 0;
}

uint64_t
input_position(const struct input *in)
{
	return in->position;
}

uint64_t
input_total(const struct input_plan *plan)
{
	uint64_t total = 0;

	for (size_t i = 0; i < plan->count; i++) {
		const char *path = plan->paths[i];
		struct stat st;

		if ((strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &st) :
		    stat(path, &st)) < 0)
			continue; /* read as nothing, with a message */
		if (!S_ISREG(st.st_mode))
			return 0;
		total += (uint64_t)st.st_size;
	}
	return total;
}

/* Like open_next's, but without a word, and only of regular files. */
static int
peek_open(const char *path, struct stat *st, off_t *position)
{
	int fd;

	*position = 0;
	if (strcmp(path, "-") == 0) {
		fd = STDIN_FILENO;
		if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode))
			return -1;
		*position = lseek(fd, 0, SEEK_CUR);
		return *position < 0 ? -1 : fd;
	}
	if (stat(path, st) < 0 || !S_ISREG(st->st_mode))
		return -1;
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

static uint64_t
estimate_file(const struct input_plan *plan, const char *path, uint8_t *data)
{
	const size_t half = READ_BYTES;
	uint8_t *p = data;
	double ratio = 1, lines = 0;
	struct stat st;
	off_t position;
	ssize_t n;
	size_t nbytes;
	int fd = peek_open(path, &st, &position);

	if (fd < 0)
		return 0;
	n = pread(fd, data, half, position);
	if (fd != STDIN_FILENO)
		close(fd);
	if (n <= 0)
		return 0;
	nbytes = (size_t)n;
	if (plan->gunzip && gunzip_is_head(data, nbytes)) {
		size_t packed = nbytes;
		p = data + half;
		nbytes = gunzip_sample(data, &packed, p, half);
		ratio = packed > 0 ? (double)nbytes / (double)packed : 0;
	}
	for (size_t i = 0; i < nbytes; i++)
		lines += p[i] == (uint8_t)plan->terminator;
	if (nbytes == 0)
		return 0;
	lines = lines > 0 ? lines : 1;
	return (uint64_t)((double)(st.st_size - position) * ratio * lines /
	    (double)nbytes);
}

uint64_t
input_estimate(const struct input_plan *plan)
{
	uint8_t *data = memory_or_die(malloc(2 * READ_BYTES));
	uint64_t lines = 0;

	for (size_t i = 0; i < plan->count; i++)
		lines += estimate_file(plan, plan->paths[i], data);
	free(data);
	return lines;
}

const char *
input_same_file(const struct input_plan *plan, const struct stat *st)
{
	for (size_t i = 0; i < plan->count; i++) {
		const char *path = plan->paths[i];
		struct stat other;

		if ((strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &other) :
		    stat(path, &other)) == 0 && store_same_file(&other, st))
			return shown_name(path);
	}
	return NULL;
}
