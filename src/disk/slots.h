/*
 * The table of layers in the filter's file: two slots, each with a serial
 * number and a checksum; the newest valid one counts.
 *
 * One of them is on the disk at any time, with all layers that hold lines. The
 * other may not be there yet, and be torn or lost after a power failure; it is
 * always the newer one, and the one that is rewritten. Only new layers need
 * both: slots_publish syncs the file first, writes the slot that was safe,
 * syncs it, and then the other one.
 *
 * Functions return 0, or -1 with `error` filled (it names the file);
 * exceptions are stated.
 */
#ifndef DISK_SLOTS_H
#define DISK_SLOTS_H

#include <stdint.h>

#include "base/error.h"
#include "disk/file.h"
#include "disk/format.h"

/*
 * Another thread may work with a copy while nobody else writes slots; what it
 * changes (newest, head.serial) comes back by slots_take_over.
 */
struct slots {
	struct file *file;           /* not owned */
	uint8_t id[FILTER_ID_BYTES]; /* the filter's */
	int shared;                  /* other runs write slots, too */
	unsigned newest;             /* number of the newest slot, 0 or 1 */
	struct slot_head head;       /* its serial number; and what the next
	                                slot will say besides its table */
};

/*
 * Read the newest valid slot: its table, and into slots->head what else it has.
 * Fails if no slot is valid or the file does not match it; a reader, who has no
 * lock, tries for 20 ms before. Returns 1 if the other slot was lost or is
 * behind: the table's counters may be old. With `repair`, for the run that
 * opens the file to write, that slot is written.
 */
int slots_read(struct slots *slots, struct table *table, int repair,
    struct error *error);

/*
 * Read the serial number of the newest slot in the file, intact or not: much
 * faster than slots_read, to find out whether that is necessary.
 */
int slots_newest_serial(struct slots *slots, uint64_t *serial,
    struct error *error);

/*
 * Write head and table to the newest slot, with the next serial number. On
 * failure the serial number stays as it was.
 */
int slots_write(struct slots *slots, const struct table *table,
    struct error *error);

/*
 * Write the table after layers were added: the file is synced first, then both
 * slots are written, one of them synced. So the new layers are on the disk.
 */
int slots_publish(struct slots *slots, const struct table *table,
    struct error *error);

/* Write both slots of a new file, which is synced before it gets its name. */
int slots_begin(struct slots *slots, const struct table *table,
    struct error *error);

/* Take over what changed in a copy that another thread worked with. */
void slots_take_over(struct slots *slots, const struct slots *copy);

/*
 * Take or release the short lock under which runs that share the file use its
 * slots. If the file is not shared, these functions do nothing.
 */
int slots_lock(struct slots *slots, struct error *error);
void slots_unlock(struct slots *slots);

/*
 * A run that begins to share the file calls slots_try_first, which returns 1 if
 * no other run shares it that did so. The others then wait in slots_join until
 * the first one is there, too, and has recounted lines, if need be.
 */
int slots_try_first(struct slots *slots);
int slots_join(struct slots *slots, struct error *error);

/*
 * Runs that share the file mark in turn: slots_try_turn tries once to lock the
 * slots and the marks of all layers, and returns 1 if it did. If not,
 * slots_share_turn keeps those away that did, and no others. slots_end_turn
 * releases either.
 */
int slots_try_turn(struct slots *slots);
int slots_share_turn(struct slots *slots, struct error *error);
void slots_end_turn(struct slots *slots);

#endif
