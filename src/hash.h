/*
 * The keyed hash: from the bytes of a key to a digest of 128 bits. The secret
 * is drawn anew for each filter and kept in its file, so that nobody who
 * doesn't have the file can choose lines that collide.
 *
 * XXH3-128 with a secret (xxHash 0.8, XXH3_128bits_withSecret). Not the seeded
 * 64-bit variant: colliding pairs are known for one seed in some thousand.
 *
 * SipHash-1-3-128, for lines that an adversary writes who can watch what comes
 * out, and could learn the secret of a hash that was not made to keep it.
 */
#ifndef HASH_H
#define HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_SECRET_MAX 192

enum hash_kind {
	/* the numbers in the file */
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

/* What of a line is hashed: bytes that somebody else owns. */
struct key {
	const uint8_t *data;
	size_t nbytes;
};

/* How long the secret of a kind is, in bytes; 0 for a kind that is unknown. */
size_t hash_secret_bytes(uint32_t kind);

/* The name of a kind for people, "XXH3-128"; NULL if unknown. */
const char *hash_name(uint32_t kind);

/* The kind of an option's name, "xxh3" or "siphash"; 0 if unknown. */
uint32_t hash_kind_of(const char *name);

struct digest hash_key(const struct hash *hash, const void *key, size_t nbytes);

#endif
