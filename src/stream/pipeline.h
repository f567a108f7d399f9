/*
 * The pipeline takes all of the input through a job, with several threads: that
 * of a run (worker.c), of a partition (partition.c), or of printing keys
 * (keys.c). Each thread has a worker of the job and a chunk of the input, which
 * the worker first prepares, while other threads do the same, and then finishes
 * in turn, in the order of the input.
 */
#ifndef STREAM_PIPELINE_H
#define STREAM_PIPELINE_H

#include <stddef.h>

#include "base/error.h"
#include "stream/input.h"

#define PIPELINE_THREADS_MAX 16

/*
 * All functions but `prepare` and `begin` are called by one thread at a time,
 * and see the results of all chunks before. Those that return an int return 0,
 * or -1 with `error` filled, which ends the pipeline.
 */
struct job {
	void *context;      /* passed to the functions that have no worker */
	unsigned threads;   /* 1 to PIPELINE_THREADS_MAX */
	size_t batch_lines; /* number of lines that are best finished
			     * together */
	int first_pause;    /* milliseconds to wait for the answer to whether
			     * the input pauses after its first lines
			     * (chunk->pauses); 0: it is not asked for */

	/*
	 * Returns a worker that prepares up to `limit` lines of `chunk`, which
	 * the pipeline fills again and again; `end` frees it.
	 */
	void *(*begin)(void *context, struct chunk *chunk, size_t limit);
	void (*end)(void *worker);

	void (*prepare)(void *worker);
	/*
	 * Finish all of the chunk; ends early, with 0, if a signal asks to
	 * stop.
	 */
	int (*finish)(void *worker, struct error *error);
	/* Called when the input pauses: nothing can be read from it now. */
	int (*pause)(void *context, const struct input *input,
	    struct error *error);
	/*
	 * Called when a wait for input was interrupted, by a signal or by its
	 * tick.
	 */
	void (*interrupted)(void *context);
	void (*notice)(const char *text);
};

/*
 * Run the job to the end of the input, or until a signal asks to stop. Lines
 * that were finished before a failure stay so. *input_failed becomes whether a
 * file could not be read, which was reported.
 */
int pipeline_run(const struct job *job, const struct inputs *inputs,
    int *input_failed, struct error *error);

#endif
