#include "bits/hash.h"

#include <string.h>

#include "bits/hash_inline.h"

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

uint32_t
hash_kind_of(const char *name)
{
	return strcmp(name, "xxh3") == 0 ? HASH_XXH3_128 :
	    strcmp(name, "siphash") == 0 ? HASH_SIPHASH_1_3_128 : 0;
}

struct digest
hash_key(const struct hash *hash, const void *key, size_t nbytes)
{
	return hash_inline(hash, key, nbytes);
}
