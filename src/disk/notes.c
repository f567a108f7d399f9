#include "disk/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "base/le.h"
#include "base/signals.h"
#include "disk/frame.h"

enum {
	NOTE_BYTES = 5 * 8 + NOTE_SAMPLE_BYTES,
	PAYLOAD_BYTES = NOTES_COUNT * NOTE_BYTES,
	FRAME_BYTES = FRAME_HEAD_BYTES + PAYLOAD_BYTES,
	MAPPED_BYTES = JOURNAL_BEGIN_BYTES + FRAME_BYTES
};

int
notes_begin(struct notes *notes, const char *filter,
    const uint8_t id[FILTER_ID_BYTES], struct error *error)
{
	struct journal *j = &notes->journal;
	int errnum;

	*notes = (struct notes)NOTES_NONE;
	if (journal_create_for_notes(j, filter, id, error) < 0)
		return -1;
	/* Allocated, so that a full disk is an error here and not SIGBUS. */
	errnum = posix_fallocate(j->fd, 0, MAPPED_BYTES);
	if (errnum != 0) {
		error_system(error, errnum, j->path);
		notes_end(notes, 0);
		return -1;
	}
	notes->page = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE,
	    MAP_SHARED, j->fd, 0);
	if (notes->page == MAP_FAILED) {
		error_system(error, errno, j->path);
		notes->page = NULL;
		notes_end(notes, 0);
		return -1;
	}
	signals_bus_range(notes->page, MAPPED_BYTES, j->path);
	notes->frame = (uint8_t *)notes->page + JOURNAL_BEGIN_BYTES;
	return 0;
}

void
notes_put(struct notes *notes, unsigned i, const struct note *note)
{
	uint8_t frame[FRAME_BYTES], *p = frame + FRAME_HEAD_BYTES;

	if (notes->frame == NULL)
		return;
	notes->of[i] = *note;
	for (unsigned j = 0; j < NOTES_COUNT; j++, p += NOTE_BYTES) {
		le_put64(p, notes->of[j].device);
		le_put64(p + 8, notes->of[j].inode);
		le_put64(p + 16, notes->of[j].begin);
		le_put64(p + 24, notes->of[j].nbytes);
		le_put64(p + 32, notes->of[j].sample_bytes);
		memcpy(p + 40, notes->of[j].sample, NOTE_SAMPLE_BYTES);
	}
	frame_seal(frame, FRAME_WRITING, PAYLOAD_BYTES);
	/* If a kill divides the copy, its checksum is wrong. */
	memcpy(notes->frame, frame, sizeof frame);
}

void
notes_end(struct notes *notes, int keep)
{
	if (notes->page != NULL) {
		signals_bus_forget(notes->page);
		munmap(notes->page, MAPPED_BYTES);
	}
	if (keep)
		journal_close(&notes->journal);
	else
		journal_forget(&notes->journal);
	*notes = (struct notes)NOTES_NONE;
}

void
notes_read(const char *filter, const uint8_t id[FILTER_ID_BYTES],
    struct note notes[NOTES_COUNT])
{
	uint8_t data[FRAME_HEAD_BYTES + FRAME_PAYLOAD_MAX];
	const uint8_t *p = data + FRAME_HEAD_BYTES;
	struct journal journal;
	struct frame frame;
	struct error error;

	memset(notes, 0, NOTES_COUNT * sizeof *notes);
	if (journal_open(&journal, filter, id, &error) != JOURNAL_NOTES)
		return;
	if (frame_read(journal.fd, journal.path, JOURNAL_BEGIN_BYTES, data,
	    &frame, &error) == 0 && frame.nbytes == PAYLOAD_BYTES) {
		for (unsigned i = 0; i < NOTES_COUNT; i++, p += NOTE_BYTES) {
			notes[i] = (struct note){ .device = le_get64(p),
				.inode = le_get64(p + 8),
				.begin = le_get64(p + 16),
				.nbytes = le_get64(p + 24),
				.sample_bytes = le_get64(p + 32) };
			memcpy(notes[i].sample, p + 40, NOTE_SAMPLE_BYTES);
			if (notes[i].sample_bytes > NOTE_SAMPLE_BYTES)
				notes[i].nbytes = 0;
		}
	}
	journal_close(&journal);
}
