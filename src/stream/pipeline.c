/*
 * The input hands out chunks of whole lines. A thread takes one, prepares its
 * lines, and when its turn comes, finishes them batch by batch. Turns are in
 * the order of the input, so the output is the same with any number of threads;
 * there is one hand-over per chunk, and what a thread marks is in its own
 * cache.
 *
 * With one thread, a batch is finished before the next one is prepared, so that
 * its bytes, its digests and its cache lines of the filter stay in the second
 * level cache.
 */
#include "stream/pipeline.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/signals.h"
#include "base/thread.h"
#include "bits/loops.h"
#include "bits/scan.h"

/* This many are prepared before a turn: what the second level cache holds. */
#define AHEAD_LINES 8192
/* Much of the input that is a chunk fits in the second level cache. */
#define CHUNK_BYTES (128 * 1024)
/*
 * Of compressed input: with each hand-over its window of megabytes moves to
 * another cache, and a thread that waits for it falls asleep.
 */
#define PACKED_BYTES (1024 * 1024)
/* Of a file, chunks are whole pages. */
#define CHUNK_BYTES_LEAST 4096
/* One of so many chunks is measured: how long are lines? */
#define CHUNKS_MEASURED 16

/* What all threads share. */
struct flow {
	const struct job *job;
	struct inputs inputs;
	struct input *input;
	pthread_mutex_t source; /* of who takes chunks from the input */
	uint64_t taken;         /* chunks so far; inside the source */
	struct turns turns;     /* of chunks, in the order they were taken */
	size_t chunk_bytes;
	int begun;              /* lines were read; inside the source */
	int ended;              /* the input; inside the source */
	atomic_int failed;
	struct error error;     /* if failed; set in turn */
};

/* One thread. */
struct lane {
	struct flow *flow;
	struct chunk chunk;
	void *worker;           /* the job's */
};

static int
is_stopped(const struct flow *flow)
{
	return atomic_load(&flow->failed) || signals_stop;
}

static void
fail(struct flow *flow, const struct error *error)
{
	flow->error = *error;
	atomic_store(&flow->failed, 1);
	/* Another thread may be waiting for input that never comes. */
	signals_wake();
}

/* If nothing can be read now, finish all lines before, and tell the job. */
static int
rest(struct flow *flow, struct error *error)
{
	if (!input_pauses(flow->input, 0))
		return 0;
	turns_wait(&flow->turns, flow->taken);
	if (is_stopped(flow))
		return 0;
	return flow->job->pause(flow->job->context, flow->input, error);
}

/*
 * Almost the lines of a batch, so that few are left over: for more of them, the
 * filter's cache lines would leave the caches before their turn comes, and a
 * few can cost a filter as much as a batch. The same with any number of
 * threads, so that batches are the same. `sample` are lines of the input; NULL
 * if none are known.
 */
static size_t
chunk_bytes(const struct flow *flow, const struct chunk *sample)
{
	size_t batch = flow->job->batch_lines;
	size_t least = sample != NULL && sample->is_packed ? PACKED_BYTES :
	    CHUNK_BYTES;
	size_t most = batch > least / 32 ? batch * 32 : least;
	uint64_t lines = sample == NULL ? 0 : scan()->count(sample->data,
	    sample->nbytes, flow->inputs.format.csv.terminator);
	uint64_t bytes;

	if (lines == 0)
		return most;
	bytes = sample->nbytes * (uint64_t)(batch - batch / 8) / lines;
	bytes -= bytes % CHUNK_BYTES_LEAST;
	if (bytes < CHUNK_BYTES_LEAST)
		return CHUNK_BYTES_LEAST;
	return bytes < most ? (size_t)bytes : most;
}

/* Take a chunk and its number; returns 0 at the end. */
static int
take_chunk(struct flow *flow, struct chunk *chunk, uint64_t *number)
{
	struct error error;
	int more = 0;

	pthread_mutex_lock(&flow->source);
	if (!is_stopped(flow) && rest(flow, &error) < 0)
		fail(flow, &error);
	if (!is_stopped(flow) && !flow->ended) {
		more = input_next(flow->input, chunk, flow->chunk_bytes);
		flow->ended = !more;
	}
	if (more && !flow->begun && chunk->nbytes > chunk->header_bytes) {
		flow->begun = 1;
		chunk->pauses = flow->job->first_pause > 0 &&
		    input_pauses(flow->input, flow->job->first_pause);
	}
	if (more)
		*number = flow->taken++;
	if (more && *number % CHUNKS_MEASURED == 0)
		flow->chunk_bytes = chunk_bytes(flow, chunk);
	pthread_mutex_unlock(&flow->source);
	return more;
}

static void *
work(void *context)
{
	struct lane *lane = context;
	struct flow *flow = lane->flow;
	struct error error;
	uint64_t number;

	while (take_chunk(flow, &lane->chunk, &number)) {
		flow->job->prepare(lane->worker);
		turns_wait(&flow->turns, number);
		if (!is_stopped(flow) &&
		    flow->job->finish(lane->worker, &error) < 0)
			fail(flow, &error);
		turns_pass(&flow->turns);
	}
	return NULL;
}

/* Callbacks of the input, each after all lines before are finished. */

static void
report(void *context, const char *text)
{
	struct flow *flow = context;

	turns_wait(&flow->turns, flow->taken);
	flow->job->notice(text);
}

static int
interrupted(void *context)
{
	struct flow *flow = context;

	turns_wait(&flow->turns, flow->taken);
	flow->job->interrupted(flow->job->context);
	return is_stopped(flow);
}

int
pipeline_run(const struct job *job, const struct inputs *inputs,
    int *failed, struct error *error)
{
	struct flow flow = { .job = job, .inputs = *inputs,
		.source = PTHREAD_MUTEX_INITIALIZER, .turns = TURNS_BEGIN };
	struct lane lanes[PIPELINE_THREADS_MAX] = { { 0 } };
	void *contexts[PIPELINE_THREADS_MAX];
	size_t limit = job->batch_lines;

	/* versions are chosen before there are threads */
	loops();
	scan();
	flow.inputs.report = report;
	flow.inputs.interrupted = interrupted;
	flow.inputs.context = &flow;
	flow.input = input_new(&flow.inputs);
	flow.chunk_bytes = chunk_bytes(&flow, NULL);
	if (job->threads > 1 && limit < AHEAD_LINES)
		limit = AHEAD_LINES;
	for (unsigned i = 0; i < job->threads; i++) {
		lanes[i].flow = &flow;
		lanes[i].worker = job->begin(job->context, &lanes[i].chunk,
		    limit);
		contexts[i] = &lanes[i];
	}
	turns_run(work, contexts, job->threads);
	for (unsigned i = 0; i < job->threads; i++) {
		job->end(lanes[i].worker);
		chunk_free(&lanes[i].chunk);
	}
	*failed = input_failed(flow.input);
	input_free(flow.input);
	if (!flow.failed)
		return 0;
	*error = flow.error;
	return -1;
}
