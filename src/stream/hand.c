#include "stream/hand.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/signals.h"
#include "filter/filter.h"

struct hand *
hand_new(struct run *run, const struct record_format *format, size_t limit)
{
	struct hand *hand = memory_or_die(calloc(1, sizeof *hand));

	hand->run = run;
	hand->format = format;
	hand->limit = limit;
	hand->starts = memory_or_die(malloc((limit + 1) *
	    sizeof *hand->starts));
	hand->digests = memory_or_die(malloc(limit * sizeof *hand->digests));
	if (key_has_troubles(&run->recipe))
		hand->troubles = memory_or_die(malloc(limit));
	if (run->recipe.parts > 0)
		hand->numbers = memory_or_die(malloc(limit *
		    sizeof *hand->numbers));
	hand->batch = batch_new(filter_batch_lines(run->filter));
	hand->batch->keep_none = run->recipe.keep_empty;
	hand->copies = memory_or_die(malloc(HAND_COPY_BYTES +
	    HAND_COPY_STEP));
	return hand;
}

void
hand_free(struct hand *hand)
{
	chunk_free(&hand->chunk);
	key_scratch_free(&hand->scratch);
	batch_free(hand->batch);
	free(hand->starts);
	free(hand->digests);
	free(hand->troubles);
	free(hand->numbers);
	free(hand->copies);
	free(hand);
}

/* Where prepared line i is in the input. */
static struct key_place
place_of(const struct hand *hand, size_t i)
{
	const struct key_place *first = &hand->run->place;

	return (struct key_place){ first->file, first->number +
		(hand->numbers != NULL ? hand->numbers[i] : i) };
}

/* The batch is finished: its lines are read. */
static void
count_batch(struct hand *hand)
{
	struct run *run = hand->run;
	size_t first = (size_t)(hand->lines - hand->starts);
	size_t n = hand->batch->count;

	if (hand->troubles != NULL)
		key_figures_count(&run->keys, hand->troubles + first,
		    hand->numbers == NULL ? NULL : hand->numbers + first, n,
		    (struct key_place){ run->place.file, run->place.number +
		    (hand->numbers == NULL ? first : 0) });
	run->lines_read += n;
	run->bytes_read += (uint64_t)(hand->lines[n] - hand->lines[0]);
}

/*
 * Remember the new lines, then write them. If claiming fails, the lines that
 * are ours are still written; if writing fails, the rest is lost.
 */
