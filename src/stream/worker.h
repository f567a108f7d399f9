/*
 * The job of a run (pipeline.h). Each thread prepares the lines of a chunk
 * (finds where they end, makes keys and digests, and prefetches cache lines of
 * the filter), and finishes them in turn (looks them up, writes, and marks).
 */
#ifndef STREAM_WORKER_H
#define STREAM_WORKER_H

#include "stream/pipeline.h"
#include "stream/run_plan.h"

/* Does an output of the run get the header of its input, if that has one? */
int worker_prints_header(const struct run *run);

/* Returns the job of `run`, which must live as long as the job is done. */
struct job worker_job(struct run *run);

#endif
