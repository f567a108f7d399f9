/*
 * The batch loop: the way of a line from input to output. Owner of the
 * program's first rule: no bit of a line reaches the filter before the line
 * was written out.
 */
#ifndef PIPELINE_H
#define PIPELINE_H

#include <stdint.h>

#include "error.h"
#include "filter.h"
#include "hold.h"
#include "input.h"
#include "key.h"
#include "output.h"
#include "team.h"

enum pipeline_print {
	PRINT_NEW,   /* the lines that are not in the filter */
	PRINT_SEEN,  /* the lines that are */
	PRINT_NOTHING
};

/* Moments at which whoever runs the pipeline may want to do something. */
enum pipeline_moment {
	MOMENT_BEFORE_PRINT, /* lines are about to be written */
	MOMENT_AFTER_BATCH
};

struct pipeline {
	struct input *input;
	struct output *output;     /* not used with PRINT_NOTHING */
	struct output *duplicates; /* seen lines go there too; or NULL */
	struct filter *filter;
	struct hold *hold;         /* marks go there if not NULL */
	struct team *team;         /* or NULL; the filters may have it, too */
	const struct key_recipe *recipe; /* complete */
	enum pipeline_print print;
	int remember;              /* new lines are marked; a repeat within
	                              the run is then a seen line */
	void (*watch)(struct pipeline *, enum pipeline_moment); /* or NULL */

	/* figures, counted by the run; all zero before it */
	uint64_t lines_read;
	uint64_t lines_new;
};

/*
 * Read to the end, or until a signal asks to stop. Fails when output or
 * filter fail; what was written out before is then remembered all the same.
 */
int pipeline_run(struct pipeline *pipeline, struct error *error);

#endif
