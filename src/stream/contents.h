/*
 * A slip destroys nothing: lines in an old output may be in no other place,
 * since a filter that remembers them does not print them again. So a run does
 * not replace an output that has contents, unless it was told to.
 */
#ifndef STREAM_CONTENTS_H
#define STREAM_CONTENTS_H

#include "base/error.h"
#include "stream/run_plan.h"

/* Is there a regular file with contents at `path`? */
int contents_exist(const char *path);

/* May the contents of the plan's output go, if it has any? */
int contents_may_go(const struct run_plan *plan);

/*
 * Refuse (STATUS_USAGE) an output of the plan that is a regular file with
 * contents, which the run would replace. It may do so with --overwrite. With
 * --atomic, where a run that fails leaves the file as it was, it may do so
 * without a filter; with one, if the file is also an input, and the filter
 * remembers no line, so that each line of the file is new.
 *
 * `filter` is the open one; NULL if the run would make the plan's. An output
 * that finished an earlier run (filter_finished_output) is not replaced, and
 * not refused.
 */
int contents_check(const struct run_plan *plan, const struct inputs *inputs,
    const struct filter *filter, struct error *error);

#endif
