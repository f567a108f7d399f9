#include "stream/worker.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/signals.h"
#include "bits/loops.h"
#include "disk/notes.h"
#include "filter/batch.h"
#include "filter/early.h"
#include "filter/filter.h"
#include "stream/lines.h"

/*
 * Lines that do not lie side by side are copied, so that so many bytes of them
 * go out with one write: as many as can be noted.
 */
#define COPY_BYTES NOTES_TEXT_MAX
_Static_assert(OUTPUT_STEP <= NOTES_PADDING, "output_copy stays in the note");

/*
 * The input counts as pausing if nothing follows its first lines for this many
 * milliseconds.
 */
#define FIRST_PAUSE 50

/*
 * This many lines are hashed before their cache lines are prefetched: few, so
 * that there are never more prefetches at once than the memory can handle, but
 * enough that the calls cost little.
 */
#define GROUP_LINES 8
/* More with --part, since only some of them are kept. */
#define PART_LINES 64

/*
 * The state of one thread. Its lines are prepared by this thread alone, beside
 * the others; they are finished in turn.
 */
struct worker {
	struct run *run;
	struct lines lines;     /* lines that are prepared; with --part
				 * (`numbers`), only those of this part */
	struct key *keys;       /* their keys with PRINT_KEYS, else NULL */
	struct digest *digests; /* digests of their keys, otherwise */
	uint32_t *numbers;      /* index of each of them among the lines that
				 * were split; NULL without --part */
	size_t passed;          /* lines of other parts among those that were
				 * split */
	uint64_t passed_bytes;
	int is_foreign;         /* is the next line of another part, with
				 * --strict-part? */
	struct batch *batch;
	const uint8_t **starts; /* starts of the batch's lines, a part of
				 * lines.starts */
	struct output_lines copies; /* copies of lines on their way to an
				     * output */
	uint8_t *buffer;        /* their place, if they are not noted */
};

static void *
worker_new(void *context, struct chunk *chunk, size_t room)
{
	struct run *run = context;
	struct worker *w = memory_or_die(calloc(1, sizeof *w));

	w->run = run;
	lines_init(&w->lines, &run->recipe, &run->inputs->format, chunk,
	    room);
	w->digests = memory_or_die(malloc(room * sizeof *w->digests));
	if (run->plan->print == PRINT_KEYS)
		w->keys = memory_or_die(malloc(room * sizeof *w->keys));
	else if (run->recipe.parts > 0)
		w->numbers = memory_or_die(malloc(room *
		    sizeof *w->numbers));
	w->batch = batch_new(filter_batch_lines(run->filter));
	w->batch->keep_none = run->recipe.keep_empty;
	w->buffer = memory_or_die(malloc(COPY_BYTES + OUTPUT_STEP));
	w->copies = (struct output_lines){ .room = COPY_BYTES,
		.data = w->buffer };
	return w;
}

static void
worker_free(void *worker)
{
	struct worker *w = worker;

	lines_free(&w->lines);
	batch_free(w->batch);
	free(w->keys);
	free(w->digests);
	free(w->numbers);
	free(w->buffer);
	free(w);
}

/*
 * `keys` are those of the lines from `first` on: move those of this part
 * to the front of all that comes after `kept`. Returns how many they are.
 */
static size_t
sift(struct worker *w, size_t first, size_t n, struct key *keys, size_t kept)
{
	/*
	 * These are read once: the compiler must assume that the stores change
	 * them.
	 */
	const unsigned part = w->run->recipe.part, parts = w->run->recipe.parts;
	const int strict = w->run->plan->strict_part;
	uint8_t *troubles = w->lines.troubles;
	uint32_t *numbers = w->numbers + kept;
	uint64_t hashes[PART_LINES];
	size_t ours = 0;

	hash_plain(keys, n, hashes);
	for (size_t i = 0; i < n; i++) {
		int is_ours = part_of(hashes[i], parts) == part;

		w->is_foreign |= strict & !is_ours;
		if (w->is_foreign)
			break;
		keys[ours] = keys[i];
		numbers[ours] = (uint32_t)(first + i);
		if (troubles != NULL)
			troubles[kept + ours] = troubles[first + i];
		ours += (size_t)is_ours;
	}
	return ours;
}

