/*
 * A line is one vector of eight lanes: a shift makes the mask, one and-not
 * tests all of its bits. The vectors are GCC's, so the compiler splits them
 * into what the machine has. The number of cache lines a key is a constant in
 * each instance of the loops; the compiler unrolls them.
 */
#include "block.h"

#define INLINE static inline __attribute__((always_inline))

typedef uint64_t lanes
    __attribute__((vector_size(LINE_BYTES), aligned(LINE_BYTES), may_alias));

/* Bit b of a little-endian 64-bit word, as this machine loads it. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define NATIVE_BIT 56
#else
#define NATIVE_BIT 0
#endif

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)

/* floor(a * b / 2^64) */
INLINE uint64_t
multiply_high(uint64_t a, uint64_t b)
{
	return (uint64_t)((unsigned __int128)a * b >> 64);
}

/* The 64 bits that place a key in its j-th cache line. */
INLINE uint64_t
line_word(struct digest d, unsigned j)
{
	uint64_t x = d.low ^ (2 * (uint64_t)j + 1) * GOLDEN;
	uint64_t y = d.high ^ (2 * (uint64_t)j + 2) * GOLDEN;
	unsigned __int128 product = (unsigned __int128)x * y;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

INLINE unsigned
line_index(uint64_t word, unsigned t, unsigned j)
{
	unsigned first = geometry_group(t, j);
	unsigned size = geometry_group(t, j + 1) - first;

	return first + (unsigned)((word >> 51) * size >> 13);
}

INLINE lanes
line_mask(uint64_t word, unsigned bits)
{
	const lanes number = { 0, 1, 2, 3, 4, 5, 6, 7 };
	const lanes one = { 1, 1, 1, 1, 1, 1, 1, 1 };
	lanes position = ((word >> number * 6) & 63) ^ NATIVE_BIT;
	lanes mask = one << position;

	if (bits < LINE_LANES) {
		uint64_t rotation = word >> 48 & 7;
		mask &= (lanes)(((number - rotation) & 7) < bits);
	}
	return mask;
}

INLINE uint8_t *
page_of(const struct block_array *array, struct digest d)
{
	return array->pages +
	    multiply_high(d.high, array->geometry.pages) * PAGE_BYTES;
}

INLINE lanes *
line_of(uint8_t *page, uint64_t word, unsigned t, unsigned j)
{
	return (lanes *)(void *)(page + line_index(word, t, j) * LINE_BYTES);
}

INLINE void
prefetch(const struct block_array *array, const struct digest *digests,
    size_t n, unsigned t)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t *page = page_of(array, digests[i]);
		for (unsigned j = 0; j < t; j++) {
			uint64_t word = line_word(digests[i], j);
			__builtin_prefetch(line_of(page, word, t, j), 0, 2);
		}
	}
}

INLINE void
probe(const struct block_array *array, const struct digest *digests, size_t n,
    uint8_t *found, unsigned t, unsigned k)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t *page = page_of(array, digests[i]);
		lanes missing = { 0 };
		uint64_t any = 0;
		for (unsigned j = 0; j < t; j++) {
			uint64_t word = line_word(digests[i], j);
			missing |= line_mask(word, geometry_line_bits(k, t, j)) &
			    ~*line_of(page, word, t, j);
		}
		for (unsigned l = 0; l < LINE_LANES; l++)
			any |= missing[l];
		found[i] |= any == 0;
	}
}

INLINE void
mark(const struct block_array *array, const struct digest *digests, size_t n,
    unsigned t, unsigned k)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t *page = page_of(array, digests[i]);
		for (unsigned j = 0; j < t; j++) {
			uint64_t word = line_word(digests[i], j);
			*line_of(page, word, t, j) |=
			    line_mask(word, geometry_line_bits(k, t, j));
		}
	}
}

/* One instance for each number of cache lines, and one for all lanes in use. */
#define EACH_T(call) \
	switch (array->geometry.cache_lines) { \
	case 1: call(1); break; \
	case 2: call(2); break; \
	case 3: call(3); break; \
	case 4: call(4); break; \
	case 5: call(5); break; \
	case 6: call(6); break; \
	case 7: call(7); break; \
	default: call(8); break; \
	}

void
block_prefetch(const struct block_array *array, const struct digest *digests,
    size_t n)
{
#define CALL(t) prefetch(array, digests, n, t)
	EACH_T(CALL)
#undef CALL
}

void
block_probe(const struct block_array *array, const struct digest *digests,
    size_t n, uint8_t *found)
{
	unsigned k = array->geometry.k;

#define CALL(t) \
	if (k == LINE_LANES * t) \
		probe(array, digests, n, found, t, LINE_LANES * t); \
	else \
		probe(array, digests, n, found, t, k)
	EACH_T(CALL)
#undef CALL
}

void
block_mark(const struct block_array *array, const struct digest *digests,
    size_t n)
{
	unsigned k = array->geometry.k;

#define CALL(t) \
	if (k == LINE_LANES * t) \
		mark(array, digests, n, t, LINE_LANES * t); \
	else \
		mark(array, digests, n, t, k)
	EACH_T(CALL)
#undef CALL
}

struct block_page_fill
block_page_fill(const struct block_array *array, uint64_t page)
{
	const uint8_t *base = array->pages + page * PAGE_BYTES;
	unsigned t = array->geometry.cache_lines;
	struct block_page_fill fill = { 0, 1 };

	for (unsigned j = 0; j < t; j++) {
		unsigned first = geometry_group(t, j);
		unsigned end = geometry_group(t, j + 1);
		unsigned bits = geometry_line_bits(array->geometry.k, t, j);
		double sum = 0;

		for (unsigned i = first; i < end; i++) {
			const lanes *line =
			    (const lanes *)(const void *)(base + i * LINE_BYTES);
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
		uint64_t word = line_word(digest, j);
		unsigned line = line_index(word, g->cache_lines, j);
		unsigned bits = geometry_line_bits(g->k, g->cache_lines, j);
		lanes mask = line_mask(word, bits);

		for (unsigned lane = 0; lane < LINE_LANES; lane++) {
			if (mask[lane] != 0)
				visit(context, page, line, lane, (unsigned)
				    __builtin_ctzll(mask[lane]) ^ NATIVE_BIT);
		}
	}
}
