/*
 * The hot loops over bits, compiled once for each instruction set: version.h.
 *
 * The number of cache lines a key is a constant in each instance of the loops;
 * the compiler unrolls them.
 */
#include "bits/loops.h"

#include <string.h>

#include "bits/hash_inline.h"
#include "bits/layout.h"
#include "bits/version.h"

#if defined __AVX2__
#include <immintrin.h>
#endif

static void
digest(const struct hash *hash, const struct key *keys, size_t n,
    struct digest *digests)
{
	for (size_t i = 0; i < n; i++)
		digests[i] = hash_inline(hash, keys[i].data, keys[i].nbytes);
}

/* Every machine with vectors has some of at least 16 bytes. */
typedef uint64_t pair __attribute__((vector_size(16)));

/* Are all bits zero? */
INLINE int
all_zero(lanes v)
{
#if defined __AVX512F__
	return _mm512_test_epi64_mask((__m512i)v, (__m512i)v) == 0;
#elif defined __AVX2__
	__m256i half[2], any;

	memcpy(half, &v, sizeof v);
	any = _mm256_or_si256(half[0], half[1]);
	return _mm256_testz_si256(any, any);
#else
	pair quarter[4], any;

	memcpy(quarter, &v, sizeof v);
	any = quarter[0] | quarter[1] | quarter[2] | quarter[3];
	return (any[0] | any[1]) == 0;
#endif
}

INLINE uint8_t *
page_at(const struct block_array *array, struct digest d)
{
	return array->pages +
	    multiply(d.high, array->geometry.pages).high * PAGE_BYTES;
}

INLINE lanes *
cache_line_of(uint8_t *page, uint64_t word, unsigned t, unsigned j)
{
	void *at = page + cache_line_index(word, t, j) * CACHE_LINE_BYTES;

	return at;
}

INLINE void
prefetch(const struct block_array *array, const struct digest *digests,
    size_t n, unsigned t)
{
	const struct block_array now = {
		.pages = __atomic_load_n(&array->pages, __ATOMIC_RELAXED),
		.geometry = array->geometry
	};

	for (size_t i = 0; i < n; i++) {
		uint8_t *page = page_at(&now, digests[i]);
#pragma GCC unroll 8
		for (unsigned j = 0; j < t; j++) {
			uint64_t word = cache_line_word(digests[i], j);
			__builtin_prefetch(cache_line_of(page, word, t, j), 0,
			    2);
		}
	}
}

INLINE void
probe_all(const struct block_array *array, const struct digest *digests,
    size_t n, uint8_t *found, unsigned t, unsigned k)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t *page = page_at(array, digests[i]);
		lanes missing = { 0 };
#pragma GCC unroll 8
		for (unsigned j = 0; j < t; j++) {
			uint64_t word = cache_line_word(digests[i], j);
			unsigned bits = geometry_cache_line_bits(k, t, j);

			missing |= cache_line_mask(word, bits) &
			    ~*cache_line_of(page, word, t, j);
		}
		found[i] |= (uint8_t)all_zero(missing);
	}
}

INLINE void
mark_all(const struct block_array *array, const struct digest *digests,
    size_t n, unsigned t, unsigned k)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t *page = page_at(array, digests[i]);
