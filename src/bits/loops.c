/*
 * The hot loops, compiled once for each instruction set (Makefile): LOOPS is
 * the name of the table that this object defines. Everything here is static
 * but that table, so that no code for one machine is linked for another.
 *
 * The number of cache lines a key is a constant in each instance of the loops;
 * the compiler unrolls them.
 */
#include "bits/loops.h"

#include <string.h>

#include "bits/hash_inline.h"
#include "bits/layout.h"
#include "bits/quotes.h"

#if defined __AVX512BW__ || defined __AVX2__ || defined __SSE2__
#include <immintrin.h>
#elif defined __ARM_NEON && defined __aarch64__
#include <arm_neon.h>
#endif

/*
 * Input is prefetched so far ahead of its split, since the processor's own
 * prefetching ends at each page.
 */
#define SPLIT_AHEAD 4096

/* A bit for each of 64 bytes: do its bits in `mask` equal `byte`? */
INLINE uint64_t
equal_masked(const uint8_t *p, uint8_t mask, uint8_t byte)
{
#if defined __AVX512BW__
	return _mm512_cmpeq_epi8_mask(_mm512_and_si512(_mm512_loadu_si512(p),
	    _mm512_set1_epi8((char)mask)), _mm512_set1_epi8((char)byte));
#elif defined __AVX2__
	__m256i wanted = _mm256_set1_epi8((char)byte);
	__m256i masks = _mm256_set1_epi8((char)mask);
	const __m256i *v = (const __m256i *)(const void *)p;
	uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(
	    _mm256_and_si256(_mm256_loadu_si256(v), masks), wanted));
	uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(
	    _mm256_and_si256(_mm256_loadu_si256(v + 1), masks), wanted));
	return low | (uint64_t)high << 32;
#elif defined __SSE2__
	__m128i wanted = _mm_set1_epi8((char)byte);
	__m128i masks = _mm_set1_epi8((char)mask);
	const __m128i *v = (const __m128i *)(const void *)p;
	uint64_t bits = 0;
	for (unsigned i = 0; i < 4; i++) {
		bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(
		    _mm_and_si128(_mm_loadu_si128(v + i), masks), wanted)) <<
		    (16 * i);
	}
	return bits;
#elif defined __ARM_NEON && defined __aarch64__
	const uint8x16_t weights = { 1, 2, 4, 8, 16, 32, 64, 128,
		1, 2, 4, 8, 16, 32, 64, 128 };
	uint8x16_t wanted = vdupq_n_u8(byte), part[4];
	for (unsigned i = 0; i < 4; i++) {
		part[i] = vandq_u8(vld1q_u8(p + 16 * i), vdupq_n_u8(mask));
		part[i] = vandq_u8(vceqq_u8(part[i], wanted), weights);
	}
	part[0] = vpaddq_u8(vpaddq_u8(part[0], part[1]),
	    vpaddq_u8(part[2], part[3]));
	part[0] = vpaddq_u8(part[0], part[0]);
	return vgetq_lane_u64(vreinterpretq_u64_u8(part[0]), 0);
#else
	uint64_t bits = 0;
	for (unsigned i = 0; i < 64; i++)
		bits |= (uint64_t)((p[i] & mask) == byte) << i;
	return bits;
#endif
}

/* A bit for each of 64 bytes: is it `byte`? */
INLINE uint64_t
equal_bytes(const uint8_t *p, uint8_t byte)
{
	return equal_masked(p, 0xff, byte);
}

/* A bit for each of the 64 bytes at p that are before the end. */
INLINE uint64_t
bytes_before(const uint8_t *p, const uint8_t *end)
{
	return end - p < 64 ? ((uint64_t)1 << (end - p)) - 1 : ~(uint64_t)0;
}

/* The number of the lowest bit that is set, or 64. */
INLINE unsigned
lowest_bit(uint64_t bits)
{
	return bits != 0 ? (unsigned)__builtin_ctzll(bits) : 64;
}

/*
 * Reads up to LOOPS_PADDING bytes past the end, and ignores them. Whether 64
 * bytes have no terminator, one or two can't be predicted, so no branch depends
 * on it: two starts are always stored, and invalid ones are overwritten.
 */
