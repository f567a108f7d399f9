#define _GNU_SOURCE /* asprintf */
#include "disk/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/le.h"
#include "base/os.h"
#include "base/path.h"
#include "base/signals.h"
#include "disk/frame.h"

/*
 * The first frame has the filter's id, then comes one for each file, then the
 * note, with its text behind it.
 */
enum {
	VERSION = 1,
	BEGIN_BYTES = 4 + FILTER_ID_BYTES,
	FILE_HEAD_BYTES = 8 + 2 * 8,
	NOTE_BYTES = 8 + 3 * 8,
	PATH_MAX_BYTES = 4096,
	NOTE_ROOM = FRAME_HEAD_BYTES + NOTE_BYTES,
	TEXT_BYTES_MIN = 4096
};

/* The mapped part of the file, from the note to the end. */
#define MAPPED_BYTES (NOTE_ROOM + NOTES_TEXT_MAX + NOTES_PADDING)

/* The name of this user's notes about the filter; to be freed. */
static char *
notes_name(const char *filter)
{
	char *name;

	if (asprintf(&name, "%s.notes-%lu", filter,
	    (unsigned long)geteuid()) < 0)
		memory_or_die(NULL);
	return name;
}

void
notes_discard(const char *filter)
{
	char *name = notes_name(filter);

	unlink(name);
	free(name);
}

/* --- writing */

/* Write the frames that come before the note. Returns -1 with errno set. */
static int
write_files(struct notes *notes, const uint8_t id[FILTER_ID_BYTES],
    const struct notes_file files[], unsigned count)
{
	uint8_t *frame = memory_or_die(calloc(1, FRAME_HEAD_BYTES +
	    FILE_HEAD_BYTES + PATH_MAX_BYTES));
	uint8_t *p = frame + FRAME_HEAD_BYTES;
	size_t nbytes = FRAME_HEAD_BYTES + BEGIN_BYTES;
	int result;

	le_put32(p, VERSION);
	memcpy(p + 4, id, FILTER_ID_BYTES);
	frame_seal(frame, FRAME_BEGIN, BEGIN_BYTES);
	result = io_pwrite(notes->fd, frame, nbytes, 0);
	notes->at = nbytes;
	for (unsigned i = 0; i < count && result == 0; i++) {
		const struct notes_file *file = &files[i];
		const size_t path = strlen(file->path);

		if (path > PATH_MAX_BYTES) {
			errno = ENAMETOOLONG;
			result = -1;
			break;
		}
		le_put32(p, i);
		frame_put_format(p + 4, &file->format);
		le_put64(p + 8, file->device);
		le_put64(p + 16, file->inode);
		memcpy(p + FILE_HEAD_BYTES, file->path, path);
		nbytes = FRAME_HEAD_BYTES + FILE_HEAD_BYTES + path;
		frame_seal(frame, FRAME_FILE, FILE_HEAD_BYTES + path);
		result = io_pwrite(notes->fd, frame, nbytes, notes->at);
		notes->at += nbytes;
	}
	free(frame);
	return result;
}

/*
 * Have so many bytes of the file allocated, so that a full disk is an error
 * here and not SIGBUS later. Returns 0, or -1 with errno set.
 */
static int
allocate(const struct notes *notes, size_t nbytes)
{
	static const uint8_t zeros[4096];
	const int errnum = os_allocate(notes->fd, 0, nbytes);

	errno = errnum;
	if (errnum != EOPNOTSUPP && errnum != EINVAL)
		return errnum == 0 ? 0 : -1;
	/* A file system that can't allocate gets zeros instead. */
	for (size_t at = notes->at, n; at < nbytes; at += n) {
		n = nbytes - at < sizeof zeros ? nbytes - at : sizeof zeros;
		if (io_pwrite(notes->fd, zeros, n, at) < 0)
			return -1;
	}
	return 0;
}

/*
 * Make room for the text: if there is less on the disk, or files may not be so
 * long, at least for a part of it. Returns 0, or -1 with errno set.
 */
