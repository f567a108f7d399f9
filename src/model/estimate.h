/*
 * Estimates of how full a layer or a filter is, and of its error rate: from a
 * sample of its pages, or computed from the shapes of its layers.
 */
#ifndef MODEL_ESTIMATE_H
#define MODEL_ESTIMATE_H

#include <stdint.h>

#include "base/error.h"
#include "disk/table.h"

struct filter;

struct estimate {
	double share;      /* share of the bits that are set, 0 to 1 */
	double error_rate; /* rate at which lines that were never seen are found
			    * now, 0 to 1 */
	double lines;      /* marked so far; infinite if all bits are set */
};

/* Returns `lines` as a count: rounded, and at most `limit`. */
uint64_t estimate_lines(const struct estimate *estimate, uint64_t limit);

/*
 * Estimate from at most `pages` pages of layer i of the filter. Pages that
 * cannot be read count as empty, and `error` is filled; else it is unchanged.
 * On a server, pages of bit strings are read together, or not at all, and the
 * number of lines is that of the counter, unless it is clearly too low; the
 * server's own filters have only their counter.
 */
struct estimate estimate_layer(struct filter *filter, unsigned i,
    uint64_t pages, struct error *error);

/*
 * Estimate the union of this layer in a file and others of its shape: `with`
 * has the same sample of those, and `joined` becomes that of all. Ends at the
 * first page that cannot be read; there is no estimate then.
 */
struct estimate estimate_union(struct filter *filter, unsigned i,
    uint64_t pages, const uint8_t *with, uint8_t *joined,
    struct error *error);

/*
 * Returns the rate of unseen lines found in any of the layers with these rates.
 */
double estimate_joined_rate(const double *rates, unsigned count);

/* Returns the rate of the whole filter now, from estimates of its layers. */
double estimate_error_rate(struct filter *filter, uint64_t pages);

/* Returns the share of the capacity that is used, by the counters. */
double estimate_fullness(const struct table *table);

/*
 * Returns the expected number of a run's new lines that were taken for seen:
 * the rate summed up over the new lines, computed from the layers' shapes;
 * `before` is the filter's table when the run began. Negative if unknown: a
 * layer has more lines than it was made for.
 */
double estimate_dropped(const struct table *table,
    const struct table *before);

#endif
