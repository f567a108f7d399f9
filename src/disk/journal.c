#include "disk/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/le.h"
#include "base/os.h"
#include "base/path.h"
#include "disk/frame.h"
#include "disk/notes.h"

/* Lengths in bytes, and numbers of things, of the payloads of frames. */
enum {
	HEAD_BYTES = FRAME_HEAD_BYTES,
	DIGEST_BYTES = 16,
	FRAME_DIGESTS_MAX = FRAME_PAYLOAD_MAX / DIGEST_BYTES,
	SPAN_BYTES = 12,
	BEGIN_BYTES = 4 + FILTER_ID_BYTES,
	COMMIT_MAX = 8 + TABLE_LAYERS_MAX * SPAN_BYTES,
	VERSION = 1,
	VERSION_WITH_OUTPUTS = 2,
	TEXT_HEAD_BYTES = 4,
	OUTPUT_HEAD_BYTES = 4 + 4 + 4 * 8 + 4
};

/* Bits beside the number of the output, in a frame of text. */
#define TEXT_HEADER UINT32_C(0x40000000)    /* only for an empty file */
#define TEXT_CONTINUES UINT32_C(0x80000000) /* the next frame is of its piece */
#define TEXT_NUMBER UINT32_C(0xffff)


/* --- its file: opening, removing and closing it */

char *
journal_name(const char *filter)
{
	size_t nbytes = strlen(filter) + sizeof JOURNAL_SUFFIX;
	char *name = memory_or_die(malloc(nbytes));

	snprintf(name, nbytes, "%s%s", filter, JOURNAL_SUFFIX);
	return name;
}

/* Fill `error`: this user may not open the journal, and whose it is. */
static int
cannot_open(const struct journal *j, struct error *error)
{
	struct stat st;

	if (lstat(j->path, &st) < 0) {
		error_system(error, EACCES, j->path);
		errno = EACCES;
		return -1;
	}
	error_set(error, STATUS_FAILED, "%s: the journal of a run by user %lu,"
	    " which only a run by that user or root can finish: %s", j->path,
	    (unsigned long)st.st_uid, strerror(EACCES));
	errno = EACCES;
	return -1;
}

/* Begin with a journal that has no file yet; `path` is its own from now on. */
static void
begin_journal(struct journal *j, char *path)
{
	*j = (struct journal)JOURNAL_NONE;
	j->path = path;
	j->frame = memory_or_die(calloc(1, HEAD_BYTES + FRAME_PAYLOAD_MAX));
	j->outputs = memory_or_die(calloc(JOURNAL_OUTPUTS, sizeof *j->outputs));
}

/*
 * Open the file of the journal of `filter` (its resolved name) with these flags
 * of open(2). Returns 0, or -1 with `error` filled and errno set; in either
 * case, the caller closes the journal.
 */
static int
open_journal(struct journal *j, const char *filter, int flags,
    struct error *error)
{
	struct stat st;

	begin_journal(j, journal_name(filter));
	/* Don't follow a planted link or wait for a planted FIFO. */
	do {
		j->fd = open(j->path, flags | O_CLOEXEC | O_NOFOLLOW |
		    O_NONBLOCK | O_NOCTTY, 0600);
	} while (j->fd < 0 && errno == EINTR);
	if (j->fd < 0 && errno == EACCES)
		return cannot_open(j, error);
	if (j->fd < 0 || fstat(j->fd, &st) < 0)
		return error_system(error, errno, j->path);
	if (!S_ISREG(st.st_mode)) {
		return error_set(error, STATUS_FAILED,
		    "%s: a journal must be a regular file", j->path);
	}
	return 0;
}

/*
 * Take away the journal's name, if it is still its own: when the filter was
 * removed meanwhile, another one, with its journal, may be in its place.
 */