static int
make_text_room(struct notes *notes)
{
	size_t room = NOTES_TEXT_MAX;

	while (allocate(notes, notes->at + NOTE_ROOM + room +
	    NOTES_PADDING) < 0) {
		room /= 2;
		if (room < TEXT_BYTES_MIN)
			return -1;
	}
	notes->text_room = room;
	return 0;
}

static int
create_notes(const char *path)
{
	return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW |
	    O_NOCTTY, 0600);
}

int
notes_begin(struct notes *notes, const char *filter,
    const uint8_t id[FILTER_ID_BYTES], const struct notes_file files[],
    unsigned count, struct error *error)
{
	void *page = MAP_FAILED;

	*notes = (struct notes)NOTES_NONE;
	notes->path = notes_name(filter);
	notes->fd = create_notes(notes->path);
	/* The filter's lock is ours, so these are of a run that has ended. */
	if (notes->fd < 0 && errno == EEXIST && unlink(notes->path) == 0)
		notes->fd = create_notes(notes->path);
	if (notes->fd >= 0 && write_files(notes, id, files, count) == 0 &&
	    make_text_room(notes) == 0)
		page = mmap(NULL, notes->at + MAPPED_BYTES,
		    PROT_READ | PROT_WRITE, MAP_SHARED, notes->fd, 0);
	if (page == MAP_FAILED) {
		error_system(error, errno, notes->path);
		notes_end(notes, 0);
		return -1;
	}
	notes->page = page;
	signals_bus_range(page, notes->at + MAPPED_BYTES, notes->path);
	return 0;
}

uint8_t *
notes_text(const struct notes *notes)
{
	if (notes->page == NULL || notes->text_room < NOTES_TEXT_MAX)
		return NULL;
	return notes->page + notes->at + NOTE_ROOM;
}

void
notes_put(struct notes *notes, unsigned number, uint64_t begin,
    const void *ending, size_t ending_bytes, const void *data, size_t nbytes)
{
	uint8_t frame[NOTE_ROOM] = { 0 }, *p = frame + FRAME_HEAD_BYTES;
	const size_t text_bytes = nbytes < notes->text_room ? nbytes :
	    notes->text_room;

	if (notes->page == NULL)
		return;
	/*
	 * What the note that is still there says has been written completely:
	 * to that, its text doesn't matter any more.
	 */
	if (data != notes_text(notes))
		memcpy(notes->page + notes->at + NOTE_ROOM, data, text_bytes);
	le_put32(p, number);
	p[4] = (uint8_t)ending_bytes;
	memcpy(p + 5, ending, ending_bytes);
	le_put64(p + 8, begin);
	le_put64(p + 16, ending_bytes + nbytes);
	le_put64(p + 24, text_bytes);
	frame_seal(frame, FRAME_NOTE, NOTE_BYTES);
	/* If a kill divides the copy, its checksum is wrong. */
	memcpy(notes->page + notes->at, frame, sizeof frame);
}

void
notes_end(struct notes *notes, int keep)
{
	if (notes->page != NULL) {
		signals_bus_forget(notes->page);
		munmap(notes->page, notes->at + MAPPED_BYTES);
	}
	if (notes->fd >= 0) {
		if (!keep)
			unlink(notes->path);
		close(notes->fd);
	}
	free(notes->path);
	*notes = (struct notes)NOTES_NONE;
}

/* --- reading */

/* The frames of a file that is read. */
struct note_reader {
	int fd;
	const char *path;
	uint64_t offset;
	uint8_t data[FRAME_HEAD_BYTES + FRAME_PAYLOAD_MAX];
	struct frame frame;
};

/*
 * Read the next frame; returns its payload, or NULL if it is none. Notes that
 * cannot be read are as good as none, so nobody asks why.
 */
static const uint8_t *
next_frame(struct note_reader *reader)
{
	if (frame_read(reader->fd, reader->path, reader->offset, reader->data,
	    &reader->frame, error_ignored()) != 0)
		return NULL;
	reader->offset += FRAME_HEAD_BYTES + reader->frame.nbytes;
	return reader->data + FRAME_HEAD_BYTES;
}

