/*
 * Reading the journal that an earlier run left: what it is, and what a complete
 * one holds.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/io.h"
#include "base/le.h"
#include "disk/journal.h"
#include "disk/journal_inside.h"

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

/* Behind the commit: the outputs, if there are any. */
static int
read_outputs(struct journal *j, struct error *error)
{
	const uint8_t *p = j->frame + HEAD_BYTES;
	int result;

	while ((result = read_frame(j, error)) == 0 &&
	    j->kind == FRAME_OUTPUT && j->payload >= OUTPUT_HEAD_BYTES &&
	    j->payload - OUTPUT_HEAD_BYTES < JOURNAL_PATH_MAX) {
		uint32_t number = le_get32(p), kind = le_get32(p + 4);
		struct journal_output *o;

		if (number >= JOURNAL_OUTPUTS || kind > JOURNAL_APPENDED)
			continue;
		o = &j->outputs[number];
		memset(o, 0, sizeof *o);
		o->kind = kind;
		o->device = le_get64(p + 8);
		o->inode = le_get64(p + 16);
		o->length = le_get64(p + 24);
		memcpy(o->path, p + OUTPUT_HEAD_BYTES,
		    j->payload - OUTPUT_HEAD_BYTES);
	}
	if (result < 0)
		return -1;
	return 0;
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

/* After the first frame: what is the journal? */
static enum journal_state
read_state(struct journal *j, struct error *error)
{
	int result = read_frame(j, error);

	if (result == 0 && j->kind == FRAME_WRITING)
		return JOURNAL_NOTES;
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
	return JOURNAL_COMPLETE;
}

/* A journal that was opened. */
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
	    version > VERSION_WITH_TEXT) {
		error_set(error, STATUS_FAILED, "%s: not a journal of this"
		    " version of bloomdedup; move it away", j->path);
		return JOURNAL_FAILED;
	}
	if (id != NULL && memcmp(j->frame + HEAD_BYTES + 4, id,
	    FILTER_ID_BYTES) != 0) {
		enum journal_state state = read_state(j, error);

		/* Without a commit, it means nothing to any filter. */
		if (state == JOURNAL_NOTES || state == JOURNAL_UNFINISHED)
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

	if (journal_begin(j, filter, O_RDONLY, error) == 0)
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
struct walk {
	size_t count; /* in this frame, */
	size_t next;  /* and the index of the one that comes next */
};

/*
 * Take the next digests, as many as one frame still has, but at most `most`.
 * Returns how many, at least one; or 0 with `error` filled.
 */
static size_t
take_digests(struct journal *j, struct walk *walk, struct digest *digests,
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
	struct walk walk = { 0 };

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

int
journal_each_text(struct journal *j, unsigned output,
    journal_visit_text *visit, void *context, struct error *error)
{
	const uint8_t *p = j->frame + HEAD_BYTES;
	int result;

	j->offset = HEAD_BYTES + BEGIN_BYTES;
	while ((result = read_frame(j, error)) == 0 &&
	    (j->kind == FRAME_DIGESTS || j->kind == FRAME_TEXT)) {
		if (j->kind != FRAME_TEXT || j->payload < TEXT_HEAD_BYTES ||
		    le_get32(p) != output)
			continue;
		result = visit(context, p + TEXT_HEAD_BYTES,
		    j->payload - TEXT_HEAD_BYTES, error);
		if (result != 0)
			return result;
	}
	if (result < 0)
		return -1;
	return 0;
}