#pragma GCC unroll 8
		for (unsigned j = 0; j < t; j++) {
			uint64_t word = cache_line_word(digests[i], j);
			unsigned bits = geometry_cache_line_bits(k, t, j);

			*cache_line_of(page, word, t, j) |=
			    cache_line_mask(word, bits);
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

static void
loops_prefetch(const struct block_array *array, const struct digest *digests,
    size_t n)
{
#define CALL(t) prefetch(array, digests, n, t)
	EACH_T(CALL)
#undef CALL
}

static void
loops_probe(const struct block_array *array, const struct digest *digests,
    size_t n, uint8_t *found)
{
	unsigned k = array->geometry.k;

#define CALL(t) \
	if (k == CACHE_LINE_LANES * t) \
		probe_all(array, digests, n, found, t, CACHE_LINE_LANES * t); \
	else \
		probe_all(array, digests, n, found, t, k)
	EACH_T(CALL)
#undef CALL
}

/* How many digests go through a chain of arrays together. */
#define CHAIN_DIGESTS 256

/*
 * A digest on its way through a chain of arrays of one geometry. Its first
 * cache line and its mask there are the same in all of them. If an array
 * doesn't have the digest, that one shows it in all but one of hundreds of
 * cases, and the other cache lines aren't fetched.
 */
struct link {
	uint64_t offset; /* bytes before its first cache line */
	uint64_t word;   /* the word of the digest that places it there */
	uint32_t item;
};

/*
 * Divide the links: those with all bits of their first cache line go to
 * `likely`, in order. The others stay; that cache line of the next array, if
 * there is one, is prefetched. Returns how many stay. No branch depends on a
 * link: which way it goes can't be predicted.
 */
INLINE size_t
chain_divide(const uint8_t *pages, const uint8_t *next, unsigned bits,
    struct link *links, size_t n, struct link *likely)
{
	const uint8_t *ahead = next != NULL ? next : pages;
	size_t left = 0, hits = 0;

	for (size_t i = 0; i < n; i++) {
		struct link link = links[i];
		const void *at = pages + link.offset;
		const lanes *cache_line = at;
		int is_likely = all_zero(cache_line_mask(link.word, bits) &
		    ~*cache_line);

		likely[hits] = link;
		hits += (size_t)is_likely;
		links[left] = link;
		left += (size_t)!is_likely;
		__builtin_prefetch(ahead + link.offset, 0, 2);
	}
	return left;
}

/* Test all cache lines of the likely ones; those not in this array go on. */
INLINE size_t
chain_verify(const struct block_array *array, const struct digest *digests,
    const struct link *likely, size_t n, uint8_t *found, struct link *links)
{
	struct digest asked[CHAIN_DIGESTS];
	uint8_t there[CHAIN_DIGESTS] = { 0 };
	size_t left = 0;

	for (size_t i = 0; i < n; i++)
		asked[i] = digests[likely[i].item];
	/* gcc would drop a call of loops_prefetch as one without effect. */
#define CALL(t) prefetch(array, asked, n, t)
	EACH_T(CALL)
#undef CALL
	loops_probe(array, asked, n, there);
	for (size_t i = 0; i < n; i++) {
		found[likely[i].item] |= there[i];
		links[left] = likely[i];
		left += !there[i];
	}
	return left;
}

static void
loops_probe_chain(const struct block_array *const *chain, unsigned count,
    const struct digest *digests, size_t n, uint8_t *found)
{
	const struct geometry *g = &chain[0]->geometry;
	unsigned bits = geometry_cache_line_bits(g->k, g->cache_lines, 0);
	/* too large for a small stack */
	static _Thread_local struct link links[CHAIN_DIGESTS];
	static _Thread_local struct link likely[CHAIN_DIGESTS];

	for (size_t item = 0; item < n; ) {
		size_t end = n - item < CHAIN_DIGESTS ? n :
		    item + CHAIN_DIGESTS;
		size_t pending = 0;

		/* Prefetch the first layer; list what is not found yet. */
		for (; item < end; item++) {
			uint64_t word = cache_line_word(digests[item], 0);
			uint8_t *page = page_at(chain[0], digests[item]);
			uint8_t *first = page + CACHE_LINE_BYTES *
			    cache_line_index(word, g->cache_lines, 0);

			__builtin_prefetch(first, 0, 2);
			links[pending] = (struct link){ (uint64_t)(first -
				chain[0]->pages), word, (uint32_t)item };
			pending += !found[item];
		}
		for (unsigned i = 0; i < count && pending > 0; i++) {
			const uint8_t *next = i + 1 < count ?
			    chain[i + 1]->pages : NULL;
			size_t left = chain_divide(chain[i]->pages, next, bits,
			    links, pending, likely);

			pending = left + chain_verify(chain[i], digests, likely,
			    pending - left, found, links + left);
		}
	}
}

static void
loops_mark(const struct block_array *array, const struct digest *digests,
    size_t n)
{
	unsigned k = array->geometry.k;

#define CALL(t) \
	if (k == CACHE_LINE_LANES * t) \
		mark_all(array, digests, n, t, CACHE_LINE_LANES * t); \
	else \
		mark_all(array, digests, n, t, k)
	EACH_T(CALL)
#undef CALL
}

const struct loops VERSION(loops_) = {
	.name = VERSION_NAME,
	.digest = digest,
	.prefetch = loops_prefetch,
	.probe = loops_probe,
	.probe_chain = loops_probe_chain,
	.mark = loops_mark
};
