#include <string.h>

#include "bits/loops.h"
#include "filter/filter.h"
#include "key/part.h"
#include "stream/hand.h"

/*
 * This many lines are hashed before their cache lines are prefetched: few, so
 * that there are never more prefetches at once than the memory can handle, but
 * enough that the calls cost little.
 */
#define GROUP_LINES 8
/* The same with --part, of which the hash keeps some. */
#define PART_LINES 64

/* Prepared lines without their terminators. */
static inline void
take_lines(const struct hand *hand, size_t first, size_t n, struct key *lines)
{
	const uint8_t *const *starts = hand->starts + first;

	for (size_t i = 0; i < n; i++)
		lines[i] = (struct key){ starts[i],
			(size_t)(starts[i + 1] - starts[i] - 1) };
}

/* In place of these lines, their keys. */
static void
take_keys(struct hand *hand, size_t first, size_t n, struct key *keys)
{
	const struct key_recipe *recipe = &hand->run->recipe;
	struct key_scratch *scratch = &hand->scratch;

	scratch->used = 0;
	for (size_t i = 0; i < n; i++) {
		keys[i] = key_take(recipe, keys[i].data, keys[i].nbytes,
		    scratch);
		if (hand->troubles != NULL)
			hand->troubles[first + i] = scratch->troubles;
	}
}

/* Make digests of the lines that were split, and prefetch their cache lines. */
static void
hash_lines(struct hand *hand)
{
	const struct run *run = hand->run;
	const struct hash *hash = &filter_header(run->filter)->hash;
	const struct loops *hot = loops();
	struct key keys[GROUP_LINES];
	size_t n;

	if (hand->prepared > 0)
		key_scratch_reset(&hand->scratch, &run->recipe,
		    (size_t)(hand->starts[hand->prepared] - hand->starts[0]));
	for (size_t i = 0; i < hand->prepared; i += n) {
		n = hand->prepared - i;
		n = n < GROUP_LINES ? n : GROUP_LINES;
		take_lines(hand, i, n, keys);
		if (hand->scratch.step_count > 0)
			take_keys(hand, i, n, keys);
		hot->digest(hash, keys, n, hand->digests + i);
		if (run->recipe.keep_empty)
			key_keep_empty(keys, n, hand->digests + i);
		filter_prefetch(run->filter, hand->digests + i, n);
	}
}

/*
 * Of the lines from `first` on, whose keys these are: move those of this part
 * to the front of all that comes after `kept`. Returns how many they are.
 */
static size_t
sift(struct hand *hand, size_t first, size_t n, struct key *keys, size_t kept)
{
	const struct key_recipe *recipe = &hand->run->recipe;
	uint64_t hashes[PART_LINES];
	size_t ours = 0;

	hash_plain(keys, n, hashes);
	for (size_t i = 0; i < n && !hand->is_foreign; i++) {
		int is_ours = part_of(hashes[i], recipe->parts) ==
		    recipe->part;

		hand->is_foreign = !is_ours && hand->run->plan->strict_part;
		keys[ours] = keys[i];
		hand->numbers[kept + ours] = (uint32_t)(first + i);
		if (hand->troubles != NULL)
			hand->troubles[kept + ours] =
			    hand->troubles[first + i];
		ours += (size_t)is_ours;
	}
	return ours;
}

/* Lines are written as they lie: close the gaps between those of this part. */
static void
close_gaps(struct hand *hand, size_t kept)
{
	uint8_t *to = hand->chunk.buffer +
	    (hand->starts[0] - hand->chunk.buffer);
	size_t lines = hand->prepared;
	uint64_t all = (uint64_t)(hand->rest - hand->starts[0]);

	for (size_t i = 0; i < kept; i++) {
		const uint8_t *from = hand->starts[hand->numbers[i]];
		size_t nbytes = (size_t)(hand->starts[hand->numbers[i] + 1] -
		    from);

		memmove(to, from, nbytes);
		hand->starts[i] = to;
		to += nbytes;
	}
	hand->starts[kept] = to;
	hand->prepared = kept;
	hand->passed = lines - kept;
	hand->passed_bytes = all - (uint64_t)(to - hand->starts[0]);
}

/* As hash_lines, with --part: only lines of this part stay. */
static void
hash_part(struct hand *hand)
{
	const struct run *run = hand->run;
	const struct hash *hash = &filter_header(run->filter)->hash;
	struct key keys[PART_LINES];
	size_t kept = 0, n, ours;

	key_scratch_reset(&hand->scratch, &run->recipe,
	    (size_t)(hand->starts[hand->prepared] - hand->starts[0]));
	for (size_t i = 0; i < hand->prepared && !hand->is_foreign; i += n) {
		n = hand->prepared - i;
		n = n < PART_LINES ? n : PART_LINES;
		take_lines(hand, i, n, keys);
		if (hand->scratch.step_count > 0)
			take_keys(hand, i, n, keys);
		ours = sift(hand, i, n, keys, kept);
		loops()->digest(hash, keys, ours, hand->digests + kept);
		if (run->recipe.keep_empty)
			key_keep_empty(keys, ours, hand->digests + kept);
		filter_prefetch(run->filter, hand->digests + kept, ours);
		kept += ours;
	}
	close_gaps(hand, kept);
}

/* Prepare up to `limit` lines from data on. */
static void
prepare(struct hand *hand, const uint8_t *data, size_t limit)
{
	const uint8_t *end = hand->chunk.data + hand->chunk.nbytes;

	hand->prepared = record_split(hand->format, data, end, hand->starts,
	    limit);
	hand->rest = hand->starts[hand->prepared];
	if (hand->numbers != NULL && hand->prepared > 0)
		hash_part(hand);
	else
		hash_lines(hand);
}

void
hand_prepare(struct hand *hand)
{
	hand->scratch.columns = &hand->chunk.columns;
	prepare(hand, hand->chunk.data + hand->chunk.header_bytes,
	    hand->limit);
}

void
hand_prepare_rest(struct hand *hand)
{
	prepare(hand, hand->rest, hand->batch->capacity);
}
