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
 * by, without its place: for twice as many lines as the largest one, which
 * after a merge need not be the last. Returns -1 with STATUS_FULL if the table
 * has no room for it, or the capacity is too large for a layer.
 */
int growth_layer(const char *name, const struct header *header,
    const struct table *table, struct layer_entry *layer,
    struct error *error);

/*
 * The first layer of a generation that was just begun (window.h), without its
 * place.
 */
int growth_generation(const struct header *header, const struct table *table,
    struct layer_entry *layer, struct error *error);

/*
 * The place of a new layer of `table`: after the others, or with a window,
 * whose table is then for a file of that length, where no layer of `table` or
 * `among` is. Fails if it ends beyond `max_bytes`.
 */
int growth_place(const char *name, struct table *table,
    const struct table *among, struct layer_entry *layer, uint64_t max_bytes,
    struct error *error);

#endif
