/* --files0-from: names of files, each terminated by a NUL. */
#ifndef FILE_LIST_H
#define FILE_LIST_H

#include "base/error.h"
#include "cli/options.h"

/*
 * Call `run` with the plan; with --files0-from, on the files listed there. The
 * last NUL may be missing, and the list may be empty. An empty name is an error
 * that names the record, and so is "-" in a list that is read from standard
 * input.
 */
int file_list_run(const struct options *options, struct run_plan plan,
    int (*run)(const struct options *, const struct run_plan *,
    struct error *), struct error *error);

#endif