static int
unlink_own(const struct journal *j)
{
	struct stat ours, named;

	if (fstat(j->fd, &ours) < 0)
		return -1;
	if (lstat(j->path, &named) == 0) {
		if (!path_same_file(&ours, &named) || unlink(j->path) == 0)
			return 0;
	}
	return errno == ENOENT ? 0 : -1;
}

int
journal_remove(struct journal *j, struct error *error)
{
	int result = 0;

	if (j->fd >= 0) {
		if (unlink_own(j) < 0)
			result = error_system(error, errno, j->path);
		else /* a later run removes it if this and the power fail */
			path_sync_directory(j->path, error_ignored());
	}
	journal_close(j);
	return result;
}

void
journal_forget(struct journal *j)
{
	if (j->fd >= 0)
		unlink_own(j);
	journal_close(j);
}

void
journal_close(struct journal *j)
{
	if (j->fd >= 0)
		close(j->fd);
	free(j->path);
	free(j->frame);
	free(j->outputs);
	*j = (struct journal)JOURNAL_NONE;
}

/* --- reading the journal that an earlier run left */

/* Read the frame at the offset; returns 1 if no complete one is there. */
static int
read_frame(struct journal *j, struct error *error)
{
	struct frame frame;
	int result = frame_read(j->fd, j->path, j->offset, j->frame, &frame,
	    error);

	if (result != 0)
		return result;
	j->kind = frame.kind;
	j->payload = frame.nbytes;
	j->offset += HEAD_BYTES + frame.nbytes;
	return 0;
}

/* Read the descriptions of outputs that follow the commit, if any do. */
static int
read_outputs(struct journal *j, struct error *error)
{
	const uint8_t *p = j->frame + HEAD_BYTES;
	uint64_t end = j->offset;
	int result;

	while ((result = read_frame(j, error)) == 0 &&
	    j->kind == FRAME_OUTPUT && j->payload >= OUTPUT_HEAD_BYTES &&
	    j->payload - OUTPUT_HEAD_BYTES < JOURNAL_PATH_MAX) {
		uint32_t number = le_get32(p), kind = le_get32(p + 4);
		struct journal_output *o;

		end = j->offset;
		if (number >= JOURNAL_OUTPUTS || kind > JOURNAL_APPENDED)
			continue;
		o = &j->outputs[number];
		memset(o, 0, sizeof *o);
		o->kind = kind;
		o->device = le_get64(p + 8);
		o->inode = le_get64(p + 16);
		o->length = le_get64(p + 24);
		o->changed = le_get64(p + 32);
		o->format = frame_format(p + 40);
		memcpy(o->path, p + OUTPUT_HEAD_BYTES,
		    j->payload - OUTPUT_HEAD_BYTES);
	}
	if (result < 0)
		return -1;
	j->is_done = result == 0 && j->kind == FRAME_DONE;
	j->done_at = end;
	return 0;
}

/*
 * Has the run given its main output its name, as the last of those that get one
 * after the commit? Numbers of inodes are used again at once, so the file must
 * be as it was at the commit: one that another program makes later has another
 * time, since the syncs of the commit take longer than a tick of the clock.
 */
int
journal_is_in_place(const struct journal *j)
{
	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++) {
		const struct journal_output *o = &j->outputs[i];
		struct stat st;

		if (o->kind == JOURNAL_REPLACED)
			return stat(o->path, &st) == 0 &&
			    st.st_ino == o->inode &&
			    (uint64_t)st.st_size == o->length &&
			    os_changed(&st) == o->changed;
	}
	return 1;
}

/* Take the spans from a commit's payload; -1 if they don't add up. */
static int
decode_commit(struct journal *j)
{
	const uint8_t *p = j->frame + HEAD_BYTES;
	uint64_t sum = 0;

	if (j->payload < 8 || (j->payload - 8) % SPAN_BYTES != 0 ||
	    (j->payload - 8) / SPAN_BYTES > TABLE_LAYERS_MAX ||
	    le_get64(p) != j->count)
		return -1;
	j->span_count = (j->payload - 8) / SPAN_BYTES;
	for (size_t i = 0; i < j->span_count; i++) {
		struct journal_span *span = &j->spans[i];

		span->layer = le_get32(p + 8 + i * SPAN_BYTES);
		span->count = le_get64(p + 12 + i * SPAN_BYTES);
		if (span->count > j->count - sum)
			return -1;
		sum += span->count;
	}
	if (sum < j->count)
		return -1;
	return 0;
}

