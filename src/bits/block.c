#include "bits/block.h"

#include "bits/layout.h"

/* A digest's mask in its j-th line. */
static lanes
mask_of(const struct geometry *g, struct digest digest, unsigned j)
{
	return line_mask(line_word(digest, j), geometry_line_bits(g->k,
	    g->cache_lines, j));
}

void
block_pages(const struct geometry *geometry, const struct digest *digests,
    size_t n, uint64_t *numbers)
{
	for (size_t i = 0; i < n; i++)
		numbers[i] = multiply_high(digests[i].high, geometry->pages);
}

void
block_mark_shared(const struct block_array *array,
    const struct digest *digests, size_t n)
{
	const struct geometry *g = &array->geometry;

	for (size_t i = 0; i < n; i++) {
		uint8_t *page = array->pages + PAGE_BYTES *
		    multiply_high(digests[i].high, g->pages);

		for (unsigned j = 0; j < g->cache_lines; j++) {
			void *at = page + LINE_BYTES * line_index(line_word(
			    digests[i], j), g->cache_lines, j);
			uint64_t *line = at;
			lanes mask = mask_of(g, digests[i], j);

			for (unsigned lane = 0; lane < LINE_LANES; lane++) {
				if (mask[lane] != 0)
					__atomic_fetch_or(line + lane,
					    mask[lane], __ATOMIC_RELAXED);
			}
		}
	}
}

void
block_lines(const struct geometry *g, struct digest digest,
    unsigned lines[CACHE_LINES_MAX])
{
	for (unsigned j = 0; j < g->cache_lines; j++)
		lines[j] = line_index(line_word(digest, j), g->cache_lines, j);
}

int
block_probe_line(const struct geometry *g, struct digest digest, unsigned j,
    const uint8_t *at)
{
	const void *bytes = at;
	const lanes *line = bytes;
	lanes mask = mask_of(g, digest, j) & ~*line;
	uint64_t missing = 0;

	for (unsigned lane = 0; lane < LINE_LANES; lane++)
		missing |= mask[lane];
	return missing == 0;
}

int
block_probe_lines(const struct geometry *g, struct digest digest,
    const uint8_t *const at[])
{
	int found = 1;

	for (unsigned j = 0; j < g->cache_lines; j++)
		found &= block_probe_line(g, digest, j, at[j]);
	return found;
}

void
block_mark_lines(const struct geometry *g, struct digest digest,
    uint8_t *const at[])
{
	for (unsigned j = 0; j < g->cache_lines; j++) {
		void *bytes = at[j];
		lanes *line = bytes;

		*line |= mask_of(g, digest, j);
	}
}

struct block_page_fill
block_page_fill(const struct geometry *geometry, const uint8_t *page)
{
	unsigned t = geometry->cache_lines;
	struct block_page_fill fill = { 0, 1 };

	for (unsigned j = 0; j < t; j++) {
		unsigned first = geometry_group(t, j);
		unsigned end = geometry_group(t, j + 1);
		unsigned bits = geometry_line_bits(geometry->k, t, j);
		double sum = 0;

		for (unsigned i = first; i < end; i++) {
			const void *at = page + i * LINE_BYTES;
			const lanes *line = at;
			double share[LINE_LANES];
			for (unsigned l = 0; l < LINE_LANES; l++) {
				int set = __builtin_popcountll((*line)[l]);
				fill.bits += (uint64_t)set;
				share[l] = set / 64.0;
			}
			for (unsigned r = 0; r < LINE_LANES; r++) {
				double all = 1;
				for (unsigned b = 0; b < bits; b++)
					all *= share[(r + b) % LINE_LANES];
				sum += all / LINE_LANES;
			}
		}
		fill.rate *= sum / (end - first);
	}
	return fill;
}

void
block_visit(const struct geometry *g, struct digest digest,
    void (*visit)(void *context, uint64_t page, unsigned line, unsigned lane,
    unsigned bit), void *context)
{
	uint64_t page = multiply_high(digest.high, g->pages);

	for (unsigned j = 0; j < g->cache_lines; j++) {
		unsigned line = line_index(line_word(digest, j),
		    g->cache_lines, j);
		lanes mask = mask_of(g, digest, j);

		for (unsigned lane = 0; lane < LINE_LANES; lane++) {
			if (mask[lane] != 0)
				visit(context, page, line, lane, (unsigned)
				    __builtin_ctzll(mask[lane]) ^ NATIVE_BIT);
		}
	}
}
