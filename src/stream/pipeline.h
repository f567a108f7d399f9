/*
 * The pipeline takes all of the input through a job, with several threads: that
 * of a run (worker.c) or of a partition (partition.c). Each thread has a worker
 * of the job and a chunk of the input, which the worker first prepares, while
 * other threads do the same, and then finishes in turn, in the order of the
 * input.
 */
#ifndef STREAM_PIPELINE_H
#define STREAM_PIPELINE_H

#include <stddef.h>

#include "base/error.h"
#include "stream/input.h"

#define PIPELINE_THREADS_MAX 16
/* No more are started if the job leaves their number open. */
#define PIPELINE_THREADS_AUTOMATIC 4

/*
 * All functions but `prepare` and `begin` are called by one thread at a time,
 * and see the results of all chunks before. Those that return an int return 0,
 * or -1 with `error` filled, which ends the pipeline.
 */
struct job {
	void *context;      /* passed to the functions that have no worker */
	/*
	 * How many work once the input turns out to be large; until then, it
	 * is one. 1 to PIPELINE_THREADS_MAX; or 0, and the pipeline chooses,
	 * once so much input has come without a pause that it must be large:
	 * one for each processor that this process may use, less one for each
	 * program at the other end of a pipe that is read, or of `output`.
	 */
	unsigned threads;
	int output;         /* the descriptor that the job writes to, or -1 */
	size_t batch_lines; /* number of lines that are best finished
			     * together */
	int first_pause;    /* milliseconds to wait for the answer to whether
			     * the input pauses after its first lines
			     * (chunk->pauses); 0: it is not asked for */

	/*
	 * Returns a worker with room for `room` lines of `chunk`, which the
	 * pipeline fills again and again; `end` frees it.
	 */
	void *(*begin)(void *context, struct chunk *chunk, size_t room);
	void (*end)(void *worker);

	/* Prepare the first lines of the chunk, up to `limit`. */
	void (*prepare)(void *worker, size_t limit);
	/*
	 * Finish all of the chunk; ends early, with 0, if a signal asks to
	 * stop.
	 */
	int (*finish)(void *worker, struct error *error);
	/*
	 * Called once, if not NULL, when the input turns out to be large, and
	 * before any thread is started.
	 */
	int (*is_large)(void *context, struct error *error);
	/* Called when the input pauses: nothing can be read from it now. */
	int (*pause)(void *context, const struct input *input,
	    struct error *error);
	/*
	 * Called when a wait for input was interrupted, by a signal or by its
	 * tick; NULL if the job has no figures that a signal could ask for.
	 */
	void (*interrupted)(void *context);
	void (*notice)(const char *text);
};

struct pipeline_done {
	int input_failed;   /* could a file not be read? which was reported */
	unsigned threads;   /* number of threads that worked */
};

/*
 * Run the job to the end of the input, or until a signal asks to stop. Lines
 * that were finished before a failure stay so. *done is filled in any case.
 */
int pipeline_run(const struct job *job, const struct inputs *inputs,
    struct pipeline_done *done, struct error *error);

#endif
