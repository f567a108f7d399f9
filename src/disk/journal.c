#include "disk/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/io.h"
#include "base/le.h"
#include "base/path.h"

/* A frame: u32s magic, kind, payload length, CRC-32 of it all; the payload. */
enum {
	HEAD_BYTES = 16,
	FRAME_DIGESTS = 4096,
	DIGEST_BYTES = 16,
	PAYLOAD_MAX = FRAME_DIGESTS * DIGEST_BYTES,
	SPAN_BYTES = 12,
	BEGIN_BYTES = 4 + FILTER_ID_BYTES,
	COMMIT_MAX = 8 + TABLE_LAYERS_MAX * SPAN_BYTES,
	KIND_BEGIN = 1,
	KIND_DIGESTS = 2,
	KIND_COMMIT = 3,
	VERSION = 1
};
static const uint8_t magic[4] = { 0x89, 'b', 'd', 'j' };

char *
journal_name(const char *filter)
{
	size_t nbytes = strlen(filter) + sizeof JOURNAL_SUFFIX;
	char *name = memory_or_die(malloc(nbytes));

	snprintf(name, nbytes, "%s%s", filter, JOURNAL_SUFFIX);
	return name;
}

int
journal_check_new(const char *filter, struct error *error)
{
	size_t n = strlen(filter), suffix = strlen(JOURNAL_SUFFIX);
	char *name;
	struct stat st;
	int orphaned;

	if (n >= suffix &&
	    strcmp(filter + n - suffix, JOURNAL_SUFFIX) == 0) {
		return error_set(error, STATUS_USAGE, "%s: a filter's name"
		    " can't end in %s, as its journal's does", filter,
		    JOURNAL_SUFFIX);
	}
	/* In this order, since a run creates the filter before its journal. */
	name = journal_name(filter);
	orphaned = lstat(name, &st) == 0 && lstat(filter, &st) < 0;
	if (orphaned)
		error_set(error, STATUS_FAILED, "%s: a journal whose filter is"
		    " gone; move it away", name);
	free(name);
	return orphaned ? -1 : 0;
}

static int
begin(struct journal *j, const char *filter, int flags, struct error *error)
{
	struct stat st;

	*j = (struct journal)JOURNAL_NONE;
	j->path = journal_name(filter);
	j->frame = memory_or_die(calloc(1, HEAD_BYTES + PAYLOAD_MAX));
	/* Don't follow a planted link or wait for a planted FIFO. */
	do {
		j->fd = open(j->path, flags | O_CLOEXEC | O_NOFOLLOW |
		    O_NONBLOCK | O_NOCTTY, 0600);
	} while (j->fd < 0 && errno == EINTR);
	if (j->fd < 0 || fstat(j->fd, &st) < 0)
		return error_system(error, errno, j->path);
	if (!S_ISREG(st.st_mode)) {
		return error_set(error, STATUS_FAILED,
		    "%s: a journal must be a regular file", j->path);
	}
	return 0;
}

/* Write a frame whose payload is already in j->frame. */
static int
write_frame(struct journal *j, uint32_t kind, size_t payload,
    struct error *error)
{
	uint8_t *head = j->frame;

	memcpy(head, magic, sizeof magic);
	le_put32(head + 4, kind);
	le_put32(head + 8, (uint32_t)payload);
	le_put32(head + 12, 0);
	le_put32(head + 12, (uint32_t)crc32(crc32(0, NULL, 0), head,
	    (uInt)(HEAD_BYTES + payload)));
	if (io_pwrite(j->fd, head, HEAD_BYTES + payload, j->offset) < 0)
		return error_system(error, errno, j->path);
	j->offset += HEAD_BYTES + payload;
	return 0;
}

/*
 * Read the frame at the offset. Returns 1 if no complete frame is there: the
 * end of the file, or what a crash left.
 */
