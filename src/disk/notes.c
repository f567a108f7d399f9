#include "disk/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "base/le.h"
#include "base/signals.h"
#include "disk/frame.h"

/* The second frame has an entry for each output; their texts are behind it. */
enum {
	ENTRY_BYTES = 5 * 8,
	PAYLOAD_BYTES = NOTES_COUNT * ENTRY_BYTES,
	FRAME_BYTES = FRAME_HEAD_BYTES + PAYLOAD_BYTES,
	TEXT_OFFSET = JOURNAL_BEGIN_BYTES + FRAME_BYTES
};

int
notes_begin(struct notes *notes, const char *filter,
    const uint8_t id[FILTER_ID_BYTES], size_t text_room, struct error *error)
{
	const size_t nbytes = TEXT_OFFSET + NOTES_COUNT * text_room;
	struct journal *j = &notes->journal;
	void *page;
	int errnum;

	*notes = (struct notes)NOTES_NONE;
	if (journal_create_for_notes(j, filter, id, error) < 0)
		return -1;
	/* Allocated, so that a full disk is an error here and not SIGBUS. */
	errnum = posix_fallocate(j->fd, 0, (off_t)nbytes);
	if (errnum != 0) {
		error_system(error, errnum, j->path);
		notes_end(notes, 0);
		return -1;
	}
	page = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, j->fd,
	    0);
	if (page == MAP_FAILED) {
		error_system(error, errno, j->path);
		notes_end(notes, 0);
		return -1;
	}
	notes->page = page;
	notes->page_bytes = nbytes;
	notes->text_room = text_room;
	signals_bus_range(notes->page, nbytes, j->path);
	return 0;
}

/* Where the text of output i is in the file. */
static size_t
text_offset(const struct notes *notes, unsigned i)
{
	return TEXT_OFFSET + i * notes->text_room;
}

/* Copy what there is room for of text that comes behind `note`. */
static void
add_text(struct notes *notes, unsigned i, struct note *note, const void *text,
    size_t nbytes)
{
	size_t room = 0;

	if (note->nbytes < notes->text_room)
		room = notes->text_room - (size_t)note->nbytes;
	if (nbytes < room)
		room = nbytes;
	if (room > 0)
		memcpy(notes->page + text_offset(notes, i) + note->nbytes,
		    text, room);
	note->nbytes += nbytes;
	note->text_bytes = notes->text_room;
	if (note->nbytes < notes->text_room)
		note->text_bytes = (size_t)note->nbytes;
}

void
notes_put(struct notes *notes, unsigned i, const struct note *written,
    const void *text, size_t nbytes)
{
	uint8_t frame[FRAME_BYTES], *p = frame + FRAME_HEAD_BYTES;

	if (notes->page == NULL)
		return;
	/*
	 * What the note that is still there says has been written completely:
	 * to that, its text doesn't matter any more.
	 */
	notes->of[i] = *written;
	add_text(notes, i, &notes->of[i], text, nbytes);
	for (unsigned j = 0; j < NOTES_COUNT; j++, p += ENTRY_BYTES) {
		const struct note *note = &notes->of[j];

		le_put64(p, note->inode);
		le_put64(p + 8, note->begin);
		le_put64(p + 16, note->nbytes);
		le_put64(p + 24, text_offset(notes, j));
		le_put64(p + 32, note->text_bytes);
	}
	frame_seal(frame, FRAME_WRITING, PAYLOAD_BYTES);
	/* If a kill divides the copy, its checksum is wrong. */
	memcpy(notes->page + JOURNAL_BEGIN_BYTES, frame, sizeof frame);
}

void
notes_end(struct notes *notes, int keep)
{
	if (notes->page != NULL) {
		signals_bus_forget(notes->page);
		munmap(notes->page, notes->page_bytes);
	}
	if (keep)
		journal_close(&notes->journal);
	else
		journal_forget(&notes->journal);
	*notes = (struct notes)NOTES_NONE;
}

/* Decode an entry; it stays empty if its text can't be read. */
static void
read_note(const struct journal *journal, const uint8_t *entry,
    struct note *note)
{
	const uint64_t offset = le_get64(entry + 24);
	const uint64_t text_bytes = le_get64(entry + 32);

	if (text_bytes == 0 || text_bytes > NOTES_CSV_BYTES)
		return;
	note->text = memory_or_die(malloc((size_t)text_bytes));
	if (io_pread(journal->fd, note->text, (size_t)text_bytes, offset) !=
	    (ssize_t)text_bytes)
		return;
	note->inode = le_get64(entry);
	note->begin = le_get64(entry + 8);
	note->nbytes = le_get64(entry + 16);
	note->text_bytes = (size_t)text_bytes;
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
		for (unsigned i = 0; i < NOTES_COUNT; i++, p += ENTRY_BYTES)
			read_note(&journal, p, &notes[i]);
	}
	journal_close(&journal);
}

void
notes_free(struct note notes[NOTES_COUNT])
{
	for (unsigned i = 0; i < NOTES_COUNT; i++) {
		free(notes[i].text);
		notes[i] = (struct note){ 0 };
	}
}
