/* Making and writing a journal, and one that is in its way. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/le.h"
#include "base/path.h"
#include "disk/journal.h"
#include "disk/journal_inside.h"

_Static_assert(JOURNAL_BEGIN_BYTES == (int)HEAD_BYTES + BEGIN_BYTES,
    "the head and the payload of the first frame");

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

/* Create the file, and write its first frame. */
static int
create(struct journal *j, const char *filter,
    const uint8_t id[FILTER_ID_BYTES], uint32_t version, struct error *error)
{
	struct stat st;

	if (journal_begin(j, filter, O_RDWR | O_CREAT | O_EXCL, error) < 0) {
		journal_close(j);
		return -1;
	}
	/* Anyone who may read the filter may read its journal. */
	if (stat(filter, &st) == 0)
		temporary_take_rights(j->fd, &st);
	le_put32(j->frame + HEAD_BYTES, version);
	memcpy(j->frame + HEAD_BYTES + 4, id, FILTER_ID_BYTES);
	if (write_frame(j, FRAME_BEGIN, BEGIN_BYTES, error) < 0) {
		journal_forget(j);
		return -1;
	}
	return 0;
}

/* Remove the notes that an earlier run left, if there are any. */
static void
remove_notes(const char *filter, const uint8_t id[FILTER_ID_BYTES])
{
	struct journal notes;
	enum journal_state state = journal_open(&notes, filter, id,
	    &(struct error){ 0 });

	if (state == JOURNAL_NOTES || state == JOURNAL_UNFINISHED)
		journal_forget(&notes);
	else
		journal_close(&notes);
}

int
journal_create(struct journal *j, const char *filter,
    const uint8_t id[FILTER_ID_BYTES], int has_text, struct error *error)
{
	remove_notes(filter, id);
	if (create(j, filter, id, has_text ? VERSION_WITH_TEXT : VERSION,
	    error) < 0)
		return -1;
	/* Not at the commit: then the output is already in place. */
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
	char *real = path_follow(output), *name = NULL;

	*j = (struct journal)JOURNAL_NONE;
	j->path = memory_or_die(strdup(output));
	j->frame = memory_or_die(calloc(1, HEAD_BYTES + FRAME_PAYLOAD_MAX));
	if (real != NULL)
		j->fd = temporary_open_nameless(real, &name);
	if (j->fd < 0)
		error_system(error, errno, output);
	temporary_end(&name, 1);
	free(real);
	le_put32(j->frame + HEAD_BYTES, VERSION_WITH_TEXT);
	if (j->fd >= 0 && write_frame(j, FRAME_BEGIN, BEGIN_BYTES, error) == 0)
		return 0;
	journal_close(j);
	return -1;
}

int
journal_create_for_notes(struct journal *j, const char *filter,
    const uint8_t id[FILTER_ID_BYTES], struct error *error)
{
	remove_notes(filter, id);
	return create(j, filter, id, VERSION, error);
}

/* Write the digests that were added. */
static int
flush(struct journal *j, struct error *error)
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
		if (j->used == FRAME_DIGESTS_MAX && flush(j, error) < 0)
			return -1;
	}
	j->count += n;
	return 0;
}

int
journal_add_text(struct journal *j, unsigned output, const void *text,
    size_t nbytes, struct error *error)
{
	const size_t most = FRAME_PAYLOAD_MAX - TEXT_HEAD_BYTES;
	const uint8_t *p = text;

	/* The digests in the frame go first. */
	if (flush(j, error) < 0)
		return -1;
	while (nbytes > 0) {
		size_t n = nbytes < most ? nbytes : most;

		le_put32(j->frame + HEAD_BYTES, output);
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

	if (flush(j, error) < 0)
		return -1;
	free(encode_outputs(j, &nbytes));
	nbytes += HEAD_BYTES + COMMIT_MAX;
	/* Zeros are not a frame; the commit overwrites them. */
	room = memory_or_die(calloc(1, nbytes));
	result = io_pwrite(j->fd, room, nbytes, j->offset);
	free(room);
	if (result == 0 && fdatasync(j->fd) == 0)
		return 0;
	return error_system(error, errno, j->path);
}

int
journal_commit(struct journal *j, const struct journal_span *spans,
    size_t count, struct error *error)
{
	const size_t commit = 8 + count * SPAN_BYTES;
	uint8_t *p = j->frame + HEAD_BYTES, *outputs;
	size_t nbytes;
	int result;

	if (flush(j, error) < 0)
		return -1;
	/* Behind the commit, where older versions don't read. */
	outputs = encode_outputs(j, &nbytes);
	result = io_pwrite(j->fd, outputs, nbytes,
	    j->offset + HEAD_BYTES + commit);
	free(outputs);
	if (result < 0 || fdatasync(j->fd) < 0)
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
	if (fsync(j->fd) < 0)
		return error_system(error, errno, j->path);
	return 0;
}

int
journal_discard(const char *filter, struct error *error)
{
	struct journal journal;

	switch (journal_open(&journal, filter, NULL, error)) {
	case JOURNAL_FAILED:
		return -1;
	case JOURNAL_ABSENT:
		return 0;
	case JOURNAL_COMPLETE:
	case JOURNAL_UNFINISHED:
	case JOURNAL_NOTES:
		break;
	}
	return journal_remove(&journal, error);
}

int
journal_check_new(const char *filter, struct error *error)
{
	size_t n = strlen(filter), suffix = strlen(JOURNAL_SUFFIX);
	struct journal journal;
	struct stat st;
	enum journal_state state;

	if (n >= suffix &&
	    strcmp(filter + n - suffix, JOURNAL_SUFFIX) == 0) {
		return error_set(error, STATUS_USAGE, "%s: the name of a filter"
		    " cannot end in %s, as that of its journal does", filter,
		    JOURNAL_SUFFIX);
	}
	/* In this order, since a run creates the filter before its journal. */
	state = journal_open(&journal, filter, NULL, &(struct error){ 0 });
	if (state == JOURNAL_ABSENT || lstat(filter, &st) == 0) {
		journal_close(&journal);
		return 0;
	}
	if (state == JOURNAL_UNFINISHED || state == JOURNAL_NOTES) {
		journal_forget(&journal);
		return 0;
	}
	journal_close(&journal);
	return error_set(error, STATUS_FAILED, "%s%s: a journal whose filter is"
	    " gone; move it away", filter, JOURNAL_SUFFIX);
}
