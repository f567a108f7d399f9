/*
 * The live line shows the progress of a long run. It overwrites itself on
 * standard error, and prints nothing unless that is a terminal.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdint.h>

struct progress_figures {
	uint64_t lines, new;
	double full;           /* the share of the filter that is used */
	double done;           /* share of the work, 0 if unknown */
};

struct progress {
	int on;
	int shown;             /* the line is on the terminal */
	uint64_t started, due; /* in nanoseconds of clock_now */
};

/* Begin; it is on if `wanted` and standard error is a terminal. */
void progress_start(struct progress *progress, int wanted);

/* Is it time to draw again? Cheap enough to call often. */
int progress_due(const struct progress *progress);

/* Draw the line, cut to the terminal's current width. */
void progress_draw(struct progress *progress,
    const struct progress_figures *figures);

/* Remove the line, before anything else is printed to the terminal. */
void progress_clear(struct progress *progress);

#endif
