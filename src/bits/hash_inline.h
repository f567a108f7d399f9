/*
 * The hash function, inlined from the library's header, because a call costs as
 * much as hashing a short key.
 */
#ifndef BITS_HASH_INLINE_H
#define BITS_HASH_INLINE_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/le.h"
#include "bits/hash.h"

/*
 * SipHash-1-3 with 128 bits of output: Aumasson, Bernstein 2012, SipHash: a
 * fast short-input PRF, with one round a word and three at the end, and the
 * longer output of the authors' reference code (0xee and 0xdd).
 */
static inline uint64_t
siphash_rotate(uint64_t word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

static inline void
siphash_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = siphash_rotate(v[1], 13) ^ v[0];
	v[3] = siphash_rotate(v[3], 16) ^ v[2];
	v[0] = siphash_rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = siphash_rotate(v[1], 17) ^ v[2];
	v[3] = siphash_rotate(v[3], 21) ^ v[0];
	v[2] = siphash_rotate(v[2], 32);
}

static inline uint64_t
siphash_finish(uint64_t v[4])
{
	for (unsigned i = 0; i < 3; i++)
		siphash_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* Write the first eight bytes of the output to *low, the others to *high. */
static inline void
siphash13_128(const uint8_t key[SIPHASH_KEY_BYTES], const uint8_t *data,
    size_t nbytes, uint64_t *low, uint64_t *high)
{
	uint64_t k0 = le_get64(key), k1 = le_get64(key + 8);
	uint64_t v[4] = { k0 ^ UINT64_C(0x736f6d6570736575),
		k1 ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
		k0 ^ UINT64_C(0x6c7967656e657261),
		k1 ^ UINT64_C(0x7465646279746573) };
	uint64_t last = (uint64_t)nbytes << 56;

	for (; nbytes >= 8; data += 8, nbytes -= 8) {
		uint64_t word = le_get64(data);
		v[3] ^= word;
		siphash_round(v);
		v[0] ^= word;
	}
	for (size_t i = 0; i < nbytes; i++)
		last |= (uint64_t)data[i] << (8 * i);
	v[3] ^= last;
	siphash_round(v);
	v[0] ^= last;
	v[2] ^= 0xee;
	*low = siphash_finish(v);
	v[1] ^= 0xdd;
	*high = siphash_finish(v);
}

static inline struct digest
hash_inline(const struct hash *hash, const void *key, size_t nbytes)
{
	struct digest digest;

	if (__builtin_expect(hash->kind == HASH_XXH3_128, 1)) {
		XXH128_hash_t h =
		    XXH3_128bits_withSecret(key, nbytes, hash->secret, 192);
		digest.low = h.low64;
		digest.high = h.high64;
	} else {
		siphash13_128(hash->secret, key, nbytes, &digest.low,
		    &digest.high);
	}
	return digest;
}

#endif
