/*
 * The hot loops, compiled once for each instruction set (Makefile): KERNEL is
 * the name of the table that this object defines. Everything here is static
 * but that table, so that no code for one machine is linked for another.
 *
 * The number of cache lines a key is a constant in each instance of the loops;
 * the compiler unrolls them.
 */
#include "kernel.h"

#include <string.h>

#include "hash_inline.h"
#include "layout.h"

#if defined __AVX512BW__ || defined __AVX2__ || defined __SSE2__
#include <immintrin.h>
#elif defined __ARM_NEON && defined __aarch64__
#include <arm_neon.h>
#endif

/* A bit for each of 64 bytes: is it `byte`? */
INLINE uint64_t
equal_bytes(const uint8_t *p, uint8_t byte)
{
#if defined __AVX512BW__
	return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(p),
	    _mm512_set1_epi8((char)byte));
#elif defined __AVX2__
	__m256i wanted = _mm256_set1_epi8((char)byte);
	const __m256i *v = (const __m256i *)(const void *)p;
	uint32_t low = (uint32_t)_mm256_movemask_epi8(
	    _mm256_cmpeq_epi8(_mm256_loadu_si256(v), wanted));
	uint32_t high = (uint32_t)_mm256_movemask_epi8(
	    _mm256_cmpeq_epi8(_mm256_loadu_si256(v + 1), wanted));
	return low | (uint64_t)high << 32;
#elif defined __SSE2__
	__m128i wanted = _mm_set1_epi8((char)byte);
	const __m128i *v = (const __m128i *)(const void *)p;
	uint64_t bits = 0;
	for (unsigned i = 0; i < 4; i++) {
		bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(
		    _mm_loadu_si128(v + i), wanted)) << (16 * i);
	}
	return bits;
#elif defined __ARM_NEON && defined __aarch64__
	const uint8x16_t weights = { 1, 2, 4, 8, 16, 32, 64, 128,
		1, 2, 4, 8, 16, 32, 64, 128 };
	uint8x16_t wanted = vdupq_n_u8(byte);
	uint8x16_t a = vandq_u8(vceqq_u8(vld1q_u8(p), wanted), weights);
	uint8x16_t b = vandq_u8(vceqq_u8(vld1q_u8(p + 16), wanted), weights);
	uint8x16_t c = vandq_u8(vceqq_u8(vld1q_u8(p + 32), wanted), weights);
	uint8x16_t d = vandq_u8(vceqq_u8(vld1q_u8(p + 48), wanted), weights);
	a = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
	a = vpaddq_u8(a, a);
	return vgetq_lane_u64(vreinterpretq_u64_u8(a), 0);
#else
	uint64_t bits = 0;
	for (unsigned i = 0; i < 64; i++)
		bits |= (uint64_t)(p[i] == byte) << i;
	return bits;
#endif
}

/* The number of the lowest bit that is set, or 64. */
INLINE unsigned
lowest_bit(uint64_t bits)
{
	return bits != 0 ? (unsigned)__builtin_ctzll(bits) : 64;
}

/*
 * Reads up to KERNEL_PADDING bytes behind the end; what is there is ignored.
 * Whether 64 bytes have no terminator, one or two can't be predicted, so it
 * decides no jump: two starts are stored, and those that aren't are stored
 * over.
 */
static size_t
split(uint8_t *data, const uint8_t *end, uint8_t terminator, uint8_t **starts,
    size_t limit)
{
	uint8_t **next = starts + 1, **last = starts + limit;

	starts[0] = data;
	for (; end - data >= 64 && last - next >= 64; data += 64) {
		uint64_t bits = equal_bytes(data, terminator);

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
		uint64_t bits = equal_bytes(data, terminator);

		if (end - data < 64)
			bits &= ((uint64_t)1 << (end - data)) - 1;
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

static uint64_t
blanks(const uint8_t *p)
{
	return equal_bytes(p, ' ') | equal_bytes(p, '\t') |
	    equal_bytes(p, '\n');
}

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
	for (size_t i = 0; i < n; i++) {
		uint8_t *page = page_of(array, digests[i]);
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
kernel_prefetch(const struct block_array *array, const struct digest *digests,
    size_t n)
{
#define CALL(t) prefetch(array, digests, n, t)
	EACH_T(CALL)
#undef CALL
}

static void
kernel_probe(const struct block_array *array, const struct digest *digests,
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

static void
kernel_mark(const struct block_array *array, const struct digest *digests,
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

const struct kernel JOIN(kernel_, KERNEL) = {
#if defined __ARM_NEON && defined __aarch64__
	.name = "neon", /* every arm64 has it: the plain version there */
#else
	.name = STRING(KERNEL),
#endif
	.split = split,
	.equal = equal,
	.blanks = blanks,
	.digest = digest,
	.prefetch = kernel_prefetch,
	.probe = kernel_probe,
	.mark = kernel_mark
};