static int
read_frame(struct journal *j, struct error *error)
{
	uint8_t *head = j->frame;
	ssize_t n = io_pread(j->fd, head, HEAD_BYTES, j->offset);
	uint32_t nbytes, crc;

	if (n < 0)
		return error_system(error, errno, j->path);
	nbytes = le_get32(head + 8);
	if (n < HEAD_BYTES || memcmp(head, magic, sizeof magic) != 0 ||
	    nbytes > PAYLOAD_MAX)
		return 1;
	n = io_pread(j->fd, head + HEAD_BYTES, nbytes,
	    j->offset + HEAD_BYTES);
	if (n < 0)
		return error_system(error, errno, j->path);
	if ((size_t)n < nbytes)
		return 1;
	crc = le_get32(head + 12);
	le_put32(head + 12, 0);
	if (crc != (uint32_t)crc32(crc32(0, NULL, 0), head,
	    HEAD_BYTES + nbytes))
		return 1;
	j->kind = le_get32(head + 4);
	j->payload = nbytes;
	j->offset += HEAD_BYTES + nbytes;
	return 0;
}

int
journal_create(struct journal *j, const char *filter,
    const uint8_t id[FILTER_ID_BYTES], struct error *error)
{
	struct stat st;

	if (begin(j, filter, O_RDWR | O_CREAT | O_EXCL, error) < 0) {
		journal_close(j);
		return -1;
	}
	/* Anyone who may read the filter may read its journal. */
	if (stat(filter, &st) == 0)
		temporary_take_rights(j->fd, &st);
	le_put32(j->frame + HEAD_BYTES, VERSION);
	memcpy(j->frame + HEAD_BYTES + 4, id, FILTER_ID_BYTES);
	/* Not at the commit: then the output is already in place. */
	if (write_frame(j, KIND_BEGIN, BEGIN_BYTES, error) < 0 ||
	    path_sync_folder(j->path, error) < 0) {
		struct error second;
		journal_remove(j, &second);
		return -1;
	}
	return 0;
}

/* Write the digests that were added. */
static int
flush(struct journal *j, struct error *error)
{
	size_t payload = j->used * DIGEST_BYTES;

	if (j->used == 0)
		return 0;
	j->used = 0;
	return write_frame(j, KIND_DIGESTS, payload, error);
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
		if (j->used == FRAME_DIGESTS && flush(j, error) < 0)
			return -1;
	}
	j->count += n;
	return 0;
}

int
journal_prepare(struct journal *j, struct error *error)
{
	static const uint8_t zeros[HEAD_BYTES + COMMIT_MAX];

	if (flush(j, error) < 0)
		return -1;
	/* Zeros are not a frame; the commit overwrites them. */
	return io_pwrite(j->fd, zeros, sizeof zeros, j->offset) == 0 &&
	    fdatasync(j->fd) == 0 ? 0 : error_system(error, errno, j->path);
}

int
journal_commit(struct journal *j, const struct journal_span *spans,
    size_t count, struct error *error)
{
	uint8_t *p = j->frame + HEAD_BYTES;

	if (flush(j, error) < 0)
		return -1;
	if (fdatasync(j->fd) < 0)
		return error_system(error, errno, j->path);
	le_put64(p, j->count);
	for (size_t i = 0; i < count; i++) {
		le_put32(p + 8 + i * SPAN_BYTES, spans[i].layer);
		le_put64(p + 12 + i * SPAN_BYTES, spans[i].count);
		j->spans[i] = spans[i];
	}
	j->span_count = count;
	if (write_frame(j, KIND_COMMIT, 8 + count * SPAN_BYTES, error) < 0)
		return -1;
	return fsync(j->fd) == 0 ? 0 :
	    error_system(error, errno, j->path);
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
	return sum == j->count ? 0 : -1;
}

/*
 * Did its run end before the first frame was written? A kill leaves at most the
 * first bytes of that frame, a power cut zeros in its place, whatever follows;
 * the commit waits until all else is on the disk.
 */
