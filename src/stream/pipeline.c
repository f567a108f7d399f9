/*
 * The input hands out chunks of whole lines. A thread takes one, prepares its
 * lines (finds where they end, makes keys and digests, and prefetches cache
 * lines of the filter), and when its turn comes, finishes them batch by batch:
 * it looks them up, writes, and marks. Turns are in the order of the input, so
 * the output is the same with any number of threads; there is one hand-over per
 * chunk, and what a thread marks is in its own cache.
 *
 * With one thread, a batch is finished before the next one is prepared, so that
 * its bytes, its digests and its cache lines of the filter stay in the second
 * level cache.
 */
#include "stream/pipeline.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/signals.h"
#include "base/turns.h"
#include "bits/loops.h"
#include "filter/batch.h"
#include "filter/filter.h"

/*
 * This many lines are hashed before their cache lines are prefetched: few, so
 * that there are never more prefetches at once than the memory can handle.
 */
#define GROUP_LINES 4
/* This many are prepared before a turn: what the second level cache holds. */
#define AHEAD_LINES 8192
/* This much is read at a time: it fits in the second level cache. */
#define CHUNK_BYTES (128 * 1024)
/* Duplicates are collected, and written this many bytes at a time. */
#define COPY_BYTES (128 * 1024)

/* What all threads share. */
struct flow {
	struct pipeline *pipeline;
	struct input *input;
	struct turns *turns;
	const struct record_format *format;
	size_t chunk_bytes;
	int ended;              /* the input; used inside turns_enter only */
	atomic_int failed;
	struct error error;     /* if failed; set in turn */
};

/* What one thread has. */
struct hand {
	struct flow *flow;
	struct pipeline *pipeline;
	struct chunk chunk;
	size_t limit;           /* room for lines in the arrays below */
	uint8_t **starts;       /* of prepared lines, and the last one's end */
	struct digest *digests;
	uint8_t *troubles;      /* of their keys; NULL if there can be none */
	size_t prepared;
	struct batch *batch;
	uint8_t **lines;        /* starts of the batch's lines */
	struct key_scratch scratch;
	uint8_t *copies;        /* of lines for the duplicates */
	size_t copied;
};

/* Prepared lines without their terminators. */
static inline void
take_lines(const struct hand *hand, size_t first, size_t n, struct key *lines)
{
	uint8_t *const *starts = hand->starts + first;

	for (size_t i = 0; i < n; i++)
		lines[i] = (struct key){ starts[i],
			(size_t)(starts[i + 1] - starts[i] - 1) };
}

/* In place of these lines, their keys. */
static void
take_keys(struct hand *hand, size_t first, size_t n, struct key *keys)
{
	const struct key_recipe *recipe = hand->pipeline->recipe;
	struct key_scratch *scratch = &hand->scratch;

	scratch->used = 0;
	for (size_t i = 0; i < n; i++) {
		keys[i] = key_take(recipe, keys[i].data, keys[i].nbytes,
		    scratch);
		if (hand->troubles != NULL)
			hand->troubles[first + i] = scratch->troubles;
	}
}

/* Make digests of the lines that were split, and prefetch their cache lines. */
static void
hash_lines(struct hand *hand)
{
	const struct pipeline *p = hand->pipeline;
	const struct hash *hash = &filter_header(p->filter)->hash;
	const struct loops *hot = loops();
	struct key keys[GROUP_LINES];
	size_t n;

	if (hand->prepared > 0)
		key_scratch_reset(&hand->scratch, p->recipe,
		    (size_t)(hand->starts[hand->prepared] - hand->starts[0]));
	for (size_t i = 0; i < hand->prepared; i += n) {
		n = hand->prepared - i;
		n = n < GROUP_LINES ? n : GROUP_LINES;
		take_lines(hand, i, n, keys);
		if (hand->scratch.step_count > 0)
			take_keys(hand, i, n, keys);
		hot->digest(hash, keys, n, hand->digests + i);
		filter_prefetch(p->filter, hand->digests + i, n);
	}
}

/* Prepare up to `limit` lines from data on. Returns where the next begins. */
static uint8_t *
prepare(struct hand *hand, uint8_t *data, size_t limit)
{
	const uint8_t *end = hand->chunk.data + hand->chunk.nbytes;

	hand->prepared = record_split(hand->flow->format, data, end,
	    hand->starts, limit);
	hash_lines(hand);
	return hand->starts[hand->prepared];
}

/*
 * Move the lines to print together, over those not to print. Returns how many
 * bytes they are, from hand->lines[0] on.
 */
