#include "filter/batch.h"

#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"
#include "model/operations.h"

/* Cells per item: with few collisions, the branch predicts well. */
#define CELLS_AN_ITEM 8
#define LEAST_CELLS 16

static size_t
cell_count(size_t items)
{
	size_t cells = LEAST_CELLS;

	while (cells < CELLS_AN_ITEM * items)
		cells *= 2;
	return cells;
}

struct batch *
batch_new(size_t capacity)
{
	struct batch *b = memory_or_die(calloc(1, sizeof *b));

	b->capacity = capacity;
	b->seen = memory_or_die(malloc(capacity));
	b->new_digests = memory_or_die(malloc(capacity *
	    sizeof *b->new_digests));
	b->new_items = memory_or_die(malloc(capacity * sizeof *b->new_items));
	b->cells = memory_or_die(calloc(cell_count(capacity),
	    sizeof *b->cells));
	for (b->stamp_step = 1; b->stamp_step < capacity; )
		b->stamp_step *= 2;
	return b;
}

void
batch_free(struct batch *b)
{
	if (b == NULL)
		return;
	free(b->seen);
	free(b->new_digests);
	free(b->new_items);
	free(b->cells);
	free(b->claims);
	free(b);
}

int
batch_probe(struct batch *b, struct filter *filter, struct error *error)
{
	int result;

	memset(b->seen, 0, b->count);
	result = filter->operations->probe(filter, b->digests, b->count,
	    b->seen, error);
	for (size_t i = 0; b->keep_none && i < b->count; i++) {
		if (digest_is_none(b->digests[i]))
			b->seen[i] = 0;
	}
	return result;
}

static int
is_none(const struct batch *b, uint32_t item)
{
	return b->keep_none && digest_is_none(b->digests[item]);
}

/* How many of the first n new items have a digest? */
static size_t
digests_among(const struct batch *b, size_t n)
{
	size_t count = n;

	for (size_t i = 0; b->keep_none && i < n; i++)
		count -= (size_t)is_none(b, b->new_items[i]);
	return count;
}

/* Repeats within the batch count as seen: a small hash table finds them. */
static void
drop_repeats(struct batch *b)
{
	size_t mask = cell_count(b->new_count) - 1, kept = 0;
	uint32_t index_mask = b->stamp_step - 1, stamp;
	int keep_none = b->keep_none;

	/* A new stamp empties it; stamps run out once in many batches. */
	b->stamp += b->stamp_step;
	if (b->stamp == 0) {
		memset(b->cells, 0, cell_count(b->capacity) *
		    sizeof *b->cells);
		b->stamp = b->stamp_step;
	}
	stamp = b->stamp;
	for (size_t i = 0; i < b->new_count; i++) {
		struct digest d = b->new_digests[i];
		uint32_t item = b->new_items[i];
		size_t cell = (size_t)d.low & mask;
		int repeated = 0, none = keep_none && digest_is_none(d);

		for (; !none && (b->cells[cell] & ~index_mask) == stamp;
		    cell = (cell + 1) & mask) {
			struct digest other =
			    b->new_digests[b->cells[cell] & index_mask];
			if (other.low == d.low && other.high == d.high) {
				repeated = 1;
				break;
			}
		}
		if (repeated)
			b->seen[item] = 1;
		if (repeated || (b->asks != NULL && b->asks[item]))
			continue;
		b->new_digests[kept] = d;
		b->new_items[kept] = item;
		if (!none)
			b->cells[cell] = stamp | (uint32_t)kept;
		kept++;
	}
	b->new_count = kept;
}

void
batch_collect(struct batch *b, int repeats)
{
	size_t n = 0;

	/*
	 * The loop has no branch that depends on an item, which none predicts.
	 */
	for (size_t i = 0; i < b->count; i++) {
		b->new_digests[n] = b->digests[i];
		b->new_items[n] = (uint32_t)i;
		n += !b->seen[i];
	}
	b->new_count = n;
	if (repeats)
		drop_repeats(b);
	/* Leave out DIGEST_NONE, which is not looked up among the others. */
	n = 0;
	for (size_t i = 0; b->keep_none && i < b->new_count; i++) {
		b->new_digests[n] = b->digests[b->new_items[i]];
		n += !is_none(b, b->new_items[i]);
	}
}

size_t
batch_wanted(const struct batch *b)
{
	return digests_among(b, b->new_count);
}

void
batch_cut(struct batch *b, uint64_t room)
{
	size_t n = 0;

	/*
	 * Stop at the first new item that has a digest and for which there is
	 * no room.
	 */
	for (; is_none(b, b->new_items[n]) || room > 0; n++)
		room -= !is_none(b, b->new_items[n]);
	b->count = b->new_items[n];
	b->new_count = n;
}

enum room
batch_reserve(struct batch *b, struct filter *filter, struct error *error)
{
	uint64_t room;
	enum room answer = filter_reserve(filter, batch_wanted(b), &room,
	    error);

	if (answer != ROOM_ENOUGH)
		batch_cut(b, room);
	return answer;
}

int
batch_mark(struct batch *b, size_t n, struct filter *filter,
    struct error *error)
{
	n = digests_among(b, n);
	if (n == 0)
		return 0;
	return filter->operations->mark(filter, b->new_digests, n, error);
}

int
batch_claim(struct batch *b, struct filter *filter, struct error *error)
{
	size_t wanted = digests_among(b, b->new_count), kept = 0, n = 0;
	int result;

	b->undone = 0;
	if (wanted == 0)
		return 0;
	if (b->claims == NULL)
		b->claims = memory_or_die(malloc(b->capacity));
	result = filter_claim(filter, b->new_digests, wanted, b->claims,
	    error);
	for (size_t i = 0; i < b->new_count; i++) {
		static const uint8_t seen[] = { [CLAIM_OURS] = BATCH_NEW,
			[CLAIM_TAKEN] = BATCH_SEEN,
			[CLAIM_UNDONE] = BATCH_UNDONE };
		uint32_t item = b->new_items[i];

		if (!is_none(b, item))
			b->seen[item] = seen[b->claims[n++]];
		b->undone += b->seen[item] == BATCH_UNDONE;
		b->new_items[kept] = item;
		kept += b->seen[item] == BATCH_NEW;
	}
	b->new_count = kept;
	return result;
}
