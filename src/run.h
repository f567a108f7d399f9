/*
 * One run of lines through a filter, from opening to closing: who owns what of
 * it, and in which order it ends, so that nothing is remembered before it is
 * as safe as the options promise.
 */
#ifndef RUN_H
#define RUN_H

#include "child.h"
#include "error.h"
#include "filter.h"
#include "hold.h"
#include "options.h"
#include "output.h"
#include "pipeline.h"

struct run {
	const struct options *options;
	struct filter filter;      /* opened by the command */
	struct hold hold;
	struct key_recipe recipe;  /* complete, when the filter is open */
	struct pipeline pipeline;  /* print and remember are the command's */
	struct output output, duplicates;
	struct child child;
};

/* The options' files, read as the recipe says. */
struct input_plan run_inputs(const struct options *options,
    const struct key_recipe *recipe);

/* Refuse outputs that are inputs or the filter, before anything is made. */
int run_check_outputs(const struct options *options,
    const struct input_plan *inputs, enum pipeline_print print,
    struct error *error);

/*
 * Run it and close everything. Returns the exit status, or -1 with `error`
 * filled. The figures in run->pipeline stay.
 */
int run_lines(struct run *run, struct error *error);

#endif