/* Lines are written as they lie: close the gaps between those of this part. */
static void
close_gaps(struct worker *w, size_t kept)
{
	struct lines *lines = &w->lines;
	const uint8_t **starts = lines->starts;
	uint8_t *buffer = lines->chunk->buffer;
	uint8_t *to = buffer + (starts[0] - buffer);
	uint64_t all = (uint64_t)(lines->rest - starts[0]);

	for (size_t i = 0; i < kept; i++) {
		const uint8_t *from = starts[w->numbers[i]];
		size_t nbytes = (size_t)(starts[w->numbers[i] + 1] - from);

		memmove(to, from, nbytes);
		starts[i] = to;
		to += nbytes;
	}
	starts[kept] = to;
	w->passed = lines->count - kept;
	w->passed_bytes = all - (uint64_t)(to - starts[0]);
	lines->count = kept;
}

/*
 * Make digests of the lines that were split, and prefetch their cache lines,
 * some lines at a time. With --part, only lines of this part stay.
 */
static void
prepare_lines(struct worker *w)
{
	const struct run *run = w->run;
	const struct hash *hash = &filter_header(run->filter)->hash;
	const struct loops *hot = loops();
	const int sifts = w->numbers != NULL;
	const size_t group = sifts ? PART_LINES : GROUP_LINES;
	const size_t count = w->lines.count;
	struct key keys[PART_LINES];
	size_t kept = 0, n, ours;

	for (size_t i = 0; i < count && !w->is_foreign; i += n) {
		n = count - i < group ? count - i : group;
		ours = n;
		lines_keys(&w->lines, i, n, keys);
		if (sifts)
			ours = sift(w, i, n, keys, kept);
		hot->digest(hash, keys, ours, w->digests + kept);
		if (run->recipe.keep_empty)
			key_keep_empty(keys, ours, w->digests + kept);
		filter_prefetch(run->filter, w->digests + kept, ours);
		kept += ours;
	}
	if (sifts)
		close_gaps(w, kept);
}

static size_t
line_bytes(const struct worker *w, size_t i)
{
	return (size_t)(w->starts[i + 1] - w->starts[i]);
}

/*
 * The mark of the batch's line i. *new_before is how many of the lines before
 * it are new, and is counted on.
 */
static const char *
mark_of(const struct worker *w, size_t i, size_t *new_before)
{
	static const char marks[][OUTPUT_TEXT] = { "in\t", "out\t", "seen\t",
		"new\t" };
	const struct batch *batch = w->batch;
	const int is_new = *new_before < batch->new_count &&
	    batch->new_items[*new_before] == i;

	*new_before += (size_t)is_new;
	return marks[2 * w->run->plan->remember + is_new];
}

/* A line that could not be claimed is neither new nor seen. */
static int
is_undone(const struct worker *w, size_t i)
{
	return w->batch->undone > 0 &&
	    w->batch->seen[i] == BATCH_UNDONE;
}

/*
 * How many new lines are in the first `nbytes` of an output that has the
 * batch's new lines, its seen lines, or all of them with their marks? Lines
 * that are not whole there don't count.
 */
static size_t
new_lines_within(const struct worker *w, enum run_print print,
    uint64_t nbytes)
{
	size_t new_lines = 0, whole = 0;

	for (size_t i = 0; i < w->batch->count; i++) {
		const size_t before = new_lines;
		const char *mark = mark_of(w, i, &new_lines);
		const int is_new = new_lines > before;
		uint64_t length = 0;

		if (is_undone(w, i))
			continue;
		if (print == PRINT_MARKED)
			length = strlen(mark) + line_bytes(w, i);
		else if (is_new == (print == PRINT_NEW))
			length = line_bytes(w, i);
		if (length > nbytes)
			break;
		nbytes -= length;
		whole = new_lines;
	}
	return whole;
}

