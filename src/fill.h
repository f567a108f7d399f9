/*
 * How full a filter is, and what that means: counted in its bits, from a sample
 * of its pages, or computed from the shapes of its layers.
 */
#ifndef FILL_H
#define FILL_H

#include <stdint.h>

#include "filter.h"

/* What the bits of a layer say, from at most `pages` pages of it. */
struct fill {
	double share;      /* of bits set */
	double error_rate; /* at which unseen lines are found in it now */
	double lines;      /* estimated number of lines in it */
};
struct fill fill_of_layer(struct filter *filter, unsigned layer,
    uint64_t pages);

/*
 * The same of a layer of this shape whose pages `read` gives: the i-th of the
 * sample is number `page`. Returns -1 when `read` returns NULL.
 */
int fill_sample(const struct geometry *geometry, uint64_t pages,
    const uint8_t *(*read)(void *context, uint64_t i, uint64_t page),
    void *context, struct fill *fill);

/*
 * The rate of the whole filter now: unseen lines that are found in any layer.
 * From the bits of at most `pages` pages a layer.
 */
double fill_error_rate(struct filter *filter, uint64_t pages);

/*
 * How many of the new lines of a run were taken for seen, expected: the rate
 * summed up over the new lines, computed from the layers' shapes. before[i] is
 * how many lines layer i had when the run began (0 for a later one).
 */
double fill_expected_dropped(const struct filter *filter,
    const uint64_t before[FORMAT_LAYERS_MAX]);

#endif
