/*
 * One run of lines through a filter, from opening to closing. It ends in an
 * order in which marks are applied only after the promised sync.
 */
#ifndef RUN_H
#define RUN_H

#include "base/error.h"
#include "stream/run_plan.h"

/* The plan's input, read as the recipe says. */
struct inputs run_inputs(const struct run_plan *plan,
    const struct key_recipe *recipe);

/* Refuse outputs that are inputs or the filter, before anything is made. */
int run_check_outputs(const struct run_plan *plan,
    const struct inputs *inputs, struct error *error);

/*
 * Run lines through `filter`, which is closed in any case. Returns
 * STATUS_OK, STATUS_FAILED if an input failed, or -1 with `error` filled. *run
 * needs no initialization; its figures stay.
 */
int run_lines(struct run *run, const struct run_plan *plan,
    struct filter *filter, const struct key_recipe *recipe,
    struct error *error);

#endif
