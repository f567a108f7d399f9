/*
 * The hash itself, for the two that compute it: inlined from the library's
 * header, since the call costs as much as a short key.
 */
#ifndef HASH_INLINE_H
#define HASH_INLINE_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "hash.h"

static inline struct digest
hash_inline(const struct hash *hash, const void *key, size_t nbytes)
{
	XXH128_hash_t h =
	    XXH3_128bits_withSecret(key, nbytes, hash->secret, 192);

	return (struct digest){ .low = h.low64, .high = h.high64 };
}

#endif
