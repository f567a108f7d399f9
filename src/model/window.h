/*
 * A window: what a filter that forgets on purpose remembers, and for how long.
 * Only arithmetic on the table of layers and a clock; layers/windowed.c
 * carries it out.
 *
 * A generation covers a quarter of the window and has its own layers; the last
 * one takes new lines. By time, generation g covers the seconds from g *
 * quarter to (g + 1) * quarter since 1970, and it is over when its end (that
 * boundary, or the time its last line was marked, if later) is a whole window
 * ago. By lines, it has room for a quarter of them, and it is over when four
 * later ones are full. So a line is remembered for at least the window, and at
 * most for a quarter longer; if the clock is set back, for as much longer, but
 * for less than a quarter and the time since the last generation began.
 */
#ifndef MODEL_WINDOW_H
#define MODEL_WINDOW_H

#include <stdint.h>

#include "base/error.h"
#include "bits/sizing.h"
#include "disk/table.h"

/*
 * Each generation has this share of the error rate, so that together they keep
 * to it: five are alive, and for moments a sixth, since marks can be late.
 */
#define WINDOW_SHARE (1.0 / 6)
/* The file has room for as many: the sixth is cleared while five are used. */
#define WINDOW_PLACES 6

/*
 * Parse a window as people write it: a time ("30d"; number.h), or a number of
 * lines in digits, with a unit or an exponent ("1e8"), which is rounded up to a
 * multiple of four. Returns 0, or -1 if the text is neither.
 */
int window_parse(struct window *window, const char *text);

/*
 * Solve for the size as sizing_solve does, for a filter with this window:
 * `bytes` becomes the maximum size of its file, as long as no generation gets
 * more than a quarter of its lines, and `geometry` the shape of one
 * generation's layer.
 */
int window_solve(struct sizing *sizing, const struct window *window,
    struct error *error);

/*
 * Set the rate and the shape of a generation's layer number j, whose capacity
 * is set, in a filter of rate `error_rate`; `fixed` as in sizing.h. Returns 0,
 * or -1 with `error` filled.
 */
int window_layer(struct layer_entry *layer, double error_rate, int fixed,
    unsigned j, struct error *error);

/*
 * Returns the lines that a generation of a filter for `capacity` lines is made
 * for.
 */
uint64_t window_generation_capacity(uint64_t capacity);

/*
 * Does the table go with the header's window and capacity? Returns 0; or -1,
 * with a text in `error` that does not name the file, if a program that writes
 * such files cannot have written it.
 */
int window_check(const struct table *table, const struct window *window,
    uint64_t capacity, struct error *error);

/* Append the generation that begins now; it ends no earlier than the last. */
void window_begin(struct table *table, const struct window *window,
    int64_t now);

/* Returns how many of the oldest generations are over. */
unsigned window_over(const struct table *table, const struct window *window,
    int64_t now);

/* Is it time for the next generation? */
int window_is_due(const struct table *table, const struct window *window,
    int64_t now);

/*
 * Returns how many more lines the last generation takes, in a window of lines.
 */
uint64_t window_lines_left(const struct table *table,
    const struct window *window);

/*
 * Drop the `count` oldest generations. Returns how many layers they had: the
 * first ones of the table.
 */
unsigned window_drop(struct table *table, unsigned count);

/*
 * Drop generations that are over from the table of a reader, which cannot
 * change the filter; but not the last one, which describes the filter.
 * *all_over becomes 1 if the last one is also over; its layers then count no
 * lines. Returns how many layers, the first ones, were dropped.
 */
unsigned window_forget(struct table *table, const struct window *window,
    int64_t now, int *all_over);

/*
 * The step that a window has to take now. Drop and begin are one table: a
 * generation that begins needs the number of one that is over.
 */
enum window_step {
	WINDOW_STAY,   /* none: the table is right */
	WINDOW_DROP,   /* some generations are over; the last one stays until
	                  there is another one to take new lines */
	WINDOW_BEGIN,  /* the next generation is due; those that are over then
	                  are dropped with the same table */
	WINDOW_NO_ROOM /* it is due, but there is no room for its layer */
};

/*
 * Returns the step that is due; never WINDOW_NO_ROOM, which only the filter's
 * location can find out.
 */
enum window_step window_next_step(const struct table *table,
    const struct window *window, int64_t now);

/*
 * Drop the generations that are over, or will be when the one that is due
 * begins, but not the last one. Returns how many layers they had.
 */
unsigned window_drop_over(struct table *table, const struct window *window,
    int64_t now);

/*
 * Take the step WINDOW_BEGIN: drop generations that are over, and append the
 * next one, which has no layer yet. Returns how many layers, the first ones,
 * were dropped.
 */
unsigned window_begin_next(struct table *table, const struct window *window,
    int64_t now);

/* Returns the first layer of the last generation; without a window, of all. */
unsigned window_first_layer(const struct table *table);

/*
 * Note that lines are marked now, so that the last generation ends no earlier.
 * Returns 1 if that changed the table.
 */
int window_extend(struct table *table, const struct window *window,
    int64_t now);

/* A clock that is before 2026, when this program came to be, is wrong. */
#define WINDOW_CLOCK_LEAST INT64_C(1767225600)

/*
 * Returns the time by which a window moves on: `clock`, unless that is
 * certainly wrong (a machine that begins in 1970). Then it is the newest time
 * that the table has noted, if that is later, so that nothing ages.
 */
int64_t window_now(const struct table *table, const struct window *window,
    int64_t clock);

/*
 * Can the clock that says `now` have given the dates of this table? Not if the
 * last generation began a quarter of the window later, or ends later than any
 * can: then a clock was or is wrong.
 */
int window_dates_are_right(const struct table *table,
    const struct window *window, int64_t now);

/*
 * Put dates right. If the clock went back to before the last generation began,
 * all are shifted by as much, so that ages stay the same. Ends that are still
 * ahead of it become `now`, since all lines were marked by then. Returns by how
 * many seconds the clock went back, or 0.
 */
int64_t window_put_dates_right(struct table *table,
    const struct window *window, int64_t now);

/*
 * Returns the place of a new layer of `nbytes`: the first gap that no layer of
 * either table is in, or behind all of them.
 */
uint64_t window_place(const struct table *table, const struct table *also,
    uint64_t nbytes);

#endif
