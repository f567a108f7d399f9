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

/* The input of a run, as options describe it. */
struct inputs {
	char **paths;      /* "-" is standard input; not copied */
	size_t count;
	struct record_format format; /* definition of a line, and of its end */
	/*
	 * The recipe whose columns are named by the first record of each file;
	 * NULL: files have no header.
	 */
	const struct key_recipe *header;
	int decompress;    /* are files that begin like compressed ones
			    * decompressed? */
	int tick;          /* milliseconds after which `interrupted` is called
			    * in a wait, again and again; 0: never */
	/*
	 * The function that is called with a text that says what is wrong with
	 * a file.
	 */
	void (*notice)(void *context, const char *text);
	/*
	 * Called when a wait is interrupted by a signal that does not stop the
	 * run, by signals_wake, or by `tick`: must the input end here? May be
	 * NULL.
	 */
	int (*interrupted)(void *context);
	void *context;
};

/* Returns the name that messages give a path. */
const char *input_name(const char *path);

/* Returns the position of the last chunk; 0 if unknown (a pipe). */
uint64_t input_total(const struct inputs *plan);

/*
 * Returns about how many lines the regular files have: the size of each divided
 * by the mean length of a line at its beginning (if compressed, with the ratio
 * there). 0 if unknown. Does not move standard input's position.
 */
uint64_t input_estimate(const struct inputs *plan);

/*
 * Returns the name of the first input that is the file `st`; NULL if none is.
 */
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
	uint8_t *buffer;   /* memory of the chunk, which `data` points into */
	size_t capacity;
	size_t header_bytes; /* bytes at the beginning of `data` that are the
			      * file's header */
	struct columns columns;
	uint8_t *header;   /* copy of its header; NULL: it has none */
	size_t header_length;
	const char *file;  /* its name, for messages; the input's */
	int begins;        /* is this the first part of the file? */
	uint64_t position; /* bytes read from files so far (compressed) */
	int is_packed;     /* is more of a compressed file to come? */
	int is_full;       /* is it as large as was wanted? then more of the
			    * file is likely to be there */
	int pauses;        /* did the input pause after this chunk? only of the
			    * first one with lines, and if the pipeline was
			    * asked to look */
};
void chunk_free(struct chunk *chunk);

/* Allocate the memory of a new chunk now, for input_next with `nbytes`. */
void chunk_reserve(struct chunk *chunk, size_t nbytes);

/* Returns a new input. The plan's paths must live as long as it. */
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

/*
 * Returns whether input_next still has nothing to read after a wait of at most
 * `milliseconds`.
 */
int input_pauses(const struct input *input, int milliseconds);

/* Does another program write what is read now (io_has_peer)? */
int input_has_peer(const struct input *input);

/* Has any file failed so far? */
int input_failed(const struct input *input);

#endif
