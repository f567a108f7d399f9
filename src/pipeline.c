/*
 * A batch is so many lines that all that belongs to them stays in the second
 * level cache: their bytes, digests and the cache lines of the filter that
 * they need. Each step goes over the whole batch, so that the filter's lines
 * come from memory while other lines are split and hashed.
 *
 * With a team, what needs no order is shared out: lines are hashed by whoever
 * has time, while the batch before them is written; and each thread probes and
 * marks what lies in its range of the filter's pages. Batches are the same with
 * any number of threads, and so is what goes out.
 */
#include "pipeline.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "signals.h"

#define BATCH_LINES 1024
/*
 * So many lines are hashed before their cache lines are asked for: few, so that
 * the memory is never asked for more at once than it can be.
 */
#define GROUP_LINES 4
/* So many are handed to one of several threads. */
#define PIECE_LINES 64
/* A batch of more bytes is not shared out where keys are put together. */
#define SHARED_BYTES (256 * 1024)
/* As the pipeline's own thread helps; the team's have smaller numbers. */
#define OWN_PART (TEAM_THREADS_MAX - 1)
/* How fast private memory is written back; and milliseconds to wait first. */
#define PAGES_A_MILLISECOND 200
#define LONGEST_PAUSE 1000
/* Eight times the lines: a search seldom begins, and the jump is foreseen. */
#define REPEAT_SLOTS (8 * BATCH_LINES)

struct batch {
	const struct pipeline *pipeline;
	unsigned helpers; /* so many threads hash it; 0: the pipeline's own */
	size_t count;
	atomic_size_t hashed; /* so many lines are, or somebody does it */
	uint8_t *starts[BATCH_LINES + 1]; /* of lines; the last's end */
	struct digest digests[BATCH_LINES];
	uint8_t seen[BATCH_LINES];
	struct digest fresh[BATCH_LINES]; /* digests of the new lines */
	uint16_t fresh_lines[BATCH_LINES]; /* and their numbers */
	size_t fresh_count;
	uint16_t repeats[REPEAT_SLOTS];   /* place in `fresh` + 1, or 0 */
	struct key_scratch *scratch; /* TEAM_THREADS_MAX, one a part */
	uint8_t copies[128 * 1024];       /* of lines, to be written */
	size_t copied;
};

static uint8_t
terminator(const struct pipeline *p)
{
	return p->recipe->zero_terminated ? '\0' : '\n';
}

static void
take_keys(const struct pipeline *p, uint8_t **starts, size_t n,
    struct key_scratch *scratch, struct key *keys)
{
	int whole = key_is_line(p->recipe);

	scratch->used = 0;
	for (size_t i = 0; i < n; i++) {
		size_t nbytes = (size_t)(starts[i + 1] - starts[i] - 1);

		keys[i] = whole ? (struct key){ starts[i], nbytes } :
		    key_take(p->recipe, starts[i], nbytes, scratch);
	}
}

/* Who has time takes the next lines that nobody has. */
static void
hash_part(void *context, unsigned part, unsigned parts)
{
	struct batch *batch = context;
	const struct pipeline *p = batch->pipeline;
	struct key keys[GROUP_LINES];
	size_t i, n;

	(void)parts;
	while ((i = atomic_fetch_add_explicit(&batch->hashed, PIECE_LINES,
	    memory_order_relaxed)) < batch->count) {
		size_t end = i + PIECE_LINES;

		end = end < batch->count ? end : batch->count;
		for (; i < end; i += n) {
			struct digest *digests = batch->digests + i;

			n = end - i < GROUP_LINES ? end - i : GROUP_LINES;
			take_keys(p, batch->starts + i, n,
			    &batch->scratch[part], keys);
			kernel()->digest(&p->filter->header.hash, keys, n,
			    digests);
			if (batch->helpers > 0)
				continue; /* who probes asks for their lines */
			filter_prefetch(p->filter, digests, n);
			if (p->hold != NULL)
				hold_prefetch(p->hold, digests, n);
		}
	}
}

