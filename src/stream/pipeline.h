/*
 * Takes lines from input to output: split, keys, digests, the batch core,
 * writing. Enforces the program's first rule: no bit of a line reaches the
 * filter before the line was written out.
 */
#ifndef PIPELINE_H
#define PIPELINE_H

#include "base/error.h"
#include "stream/input.h"
#include "stream/run_plan.h"

/*
 * Read to the end, or until a signal asks to stop. Fails if output or filter
 * fail; lines that were written before are still remembered.
 */
int pipeline_run(struct run *run, const struct inputs *inputs,
    struct error *error);

#endif
