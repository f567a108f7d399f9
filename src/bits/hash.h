/*
 * The keyed hash: from the bytes of a key to a digest of 128 bits. Each filter
 * has its own random secret, kept in its file, so that nobody without the file
 * can choose lines that collide.
 *
 * XXH3-128 with a secret (xxHash 0.8, XXH3_128bits_withSecret). Not the seeded
 * 64-bit variant: colliding pairs are known for one seed in some thousand.
 *
 * SipHash-1-3-128, for lines from an adversary who can watch the output, and
 * could learn the secret of a hash that is not designed to protect it.
 */
#ifndef BITS_HASH_H
#define BITS_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_SECRET_MAX 192
#define SIPHASH_KEY_BYTES 16

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

/* Stands for the digest of a line without a key, which is like no other. */
#define DIGEST_NONE ((struct digest){ UINT64_MAX, UINT64_MAX })

static inline int
digest_is_none(struct digest d)
{
	return (d.low & d.high) == UINT64_MAX;
}

/* The part of a line that is hashed; does not own the bytes. */
struct key {
	const uint8_t *data;
	size_t nbytes;
};

/*
 * Returns the length of a kind's secret in bytes; 0 for a kind that is unknown.
 */
size_t hash_secret_bytes(uint32_t kind);

/*
 * Returns the name of a kind for people, such as "XXH3-128"; NULL if unknown.
 */
const char *hash_name(uint32_t kind);

/*
 * Returns the name of a kind as --hash takes it, such as "xxh3"; NULL if
 * unknown.
 */
const char *hash_option(uint32_t kind);

/* Set hashes[i] to the XXH3-64 of key i without a secret, which all share. */
void hash_plain(const struct key *keys, size_t n, uint64_t *hashes);

#endif