static inline int
add_line(struct worker *w, struct output *output, size_t i,
    struct error *error)
{
	return output_add(output, &w->copies, w->starts[i],
	    line_bytes(w, i), error);
}

/* Write all lines of the batch, as they lie, in pieces that can be noted. */
static int
write_all(struct worker *w, struct output *output, struct error *error)
{
	const size_t count = w->batch->count;
	size_t i = 0, next;

	for (; i < count; i = next) {
		const uint8_t *first = w->starts[i];

		next = count;
		while (next > i + 1 && w->starts[next] - first > COPY_BYTES)
			next = i + (next - i) / 2;
		if (output_records(output, first, (size_t)(w->starts[next] -
		    first), error) < 0)
			return -1;
	}
	return 0;
}

static int
write_new(struct worker *w, struct output *output, struct error *error)
{
	const struct batch *batch = w->batch;

	if (batch->new_count == batch->count)
		return write_all(w, output, error);
	for (size_t i = 0; i < batch->new_count; i++) {
		if (add_line(w, output, batch->new_items[i], error) < 0)
			return -1;
	}
	return output_flush(output, &w->copies, error);
}

static int
write_seen(struct worker *w, struct output *output, struct error *error)
{
	const struct batch *batch = w->batch;

	if (batch->new_count == 0 && batch->undone == 0)
		return write_all(w, output, error);
	for (size_t i = 0; i < batch->count; i++) {
		if (batch->seen[i] == BATCH_SEEN &&
		    add_line(w, output, i, error) < 0)
			return -1;
	}
	return output_flush(output, &w->copies, error);
}

static int
write_marked(struct worker *w, struct output *output,
    struct error *error)
{
	size_t new_before = 0;

	for (size_t i = 0; i < w->batch->count; i++) {
		const char *mark = mark_of(w, i, &new_before);
		const struct output_record record = { .front = mark,
			.front_bytes = strlen(mark), .line = w->starts[i],
			.nbytes = line_bytes(w, i) };

		if (is_undone(w, i))
			continue;
		if (output_add_record(output, &w->copies, &record, error) < 0)
			return -1;
	}
	return output_flush(output, &w->copies, error);
}

/* Lines that are copied to where they are noted need not be copied again. */
static uint8_t *
place_of_copies(const struct worker *w, const struct output *output)
{
	const struct notes *notes = output->append.notes;
	uint8_t *noted = notes == NULL ? NULL : notes_text(notes);

	return noted == NULL ? w->buffer : noted;
}

/*
 * Write lines of the batch. *whole becomes how many new lines are among those
 * that were written.
 */
static int
write_lines(struct worker *w, struct output *output,
    enum run_print print, size_t *whole, struct error *error)
{
	static int (*const writers[])(struct worker *, struct output *,
	    struct error *) = {
		[PRINT_NEW] = write_new, [PRINT_SEEN] = write_seen,
		[PRINT_MARKED] = write_marked
	};
	const uint64_t before = output->nbytes;

	w->copies.data = place_of_copies(w, output);
	if (writers[print](w, output, error) == 0) {
		*whole = w->batch->new_count;
		return 0;
	}
	*whole = new_lines_within(w, print, output->nbytes - before);
	return -1;
}

/*
 * --tee: its file could take only the first `count` new lines. They are printed
 * too, so that they need not come again. It is known already why there are no
 * more. Returns how many of them were printed.
 */