static size_t
compact(struct hand *hand, uint8_t wanted)
{
	const struct batch *batch = hand->batch;
	uint8_t *to = hand->lines[0];
	size_t i = 0;

	while (i < batch->count) {
		uint8_t *from;

		while (i < batch->count && batch->seen[i] != wanted)
			i++;
		from = hand->lines[i];
		while (i < batch->count && batch->seen[i] == wanted)
			i++;
		if (to != from)
			memmove(to, from, (size_t)(hand->lines[i] - from));
		to += hand->lines[i] - from;
	}
	return (size_t)(to - hand->lines[0]);
}

static size_t
line_bytes(const struct hand *hand, size_t i)
{
	return (size_t)(hand->lines[i + 1] - hand->lines[i]);
}

/* How many new lines are complete in the first `nbytes` of output. */
static size_t
lines_within(const struct hand *hand, size_t nbytes)
{
	const struct batch *batch = hand->batch;
	size_t lines = 0;

	while (lines < batch->new_count) {
		size_t length = line_bytes(hand, batch->new_items[lines]);

		if (length > nbytes)
			break;
		nbytes -= length;
		lines++;
	}
	return lines;
}

static int
flush_copies(struct hand *hand, struct error *error)
{
	size_t written, nbytes = hand->copied;

	hand->copied = 0;
	return output_write(hand->pipeline->duplicates, hand->copies, nbytes,
	    &written, error);
}

/* Write the seen lines to the duplicates, before the batch is compacted. */
static int
write_duplicates(struct hand *hand, struct error *error)
{
	const struct batch *batch = hand->batch;

	for (size_t i = 0; i < batch->count; i++) {
		size_t written, length = line_bytes(hand, i);

		if (!batch->seen[i])
			continue;
		if (length > COPY_BYTES - hand->copied &&
		    flush_copies(hand, error) < 0)
			return -1;
		if (length > COPY_BYTES) {
			if (output_write(hand->pipeline->duplicates,
			    hand->lines[i], length, &written, error) < 0)
				return -1;
			continue;
		}
		memcpy(hand->copies + hand->copied, hand->lines[i], length);
		hand->copied += length;
	}
	return flush_copies(hand, error);
}

/*
 * Write the batch's lines. *fresh becomes the number of new lines to mark: if
 * writing fails half-way, those that were written, so that they are not printed
 * again.
 */
static int
write_lines(struct hand *hand, size_t *fresh, struct error *error)
{
	struct pipeline *p = hand->pipeline;
	size_t nbytes, written;

	*fresh = 0;
	p->watch(p->context, MOMENT_BEFORE_PRINT);
	if (p->duplicates != NULL && write_duplicates(hand, error) < 0)
		return -1;
	*fresh = hand->batch->new_count;
	if (p->print == PRINT_NOTHING)
		return 0;
	nbytes = compact(hand, p->print == PRINT_SEEN);
	if (output_write(p->output, hand->lines[0], nbytes, &written,
	    error) == 0)
		return 0;
	*fresh = p->print == PRINT_NEW ? lines_within(hand, written) : 0;
	return -1;
}

/* The batch is finished: its lines are read. */
static void
count_batch(struct hand *hand)
{
	struct pipeline *p = hand->pipeline;
	size_t n = hand->batch->count;

	if (hand->troubles != NULL)
		key_figures_count(&p->keys, hand->troubles + (hand->lines -
		    hand->starts), n, p->place);
	p->place.number += n;
	p->lines_read += n;
}

/*
 * Remember the new lines, then write them. If claiming fails, the lines that
 * are ours are still written; if writing fails, the rest is lost.
 */
static int
finish_claimed(struct hand *hand, struct error *error)
{
	struct pipeline *p = hand->pipeline;
	struct batch *batch = hand->batch;
	int claimed = batch_claim(batch, p->filter, error);
	size_t fresh, ours = batch->new_count;
	struct error why;

	if (write_lines(hand, &fresh, claimed < 0 ? &why : error) < 0) {
		claimed = claimed < 0 ? -1 : error_set(error, error->status,
		    "%s; %zu lines are remembered and were not printed",
		    error->text, ours - fresh);
	}
	p->lines_new += fresh;
	if (claimed < 0) {
		p->lines_read += fresh;
		return -1;
	}
	count_batch(hand);
	p->watch(p->context, MOMENT_AFTER_BATCH);
	return 0;
}

/*
 * Finish one batch of prepared lines, from line `first` on, up to *count of
 * them. *count becomes how many it was; the caller passes the others again.
 */
