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
	uint64_t pages, bits; /* in the sample */
};

/*
 * The rate at which unseen lines are found in a layer once it has so many
 * lines. One without a shape is a server's, with the textbook's.
 */
double estimate_rate(const struct layer_entry *layer, double lines);

/* `lines` as a count: rounded, at most `limit`. */
uint64_t estimate_lines(const struct estimate *estimate, uint64_t limit);

/*
 * Estimate from pages of a layer of this shape, beginning with all zeros: add
 * each page of a sample, then end. For a sample of `pages` of `total` pages,
 * the i-th one is number estimate_page.
 */
uint64_t estimate_page(uint64_t total, uint64_t pages, uint64_t i);
void estimate_add(struct estimate *estimate, const struct geometry *geometry,
    const uint8_t *page);
void estimate_end(struct estimate *estimate, const struct geometry *geometry);

/*
 * Estimate from at most `pages` pages of layer i of the filter; on a server, by
 * its counter alone. Pages that can't be read count as empty, and `error` is
 * filled; else it is unchanged.
 */
struct estimate estimate_layer(struct filter *filter, unsigned i,
    uint64_t pages, struct error *error);

#endif
