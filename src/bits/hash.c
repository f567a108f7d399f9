#include "bits/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

size_t
hash_secret_bytes(uint32_t kind)
{
	return kind == HASH_XXH3_128 ? 192 :
	    kind == HASH_SIPHASH_1_3_128 ? SIPHASH_KEY_BYTES : 0;
}

const char *
hash_name(uint32_t kind)
{
	return kind == HASH_XXH3_128 ? "XXH3-128" :
	    kind == HASH_SIPHASH_1_3_128 ? "SipHash-1-3-128" : NULL;
}

const char *
hash_option(uint32_t kind)
{
	return kind == HASH_XXH3_128 ? "xxh3" :
	    kind == HASH_SIPHASH_1_3_128 ? "siphash" : NULL;
}

void
hash_plain(const struct key *keys, size_t n, uint64_t *hashes)
{
	for (size_t i = 0; i < n; i++)
		hashes[i] = XXH3_64bits(keys[i].data, keys[i].nbytes);
}
