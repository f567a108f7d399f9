/*
 * Claims: lines are marked before they are printed, and the answers say which
 * of them were new. With a window, a claim may go to several generations
 * (turn.h).
 *
 * Functions return 0, or -1 with `error` filled.
 */
#ifndef REDIS_CLAIMS_H
#define REDIS_CLAIMS_H

#include "redis/generations.h"

/* Memory for the digests of a batch that are claimed. All zero at first. */
struct claims {
	struct digest *digests;
	uint32_t *numbers;  /* their numbers in the batch */
	uint8_t *answers;   /* an enum claimed for each */
	size_t count;       /* how many there are */
	size_t room;        /* how many there is room for */
};

void claims_free(struct claims *claims);

/*
 * Claim those of n digests for which claimed[i] is CLAIMED_NOT, but not more
 * than `most` of them, and store what is then known of each. Also after a
 * failure, what is stored is true; nothing can be asked then any more.
 */
int claims_make(struct claims *claims, struct generations *generations,
    const struct digest *digests, size_t n, size_t most, uint8_t *claimed,
    struct error *error);

/*
 * Look up those for which claimed[i] is CLAIMED_NOT: it becomes CLAIMED_SEEN
 * where they are known. *left is how many are not.
 */
int claims_look_up(struct claims *claims, struct generations *generations,
    const struct digest *digests, size_t n, uint8_t *claimed, size_t *left,
    struct error *error);

#endif
