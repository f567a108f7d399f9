/* Full filters, and the layers that they grow by. */
#ifndef GROWTH_H
#define GROWTH_H

#include "base/error.h"
#include "disk/format.h"

/* Sets error: all layers are full, and the filter may not grow. Returns -1. */
int growth_is_full(const char *name, const struct table *table,
    struct error *error);

/*
 * The next layer that the filter, or the last generation of its window, grows
 * by: for `wanted` lines, and at least twice as many as the largest one, which
 * after a merge need not be the last; a generation's first one is for `wanted`
 * lines. Its place is after the others, or with a window where no layer of
 * `table` or `among` is. Returns -1 with STATUS_FULL if the table has no room
 * for it, the capacity is too large for a layer, or it ends beyond `max_bytes`.
 */
int growth_layer(const char *name, const struct header *header,
    const struct table *table, const struct table *among, uint64_t wanted,
    uint64_t max_bytes, struct layer_entry *layer, struct error *error);

/*
 * For how many lines the next generation should begin: a quarter of the
 * window's, or by time as many as any generation of the table has, if that is
 * more. So generations don't grow again and again.
 */
uint64_t growth_generation_lines(const struct header *header,
    const struct table *table);

#endif
