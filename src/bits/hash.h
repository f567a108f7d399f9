/*
 * The keyed hash: from the bytes of a key to a digest of 128 bits. Each filter
 * has its own random secret, kept in its file, so that nobody without the file
 * can choose lines that collide.
 *
 * XXH3-128 with a secret (xxHash 0.8, XXH3_128bits_withSecret). Not the seeded
 * 64-bit variant: colliding pairs are known for one seed in some thousand.
 *
 * SipHash-1-3-128, for lines from an adversary who can watch the output, and
 * could learn the secret of a hash that isn't designed to protect it.
 */
#ifndef HASH_H
#define HASH_H

#include <stddef.h>
#include <stdint.h>

#include "bits/digest.h"

/* How long the secret of a kind is, in bytes; 0 for a kind that is unknown. */
size_t hash_secret_bytes(uint32_t kind);

/* The name of a kind for people, "XXH3-128"; NULL if unknown. */
const char *hash_name(uint32_t kind);

/* As --hash takes it, "xxh3" or "siphash"; NULL if unknown. */
const char *hash_option(uint32_t kind);

struct digest hash_key(const struct hash *hash, const void *key, size_t nbytes);

/* XXH3-64 of n keys, without a secret: the same everywhere. */
void hash_plain(const struct key *keys, size_t n, uint64_t *hashes);

#endif
