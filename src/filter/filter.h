/*
 * A filter remembers digests. Its location says where: in a file, in the memory
 * of this process (NULL), or on a server. These functions work on all of them:
 * filter.c has those for an open filter, kinds.c those that open and create
 * one, merge.c makes the union of some, and model/operations.h has the
 * operations that each kind of filter implements.
 *
 * Works on batches of digests, in one thread at a time; only filter_prefetch
 * may run in other threads at the same time. Functions return 0, or -1 with
 * `error` filled; exceptions are stated. Never prints, and knows nothing of
 * lines.
 */
#ifndef FILTER_FILTER_H
#define FILTER_FILTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bits/hash.h"
#include "disk/file.h"
#include "disk/table.h"
#include "model/design.h"
#include "model/use.h"

struct filter;

/* The abilities of a kind of location. */
struct abilities {
	const char *noun; /* the noun for messages: "file" or "filter" */
	int is_path;      /* is it a file, which can be locked while it is
			   * replaced? */
	int has_journal;  /* can a filter there have a journal, which --atomic
			   * needs? */
	int has_claims;   /* can lines be claimed there (filter_claim)? */
};
const struct abilities *filter_abilities(const char *location);

/* Fills `error`: there is no filter at `location`. Returns -1. */
int filter_missing(const char *location, struct error *error);

/*
 * Open the filter at `location`. Returns 1 if there is none. Every field is
 * checked before anything is mapped; a filter that is refused is not changed.
 * If writable, a journal that an earlier run left is finished first (reported
 * to wait.notice); if not, a complete journal counts as a part of the filter.
 */
int filter_open(struct filter **filter, const char *location,
    const struct filter_use *use, struct error *error);

/*
 * Create an empty filter, which gets its name once it is complete. An existing
 * one is replaced if `replace`, else 1 is returned. It is then open, locked and
 * writable.
 */
int filter_create(struct filter **filter, const char *location, int replace,
    const struct filter_design *design, const struct filter_use *use,
    struct error *error);

/*
 * Compute the cost of a filter of this design on a server, in shards and bytes.
 * Asks the server, and makes nothing. Only for locations that are servers.
 */
int filter_foresee(const char *location, const struct filter_design *design,
    struct filter_costs *costs, uint64_t *bytes, struct error *error);

/*
 * Could filter_remove remove the filter at `location`? Returns 1 if there is
 * none. Removes nothing, but finishes what an earlier run left in a journal.
 */
int filter_check_removal(const char *location, const struct lock_wait *wait,
    struct error *error);

/*
 * Remove the filter at `location`; returns 1 if there is none. Waits until no
 * run uses a file; clients of a server that use the filter fail. A file that
 * only begins like a filter is a damaged one, and is removed, too.
 */
int filter_remove(const char *location, const struct lock_wait *wait,
    struct error *error);

/*
 * Remove the filter that a run made, and that is of no use since the run failed
 * before it read a key: the one with this id, if it is in a file, nobody uses
 * it, and it holds at most `lines` lines, those of the run. Otherwise, and if
 * anything fails, it stays.
 */
void filter_discard(const char *location, const uint8_t id[FILTER_ID_BYTES],
    uint64_t lines);

/*
 * Merge `count` open filters (at least one) into a new file `path`, which gets
 * its name once it is complete. An existing one is replaced if `replace`, else
 * 1 is returned. *out is then open. Reads and writes in order, in bounded
 * memory.
 *
 * Fails (STATUS_USAGE) with the name of the field that differs, the two files
 * and their values, where filters cannot be merged.
 */
int filter_merge(struct filter **out, const char *path, int replace,
    struct filter *const *filters, size_t count, struct error *error);

/*
 * Write back what is only in memory and close, also after a failed run. The
 * filter is freed even if that fails. NULL does nothing.
 */
int filter_close(struct filter *filter, struct error *error);

/*
 * Close a filter that was only read, or one after a failure, whose error is the
 * one to be told: nothing that closing says is.
 */
void filter_release(struct filter *filter);

/* Return the header, and the hash, which are valid while the filter is open. */
const struct header *filter_header(const struct filter *filter);

/*
 * Returns its current layers, with their counters, which are valid until the
 * next call.
 */
