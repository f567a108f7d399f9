/*
 * Estimates for a layer from a sample of its pages: how many lines are in it,
 * and how often unseen lines are found.
 */
#ifndef ESTIMATE_H
#define ESTIMATE_H

#include <stdint.h>

#include "disk/format.h"

struct filter;

struct estimate {
	double share;      /* of bits set */
	double error_rate; /* at which unseen lines are found now */
	double lines;      /* estimated; infinite if all bits are set */
};

/*
 * The rate at which unseen lines are found in a layer once it has so many
 * lines. One without a shape is a server's, with the textbook's.
 */
double estimate_rate(const struct layer_entry *layer, double lines);

/* `lines` as a count: rounded, at most `limit`. */
uint64_t estimate_lines(const struct estimate *estimate, uint64_t limit);

/*
 * Estimate from at most `pages` pages of a layer of this shape. `read` returns
 * the i-th page of the sample, number `page` of the layer. Returns -1 when
 * `read` returns NULL.
 */
int estimate_sample(const struct geometry *geometry, uint64_t pages,
    const uint8_t *(*read)(void *context, uint64_t i, uint64_t page),
    void *context, struct estimate *estimate);

/*
 * Estimate from at most `pages` pages of layer i of the filter; on a server, by
 * its counter alone. Pages that can't be read count as empty, and `error` is
 * filled; else it is unchanged.
 */
struct estimate estimate_layer(struct filter *filter, unsigned i,
    uint64_t pages, struct error *error);

#endif
