/*
 * The hot loops over bits in the best version for this machine: the same source
 * (loops.c), compiled for several instruction sets, chosen once at run time.
 * All versions give the same results, bit for bit.
 */
#ifndef BITS_LOOPS_H
#define BITS_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "bits/geometry.h"
#include "bits/hash.h"

/* The bytes past the data that the loops over text (bits/scan.h) may read. */
#define LOOPS_PADDING 64

/* The bits of one layer in memory. */
struct block_array {
	uint8_t *pages; /* geometry.pages * PAGE_BYTES, aligned to a page */
	struct geometry geometry;
};

struct loops {
	const char *name; /* name of the instruction set, for people */

	/* Set digests[i] to the digest of key i. */
	void (*digest)(const struct hash *hash, const struct key *keys,
	    size_t n, struct digest *digests);
	/*
	 * Start fetching the cache lines of n digests from memory. Another
	 * thread may store other pages in the array meanwhile, with
	 * __atomic_store_n.
	 */
	void (*prefetch)(const struct block_array *array,
	    const struct digest *digests, size_t n);
	/* Set found[i] to 1 where all bits of digest i are set. */
	void (*probe)(const struct block_array *array,
	    const struct digest *digests, size_t n, uint8_t *found);
	/*
	 * Set found[i] to 1 if one of `count` arrays of one geometry has all
	 * bits of digest i. A digest in none of them costs one cache line of
	 * each; one in the first array is found fastest. No prefetch is needed,
	 * and digests with found[i] set are skipped.
	 */
	void (*probe_chain)(const struct block_array *const *chain,
	    unsigned count, const struct digest *digests, size_t n,
	    uint8_t *found);
	/* Set the bits of n digests. */
	void (*mark)(const struct block_array *array,
	    const struct digest *digests, size_t n);
};

/*
 * Returns the version in use (version.h), chosen at the first call, which must
 * come before threads are started.
 */
const struct loops *loops(void);

extern const struct loops *const loops_versions[];

#endif
