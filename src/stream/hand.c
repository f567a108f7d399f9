#include "stream/hand.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/signals.h"
#include "filter/filter.h"

/* Lines to write are copied together, up to so many bytes at a time. */
#define COPY_BYTES (128 * 1024)
/* A line is copied with so many bytes, if it has no more. */
#define COPY_STEP 128

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
	hand->copies = memory_or_die(malloc(COPY_BYTES + COPY_STEP));
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

/*
 * The mark of line i of the batch. *fresh counts new lines, from 0 at the first
 * line on.
 */
static const char *
mark_of(const struct hand *hand, size_t i, size_t *fresh)
{
	const struct batch *batch = hand->batch;
	const struct run_marks *marks = &hand->run->plan->marks;

	if (*fresh == batch->new_count || batch->new_items[*fresh] != i)
		return marks->seen;
	++*fresh;
	return marks->fresh;
}

/* The same of lines with their marks. */
static size_t
marked_within(const struct hand *hand, size_t nbytes)
{
	size_t fresh = 0, whole = 0;

	for (size_t i = 0; i < hand->batch->count; i++) {
		size_t length = strlen(mark_of(hand, i, &fresh)) +
		    line_bytes(hand, i);

		if (length > nbytes)
			break;
		nbytes -= length;
		whole = fresh;
	}
	return whole;
}

/* Lines being written to an output, copied together so that few writes do. */
struct writing {
	struct hand *hand;
	struct output *output;
	size_t written;        /* bytes that the system took */
	struct error *error;
};

static int
write_bytes(struct writing *w, const uint8_t *data, size_t nbytes)
{
	size_t some;
	int result = output_write(w->output, data, nbytes, &some, w->error);

	w->written += some;
	return result;
}

static int
write_copies(struct writing *w)
{
	size_t nbytes = w->hand->copied;

	w->hand->copied = 0;
	return write_bytes(w, w->hand->copies, nbytes);
}

/*
 * Write line i of the batch. To copy a fixed number of bytes takes no branch
 * that depends on the line; what is too much is overwritten.
 */
static inline int
write_line(struct writing *w, size_t i)
{
	struct hand *hand = w->hand;
	const struct chunk *chunk = &hand->chunk;
	const uint8_t *from = hand->lines[i];
	size_t nbytes = line_bytes(hand, i);
	uint8_t *to = hand->copies + hand->copied;

	if (nbytes > COPY_BYTES - hand->copied) {
		if (write_copies(w) < 0)
			return -1;
		if (nbytes > COPY_BYTES)
			return write_bytes(w, from, nbytes);
		to = hand->copies;
	}
	hand->copied += nbytes;
	if (nbytes <= COPY_STEP && from + COPY_STEP <= chunk->data +
	    chunk->nbytes + INPUT_PADDING)
		memcpy(to, from, COPY_STEP);
	else
		memcpy(to, from, nbytes);
	return 0;
}

/* Write all lines of the batch, as they lie. */
static int
write_all(struct writing *w)
{
	const uint8_t *first = w->hand->lines[0];

	return write_bytes(w, first,
	    (size_t)(w->hand->lines[w->hand->batch->count] - first));
}

static int
write_new(struct writing *w)
{
	const struct batch *batch = w->hand->batch;

	if (batch->new_count == batch->count)
		return write_all(w);
	for (size_t i = 0; i < batch->new_count; i++) {
		if (write_line(w, batch->new_items[i]) < 0)
			return -1;
	}
	return write_copies(w);
}

static int
write_seen(struct writing *w)
{
	const struct batch *batch = w->hand->batch;

	if (batch->new_count == 0)
		return write_all(w);
	for (size_t i = 0; i < batch->count; i++) {
		if (batch->seen[i] && write_line(w, i) < 0)
			return -1;
	}
	return write_copies(w);
}

static int
write_marked(struct writing *w)
{
	struct hand *hand = w->hand;
	size_t fresh = 0;

	for (size_t i = 0; i < hand->batch->count; i++) {
		const char *mark = mark_of(hand, i, &fresh);
		size_t nbytes = strlen(mark);

		if (nbytes > COPY_BYTES - hand->copied && write_copies(w) < 0)
			return -1;
		memcpy(hand->copies + hand->copied, mark, nbytes);
		hand->copied += nbytes;
		if (write_line(w, i) < 0)
			return -1;
	}
	return write_copies(w);
}

/* Write what is to be printed; *fresh becomes how many new lines that were. */
static int
print_lines(struct writing *w, size_t *fresh)
{
	struct hand *hand = w->hand;

	*fresh = hand->batch->new_count;
	switch (hand->run->plan->print) {
	case PRINT_NEW:
		if (write_new(w) == 0)
			return 0;
		*fresh = lines_within(hand, w->written);
		return -1;
	case PRINT_SEEN:
		if (write_seen(w) == 0)
			return 0;
		*fresh = 0;
		return -1;
	case PRINT_MARKED:
		if (write_marked(w) == 0)
			return 0;
		*fresh = marked_within(hand, w->written);
		return -1;
	case PRINT_NOTHING:
		break;
	}
	return 0;
}

/*
 * Write the batch's lines. *fresh becomes the number of new lines to mark: if
 * writing fails half-way, those that were written, so that they are not printed
 * again.
 */
static int
write_lines(struct hand *hand, size_t *fresh, struct error *error)
{
	struct run *run = hand->run;
	struct writing copy = { hand, &run->duplicates, 0, error };
	struct writing w = { hand, &run->output, 0, error };

	*fresh = 0;
	run->plan->tell(run, MOMENT_BEFORE_PRINT);
	if (run->plan->duplicates != NULL && write_seen(&copy) < 0)
		return -1;
	return print_lines(&w, fresh);
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

/* The run fails: only lines that were written were read. */
static void
count_written(struct hand *hand, size_t fresh)
{
	hand->run->lines_read += fresh;
	for (size_t i = 0; i < fresh; i++)
		hand->run->bytes_read += line_bytes(hand,
		    hand->batch->new_items[i]);
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

	if (write_lines(hand, &fresh, claimed < 0 ? &why : error) < 0) {
		claimed = claimed < 0 ? -1 : error_set(error, error->status,
		    "%s; %zu lines are remembered and were not printed",
		    error->text, ours - fresh);
	}
	run->lines_new += fresh;
	if (claimed < 0) {
		count_written(hand, fresh);
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
	result = write_lines(hand, &fresh, error);
	run->lines_new += fresh;
	if (run->plan->remember &&
	    batch_mark(batch, fresh, run->filter, error) < 0)
		result = -1;
	if (result < 0) {
		count_written(hand, fresh);
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
