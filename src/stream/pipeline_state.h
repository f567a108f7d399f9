/*
 * What a pipeline does with the lines of its input, and its figures so far.
 */
#ifndef PIPELINE_STATE_H
#define PIPELINE_STATE_H

#include <stdint.h>

#include "key/key.h"
#include "stream/output.h"

struct filter;

enum pipeline_print {
	PRINT_NEW,   /* the lines that are not in the filter */
	PRINT_SEEN,  /* the lines that are */
	PRINT_NOTHING
};

/* Moments at which the caller may want to do something. */
enum pipeline_moment {
	MOMENT_BEGINS,
	MOMENT_BEFORE_PRINT, /* lines are about to be written */
	MOMENT_AFTER_BATCH,
	MOMENT_INTERRUPTED,  /* by a signal that asks for figures, or by time */
	MOMENT_ENDS          /* the filter is still open */
};

#define PIPELINE_THREADS_MAX 16

struct pipeline {
	struct output *output;     /* not used with PRINT_NOTHING */
	struct output *duplicates; /* seen lines go there too; or NULL */
	struct filter *filter;
	const struct key_recipe *recipe; /* complete */
	enum pipeline_print print;
	int remember;              /* new lines are marked; a repeat within
	                              the run is then a seen line */
	int strict_keys;           /* fail at a line without the key */
	int strict_part;           /* fail at a line of another part */
	int claim;                 /* mark lines before they are printed, so
	                              that no other client prints them */
	unsigned threads;          /* 1 to PIPELINE_THREADS_MAX */
	/* These two are called by one thread at a time. */
	void (*watch)(void *context, enum pipeline_moment moment);
	void *context;
	void (*notice)(const char *text); /* what is wrong with a file */

	/* figures, counted by the run; all zero before it */
	uint64_t lines_read;
	uint64_t lines_new;
	uint64_t lines_passed;     /* over, since they are of other parts */
	uint64_t position;         /* input_position */
	uint64_t bytes_read;       /* of these lines, and headers */
	struct key_figures keys;
	struct key_place place;    /* the line that is finished next */
	uint8_t *header;           /* of the first file; NULL: none yet */
	size_t header_bytes;
	int input_failed;
	int began;                 /* pipeline_run was called */
};

#endif