static int
has_not_begun(struct journal *j)
{
	static const uint8_t zeros[HEAD_BYTES + BEGIN_BYTES];
	uint8_t first[sizeof zeros];
	ssize_t n = io_pread(j->fd, first, sizeof first, 0);

	if (n < 0)
		return 0;
	return memcmp(first, zeros, (size_t)n) == 0 ||
	    ((size_t)n < sizeof first && memcmp(first, magic,
	    (size_t)n < sizeof magic ? (size_t)n : sizeof magic) == 0);
}

int
journal_open(struct journal *j, const char *filter,
    const uint8_t id[FILTER_ID_BYTES], struct error *error)
{
	int begun, result;

	if (begin(j, filter, O_RDONLY, error) < 0) {
		/* A name too long for a file has no journal. */
		result = j->fd < 0 && (errno == ENOENT ||
		    errno == ENAMETOOLONG) ? 1 : -1;
		goto fail;
	}
	/* Before the frame is read: its writer may be just beginning. */
	begun = !has_not_begun(j);
	result = read_frame(j, error);
	if (result < 0)
		goto fail;
	if (result == 1 && !begun)
		return 2;
	if (result == 1 || j->kind != KIND_BEGIN ||
	    j->payload != BEGIN_BYTES ||
	    le_get32(j->frame + HEAD_BYTES) != VERSION) {
		result = error_set(error, STATUS_FAILED, "%s: not a journal of"
		    " this version of bloomdedup; move it away", j->path);
		goto fail;
	}
	if (id != NULL && memcmp(j->frame + HEAD_BYTES + 4, id,
	    FILTER_ID_BYTES) != 0) {
		result = error_set(error, STATUS_FAILED, "%s: the journal of"
		    " another filter; move it away", j->path);
		goto fail;
	}
	while ((result = read_frame(j, error)) == 0 &&
	    j->kind == KIND_DIGESTS && j->payload % DIGEST_BYTES == 0)
		j->count += j->payload / DIGEST_BYTES;
	if (result >= 0)
		return result == 0 && j->kind == KIND_COMMIT &&
		    decode_commit(j) == 0 ? 0 : 2;

fail:
	journal_close(j);
	return result;
}

int
journal_each(struct journal *j, journal_visit *visit, void *context,
    struct error *error)
{
	const struct journal_span *span = j->spans, *end = span + j->span_count;
	struct digest digests[JOURNAL_PIECE];
	size_t used = 0, next = 0, n;

	j->offset = HEAD_BYTES + BEGIN_BYTES;
	for (; span < end; span++) {
		for (uint64_t left = span->count; left > 0; left -= n) {
			for (; next == used; next = 0) {
				int result = read_frame(j, error);

				if (result < 0)
					return -1;
				if (result > 0 || j->kind != KIND_DIGESTS)
					return error_set(error, STATUS_FAILED,
					    "%s: ends too early", j->path);
				used = j->payload / DIGEST_BYTES;
			}
			for (n = 0; n < JOURNAL_PIECE && n < left &&
			    next < used; n++) {
				const uint8_t *p = j->frame + HEAD_BYTES +
				    next++ * DIGEST_BYTES;

				digests[n].low = le_get64(p);
				digests[n].high = le_get64(p + 8);
			}
			if (visit(context, span->layer, digests, n, error) < 0)
				return -1;
		}
	}
	return 0;
}

int
journal_remove(struct journal *j, struct error *error)
{
	struct error ignored;
	int result = 0;

	if (j->fd >= 0) {
		if (unlink(j->path) < 0 && errno != ENOENT)
			result = error_system(error, errno, j->path);
		else /* if this and the power fail, a later run removes it */
			path_sync_folder(j->path, &ignored);
	}
	journal_close(j);
	return result;
}

int
journal_discard(const char *filter, struct error *error)
{
	struct journal journal;
	int result = journal_open(&journal, filter, NULL, error);

	if (result < 0)
		return -1;
	return result == 1 ? 0 : journal_remove(&journal, error);
}

void
journal_close(struct journal *j)
{
	if (j->fd >= 0)
		close(j->fd);
	free(j->path);
	free(j->frame);
	*j = (struct journal)JOURNAL_NONE;
}
