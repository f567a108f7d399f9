/* Full filters, and the layers that they grow by. */
#ifndef GROWTH_H
#define GROWTH_H

#include "base/error.h"
#include "disk/format.h"

/* Sets error: all layers are full, and the filter may not grow. Returns -1. */
int growth_is_full(const char *name, const struct table *table,
    struct error *error);

/*
 * The capacity of the layer after those from `first` on: twice that of the
 * largest one, which after a merge need not be the last. The rest of *layer,
 * except the time, is 0. Returns -1 with STATUS_FULL if the table has `most`
 * layers, or the capacity is too large for a layer.
 */
int growth_capacity(const char *name, const struct table *table,
    unsigned first, unsigned most, struct layer_entry *layer,
    struct error *error);

/* The next layer of a filter for `error_rate`, without its place. */
int growth_layer(const char *name, const struct table *table,
    double error_rate, struct layer_entry *layer, struct error *error);

/* Fails if `nbytes` at `offset` end beyond `max_bytes`. */
int growth_check_size(const char *name, uint64_t offset, uint64_t nbytes,
    uint64_t max_bytes, struct error *error);

#endif
