/* Runs of lines: through a filter (run.c), or into parts (partition.c). */
#ifndef STREAM_RUN_H
#define STREAM_RUN_H

#include "base/error.h"
#include "stream/run_plan.h"

/* Returns the plan's input, read as the recipe says. */
struct inputs run_inputs(const struct run_plan *plan,
    const struct key_recipe *recipe);

/* Refuse outputs that are inputs or the filter, before anything is made. */
int run_check_outputs(const struct run_plan *plan,
    const struct inputs *inputs, struct error *error);

/*
 * Run lines through `filter`, which is closed in any case. The run ends in an
 * order in which marks are applied only after the promised sync. Returns
 * STATUS_OK, STATUS_FAILED if an input failed, or -1 with `error` filled. *run
 * needs no initialization; its figures stay.
 */
int run_lines(struct run *run, const struct run_plan *plan,
    struct filter *filter, const struct key_recipe *recipe,
    struct error *error);

/* The findings of a partition. */
struct partition_figures {
	uint64_t lines;
	struct key_figures keys;
};

/* Fails (STATUS_USAGE) if it does not have exactly one "%d". */
int partition_check_pattern(const char *pattern, struct error *error);

/*
 * Partition the plan's input into plan->parts, by the part that the lines' keys
 * are in (key/recipe.h): with the number of the part in front, or each in a
 * file of its own. Nothing is remembered. plan->output has one "%d" for the
 * number, as partition_check_pattern has it; NULL: print to standard output.
 * With plan->atomic, no file gets its name before all are complete. The recipe
 * is complete. Returns STATUS_OK, STATUS_FAILED if an input failed, or -1 with
 * `error` filled. Ends early, with STATUS_OK, when a signal asks to stop.
 */
int partition_run(const struct run_plan *plan,
    const struct key_recipe *recipe, struct partition_figures *figures,
    struct error *error);

#endif
