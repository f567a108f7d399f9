/* The part of hand.h that writes the lines of a batch. */
#include <string.h>

#include "stream/hand.h"

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

	if (nbytes > HAND_COPY_BYTES - hand->copied) {
		if (write_copies(w) < 0)
			return -1;
		if (nbytes > HAND_COPY_BYTES)
			return write_bytes(w, from, nbytes);
		to = hand->copies;
	}
	hand->copied += nbytes;
	if (nbytes <= HAND_COPY_STEP && from + HAND_COPY_STEP <= chunk->data +
	    chunk->nbytes + INPUT_PADDING)
		memcpy(to, from, HAND_COPY_STEP);
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

		if (nbytes > HAND_COPY_BYTES - hand->copied &&
		    write_copies(w) < 0)
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

int
hand_write(struct hand *hand, size_t *fresh, struct error *error)
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

void
hand_count_written(struct hand *hand, size_t fresh)
{
	hand->run->lines_read += fresh;
	for (size_t i = 0; i < fresh; i++)
		hand->run->bytes_read += line_bytes(hand,
		    hand->batch->new_items[i]);
}
