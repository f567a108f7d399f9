/*
 * The parts of a filter in a file or in memory, only for this directory:
 * layers.c opens and creates it, and chooses its operations: plain.c has those
 * of a filter without a window, windowed.c those of one that has a window. All
 * of them use table.c, which reads and grows the filter's table, and keeps its
 * counters and checksums.
 *
 * Functions return 0, or -1 with `error` filled; exceptions are stated.
 */
#ifndef LAYERS_INSIDE_H
#define LAYERS_INSIDE_H

#include <stdint.h>

#include "base/error.h"
#include "disk/file.h"
#include "disk/table.h"
#include "disk/slots.h"
#include "layers/arrays.h"
#include "model/operations.h"
#include "model/window.h"

struct layers_ahead;

struct layers {
	struct filter filter;
	struct header header;
	struct table table;
	struct file file;
	struct slots slots;
	struct arrays arrays;
	int writable;
	int marking;         /* does this run mark, and does the file record
			      * it? */
	int overwritten;     /* was the file overwritten by another filter? then
			      * nothing is written */
	uint64_t had_name;   /* clock_now when the file was last seen to have a
			      * name, if this run marks */
	int name_is_due;     /* is the next look due once the input pauses? */
	uint64_t max_bytes;
	uint64_t large_capacity; /* the filter's with the next layer, if there
				  * is room (layers_grow_large); or 0 */
	uint64_t checksum_budget; /* bytes to be read for checksums */
	int shared;          /* do other runs mark in the file at the same
			      * time? */
	/*
	 * Lines that this run may still add to each layer of a shared file,
	 * whose counters include them already.
	 */
	uint64_t allotted[TABLE_LAYERS_MAX];
	struct layers_ahead *ahead; /* layer that is being made (plain.c), or
				     * NULL */
	uint64_t coming_bytes; /* bytes of that layer; 0: none is being made */
	/* The next three are for a filter with a window. */
	int told_clock;      /* was it said that the clock is wrong? */
	enum window_step step;
	int64_t try_again;   /* second (time(2)) from which room is looked for
			      * again, after WINDOW_NO_ROOM */
	/* The next three are for a reader. */
	uint64_t looked;     /* clock_now of the last look for a newer table */
	int all_over;
	unsigned forgotten;  /* number of layers, the first in the file, whose
			      * generations are over */
	uint8_t marked[TABLE_LAYERS_MAX]; /* did this run mark in the layer?
					   * then no checksum of it is right,
					   * whatever the file says */
};

/* table.c */

/* Returns the layers that `filter` is the first member of. */
struct layers *layers_of(struct filter *filter);
const struct layers *layers_of_const(const struct filter *filter);

/* Is the filter in a file? If not, it is in memory. */
int layers_in_file(const struct layers *f);

/* Has it a window? For what plain.c and windowed.c have in common. */
int layers_is_windowed(const struct layers *f);

/*
 * A window of lines is never full: it forgets. Its generations grow only for
 * lines that were held back, and are never overfilled; unless the last one has
 * to stay, since there is no room for the next.
 */
int layers_never_full(const struct layers *f);

/* Returns the policy of growth that says how much room its layers have. */
enum growth layers_growth(const struct layers *f);

/* Returns how many lines more layer i has room for. */
uint64_t layers_room(const struct layers *f, unsigned i);

/*
 * Map the layers of the table that are not mapped yet; `fresh` if the file has
 * only zeros there.
 */
int layers_map(struct layers *f, int fresh, struct error *error);

/* Read the table when the file is opened, and map its layers. */
int layers_take_table(struct layers *f, struct error *error);

/*
 * Read the table if another run has written a newer one; call it before a
 * look-up. It is for runs that share the file, and for readers, which look for
 * one at most every millisecond.
 */
int layers_follow_table(struct layers *f, struct error *error);

/*
 * Leave out generations that are over, though the file still has them, in a
 * reader. Returns 1 if any is left, else 0.
 */
int layers_forget(struct layers *f);

/*
 * Lock the table of a shared file, until slots_unlock, and read it again. Does
 * nothing if the file is not shared. On failure it is not locked.
 */
int layers_lock_table(struct layers *f, struct error *error);

/*
 * If the file is shared, runs mark in turn, so that most of them need not do it
 * atomically. Returns 1 if this one may mark, alone, until slots_end_turn; 0 if
 * others may mark at the same time, too, until then; -1 if there is no turn to
 * end.
 */
int layers_take_turn(struct layers *f, struct error *error);

/*
 * Count lines again from the bits of a sample of pages; no counter decreases.
 * If we `take_over` from a run that was killed, only if counters may be too
 * low, unless runs that share the file have said that theirs never are.
 */
int layers_recount(struct layers *f, int take_over, struct error *error);

/*
 * Do the share of the work on checksums that is due before `lines` new lines.
 */
int layers_go_on_with_checksums(struct layers *f, uint64_t lines,
    struct error *error);

/*
 * Note that this run changes layer i, which then has no checksum any more. To
 * call before marking in it.
 */
void layers_forget_checksum(struct layers *f, unsigned i);

/*
 * Note in the file that a run marks, before the first bit is set. Does nothing
 * after the first time, and without a file.
 */
int layers_begin_marking(struct layers *f, struct error *error);

/*
 * Append a layer for `wanted` lines (growth_layer) to `table`, which is not the
 * filter's yet. Its place in the file, where neither table has a layer, is all
 * zero and allocated. On failure the table is unchanged.
 */
typedef int layers_append(struct layers *f, struct table *table,
    uint64_t wanted, struct error *error);

/*
 * Carry out filter_reserve for all layers: grow as far as is needed and
 * allowed.
 */
enum room layers_make_room(struct layers *f, uint64_t wanted,
    layers_append *append, uint64_t *room, struct error *error);

/* plain.c */

/*
 * Take over the layer that is made ahead, if there is one and it is done;
 * `wait` until it is. Fails if it cannot be mapped.
 */
int plain_take_ahead(struct layers *f, int wait, struct error *error);

/* plain.c and windowed.c: the operations of the same names. */

void plain_prefetch(const struct filter *filter,
    const struct digest *digests, size_t n);
int plain_probe(struct filter *filter, const struct digest *digests,
    size_t n, uint8_t *found, struct error *error);
enum room plain_reserve(struct filter *filter, uint64_t wanted,
    uint64_t *room, struct error *error);
int plain_mark(struct filter *filter, const struct digest *digests,
    size_t n, struct error *error);
void plain_grow_ahead(struct filter *filter);

int windowed_probe(struct filter *filter, const struct digest *digests,
    size_t n, uint8_t *found, struct error *error);
enum room windowed_reserve(struct filter *filter, uint64_t wanted,
    uint64_t *room, struct error *error);
int windowed_mark(struct filter *filter, const struct digest *digests,
    size_t n, struct error *error);

/*
 * Count and mark n digests of a journal in layer i: a journal_visit of a struct
 * layers.
 */
int plain_mark_layer(void *layers, unsigned i, const struct digest *digests,
    size_t n, struct error *error);
int windowed_mark_layer(void *layers, unsigned i,
    const struct digest *digests, size_t n, struct error *error);

#endif
