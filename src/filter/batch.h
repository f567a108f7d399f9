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

/* What is known of an item. */
enum seen {
	BATCH_NEW = 0,   /* it was not seen before */
	BATCH_SEEN = 1,
	BATCH_UNDONE = 2 /* it could not be claimed: nothing is known of it */
};

struct batch {
	size_t capacity;              /* items there is room for */
	size_t count;                 /* items */
	const struct digest *digests; /* of each; not owned */
	const uint8_t *asks;          /* 1 where an item is only asked for,
	                                 not marked; NULL: none. Not ours */
	int keep_none;                /* those with DIGEST_NONE are always new,
	                                 and never marked */
	uint8_t *seen;                /* an enum seen for each item */
	size_t undone;                /* items that are BATCH_UNDONE */
	size_t new_count;             /* new items, */
	uint32_t *new_items;          /* their numbers, in order, */
	struct digest *new_digests;   /* and digests, but DIGEST_NONE */
	/* To find repeats: a hash table, whose cells are the stamp of a
	   batch plus an index of new_digests. */
	uint32_t *cells;
	uint32_t stamp, stamp_step;   /* of this batch: others are empty */
	uint8_t *claims;              /* an enum claim for each new digest */
};

/* A batch with room for `capacity` items, at least one. NULL isn't freed. */
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
 * The two halves of batch_reserve, for a caller who makes room differently: the
 * number of lines that the new items are, and to cut the batch if there is room
 * for fewer.
 */
size_t batch_wanted(const struct batch *batch);
void batch_cut(struct batch *batch, uint64_t room);

/* Mark the first `n` new items. Returns 0, or -1 with `error` filled. */
int batch_mark(struct batch *batch, size_t n, struct filter *filter,
    struct error *error);

/*
 * Instead of reserve and mark: claim the new items. Those that were remembered
 * before are then seen, and no longer new. On failure (-1), items that are
 * still new are ours, and some may be BATCH_UNDONE.
 */
int batch_claim(struct batch *batch, struct filter *filter,
    struct error *error);

#endif
