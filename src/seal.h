/*
 * Checksums of full layers. A layer that is full, with another one behind it,
 * is never written again, so its checksum can stand in the table of layers.
 *
 * It is computed while later lines come, a piece at a time, so that neither
 * the stream nor the exit waits for a layer to be read; how far it came stands
 * in the table, too, and the next run goes on from there.
 */
#ifndef SEAL_H
#define SEAL_H

#include <stdint.h>

#include "error.h"
#include "filter.h"

/*
 * Before `lines` new lines are marked: do the share of the work that is theirs.
 * Only for who has the file alone. Returns 0, or -1 with `error` filled.
 */
int seal_step(struct filter *filter, uint64_t lines, struct error *error);

/*
 * Read the whole layer i, which is sealed. Returns 1 if its checksum is right,
 * 0 if not, -1 with `error` filled (it could not be read, or a signal asks to
 * stop).
 */
int seal_verify(struct filter *filter, unsigned i, struct error *error);

#endif
