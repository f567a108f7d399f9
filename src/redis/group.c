#include "redis/group.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bits/block.h"
#include "redis/layout.h"

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)
#define PIECE 256

void
group_free(struct group *g)
{
	free(g->items);
	free(g->other);
	*g = (struct group){ 0 };
}

static void
number(struct group *g, const struct geometry *geometry,
    const struct digest *digests, size_t n)
{
	for (size_t i = 0; i < n; i += PIECE) {
		size_t some = n - i < PIECE ? n - i : PIECE;
		uint64_t pages[PIECE];

		block_pages(geometry, digests + i, some, pages);
		for (size_t j = 0; j < some; j++)
			g->items[i + j] = pages[j] / CHUNK_PAGES << 32 |
			    (i + j);
	}
}

/* One pass of a radix sort. */
static void
pass(struct group *g, size_t n, unsigned shift)
{
	uint32_t count[DIGITS] = { 0 }, sum = 0;
	uint64_t *swap;

	for (size_t i = 0; i < n; i++)
		count[g->items[i] >> shift & (DIGITS - 1)]++;
	for (unsigned i = 0; i < DIGITS; i++) {
		uint32_t here = count[i];
		count[i] = sum;
		sum += here;
	}
	for (size_t i = 0; i < n; i++)
		g->other[count[g->items[i] >> shift & (DIGITS - 1)]++] =
		    g->items[i];
	swap = g->items;
	g->items = g->other;
	g->other = swap;
}

void
group_sort(struct group *g, const struct geometry *geometry,
    const struct digest *digests, size_t n)
{
	uint64_t chunks = chunk_count(geometry->pages);

	if (n > g->room) {
		group_free(g);
		g->room = n;
		g->items = memory_or_die(malloc(n * sizeof *g->items));
		g->other = memory_or_die(malloc(n * sizeof *g->other));
	}
	number(g, geometry, digests, n);
	for (unsigned bits = 0; n > 1 && (chunks - 1) >> bits != 0;
	    bits += DIGIT_BITS)
		pass(g, n, 32 + bits);
}

size_t
group_end(const struct group *g, size_t first, size_t n)
{
	size_t i = first;

	while (i < n && group_chunk(g, i) == group_chunk(g, first))
		i++;
	return i;
}
