/*
 * An output of lines: standard output or a file. They are written with
 * write(2), unbuffered, because a line counts as written when the system has
 * it.
 */
#ifndef STREAM_OUTPUT_H
#define STREAM_OUTPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "disk/append.h"
#include "disk/replaced.h"
#include "stream/input.h"

struct output {
	int fd;           /* -1 if there is none */
	const char *name; /* name for messages; not copied */
	char *path;       /* absolute name of a regular file, links
			   * resolved, with OUTPUT_ATOMIC; else NULL */
	char *target;     /* name that a new file gets in output_finish, with
			   * --atomic; else NULL */
	char *hidden;     /* temporary name until then; NULL if it has none */
	struct replaced replaced; /* the file that `target` leads to */
	int appends;      /* is an old file continued? */
	int unsafe;       /* errno if a sync has failed, which is final; or 0 */
	int failed;       /* has a write failed, or was one stopped? */
	int writer;       /* the descriptor to write to; 0: not chosen yet */
	int is_socket;    /* is it a socket? valid once `writer` is chosen */
	uint64_t nbytes;  /* bytes written so far */
	int is_redone;    /* does the text go to `divert`? with OUTPUT_ATOMIC,
			   * for a file that is appended to */
	int (*divert)(void *context, const struct output *output,
	    const void *text, size_t nbytes, struct error *error);
	unsigned number;  /* number of this output, for `divert` */
	int is_header;    /* is what is written now a header? */
	/* A regular file that is written to at its end (disk/append.h). */
	struct append append;
	/* Called when a signal interrupts a wait but not the run; or NULL. */
	void (*interrupted)(void *context);
	void *context;
};

#define OUTPUT_NONE \
	{ .fd = -1, .replaced = REPLACED_NONE, .append = APPEND_NONE }

/*
 * Refuse an output that is an input, `filter`, or its journal. NULL is standard
 * output.
 */
int output_check(const char *path, int atomic, const struct inputs *inputs,
    const char *filter, struct error *error);

enum output_how {
	OUTPUT_DIRECT,
	/*
	 * A regular file is written without a name, or where that is not
	 * possible, under a temporary one, and nobody else may read it. `path`
	 * does not change until output_finish; so it may also be an input.
	 *
	 * But a file that is appended to stays, and is_redone is set: the
	 * caller sets `divert`, and appends the text in the end (disk/redo.h);
	 * if there is no such file yet, the caller makes it then, and fd is -1.
	 */
	OUTPUT_ATOMIC
};

/*
 * Open `path` for writing, or take standard output if it is NULL. An existing
 * file keeps its content until output_begin, or if `append`, for good. `path`
 * must live as long as the output.
 */
int output_open(struct output *output, const char *path, enum output_how how,
    int append, struct error *error);

/*
 * Once nothing can be refused any more: truncate an old file, unless it stays
 * or may not be emptied, and keep other runs from emptying or replacing it
 * while it is open (OUTPUT_CONTENTS). Waits for other runs that write to a file
 * that is to be emptied, as `wait` says (STATUS_LOCKED after the timeout).
 */
int output_begin(struct output *output, int may_be_emptied,
    const struct lock_wait *wait, struct error *error);

/* Are both the same regular file, existing or not? NULL: standard output. */
int output_is_same(const char *a, const char *b);

/*
 * Can it be synced? Fails with STATUS_USAGE for a pipe or a terminal. NULL is
 * standard output; a path that does not exist will be a file.
 */
int output_check_sync(const char *path, struct error *error);

/*
 * Sync the name of the open file, or prepare its directory for output_finish.
 * The system knows the name of standard output; if not, nothing is done.
 */
int output_sync_name(const struct output *output, struct error *error);

/* Sync what was written, if there is an output and it can be synced. */
int output_sync(struct output *output, struct error *error);

/*
 * Finish the output of a successful run, step by step: output_secure does what
 * takes time, such as the sync. If there was a file when the run began, which
 * is to be replaced, output_hold keeps other runs from it (replaced_lock), and
 * output_claim other programs (replaced_check): both fail if it is not as it
 * was. output_finish gives the new file its name; if there was no old one, that
 * fails if there is one now.
 */
