/*
 * The shards of a filter in use: one set of them, or with a window of time one
 * for each generation that remembers. A generation's number follows from time
 * alone, by the clock of the node that has the header: number g covers the
 * seconds from g * quarter to (g + 1) * quarter since 1970, and counts for a
 * whole window after that. Whoever finds that the newest one lacks its key
 * makes its shards, then that key (layout.h); all of them expire a quarter
 * after they count no longer.
 */
#ifndef REDIS_GENERATIONS_H
#define REDIS_GENERATIONS_H

#include "redis/shards.h"

/* The newest generation, and the four before it, which are not over yet. */
#define GENERATIONS_MAX 5u

struct generations {
	struct shards like;    /* the shards of a generation, but for its
	                          number */
	int64_t quarter;       /* a quarter of the window, in seconds; 0: the
	                          filter has no window, and set[0] is all */
	/* The generations that exist and are not over, the newest first. */
	struct shards set[GENERATIONS_MAX];
	unsigned count;
	int64_t newest;        /* the number of the generation that is due */
	int complete;          /* that one exists: it is set[0] */
	int64_t told;          /* the node's clock, in seconds since 1970, */
	uint64_t told_at;      /* when ours was this (clock_now); 0: the node
	                          has not been asked yet */
};

/* Begin to use a filter with this window; `like` is copied. Asks nothing. */
void generations_begin(struct generations *generations,
    const struct shards *like, const struct window *window);

/* Is it time to advance? Returns 1 or 0, or -1 with `error` filled. */
int generations_are_due(struct generations *generations, struct error *error);

/*
 * Wait until all requests are answered, then find out which generations
 * remember now. With `make`, the newest one is made if it does not exist.
 * Returns 0, or -1 with `error` filled.
 */
int generations_advance(struct generations *generations, int make,
    struct error *error);

/*
 * Delete all generations of a window, after the filter's header was deleted.
 * Returns 0, or -1 with `error` filled.
 */
int generations_delete(struct generations *generations, struct error *error);

#endif