/*
 * No thread of the team takes memory: it couldn't say that there is none. A
 * batch with long lines is hashed by one thread, that memory stays bounded.
 */
static void
reserve_scratch(const struct pipeline *p, struct batch *batch)
{
	size_t nbytes;

	if (batch->count == 0 || key_is_line(p->recipe))
		return;
	nbytes = (size_t)(batch->starts[batch->count] - batch->starts[0]);
	if (nbytes > SHARED_BYTES)
		batch->helpers = 0;
	key_scratch_reset(&batch->scratch[OWN_PART], p->recipe, nbytes);
	for (unsigned i = 0; i < batch->helpers; i++)
		key_scratch_reset(&batch->scratch[i], p->recipe, nbytes);
}

/*
 * Take lines from data, up to a full batch (none at its end), and let the team
 * begin to hash them. Returns where the next batch begins.
 */
static uint8_t *
batch_begin(struct pipeline *p, struct batch *batch, uint8_t *data,
    const uint8_t *end)
{
	struct csv_format csv = { (uint8_t)p->recipe->separator,
		terminator(p) };

	batch->pipeline = p;
	batch->count = p->recipe->csv ?
	    csv_split(&csv, data, end, batch->starts, BATCH_LINES) :
	    kernel()->split(data, end, terminator(p), batch->starts,
	    BATCH_LINES);
	atomic_store(&batch->hashed, 0);
	batch->helpers = team_parts(p->team, batch->count) - 1;
	reserve_scratch(p, batch);
	if (batch->helpers > 0)
		team_start(p->team, batch->helpers, hash_part, batch);
	return batch->starts[batch->count];
}

/* Collect the lines that are not in the filter; no jump depends on a line. */
static void
batch_collect(struct batch *batch)
{
	size_t n = 0;

	for (size_t i = 0; i < batch->count; i++) {
		batch->fresh[n] = batch->digests[i];
		batch->fresh_lines[n] = (uint16_t)i;
		n += !batch->seen[i];
	}
	batch->fresh_count = n;
}

/*
 * Of those, the ones that stood before in this batch are seen as well: a small
 * exact table of digests.
 */
static void
batch_drop_repeats(struct batch *batch)
{
	size_t slots = 16, kept = 0;

	while (slots < REPEAT_SLOTS / BATCH_LINES * batch->fresh_count)
		slots *= 2;
	memset(batch->repeats, 0, slots * sizeof *batch->repeats);
	for (size_t i = 0; i < batch->fresh_count; i++) {
		struct digest d = batch->fresh[i];
		size_t slot = d.low & (slots - 1);
		uint16_t line = batch->fresh_lines[i];

		for (; batch->repeats[slot] != 0;
		    slot = (slot + 1) & (slots - 1)) {
			struct digest other =
			    batch->fresh[batch->repeats[slot] - 1];
			if (other.low == d.low && other.high == d.high)
				break;
		}
		if (batch->repeats[slot] != 0) {
			batch->seen[line] = 1;
			continue;
		}
		batch->fresh[kept] = d;
		batch->fresh_lines[kept] = line;
		batch->repeats[slot] = (uint16_t)++kept;
	}
	batch->fresh_count = kept;
}

/* End the batch before the new line that is number `limit`, if there is one. */
static void
batch_cut(struct batch *batch, uint64_t limit)
{
	if (limit < batch->fresh_count) {
		batch->fresh_count = (size_t)limit;
		batch->count = batch->fresh_lines[limit];
	}
}

/*
 * Move the lines that go out together, over those that don't; *data becomes
 * where. Returns how many bytes they are. What another processor has read is
 * copied: to change it would take longer.
 */