const struct table *filter_table(const struct filter *filter);

/*
 * Returns its name for messages; "the filter in memory" if it has no location.
 */
const char *filter_name(const struct filter *filter);

/* Returns its file's name, links resolved; NULL if it is not in a file. */
const char *filter_path(const struct filter *filter);

/* Returns the behaviour of this run when the filter is full. */
enum growth filter_growth(const struct filter *filter);

/* Returns the best number of digests for a batch. */
size_t filter_batch_lines(const struct filter *filter);

/* Start fetching what the next probe of these digests needs from memory. */
void filter_prefetch(const struct filter *filter,
    const struct digest *digests, size_t n);

/* Look digests up: found[i] becomes whether digest i is in the filter. */
int filter_probe(struct filter *filter, const struct digest *digests,
    size_t n, uint8_t *found, struct error *error);

/*
 * Make room for `wanted` new lines: the filter grows by as many layers as it
 * takes. *room becomes the number of lines that may now be marked: `wanted`
 * after ROOM_ENOUGH, and always fewer after the other answers. After
 * ROOM_AGAIN, the caller marks so many, probes the other lines again and asks
 * again. After ROOM_SHORT, `error` says why there is no more (STATUS_FULL, or
 * the system's reason); otherwise it is not to be read.
 */
enum room filter_reserve(struct filter *filter, uint64_t wanted,
    uint64_t *room, struct error *error);

/*
 * Start to make more room in the background, and take over room that is ready:
 * filter_reserve waits for it, and reports its errors, only when the room is
 * needed. Does nothing if the filter does not grow or cannot do so ahead.
 */
void filter_grow_ahead(struct filter *filter);

/*
 * Remember n digests, for which there must be room (filter_reserve). On
 * failure, some of them may be remembered.
 */
int filter_mark(struct filter *filter, const struct digest *digests,
    size_t n, struct error *error);

/*
 * Remember n digests, making room for them, and say which of them were new:
 * claims[i] becomes an enum claim, CLAIM_UNDONE only after a failure.
 * Only for filters on servers, opened with use.claim.
 */
int filter_claim(struct filter *filter, const struct digest *digests,
    size_t n, uint8_t *claims, struct error *error);

/*
 * Tell the filter about how many more lines will be marked; 0 if nobody can
 * tell. A large filter in a file prepares for them.
 */
void filter_expect(struct filter *filter, uint64_t lines);

/*
 * filter_idle_after returns after how many milliseconds without input
 * filter_write_back is worth a call, with `all`; -1 if there is nothing to do.
 * filter_write_back writes marks that are only in memory so that they survive
 * the process: at once if `all`, else only when it is due, which is every
 * second, or less often if it takes long. It fails if the filter's file was
 * removed, which it looks for at once if `all`, else every 10 ms.
 */
int filter_idle_after(const struct filter *filter);
int filter_write_back(struct filter *filter, int all, struct error *error);

/* Sync all that is remembered to the disk. A failure is final. */
int filter_sync(struct filter *filter, struct error *error);

/*
 * Read pages of a layer as they are now, including what is only in memory. A
 * filter on a server has none.
 */
int filter_read_pages(struct filter *filter, unsigned layer, uint64_t first,
    size_t pages, uint8_t *to, struct error *error);

/*
 * Read the whole layer i, which has a checksum. Returns 1 if it is right, 0 if
 * not, -1 with `error` filled (it could not be read, or a signal asks to stop).
 */
int filter_verify_layer(struct filter *filter, unsigned i,
    struct error *error);

/* Is an open filter still what its location stands for? */
enum filter_state filter_state(struct filter *filter);

/*
 * Is this file an output of an earlier run that was killed after its outputs
 * were complete, and that was finished when the filter was opened?
 */
struct stat;
int filter_finished_output(const struct filter *filter, const struct stat *st);

/*
 * Returns the number of lines in a journal that a reader takes as a part of the
 * filter.
 */
uint64_t filter_waiting(const struct filter *filter);

/* Returns the length of the filter's file or memory, in bytes. */
uint64_t filter_bytes(const struct filter *filter);

/* Returns the present cost of the filter, as far as its location knows. */
struct filter_costs filter_costs(const struct filter *filter);

#endif
