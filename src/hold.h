/*
 * Marks that are held back until what they stand for is safe: for --sync until
 * the output is on the disk, for --atomic until the whole run has ended well.
 *
 * The new lines of the run are found again in a pending filter in memory, which
 * is a filter as any other, with an error rate that what the layers' rates
 * leave of p has room for. Their digests are kept in a list, or in the journal,
 * until they are set in the file.
 */
#ifndef HOLD_H
#define HOLD_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "filter.h"
#include "journal.h"

struct hold {
	struct filter *filter;  /* the file's; not ours */
	struct filter pending;
	int journaled;
	struct journal journal; /* if journaled; else the list */
	struct digest *list;
	size_t listed;
	uint64_t count;         /* digests held */
	int committed;          /* the journal is to be applied */
};

#define HOLD_NONE { .pending = { .store = STORE_NONE }, \
	.journal = JOURNAL_NONE }

/*
 * Hold back the marks for `filter` from now on, in its journal if `journaled`.
 * The filter must outlive the hold.
 */
int hold_start(struct hold *hold, struct filter *filter, int journaled,
    struct error *error);

/*
 * What is still held is given up: it is not remembered. But where the journal
 * has its commit and could not be applied, it stays for the next run.
 */
void hold_end(struct hold *hold);

/* As filter_prefetch and filter_probe_more, of what is held. */
void hold_prefetch(const struct hold *hold, const struct digest *digests,
    size_t n);
int hold_probe(struct hold *hold, const struct digest *digests, size_t n,
    uint8_t *found, struct error *error);

/* As filter_reserve. */
uint64_t hold_reserve(struct hold *hold, uint64_t wanted,
    struct error *error);

int hold_mark(struct hold *hold, const struct digest *digests, size_t n,
    struct error *error);

/* Without a journal: is the list so long that it should be applied? */
int hold_is_full(const struct hold *hold);

/*
 * Let the file be long enough for all that is held, and the journal on the
 * disk: what can fail fails here. Then, when the output is safe, hold_apply:
 * the journal gets its commit, the bits are set and synced, the journal goes.
 * Nothing is held afterwards.
 */
int hold_prepare(struct hold *hold, struct error *error);
int hold_apply(struct hold *hold, struct error *error);

/*
 * After the filter was opened for writing: finish what a run left that ended
 * after its commit, and take away the journal of one that ended before.
 */
int hold_recover(struct filter *filter, void (*notice)(const char *text),
    struct error *error);

/* Mark in `to` what a complete journal of `from` holds, if there is one. */
int hold_copy(const struct filter *from, struct filter *to,
    struct error *error);

/*
 * For readers, who change nothing: take a complete journal as a part of the
 * filter. Returns 1 if there was one, 0 if not.
 */
int hold_read(struct hold *hold, struct filter *filter, struct error *error);

#endif
