/*
 * The keys of a filter in Redis: the header and S shards, each in a key of its
 * own. A line's shard follows from its digest. With a window, each generation
 * has S shards, and a key that stands for it. The braces in the keys spread the
 * shards over a cluster's nodes. bloomdedup(5) specifies keys and header.
 */
#ifndef REDIS_LAYOUT_H
#define REDIS_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "bits/geometry.h"
#include "disk/format.h"
#include "redis/address.h"

#define LAYOUT_HEADER_BYTES (PAGE_BYTES + 64u)
#define LAYOUT_SHARDS_MAX 1024u

/* Bytes of the longest Redis key, with its NUL. */
#define LAYOUT_KEY_MAX (ADDRESS_NAME_MAX + 96)

enum shard_kind {
	/* values as stored in the header */
	SHARDS_BLOOM = 1, /* the server's own filters (BF.*), which grow */
	SHARDS_BITS = 2   /* strings with our bits, which do not */
};

struct layout {
	enum shard_kind kind;
	unsigned shards;          /* S, a power of two */
	uint64_t shard_pages;     /* pages of a bit string, without its trailer
	                             (bits.c); 1 with BF.* */
	uint64_t capacity;        /* lines that a shard is made for */
	double rate;              /* the error rate given to BF.RESERVE */
	struct geometry geometry; /* the shape of all bit strings together; with
	                             BF.*, only `pages` is set, to S */
};

/* The lowest rate that the server's filters keep: their hash has 64 bits. */
#define LAYOUT_BLOOM_RATE_MIN 1e-8

/*
 * Plan shards that are the server's own filters, for `capacity` lines at
 * `rate`. `halves`: the server halves the rate for the first layer of a filter
 * that grows, as RedisBloom does. RedisBloom's hash leaves a floor of about
 * 0.35/m at 1e-6 in a layer of m bits, so a shard's first layer has at least
 * 4/rate bits.
 */
void layout_bloom(struct layout *layout, uint64_t capacity, double rate,
    enum growth growth, int halves);

/*
 * Plan shards that are bit strings. Returns 0, or -1 with `error` filled,
 * without the filter's name, if they would be too large.
 */
int layout_bits(struct layout *layout, uint64_t capacity, double rate,
    struct error *error);

/*
 * Add to the table the layers that all shards together have once they remember
 * `lines` lines: those that the server's filters have grown by, or the one
 * layer of bit strings.
 */
void layout_table(const struct layout *layout, const struct header *header,
    uint64_t lines, struct table *table);

/* Returns the bytes of all shards when they are new. */
uint64_t layout_bytes(const struct layout *layout,
    const struct header *header);

/* Write layout and header as the bytes of the header's key, for this name. */
void layout_encode(const struct layout *layout, const struct header *header,
    const char *name, uint8_t bytes[LAYOUT_HEADER_BYTES]);

/*
 * Read them back, checking every field, and that the header was made for this
 * name. Returns 0, or -1 with `error` filled (STATUS_FAILED), without the
 * filter's name.
 */
int layout_decode(struct layout *layout, struct header *header,
    const char *name, const void *bytes, size_t nbytes, struct error *error);

/* The generation of a filter without a window. */
#define LAYOUT_NO_GENERATION INT64_MIN

/* Each writes the name of a key, and returns its length. */
size_t layout_header_key(char key[LAYOUT_KEY_MAX], const char *name);
size_t layout_generation_key(char key[LAYOUT_KEY_MAX], const char *name,
    const uint8_t id[FILTER_ID_BYTES], int64_t generation);
size_t layout_shard_key(char key[LAYOUT_KEY_MAX], const char *name,
    const uint8_t id[FILTER_ID_BYTES], int64_t generation, unsigned shard);

#endif
