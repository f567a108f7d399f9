/*
 * The hash function, inlined from the library's header, since a call costs as
 * much as hashing a short key.
 */
#ifndef HASH_INLINE_H
#define HASH_INLINE_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "bits/hash.h"
#include "bits/siphash.h"

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
