/*
 * The shards of a filter, as both kinds have them (bloom.c, bits.c): their
 * keys, a batch sorted by them, and what was found wrong.
 *
 * Functions return 0, or -1 with `error` filled.
 */
#ifndef REDIS_SHARDS_H
#define REDIS_SHARDS_H

#include <stddef.h>
#include <stdint.h>

#include "bits/hash.h"
#include "redis/layout.h"
#include "redis/net.h"

/* What was found wrong, in any of a filter's shards. */
struct trouble {
	uint64_t refused;       /* lines that the server did not remember, */
	char why[200];          /* and its words for the first */
	uint64_t uncertain;     /* claims whose answer was lost */
	char missing[LAYOUT_KEY_MAX]; /* the first shard that is, or "" */
};

/* A batch, by shards: order[starts[i]] to order[starts[i + 1] - 1] are the
 * numbers of the digests in shard i. All zero at first. */
struct shard_batch {
	const struct digest *digests;
	uint8_t *found;         /* what answers fill in */
	uint32_t *order;
	uint8_t *lines_found;   /* of each digest, in this order (bits.c) */
	size_t room;
	uint32_t starts[LAYOUT_SHARDS_MAX + 1];
};

struct shards {
	const struct shard_operations *kind;
	struct net *net;        /* not owned, as what follows */
	struct trouble *trouble;
	struct shard_batch *batch;
	const char *name;       /* of the filter */
	const char *shown;      /* its address, for messages */
	uint8_t id[FILTER_ID_BYTES];
	struct layout layout;
	int grows;              /* the server's filters may */
	int64_t generation;     /* that requests are for, */
	int64_t expires;        /* when its shards go, once made, */
	uint64_t over;          /* and it counts no longer (clock_now), or 0 */

	uint64_t lines;         /* counted by shards_count */

	/* The shard that requests are made for, by shards_one and shards_part:
	   its number, key and slot. */
	unsigned shard, slot;
	char key[LAYOUT_KEY_MAX];
	size_t key_bytes;
};

/* What is done to one shard, and to a part of a batch: n digests of one shard,
 * order[first] and those after it. Requests are made, not waited for. */
typedef int shards_one(struct shards *shards, struct error *error);
typedef int shards_part(struct shards *shards, size_t first, size_t n,
    struct error *error);

/* What is done to shards, of each kind. */
struct shard_operations {
	size_t part_max; /* digests of a part */
	/* One that expires as shards_expire says, unless it is there. */
	shards_one *make;
	/* Set found[i] to 1 where digest i is there. */
	shards_part *ask;
	/* Mark; a batch with `found` is claimed: found[i] is set to 0 where
	   digest i was not there. */
	shards_part *mark;
	/* Add its lines to shards->lines. */
	shards_one *count;
};
extern const struct shard_operations bits_operations; /* bits.c */
extern const struct shard_operations bloom_operations; /* bloom.c */

/* net_begin for a command whose first argument is the shard's key. */
void shards_begin(struct shards *shards, int once, redis_answer *answer,
    size_t tag, size_t words, const char *command);

/* An answer of no interest, unless it is an error. */
redis_answer shards_take;

/* Sort a batch; `digests` and `found` are used until it is answered. */
void shards_sort(const struct shards *shards, const struct digest *digests,
    size_t n, uint8_t *found);
void shards_free_batch(struct shard_batch *batch);

/* Call `make` for each part of a batch. */
int shards_parts(struct shards *shards, shards_part *make,
    struct error *error);

/* The digest at order[place], and its shard. */
static inline struct digest
shards_digest(const struct shards *s, size_t place)
{
	return s->batch->digests[s->batch->order[place]];
}
unsigned shards_of(const struct shards *shards, size_t place);

/* For answers. A shard is missing: returns 1; 0 if its generation is over. */
int shards_lack(struct shards *shards, unsigned shard);
/* Lines were not remembered. */
void shards_refuse(struct shards *shards, uint64_t lines, const char *why);
/* A mark's answer: was it refused since the server's memory is full? */
int shards_are_refused(struct shards *shards, const redisReply *reply,
    uint64_t lines);
/* An error, or an answer that isn't understood: returns -1. */
int shards_odd(const struct shards *shards, const redisReply *reply,
    struct error *error);

/* It stays; expires with its generation, or in an hour if it is of none; is
 * deleted. */
shards_one shards_keep, shards_expire, shards_delete;

/* To each shard, waited for. */
int shards_each(struct shards *shards, shards_one *make, struct error *error);
int shards_count(struct shards *shards, struct error *error);

#endif
