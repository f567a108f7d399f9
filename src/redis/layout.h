/*
 * Where a filter is in Redis. It has S shards, each in a key of its own, and a
 * line's shard follows from its digest:
 *
 *     bloomdedup:{NAME}               the header: the page that begins a file
 *                                     (format.h), then what shards there are
 *     bloomdedup-shard:{NAME:ID:I}    shard I
 *
 * and with a window
 *
 *     bloomdedup:{NAME:ID:G}          generation G has all of its shards
 *     bloomdedup-shard:{NAME:ID:G:I}  shard I of generation G
 *
 * ID is half of the header's id, in hexadecimal. The braces spread the shards
 * over a cluster's nodes. What follows the page in the header, little-endian:
 *
 *     0   8  "bdshard\n"
 *     8   4  version: 1
 *     12  4  kind of the shards
 *     16  4  S
 *     20  4  k of a bit string, else 0
 *     24  4  cache lines a key of a bit string, else 0
 *     28  4  0
 *     32  8  lines that a shard is made for
 *     40  8  pages of a bit string, else 0
 *     48  8  error rate that the server is asked for, a double
 *     56  4  0
 *     60  4  CRC-32 of the page and the 60 bytes before
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

/* With the ending NUL. */
#define LAYOUT_KEY_MAX (ADDRESS_NAME_MAX + 96)

enum shard_kind {
	/* values as stored in the header */
	SHARDS_BLOOM = 1, /* the server's own filters (BF.*), which grow */
	SHARDS_BITS = 2   /* strings with our bits, which don't */
};

struct layout {
	enum shard_kind kind;
	unsigned shards;          /* S, a power of two */
	uint64_t shard_pages;     /* of a bit string, before its trailer
	                             (bits.c); else 1 */
	uint64_t capacity;        /* lines that a shard is made for */
	double rate;              /* that BF.RESERVE states */
	struct geometry geometry; /* of all bit strings together; else only
	                             `pages`, which is S */
};

/* The lowest rate that the server's filters keep: their hash has 64 bits. */
#define LAYOUT_BLOOM_RATE_MIN 1e-8

/*
 * The shards of the server's own filters, for `capacity` lines at `rate`. Does
 * the server halve the rate for the first layer of a filter that grows
 * (RedisBloom does)? RedisBloom's hash leaves a floor of about 0.35/m at 1e-6
 * in a layer of m bits, so a shard's first layer has at least 4/rate.
 */
void layout_bloom(struct layout *layout, uint64_t capacity, double rate,
    enum growth growth, int halves);

/* The shards of bit strings. Fails if they would be too large. */
int layout_bits(struct layout *layout, uint64_t capacity, double rate,
    struct error *error);

/*
 * Add to the table what is in all shards together when so many lines are: the
 * layers that the server's filters have grown by, or the one of bit strings.
 */
void layout_table(const struct layout *layout, const struct header *header,
    uint64_t lines, struct table *table);

void layout_encode(const struct layout *layout, const struct header *header,
    uint8_t bytes[LAYOUT_HEADER_BYTES]);

/* Every field is checked; STATUS_FAILED, without the filter's name. */
int layout_decode(struct layout *layout, struct header *header,
    const void *bytes, size_t nbytes, struct error *error);

/* Names of keys; each returns its length. */
#define LAYOUT_NO_GENERATION INT64_MIN
size_t layout_header_key(char key[LAYOUT_KEY_MAX], const char *name);
size_t layout_generation_key(char key[LAYOUT_KEY_MAX], const char *name,
    const uint8_t id[FORMAT_ID_BYTES], int64_t generation);
size_t layout_shard_key(char key[LAYOUT_KEY_MAX], const char *name,
    const uint8_t id[FORMAT_ID_BYTES], int64_t generation, unsigned shard);

#endif
