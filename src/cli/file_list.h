/* --files0-from: names of files, each terminated by a NUL. */
#ifndef FILE_LIST_H
#define FILE_LIST_H

#include <stddef.h>

#include "base/error.h"
#include "cli/options.h"

struct file_list {
	char **paths;
	size_t count;
	char *text; /* holds the names */
};

/*
 * Read the names from the file `path`, or from standard input if it is "-".
 * The last NUL may be missing, and the list may be empty. An empty name is an
 * error, and so is "-" in a list that is read from standard input. Returns 0,
 * or -1 with `error` naming the record. Call file_list_free in any case.
 */
int file_list_read(struct file_list *list, const char *path,
    struct error *error);
void file_list_free(struct file_list *list);

/* Call `run` with the plan; with --files0-from, on the files listed there. */
int file_list_run(const struct options *options, struct run_plan plan,
    int (*run)(const struct options *, const struct run_plan *,
    struct error *), struct error *error);

#endif