static int
finish_batch(struct hand *hand, size_t first, size_t *count,
    struct error *error)
{
	struct pipeline *p = hand->pipeline;
	struct batch *batch = hand->batch;
	int full = 0, result;
	size_t fresh;

	batch->digests = hand->digests + first;
	batch->count = *count;
	hand->lines = hand->starts + first;
	if (batch_probe(batch, p->filter, error) < 0)
		return -1;
	batch_collect(batch, p->remember);
	if (p->claim)
		return finish_claimed(hand, error);
	if (p->remember)
		full = batch_reserve(batch, p->filter, error);
	*count = batch->count;
	result = write_lines(hand, &fresh, error);
	p->lines_new += fresh;
	if (p->remember &&
	    batch_mark(batch, fresh, p->filter, error) < 0)
		result = -1;
	if (result < 0) {
		/* lines that were read but not finished don't count */
		p->lines_read += fresh;
		return -1;
	}
	count_batch(hand);
	p->watch(p->context, MOMENT_AFTER_BATCH);
	return full;
}

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

/* Finish the first `count` of the prepared lines, in batches. */
static int
finish_lines(struct hand *hand, size_t count, struct error *error)
{
	size_t n;

	for (size_t i = 0; i < count; i += n) {
		n = count - i;
		n = n < hand->batch->capacity ? n : hand->batch->capacity;
		if (signals_stop)
			return 0;
		if (finish_batch(hand, i, &n, error) < 0)
			return -1;
	}
	return 0;
}

/* Finish prepared lines; with --strict-keys, up to the first without a key. */
static int
finish_prepared(struct hand *hand, struct error *error)
{
	struct pipeline *p = hand->pipeline;
	size_t allowed = hand->prepared;

	p->keys.found |= hand->scratch.found;
	if (p->strict_keys && hand->troubles != NULL)
		allowed = key_first_refused(hand->troubles, allowed);
	if (finish_lines(hand, allowed, error) < 0)
		return -1;
	if (allowed == hand->prepared || signals_stop)
		return 0;
	key_refuse(p->recipe, hand->troubles[allowed], p->place, error);
	return -1;
}

/*
 * Write a file's header, which isn't a line: only the first one, and not if the
 * output continues a file, or has the repeated lines (-d).
 */
static int
write_header(struct hand *hand, struct error *error)
{
	struct pipeline *p = hand->pipeline;
	size_t written;

	if (hand->chunk.header_bytes == 0)
		return 0;
	p->place.number++;
	if (p->header_printed)
		return 0;
	p->header_printed = 1;
	if (p->print == PRINT_NOTHING || output_continues(p->output) ||
	    (p->print == PRINT_SEEN && p->remember))
		return 0;
	return output_write(p->output, hand->chunk.data,
	    hand->chunk.header_bytes, &written, error);
}

/* In turn: finish the prepared lines, then the rest of the chunk. */
static int
finish_chunk(struct hand *hand, uint8_t *next, struct error *error)
{
	const uint8_t *end = hand->chunk.data + hand->chunk.nbytes;

	if (hand->chunk.begins)
		hand->pipeline->place = (struct key_place){
			hand->chunk.file, 1 };
	if (write_header(hand, error) < 0 || finish_prepared(hand, error) < 0)
		return -1;
	while (next < end && !signals_stop) {
		next = prepare(hand, next, hand->batch->capacity);
		if (finish_prepared(hand, error) < 0)
			return -1;
	}
	return filter_write_back(hand->pipeline->filter, 0, error);
}

/*
 * If nothing can be read now, finish all lines before, and if the pause lasts,
 * write what is only in memory to the filter's file.
 */
static int
rest(struct flow *flow, struct error *error)
{
	struct filter *filter = flow->pipeline->filter;
	int after;

	if (!input_pauses(flow->input, 0))
		return 0;
	turns_wait_all(flow->turns);
	after = is_over(flow) ? -1 : filter_idle_after(filter);
	return after < 0 || !input_pauses(flow->input, after) ? 0 :
	    filter_write_back(filter, 1, error);
}

/* Take a chunk and its number; returns 0 at the end. */
static int
take_chunk(struct hand *hand, uint64_t *number)
{
	struct flow *flow = hand->flow;
	struct error error;
	int more = 0;

	turns_enter(flow->turns);
	if (!is_over(flow) && rest(flow, &error) < 0)
		fail(flow, &error);
	if (!is_over(flow) && !flow->ended) {
		more = input_next(flow->input, &hand->chunk,
		    flow->chunk_bytes);
		flow->ended = !more;
	}
	if (more)
		*number = turns_take(flow->turns);
	turns_leave(flow->turns);
	return more;
}

