/*
 * Checksums of full layers. A layer that is full, with another one after it, is
 * never written again, so its checksum can be stored in the table of layers.
 *
 * It is computed while later lines come, a piece at a time, so that neither the
 * stream nor the exit waits for a layer to be read. The table has the progress,
 * too, and the next run goes on from there.
 */
#ifndef CHECKSUM_H
#define CHECKSUM_H

#include <stdint.h>

#include "base/error.h"
#include "disk/file.h"
#include "disk/format.h"

/*
 * Read up to *budget bytes of layer i, which is full and whose bits are all in
 * the file. *budget becomes what is left of it: less than a page, unless the
 * layer is finished and has its checksum. Returns 0, or -1 with `error` filled.
 */
int checksum_go_on(struct table *table, unsigned i, struct file *file,
    uint64_t *budget, struct error *error);

/* Layer i was changed: drop its checksum, even an unfinished one. */
void checksum_forget(struct table *table, unsigned i);

#endif
