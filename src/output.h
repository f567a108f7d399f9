/*
 * Where lines go: standard output or a file, with write(2) and nothing
 * between, since a line counts as written when the system has it.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "error.h"
#include "input.h"

struct output {
	int fd;           /* -1 if there is none */
	const char *name; /* for messages; not copied */
	char *target;     /* with --atomic: what the file will be named, */
	char *hidden;     /* what it is named until output_finish, */
	mode_t mode;      /* and its mode from then on */
	int replaces;     /* there was a file of that name */
	int unsafe;       /* this errno, if a sync has failed: that is final */
	uint64_t nbytes;  /* written so far */
	/* Called when a signal that doesn't stop interrupts a wait; or NULL. */
	void (*interrupted)(void *context);
};

#define OUTPUT_NONE { .fd = -1 }

/*
 * Open `path` for writing, or take standard output if it is NULL. Refused if
 * it is also an input, or `filter`, or that one's journal. What an old file
 * holds stays until output_begin. `path` must live as long as the output.
 *
 * If `atomic`, a regular file is made anew under a temporary name, which nobody
 * else may read, and `path` stays what it is until output_finish; then it may
 * also be an input.
 */
int output_open(struct output *output, const char *path, int atomic,
    const struct input_plan *inputs, const char *filter, struct error *error);

/*
 * Only look whether output_open would refuse it, before anything else is
 * opened or made.
 */
int output_check(const char *path, int atomic, const struct input_plan *inputs,
    const char *filter, struct error *error);

/* All is well, lines will be written: cut off an old file's content. */
int output_begin(struct output *output, struct error *error);

/*
 * Are both the same regular file, one that is there or one that isn't yet?
 * NULL is standard output.
 */
int output_is_same(const char *a, const char *b);

/*
 * Can it be synced? A pipe or a terminal can't: STATUS_USAGE, with a word. NULL
 * is standard output; what isn't there will be a file.
 */
int output_check_sync(const char *path, struct error *error);

/* The same of what is open; what was opened by name has it on the disk. */
int output_sync_name(const struct output *output, struct error *error);

/* What was written is on the disk; nothing is done where that can't be. */
int output_sync(struct output *output, struct error *error);

/*
 * The run ended well: all that can be done before the file gets its name, of
 * which the sync can fail; then the name.
 */
int output_settle(struct output *output, struct error *error);
int output_finish(struct output *output, struct error *error);

/*
 * A run that was killed can leave a torn last line in a file that is being
 * appended to. If so, end it with `terminator`, and say so to `notice`, so
 * that no line is glued to it. Waits as long as others append to it, but not
 * longer than a second.
 */
int output_mend(struct output *output, char terminator,
    void (*notice)(const char *text), struct error *error);

/*
 * Write all of it, waiting as long as it takes. Returns 0; or -1 on an error
 * or when a signal that asks to stop interrupts the wait (then error->status
 * is 128 + its number). In any case *written is how many bytes the system took.
 */
int output_write(struct output *output, const void *data, size_t nbytes,
    size_t *written, struct error *error);

/*
 * Close what was opened, and remove what was not finished. The last chance for
 * the system to say no.
 */
int output_close(struct output *output, struct error *error);

#endif
