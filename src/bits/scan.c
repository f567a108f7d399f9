/*
 * Scanning of text, compiled once for each instruction set: version.h. It looks
 * at 64 bytes at a time, as bits of a word.
 */
#include "bits/scan.h"

#include "bits/layout.h"
#include "bits/version.h"

#if defined __AVX512BW__ || defined __AVX2__ || defined __SSE2__
#include <immintrin.h>
#elif defined __ARM_NEON && defined __aarch64__
#include <arm_neon.h>
#endif

/*
 * Input is prefetched this many bytes ahead of its split, because the
 * processor's own prefetching ends at each page.
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
scan_split(const uint8_t *data, const uint8_t *end, uint8_t terminator,
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

static void
scan_equal_three(const uint8_t *p, const uint8_t bytes[3], uint64_t bits[3])
{
	for (unsigned i = 0; i < 3; i++)
		bits[i] = equal_bytes(p, bytes[i]);
}

static uint64_t
scan_count(const uint8_t *p, size_t nbytes, uint8_t byte)
{
	uint64_t n = 0;

	for (; nbytes >= 64; p += 64, nbytes -= 64)
		n += (uint64_t)__builtin_popcountll(equal_bytes(p, byte));
	if (nbytes > 0)
		n += (uint64_t)__builtin_popcountll(equal_bytes(p, byte) &
		    bytes_before(p, p + nbytes));
	return n;
}

/* With `csv`, separators in quotes are data. */
INLINE struct key
find_fields(const uint8_t *p, const uint8_t *end, uint8_t separator,
    uint32_t first, uint32_t last, int csv)
{
	const uint8_t *start = p;
	uint32_t number = 1;
	int in_quotes = 0, begins = 1;

	for (; p < end; p += 64) {
		uint64_t all = bytes_before(p, end), stops;
		struct quotes q = { .stops = equal_bytes(p, separator) & all };

		if (csv)
			q.quotes = equal_bytes(p, '"') & all;
		/* Most words have no quotes and need no more than this test. */
		if ((q.quotes != 0 || in_quotes) &&
		    !quotes_place(&q, in_quotes, begins))
			return (struct key){ NULL, 0 };
		for (stops = q.stops & ~q.inside; stops != 0;
		    stops &= stops - 1) {
			const uint8_t *next = p + lowest_bit(stops) + 1;

			if (number == last)
				return (struct key){ start,
					(size_t)(next - 1 - start) };
			start = number++ < first ? next : start;
		}
		in_quotes = (int)(q.inside >> 63);
		begins = (int)((q.quotes | q.stops) >> 63);
	}
	return in_quotes || number < first ? (struct key){ NULL, 0 } :
	    (struct key){ start, (size_t)(end - start) };
}

static struct key
scan_fields(const uint8_t *p, const uint8_t *end, uint8_t separator,
    uint32_t first, uint32_t last)
{
	return find_fields(p, end, separator, first, last, 0);
}

static struct key
scan_csv_field(const uint8_t *p, const uint8_t *end, uint8_t separator,
    uint32_t wanted)
{
	return find_fields(p, end, separator, wanted, wanted, 1);
}

static uint64_t
scan_blanks(const uint8_t *p)
{
	return equal_bytes(p, ' ') | equal_bytes(p, '\t') |
	    equal_bytes(p, '\n');
}

static void
scan_json(const uint8_t *p, uint64_t *quotes, uint64_t *escapes,
    uint64_t *brackets)
{
	*quotes = equal_bytes(p, '"');
	*escapes = equal_bytes(p, '\\');
	*brackets = equal_bytes(p, '{') | equal_bytes(p, '}') |
	    equal_bytes(p, '[') | equal_bytes(p, ']');
}

static const uint8_t *
scan_string_end(const uint8_t *p, const uint8_t *end)
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
scan_string_stop(const uint8_t *p, const uint8_t *end)
{
	for (; p < end; p += 64) {
		uint64_t bits = bytes_before(p, end) & (equal_bytes(p, '"') |
		    equal_bytes(p, '\\') | equal_masked(p, 0xe0, 0));

		if (bits != 0)
			return p + lowest_bit(bits);
	}
	return end;
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
shuffle(const uint8_t table[16], bytes indices)
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

/* 0xff for each byte that isn't in the set, else 0. */
INLINE bytes
not_in(const struct characters *set, bytes v)
{
	static const uint8_t bit[16] = { 1, 2, 4, 8, 16, 32, 64, 128 };

	return (bytes)((shuffle(set->columns, v & 15) &
	    shuffle(bit, v >> 4)) == 0);
}

static const uint8_t *
scan_skip(const struct characters *set, const uint8_t *p, const uint8_t *end)
{
	for (; p < end; p += VECTOR_BYTES) {
		bytes v = load_bytes(p), before = load_bytes(p - 1);
		uint64_t stops = bytes_before(p, end) &
		    bits_of(not_in(set, v) &
		    (bytes)((v != '.') | (before == '/')));

		if (stops != 0)
			return p + lowest_bit(stops);
	}
	return end;
}

/* A bit for each of 64 bytes: is it neither in the set nor a dot? */
INLINE uint64_t
others(const struct characters *set, const uint8_t *p)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < 64; i += VECTOR_BYTES) {
		bytes v = load_bytes(p + i);

		bits |= bits_of(not_in(set, v) & (bytes)(v != '.')) << i;
	}
	return bits;
}
#else
static const uint8_t *
scan_skip(const struct characters *set, const uint8_t *p, const uint8_t *end)
{
	/*
	 * A dot is not in the set itself, so only dots take this second look.
	 */
	while (p < end && (set->classes[*p] & set->wanted ||
	    (*p == '.' && p[-1] != '/')))
		p++;
	return p;
}

INLINE uint64_t
others(const struct characters *set, const uint8_t *p)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < 64; i++)
		bits |= (uint64_t)((set->classes[p[i]] & set->wanted) == 0 &&
		    p[i] != '.') << i;
	return bits;
}
#endif

static struct query_marks
scan_query(const struct characters *set, const uint8_t *p)
{
	return (struct query_marks){ equal_bytes(p, '&'), equal_bytes(p, '='),
		others(set, p) };
}

const struct scan VERSION(scan_) = {
	.split = scan_split,
	.equal_three = scan_equal_three,
	.count = scan_count,
	.fields = scan_fields,
	.csv_field = scan_csv_field,
	.blanks = scan_blanks,
	.json = scan_json,
	.string_end = scan_string_end,
	.string_stop = scan_string_stop,
	.skip = scan_skip,
	.query = scan_query
};
