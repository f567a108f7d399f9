/*
 * A part is a share of all keys, I of N: which part a key is in depends on
 * nothing but its bytes, so that machines agree without a secret. See
 * bloomdedup(5), "Parts".
 */
#ifndef PART_H
#define PART_H

#include <stdint.h>

#include "bits/hash.h"

#define PARTS_MAX 4096

/* The part, from 1 to `parts`, of a key with this hash (hash_plain). */
static inline unsigned
part_of(uint64_t hash, unsigned parts)
{
	uint64_t low = (hash & UINT32_MAX) * parts >> 32;

	/* hash * parts / 2^64, without numbers of 128 bits */
	return 1 + (unsigned)(((hash >> 32) * parts + low) >> 32);
}

/* "3/16"; -1 if it is anything else. */
int part_parse(const char *text, unsigned *part, unsigned *parts);

#endif
