#include "bits/block.h"

#include "bits/layout.h"

/* The number, in its page, of the cache line with a digest's j-th bits. */
static unsigned
index_of(const struct geometry *g, struct digest digest, unsigned j)
{
	return cache_line_index(cache_line_word(digest, j), g->cache_lines, j);
}

/* Returns the mask of a digest's bits in its j-th cache line. */
static lanes
mask_of(const struct geometry *g, struct digest digest, unsigned j)
{
	unsigned bits = geometry_cache_line_bits(g->k, g->cache_lines, j);

	return cache_line_mask(cache_line_word(digest, j), bits);
}

void
block_pages(const struct geometry *geometry, const struct digest *digests,
    size_t n, uint64_t *numbers)
{
	for (size_t i = 0; i < n; i++)
		numbers[i] = multiply(digests[i].high, geometry->pages).high;
}

/* Set the bits of `mask` in a cache line that others change, too. */
static void
set_shared(uint64_t *words, lanes mask)
{
	for (unsigned lane = 0; lane < CACHE_LINE_LANES; lane++) {
		if (mask[lane] != 0)
			__atomic_fetch_or(words + lane, mask[lane],
			    __ATOMIC_RELAXED);
	}
}

void
block_mark_shared(const struct block_array *array,
    const struct digest *digests, size_t n)
{
	const struct geometry *g = &array->geometry;

	for (size_t i = 0; i < n; i++) {
		uint8_t *page = array->pages + PAGE_BYTES *
		    multiply(digests[i].high, g->pages).high;

		for (unsigned j = 0; j < g->cache_lines; j++) {
			void *at = page + CACHE_LINE_BYTES *
			    index_of(g, digests[i], j);

			set_shared(at, mask_of(g, digests[i], j));
		}
	}
}

void
block_cache_lines(const struct geometry *g, struct digest digest,
    unsigned numbers[CACHE_LINES_MAX])
{
	for (unsigned j = 0; j < g->cache_lines; j++)
		numbers[j] = index_of(g, digest, j);
}

int
block_probe_cache_line(const struct geometry *g, struct digest digest,
    unsigned j, const uint8_t *at)
{
	const void *bytes = at;
	const lanes *cache_line = bytes;
	lanes missing = mask_of(g, digest, j) & ~*cache_line;
	uint64_t any = 0;

	for (unsigned lane = 0; lane < CACHE_LINE_LANES; lane++)
		any |= missing[lane];
	return any == 0;
}

int
block_probe_cache_lines(const struct geometry *g, struct digest digest,
    const uint8_t *const at[])
{
	int found = 1;

	for (unsigned j = 0; j < g->cache_lines; j++)
		found &= block_probe_cache_line(g, digest, j, at[j]);
	return found;
}

void
block_mark_cache_lines(const struct geometry *g, struct digest digest,
    uint8_t *const at[])
{
	for (unsigned j = 0; j < g->cache_lines; j++) {
		void *bytes = at[j];
		lanes *cache_line = bytes;

		*cache_line |= mask_of(g, digest, j);
	}
}

/*
 * The share of unseen keys whose `bits` bits are all set in this cache line:
 * the mean over the rotations of the product of the shares of the lanes in
 * use. Adds the number of bits set in it to *set.
 */
static double
cache_line_rate(const lanes *cache_line, unsigned bits, uint64_t *set)
{
	double shares[CACHE_LINE_LANES], sum = 0;

	for (unsigned lane = 0; lane < CACHE_LINE_LANES; lane++) {
		int count = __builtin_popcountll((*cache_line)[lane]);

		*set += (uint64_t)count;
		shares[lane] = count / 64.0;
	}
	for (unsigned rotation = 0; rotation < CACHE_LINE_LANES; rotation++) {
		double product = 1;

		for (unsigned b = 0; b < bits; b++)
			product *= shares[(rotation + b) % CACHE_LINE_LANES];
		sum += product / CACHE_LINE_LANES;
	}
	return sum;
}

struct block_page_fill
block_page_fill(const struct geometry *geometry, const uint8_t *page)
{
	unsigned t = geometry->cache_lines;
	struct block_page_fill fill = { 0, 1 };

	for (unsigned j = 0; j < t; j++) {
		unsigned first = geometry_group(t, j);
		unsigned end = geometry_group(t, j + 1);
		unsigned bits = geometry_cache_line_bits(geometry->k, t, j);
		double sum = 0;

		for (unsigned i = first; i < end; i++) {
			const void *at = page + i * CACHE_LINE_BYTES;

			sum += cache_line_rate(at, bits, &fill.bits);
		}
		fill.rate *= sum / (end - first);
	}
	return fill;
}

void
block_visit(const struct geometry *g, struct digest digest,
    void (*visit)(void *context, uint64_t page, unsigned cache_line,
    unsigned lane, unsigned bit), void *context)
{
	uint64_t page = multiply(digest.high, g->pages).high;

	for (unsigned j = 0; j < g->cache_lines; j++) {
		unsigned cache_line = index_of(g, digest, j);
		lanes mask = mask_of(g, digest, j);

		for (unsigned lane = 0; lane < CACHE_LINE_LANES; lane++) {
			if (mask[lane] != 0)
				visit(context, page, cache_line, lane,
				    (unsigned)__builtin_ctzll(mask[lane]) ^
				    NATIVE_BIT);
		}
	}
}