/*
 * Did its run end before the first frame was written? A kill leaves at most the
 * first bytes of that frame, a power failure zeros in its place, whatever
 * follows; the commit waits until all else is on the disk.
 */
static int
has_not_begun(struct journal *j)
{
	static const uint8_t zeros[HEAD_BYTES + BEGIN_BYTES];
	uint8_t first[sizeof zeros];
	ssize_t n = io_pread(j->fd, first, sizeof first, 0);
	size_t magic;

	if (n < 0)
		return 0;
	if (memcmp(first, zeros, (size_t)n) == 0)
		return 1;
	if ((size_t)n == sizeof first)
		return 0;
	magic = (size_t)n < sizeof frame_magic ? (size_t)n : sizeof frame_magic;
	return memcmp(first, frame_magic, magic) == 0;
}

/* Read the frames after the first one, and say what the journal is. */
static enum journal_state
read_state(struct journal *j, struct error *error)
{
	int result = read_frame(j, error);

	while (result == 0 && (j->kind == FRAME_TEXT ||
	    (j->kind == FRAME_DIGESTS && j->payload % DIGEST_BYTES == 0))) {
		if (j->kind == FRAME_DIGESTS)
			j->count += j->payload / DIGEST_BYTES;
		result = read_frame(j, error);
	}
	if (result < 0)
		return JOURNAL_FAILED;
	if (result > 0 || j->kind != FRAME_COMMIT || decode_commit(j) < 0)
		return JOURNAL_UNFINISHED;
	if (read_outputs(j, error) < 0)
		return JOURNAL_FAILED;
	if (j->has_outputs && !j->is_done && !journal_is_in_place(j))
		return JOURNAL_UNFINISHED;
	return JOURNAL_COMPLETE;
}

/* Read the first frame of a journal that was opened: is it this filter's? */
static enum journal_state
check_begin(struct journal *j, const uint8_t id[FILTER_ID_BYTES],
    struct error *error)
{
	/* Before the frame is read: its writer may be just beginning. */
	const int begun = !has_not_begun(j);
	int result = read_frame(j, error);
	uint32_t version = le_get32(j->frame + HEAD_BYTES);

	if (result < 0)
		return JOURNAL_FAILED;
	if (result == 1 && !begun)
		return JOURNAL_UNFINISHED;
	if (result == 1 || j->kind != FRAME_BEGIN ||
	    j->payload != BEGIN_BYTES || version < VERSION ||
	    version > VERSION_WITH_OUTPUTS) {
		error_set(error, STATUS_FAILED, "%s: not a journal of this"
		    " version of bloomdedup; move it away", j->path);
		return JOURNAL_FAILED;
	}
	j->has_outputs = version == VERSION_WITH_OUTPUTS;
	if (id != NULL && memcmp(j->frame + HEAD_BYTES + 4, id,
	    FILTER_ID_BYTES) != 0) {
		enum journal_state state = read_state(j, error);

		/* Without a commit, it means nothing to any filter. */
		if (state == JOURNAL_UNFINISHED)
			return JOURNAL_UNFINISHED;
		error_set(error, STATUS_FAILED, "%s: the journal of another"
		    " filter; move it away", j->path);
		return JOURNAL_FAILED;
	}
	return read_state(j, error);
}