static void
decode_file(const uint8_t *p, size_t nbytes, struct notes_file *file)
{
	file->format = frame_format(p + 4);
	file->device = le_get64(p + 8);
	file->inode = le_get64(p + 16);
	file->path = memory_or_die(strndup((const char *)p + FILE_HEAD_BYTES,
	    nbytes - FILE_HEAD_BYTES));
}

/* Read the text of a note: the ending, then what is behind the frame. */
static int
read_note_text(struct note_reader *reader, const uint8_t *ending,
    size_t text_bytes, struct note *note)
{
	const size_t before = (size_t)note->ending;

	note->text_bytes = before + text_bytes;
	note->text = memory_or_die(malloc(note->text_bytes + 1));
	memcpy(note->text, ending, before);
	return io_pread(reader->fd, note->text + before, text_bytes,
	    reader->offset) == (ssize_t)text_bytes;
}

/* Decode the note, and take the file that it is about from `files`. */
static int
decode_note(struct note_reader *reader, const uint8_t *p,
    struct notes_file files[], struct note *note)
{
	const uint32_t number = le_get32(p);
	const uint64_t text_bytes = le_get64(p + 24);

	note->ending = p[4];
	note->begin = le_get64(p + 8);
	note->nbytes = le_get64(p + 16);
	if (number >= NOTES_FILES || files[number].path == NULL ||
	    note->ending > NOTES_ENDING_MAX || text_bytes > NOTES_TEXT_MAX ||
	    note->ending + text_bytes > note->nbytes)
		return 0;
	note->file = files[number];
	files[number].path = NULL;
	return read_note_text(reader, p + 5, (size_t)text_bytes, note);
}

static int
read_frames(struct note_reader *reader, const uint8_t id[FILTER_ID_BYTES],
    struct note *note)
{
	struct notes_file files[NOTES_FILES] = { { 0 } };
	const uint8_t *p = next_frame(reader);
	int result = 0;

	if (p == NULL || reader->frame.kind != FRAME_BEGIN ||
	    reader->frame.nbytes != BEGIN_BYTES || le_get32(p) != VERSION ||
	    memcmp(p + 4, id, FILTER_ID_BYTES) != 0)
		return 0;
	while ((p = next_frame(reader)) != NULL &&
	    reader->frame.kind == FRAME_FILE) {
		const uint32_t number = le_get32(p);

		if (reader->frame.nbytes <= FILE_HEAD_BYTES ||
		    number >= NOTES_FILES || files[number].path != NULL)
			break;
		decode_file(p, reader->frame.nbytes, &files[number]);
	}
	if (p != NULL && reader->frame.kind == FRAME_NOTE &&
	    reader->frame.nbytes == NOTE_BYTES)
		result = decode_note(reader, p, files, note);
	for (unsigned i = 0; i < NOTES_FILES; i++)
		free(files[i].path);
	return result;
}

/* What others put there, such as a link or a file of theirs, is left aside. */
static int
there_are_none(int errnum)
{
	return errnum == ENOENT || errnum == ENAMETOOLONG ||
	    errnum == EACCES || errnum == ELOOP || errnum == ENXIO;
}

int
notes_read(const char *filter, const uint8_t id[FILTER_ID_BYTES],
    struct note *note, struct error *error)
{
	char *name = notes_name(filter);
	struct note_reader *reader = memory_or_die(calloc(1, sizeof *reader));
	struct stat st;
	int result = 0;

	*note = (struct note){ 0 };
	reader->path = name;
	do {
		reader->fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW |
		    O_NONBLOCK | O_NOCTTY);
	} while (reader->fd < 0 && errno == EINTR);
	if (reader->fd < 0 && !there_are_none(errno))
		result = error_system(error, errno, name);
	if (reader->fd >= 0 && fstat(reader->fd, &st) == 0 &&
	    path_is_trusted(&st)) {
		result = read_frames(reader, id, note);
		if (result == 0)
			unlink(name);
	}
	if (result != 1)
		note_free(note);
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader);
	free(name);
	return result;
}

void
note_free(struct note *note)
{
	free(note->file.path);
	free(note->text);
	*note = (struct note){ 0 };
}
