#include "hash.h"

#include "hash_inline.h"

size_t
hash_secret_bytes(uint32_t kind)
{
	return kind == HASH_XXH3_128 ? 192 : 0;
}

const char *
hash_name(uint32_t kind)
{
	return kind == HASH_XXH3_128 ? "XXH3-128" : NULL;
}

struct digest
hash_key(const struct hash *hash, const void *key, size_t nbytes)
{
	return hash_inline(hash, key, nbytes);
}