enum journal_state
journal_open(struct journal *j, const char *filter,
    const uint8_t id[FILTER_ID_BYTES], struct error *error)
{
	enum journal_state state = JOURNAL_FAILED;

	if (open_journal(j, filter, O_RDONLY, error) == 0)
		state = check_begin(j, id, error);
	/* A name too long for a file has no journal. */
	else if (j->fd < 0 && (errno == ENOENT || errno == ENAMETOOLONG))
		state = JOURNAL_ABSENT;
	if (state == JOURNAL_FAILED || state == JOURNAL_ABSENT)
		journal_close(j);
	return state;
}

/* Go to the next frame of digests, past text; there must be one. */
static int
read_digest_frame(struct journal *j, struct error *error)
{
	int result;

	do {
		result = read_frame(j, error);
	} while (result == 0 && j->kind == FRAME_TEXT);
	if (result < 0)
		return -1;
	if (result > 0 || j->kind != FRAME_DIGESTS) {
		return error_set(error, STATUS_FAILED, "%s: ends too early",
		    j->path);
	}
	return 0;
}

/* A walk through the digests: those of the frame that was read last. */
struct frame_walk {
	size_t count; /* digests in this frame */
	size_t next;
};

/*
 * Take the next digests, as many as one frame still has, but at most `most`.
 * Returns how many, at least one; or 0 with `error` filled.
 */
static size_t
take_digests(struct journal *j, struct frame_walk *walk, struct digest *digests,
    size_t most, struct error *error)
{
	size_t n;

	while (walk->next == walk->count) {
		if (read_digest_frame(j, error) < 0)
			return 0;
		walk->count = j->payload / DIGEST_BYTES;
		walk->next = 0;
	}
	n = walk->count - walk->next;
	if (n > most)
		n = most;
	for (size_t i = 0; i < n; i++) {
		const uint8_t *p = j->frame + HEAD_BYTES +
		    (walk->next + i) * DIGEST_BYTES;

		digests[i].low = le_get64(p);
		digests[i].high = le_get64(p + 8);
	}
	walk->next += n;
	return n;
}

int
journal_each(struct journal *j, journal_visit *visit, void *context,
    struct error *error)
{
	struct digest digests[JOURNAL_PIECE];
	struct frame_walk walk = { 0 };

	j->offset = HEAD_BYTES + BEGIN_BYTES;
	for (size_t i = 0; i < j->span_count; i++) {
		uint64_t left = j->spans[i].count;

		while (left > 0) {
			size_t most = left < JOURNAL_PIECE ? (size_t)left :
			    JOURNAL_PIECE;
			size_t n = take_digests(j, &walk, digests, most, error);

			if (n == 0 || visit(context, j->spans[i].layer,
			    digests, n, error) < 0)
				return -1;
			left -= n;
		}
	}
	return 0;
}

/* A piece of text that may be divided between frames. */
struct text_piece {
	uint8_t *data;
	size_t nbytes, room;
};

static void
add_to_piece(struct text_piece *piece, const uint8_t *text, size_t nbytes)
{
	piece->data = memory_grow(piece->data, &piece->room,
	    piece->nbytes + nbytes, 1);
	memcpy(piece->data + piece->nbytes, text, nbytes);
	piece->nbytes += nbytes;
}

int
journal_each_text(struct journal *j, unsigned output,
    journal_visit_text *visit, void *context, struct error *error)
{
	const uint8_t *p = j->frame + HEAD_BYTES;
	const int is_empty = j->outputs[output].length == 0;
	struct text_piece piece = { 0 };
	int result = 0, answer = 0;

	j->offset = HEAD_BYTES + BEGIN_BYTES;
	while (answer == 0 && (result = read_frame(j, error)) == 0 &&
	    (j->kind == FRAME_DIGESTS || j->kind == FRAME_TEXT)) {
		const uint32_t number = le_get32(p);

		if (j->kind != FRAME_TEXT || j->payload < TEXT_HEAD_BYTES ||
		    (number & TEXT_NUMBER) != output ||
		    (number & TEXT_HEADER && !is_empty))
			continue;
		add_to_piece(&piece, p + TEXT_HEAD_BYTES,
		    j->payload - TEXT_HEAD_BYTES);
		if (number & TEXT_CONTINUES)
			continue;
		answer = visit(context, piece.data, piece.nbytes, error);
		piece.nbytes = 0;
	}
	free(piece.data);
	if (answer != 0)
		return answer;
	return result < 0 ? -1 : 0;
}

