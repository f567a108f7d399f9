/* What a run reads, and what can be said of its files without reading them. */
#ifndef INPUTS_H
#define INPUTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "key/key.h"
#include "key/record.h"

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

#endif
