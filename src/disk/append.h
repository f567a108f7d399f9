/*
 * A regular file to whose end records are added: the only writer of lines to
 * files. Whoever else writes there, and whoever was killed while doing so, each
 * record that append_records reports as written is whole in the file, and
 * begins a record of its own there. A record may be there twice, if another
 * program wrote at the same moment; none is lost.
 *
 * No lock is taken for that, since other programs do not take it. Instead, the
 * end of the file is looked at before each write, which costs one lseek(2)
 * while nobody else writes, and after it, the position says where the write
 * went: others may have written in between. A torn record that is found at the
 * end gets an end of its own, so that nothing is glued to it.
 *
 * Nothing of this holds beside writers on other hosts: network file systems
 * emulate O_APPEND, and may show an end of the file that is out of date.
 */
#ifndef DISK_APPEND_H
#define DISK_APPEND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"
#include "disk/lock_wait.h"
#include "disk/notes.h"
#include "key/record.h"

struct append {
	int fd;               /* -1: the file is not appended to; not owned */
	const char *name;     /* name for messages; not copied */
	struct record_format format;
	void (*notice)(const char *text); /* messages */
	struct notes *notes;  /* notes of what is written, or NULL; not owned */
	unsigned number;      /* number of this file in the notes */
	uint64_t scanned;     /* offset up to which the file was scanned for
			       * records, or APPEND_UNKNOWN */
	struct csv_state state; /* state of that scan; for lines, only whether
				 * it is at the beginning of one */
	int is_torn;          /* did a failed write leave a torn record? */
	int is_blind;         /* was it said that the file cannot be read? */
	int is_shared;        /* have others been seen to write to it? */
	unsigned pauses;      /* number of pauses for writers of half a record
			       * in the current minute */
	uint64_t minute;      /* beginning of that minute, by clock_now */
	unsigned endings;     /* number of torn records that got an end and were
			       * not reported yet */
	uint64_t told;        /* time of the last such report, by clock_now; 0:
			       * there was none */
};

#define APPEND_NONE { .fd = -1 }
#define APPEND_UNKNOWN UINT64_MAX

/*
 * Begin to append to the open file `fd`, if it is a regular file that is open
 * with O_APPEND or stands at its end; a position behind the end is moved there.
 * Returns 1 if so; otherwise 0, and append->fd is -1.
 */
int append_begin(struct append *append, int fd, const char *name,
    const struct record_format *format, void (*notice)(const char *text));

/*
 * If it is the file with this inode, a record begins at `offset`
 * (APPEND_UNKNOWN: nothing is known).
 */
void append_expect(struct append *append, uint64_t inode, uint64_t offset);

/* A record begins at `offset` of the file. */
void append_expect_at(struct append *append, uint64_t offset);

/*
 * Describe the file for notes: its path, which the caller frees, is that by
 * which the system knows the descriptor. Returns -1 if there is none.
 */
int append_describe(const struct append *append, struct notes_file *file);

/*
 * Append a piece that consists of whole records. *written becomes how many of
 * its bytes are whole records in the file: all of them, or fewer after a
 * failure (-1, with `error` filled), which leaves no part of a record if that
 * can be cut off; otherwise the error says that the file is torn, and is_torn
 * is set. Fails, too, if the file cannot be read and has CSV in it: nobody
 * could tell whether it ends within quotes.
 */
int append_records(struct append *append, const void *data, size_t nbytes,
    uint64_t *written, struct error *error);

/*
 * Begin the file with a header, which is one record. Only one of several runs
 * that begin a file together does so. Returns 1 if the file has contents: then
 * nothing is written, but the rest of a header that was torn. `wait` says how
 * long to wait for another run that holds the lock below.
 */
int append_header(struct append *append, const void *data, size_t nbytes,
    const struct lock_wait *wait, struct error *error);

/*
 * Does the file end with a whole record now? If it does not, wait a moment for
 * the program that may still be writing one, and then end it. Returns 0, or -1
 * with `error` filled. append->scanned is then where the last whole record
 * ends, whatever others have written behind it since.
 */
int append_end_torn(struct append *append, struct error *error);

/*
 * Finish what a note of a killed run says: if the file ends within the noted
 * bytes, cut it back to the end of its last whole record, and tell `notice`.
 * `opened` is a descriptor of ours that may be the same file, or -1: a file can
 * be cut only if nobody else has it open, and we count as somebody else.
 *
 * *whole becomes an offset of the file with the note's inode at which a record
 * begins, or APPEND_UNKNOWN. Returns 1 if the note is of no use any more, and 0
 * if the file should be cut, but cannot be now.
 */
int append_settle(const struct note *note, const int *opened, size_t count,
    void (*notice)(const char *text), uint64_t *whole);

/*
 * How many bytes of `data`, which begins with a record, are whole records?
 */
size_t append_whole(const struct record_format *format, const uint8_t *data,
    size_t nbytes);

#endif
