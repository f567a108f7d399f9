/*
 * The shards of a filter in use: one set of them, or with a window of time one
 * for each generation that remembers. A generation's number follows from time
 * alone, by the clock of the node that has the header: number g covers the
 * seconds from g * quarter to (g + 1) * quarter since 1970, and is looked up
 * for a whole window after that; then it is over. A client that finds no key of
 * the newest generation makes its shards, then the key (layout.h); all of them
 * expire a quarter after the generation is over.
 *
 * A client knows two bounds of that clock, from the moments at which it asked
 * and was answered: turn.h describes the consequences for claims.
 *
 * Functions return 0, or -1 with `error` filled; exceptions are stated.
 */
#ifndef REDIS_GENERATIONS_H
#define REDIS_GENERATIONS_H

#include "redis/shards.h"
#include "redis/turn.h"

/* The newest generation, the four before it, which are not over yet, and the
 * next one, if it may have begun. */
#define GENERATIONS_MAX 6u

/* An answer to TIME. */
struct time_sample {
	int64_t microseconds;  /* the server's clock, in microseconds since
			        * 1970 */
	uint64_t asked;        /* clock_now before it was asked for */
	uint64_t answered;     /* clock_now when the answer was there; 0: none
			        * has come yet */
};

struct generations {
	struct shards like;    /* the shards of a generation, but for its
	                          number */
	int64_t quarter;       /* a quarter of the window, in seconds; 0: the
	                          filter has no window, and set[0] is all */
	/* The generations that exist and are not over, the newest first. */
	struct shards set[GENERATIONS_MAX];
	unsigned count;
	int64_t first;         /* the generation that is due, by the lower
	                          bound: marks go there */
	int64_t last;          /* the newest that may be due */
	struct shards *due;    /* `first`, in set[]; NULL: nobody made it */
	struct time_sample sample;
};

/* Begin to use a filter with this window; `like` is copied. Asks nothing. */
void generations_begin(struct generations *generations,
    const struct shards *like, const struct window *window);

/* Is it time to advance? Returns 1 or 0, or -1 with `error` filled. */
int generations_are_due(struct generations *generations, struct error *error);

/*
 * Wait until all requests are answered, then find out which generations
 * remember now. With `make`, the one that is due is made if it does not exist.
 */
int generations_advance(struct generations *generations, int make,
    struct error *error);

/*
 * After a claim in generation `number`, find the next generation in which the
 * lines must be claimed as well, and make it if it does not exist. Returns 1; 0
 * if there is none, or -1 with `error` filled.
 */
int generations_next(struct generations *generations, int64_t number,
    struct shards *next, struct error *error);

/* Delete all generations of a window, after the filter's header was deleted. */
int generations_delete(struct generations *generations, struct error *error);

#endif