int output_secure(struct output *output, struct error *error);
int output_hold(struct output *output, const struct lock_wait *wait,
    struct error *error);
int output_claim(struct output *output, void (*notice)(const char *text),
    struct error *error);
int output_finish(struct output *output, struct error *error);

/* Does all that is written go to the end of the file (O_APPEND)? */
int output_is_appended_to(const struct output *output);

/* Will it append to a file that is not empty? */
int output_continues(const struct output *output);

/*
 * Keep the output whole from now on, if it is a regular file that is written to
 * at its end: append_begin.
 */
void output_append(struct output *output, const struct record_format *format,
    void (*notice)(const char *text));

/*
 * Write a piece that consists of whole records, waiting as long as it takes.
 * Returns 0; or -1 on an error or when a signal that asks to stop interrupts
 * the wait (then error->status is 128 + its number). In any case output->nbytes
 * counts what the system took; of a file that is kept whole, only whole
 * records.
 */
int output_records(struct output *output, const void *data, size_t nbytes,
    struct error *error);

/*
 * Lines copied together, so that few writes suffice. Copying a fixed number of
 * bytes takes no branch that depends on the line: OUTPUT_STEP bytes of a line
 * may be read, OUTPUT_TEXT of a text in front of it or behind it, and `data` is
 * longer than `room` by OUTPUT_STEP.
 */
#define OUTPUT_STEP INPUT_PADDING
#define OUTPUT_TEXT 8
struct output_lines {
	uint8_t *data;
	size_t room, used;
};

/* A record that is made of a line and of texts around it, or of one only. */
struct output_record {
	const char *front; /* NULL: there is none */
	size_t front_bytes;
	const uint8_t *line;
	size_t nbytes;
	const char *back;  /* NULL: there is none */
	size_t back_bytes;
};

/* Write the lines, and empty the buffer, even if writing fails. */
int output_flush(struct output *output, struct output_lines *lines,
    struct error *error);

/*
 * Write the lines, so that the record fits into the buffer. Returns 1 if it is
 * larger than that, and was written, too.
 */
int output_make_room(struct output *output, struct output_lines *lines,
    const struct output_record *record, struct error *error);

static inline void
output_copy(struct output_lines *lines, const uint8_t *line, size_t nbytes)
{
	if (nbytes <= OUTPUT_STEP)
		memcpy(lines->data + lines->used, line, OUTPUT_STEP);
	else
		memcpy(lines->data + lines->used, line, nbytes);
	lines->used += nbytes;
}

static inline int
output_add(struct output *output, struct output_lines *lines,
    const uint8_t *line, size_t nbytes, struct error *error)
{
	if (nbytes > lines->room - lines->used) {
		const struct output_record record = { .line = line,
			.nbytes = nbytes };
		int result = output_make_room(output, lines, &record, error);

		if (result != 0)
			return result < 0 ? -1 : 0;
	}
	output_copy(lines, line, nbytes);
	return 0;
}

/* A line with the texts around it is never divided between two writes. */
static inline int
output_add_record(struct output *output, struct output_lines *lines,
    const struct output_record *record, struct error *error)
{
	if (record->front_bytes + record->nbytes + record->back_bytes >
	    lines->room - lines->used) {
		int result = output_make_room(output, lines, record, error);

		if (result != 0)
			return result < 0 ? -1 : 0;
	}
	if (record->front != NULL) {
		memcpy(lines->data + lines->used, record->front, OUTPUT_TEXT);
		lines->used += record->front_bytes;
	}
	output_copy(lines, record->line, record->nbytes);
	if (record->back != NULL) {
		memcpy(lines->data + lines->used, record->back, OUTPUT_TEXT);
		lines->used += record->back_bytes;
	}
	return 0;
}

/*
 * Close what was opened, and remove a file that was not finished. The system
 * may report a write error only now.
 */
int output_close(struct output *output, struct error *error);

#endif
