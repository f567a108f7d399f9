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
#include <stdatomic.h>
#include <stdlib.h>

#include "base/signals.h"
#include "base/thread.h"
#include "filter/filter.h"
#include "key/scan.h"
#include "stream/worker.h"

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
	struct run *run;
	struct input *input;
	pthread_mutex_t source; /* of who takes chunks from the input */
	uint64_t taken;         /* chunks so far; inside the source */
	struct turns turns;     /* of chunks, in the order they were taken */
	size_t chunk_bytes;
	struct inputs inputs;
	int measured;           /* is `total` known? */
	uint64_t total;         /* input_total */
	int ended;              /* the input; inside the source */
	atomic_int failed;
	struct error error;     /* if failed; set in turn */
};

static int
is_over(const struct flow *flow)
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

/*
 * If nothing can be read now, finish all lines before, and if the pause lasts,
 * write what is only in memory to the filter's file.
 */
static int
rest(struct flow *flow, struct error *error)
{
	struct filter *filter = flow->run->filter;
	int after;

	if (!input_pauses(flow->input, 0))
		return 0;
	turns_wait(&flow->turns, flow->taken);
	after = is_over(flow) ? -1 : filter_idle_after(filter);
	return after < 0 || !input_pauses(flow->input, after) ? 0 :
	    filter_write_back(filter, 1, error);
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
	size_t batch = filter_batch_lines(flow->run->filter);
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
	return bytes < CHUNK_BYTES_LEAST ? CHUNK_BYTES_LEAST :
	    bytes > most ? most : (size_t)bytes;
}

/* Take a chunk and its number; returns 0 at the end. */
static int
take_chunk(struct flow *flow, struct chunk *chunk, uint64_t *number)
{
	struct error error;
	int more = 0;

	pthread_mutex_lock(&flow->source);
	if (!is_over(flow) && rest(flow, &error) < 0)
		fail(flow, &error);
	if (!is_over(flow) && !flow->ended) {
		more = input_next(flow->input, chunk, flow->chunk_bytes);
		flow->ended = !more;
	}
	if (more)
		*number = flow->taken++;
	if (more && *number % CHUNKS_MEASURED == 0)
		flow->chunk_bytes = chunk_bytes(flow, chunk);
	pthread_mutex_unlock(&flow->source);
	return more;
}

/*
 * In turn: what is left to read has as many new lines as what was read. Only
 * for private memory, since measuring many files takes time.
 */
static void
expect_lines(struct flow *flow)
{
	const struct run *run = flow->run;

	if (!run->plan->remember ||
	    filter_costs(run->filter).private_bytes == 0)
		return;
	if (!flow->measured)
		flow->total = input_total(&flow->inputs);
	flow->measured = 1;
	if (run->position > 0 && run->position < flow->total)
		filter_expect(run->filter, (uint64_t)((double)run->lines_new *
		    (double)(flow->total - run->position) /
		    (double)run->position));
}

static void *
work(void *context)
{
	struct worker *w = context;
	struct flow *flow = w->flow;
	struct error error;
	uint64_t number;

	while (take_chunk(flow, &w->chunk, &number)) {
		worker_prepare(w, w->chunk.data + w->chunk.header_bytes,
		    w->limit);
		turns_wait(&flow->turns, number);
		flow->run->position = w->chunk.position;
		if (!is_over(flow) && worker_finish(w, &error) < 0)
			fail(flow, &error);
		expect_lines(flow);
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
	flow->run->plan->notice(text);
}

static int
interrupted(void *context)
{
	struct flow *flow = context;

	turns_wait(&flow->turns, flow->taken);
	flow->run->plan->tell(flow->run, MOMENT_INTERRUPTED);
	return is_over(flow);
}

static void
output_interrupted(void *context)
{
	struct run *run = context;

	run->plan->tell(run, MOMENT_INTERRUPTED);
}

int
pipeline_run(struct run *run, const struct inputs *inputs,
    struct error *error)
{
	struct flow flow = { .run = run, .inputs = *inputs,
		.source = PTHREAD_MUTEX_INITIALIZER, .turns = TURNS_BEGIN };
	size_t limit = filter_batch_lines(run->filter);
	void *workers[RUN_THREADS_MAX];

	run->began = 1;
	/* versions are chosen before there are threads */
	loops();
	scan();
	flow.inputs.report = report;
	flow.inputs.interrupted = interrupted;
	flow.inputs.context = &flow;
	flow.input = input_new(&flow.inputs);
	flow.chunk_bytes = chunk_bytes(&flow, NULL);
	run->output.interrupted = output_interrupted;
	run->output.context = run;
	run->duplicates.interrupted = output_interrupted;
	run->duplicates.context = run;
	if (run->plan->threads > 1 && limit < AHEAD_LINES)
		limit = AHEAD_LINES;
	for (unsigned i = 0; i < run->plan->threads; i++) {
		struct worker *w = worker_new(run, &inputs->format, limit);

		w->flow = &flow;
		workers[i] = w;
	}
	turns_run(work, workers, run->plan->threads);
	for (unsigned i = 0; i < run->plan->threads; i++)
		worker_free(workers[i]);
	run->input_failed = input_failed(flow.input);
	input_free(flow.input);
	free(run->header);
	if (!flow.failed)
		return 0;
	*error = flow.error;
	return -1;
}
