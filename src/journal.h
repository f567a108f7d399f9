/*
 * The journal of an --atomic run: the digests of its new lines, in the file
 * FILTER.journal, until the run has ended well and their bits are set.
 *
 * A sequence of frames, each with a checksum: one that begins it and names the
 * filter's id, then digests, at last a commit that says which digests belong
 * to which layer. A journal without a commit was never meant to count. One with
 * it is applied by the next run: setting bits twice is setting them once.
 * bloomdedup(5), "Journal".
 *
 * All functions return 0, or -1 with `error` filled; exceptions are stated.
 */
#ifndef JOURNAL_H
#define JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "format.h"
#include "hash.h"

/* The next `count` digests belong to layer number `layer`. */
struct journal_span {
	uint32_t layer;
	uint64_t count;
};

struct journal {
	int fd;        /* -1 if there is none */
	char *path;
	uint8_t *frame; /* one, as it is in the file */
	size_t used;   /* digests collected in it, or left to be read */
	size_t next;   /* the next of them to be read */
	uint64_t count; /* digests in all */
	uint64_t given; /* of them, since the last rewind */
	uint64_t offset; /* where the next frame is written or read */
	struct journal_span spans[FORMAT_LAYERS_MAX];
	size_t span_count;
};

#define JOURNAL_NONE { .fd = -1 }

/* The name of the journal of `filter` (its resolved name); to be freed. */
char *journal_name(const char *filter);

/* Begin a journal for the filter file `filter` (its resolved name). */
int journal_create(struct journal *journal, const char *filter,
    const uint8_t id[FORMAT_ID_BYTES], struct error *error);

int journal_add(struct journal *journal, const struct digest *digests,
    size_t n, struct error *error);

/* Show all digests that were added so far to `visit`, until it fails. */
int journal_replay(struct journal *journal,
    int (*visit)(void *context, const struct digest *digests, size_t n,
    struct error *error), void *context, struct error *error);

/*
 * All digests that were added are on the disk, and there is room for the commit
 * frame, too.
 */
int journal_prepare(struct journal *journal, struct error *error);

/* The same, then write the commit; the journal is on the disk after it. */
int journal_commit(struct journal *journal, const struct journal_span *spans,
    size_t count, struct error *error);

/*
 * Look for a journal of this filter, or of any if `id` is NULL. Returns 0 if
 * there is a complete one: it is open, with its spans. 1 if there is none, 2 if
 * there is one that never came to its commit. One of another filter, or what is
 * no journal, is an error: it is not ours to remove.
 */
int journal_open(struct journal *journal, const char *filter,
    const uint8_t id[FORMAT_ID_BYTES], struct error *error);

/*
 * Read on from the first digest; then the next ones, up to n; 0 at the end,
 * which is the commit, whatever stands behind it.
 */
int journal_rewind(struct journal *journal, struct error *error);
int journal_read(struct journal *journal, struct digest *digests, size_t n,
    size_t *got, struct error *error);

/*
 * Take it away; should its name come back after a power cut, then the next run
 * does it. Closes it, too.
 */
int journal_remove(struct journal *journal, struct error *error);

/*
 * Take away the journal of what isn't a filter any more, if there is one. What
 * is no journal is an error, and stays.
 */
int journal_discard(const char *filter, struct error *error);

/* Close without removing. */
void journal_close(struct journal *journal);

#endif