static size_t
print_first(struct worker *w, size_t count)
{
	struct batch *batch = w->batch;
	const size_t new_count = batch->new_count;
	size_t whole = count;

	if (w->run->plan->print == PRINT_NOTHING)
		return whole;
	batch->new_count = count;
	if (write_lines(w, &w->run->output, PRINT_NEW, &whole,
	    error_ignored()) == 0)
		whole = count;
	batch->new_count = new_count;
	return whole;
}

/*
 * Write what the run prints of the batch's lines. *written becomes the number
 * of new lines to mark: if writing fails partway, those that were written, so
 * that they are not printed again.
 */
static int
write_batch(struct worker *w, size_t *written, struct error *error)
{
	struct run *run = w->run;
	const enum run_print print = run->plan->print;
	size_t whole;

	*written = 0;
	run->plan->report(run, MOMENT_BEFORE_PRINT);
	if (run->plan->duplicates != NULL && write_lines(w,
	    &run->duplicates, PRINT_SEEN, &whole, error) < 0)
		return -1;
	if (run->plan->tee != NULL && write_lines(w, &run->tee, PRINT_NEW,
	    &whole, error) < 0) {
		*written = print_first(w, whole);
		return -1;
	}
	if (print == PRINT_NOTHING) {
		*written = w->batch->new_count;
		return 0;
	}
	if (write_lines(w, &run->output, print, &whole, error) == 0) {
		*written = whole;
		return 0;
	}
	if (print != PRINT_SEEN)
		*written = whole;
	return -1;
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
	struct run *run = w->run;
	const uint8_t *troubles = w->lines.troubles + first;
	const uint8_t *const *starts = w->lines.starts + first;

	if (w->numbers == NULL)
		key_figures_count(&run->keys, &run->recipe, troubles, starts,
		    NULL, n, place_of(w, first));
	else
		key_figures_count(&run->keys, &run->recipe, troubles, starts,
		    w->numbers + first, n, run->reading.position);
	lines_notice_many(&run->keys, &run->recipe, run->plan->notice);
}

/*
 * Remember the new lines, then write them. If claiming fails, the lines that
 * are ours are still written; if writing fails, the rest is lost.
 */
static int
claim_and_write(struct worker *w, size_t *written, struct error *error)
{
	struct batch *batch = w->batch;
	int claimed = batch_claim(batch, w->run->filter, error);
	struct error why;

	if (write_batch(w, written, claimed < 0 ? &why : error) < 0 &&
	    claimed >= 0) {
		claimed = error_set(error, error->status,
		    "%s; %zu lines were remembered but not printed",
		    error->text, batch->new_count - *written);
	}
	return claimed;
}

/* Print the keys of `count` prepared lines, from line `first` on. */
static int
print_keys(struct worker *w, size_t first, size_t count, struct error *error)
{
	struct run *run = w->run;
	const char end[OUTPUT_TEXT] = {
		(char)run->inputs->format.csv.terminator };

	run->plan->report(run, MOMENT_BEFORE_PRINT);
	for (size_t i = first; i < first + count; i++) {
		const struct key *key = &w->keys[i];
		const struct output_record record = { .line = key->data,
			.nbytes = key->nbytes, .back = end, .back_bytes = 1 };

		if (output_add_record(&run->output, &w->copies, &record,
		    error) < 0)
			return -1;
		if (memchr(key->data, end[0], key->nbytes) != NULL &&
		    run->several++ == 0)
			run->first_several = place_of(w, i);
	}
	if (output_flush(&run->output, &w->copies, error) < 0)
		return -1;
	w->starts = w->lines.starts + first;
	if (w->lines.troubles != NULL)
		count_troubles(w, first, count);
	run->lines_read += count;
	run->bytes_read += (uint64_t)(w->starts[count] - w->starts[0]);
	run->plan->report(run, MOMENT_AFTER_BATCH);
	return 0;
}

/*
 * Finish one batch of prepared lines, from line `first` on, up to *count of
 * them. *count becomes how many it was; the caller passes the others again.
 *
 * The order is the promise: room for the new lines before they are written, and
 * no bit of a line in the filter before the line is written. With --claim it is
 * the other way round, deliberately.
 */
