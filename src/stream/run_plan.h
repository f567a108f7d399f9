/*
 * The plan of a run of lines, and its state and figures so far. Options are
 * stored in the plan itself, and the code that carries them out reads them
 * there.
 */
#ifndef STREAM_RUN_PLAN_H
#define STREAM_RUN_PLAN_H

#include <stdint.h>
#include <sys/types.h>

#include "disk/journal.h"
#include "disk/notes.h"
#include "key/key.h"
#include "model/use.h"
#include "stream/lines.h"
#include "stream/output.h"
#include "stream/pipeline.h"

struct filter;
struct run;

enum run_print {
	PRINT_NEW,   /* the lines that are not in the filter */
	PRINT_SEEN,  /* the lines that are in the filter, or were earlier in the
		      * input */
	PRINT_MARKED, /* all of them, with "new" or "seen" in front; if nothing
	                 is remembered, with "out" or "in" */
	PRINT_KEYS,   /* the keys of all lines; the filter is not used */
	PRINT_NOTHING
};

/* Moments at which the caller may want to do something. */
enum run_moment {
	MOMENT_BEGINS,
	MOMENT_BEFORE_PRINT, /* lines are about to be written */
	MOMENT_AFTER_BATCH,
	MOMENT_INTERRUPTED,  /* a signal or the time asks for figures */
	MOMENT_ENDS          /* the filter is still open */
};

#define RUN_THREADS_MAX PIPELINE_THREADS_MAX

/* Strings are not copied; NULL: not given. */
struct run_plan {
	const char *filter;     /* its location; NULL: in memory */
	struct filter_use use;
	struct inputs input; /* run_inputs completes it */
	const char *output;     /* NULL: standard output */
	const char *duplicates; /* seen lines go there too; "-": standard
	                           output */
	const char *tee;        /* a file that new lines are added to before
				 * they are printed; needs a filter, and print
				 * is PRINT_NEW or PRINT_NOTHING */
	const char *to_command;
	enum run_print print;
	int remember;           /* are new lines marked? then a duplicate within
				 * the run is a seen line */
	int append, overwrite;  /* flags: add to an old `output`, or replace
				 * it */
	int dry_run;            /* is no file to be changed? */
	int atomic;
	int strict_keys;        /* does a line without the key end the run? */
	int strict_part;        /* does a line of another part end the run? */
	int enlarges;           /* is the filter a new one, made for a size
				 * that is unknown, which becomes larger if the
				 * input is large? */
	unsigned parts;         /* number of parts of `partition` */
	unsigned threads;       /* 1 to RUN_THREADS_MAX; 0: as many as are
				 * worth it */
	/* These two are called by one thread at a time. */
	void (*notice)(const char *text); /* messages */
	void (*report)(const struct run *run, enum run_moment moment);
};

#define RUN_PLAN_DEFAULT { .use = FILTER_WRITE, .input = { .decompress = 1, \
	.format = { .max_bytes = RECORD_MAX_BYTES } } }

struct run {
	const struct run_plan *plan;
	struct filter *filter;
	struct key_recipe recipe;  /* complete */
	struct output output;      /* not used with PRINT_NOTHING */
	struct output duplicates;
	struct output tee;
	struct notes notes;        /* notes about the bytes written to these */
	struct {
		uint64_t inode;
		uint64_t whole;    /* offset at which a record begins in the
				    * file with this inode, by the notes of an
				    * earlier run; or APPEND_UNKNOWN */
	} settled;
	struct journal spool;      /* text that is appended to these in the end,
				    * with --atomic without a filter */
	pid_t child;               /* process of --to-command; 0: none */

	/* figures */
	uint64_t lines_read;
	uint64_t lines_new;
	uint64_t lines_passed;     /* lines passed over because they are of
				    * other parts */
	uint64_t position;         /* position in the input, as in struct
				    * chunk */
	uint64_t bytes_read;       /* bytes of these lines, headers included */
	uint64_t several;          /* keys that contain the end of a line, of
				    * those that were printed */
	struct key_position first_several; /* the line of the first such key */
	struct key_figures keys;
	struct reading reading;
	int input_failed;
	unsigned threads;          /* number of threads that worked */
	int began;                 /* have lines been asked for? */
	const struct inputs *inputs;
	struct {
		int known;
		uint64_t bytes;    /* input_total of the inputs */
	} total;                   /* see expect_lines in worker.c */
};

#endif
