/*
 * A filter in memory for input of unknown size. It starts small, so that a few
 * lines cost little, and starts over larger once the input turns out to be
 * large, so that many lines are not looked up in a chain of layers.
 */
#ifndef FILTER_EARLY_H
#define FILTER_EARLY_H

#include "base/error.h"

struct filter;

/*
 * Put a filter on top of *filter, which is new, in memory, and may grow. It
 * keeps the digests that it marks, for early_enlarge; filter_close closes both.
 */
void early_begin(struct filter **filter);

/*
 * *filter, of early_begin, becomes one for ten million lines or more, with the
 * same hash and error rate, which remembers the same lines. If there is no
 * memory for it, it becomes the one below, which grows. Nothing else may use
 * the filter meanwhile. Fails only if a mark fails.
 */
int early_enlarge(struct filter **filter, struct error *error);

#endif
