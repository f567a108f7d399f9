/*
 * One buffer: what is read is appended to the beginning of a line that is
 * already there, and handed out up to the last newline. A long line makes the
 * buffer grow; only new bytes are searched for a newline, so that a line of a
 * gigabyte costs no more a byte than a short one.
 *
 * Gzip is inflated by pieces, from memory to memory. While one is worked on,
 * a worker inflates the next one, as far as what was read goes: the struct
 * gunzip and the piece are the worker's then. Reading, messages and whatever
 * else is here stay with the caller's thread, and nothing that is inflated
 * waits for more to be read. What a thread of the team reads of a plain file is
 * there before the caller goes on.
 */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "signals.h"
#include "store.h"
#include "worker.h"

/* A system call costs nothing, and it is at home in the L2 cache. */
#define READ_BYTES (256 * 1024)
/*
 * What a worker inflates at once: so much that it doesn't matter when one of
 * the two threads is kept waiting by other programs for a moment.
 */
#define PIECE_BYTES (1024 * 1024)
/* A line that made the buffer larger than this gives the memory back. */
#define KEEP_BYTES (4 * 1024 * 1024)

#define GZIP_HEAD 4

struct gunzip {
	z_stream stream;
	int result;         /* what inflate said last */
	uint8_t *packed;    /* READ_BYTES of what was read, not yet inflated */
};

struct input {
	struct input_plan plan;
	size_t next;        /* the path after the open one */
	int fd;             /* -1 if none is open */
	off_t halves_to;    /* so far two threads may read it; -1: not at all */
	const char *name;   /* of the open one, for messages */
	int failed;
	uint64_t handed_out;
	uint64_t position;  /* bytes read */
	int over;           /* no more can be read: 1 at the end, -1 by */
	int over_reason;    /* this errno or a signal to stop */
	struct csv_state csv; /* where the scan for the end of a record is */

	uint8_t *data;
	size_t capacity;
	size_t start, end;  /* of what is not handed out yet */

	int begun;          /* the open file's first bytes were looked at */
	int gzip;           /* the open file is inflated */
	struct gunzip gunzip;
	struct worker *worker; /* NULL as long as it isn't worth one */
	int ahead;          /* it has the next piece */
	uint8_t *pieces;    /* two of PIECE_BYTES, one of them the worker's */
	int turn;
	const uint8_t *piece; /* what of the other is not taken yet */
	size_t left;
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
	if (in->ahead)
		worker_wait(in->worker);
	in->ahead = 0;
	if (in->gzip)
		inflateEnd(&in->gunzip.stream);
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
	worker_free(in->worker);
	free(in->pieces);
	free(in->gunzip.packed);
	free(in->data);
	free(in);
}