static size_t
split(const uint8_t *data, const uint8_t *end, uint8_t terminator,
    const uint8_t **starts, size_t limit)
{
	const uint8_t **next = starts + 1, **last = starts + limit;

	starts[0] = data;
	for (; end - data >= 64 && last - next >= 64; data += 64) {
		uint64_t bits = equal_bytes(data, terminator);

		__builtin_prefetch(data + SPLIT_AHEAD);
		do {
#pragma GCC unroll 2
			for (unsigned i = 0; i < 2; i++) {
				*next = data + lowest_bit(bits) + 1;
				next += bits != 0;
				bits &= bits - 1;
			}
		} while (bits != 0);
	}
	for (; data < end && next <= last; data += 64) {
		uint64_t bits = equal_bytes(data, terminator) &
		    bytes_before(data, end);

		for (; bits != 0 && next <= last; bits &= bits - 1)
			*next++ = data + lowest_bit(bits) + 1;
	}
	return (size_t)(next - starts) - 1;
}

static uint64_t
equal(const uint8_t *p, uint8_t byte)
{
	return equal_bytes(p, byte);
}

static void
equal_three(const uint8_t *p, const uint8_t bytes[3], uint64_t bits[3])
{
	for (unsigned i = 0; i < 3; i++)
		bits[i] = equal_bytes(p, bytes[i]);
}

static uint64_t
count(const uint8_t *p, size_t nbytes, uint8_t byte)
{
	uint64_t n = 0;

	for (; nbytes >= 64; p += 64, nbytes -= 64)
		n += (uint64_t)__builtin_popcountll(equal_bytes(p, byte));
	if (nbytes > 0)
		n += (uint64_t)__builtin_popcountll(equal_bytes(p, byte) &
		    bytes_before(p, p + nbytes));
	return n;
}

static struct key
fields(const uint8_t *p, const uint8_t *end, struct field_marks marks,
    uint32_t first, uint32_t last)
{
	const uint8_t *start = p;
	uint32_t number = 1;

	if (p < end && *p == marks.quote)
		return (struct key){ NULL, 0 };
	for (; p < end; p += 64) {
		uint64_t bits = equal_bytes(p, marks.separator) &
		    bytes_before(p, end);

		for (; bits != 0; bits &= bits - 1) {
			const uint8_t *next = p + lowest_bit(bits) + 1;

			if (number == last)
				return (struct key){ start,
					(size_t)(next - 1 - start) };
			if (*next == marks.quote)
				return (struct key){ NULL, 0 };
			start = number++ < first ? next : start;
		}
	}
	start = number < first ? end : start;
	return (struct key){ start, (size_t)(end - start) };
}

static struct key
csv_field(const uint8_t *p, const uint8_t *end, uint8_t separator,
    uint32_t wanted)
{
	const uint8_t *start = p;
	uint32_t number = 1;
	int in_quotes = 0, begins = 1;

	for (; p < end; p += 64) {
		uint64_t all = bytes_before(p, end), stops;
		struct quotes q;

		q.stops = equal_bytes(p, separator) & all;
		q.quotes = equal_bytes(p, '"') & all;
		if (!quotes_place(&q, in_quotes, begins))
			return (struct key){ NULL, 0 };
		for (stops = q.stops & ~q.inside; stops != 0;
		    stops &= stops - 1) {
			const uint8_t *stop = p + lowest_bit(stops);

			if (number++ == wanted)
				return (struct key){ start,
					(size_t)(stop - start) };
			start = stop + 1;
		}
		in_quotes = (int)(q.inside >> 63);
		begins = (int)((q.quotes | q.stops) >> 63);
	}
	if (in_quotes)
		return (struct key){ NULL, 0 };
	start = number < wanted ? end : start;
	return (struct key){ start, (size_t)(end - start) };
}

static uint64_t
blanks(const uint8_t *p)
{
	return equal_bytes(p, ' ') | equal_bytes(p, '\t') |
	    equal_bytes(p, '\n');
}

static void
json(const uint8_t *p, uint64_t *quotes, uint64_t *escapes,
    uint64_t *brackets)
{
	*quotes = equal_bytes(p, '"');
	*escapes = equal_bytes(p, '\\');
	*brackets = equal_bytes(p, '{') | equal_bytes(p, '}') |
	    equal_bytes(p, '[') | equal_bytes(p, ']');
}

static const uint8_t *
string_end(const uint8_t *p, const uint8_t *end)
{
	for (; p < end; p += 64) {
		uint64_t bits = equal_bytes(p, '"') | equal_bytes(p, '\\');

		if (bits != 0)
			return p + lowest_bit(bits);
	}
	return p;
}

