/*
 * The lines of several files, one file after the other: plain or compressed,
 * of any bytes and any length, as chunks of whole lines in one buffer.
 *
 * An error in one file is reported, and the next file is read; a line that an
 * error cut off is not handed out.
 */
#ifndef STREAM_INPUT_H
#define STREAM_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "key/key.h"

/* What a run reads. */
struct inputs {
	char **paths;      /* "-" is standard input; not copied */
	size_t count;
	struct record_format format; /* what a line is, and what ends it */
	/* If not NULL: each file begins with column names, for this recipe. */
	const struct key_recipe *header;
	int decompress;    /* files that begin like compressed ones */
	int tick;          /* call `interrupted` as often in a wait:
	                      milliseconds, 0: never */
	/* Called with what is wrong with a file. */
	void (*report)(void *context, const char *text);
	/*
	 * Called when a wait is interrupted by a signal that doesn't stop the
	 * run, by signals_wake, or by `tick`: must the input end here? May be
	 * NULL.
	 */
	int (*interrupted)(void *context);
	void *context;
};

/* How messages name a path. */
const char *input_name(const char *path);

/* The position of the last chunk; 0 if unknown (a pipe). */
uint64_t input_total(const struct inputs *plan);

/*
 * About how many lines the regular files have: the size of each divided by the
 * mean length of a line at its beginning (if compressed, with the ratio there).
 * 0 if unknown. Does not move standard input's position.
 */
uint64_t input_estimate(const struct inputs *plan);

/* The name of the first input that is the file `st`; NULL if none is. */
const char *input_same_file(const struct inputs *plan,
    const struct stat *st);

struct input;

/*
 * A part of the input: whole lines, each with its terminator. INPUT_PADDING
 * bytes after it may be read, whatever they are. All zero before its first use.
 */
#define INPUT_PADDING 128
struct chunk {
	const uint8_t *data;
	size_t nbytes;
	uint8_t *buffer;   /* of the chunk; `data` is in it */
	size_t capacity;
	size_t header_bytes; /* of data: the file's header comes first */
	struct columns columns; /* of the file */
	const char *file;  /* its name, for messages; the input's */
	int begins;        /* is this the first part of the file? */
	uint64_t position; /* bytes read from files so far (compressed) */
	int is_packed;     /* is more of a compressed file to come? */
	int pauses;        /* of the first with lines, if the pipeline was
	                      asked to look: did the input pause after it? */
};
void chunk_free(struct chunk *chunk);

/* The plan's paths must live as long as the input. */
struct input *input_new(const struct inputs *plan);
void input_free(struct input *input);

/*
 * Wait for input, then hand out what has arrived, up to `wanted` bytes or one
 * line. Returns 1, or 0 at the end or when told to end, by a signal
 * (signals_stop) or by `interrupted`. The last line of a file gets its
 * terminator if it has none. After a pipe is opened, an empty chunk is handed
 * out before the wait for its data.
 */
int input_next(struct input *input, struct chunk *chunk, size_t wanted);

/* After a wait of at most this long, has input_next still nothing to read? */
int input_pauses(const struct input *input, int milliseconds);

/* Has any file failed so far? */
int input_failed(const struct input *input);

#endif