static int
finish_batch(struct worker *w, size_t first, size_t *count,
    struct error *error)
{
	struct run *run = w->run;
	struct batch *batch = w->batch;
	const int remember = run->plan->remember;
	enum room room = ROOM_ENOUGH;
	size_t written;
	int result;

	batch->digests = w->digests + first;
	batch->count = *count;
	w->starts = w->lines.starts + first;
	if (batch_probe(batch, run->filter, error) < 0)
		return -1;
	batch_collect(batch, remember);
	if (run->plan->use.claim) {
		result = claim_and_write(w, &written, error);
	} else {
		if (remember)
			room = batch_reserve(batch, run->filter, error);
		result = write_batch(w, &written, error);
		/* After a failure, only lines that were written are marked. */
		if (remember && batch_mark(batch, written, run->filter,
		    error) < 0)
			result = -1;
	}
	*count = batch->count;
	run->lines_new += written;
	if (result < 0) {
		/* Only these of the lines that were read are known. */
		run->lines_read += written;
		return -1;
	}
	if (w->lines.troubles != NULL)
		count_troubles(w, first, *count);
	run->lines_read += *count;
	run->bytes_read += (uint64_t)(w->starts[*count] - w->starts[0]);
	run->plan->report(run, MOMENT_AFTER_BATCH);
	return room == ROOM_SHORT ? -1 : 0;
}

/* --strict-part: the line after those that were prepared is of another part. */
static int
refuse_other_part(const struct worker *w, struct error *error)
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
	int result;

	if (lines_count_headers(&w->lines, &run->reading, &run->keys,
	    run->plan->strict_keys, error) < 0)
		return -1;
	run->bytes_read += w->lines.headers_bytes;
	run->keys.found |= w->lines.scratch.found;
	if (run->plan->strict_keys && troubles != NULL)
		allowed = key_first_refused(troubles, allowed);
	for (size_t i = 0; i < allowed; i += n) {
		n = allowed - i;
		n = n < w->batch->capacity ? n : w->batch->capacity;
		if (signals_stop)
			return 0;
		if (w->keys != NULL)
			result = print_keys(w, i, n, error);
		else
			result = finish_batch(w, i, &n, error);
		if (result < 0)
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
		return refuse_other_part(w, error);
	/* The lines of other parts between them have numbers, too. */
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

	if (!run->recipe.header || plan->print == PRINT_KEYS ||
	    (plan->print == PRINT_SEEN && plan->remember))
		return 0;
	return plan->print != PRINT_NOTHING || plan->tee != NULL;
}

static int
write_header(struct output *out, const struct chunk *chunk,
    struct error *error)
{
	int result;

	out->is_header = 1;
	result = output_records(out, chunk->data, chunk->header_bytes, error);
	out->is_header = 0;
	return result;
}

/*
 * Print the header, but not if the output continues a file. Two runs that begin
 * a file together must not both do so.
 */
static int
print_header(struct run *run, struct output *out, const struct chunk *chunk,
    const struct record_format *format, struct error *error)
{
	int continues = output_continues(out);

	/* With --atomic, the header of an empty file is a part of the text. */
	if (out->append.fd >= 0 && (out->divert == NULL || continues) &&
	    output_is_appended_to(out))
		continues = append_header(&out->append, chunk->data,
		    chunk->header_bytes, &run->plan->use.wait, error);
	else if (!continues)
		return write_header(out, chunk, error);
	if (continues <= 0)
		return continues;
	return reading_compare_output(&run->reading, &run->recipe, format,
	    out->fd, out->name, error);
}

