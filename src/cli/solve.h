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
 * Solve for the rest; defaults apply where fewer than two are given. With a
 * window, `bytes` becomes the maximum size of the file, and a window of lines
 * sets the capacity.
 */
int solve(struct sizing *sizing, const struct window *window,
    struct error *error);

/* The filter of this size, with a new secret; `growth` may be -1. */
struct filter_design solve_design(const struct sizing *sizing,
    const struct window *window, int growth,
    const struct key_recipe *recipe);

#endif
