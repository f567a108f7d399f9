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

#include "base/io.h"
#include "base/os.h"
#include "base/signals.h"
#include "base/thread.h"
#include "bits/loops.h"
#include "bits/scan.h"

/* Several threads prepare this many each, which a second level cache holds. */
#define AHEAD_LINES 8192
/* Much of the input that is a chunk fits in the second level cache. */
#define CHUNK_BYTES (128 * 1024)
/*
 * Chunks of compressed input are larger: with each hand-over, a window of
 * megabytes moves to another cache, and a thread that waits falls asleep.
 */
#define PACKED_BYTES (1024 * 1024)
/* Chunks of a file are whole pages. */
#define CHUNK_BYTES_LEAST 4096
/*
 * Input is large once so much of it has come. For threads of our choice it must
 * have come in full chunks: others are lines that we wait for.
 */
#define LARGE_BYTES (2 * CHUNK_BYTES)
/* One of so many chunks is measured: how long are lines? */
#define CHUNKS_MEASURED 16

/* One thread. */
struct lane {
	struct flow *flow;
	struct chunk chunk;
	void *worker;           /* the job's */
	size_t limit;           /* this many lines are prepared before a turn */
	int is_running;         /* was `thread` started? the first lane is the
				 * caller's */
	pthread_t thread;
};

/* What all threads share. */
struct flow {
	const struct job *job;
	struct inputs inputs;
	struct input *input;
	struct lane lanes[PIPELINE_THREADS_MAX];
	unsigned count;         /* lanes that have a worker */
	/* held by the thread that takes chunks from the input */
	pthread_mutex_t source;
	uint64_t taken;         /* chunks so far; inside the source */
	struct turns turns;     /* the order in which chunks were taken */
	size_t chunk_bytes;
	uint64_t bytes;         /* bytes of all chunks; inside the source, as is
				 * the next */
	uint64_t full_bytes;
	int begun;              /* lines were read; inside the source */
	int ended;              /* the input; inside the source */
	atomic_int failed;
	struct error error;     /* the error, if failed; set in turn */
};

static int
is_stopped(const struct flow *flow)
{
	return atomic_load(&flow->failed) || signals_stop;
}

static void
stop_flow(struct flow *flow, const struct error *error)
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
		stop_flow(flow, &error);
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
	if (more)
		flow->bytes += chunk->nbytes;
	if (more && chunk->is_full)
		flow->full_bytes += chunk->nbytes;
	if (more && *number % CHUNKS_MEASURED == 0)
		flow->chunk_bytes = chunk_bytes(flow, chunk);
	pthread_mutex_unlock(&flow->source);
	return more;
}

/* Prepare a chunk, and finish it when it is its turn. */
static void
do_chunk(struct lane *lane, uint64_t number)
{
	struct flow *flow = lane->flow;
	const struct job *job = flow->job;
	struct error error;

	job->prepare(lane->worker, lane->limit);
	turns_wait(&flow->turns, number);
	if (!is_stopped(flow) && job->finish(lane->worker, &error) < 0)
		stop_flow(flow, &error);
	turns_pass(&flow->turns);
}

static void *
work(void *context)
{
	struct lane *lane = context;
	uint64_t number;

	while (take_chunk(lane->flow, &lane->chunk, &number))
		do_chunk(lane, number);
	return NULL;
}

static void
begin_lane(struct flow *flow, unsigned i)
{
	const struct job *job = flow->job;
	struct lane *lane = &flow->lanes[i];
	size_t room = job->batch_lines;

	if (room < AHEAD_LINES)
		room = AHEAD_LINES;
	*lane = (struct lane){ .flow = flow, .limit = job->batch_lines };
	lane->worker = job->begin(job->context, &lane->chunk, room);
}

/*
 * Start the others of `wanted` threads; fewer if the system allows no more. The
 * memory that they need is taken before they run: until then, the filter might
 * take all that is left.
 */