/* Control characters are those without a bit in 0xe0. */
static const uint8_t *
string_stop(const uint8_t *p, const uint8_t *end)
{
	for (; p < end; p += 64) {
		uint64_t bits = equal_bytes(p, '"') | equal_bytes(p, '\\') |
		    equal_masked(p, 0xe0, 0);

		if (bits != 0)
			return p + lowest_bit(bits);
	}
	return p;
}

/* --- sets of characters */

#if defined __AVX512BW__
#define VECTOR_BYTES 64
#elif defined __AVX2__
#define VECTOR_BYTES 32
#elif defined __ARM_NEON && defined __aarch64__
#define VECTOR_BYTES 16
#endif

#if defined VECTOR_BYTES
typedef uint8_t bytes
    __attribute__((vector_size(VECTOR_BYTES), aligned(1), may_alias));

INLINE bytes
load_bytes(const uint8_t *p)
{
	return *(const bytes *)(const void *)p;
}

/* table[i] for each byte i of `indices`, which are below 16. */
INLINE bytes
look_up(const uint8_t table[16], bytes indices)
{
#if defined __AVX512BW__
	return (bytes)_mm512_shuffle_epi8(_mm512_broadcast_i32x4(
	    _mm_loadu_si128((const __m128i *)(const void *)table)),
	    (__m512i)indices);
#elif defined __AVX2__
	return (bytes)_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(
	    _mm_loadu_si128((const __m128i *)(const void *)table)),
	    (__m256i)indices);
#else
	return vqtbl1q_u8(vld1q_u8(table), indices);
#endif
}

/* A bit for each byte, which is 0 or 0xff. */
INLINE uint64_t
bits_of(bytes v)
{
#if defined __AVX512BW__
	return _mm512_movepi8_mask((__m512i)v);
#elif defined __AVX2__
	return (uint32_t)_mm256_movemask_epi8((__m256i)v);
#else
	const uint8x16_t weights = { 1, 2, 4, 8, 16, 32, 64, 128,
		1, 2, 4, 8, 16, 32, 64, 128 };
	uint8x16_t bits = vandq_u8(v, weights);
	return vaddv_u8(vget_low_u8(bits)) |
	    (uint64_t)vaddv_u8(vget_high_u8(bits)) << 8;
#endif
}

static const uint8_t *
skip(const struct characters *set, const uint8_t *p, const uint8_t *end)
{
	static const uint8_t bit[16] = { 1, 2, 4, 8, 16, 32, 64, 128 };

	for (; p < end; p += VECTOR_BYTES) {
		bytes v = load_bytes(p), before = load_bytes(p - 1);
		bytes found = look_up(set->columns, v & 15) &
		    look_up(bit, v >> 4);
		uint64_t stops = bytes_before(p, end) &
		    bits_of((bytes)((found == 0) &
		    ((v != '.') | (before == '/'))));

		if (stops != 0)
			return p + lowest_bit(stops);
	}
	return end;
}
#else
static const uint8_t *
skip(const struct characters *set, const uint8_t *p, const uint8_t *end)
{
	const uint8_t *has = set->has;

	for (;;) {
		while (end - p >= 4 &&
		    (has[p[0]] & has[p[1]] & has[p[2]] & has[p[3]]))
			p += 4;
		while (p < end && has[*p])
			p++;
		if (p == end || *p != '.' || p[-1] == '/')
			return p;
		p++;
	}
}
#endif

static void
digest(const struct hash *hash, const struct key *keys, size_t n,
    struct digest *digests)
{
	for (size_t i = 0; i < n; i++)
		digests[i] = hash_inline(hash, keys[i].data, keys[i].nbytes);
}

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
#elif defined __SSE2__
	__m128i part[4], any;

	memcpy(part, &v, sizeof v);
	any = _mm_or_si128(_mm_or_si128(part[0], part[1]),
	    _mm_or_si128(part[2], part[3]));
	return _mm_movemask_epi8(_mm_cmpeq_epi8(any, _mm_setzero_si128())) ==
	    0xffff;
#elif defined __ARM_NEON && defined __aarch64__
	uint32x4_t part[4], any;

	memcpy(part, &v, sizeof v);
	any = vorrq_u32(vorrq_u32(part[0], part[1]),
	    vorrq_u32(part[2], part[3]));
	return vmaxvq_u32(any) == 0;
#else
	uint64_t any = 0;

	for (unsigned l = 0; l < LINE_LANES; l++)
		any |= v[l];
	return any == 0;
