/* Keys, hash functions and digests. hash.h computes digests. */
#ifndef DIGEST_H
#define DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define HASH_SECRET_MAX 192

enum hash_kind {
	/* values as stored in the file */
	HASH_XXH3_128 = 1,
	HASH_SIPHASH_1_3_128 = 2
};

struct hash {
	enum hash_kind kind;
	uint8_t secret[HASH_SECRET_MAX]; /* hash_secret_bytes(kind) of it */
};

struct digest {
	uint64_t low, high;
};

/* In place of a digest: the line has no key, and is like no other. */
#define DIGEST_NONE ((struct digest){ UINT64_MAX, UINT64_MAX })

static inline int
digest_is_none(struct digest d)
{
	return (d.low & d.high) == UINT64_MAX;
}

/* The part of a line that is hashed; doesn't own the bytes. */
struct key {
	const uint8_t *data;
	size_t nbytes;
};

#endif