static void
add_threads(struct flow *flow, unsigned wanted)
{
	struct lane *first = &flow->lanes[0];
	const size_t nbytes = flow->chunk_bytes;

	for (unsigned i = 1; i < wanted; i++) {
		struct lane *lane = &flow->lanes[i];

		begin_lane(flow, i);
		chunk_reserve(&lane->chunk, nbytes);
		flow->count++;
		if (lane->limit < AHEAD_LINES)
			lane->limit = AHEAD_LINES;
		lane->is_running = thread_start(&lane->thread, work,
		    lane) == 0;
		if (!lane->is_running)
			return;
		first->limit = lane->limit;
	}
}

/*
 * For large input: a thread for each processor, but one less for each program
 * that we read from or write to, which needs one itself.
 */
static unsigned
choose_threads(const struct flow *flow)
{
	unsigned count = os_processors();
	unsigned others = (unsigned)input_has_peer(flow->input) +
	    (unsigned)io_has_peer(flow->job->output);

	count = count > others ? count - others : 1;
	return count < PIPELINE_THREADS_AUTOMATIC ? count :
	    PIPELINE_THREADS_AUTOMATIC;
}

/*
 * Work alone until *bytes, a member of the flow, says that the input is large.
 * Returns 0 at its end.
 */
static int
work_until_large(struct flow *flow, const uint64_t *bytes)
{
	struct lane *first = &flow->lanes[0];
	uint64_t number;

	while (*bytes < LARGE_BYTES) {
		if (!take_chunk(flow, &first->chunk, &number))
			return 0;
		do_chunk(first, number);
	}
	return 1;
}

static void
tell_large(struct flow *flow)
{
	struct error error;

	if (flow->job->is_large != NULL && !is_stopped(flow) &&
	    flow->job->is_large(flow->job->context, &error) < 0)
		stop_flow(flow, &error);
}

static void
run_threads(struct flow *flow)
{
	const unsigned fixed = flow->job->threads;

	begin_lane(flow, 0);
	flow->count = 1;
	if (!work_until_large(flow, &flow->bytes))
		return;
	tell_large(flow);
	if (fixed == 0 && !work_until_large(flow, &flow->full_bytes))
		return;
	add_threads(flow, fixed > 0 ? fixed : choose_threads(flow));
	work(&flow->lanes[0]);
}

/* Wait for the threads, and count those that were started. */
static unsigned
end_threads(struct flow *flow)
{
	unsigned count = 1;

	for (unsigned i = 0; i < flow->count; i++) {
		struct lane *lane = &flow->lanes[i];

		if (lane->is_running) {
			pthread_join(lane->thread, NULL);
			count++;
		}
		flow->job->end(lane->worker);
		chunk_free(&lane->chunk);
	}
	return count;
}

/* Callbacks of the input, each after all lines before are finished. */

static void
notice_in_turn(void *context, const char *text)
{
	struct flow *flow = context;

	turns_wait(&flow->turns, flow->taken);
	flow->job->notice(text);
}

static int
flow_interrupted(void *context)
{
	struct flow *flow = context;

	turns_wait(&flow->turns, flow->taken);
	if (flow->job->interrupted != NULL)
		flow->job->interrupted(flow->job->context);
	else
		signals_take_figures();
	return is_stopped(flow);
}

int
pipeline_run(const struct job *job, const struct inputs *inputs,
    struct pipeline_done *done, struct error *error)
{
	struct flow *flow = memory_or_die(malloc(sizeof *flow));
	int result = 0;

	*flow = (struct flow){ .job = job, .inputs = *inputs,
		.source = PTHREAD_MUTEX_INITIALIZER, .turns = TURNS_BEGIN };

	/* The versions for this machine are chosen before there are threads. */
	loops();
	scan();
	flow->inputs.notice = notice_in_turn;
	flow->inputs.interrupted = flow_interrupted;
	flow->inputs.context = flow;
	flow->input = input_new(&flow->inputs);
	flow->chunk_bytes = chunk_bytes(flow, NULL);
	run_threads(flow);
	done->threads = end_threads(flow);
	done->input_failed = input_failed(flow->input);
	input_free(flow->input);
	if (flow->failed) {
		*error = flow->error;
		result = -1;
	}
	free(flow);
	return result;
}