static size_t
batch_compact(struct batch *batch, uint8_t wanted, uint8_t **data)
{
	size_t nbytes = (size_t)(batch->starts[batch->count] -
	    batch->starts[0]);
	int copy = batch->helpers > 0 && nbytes <= sizeof batch->copies &&
	    memchr(batch->seen, wanted ^ 1, batch->count) != NULL;
	uint8_t *to = copy ? batch->copies : batch->starts[0];
	size_t i = 0;

	*data = to;
	while (i < batch->count) {
		uint8_t *from;

		while (i < batch->count && batch->seen[i] != wanted)
			i++;
		from = batch->starts[i];
		while (i < batch->count && batch->seen[i] == wanted)
			i++;
		if (to != from)
			memmove(to, from, (size_t)(batch->starts[i] - from));
		to += batch->starts[i] - from;
	}
	return (size_t)(to - *data);
}

/* The new lines that went out whole in the first `nbytes`, compacted. */
static size_t
lines_within(const struct pipeline *p, const struct batch *batch,
    size_t nbytes)
{
	size_t lines = 0;

	for (size_t i = 0; i < batch->count; i++) {
		size_t length = (size_t)(batch->starts[i + 1] -
		    batch->starts[i]);

		if (batch->seen[i] != (p->print == PRINT_SEEN))
			continue;
		if (length > nbytes)
			break;
		nbytes -= length;
		lines++;
	}
	return lines;
}

static int
flush_copies(struct pipeline *p, struct batch *batch, struct error *error)
{
	size_t written, nbytes = batch->copied;

	batch->copied = 0;
	return output_write(p->duplicates, batch->copies, nbytes, &written,
	    error);
}

/* Write the seen lines to the duplicates, before the batch is compacted. */
static int
batch_write_duplicates(struct pipeline *p, struct batch *batch,
    struct error *error)
{
	for (size_t i = 0; i < batch->count; i++) {
		size_t written, length = (size_t)(batch->starts[i + 1] -
		    batch->starts[i]);

		if (!batch->seen[i])
			continue;
		if (length > sizeof batch->copies - batch->copied &&
		    flush_copies(p, batch, error) < 0)
			return -1;
		if (length > sizeof batch->copies) {
			if (output_write(p->duplicates, batch->starts[i],
			    length, &written, error) < 0)
				return -1;
			continue;
		}
		memcpy(batch->copies + batch->copied, batch->starts[i],
		    length);
		batch->copied += length;
	}
	return flush_copies(p, batch, error);
}

/* Remember lines that were written. */
static int
mark(struct pipeline *p, const struct digest *digests, size_t n,
    struct error *error)
{
	if (p->hold == NULL)
		return filter_mark(p->filter, digests, n, error);
	if (hold_mark(p->hold, digests, n, error) < 0)
		return -1;
	if (!hold_is_full(p->hold))
		return 0;
	/* --sync: first what the marks stand for, then the marks. */
	if (hold_prepare(p->hold, error) < 0 ||
	    (p->print != PRINT_NOTHING && output_sync(p->output, error) < 0))
		return -1;
	return hold_apply(p->hold, error);
}

/*
 * Write the batch's lines. Counts the new ones: those that went out if that
 * failed half-way, so that they don't come again.
 */
static int
batch_write(struct pipeline *p, struct batch *batch, struct error *error)
{
	int result = 0;

	if (p->watch != NULL)
		p->watch(p, MOMENT_BEFORE_PRINT);
	if (p->duplicates != NULL &&
	    batch_write_duplicates(p, batch, error) < 0) {
		batch->fresh_count = 0;
		return -1;
	}
	if (p->print != PRINT_NOTHING) {
		uint8_t *data;
		size_t written, nbytes =
		    batch_compact(batch, p->print == PRINT_SEEN, &data);

		result = output_write(p->output, data, nbytes, &written,
		    error);
		if (result < 0)
			batch->fresh_count = p->print == PRINT_NEW ?
			    lines_within(p, batch, written) : 0;
	}
	return result;
}

/* What nobody has hashed, and wait for what others do. */
static void
batch_hash(struct pipeline *p, struct batch *batch)
{
	hash_part(batch, OWN_PART, 0);
	team_wait(p->team);
}

