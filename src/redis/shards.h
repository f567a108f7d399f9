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

/* The trouble that was found in any of a filter's shards. */
struct trouble {
	uint64_t refused;       /* lines that the server did not take, since it
	                           or its filter is full */
	char why[200];          /* its words for the first of them */
	uint64_t unanswered;    /* lines that were to be marked, and whose
	                           answer has not come */
	struct error failure;   /* the first answer to a claim that ends the
	                           run; with status 0, there was none */
	char missing[LAYOUT_KEY_MAX]; /* the first shard that is missing, or
	                                 "" */
};

/* The answer about a line that was claimed. */
enum claimed {
	CLAIMED_NEW = 0,   /* it was new: it is ours */
	CLAIMED_SEEN,      /* it was there before */
	CLAIMED_NOT,       /* the claim was not carried out */
	CLAIMED_UNCERTAIN  /* whether it was there before us is not known */
};

/* A batch, sorted by shards. All zero at first. */
struct shard_batch {
	const struct digest *digests; /* not owned */
	uint8_t *found;         /* answer for each digest, filled in as replies
				 * come; NULL: marks are not claims. Not
				 * owned */
	/* The numbers of the digests in shard i are order[starts[i]] to
	   order[starts[i + 1] - 1]. */
	uint32_t *order;
	uint32_t starts[LAYOUT_SHARDS_MAX + 1];
	uint8_t *lines_found;   /* number of each digest's cache lines that were
				 * found, in the order of `order` (bits.c) */
	size_t room;            /* digests that there is room for */
	/* Lines that were marked in each shard and new there, until they are
	   added to its counter (bits.c). */
	uint64_t uncounted[LAYOUT_SHARDS_MAX];
};

struct shards {
	const struct shard_operations *kind;
	struct net *net;        /* not owned, nor are the next three */
	struct trouble *trouble;
	struct shard_batch *batch;
	const char *name;
	const char *shown;      /* its address, for messages; not owned */
	uint8_t id[FILTER_ID_BYTES];
	struct layout layout;
	int grows;              /* the server's filters may grow */
	int64_t generation;     /* the generation that these shards are of */
	int64_t expires;        /* moment at which they expire, in seconds since
				 * 1970 */
	uint64_t over;          /* clock_now from which they are over, and no
				 * longer looked up; 0: never */

	uint64_t lines;         /* lines in them: counted by shards_count, and
	                           since then those that this client marked
	                           and that were new */

	/* The shard that requests are made for, by shards_one and shards_part:
	   its number, the slot of its key, and its key. */
	unsigned shard, slot;
	char key[LAYOUT_KEY_MAX];
	size_t key_bytes;
};

/*
 * Operations on one shard, and on a part of a batch: n digests of one shard,
 * order[first] and those after it. They make requests, and do not wait for
 * replies.
 */
typedef int shards_one(struct shards *shards, struct error *error);
typedef int shards_part(struct shards *shards, size_t first, size_t n,
    struct error *error);

/* The operations of a kind of shards. */
struct shard_operations {
	size_t part_max; /* the most digests of a part */
	/* Make a shard that expires as shards_expire says, unless it exists. */
	shards_one *make;
	/* Look digests up: found[i] becomes 1 where digest i is there, and is
	   left alone elsewhere. */
	shards_part *ask;
	/* Mark digests. If the batch has `found`, they are claimed: found[i]
	   becomes an enum claimed. Those that were new are added to
	   shards->lines. */
	shards_part *mark;
	/* Add the lines of a shard to shards->lines. */
	shards_one *count;
	/* Add what is uncounted to a shard's counter; NULL if the server counts
	   by itself. */
	shards_one *note;
	/* Read pages of the layer that all shards make up, in this order; NULL
	   if there are none. */
	int (*read_pages)(struct shards *shards, const uint64_t *numbers,
	    size_t n, uint8_t *to, struct error *error);
};
extern const struct shard_operations bits_operations; /* bits.c */
extern const struct shard_operations bloom_operations; /* bloom.c */

/* Select the shard that the next requests are made for. */
void shards_select(struct shards *shards, unsigned shard);

/*
 * Begin a request for the shard that is selected (net_begin), and make the
 * first two of its words: the command and the shard's key.
 */
void shards_begin(struct shards *shards, enum care care, redis_answer *answer,
    size_t tag, size_t words, const char *command);

/* Takes a reply that says nothing of interest, unless it is an error. */
redis_answer shards_take;

/*
 * Sort the digests of a batch by their shards. The caller keeps `digests` and
 * `found` until all requests of the batch are answered.
 */
void shards_sort(const struct shards *shards, const struct digest *digests,
    size_t n, uint8_t *found);
void shards_free_batch(struct shard_batch *batch);

/* Call `make` for each part of the batch that was sorted last. */
int shards_parts(struct shards *shards, shards_part *make,
    struct error *error);

/* Returns the digest at order[index] of the batch. */
static inline struct digest
shards_digest(const struct shards *shards, size_t index)
{
	return shards->batch->digests[shards->batch->order[index]];
}

/* Returns the shard that this digest belongs to. */
unsigned shards_of(const struct shards *shards, size_t index);

/*
 * Note that a shard is missing; to be called by answers. Returns 1; 0 if its
 * generation is over, so that it may be missing.
 */
int shards_lack(struct shards *shards, unsigned shard);

/* Note that the server did not take so many lines, and why. */
void shards_refuse(struct shards *shards, uint64_t lines, const char *why);

/*
 * Did the server refuse `lines` lines because its memory is full? Returns 1 if
 * so, and notes it (shards_refuse), or 0; to be called by answers to marks.
 */
int shards_are_refused(struct shards *shards, const redisReply *reply,
    uint64_t lines);

/* Store for n digests of the batch, from order[first] on, what is known. */
void shards_set_claimed(struct shards *shards, size_t first, size_t n,
    enum claimed claimed);

/*
 * Store what is known of them if their claim was not answered by a list: the
 * reply is an error, or NULL. Unless it says that the server's memory is full,
 * it ends the run (trouble->failure).
 */
void shards_claim_failed(struct shards *shards, size_t first, size_t n,
    const redisReply *reply, enum fate fate);

/*
 * Fill `error` with a reply that is an error or cannot be understood. Returns
 * -1.
 */
int shards_odd(const struct shards *shards, const redisReply *reply,
    struct error *error);

/* Let a shard stay for good. */
shards_one shards_keep;

/* Let a shard expire with its generation, or in an hour if it is of none. */
shards_one shards_expire;

/* Delete a shard. */
shards_one shards_delete;

/* Call `make` for each shard, and wait for the answers. */
int shards_each(struct shards *shards, shards_one *make, struct error *error);

/* Count the lines of all shards, and wait for the answers. */
int shards_count(struct shards *shards, struct error *error);

/* Add what is uncounted to the shards' counters. Answers are not waited for. */
int shards_note(struct shards *shards, struct error *error);

#endif
