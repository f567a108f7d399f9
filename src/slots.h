/*
 * The table of layers in the file: two slots, written in turn, so that a torn
 * write leaves the other one. bloomdedup(5) has the format.
 *
 * Works on the filter's own store and table; maps nothing.
 */
#ifndef SLOTS_H
#define SLOTS_H

#include <stdint.h>

#include "error.h"
#include "filter.h"

/*
 * Take the newest valid table of the file into filter->table, for the first
 * time: fails where the file doesn't fit it. What one slot lacks is mended if
 * the filter is writable.
 */
int slots_read(struct filter *filter, struct error *error);

/* The same later, under the lock, when others may have written. */
int slots_look(struct filter *filter, struct error *error);

/* The generation of the newest table in the file, whole or not. */
int slots_newest(struct filter *filter, uint64_t *generation,
    struct error *error);

/* Write the table into the slot that is not the newest. */
int slots_write(struct filter *filter, struct error *error);

/*
 * The same when layers were added: one slot at once, the other one when that
 * is on the disk, by a thread. slots_finish waits for it; both slots have all
 * layers then. slots_free comes after it, also after failures.
 */
int slots_publish(struct filter *filter, struct error *error);
int slots_finish(struct filter *filter, struct error *error);
void slots_free(struct filter *filter);

/* Who shares the file reads, changes and writes the table under this lock. */
int slots_lock(struct filter *filter, struct error *error);
void slots_unlock(struct filter *filter);

#endif