static int
batch_probe(struct pipeline *p, struct batch *batch, struct error *error)
{
	batch_hash(p, batch);
	if (filter_refresh(p->filter, error) < 0 ||
	    filter_probe(p->filter, batch->digests, batch->count, batch->seen,
	    error) < 0 || (p->hold != NULL && hold_probe(p->hold,
	    batch->digests, batch->count, batch->seen, error) < 0))
		return -1;
	return 0;
}

/*
 * After it was probed: write the batch's lines, then mark the new ones. The
 * team may be hashing another batch; it is waited for before the marks.
 */
static int
batch_write_and_mark(struct pipeline *p, struct batch *batch,
    struct batch *next, struct error *error)
{
	uint64_t room = UINT64_MAX;
	size_t fresh;
	int result;

	batch_collect(batch);
	if (p->remember)
		batch_drop_repeats(batch);
	fresh = batch->fresh_count;
	if (p->remember) {
		room = p->hold != NULL ? hold_reserve(p->hold, fresh, error) :
		    filter_reserve(p->filter, fresh, error);
		batch_cut(batch, room);
	}
	result = batch_write(p, batch, error);
	p->lines_new += batch->fresh_count;
	if (next->helpers > 0)
		batch_hash(p, next);
	if (p->remember &&
	    mark(p, batch->fresh, batch->fresh_count, error) < 0)
		result = -1;
	/* what was read and not dealt with doesn't count */
	p->lines_read += result < 0 ? batch->fresh_count : batch->count;
	if (result == 0 && p->watch != NULL)
		p->watch(p, MOMENT_AFTER_BATCH);
	return room < fresh ? -1 : result;
}

/*
 * All lines of a chunk. Where there are threads for it, a batch is hashed
 * while the one before it is written.
 */
static int
process(struct pipeline *p, struct batch *batches, struct chunk chunk,
    struct error *error)
{
	const uint8_t *end = chunk.data + chunk.nbytes;
	struct batch *now = batches, *next = batches + 1;
	uint8_t *data = batch_begin(p, now, chunk.data, end);
	int result = 0;

	while (result == 0 && now->count > 0 && !signals_stop) {
		struct batch *done = now;

		result = batch_probe(p, now, error);
		if (result < 0)
			break;
		data = batch_begin(p, next, data, end);
		result = batch_write_and_mark(p, now, next, error);
		now = next;
		next = done;
	}
	team_wait(p->team);
	return result;
}

/*
 * As input_next. What is in memory alone is brought into the file now and
 * then, and when the input pauses: that must last as long as the writing will
 * take, about, so that no more than half of the time is lost where it goes on.
 */
static int
next_chunk(struct pipeline *p, struct chunk *chunk, int *result,
    struct error *error)
{
	uint64_t pages = filter_dirty_pages(p->filter);
	uint64_t pause = 10 + pages / PAGES_A_MILLISECOND;

	pause = pause < LONGEST_PAUSE ? pause : LONGEST_PAUSE;
	if (pages > 0 && input_pauses(p->input, (int)pause))
		*result = filter_write_back(p->filter, error);
	else
		*result = filter_write_back_now_and_then(p->filter, error);
	if (*result < 0 || !input_next(p->input, chunk))
		return 0;
	team_spare(p->team, input_threads(p->input));
	return 1;
}

int
pipeline_run(struct pipeline *p, struct error *error)
{
	struct batch *batches = memory_or_die(calloc(2, sizeof *batches));
	struct key_scratch scratch[TEAM_THREADS_MAX] = { 0 };
	struct chunk chunk;
	int result = 0;

	batches[0].scratch = batches[1].scratch = scratch;
	kernel(); /* is chosen before there are threads */
	while (result == 0 && !signals_stop && next_chunk(p, &chunk, &result,
	    error))
		result = process(p, batches, chunk, error);
	for (unsigned i = 0; i < TEAM_THREADS_MAX; i++)
		key_scratch_free(&scratch[i]);
	free(batches);
	return result;
}
