#include "stream/worker.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/signals.h"
#include "filter/filter.h"
#include "key/columns.h"

/* Of lines that are written together. */
#define COPY_BYTES (128 * 1024)

struct worker *
worker_new(struct run *run, const struct record_format *format, size_t limit)
{
	struct worker *w = memory_or_die(calloc(1, sizeof *w));

	w->run = run;
	w->format = format;
	w->limit = limit;
	w->starts = memory_or_die(malloc((limit + 1) * sizeof *w->starts));
	w->digests = memory_or_die(malloc(limit * sizeof *w->digests));
	if (key_has_troubles(&run->recipe))
		w->troubles = memory_or_die(malloc(limit));
	if (run->recipe.parts > 0)
		w->numbers = memory_or_die(malloc(limit *
		    sizeof *w->numbers));
	w->batch = batch_new(filter_batch_lines(run->filter));
	w->batch->keep_none = run->recipe.keep_empty;
	w->scratch.columns = &w->chunk.columns;
	w->copies = (struct output_lines){ .room = COPY_BYTES,
		.data = memory_or_die(malloc(COPY_BYTES + OUTPUT_STEP)) };
	return w;
}

void
worker_free(struct worker *w)
{
	chunk_free(&w->chunk);
	key_scratch_free(&w->scratch);
	batch_free(w->batch);
	free(w->starts);
	free(w->digests);
	free(w->troubles);
	free(w->numbers);
	free(w->copies.data);
	free(w);
}

/*
 * Remember the new lines, then write them. If claiming fails, the lines that
 * are ours are still written; if writing fails, the rest is lost.
 */
static int
write_claimed(struct worker *w, size_t *fresh, struct error *error)
{
	struct batch *batch = w->batch;
	int claimed = batch_claim(batch, w->run->filter, error);
	struct error why;

	if (worker_write(w, fresh, claimed < 0 ? &why : error) < 0 &&
	    claimed >= 0) {
		claimed = error_set(error, error->status,
		    "%s; %zu lines are remembered and were not printed",
		    error->text, batch->new_count - *fresh);
	}
	w->run->lines_new += *fresh;
	return claimed;
}

/* Write the new lines, then remember those that were written. */
static int
write_and_mark(struct worker *w, size_t *fresh, struct error *error)
{
	struct run *run = w->run;
	struct batch *batch = w->batch;
	int result = worker_write(w, fresh, error);

	run->lines_new += *fresh;
	if (run->plan->remember &&
	    batch_mark(batch, *fresh, run->filter, error) < 0)
		result = -1;
	return result;
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
	size_t fresh;

	batch->digests = w->digests + first;
	batch->count = *count;
	w->lines = w->starts + first;
	if (batch_probe(batch, run->filter, error) < 0)
		return -1;
	batch_collect(batch, run->plan->remember);
	if (run->plan->remember && !run->plan->use.claim)
		room = batch_reserve(batch, run->filter, error);
	*count = batch->count;
	if ((run->plan->use.claim ? write_claimed : write_and_mark)(w, &fresh,
	    error) < 0) {
		/* Of those that were read, only these are known. */
		run->lines_read += fresh;
		return -1;
	}
	if (w->troubles != NULL)
		key_figures_count(&run->keys, w->troubles + first,
		    w->numbers == NULL ? NULL : w->numbers + first, *count,
		    (struct key_place){ run->place.file, run->place.number +
		    (w->numbers == NULL ? first : 0) });
	run->lines_read += *count;
	run->bytes_read += (uint64_t)(w->lines[*count] - w->lines[0]);
	run->plan->tell(run, MOMENT_AFTER_BATCH);
	return room == ROOM_SHORT ? -1 : 0;
}

/* Finish lines in batches; with --strict-keys, up to one without a key. */
static int
finish_prepared(struct worker *w, struct error *error)
{
	struct run *run = w->run;
	const struct key_recipe *recipe = &run->recipe;
	size_t allowed = w->prepared, n;

	run->keys.found |= w->scratch.found;
	if (run->plan->strict_keys && w->troubles != NULL)
		allowed = key_first_refused(w->troubles, allowed);
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
	if (allowed < w->prepared) {
		key_refuse(recipe, w->troubles[allowed],
		    (struct key_place){ run->place.file, run->place.number +
		    (w->numbers != NULL ? w->numbers[allowed] : allowed) },
		    error);
		return -1;
	}
	if (w->is_foreign)
		return error_set(error, STATUS_FAILED, "%s: %s %" PRIu64
		    " is not of part %u of %u, which --strict-part does not"
		    " allow", run->place.file, recipe->csv ? "record" : "line",
		    run->place.number + w->prepared, recipe->part,
		    recipe->parts);
	/* with the lines of other parts between them */
	run->place.number += w->prepared + w->passed;
	run->lines_passed += w->passed;
	run->bytes_read += w->passed_bytes;
	w->passed = 0;
	w->passed_bytes = 0;
	return 0;
}

/*
 * Write a file's header, which isn't a line: only the first one, and not if the
 * output continues a file, or has the repeated lines (-d).
 */
static int
write_header(struct worker *w, struct error *error)
{
	struct run *run = w->run;
	const struct key header = { w->chunk.data, w->chunk.header_bytes };
	struct error differs, named;

	if (header.nbytes == 0)
		return 0;
	run->place.number++;
	run->bytes_read += header.nbytes;
	if (run->plan->print == PRINT_NOTHING ||
	    (run->plan->print == PRINT_SEEN && run->plan->remember))
		return 0;
	if (run->header == NULL) {
		run->header_bytes = header.nbytes;
		run->header = memory_or_die(malloc(header.nbytes));
		memcpy(run->header, header.data, header.nbytes);
		return output_continues(&run->output) ? 0 : output_write(
		    &run->output, header.data, header.nbytes, error);
	}
	/* Under another header, records of other columns would mislead. */
	if (columns_compare(&run->recipe, (struct key){ run->header,
	    run->header_bytes }, header, &differs) < 0) {
		error_set(&named, STATUS_OK, "%s: %s", w->chunk.file,
		    differs.text);
		run->plan->notice(named.text);
	}
	return 0;
}

int
worker_finish(struct worker *w, struct error *error)
{
	const uint8_t *end = w->chunk.data + w->chunk.nbytes;

	if (w->chunk.begins)
		w->run->place = (struct key_place){ w->chunk.file, 1 };
	if (write_header(w, error) < 0 || finish_prepared(w, error) < 0)
		return -1;
	while (w->rest < end && !signals_stop) {
		worker_prepare(w, w->rest, w->batch->capacity);
		if (finish_prepared(w, error) < 0)
			return -1;
	}
	return filter_write_back(w->run->filter, 0, error);
}