static void
work(void *context)
{
	struct hand *hand = context;
	struct flow *flow = hand->flow;
	struct error error;
	uint64_t number;

	while (take_chunk(hand, &number)) {
		uint8_t *lines = hand->chunk.data + hand->chunk.header_bytes;
		uint8_t *next;

		hand->scratch.columns = &hand->chunk.columns;
		next = prepare(hand, lines, hand->limit);

		turns_wait(flow->turns, number);
		hand->pipeline->position = hand->chunk.position;
		if (!is_over(flow) && finish_chunk(hand, next, &error) < 0)
			fail(flow, &error);
		turns_pass(flow->turns);
	}
}

static struct hand *
hand_new(struct flow *flow, size_t limit)
{
	struct hand *hand = memory_or_die(calloc(1, sizeof *hand));
	struct pipeline *p = flow->pipeline;

	hand->flow = flow;
	hand->pipeline = p;
	hand->limit = limit;
	hand->starts = memory_or_die(malloc((limit + 1) *
	    sizeof *hand->starts));
	hand->digests = memory_or_die(malloc(limit * sizeof *hand->digests));
	if (key_has_troubles(p->recipe))
		hand->troubles = memory_or_die(malloc(limit));
	hand->batch = batch_new(filter_batch_lines(p->filter));
	if (p->duplicates != NULL)
		hand->copies = memory_or_die(malloc(COPY_BYTES));
	return hand;
}

static void
hand_free(struct hand *hand)
{
	chunk_free(&hand->chunk);
	key_scratch_free(&hand->scratch);
	batch_free(hand->batch);
	free(hand->starts);
	free(hand->digests);
	free(hand->troubles);
	free(hand->copies);
	free(hand);
}

/* Callbacks of the input, each after all lines before are finished. */

static void
report(void *context, const char *text)
{
	struct flow *flow = context;

	turns_wait_all(flow->turns);
	flow->pipeline->notice(text);
}

static int
interrupted(void *context)
{
	struct flow *flow = context;

	turns_wait_all(flow->turns);
	flow->pipeline->watch(flow->pipeline->context, MOMENT_INTERRUPTED);
	return is_over(flow);
}

static void
output_interrupted(void *context)
{
	struct pipeline *p = context;

	p->watch(p->context, MOMENT_INTERRUPTED);
}

static void
hear_interrupts(struct pipeline *p, struct output *output)
{
	if (output == NULL)
		return;
	output->interrupted = output_interrupted;
	output->context = p;
}

static struct input *
open_input(struct flow *flow, const struct input_plan *inputs)
{
	struct input_plan plan = *inputs;

	plan.report = report;
	plan.interrupted = interrupted;
	plan.context = flow;
	return input_new(&plan);
}

/*
 * The same with any number of threads, so that batches are the same. More if
 * the filter wants many lines at once: then few enough that a chunk seldom has
 * more lines than a batch, since the few left over would cost the filter as
 * much as a batch.
 */
static size_t
chunk_bytes(const struct pipeline *p)
{
	size_t lines = filter_batch_lines(p->filter);

	return lines > CHUNK_BYTES / 32 ? lines * 32 : CHUNK_BYTES;
}

int
pipeline_run(struct pipeline *p, const struct input_plan *inputs,
    struct error *error)
{
	struct flow flow = { .pipeline = p, .turns = turns_new(),
		.format = &inputs->format,
		.chunk_bytes = chunk_bytes(p) };
	size_t limit = filter_batch_lines(p->filter);
	void *hands[PIPELINE_THREADS_MAX];

	p->began = 1;
	loops(); /* are chosen before there are threads */
	flow.input = open_input(&flow, inputs);
	hear_interrupts(p, p->output);
	hear_interrupts(p, p->duplicates);
	if (p->threads > 1 && limit < AHEAD_LINES)
		limit = AHEAD_LINES;
	for (unsigned i = 0; i < p->threads; i++)
		hands[i] = hand_new(&flow, limit);
	turns_run(work, hands, p->threads);
	for (unsigned i = 0; i < p->threads; i++)
		hand_free(hands[i]);
	p->input_failed = input_failed(flow.input);
	p->bytes_read = input_bytes(flow.input);
	input_free(flow.input);
	turns_free(flow.turns);
	if (!flow.failed)
		return 0;
	*error = flow.error;
	return -1;
}
