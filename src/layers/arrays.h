/*
 * The bit arrays of a filter's layers, in memory or in its file: mapping them,
 * testing and setting bits, and writing changes in private memory (pages.h)
 * back to the file. Knows nothing of counters, room or tables.
 *
 * Functions return 0, or -1 with `error` filled; exceptions are stated.
 */
#ifndef LAYERS_ARRAYS_H
#define LAYERS_ARRAYS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bits/block.h"
#include "disk/file.h"
#include "disk/table.h"
#include "disk/pages.h"

struct arrays {
	struct file *file;   /* not owned; NULL: in memory */
	int in_place;        /* the file itself is mapped, whatever its size:
	                        nothing is changed, or others change it, too */
	unsigned count;      /* layers; other threads may read it */
	struct block_array blocks[TABLE_LAYERS_MAX];
	struct pages pages[TABLE_LAYERS_MAX];
	uint64_t private_from; /* bytes from which a layer is private */
	uint64_t private_max;  /* bytes for all of them together */
	uint64_t expected;     /* digests to be marked; 0 if unknown */
	int looked_ahead;      /* they were many, which is acted on once */
	uint64_t written_back; /* clock_now of the last write-back */
	uint64_t write_back_cost; /* nanoseconds that it took */
};

/* Prepare for layers that are mapped later. Keeps the pointer to `file`. */
void arrays_init(struct arrays *arrays, struct file *file, int in_place);

/* Map the next layer; `fresh` if the file has only zeros there. */
int arrays_add(struct arrays *arrays, const struct layer_entry *layer,
    int fresh, struct error *error);

/* Unmap the first `count` layers; what was not written back is lost. */
void arrays_drop(struct arrays *arrays, unsigned count);

/*
 * Bring layer i, which was added as a fresh one, into memory: most of its pages
 * will soon be needed. Nobody may have marked in it yet, nor do so meanwhile.
 */
int arrays_fill(struct arrays *arrays, unsigned i, struct error *error);

/*
 * Prefetch like filter_prefetch; may run in parallel with all but arrays_drop.
 */
void arrays_prefetch(const struct arrays *arrays, const struct digest *digests,
    size_t n);

/* Set found[i] to 1 where digest i is in one of the layers. */
void arrays_probe(struct arrays *arrays, const struct digest *digests,
    size_t n, uint8_t *found);

/*
 * Does the same faster if most layers have one geometry and the newest ones are
 * the likeliest to have a digest; needs no prefetch.
 */
void arrays_probe_chains(struct arrays *arrays, const struct digest *digests,
    size_t n, uint8_t *found);

/* Set the bits of n digests in layer i. */
enum arrays_how { /* flags */
	ARRAYS_SHARED = 1,  /* others do so, too */
	ARRAYS_PREFETCH = 2 /* fetch what is needed, which nobody did */
};
int arrays_mark(struct arrays *arrays, unsigned i,
    const struct digest *digests, size_t n, unsigned how, struct error *error);

/* Read pages of layer i as they are now. */
int arrays_read(const struct arrays *arrays, unsigned i, uint64_t first,
    size_t pages, uint8_t *to, struct error *error);

/* filter_idle_after, filter_write_back; filter_costs.private_bytes */
int arrays_idle_after(const struct arrays *arrays);
int arrays_write_back(struct arrays *arrays, int all, struct error *error);
uint64_t arrays_private_bytes(const struct arrays *arrays);

#endif