/* A chunk's header, which isn't a line: print it if it is the first one. */
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
	if (run->plan->tee != NULL && print_header(run, &run->tee, chunk,
	    w->lines.format, error) < 0)
		return -1;
	if (run->plan->print == PRINT_NOTHING)
		return 0;
	return print_header(run, &run->output, chunk, w->lines.format, error);
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

	if (recipe->range_count == 0 && recipe->column_count == 0 &&
	    recipe->json_count == 0)
		return 0;
	if (recipe->keep_empty || run->plan->strict_keys ||
	    run->plan->print == PRINT_KEYS)
		return 0;
	return FIRST_PAUSE;
}

/*
 * Before anything is printed: if the first lines all lack the fields of the
 * key, or the values of --json, the separator, the fields or the pointers are
 * most likely a mistake. As many lines are looked at as a batch has, with any
 * number of threads; not if the input pauses after fewer, since a stream may
 * begin with such lines.
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
	if (!key_all_lack_fields(&run->recipe, w->lines.troubles,
	    w->lines.scratch.found, n))
		return 0;
	return key_refuse_all(&run->recipe, chunk->file, n, error);
}

/* Make what the run needs of the lines that were split: keys, or digests. */
static void
prepare_split(struct worker *w)
{
	if (w->keys != NULL)
		lines_keys(&w->lines, 0, w->lines.count, w->keys);
	else
		prepare_lines(w);
}

static void
worker_prepare(void *worker, size_t limit)
{
	struct worker *w = worker;

	lines_first(&w->lines, limit);
	prepare_split(w);
}

static int
worker_finish(void *worker, struct error *error)
{
	struct worker *w = worker;
	struct run *run = w->run;

	run->position = w->lines.chunk->position;
	if (check_first_lines(w, error) < 0 || finish_header(w, error) < 0 ||
	    finish_prepared(w, error) < 0)
		return -1;
	while (!signals_stop && lines_next(&w->lines, w->batch->capacity)) {
		prepare_split(w);
		if (finish_prepared(w, error) < 0)
			return -1;
	}
	if (filter_write_back(run->filter, 0, error) < 0)
		return -1;
	expect_lines(run);
	return 0;
}

/*
 * If the pause lasts, what is only in memory goes to the filter's file, and
 * what is wrong with lines is told.
 */
static int
pause_run(void *context, const struct input *input, struct error *error)
{
	struct run *run = context;
	int after = filter_idle_after(run->filter);

	if (after >= 0 && input_pauses(input, after) &&
	    filter_write_back(run->filter, 1, error) < 0)
		return -1;
	lines_notice_at_rest(&run->keys, &run->recipe, input,
	    run->plan->notice);
	return 0;
}

static int
is_large(void *context, struct error *error)
{
	struct run *run = context;

	return run->plan->enlarges ? early_enlarge(&run->filter, error) : 0;
}

static void
worker_interrupted(void *context)
{
	struct run *run = context;

	run->plan->report(run, MOMENT_INTERRUPTED);
}

/*
 * With a filter on a server, a run waits for round trips, and one thread puts
 * more lines into each.
 */
static unsigned
threads_of(const struct run_plan *plan)
{
	if (plan->threads == 0 && plan->filter != NULL &&
	    !filter_abilities(plan->filter)->is_path)
		return 1;
	return plan->threads;
}

struct job
worker_job(struct run *run)
{
	run->output.interrupted = worker_interrupted;
	run->output.context = run;
	run->duplicates.interrupted = worker_interrupted;
	run->duplicates.context = run;
	run->tee.interrupted = worker_interrupted;
	run->tee.context = run;
	return (struct job){ .context = run, .threads = threads_of(run->plan),
		.batch_lines = filter_batch_lines(run->filter),
		.first_pause = first_pause(run), .output = run->output.fd,
		.begin = worker_new, .end = worker_free,
		.prepare = worker_prepare, .finish = worker_finish,
		.is_large = is_large, .pause = pause_run,
		.interrupted = worker_interrupted,
		.notice = run->plan->notice };
}