/* --- making it, and writing to it */

/* Write a frame whose payload is already in j->frame. */
static int
write_frame(struct journal *j, enum frame_kind kind, size_t payload,
    struct error *error)
{
	frame_seal(j->frame, kind, payload);
	if (io_pwrite(j->fd, j->frame, HEAD_BYTES + payload, j->offset) < 0)
		return error_system(error, errno, j->path);
	j->offset += HEAD_BYTES + payload;
	return 0;
}

/* Whoever may read the filter may read this file, too, but not write to it. */
static void
give_reading(int fd, const char *filter, const struct stat *st)
{
	mode_t mode = path_mode(filter, st) & 0744;

	if (fchown(fd, (uid_t)-1, st->st_gid) < 0)
		mode &= 0704;
	if (fchmod(fd, mode | S_IRUSR | S_IWUSR) < 0)
		return;
}

int
journal_check_trust(const struct journal *j, struct error *error)
{
	struct stat st;

	if (fstat(j->fd, &st) < 0)
		return error_system(error, errno, j->path);
	if (path_is_trusted(&st))
		return 0;
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return error_set(error, STATUS_FAILED, "%s: this journal"
		    " belongs to user %lu, and names files to write to: only a"
		    " run by that user can finish it; nothing is changed",
		    j->path, (unsigned long)st.st_uid);
	return error_set(error, STATUS_FAILED, "%s: this journal names files to"
	    " write to, but others may write to it, or it has several names;"
	    " nothing is changed", j->path);
}

/* Create the file, and write its first frame. */
static int
create_journal(struct journal *j, const char *filter,
    const uint8_t id[FILTER_ID_BYTES], uint32_t version, struct error *error)
{
	struct stat st;

	if (open_journal(j, filter, O_RDWR | O_CREAT | O_EXCL, error) < 0) {
		journal_close(j);
		return -1;
	}
	/* Anyone who may read the filter may read its journal. */
	if (stat(filter, &st) == 0 && version == VERSION)
		temporary_take_rights(j->fd, filter, &st);
	else if (stat(filter, &st) == 0)
		give_reading(j->fd, filter, &st);
	if (version != VERSION && journal_check_trust(j, error) < 0) {
		journal_forget(j);
		return error_prefix(error, "--atomic with an output that is a"
		    " file");
	}
	j->has_outputs = version == VERSION_WITH_OUTPUTS;
	le_put32(j->frame + HEAD_BYTES, version);
	memcpy(j->frame + HEAD_BYTES + 4, id, FILTER_ID_BYTES);
	if (write_frame(j, FRAME_BEGIN, BEGIN_BYTES, error) < 0) {
		journal_forget(j);
		return -1;
	}
	return 0;
}

int
journal_create(struct journal *j, const char *filter,
    const uint8_t id[FILTER_ID_BYTES], int has_outputs, struct error *error)
{
	if (create_journal(j, filter, id, has_outputs ? VERSION_WITH_OUTPUTS :
	    VERSION, error) < 0)
		return -1;
	/* At the commit it would be too late: the output is in place then. */
	if (path_sync_directory(j->path, error) < 0) {
		journal_forget(j);
		return -1;
	}
	return 0;
}

int
journal_create_nameless(struct journal *j, const char *output,
    struct error *error)
{
	char *real = path_follow(output);

