#include "stream/worker.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/signals.h"
#include "filter/filter.h"
#include "stream/torn.h"

/* Of lines that are written together. */
#define COPY_BYTES (128 * 1024)

/* The input pauses if so long no more comes after its first lines: ms. */
#define FIRST_PAUSE 50

static void *
worker_new(void *context, struct chunk *chunk, size_t limit)
{
	struct run *run = context;
	struct worker *w = memory_or_die(calloc(1, sizeof *w));

	w->run = run;
	lines_init(&w->lines, &run->recipe, &run->inputs->format, chunk,
	    limit);
	w->digests = memory_or_die(malloc(limit * sizeof *w->digests));
	if (run->recipe.parts > 0)
		w->numbers = memory_or_die(malloc(limit *
		    sizeof *w->numbers));
	w->batch = batch_new(filter_batch_lines(run->filter));
	w->batch->keep_none = run->recipe.keep_empty;
	w->copies = (struct output_lines){ .room = COPY_BYTES,
		.data = memory_or_die(malloc(COPY_BYTES + OUTPUT_STEP)) };
	return w;
}

static void
worker_free(void *worker)
{
	struct worker *w = worker;

	lines_free(&w->lines);
	batch_free(w->batch);
	free(w->digests);
	free(w->numbers);
	free(w->copies.data);
	free(w);
}

/*
 * Remember the new lines, then write them. If claiming fails, the lines that
 * are ours are still written; if writing fails, the rest is lost.
 */
static int
write_claimed(struct worker *w, size_t *written, struct error *error)
{
	struct batch *batch = w->batch;
	int claimed = batch_claim(batch, w->run->filter, error);
	struct error why;

	if (worker_write(w, written, claimed < 0 ? &why : error) < 0 &&
	    claimed >= 0) {
		claimed = error_set(error, error->status,
		    "%s; %zu lines were remembered but not printed",
		    error->text, batch->new_count - *written);
	}
	w->run->lines_new += *written;
	return claimed;
}

/* Write the new lines, then remember those that were written. */
static int
write_and_mark(struct worker *w, size_t *written, struct error *error)
{
	struct run *run = w->run;
	struct batch *batch = w->batch;
	int result = worker_write(w, written, error);

	run->lines_new += *written;
	if (run->plan->remember &&
	    batch_mark(batch, *written, run->filter, error) < 0)
		result = -1;
	return result;
}

/*
 * Where the batch's line i is: lines of other parts may lie between it and the
 * position of the first line that was prepared.
 */
static struct key_position
place_of(const struct worker *w, size_t i)
{
	struct key_position position = w->run->reading.position;

	position.number += w->numbers == NULL ? i : w->numbers[i];
	return position;
}

static void
count_troubles(struct worker *w, size_t first, size_t n)
{
	const uint8_t *troubles = w->lines.troubles + first;

	if (w->numbers == NULL)
		key_figures_count(&w->run->keys, troubles, NULL, n,
		    place_of(w, first));
	else
		key_figures_count(&w->run->keys, troubles, w->numbers + first,
		    n, w->run->reading.position);
}

/*
 * Finish one batch of prepared lines, from line `first` on, up to *count of
 * them. *count becomes how many it was; the caller passes the others again.
 */
static int
finish_batch(struct worker *w, size_t first, size_t *count,
    struct error *error)
{
	struct run *run = w->run;
	struct batch *batch = w->batch;
	enum room room = ROOM_ENOUGH;
	int result;
	size_t written;

	batch->digests = w->digests + first;
	batch->count = *count;
	w->starts = w->lines.starts + first;
	if (batch_probe(batch, run->filter, error) < 0)
		return -1;
	batch_collect(batch, run->plan->remember);
	if (run->plan->use.claim) {
		result = write_claimed(w, &written, error);
	} else {
		if (run->plan->remember)
			room = batch_reserve(batch, run->filter, error);
		result = write_and_mark(w, &written, error);
	}
	*count = batch->count;
	if (result < 0) {
		/* Of those that were read, only these are known. */
		run->lines_read += written;
		return -1;
	}
	if (w->lines.troubles != NULL)
		count_troubles(w, first, *count);
	run->lines_read += *count;
	run->bytes_read += (uint64_t)(w->starts[*count] - w->starts[0]);
	run->plan->tell(run, MOMENT_AFTER_BATCH);
	return room == ROOM_SHORT ? -1 : 0;
}

/* --strict-part: the line after those that were prepared is of another part. */
static int
refuse_foreign(const struct worker *w, struct error *error)
{
	const struct key_recipe *recipe = &w->run->recipe;
	const struct key_position *position = &w->run->reading.position;

	return error_set(error, STATUS_FAILED, "%s: %s %" PRIu64 " is not of"
	    " part %u of %u, which --strict-part does not allow",
	    position->file, recipe->csv ? "record" : "line",
	    position->number + w->lines.count, recipe->part, recipe->parts);
}

