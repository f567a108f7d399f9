/*
 * What the options ask of a filter: which one to open, what a new one is made
 * for, and whether an existing one contradicts them.
 */
#ifndef FILTER_OPTIONS_H
#define FILTER_OPTIONS_H

#include "error.h"
#include "filter.h"
#include "input.h"
#include "options.h"

/*
 * Open the filter that the options name for writing, or make it; in memory if
 * they name none. *recipe is what was given of the key's recipe, and becomes
 * the filter's. A new one is planned for the inputs' size if no capacity is
 * given; inputs->report is told if another run is waited for.
 */
int filter_options_open(struct filter *filter, const struct options *options,
    struct key_recipe *recipe, const struct input_plan *inputs,
    struct error *error);

/*
 * Options that describe the filter must say what the open file says
 * (STATUS_USAGE; both are named). *recipe becomes the filter's.
 */
int filter_options_check(const struct options *options,
    const struct filter *filter, struct key_recipe *recipe,
    struct error *error);

#endif
