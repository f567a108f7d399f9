/*
 * A filter in a file, or in memory: a chain of layers. A line can be in any of
 * the layers, the first with room takes new lines, and the file's table
 * describes them all.
 *
 * Functions return 0, or -1 with `error` filled; exceptions are stated.
 */
#ifndef LAYERS_LAYERS_H
#define LAYERS_LAYERS_H

#include <stdint.h>

#include "base/error.h"
#include "disk/table.h"
#include "model/design.h"
#include "model/use.h"

struct filter;
struct journal;

/*
 * Digests in a batch: the cache lines that they need, and the input lines, fit
 * into the L2 cache. Larger ones also make larger writes, which a file takes
 * faster: its page cache then holds larger pieces.
 */
#define LAYERS_BATCH_LINES 1024

/* Carry out filter_open and filter_create (filter.h), without the journal. */
int layers_open(struct filter **filter, const char *path,
    const struct filter_use *use, struct error *error);
int layers_create(struct filter **filter, const char *path, int replace,
    const struct filter_design *design, const struct filter_use *use,
    struct error *error);

/*
 * Carry out layers_create in two steps, for a caller that fills the filter page
 * by page: layers_prepare creates it with the layers of `table` (`fresh` if it
 * fills none of them); layers_complete gives it its name (before that,
 * filter_close removes it). The header gets a new id and time.
 */
int layers_prepare(struct filter **filter, const char *path,
    const struct header *header, const struct table *table,
    const struct filter_use *use, int fresh, struct error *error);
int layers_write_pages(struct filter *filter, unsigned layer, uint64_t first,
    size_t pages, const uint8_t *from, struct error *error);
int layers_complete(struct filter *filter, int replace, int unsynced,
    struct error *error);

/*
 * When the filter, which has a file that is not shared and no window, grows for
 * the first time, the new layer makes its capacity so large; if there is no
 * room for that, on the disk or in memory, the layer is like any other.
 */
void layers_grow_large(struct filter *filter, uint64_t capacity);

/*
 * Returns how many of the first layers in the file a reader left out because
 * their generations are over; a journal may still name them. UINT_MAX if all
 * are.
 */
unsigned layers_forgotten(const struct filter *filter);

/*
 * Has the filter all layers that a complete journal names? If not, it was
 * replaced by an older copy: returns -1 with `error` filled.
 */
int layers_check_journal(const struct filter *filter,
    const struct journal *journal, struct error *error);

/*
 * Mark what a complete journal holds, in the layers that it names.
 * layers_recover is for lines that may be in the filter already: they are not
 * counted twice; instead, the counters are estimated from the bits afterwards,
 * and all is synced.
 */
int layers_mark_journal(struct filter *filter, struct journal *journal,
    struct error *error);
int layers_recover(struct filter *filter, struct journal *journal,
    struct error *error);

/*
 * Fail if the filter's file was removed or replaced: what would be marked is
 * lost.
 */
int layers_check_link(struct filter *filter, struct error *error);

#endif