	begin_journal(j, memory_or_die(strdup(output)));
	if (real != NULL)
		j->fd = temporary_open_unnamed(real);
	if (j->fd < 0)
		error_system(error, errno, output);
	free(real);
	le_put32(j->frame + HEAD_BYTES, VERSION_WITH_OUTPUTS);
	if (j->fd >= 0 && write_frame(j, FRAME_BEGIN, BEGIN_BYTES, error) == 0)
		return 0;
	journal_close(j);
	return -1;
}

/* Write the digests that were added. */
static int
write_digests(struct journal *j, struct error *error)
{
	size_t payload = j->used * DIGEST_BYTES;

	if (j->used == 0)
		return 0;
	j->used = 0;
	return write_frame(j, FRAME_DIGESTS, payload, error);
}

int
journal_add(struct journal *j, const struct digest *digests, size_t n,
    struct error *error)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t *p = j->frame + HEAD_BYTES + j->used * DIGEST_BYTES;

		le_put64(p, digests[i].low);
		le_put64(p + 8, digests[i].high);
		j->used++;
		if (j->used == FRAME_DIGESTS_MAX && write_digests(j, error) < 0)
			return -1;
	}
	j->count += n;
	return 0;
}

int
journal_add_text(struct journal *j, unsigned output, int is_header,
    const void *text, size_t nbytes, struct error *error)
{
	const size_t most = FRAME_PAYLOAD_MAX - TEXT_HEAD_BYTES;
	const uint8_t *p = text;

	/* The digests in the frame go first. */
	if (write_digests(j, error) < 0)
		return -1;
	while (nbytes > 0) {
		size_t n = nbytes < most ? nbytes : most;

		le_put32(j->frame + HEAD_BYTES, output |
		    (is_header ? TEXT_HEADER : 0) |
		    (n < nbytes ? TEXT_CONTINUES : 0));
		memcpy(j->frame + HEAD_BYTES + TEXT_HEAD_BYTES, p, n);
		if (write_frame(j, FRAME_TEXT, TEXT_HEAD_BYTES + n, error) < 0)
			return -1;
		p += n;
		nbytes -= n;
	}
	return 0;
}

/* All frames of outputs, as in the file; to be freed. */
static uint8_t *
encode_outputs(const struct journal *j, size_t *nbytes)
{
	uint8_t *frames = memory_or_die(calloc(JOURNAL_OUTPUTS, HEAD_BYTES +
	    OUTPUT_HEAD_BYTES + JOURNAL_PATH_MAX));

	*nbytes = 0;
	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++) {
		const struct journal_output *o = &j->outputs[i];
		uint8_t *frame = frames + *nbytes, *p = frame + HEAD_BYTES;
		size_t path = strlen(o->path);

		if (o->kind == JOURNAL_NO_OUTPUT)
			continue;
		le_put32(p, i);
		le_put32(p + 4, o->kind);
		le_put64(p + 8, o->device);
		le_put64(p + 16, o->inode);
		le_put64(p + 24, o->length);
		le_put64(p + 32, o->changed);
		frame_put_format(p + 40, &o->format);
		memcpy(p + OUTPUT_HEAD_BYTES, o->path, path);
		frame_seal(frame, FRAME_OUTPUT, OUTPUT_HEAD_BYTES + path);
		*nbytes += HEAD_BYTES + OUTPUT_HEAD_BYTES + path;
	}
	return frames;
}

int
journal_prepare(struct journal *j, struct error *error)
{
	size_t nbytes;
	uint8_t *room;
	int result;

	if (write_digests(j, error) < 0)
		return -1;
	free(encode_outputs(j, &nbytes));
	nbytes += HEAD_BYTES + COMMIT_MAX + HEAD_BYTES;
	/* Zeros are not a frame; the commit overwrites them. */
	room = memory_or_die(calloc(1, nbytes));
	result = io_pwrite(j->fd, room, nbytes, j->offset);
	free(room);
	if (result == 0 && os_sync(j->fd) == 0)
		return 0;
	return error_system(error, errno, j->path);
}

