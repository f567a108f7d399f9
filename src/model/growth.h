/* Full filters, and the layers that they grow by. */
#ifndef MODEL_GROWTH_H
#define MODEL_GROWTH_H

#include <stdint.h>

#include "base/error.h"
#include "bits/sizing.h"
#include "disk/table.h"

struct filter;

/*
 * Fills `error` (STATUS_FULL): the filter holds the `capacity` lines that it is
 * made for, and may not grow. Returns -1.
 */
int growth_is_full(const struct filter *filter, uint64_t capacity,
    struct error *error);

/*
 * Compute the next layer of `table`, which may be the filter's own or a later
 * one; it is not appended. It is for `wanted` lines, and at least for twice as
 * many as the largest one (of the last generation), which after a merge need
 * not be the last; a generation's first one is for `wanted` lines. Its place is
 * after the others, or with a window where no layer of either table is.
 *
 * Returns 0; or -1 with `error` filled: STATUS_FULL if the table has no room
 * for it, the capacity is too large for a layer, or it ends beyond `max_bytes`.
 */
int growth_layer(const struct filter *filter, const struct table *table,
    uint64_t wanted, uint64_t max_bytes, struct layer_entry *layer,
    struct error *error);

/*
 * Compute the size, in bytes, of a file made as `first`, which grows, once it
 * has its second layer. Returns 0, or -1 with STATUS_USAGE if it cannot grow.
 */
int growth_second_size(const struct sizing *first, uint64_t *bytes,
    struct error *error);

/*
 * Returns the capacity, in lines, that the first layer of the next generation
 * should have: a quarter of the window's, or by time as many lines as any
 * generation has, if that is more. So generations do not grow again and again.
 */
uint64_t growth_generation_lines(const struct filter *filter);

#endif
