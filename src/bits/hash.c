#include "bits/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* What is known of each kind, by its number in the file. */
static const struct hash_row {
	const char *name, *option;
	size_t secret_bytes;
} kinds[] = {
	[HASH_XXH3_128] = { "XXH3-128", "xxh3", 192 },
	[HASH_SIPHASH_1_3_128] = { "SipHash-1-3-128", "siphash",
		SIPHASH_KEY_BYTES }
};

/* Returns a row of zeros if the number is no kind of hash. */
static struct hash_row
find_kind(uint32_t number)
{
	if (number >= sizeof kinds / sizeof *kinds)
		return (struct hash_row){ 0 };
	return kinds[number];
}

size_t
hash_secret_bytes(uint32_t kind)
{
	return find_kind(kind).secret_bytes;
}

const char *
hash_name(uint32_t kind)
{
	return find_kind(kind).name;
}

const char *
hash_option(uint32_t kind)
{
	return find_kind(kind).option;
}

void
hash_plain(const struct key *keys, size_t n, uint64_t *hashes)
{
	for (size_t i = 0; i < n; i++)
		hashes[i] = XXH3_64bits(keys[i].data, keys[i].nbytes);
}