int
journal_commit(struct journal *j, const struct journal_span *spans,
    size_t count, struct error *error)
{
	const size_t commit = 8 + count * SPAN_BYTES;
	uint8_t *p = j->frame + HEAD_BYTES, *outputs;
	uint64_t behind;
	size_t nbytes;
	int result;

	if (write_digests(j, error) < 0)
		return -1;
	/* The outputs follow the commit, where older versions do not read. */
	outputs = encode_outputs(j, &nbytes);
	result = io_pwrite(j->fd, outputs, nbytes,
	    j->offset + HEAD_BYTES + commit);
	behind = j->offset + HEAD_BYTES + commit + nbytes;
	free(outputs);
	if (result < 0 || os_sync(j->fd) < 0)
		return error_system(error, errno, j->path);
	le_put64(p, j->count);
	for (size_t i = 0; i < count; i++) {
		le_put32(p + 8 + i * SPAN_BYTES, spans[i].layer);
		le_put64(p + 12 + i * SPAN_BYTES, spans[i].count);
		j->spans[i] = spans[i];
	}
	j->span_count = count;
	if (write_frame(j, FRAME_COMMIT, commit, error) < 0)
		return -1;
	j->done_at = behind;
	if (fsync(j->fd) < 0)
		return error_system(error, errno, j->path);
	return 0;
}

int
journal_reopen(struct journal *j, struct error *error)
{
	struct stat ours, opened;
	int fd = open(j->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
	    O_NOCTTY);

	if (fd < 0)
		return error_system(error, errno, j->path);
	if (fstat(j->fd, &ours) < 0 || fstat(fd, &opened) < 0 ||
	    !path_same_file(&ours, &opened)) {
		close(fd);
		return error_set(error, STATUS_FAILED, "%s: another program"
		    " replaced it just now", j->path);
	}
	close(j->fd);
	j->fd = fd;
	return 0;
}

int
journal_done(struct journal *j, struct error *error)
{
	j->offset = j->done_at;
	if (write_frame(j, FRAME_DONE, 0, error) < 0)
		return -1;
	return os_sync(j->fd) == 0 ? 0 :
	    error_system(error, errno, j->path);
}

/* --- a journal that is in the way */

int
journal_discard(const char *filter, struct error *error)
{
	struct journal journal;

	notes_discard(filter);
	switch (journal_open(&journal, filter, NULL, error)) {
	case JOURNAL_FAILED:
		return -1;
	case JOURNAL_ABSENT:
		return 0;
	case JOURNAL_COMPLETE:
	case JOURNAL_UNFINISHED:
		break;
	}
	return journal_remove(&journal, error);
}

int
journal_check_new(const char *filter, struct error *error)
{
	size_t n = strlen(filter), suffix = strlen(JOURNAL_SUFFIX);
	struct journal journal;
	struct error why = { 0 };
	struct stat st;
	enum journal_state state;

	if (n >= suffix &&
	    strcmp(filter + n - suffix, JOURNAL_SUFFIX) == 0) {
		return error_set(error, STATUS_USAGE, "%s: the name of a filter"
		    " cannot end in %s, as that of its journal does", filter,
		    JOURNAL_SUFFIX);
	}
	/* In this order, since a run creates the filter before its journal. */
	state = journal_open(&journal, filter, NULL, &why);
	/* Too many open files, or a disk that fails, say nothing of it. */
	if (state == JOURNAL_FAILED && why.errnum != 0) {
		*error = why;
		return -1;
	}
	if (lstat(filter, &st) < 0)
		notes_discard(filter);
	else
		state = JOURNAL_ABSENT;
	if (state == JOURNAL_ABSENT) {
		journal_close(&journal);
		return 0;
	}
	if (state == JOURNAL_UNFINISHED) {
		journal_forget(&journal);
		return 0;
	}
	journal_close(&journal);
	return error_set(error, STATUS_FAILED, "%s%s: a journal whose filter is"
	    " gone; move it away", filter, JOURNAL_SUFFIX);
}
