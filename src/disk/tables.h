/*
 * The table of layers in the filter's file: two slots, each with a serial
 * number and a checksum; the newest valid one counts.
 *
 * One of them is on the disk at any time, with all layers that hold lines. The
 * other may not be there yet, and be torn or lost after a power cut; it is
 * always the newer one, and the one that is rewritten. Only new layers need
 * both: tables_publish syncs the file first, writes the slot that was safe,
 * syncs it, and then the other one.
 *
 * Functions return 0, or -1 with `error` filled (it names the file);
 * exceptions are stated.
 */
#ifndef TABLES_H
#define TABLES_H

#include <stdint.h>

#include "base/error.h"
#include "disk/file.h"
#include "disk/format.h"

struct tables {
	struct file *file;           /* not owned */
	uint8_t id[FORMAT_ID_BYTES]; /* the filter's */
	unsigned newest;             /* which slot: 0 or 1 */
	int shared;                  /* other runs write tables, too */
};

/*
 * Read the newest valid table; fails if the file doesn't match it. Returns 1 if
 * the other slot was lost or is behind: the table's counters may be old. With
 * `repair`, for the run that opens the file to write, that slot is written.
 */
int tables_read(struct tables *tables, struct table *table, int repair,
    struct error *error);

/* The serial number of the newest table in the file, intact or not. */
int tables_newest(struct tables *tables, uint64_t *serial,
    struct error *error);

/* Write the table, with the next serial number. */
int tables_write(struct tables *tables, struct table *table,
    struct error *error);

/* The same after layers were added: they are then on the disk. */
int tables_publish(struct tables *tables, struct table *table,
    struct error *error);

/* Write both slots of a new file, which is synced before it gets its name. */
int tables_begin(struct tables *tables, struct table *table,
    struct error *error);

/* Runs that share the file use the table under this lock; else no lock. */
int tables_lock(struct tables *tables, struct error *error);
void tables_unlock(struct tables *tables);

#endif
