/*
 * Where the parts of a filter are in Redis. The filter NAME has these keys:
 *
 *     bloomdedup:{NAME}:header       the file's header page, then the first
 *                                    table, by which a creation can be finished
 *     bloomdedup:{NAME}:table        the table of layers, as the file has it;
 *                                    set last: without it there is no filter
 *     bloomdedup:{NAME}:lines:I:ID   how many lines are in layer I, or reserved
 *     bloomdedup:{NAME:LI:C:ID}      chunk C of layer I: 63 pages (the last one
 *                                    has what is left) and a trailer
 *     bloomdedup:{NAME:LI:C:ID}:scratch:R   marks on their way, for a minute
 *
 * ID is half of the header's id, in hexadecimal. The braces spread the chunks
 * over a cluster's nodes, and keep a chunk's scratch keys with it. 63 pages and
 * a trailer are what fits in an allocation of 256 KiB.
 */
#ifndef REDIS_LAYOUT_H
#define REDIS_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "bits/geometry.h"
#include "disk/format.h"
#include "redis/address.h"

#define CHUNK_PAGES 63u
#define CHUNK_BYTES (CHUNK_PAGES * PAGE_BYTES)

/*
 * A trailer: one byte that is 1 if the layer is closed for claims, seven that
 * are 0, a magic of eight bytes, the header's id, the layer's number (64 bits)
 * and the chunk's (64); little-endian. What follows the first byte is
 * written when the chunk is made, and never again.
 */
#define TRAILER_BYTES 48u
#define TRAILER_REST 8u /* offset of the part that is written first */

/* With the ending NUL. */
#define REDIS_KEY_MAX (ADDRESS_NAME_MAX + 96)

struct redis_keys {
	const char *name;              /* not owned */
	uint8_t id[FORMAT_ID_BYTES];
};

/* What the names of a layer's keys, and how long they live, depend on. */
struct redis_layer {
	uint64_t number; /* with a window, never used again */
	int64_t over;    /* with a window: when it counts no longer, in seconds
	                    since 1970, */
	int64_t kept;    /* and for how many seconds a key lives that is made
	                    or marked now; else 0: for ever */
};

uint64_t chunk_count(uint64_t pages);

/* How long chunk number `chunk` is without its trailer. */
size_t chunk_bytes(uint64_t pages, uint64_t chunk);

/* Names of keys; each returns its length. */
size_t key_header(char key[REDIS_KEY_MAX], const struct redis_keys *keys);
size_t key_table(char key[REDIS_KEY_MAX], const struct redis_keys *keys);
size_t key_lines(char key[REDIS_KEY_MAX], const struct redis_keys *keys,
    uint64_t layer);
size_t key_chunk(char key[REDIS_KEY_MAX], const struct redis_keys *keys,
    uint64_t layer, uint64_t chunk);

void trailer_encode(const struct redis_keys *keys, uint64_t layer,
    uint64_t chunk, uint8_t trailer[TRAILER_BYTES]);

/* Is it the trailer of this chunk? */
int trailer_check(const struct redis_keys *keys, uint64_t layer,
    uint64_t chunk, const void *trailer, size_t nbytes);

/* Redis numbers the bits of a byte from the high end. */
static inline uint64_t
redis_bit(uint64_t byte, unsigned bit)
{
	return 8 * byte + 7 - bit;
}

#endif
