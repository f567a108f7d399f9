/*
 * A filter on top of another one, which it only reads: new lines are remembered
 * in memory, and forgotten when it is closed. For --dry-run.
 */
#ifndef PREVIEW_H
#define PREVIEW_H

#include <stdint.h>

#include "base/error.h"

struct filter;

/*
 * *filter, which may be open for reading only, becomes the filter that does so;
 * closing it closes both. It is full when *filter would be, if that may grow to
 * `max_bytes`; a window doesn't move on meanwhile. On failure *filter is
 * unchanged.
 */
int preview_begin(struct filter **filter, uint64_t max_bytes,
    struct error *error);

#endif
