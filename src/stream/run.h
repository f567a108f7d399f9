/*
 * One run of lines through a filter, from opening to closing. It ends in an
 * order in which marks are applied only after the promised sync.
 */
#ifndef RUN_H
#define RUN_H

#include "base/error.h"
#include "key/key.h"
#include "stream/child.h"
#include "stream/input.h"
#include "stream/output.h"
#include "stream/pipeline.h"

struct filter;
struct run;

/* What is to be done. Strings are not copied; NULL: not given. */
struct run_plan {
	const char *filter;     /* its location; NULL: in memory */
	char **paths;           /* "-" is standard input, and so is NULL */
	size_t path_count;
	int gunzip;
	uint64_t passed;        /* bytes of standard input read before */
	int tick;               /* milliseconds between MOMENT_INTERRUPTED in a
	                           wait; 0: only at signals */
	uint64_t max_record;    /* the most bytes of a CSV record */
	const char *output;     /* NULL: standard output */
	const char *duplicates; /* "-": standard output */
	const char *to_command;
	enum pipeline_print print;
	int remember;
	int append, overwrite;  /* what is to become of an old `output` */
	int atomic, sync;
	int strict_keys;        /* fail at a line without the key */
	int strict_part;        /* fail at a line of another part */
	int claim;              /* remember lines before they are printed */
	unsigned threads;       /* at least 1 */
	void (*notice)(const char *text); /* messages; at any time */
	void (*tell)(const struct run *run, enum pipeline_moment moment);
};

struct run {
	const struct run_plan *plan;
	struct filter *filter;
	struct key_recipe recipe;  /* complete */
	struct pipeline pipeline;
	struct output output, duplicates;
	struct child child;
};

/* The plan's input, read as the recipe says. */
struct input_plan run_inputs(const struct run_plan *plan,
    const struct key_recipe *recipe);

/* Refuse outputs that are inputs or the filter, before anything is made. */
int run_check_outputs(const struct run_plan *plan,
    const struct input_plan *inputs, struct error *error);

/*
 * Run lines through `filter`, which is closed in any case. Returns
 * STATUS_OK, STATUS_FAILED if an input failed, or -1 with `error` filled. *run
 * needs no initialization; the figures in run->pipeline stay.
 */
int run_lines(struct run *run, const struct run_plan *plan,
    struct filter *filter, const struct key_recipe *recipe,
    struct error *error);

#endif
