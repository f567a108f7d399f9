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

/* The newest, and four that are a window old in part. */
#define GENERATIONS_MAX 5u

struct generations {
	struct shards like;    /* without a generation */
	int64_t quarter;       /* of the window, in seconds; 0: no window */
	/* Newest first; with a window, those that there are. */
	struct shards set[GENERATIONS_MAX];
	unsigned count;
	int64_t newest;        /* that there should be, */
	int complete;          /* and it was made: set[0] */
	int64_t told;          /* the node's clock, in seconds since 1970, */
	uint64_t told_at;      /* and ours then (clock_now); 0: not asked */
};

/* Those of a filter with this window; `like` is copied. */
void generations_begin(struct generations *generations,
    const struct shards *like, const struct window *window);

/* Is it time to advance? Returns 1, 0 or -1. */
int generations_are_due(struct generations *generations, struct error *error);

/*
 * Take those that remember now, after all requests are answered; with `make`,
 * make the newest one if it isn't there. Returns 0, or -1.
 */
int generations_advance(struct generations *generations, int make,
    struct error *error);

/* Delete all of a window's that there are; the filter's header is gone. */
int generations_delete(struct generations *generations, struct error *error);

#endif
