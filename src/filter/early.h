/*
 * A new filter for input of unknown size. It is small at first, so that a few
 * lines cost little, and becomes larger once the input turns out to be large,
 * so that many lines are not looked up in a chain of layers.
 */
#ifndef FILTER_EARLY_H
#define FILTER_EARLY_H

#include "base/error.h"

struct filter;

/*
 * *filter is new, not shared, has no window, and may grow. In memory, a filter
 * is put on top of it, which keeps the digests that it marks, for
 * early_enlarge; filter_close closes both. In a file it stays, and becomes
 * larger when it is full: its second layer is for ten million lines.
 */
void early_begin(struct filter **filter);

/*
 * *filter, of early_begin, becomes one for ten million lines, with the same
 * hash and error rate, which remembers the same lines. If there is no room for
 * it, it becomes the one below, which grows when it has to; so does one in a
 * file. Nothing else may use the filter meanwhile. Fails (-1, `error` filled)
 * only if marks cannot be written.
 */
int early_enlarge(struct filter **filter, struct error *error);

#endif
