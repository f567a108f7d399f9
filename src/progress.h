/*
 * The live line on a terminal: how far a long run is. It writes to standard
 * error by itself, over its own last line, and nothing at all if standard error
 * is no terminal.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdint.h>

struct progress_figures {
	const char *unit;      /* what is counted, such as "lines" */
	uint64_t count;
	double share_new;      /* 0 to 1; below 0 if it is not to be shown */
	double fill;           /* of the filter, likewise */
	double done;           /* share of the work, below 0 if unknown */
};

struct progress {
	int on;
	int shown;             /* a line stands on the terminal */
	uint64_t started, due; /* in nanoseconds of progress_now */
};

/* Nanoseconds of a clock that never goes back. */
uint64_t progress_now(void);

/* Begin; `wanted` and a terminal are both needed for it to be on. */
void progress_start(struct progress *progress, int wanted);

/* Is it time to draw again? Cheap; call it often. */
int progress_due(const struct progress *progress);

/* Draw the line, cut to the width that the terminal has now. */
void progress_draw(struct progress *progress,
    const struct progress_figures *figures);

/* Take the line away, before something else is written to the terminal. */
void progress_clear(struct progress *progress);

#endif