unsigned
input_threads(const struct input *in)
{
	return in->ahead != 0;
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
	in->over = 0;
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

/* read(2), patient; -1 is an error or a signal that asks to stop. */
static ssize_t
read_some(struct input *in, uint8_t *data, size_t nbytes)
{
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

/* Could this be the beginning of a gzip member (RFC 1952, section 2.3)? */
static int
gzip_like(const uint8_t *p, size_t nbytes)
{
	static const uint8_t head[] = { 0x1f, 0x8b, 8 };

	if (nbytes >= GZIP_HEAD && (p[3] & 0xe0) != 0)
		return 0;
	return nbytes > 0 &&
	    memcmp(p, head, nbytes < sizeof head ? nbytes : sizeof head) == 0;
}

static int
is_gzip(const uint8_t *p, size_t nbytes)
{
	return nbytes >= GZIP_HEAD && gzip_like(p, nbytes);
}

/*
 * Look at the file's first bytes, which are read to `data`; waits for more
 * only as long as they could be gzip's. Returns how many there are.
 */
static ssize_t
begin_file(struct input *in, uint8_t *data)
{
	struct gunzip *g = &in->gunzip;
	size_t have = 0;
	ssize_t n;

	do {
		n = read_some(in, data + have, READ_BYTES - have);
		if (n < 0)
			return -1;
		have += (size_t)n;
	} while (n > 0 && have < GZIP_HEAD && in->plan.gunzip &&
	    gzip_like(data, have));
	in->begun = 1;
	if (!in->plan.gunzip || !is_gzip(data, have))
		return (ssize_t)have;

	in->gzip = 1;
	g->stream = (z_stream){ 0 };
	if (g->packed == NULL)
		g->packed = memory_or_die(malloc(READ_BYTES));
	memcpy(g->packed, data, have);
	g->stream.next_in = g->packed;
	g->stream.avail_in = (uInt)have;
	if (inflateInit2(&g->stream, 16 + MAX_WBITS) != Z_OK)
		memory_or_die(NULL);
	return 0;
}

/*
 * Fill the packed bytes up to at least `wanted`; fewer only at the end. Both
 * the end and an error are kept, for when all that came before is done with.
 */
static int
read_packed(struct input *in, size_t wanted)
{
	struct gunzip *g = &in->gunzip;
	z_stream *z = &g->stream;

	while (z->avail_in < wanted && !in->over) {
		ssize_t n;

		memmove(g->packed, z->next_in, z->avail_in);
		z->next_in = g->packed;
		n = read_some(in, g->packed + z->avail_in,
		    READ_BYTES - z->avail_in);
		if (n > 0) {
			z->avail_in += (uInt)n;
		} else {
			in->over = n < 0 ? -1 : 1;
			in->over_reason = errno;
		}
	}
	if (z->avail_in >= wanted || in->over >= 0)
		return 0;
	errno = in->over_reason;
	return -1;
}

/*
 * Behind a member. Zeros at the end are padding, as gzip(1) has it. Returns 1
 * when another one begins, 0 at the end, -1 if neither.
 */
static int
next_member(struct input *in)
{
	z_stream *z = &in->gunzip.stream;

	if (read_packed(in, GZIP_HEAD) < 0)
		return -1;
	if (is_gzip(z->next_in, z->avail_in))
		return 1;
	for (;;) {
		while (z->avail_in > 0 && *z->next_in == 0) {
			z->next_in++;
			z->avail_in--;
		}
		if (z->avail_in > 0) {
			report(in, "something that is not gzip follows the"
			    " gzip data; it is left out");
			return 0;
		}
		if (read_packed(in, 1) < 0)
			return -1;
		if (z->avail_in == 0)
			return 0;
	}
}

/*
 * Inflate the packed bytes, member after member, as long as there is room.
 * When there is nothing more to do it may be called again: it says the same.
 */
static void
inflate_piece(void *context)
{
	struct gunzip *g = context;
	z_stream *z = &g->stream;

	do {
		g->result = inflate(z, Z_NO_FLUSH);
	} while (g->result == Z_STREAM_END &&
	    is_gzip(z->next_in, z->avail_in) && inflateReset(z) == Z_OK);
}

/* Get the next piece: from the worker, or to `data`. */
static void
next_piece(struct input *in, uint8_t *data)
{
	z_stream *z = &in->gunzip.stream;

	if (in->ahead) {
		worker_wait(in->worker);
		in->ahead = 0;
		data = in->pieces + (in->turn ? PIECE_BYTES : 0);
	} else {
		z->next_out = data;
		z->avail_out = READ_BYTES;
		inflate_piece(&in->gunzip);
	}
	in->piece = data;
	in->left = (size_t)(z->next_out - data);
}

/*
 * Let the worker begin the next piece, if packed bytes are there, or can be
 * had without waiting. A file of which there are none costs no thread.
 */
static void
inflate_ahead(struct input *in)
{
	z_stream *z = &in->gunzip.stream;
	struct pollfd readable = { in->fd, POLLIN, 0 };

	if (in->plan.threads < 2)
		return;
	if (z->avail_in == 0 && poll(&readable, 1, 0) > 0)
		read_packed(in, 1);
	if (z->avail_in == 0 && z->avail_out > 0)
		return;
	if (in->worker == NULL) {
		in->worker = worker_new();
		if (in->worker == NULL) {
			in->plan.threads = 1;
			return;
		}
		in->pieces = memory_or_die(malloc(2 * PIECE_BYTES));
	}
	in->turn = !in->turn;
	z->next_out = in->pieces + (in->turn ? PIECE_BYTES : 0);
	z->avail_out = PIECE_BYTES;
	in->ahead = 1;
	worker_start(in->worker, inflate_piece, &in->gunzip);
}

/* Take from the piece; what was inflated to `data` is there. */
static size_t
take(struct input *in, uint8_t *data)
{
	size_t nbytes = in->left < READ_BYTES ? in->left : READ_BYTES;

	if (in->piece != data)
		memcpy(data, in->piece, nbytes);
	in->piece += nbytes;
	in->left -= nbytes;
	return nbytes;
}

/* As read(2), of at most READ_BYTES inflated bytes. -1 is reported. */
static ssize_t
inflate_some(struct input *in, uint8_t *data)
{
	struct gunzip *g = &in->gunzip;

	for (;;) {
		int more;

		if (in->left == 0) {
			next_piece(in, data);
			if (in->left > 0)
				inflate_ahead(in);
		}
		if (in->left > 0)
			return (ssize_t)take(in, data);
		if (g->result == Z_STREAM_END) {
			more = next_member(in);
			if (more == 0)
				return 0;
		} else if (g->result == Z_OK || g->result == Z_BUF_ERROR) {
			more = read_packed(in, 1);
			if (more == 0 && g->stream.avail_in == 0) {
				report(in, "the gzip data ends too early");
				return -1;
			}
		} else {
			if (g->result == Z_MEM_ERROR)
				memory_or_die(NULL);
			report(in, g->stream.msg != NULL &&
			    g->result == Z_DATA_ERROR ?
			    "the gzip data is damaged" :
			    "the gzip data can't be inflated");
			return -1;
		}
		if (more < 0) {
			if (!signals_stop)
				report(in, strerror(errno));
			return -1;
		}
	}
}

/*
 * Append to the buffer what is there. Returns the number of bytes, 0 at the
 * end of the file, -1 on an error (which is reported) or a signal to stop.
 */
static ssize_t
fill(struct input *in)
{
	uint8_t *data = in->data + in->end;
	ssize_t n = 0;

	if (!in->begun)
		n = begin_file(in, data);
	else if (!in->gzip)
		n = read_in_halves(in, data);
	if (n < 0) {
		if (!signals_stop)
			report(in, strerror(errno));
		return -1;
	}
	if (in->gzip)
		n = inflate_some(in, data);
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

	return in->fd >= 0 && poll(&now, 1, milliseconds) == 0;
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

/*
 * Inflate the beginning of a member; *nbytes becomes how much of the packed
 * bytes that took. Returns the number of inflated bytes, 0 if it is damaged.
 */
static size_t
peek_inflate(const uint8_t *packed, size_t *nbytes, uint8_t *data, size_t room)
{
	z_stream z = { 0 };

	if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
		memory_or_die(NULL);
	z.next_in = (Bytef *)(uintptr_t)packed;
	z.avail_in = (uInt)*nbytes;
	z.next_out = data;
	z.avail_out = (uInt)room;
	inflate(&z, Z_SYNC_FLUSH);
	*nbytes -= z.avail_in;
	room -= z.avail_out;
	inflateEnd(&z);
	return room;
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
	if (plan->gunzip && is_gzip(data, nbytes)) {
		size_t packed = nbytes;
		p = data + half;
		nbytes = peek_inflate(data, &packed, p, half);
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
		    stat(path, &other)) == 0 && other.st_dev == st->st_dev &&
		    other.st_ino == st->st_ino)
			return shown_name(path);
	}
	return NULL;
}
