/*
 * The lines of several files, one file after the other: plain or gzip, of any
 * bytes and any length, as chunks of whole lines in one buffer.
 *
 * What is wrong with one file is reported and the next one is read; nothing
 * of a line that an error cut off is handed out.
 */
#ifndef INPUT_H
#define INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "csv.h"
#include "error.h"
#include "team.h"

struct input;

struct input_plan {
	char **paths;      /* "-" is standard input; not copied */
	size_t count;
	char terminator;   /* the byte that ends a line */
	int csv;           /* lines are records of CSV, which can hold it */
	uint8_t separator; /* of its fields */
	int gunzip;        /* inflate what begins like gzip */
	unsigned threads;  /* 2 and more: on a thread of its own, if large */
	struct team *team; /* reads with us, between two chunks; or NULL */
	void (*report)(const char *text); /* told what is wrong with a file */
	/* Called when a signal that doesn't stop interrupts a wait; or NULL. */
	void (*interrupted)(void *context);
	void *context;
};

/*
 * A part of the input: whole lines, each with its terminator. INPUT_PADDING
 * bytes behind it may be read, whatever is there.
 */
#define INPUT_PADDING 64
struct chunk {
	uint8_t *data; /* may be changed; valid until the next input_next */
	size_t nbytes;
};

/* The plan's paths must live as long as the input. */
struct input *input_new(const struct input_plan *plan);
void input_free(struct input *input);

/*
 * Wait for input, then hand out what is there. Returns 1, or 0 at the end or
 * when a signal asks to stop (signals_stop). The last line of a file gets its
 * terminator if it has none. A chunk of no bytes stands before the wait for
 * who writes to a FIFO.
 */
int input_next(struct input *input, struct chunk *chunk);

/* Wait so long at most; is there still nothing that input_next could read? */
int input_pauses(const struct input *input, int milliseconds);

/* How many threads of its own are at work for it now. */
unsigned input_threads(const struct input *input);

/* Has any file failed so far? */
int input_failed(const struct input *input);

/* Bytes handed out so far; bytes read from files so far (gzip's packed). */
uint64_t input_bytes(const struct input *input);
uint64_t input_position(const struct input *input);

/* What input_position will be at the end; 0 if unknown (a pipe). */
uint64_t input_total(const struct input_plan *plan);

/*
 * How many lines the regular files among them have, about: their sizes through
 * the mean length of a line at the beginning of each (inflated by its ratio
 * there). 0 if unknown. Reads without moving standard input's position.
 */
uint64_t input_estimate(const struct input_plan *plan);

/* The name of the first input that is the file `st`; NULL if none is. */
const char *input_same_file(const struct input_plan *plan,
    const struct stat *st);

#endif
