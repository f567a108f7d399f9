/*
 * The filter: a chain of layers, in a file or in memory. The one who knows
 * that a line can be in any of the layers, that the newest with room takes
 * new ones, and what stands in the file about it.
 *
 * Works on batches of digests. What it never does: print, or know of lines.
 */
#ifndef FILTER_H
#define FILTER_H

#include <stddef.h>
#include <stdint.h>

#include "block.h"
#include "error.h"
#include "format.h"
#include "pages.h"
#include "store.h"
#include "team.h"

/* What a new filter is made for. */
struct filter_plan {
	uint64_t capacity;
	double error_rate;
	struct geometry geometry; /* of the first layer; sizing.h finds it */
	enum growth growth;
	const struct hash *hash;  /* NULL: one with a new secret, */
	uint32_t hash_kind;       /* of this kind, or 0 for the default */
	char recipe[FORMAT_RECIPE_MAX + 1]; /* as header.recipe */
};

struct filter {
	struct header header;
	struct table table;
	struct block_array arrays[FORMAT_LAYERS_MAX]; /* one a layer */
	struct pages pages[FORMAT_LAYERS_MAX]; /* where they are */
	struct store store;
	int writable;
	int marking;       /* this run marks, and the file says so */
	unsigned slot;     /* which slot holds the newest table: 0 or 1 */
	struct publishing *publishing; /* of new layers, in a thread */
	enum growth growth; /* what is done at capacity in this run */
	uint64_t max_bytes; /* the file's limit in this run, or UINT64_MAX */
	uint64_t seal_bytes; /* to be read for checksums, seal.h */
	uint64_t overfilled; /* lines marked beyond capacity in this run */
	int shared;          /* other runs mark, too */
	uint64_t claimed[FORMAT_LAYERS_MAX]; /* if so: room that is ours, which
	                        the file's counters count as marked */
	struct team *team;   /* that probes and marks; not ours; NULL is none */
	struct probed_part *parts[TEAM_THREADS_MAX];
	/* Private memory, pages.h */
	uint64_t private_from;  /* bytes of a layer that is worked on there */
	uint64_t private_max;   /* bytes that all may have */
	uint64_t written_back;  /* when, in nanoseconds; what it took */
	uint64_t write_back_cost;
};

/*
 * An open filter must stay where it is: its parts point at each other.
 *
 * Open the filter file `path`; writable ones are locked, see store_open.
 * Returns 1 if there is none. Every field is checked against the file's size
 * before anything is mapped; a file that is refused is not touched.
 */
int filter_open(struct filter *filter, const char *path, int writable,
    const struct store_wait *wait, struct error *error);

/*
 * Make an empty filter, in memory where `path` is NULL. A file has its name
 * when it is whole; if there is one already, it is replaced if `replace`, else
 * the return value is 1. It is open, locked and writable afterwards.
 */
int filter_create(struct filter *filter, const char *path, int replace,
    const struct filter_plan *plan, struct error *error);

/*
 * The same in two steps, for who fills it first: filter_prepare makes the file
 * (under a temporary name; filter_close removes it) for the layers of `table`,
 * filter_publish gives it its name. The header's id and time are made anew.
 */
int filter_prepare(struct filter *filter, const char *path,
    const struct header *header, const struct table *table,
    struct error *error);
int filter_publish(struct filter *filter, int replace, struct error *error);

/* Let others share the filter that was just made; wait for them so. */
int filter_share(struct filter *filter, const struct store_wait *wait,
    struct error *error);

/*
 * With a shared lock: take over what other runs wrote about the layers. Call
 * it before each batch.
 */
int filter_refresh(struct filter *filter, struct error *error);

/*
 * Write the table with its counters and close everything. After a failure of
 * the run, too. Without a filter (all zero but store.fd = -1) it does nothing.
 */
int filter_close(struct filter *filter, struct error *error);

/* Bring what the next probe of these digests needs on its way from memory. */
void filter_prefetch(const struct filter *filter,
    const struct digest *digests, size_t n);

/* found[i] = is digest i in the filter? Fails when a page can't be read. */
int filter_probe(struct filter *filter, const struct digest *digests,
    size_t n, uint8_t *found, struct error *error);

/*
 * Make room for `wanted` new lines: grows the filter by as many layers as it
 * takes. Returns for how many there is room. Fewer than wanted: `error` says
 * why there is no more (STATUS_FULL, or the system's reason).
 */
uint64_t filter_reserve(struct filter *filter, uint64_t wanted,
    struct error *error);

/* As filter_probe, but found[i] stays what it is where it is set already. */
int filter_probe_more(struct filter *filter, const struct digest *digests,
    size_t n, uint8_t *found, struct error *error);

/* How many more lines layer i takes; without end where it is overfilled. */
uint64_t filter_layer_room(const struct filter *filter, unsigned i);

/* The same as filter_mark in a layer that is named. */
int filter_mark_layer(struct filter *filter, unsigned i,
    const struct digest *digests, size_t n, struct error *error);

/*
 * Let the file say that a run marks, before the first bit is set.
 * filter_reserve does it.
 */
int filter_begin_marking(struct filter *filter, struct error *error);

/*
 * Count the lines of layers with room anew, from their bits; for who shares the
 * filter in the file, too. No counter becomes smaller.
 */
int filter_recount(struct filter *filter, struct error *error);

/* All bits that are set are on the disk. A failure is final. */
int filter_sync(struct filter *filter, struct error *error);

/*
 * Set the bits of n digests, for which there must be room. Fails when a page
 * can't be read; some are set then.
 */
int filter_mark(struct filter *filter, const struct digest *digests,
    size_t n, struct error *error);

/*
 * How many pages have bits that are in memory alone. filter_write_back brings
 * them into the file; filter_write_back_now_and_then does if it is time to:
 * every second, or more seldom where more than a twentieth of the time would
 * go.
 */
uint64_t filter_dirty_pages(const struct filter *filter);
int filter_write_back(struct filter *filter, struct error *error);
int filter_write_back_now_and_then(struct filter *filter,
    struct error *error);

/* Bytes of private memory that layers have now, and may have. */
uint64_t filter_private_bytes(const struct filter *filter);

/* The length of the filter's file or memory, in bytes. */
uint64_t filter_bytes(const struct filter *filter);

#endif
