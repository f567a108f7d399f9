/*
 * Lines, sorted out by the part that their keys are in (key/part.h): with the
 * number of the part in front, or each part in a file of its own. Nothing is
 * remembered.
 */
#ifndef PARTITION_H
#define PARTITION_H

#include "base/error.h"
#include "key/key.h"
#include "stream/run_plan.h"

/* What was found out on the way. */
struct partition_figures {
	uint64_t lines;
	struct key_figures keys;
};

/* Fails (STATUS_USAGE) if it does not have exactly one "%d". */
int partition_check_pattern(const char *pattern, struct error *error);

/*
 * Partition the plan's input into plan->parts. plan->output has one "%d" for
 * the number, as partition_check_pattern has it; NULL: print to standard
 * output. With plan->atomic, no file gets its name before all are complete. The
 * recipe is complete. Returns STATUS_OK, STATUS_FAILED if an input failed, or
 * -1 with `error` filled. Ends early, with STATUS_OK, when a signal asks to
 * stop.
 */
int partition_run(const struct run_plan *plan,
    const struct key_recipe *recipe, struct partition_figures *figures,
    struct error *error);

#endif
