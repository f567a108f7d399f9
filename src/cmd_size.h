/* What create shares with size, so that what is told is what is made. */
#ifndef CMD_SIZE_H
#define CMD_SIZE_H

#include "options.h"
#include "sizing.h"

/*
 * Solve for what the options leave open of -n, -p, -m and --hashes, with the
 * defaults where less than two are given.
 */
int solve_from_options(const struct options *options, struct sizing *sizing,
    struct error *error);

/* try --measure: make the filter in memory, fill it, and look. */
int measure(const struct options *options, const struct sizing *sizing,
    struct error *error);

#endif
