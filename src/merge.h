/*
 * The union of filters that have the same hash with the same secret, the same
 * error rate and the same key recipe.
 *
 * Layers of the same shape are joined by OR where the joined layer stays within
 * the rate that it was made for: then it is the layer that one run over all
 * lines would have made, bit for bit. Others are kept side by side, and their
 * rates add up. What a complete journal of a filter holds is in the union, too.
 */
#ifndef MERGE_H
#define MERGE_H

#include "error.h"
#include "filter.h"

/*
 * Merge `count` open filters (at least one) into a new file `path`, which has
 * its name when it is whole. If there is one already, it is replaced if
 * `replace`, else the return value is 1. `out` is open afterwards. Reads and
 * writes in order, in bounded memory.
 *
 * Fails (STATUS_USAGE) with the name of the field that differs, the two files
 * and their values, where filters can't be merged.
 */
int merge_filters(struct filter *out, const char *path, int replace,
    struct filter *const *filters, size_t count, struct error *error);

#endif