/* Finish lines in batches; with --strict-keys, up to one without a key. */
static int
finish_prepared(struct worker *w, struct error *error)
{
	struct run *run = w->run;
	const uint8_t *troubles = w->lines.troubles;
	size_t allowed = w->lines.count, n;

	run->keys.found |= w->lines.scratch.found;
	if (run->plan->strict_keys && troubles != NULL)
		allowed = key_first_refused(troubles, allowed);
	for (size_t i = 0; i < allowed; i += n) {
		n = allowed - i;
		n = n < w->batch->capacity ? n : w->batch->capacity;
		if (signals_stop)
			return 0;
		if (finish_batch(w, i, &n, error) < 0)
			return -1;
	}
	if (signals_stop)
		return 0;
	if (allowed < w->lines.count) {
		key_refuse(&run->recipe, troubles[allowed],
		    place_of(w, allowed), error);
		return -1;
	}
	if (w->is_foreign)
		return refuse_foreign(w, error);
	/* with the lines of other parts between them */
	run->reading.position.number += w->lines.count + w->passed;
	run->lines_passed += w->passed;
	run->bytes_read += w->passed_bytes;
	w->passed = 0;
	w->passed_bytes = 0;
	return 0;
}

int
worker_prints_header(const struct run *run)
{
	const struct run_plan *plan = run->plan;

	return run->recipe.header && plan->print != PRINT_NOTHING &&
	    !(plan->print == PRINT_SEEN && plan->remember);
}

/*
 * A chunk's header, which isn't a line: print it if it is the first one, but
 * not if the output continues a file.
 */
static int
finish_header(struct worker *w, struct error *error)
{
	struct run *run = w->run;
	const struct chunk *chunk = w->lines.chunk;
	int is_first;

	reading_begin(&run->reading, chunk);
	run->bytes_read += chunk->header_bytes;
	if (!worker_prints_header(run))
		return 0;
	is_first = reading_header(&run->reading, &run->recipe, chunk, error);
	if (is_first <= 0)
		return is_first;
	if (output_continues(&run->output))
		return reading_compare_output(&run->reading, &run->recipe,
		    w->lines.format, run->output.fd, run->output.name, error);
	return torn_write(&run->output, chunk->data, chunk->header_bytes,
	    error);
}

/*
 * What is left to read has as many new lines as what was read. Only for private
 * memory, since measuring many files takes time.
 */
static void
expect_lines(struct run *run)
{
	uint64_t left;

	if (!run->plan->remember ||
	    filter_costs(run->filter).private_bytes == 0)
		return;
	if (!run->total.known)
		run->total.bytes = input_total(run->inputs);
	run->total.known = 1;
	if (run->position == 0 || run->position >= run->total.bytes)
		return;
	left = run->total.bytes - run->position;
	filter_expect(run->filter, (uint64_t)((double)run->lines_new *
	    (double)left / (double)run->position));
}

/*
 * How long to wait for more input after the first lines; 0 if they are not
 * looked at, because there are no fields, or because one line is enough.
 */
static int
first_pause(const struct run *run)
{
	const struct key_recipe *recipe = &run->recipe;

	if (recipe->range_count == 0 && recipe->column_count == 0)
		return 0;
	if (recipe->keep_empty || run->plan->strict_keys)
		return 0;
	return FIRST_PAUSE;
}

/*
 * Before anything is printed: if the first lines all lack the fields of the
 * key, the separator or the fields are most likely a mistake, and all but one
 * of the lines would be dropped. As many lines are looked at as a batch has,
 * with any number of threads; not if the input pauses after fewer, since a
 * stream may begin with such lines.
 */
static int
check_first_lines(const struct worker *w, struct error *error)
{
	const struct run *run = w->run;
	const struct chunk *chunk = w->lines.chunk;
	size_t n = w->lines.count;

	if (first_pause(run) == 0 || run->lines_read > 0 ||
	    run->lines_passed > 0 || chunk->pauses)
		return 0;
	if (n > w->batch->capacity)
		n = w->batch->capacity;
	if (!key_all_lack_fields(&run->recipe, w->lines.troubles, n))
		return 0;
	return key_refuse_all(&run->recipe, chunk->file, n, error);
}

static void
prepare(void *worker)
{
	struct worker *w = worker;

	lines_first(&w->lines);
	worker_prepare(w);
}

static int
finish(void *worker, struct error *error)
{
	struct worker *w = worker;
	struct run *run = w->run;

	run->position = w->lines.chunk->position;
	if (check_first_lines(w, error) < 0 || finish_header(w, error) < 0 ||
	    finish_prepared(w, error) < 0)
		return -1;
	while (!signals_stop && lines_next(&w->lines, w->batch->capacity)) {
		worker_prepare(w);
		if (finish_prepared(w, error) < 0)
			return -1;
	}
	if (filter_write_back(run->filter, 0, error) < 0)
		return -1;
	expect_lines(run);
	return 0;
}

/* If the pause lasts, what is only in memory goes to the filter's file. */
static int
pause_run(void *context, const struct input *input, struct error *error)
{
	struct run *run = context;
	int after = filter_idle_after(run->filter);

	if (after < 0 || !input_pauses(input, after))
		return 0;
	return filter_write_back(run->filter, 1, error);
}

static void
interrupted(void *context)
{
	struct run *run = context;

	run->plan->tell(run, MOMENT_INTERRUPTED);
}

struct job
worker_job(struct run *run)
{
	run->output.interrupted = interrupted;
	run->output.context = run;
	run->duplicates.interrupted = interrupted;
	run->duplicates.context = run;
	return (struct job){ .context = run, .threads = run->plan->threads,
		.batch_lines = filter_batch_lines(run->filter),
		.first_pause = first_pause(run),
		.begin = worker_new, .end = worker_free, .prepare = prepare,
		.finish = finish, .pause = pause_run,
		.interrupted = interrupted, .notice = run->plan->notice };
}
