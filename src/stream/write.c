/* The part of worker.h that writes the lines of a batch. */
#include <string.h>

#include "stream/torn.h"
#include "stream/worker.h"

static size_t
line_bytes(const struct worker *worker, size_t i)
{
	return (size_t)(worker->starts[i + 1] - worker->starts[i]);
}

/*
 * The mark of the batch's line i. *new_before is how many of the lines before
 * it are new, and is counted on.
 */
static const char *
mark_of(const struct worker *worker, size_t i, size_t *new_before)
{
	static const char marks[][OUTPUT_TEXT] = { "in\t", "out\t", "seen\t",
		"new\t" };
	const struct batch *batch = worker->batch;
	const int is_new = *new_before < batch->new_count &&
	    batch->new_items[*new_before] == i;

	*new_before += (size_t)is_new;
	return marks[2 * worker->run->plan->remember + is_new];
}

/* A line that could not be claimed is neither new nor seen. */
static int
is_undone(const struct worker *worker, size_t i)
{
	return worker->batch->undone > 0 &&
	    worker->batch->seen[i] == BATCH_UNDONE;
}

/* Of a batch's lines in an output. */
struct whole {
	size_t new_lines; /* whose bytes are among these */
	uint64_t nbytes;
};

/*
 * What is whole in the first `nbytes` of an output that has the batch's new
 * lines, its seen lines, or all of them with their marks.
 */
static struct whole
whole_within(const struct worker *worker, enum run_print print,
    uint64_t nbytes)
{
	struct whole whole = { 0, 0 };
	size_t new_lines = 0;

	for (size_t i = 0; i < worker->batch->count; i++) {
		const size_t before = new_lines;
		const char *mark = mark_of(worker, i, &new_lines);
		const int is_new = new_lines > before;
		uint64_t length = 0;

		if (is_undone(worker, i))
			continue;
		if (print == PRINT_MARKED)
			length = strlen(mark) + line_bytes(worker, i);
		else if (is_new == (print == PRINT_NEW))
			length = line_bytes(worker, i);
		if (length > nbytes - whole.nbytes)
			break;
		whole.nbytes += length;
		whole.new_lines = new_lines;
	}
	return whole;
}

static inline int
add_line(struct worker *worker, struct output *output, size_t i,
    struct error *error)
{
	return output_add(output, &worker->copies, worker->starts[i],
	    line_bytes(worker, i), error);
}

/* Write all lines of the batch, as they lie. */
static int
write_all(struct worker *worker, struct output *output, struct error *error)
{
	const uint8_t *first = worker->starts[0];

	return output_write(output, first,
	    (size_t)(worker->starts[worker->batch->count] - first), error);
}

static int
write_new(struct worker *worker, struct output *output, struct error *error)
{
	const struct batch *batch = worker->batch;

	if (batch->new_count == batch->count)
		return write_all(worker, output, error);
	for (size_t i = 0; i < batch->new_count; i++) {
		if (add_line(worker, output, batch->new_items[i], error) < 0)
			return -1;
	}
	return output_flush(output, &worker->copies, error);
}

static int
write_seen(struct worker *worker, struct output *output, struct error *error)
{
	const struct batch *batch = worker->batch;

	if (batch->new_count == 0 && batch->undone == 0)
		return write_all(worker, output, error);
	for (size_t i = 0; i < batch->count; i++) {
		if (batch->seen[i] == BATCH_SEEN &&
		    add_line(worker, output, i, error) < 0)
			return -1;
	}
	return output_flush(output, &worker->copies, error);
}

static int
write_marked(struct worker *worker, struct output *output,
    struct error *error)
{
	size_t new_before = 0;

	for (size_t i = 0; i < worker->batch->count; i++) {
		const char *mark = mark_of(worker, i, &new_before);

		if (is_undone(worker, i))
			continue;
		if (output_add_text(output, &worker->copies, mark,
		    strlen(mark), error) < 0 ||
		    add_line(worker, output, i, error) < 0)
			return -1;
	}
	return output_flush(output, &worker->copies, error);
}

/*
 * Write lines of the batch. If that fails, the output is cut back to those that
 * are whole, of which *whole says how many are new.
 */
static int
write_lines(struct worker *worker, struct output *output,
    enum run_print print, struct whole *whole, struct error *error)
{
	static int (*const writers[])(struct worker *, struct output *,
	    struct error *) = {
		[PRINT_NEW] = write_new, [PRINT_SEEN] = write_seen,
		[PRINT_MARKED] = write_marked
	};
	const uint64_t before = output->nbytes;

	torn_begin(output);
	if (writers[print](worker, output, error) == 0) {
		whole->new_lines = worker->batch->new_count;
		return 0;
	}
	*whole = whole_within(worker, print, output->nbytes - before);
	torn_cut(output, whole->nbytes, error);
	return -1;
}

int
worker_write(struct worker *worker, size_t *written, struct error *error)
{
	struct run *run = worker->run;
	const enum run_print print = run->plan->print;
	struct whole whole;

	*written = 0;
	run->plan->tell(run, MOMENT_BEFORE_PRINT);
	if (run->plan->duplicates != NULL && write_lines(worker,
	    &run->duplicates, PRINT_SEEN, &whole, error) < 0)
		return -1;
	if (print == PRINT_NOTHING) {
		*written = worker->batch->new_count;
		return 0;
	}
	if (write_lines(worker, &run->output, print, &whole, error) == 0) {
		*written = whole.new_lines;
		return 0;
	}
	if (print != PRINT_SEEN)
		*written = whole.new_lines;
	return -1;
}
