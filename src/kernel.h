/*
 * The hot loops in the best version for this machine: the same source
 * (kernel.c), compiled for several instruction sets, chosen once at run time.
 * All versions do the same, bit for bit.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "block.h"
#include "hash.h"

/* So many bytes behind the data may be read by split, equal, blanks. */
#define KERNEL_PADDING 64

struct kernel {
	const char *name; /* of the instruction set, for people */

	/*
	 * Find the lines in [data, end), which is whole lines: starts[i] is
	 * where line i begins, starts[result] where the last one ends. At most
	 * `limit` lines; starts has room for one more.
	 */
	size_t (*split)(uint8_t *data, const uint8_t *end, uint8_t terminator,
	    uint8_t **starts, size_t limit);
	/* A bit for each of the 64 bytes at p: is it `byte`? */
	uint64_t (*equal)(const uint8_t *p, uint8_t byte);
	/* The same: is it a space, tab, newline? */
	uint64_t (*blanks)(const uint8_t *p);
	/* hash_key for n keys. */
	void (*digest)(const struct hash *hash, const struct key *keys,
	    size_t n, struct digest *digests);
	/* block.h has the contracts. */
	void (*prefetch)(const struct block_array *array,
	    const struct digest *digests, size_t n);
	void (*probe)(const struct block_array *array,
	    const struct digest *digests, size_t n, uint8_t *found);
	void (*mark)(const struct block_array *array,
	    const struct digest *digests, size_t n);
};

/*
 * The version in use: the fastest that the machine can run, or the one named
 * by the environment variable BLOOMDEDUP_KERNEL, if the machine can run it.
 * Chosen at the first call, which must come before there are threads.
 */
const struct kernel *kernel(void);

/* Version i of those this machine can run, fastest first; NULL at the end. */
const struct kernel *kernel_version(unsigned i);

#endif
