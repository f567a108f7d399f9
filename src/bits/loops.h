/*
 * The hot loops over bits in the best version for this machine: the same source
 * (loops.c), compiled for several instruction sets, chosen once at run time.
 * All versions give the same results, bit for bit.
 */
#ifndef LOOPS_H
#define LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "bits/block_array.h"
#include "bits/hash.h"

/* How many digests are looked up in a chain of arrays at a time. */
#define LOOPS_CHAIN 256

/* How many bytes past the data the loops over text (key/scan.h) may read. */
#define LOOPS_PADDING 64

struct loops {
	const char *name; /* of the instruction set, for people */

	/* hash_key for n keys. */
	void (*digest)(const struct hash *hash, const struct key *keys,
	    size_t n, struct digest *digests);
	/* block.h has the contracts. */
	void (*prefetch)(const struct block_array *array,
	    const struct digest *digests, size_t n);
	void (*probe)(const struct block_array *array,
	    const struct digest *digests, size_t n, uint8_t *found);
	/* At most LOOPS_CHAIN digests. */
	void (*probe_chain)(const struct block_array *const *chain,
	    unsigned count, const struct digest *digests, size_t n,
	    uint8_t *found);
	void (*mark)(const struct block_array *array,
	    const struct digest *digests, size_t n);
};

/*
 * The version in use: the fastest that the machine can run, or the one named by
 * the environment variable BLOOMDEDUP_INSTRUCTIONS, if the machine can run it.
 * Chosen at the first call, which must come before threads are started.
 */
const struct loops *loops(void);

/* Version i of those this machine can run, fastest first; NULL at the end. */
const struct loops *loops_version(unsigned i);

#endif
