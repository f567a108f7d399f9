/* The operands of a command as the files that it reads. */
#ifndef CLI_OPERANDS_H
#define CLI_OPERANDS_H

#include "base/error.h"

struct options;

/*
 * Set the inputs of a run: the operands, each of which must exist if they are
 * files with lines; or the names in the file of --files0-from, each terminated
 * by a NUL, which become the operands. The last NUL may be missing, and the
 * list may be empty. An empty name is an error that names the record, and so is
 * "-" in a list that is read from standard input. Returns 0, or -1 with `error`
 * filled.
 */
int operands_find_inputs(struct options *options, struct error *error);

#endif
