/*
 * Where lines go: standard output or a file, with write(2) and nothing
 * between, since a line counts as written when the system has it.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "input.h"

struct output {
	int fd;
	const char *name; /* for messages; not copied */
	uint64_t nbytes;  /* written so far */
};

/*
 * Open `path` for writing, or take standard output if it is NULL. Refused if
 * it is also an input, or `filter`; only then is an old file's content cut
 * off. `path` must live as long as the output.
 */
int output_open(struct output *output, const char *path,
    const struct input_plan *inputs, const char *filter, struct error *error);

/*
 * A run that was killed can leave a torn last line in a file that is being
 * appended to. If so, end it with `terminator`, and say so to `notice`, so
 * that no line is glued to it.
 */
int output_mend(struct output *output, char terminator,
    void (*notice)(const char *text), struct error *error);

/*
 * Write all of it, waiting as long as it takes. Returns 0; or -1 on an error
 * or when a signal that asks to stop interrupts the wait (then error->status
 * is 128 + its number). *written is how many bytes the system took, in any case.
 */
int output_write(struct output *output, const void *data, size_t nbytes,
    size_t *written, struct error *error);

/* Close what was opened. The last chance for the system to say no. */
int output_close(struct output *output, struct error *error);

#endif
