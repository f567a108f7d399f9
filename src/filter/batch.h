/*
 * A batch of digests on its way through a filter: which of them are new, room
 * for those, and marking them. Knows nothing of input and output; the caller
 * decides the order: a stream writes, then marks; a server marks, then answers.
 *
 *     batch->digests, batch->count (and batch->asks): set by the caller
 *     batch_probe     which are in the filter?
 *     batch_collect   which of the others are new?
 *     batch_reserve   room for the new ones
 *     batch_mark      remember them
 */
#ifndef FILTER_BATCH_H
#define FILTER_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bits/hash.h"
#include "model/use.h"

struct filter;

/* The answer about an item. */
enum seen {
	BATCH_NEW = 0,   /* it was not seen before */
	BATCH_SEEN = 1,
	BATCH_UNDONE = 2 /* it could not be claimed: nothing is known of it */
};

struct batch {
	size_t capacity;              /* items there is room for */
	size_t count;                 /* items */
	const struct digest *digests; /* digest of each item; not owned */
	const uint8_t *asks;          /* 1 where an item is only asked for,
	                                 not marked; NULL: none. Not ours */
	int keep_none;                /* those with DIGEST_NONE are always new,
	                                 and never marked */
	uint8_t *seen;                /* an enum seen for each item */
	size_t undone;                /* items that are BATCH_UNDONE */
	size_t new_count;
	uint32_t *new_items;          /* indexes of the new items, in order */
	struct digest *new_digests;   /* digests of the new items, except
				       * DIGEST_NONE */
	/*
	 * A hash table that finds duplicates within the batch: each cell is the
	 * stamp of a batch plus an index of new_digests.
	 */
	uint32_t *cells;
	uint32_t stamp, stamp_step;   /* the stamp of this batch, and the step
				       * to the next; cells of other batches are
				       * empty */
	uint8_t *claims;              /* an enum claim for each new digest */
};

/*
 * Returns a batch with room for `capacity` items, at least one. NULL is not
 * freed.
 */
struct batch *batch_new(size_t capacity);
void batch_free(struct batch *batch);

/* Fill seen[] from the filter. Returns 0, or -1 with `error` filled. */
int batch_probe(struct batch *batch, struct filter *filter,
    struct error *error);

/*
 * Collect the items that were not seen. With `repeats`, a copy of an earlier
 * item of the batch that is to be marked counts as seen: a second copy is not
 * new, and a later query finds it.
 */
void batch_collect(struct batch *batch, int repeats);

/*
 * Make room for the new items in the filter. If there is not enough, the batch
 * is cut before the first new item without room, and the rest stays valid. The
 * items that were cut off come again in another batch after ROOM_AGAIN; after
 * ROOM_SHORT, `error` says why there is no room for them.
 */
enum room batch_reserve(struct batch *batch, struct filter *filter,
    struct error *error);

/*
 * Returns the two halves of batch_reserve, for a caller who makes room
 * differently: the number of lines that the new items are, and to cut the batch
 * if there is room for fewer.
 */
size_t batch_wanted(const struct batch *batch);
void batch_cut(struct batch *batch, uint64_t room);

/* Mark the first `n` new items. Returns 0, or -1 with `error` filled. */
int batch_mark(struct batch *batch, size_t n, struct filter *filter,
    struct error *error);

/*
 * Claim the new items, instead of reserving room and marking them. Those that
 * were remembered before are then seen, and no longer new. On failure (-1),
 * items that are still new are ours, and some may be BATCH_UNDONE.
 */
int batch_claim(struct batch *batch, struct filter *filter,
    struct error *error);

#endif
