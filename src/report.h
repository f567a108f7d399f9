/*
 * What a run tells about itself on standard error: the live line, figures when
 * they are asked for and at the end, and the warnings that matter.
 *
 * There is one run a process, and signals and messages come from where it isn't
 * known: so there is one report, begun and ended by the run.
 */
#ifndef REPORT_H
#define REPORT_H

#include "options.h"
#include "pipeline.h"

/*
 * The run of `pipeline` begins, its filter is open. Both, and the options, must
 * live until report_end. `total` is what input_position will come to, or 0.
 */
void report_begin(const struct options *options,
    const struct pipeline *pipeline, uint64_t total);

/* No live line and no figures from now on. */
void report_end(void);

/* A message; the live line makes room for it. At any time. */
void report_notice(const char *text);

/* For struct pipeline's watch, and struct input_plan's interrupted. */
void report_watch(struct pipeline *pipeline, enum pipeline_moment moment);
void report_interrupted(void *context);

/* At the run's end: the figures, if they are wanted. */
void report_stats(void);

/* What people should know of the filter, once a run. */
void report_filter_warnings(void);

/* On a terminal: key options that nobody gave are in use. */
void report_inherited_recipe(const char *filter, const char *stored);

#endif