static int
finish_claimed(struct hand *hand, struct error *error)
{
	struct run *run = hand->run;
	struct batch *batch = hand->batch;
	int claimed = batch_claim(batch, run->filter, error);
	size_t fresh, ours = batch->new_count;
	struct error why;

	if (hand_write(hand, &fresh, claimed < 0 ? &why : error) < 0) {
		claimed = claimed < 0 ? -1 : error_set(error, error->status,
		    "%s; %zu lines are remembered and were not printed",
		    error->text, ours - fresh);
	}
	run->lines_new += fresh;
	if (claimed < 0) {
		hand_count_written(hand, fresh);
		return -1;
	}
	count_batch(hand);
	run->plan->tell(run, MOMENT_AFTER_BATCH);
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
	struct run *run = hand->run;
	struct batch *batch = hand->batch;
	int full = 0, result;
	size_t fresh;

	batch->digests = hand->digests + first;
	batch->count = *count;
	hand->lines = hand->starts + first;
	if (batch_probe(batch, run->filter, error) < 0)
		return -1;
	batch_collect(batch, run->plan->remember);
	if (run->plan->use.claim)
		return finish_claimed(hand, error);
	if (run->plan->remember)
		full = batch_reserve(batch, run->filter, error);
	*count = batch->count;
	result = hand_write(hand, &fresh, error);
	run->lines_new += fresh;
	if (run->plan->remember &&
	    batch_mark(batch, fresh, run->filter, error) < 0)
		result = -1;
	if (result < 0) {
		hand_count_written(hand, fresh);
		return -1;
	}
	count_batch(hand);
	run->plan->tell(run, MOMENT_AFTER_BATCH);
	return full;
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

/* All prepared lines, and those between them, are read. */
static void
count_passed(struct hand *hand)
{
	struct run *run = hand->run;

	run->place.number += hand->prepared + hand->passed;
	run->lines_passed += hand->passed;
	run->bytes_read += hand->passed_bytes;
	hand->passed = 0;
	hand->passed_bytes = 0;
}

static int
refuse_foreign(const struct hand *hand, struct error *error)
{
	const struct key_recipe *recipe = &hand->run->recipe;
	const struct key_place *first = &hand->run->place;

	return error_set(error, STATUS_FAILED, "%s: %s %" PRIu64 " is not of"
	    " part %u of %u, which --strict-part does not allow", first->file,
	    recipe->csv ? "record" : "line", first->number + hand->prepared,
	    recipe->part, recipe->parts);
}

/* Finish prepared lines; with --strict-keys, up to the first without a key. */
static int
finish_prepared(struct hand *hand, struct error *error)
{
	struct run *run = hand->run;
	size_t allowed = hand->prepared;

	run->keys.found |= hand->scratch.found;
	if (run->plan->strict_keys && hand->troubles != NULL)
		allowed = key_first_refused(hand->troubles, allowed);
	if (finish_lines(hand, allowed, error) < 0)
		return -1;
	if (signals_stop)
		return 0;
	if (allowed < hand->prepared) {
		key_refuse(&run->recipe, hand->troubles[allowed],
		    place_of(hand, allowed), error);
		return -1;
	}
	if (hand->is_foreign)
		return refuse_foreign(hand, error);
	count_passed(hand);
	return 0;
}

static void
keep_header(const struct hand *hand)
{
	struct run *run = hand->run;

	run->header_bytes = hand->chunk.header_bytes;
	run->header = memory_or_die(malloc(run->header_bytes));
	memcpy(run->header, hand->chunk.data, run->header_bytes);
}

/* Under the first file's header, records of other columns would mislead. */
static void
compare_header(const struct hand *hand)
{
	const struct run *run = hand->run;
	const struct chunk *chunk = &hand->chunk;
	struct error error, named;

	if (columns_compare(&run->recipe,
	    (struct key){ run->header, run->header_bytes },
	    (struct key){ chunk->data, chunk->header_bytes }, &error) == 0)
		return;
	error_set(&named, STATUS_OK, "%s: %s", chunk->file, error.text);
	run->plan->notice(named.text);
}

/*
 * Write a file's header, which isn't a line: only the first one, and not if the
 * output continues a file, or has the repeated lines (-d).
 */
static int
write_header(struct hand *hand, struct error *error)
{
	struct run *run = hand->run;
	size_t written;

	if (hand->chunk.header_bytes == 0)
		return 0;
	run->place.number++;
	run->bytes_read += hand->chunk.header_bytes;
	if (run->plan->print == PRINT_NOTHING ||
	    (run->plan->print == PRINT_SEEN && run->plan->remember))
		return 0;
	if (run->header != NULL) {
		compare_header(hand);
		return 0;
	}
	keep_header(hand);
	if (output_continues(&run->output))
		return 0;
	return output_write(&run->output, hand->chunk.data,
	    hand->chunk.header_bytes, &written, error);
}

int
hand_finish(struct hand *hand, struct error *error)
{
	const uint8_t *end = hand->chunk.data + hand->chunk.nbytes;

	if (hand->chunk.begins)
		hand->run->place = (struct key_place){
			hand->chunk.file, 1 };
	if (write_header(hand, error) < 0 || finish_prepared(hand, error) < 0)
		return -1;
	while (hand->rest < end && !signals_stop) {
		hand_prepare_rest(hand);
		if (finish_prepared(hand, error) < 0)
			return -1;
	}
	return filter_write_back(hand->run->filter, 0, error);
}