#endif
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
	const struct block_array now = {
		.pages = __atomic_load_n(&array->pages, __ATOMIC_RELAXED),
		.geometry = array->geometry
	};

	for (size_t i = 0; i < n; i++) {
		uint8_t *page = page_of(&now, digests[i]);
#pragma GCC unroll 8
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
#pragma GCC unroll 8
		for (unsigned j = 0; j < t; j++) {
			uint64_t word = line_word(digests[i], j);
			unsigned bits = geometry_line_bits(k, t, j);

			missing |= line_mask(word, bits) &
			    ~*line_of(page, word, t, j);
		}
		found[i] |= (uint8_t)all_zero(missing);
	}
}

INLINE void
mark(const struct block_array *array, const struct digest *digests, size_t n,
    unsigned t, unsigned k)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t *page = page_of(array, digests[i]);
#pragma GCC unroll 8
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
	if (k == LINE_LANES * t) \
		probe(array, digests, n, found, t, LINE_LANES * t); \
	else \
		probe(array, digests, n, found, t, k)
	EACH_T(CALL)
#undef CALL
}

/*
 * A digest on its way through a chain of arrays of one geometry. Its first
 * cache line and its mask there are the same in all of them. If an array
 * doesn't have the digest, that line shows it in all but one of hundreds of
 * cases, and the other lines aren't fetched.
 */
struct link {
	uint64_t offset; /* of its first cache line, in bytes */
	uint64_t word;   /* which places it there */
	uint32_t item;
};

/* Collect the digests not found yet, and prefetch their lines in `array`. */
INLINE size_t
chain_begin(const struct block_array *array, const struct digest *digests,
    size_t n, const uint8_t *found, struct link *links)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t word = line_word(digests[i], 0);
		uint8_t *page = page_of(array, digests[i]);
		uint8_t *line = page + LINE_BYTES * line_index(word,
		    array->geometry.cache_lines, 0);

		__builtin_prefetch(line, 0, 2);
		links[left] = (struct link){ (uint64_t)(line - array->pages),
			word, (uint32_t)i };
		left += !found[i];
	}
	return left;
}

/*
 * Divide the links: those with all bits of their first line go to `likely`, in
 * order; the others stay, and prefetch that line in the next array, if there is
 * one. Returns how many stay.
 */
INLINE size_t
chain_divide(const uint8_t *pages, const uint8_t *next, unsigned bits,
    struct link *links, size_t n, struct link *likely)
{
	size_t left = 0, hits = 0;

	for (size_t i = 0; i < n; i++) {
		struct link link = links[i];
		const void *at = pages + link.offset;
		const lanes *line = at;

		if (all_zero(line_mask(link.word, bits) & ~*line)) {
			likely[hits++] = link;
			continue;
		}
		links[left++] = link;
		if (next != NULL)
			__builtin_prefetch(next + link.offset, 0, 2);
	}
	return left;
}

/* Test all lines of the likely ones; those not in this array go on. */
INLINE size_t
chain_verify(const struct block_array *array, const struct digest *digests,
    const struct link *likely, size_t n, uint8_t *found, struct link *links)
{
	struct digest asked[LOOPS_CHAIN];
	uint8_t there[LOOPS_CHAIN] = { 0 };
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
	unsigned bits = geometry_line_bits(g->k, g->cache_lines, 0);
	struct link links[LOOPS_CHAIN], likely[LOOPS_CHAIN];

	n = chain_begin(chain[0], digests, n, found, links);
	for (unsigned i = 0; i < count && n > 0; i++) {
		const uint8_t *next = i + 1 < count ? chain[i + 1]->pages :
		    NULL;
		size_t left = chain_divide(chain[i]->pages, next, bits, links,
		    n, likely);

		n = left + chain_verify(chain[i], digests, likely, n - left,
		    found, links + left);
	}
}

static void
loops_mark(const struct block_array *array, const struct digest *digests,
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

#define STRING_OF(name) #name
#define STRING(name) STRING_OF(name)
#define JOIN_OF(a, b) a##b
#define JOIN(a, b) JOIN_OF(a, b)

const struct loops JOIN(loops_, LOOPS) = {
#if defined __ARM_NEON && defined __aarch64__
	.name = "neon", /* every arm64 has it: the plain version there */
#else
	.name = STRING(LOOPS),
#endif
	.split = split,
	.equal = equal,
	.equal_three = equal_three,
	.count = count,
	.fields = fields,
	.csv_field = csv_field,
	.blanks = blanks,
	.json = json,
	.string_end = string_end,
	.string_stop = string_stop,
	.skip = skip,
	.digest = digest,
	.prefetch = loops_prefetch,
	.probe = loops_probe,
	.probe_chain = loops_probe_chain,
	.mark = loops_mark
};
