/*
 * How full a filter is, and what that means: from a sample of its bits, or
 * computed from the shapes of its layers.
 */
#ifndef FIGURES_H
#define FIGURES_H

#include <stdint.h>

#include "base/error.h"
#include "model/estimate.h"
#include "filter/filter.h"

/* The rate of unseen lines found in any of the layers with these rates. */
double figures_joined_rate(const double *rates, unsigned count);

/*
 * The rate of the whole filter now, from the bits of at most `pages` pages a
 * layer. Pages that can't be read count as empty.
 */
double figures_error_rate(struct filter *filter, uint64_t pages);

/* The share of its capacity that is used, by the counters. */
double figures_fullness(const struct filter *filter);

/*
 * The expected number of a run's new lines that were taken for seen: the rate
 * summed up over the new lines, computed from the layers' shapes; `before` is
 * the filter's table when the run began. Negative if unknown: a layer has more
 * lines than it was made for.
 */
double figures_expected_dropped(const struct filter *filter,
    const struct table *before);

/*
 * Read the whole layer i, which has a checksum. Returns 1 if it is right, 0 if
 * not, -1 with `error` filled (it could not be read, or a signal asks to stop).
 */
int figures_verify_layer(struct filter *filter, unsigned i,
    struct error *error);

#endif
