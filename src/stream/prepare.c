#include <string.h>

#include "bits/loops.h"
#include "filter/filter.h"
#include "stream/worker.h"

/*
 * This many lines are hashed before their cache lines are prefetched: few, so
 * that there are never more prefetches at once than the memory can handle, but
 * enough that the calls cost little.
 */
#define GROUP_LINES 8
/* The same with --part, of which the hash keeps some. */
#define PART_LINES 64

/*
 * Of the lines from `first` on, whose keys these are: move those of this part
 * to the front of all that comes after `kept`. Returns how many they are.
 */
static size_t
sift(struct worker *w, size_t first, size_t n, struct key *keys, size_t kept)
{
	/* read once: the compiler can't know that the stores leave them */
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
 * `group` lines at a time. With --part (`sifts`), only lines of this part stay.
 */
static inline __attribute__((always_inline)) void
hash_groups(struct worker *w, const size_t group, const int sifts)
{
	const struct run *run = w->run;
	const struct hash *hash = &filter_header(run->filter)->hash;
	const struct loops *hot = loops();
	struct key keys[PART_LINES];
	size_t kept = 0, n, ours;

	for (size_t i = 0; i < w->lines.count && !(sifts && w->is_foreign);
	    i += n) {
		n = w->lines.count - i;
		if (n > group)
			n = group;
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

void
worker_prepare(struct worker *w)
{
	if (w->lines.count == 0)
		return;
	/* compiled twice: groups of a constant size cost fewer branches */
	if (w->numbers == NULL)
		hash_groups(w, GROUP_LINES, 0);
	else
		hash_groups(w, PART_LINES, 1);
}
