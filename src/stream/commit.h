/*
 * What a run keeps back until its end, with --sync and --atomic: marks in the
 * filter, new files without their names, and text for outputs that keep what
 * they have. It becomes visible at one moment, and what a crash interrupts is
 * finished by the next run (disk/journal.h).
 *
 * Functions return 0, or -1 with `error` filled.
 */
#ifndef STREAM_COMMIT_H
#define STREAM_COMMIT_H

#include "base/error.h"
#include "stream/run_plan.h"

/* Begin to keep back what the run's plan promises; its outputs are open. */
int commit_prepare(struct run *run, struct error *error);

/*
 * Give the outputs all that was kept back, as files that are complete, and then
 * mark the lines. To be called once, when the run has succeeded; with --sync
 * also when it has failed, for the lines that were written before. If it fails,
 * no line is marked that is not in the outputs.
 */
int commit_run(struct run *run, struct error *error);

#endif
