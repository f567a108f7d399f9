/* The part of worker.h that writes the lines of a batch. */
#include <string.h>

#include "stream/worker.h"

static size_t
line_bytes(const struct worker *worker, size_t i)
{
	return (size_t)(worker->lines[i + 1] - worker->lines[i]);
}

/*
 * The mark of line i of the batch. *fresh counts new lines, from 0 at the first
 * line on.
 */
static const char *
mark_of(const struct worker *worker, size_t i, size_t *fresh)
{
	const struct batch *batch = worker->batch;
	const int remember = worker->run->plan->remember;

	if (*fresh == batch->new_count || batch->new_items[*fresh] != i)
		return remember ? "seen\t" : "in\t";
	++*fresh;
	return remember ? "new\t" : "out\t";
}

/*
 * How many new lines are complete in the first `nbytes` of output, which has
 * nothing else, or all lines with their marks.
 */
static size_t
new_within(const struct worker *worker, size_t nbytes)
{
	const int marked = worker->run->plan->print == PRINT_MARKED;
	size_t fresh = 0, whole = 0;

	for (size_t i = 0; i < worker->batch->count; i++) {
		const char *mark = mark_of(worker, i, &fresh);
		size_t length = marked ? strlen(mark) : 0;

		if (marked || fresh > whole)
			length += line_bytes(worker, i);
		if (length > nbytes)
			break;
		nbytes -= length;
		whole = fresh;
	}
	return whole;
}

/* Lines being written to an output, copied together so that few writes do. */
struct writing {
	struct worker *worker;
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
	size_t nbytes = w->worker->copied;

	w->worker->copied = 0;
	return write_bytes(w, w->worker->copies, nbytes);
}

/*
 * Write line i of the batch. To copy a fixed number of bytes takes no branch
 * that depends on the line; what is too much is overwritten.
 */
static inline int
write_line(struct writing *w, size_t i)
{
	struct worker *worker = w->worker;
	const struct chunk *chunk = &worker->chunk;
	const uint8_t *from = worker->lines[i];
	size_t nbytes = line_bytes(worker, i);
	uint8_t *to = worker->copies + worker->copied;

	if (nbytes > WORKER_COPY_BYTES - worker->copied) {
		if (write_copies(w) < 0)
			return -1;
		if (nbytes > WORKER_COPY_BYTES)
			return write_bytes(w, from, nbytes);
		to = worker->copies;
	}
	worker->copied += nbytes;
	if (nbytes <= WORKER_COPY_STEP && from + WORKER_COPY_STEP <=
	    chunk->data + chunk->nbytes + INPUT_PADDING)
		memcpy(to, from, WORKER_COPY_STEP);
	else
		memcpy(to, from, nbytes);
	return 0;
}

/* Write all lines of the batch, as they lie. */
static int
write_all(struct writing *w)
{
	const uint8_t *first = w->worker->lines[0];

	return write_bytes(w, first,
	    (size_t)(w->worker->lines[w->worker->batch->count] - first));
}

static int
write_new(struct writing *w)
{
	const struct batch *batch = w->worker->batch;

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
	const struct batch *batch = w->worker->batch;

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
	struct worker *worker = w->worker;
	size_t fresh = 0;

	for (size_t i = 0; i < worker->batch->count; i++) {
		const char *mark = mark_of(worker, i, &fresh);
		size_t nbytes = strlen(mark);

		if (nbytes > WORKER_COPY_BYTES - worker->copied &&
		    write_copies(w) < 0)
			return -1;
		memcpy(worker->copies + worker->copied, mark, nbytes);
		worker->copied += nbytes;
		if (write_line(w, i) < 0)
			return -1;
	}
	return write_copies(w);
}

int
worker_write(struct worker *worker, size_t *fresh, struct error *error)
{
	static int (*const writers[])(struct writing *) = {
		[PRINT_NEW] = write_new, [PRINT_SEEN] = write_seen,
		[PRINT_MARKED] = write_marked
	};
	const struct run_plan *plan = worker->run->plan;
	struct writing copy = { worker, &worker->run->duplicates, 0, error };
	struct writing w = { worker, &worker->run->output, 0, error };

	*fresh = 0;
	plan->tell(worker->run, MOMENT_BEFORE_PRINT);
	if (plan->duplicates != NULL && write_seen(&copy) < 0)
		return -1;
	if (plan->print == PRINT_NOTHING || writers[plan->print](&w) == 0) {
		*fresh = worker->batch->new_count;
		return 0;
	}
	if (plan->print != PRINT_SEEN)
		*fresh = new_within(worker, w.written);
	return -1;
}
