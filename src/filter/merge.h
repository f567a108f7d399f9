/*
 * The union of filters that have the same hash with the same secret, the same
 * error rate and the same key recipe.
 *
 * Layers of the same shape are joined by OR where the joined layer stays within
 * the rate that it was made for: then it is the layer that one run over all
 * lines would have made, bit for bit. Others are kept side by side, and their
 * rates add up. With a window by time, that is so for each generation; windows
 * of new lines have no common order, and are refused. So is a filter with a
 * complete journal.
 */
#ifndef MERGE_H
#define MERGE_H

#include "base/error.h"
#include "filter/filter.h"

/*
 * Merge `count` open filters (at least one) into a new file `path`, which gets
 * its name once it is complete. An existing one is replaced if `replace`, else
 * 1 is returned. *out is then open. Reads and writes in order, in bounded
 * memory.
 *
 * Fails (STATUS_USAGE) with the name of the field that differs, the two files
 * and their values, where filters can't be merged.
 */
int merge_filters(struct filter **out, const char *path, int replace,
    struct filter *const *filters, size_t count, struct error *error);

#endif
