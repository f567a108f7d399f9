/* Printing the keys of lines. */
#ifndef STREAM_KEYS_H
#define STREAM_KEYS_H

#include <stdint.h>

#include "base/error.h"
#include "key/key.h"
#include "stream/run_plan.h"

/* The figures of the lines whose keys were printed. */
struct keys_figures {
	uint64_t lines;
	struct key_figures keys;
	uint64_t several;       /* keys that contain the end of a line */
	struct key_position first; /* the line of the first such key */
};

/*
 * Print the key of each line of the plan's input to standard output, each with
 * the end of a line; headers have none. The recipe is complete. Returns
 * STATUS_OK, STATUS_FAILED if an input failed, or -1 with `error` filled, as it
 * is at the end if no line has the fields or values. Ends early, with
 * STATUS_OK, when a signal asks to stop.
 */
int keys_print(const struct run_plan *plan, const struct key_recipe *recipe,
    struct keys_figures *figures, struct error *error);

#endif
