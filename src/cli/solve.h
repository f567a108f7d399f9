/*
 * Two of lines, error rate and memory determine the third. size and create both
 * compute it here, so size prints what create makes.
 */
#ifndef SOLVE_H
#define SOLVE_H

#include "base/error.h"
#include "bits/sizing.h"
#include "cli/options.h"
#include "disk/format.h"

/* The values of -n, -p, -m, --hashes and --on-full; 0 if not given. */
struct sizing solve_given(const struct options *options);

/*
 * The same for a filter with a window: `bytes` is the maximum size of its file,
 * and a window of lines sets the capacity.
 */
int solve_window(struct sizing *sizing, const struct window *window,
    struct error *error);

/* Solve for the rest; defaults apply where fewer than two are given. */
int solve(struct sizing *sizing, struct error *error);

#endif
