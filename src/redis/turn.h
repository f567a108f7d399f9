/*
 * Which generations of a window a claim goes to, so that clients which see the
 * server's clock at different moments never both win a line, nor both lose it:
 *
 *     before the lines are looked up, read the time: it is between two bounds
 *     claim in turn_first's generation, then in each that follows, one after
 *     the other, as long as
 *         the claim is answered "new", and
 *         turn_goes_on after the answer, by the time as it is then
 *     the line is ours if all answers were "new"
 *
 * Two clients whose ranges have a generation in common meet there, and the
 * second one stops. If they have none, the one with the later range began after
 * the other one had ended, and finds the line when it looks it up. To claim in
 * both generations at once would lose lines: each of two clients may win one.
 */
#ifndef REDIS_TURN_H
#define REDIS_TURN_H

#include <stdint.h>

/* Two bounds of the server's clock, in any unit. */
struct turn_time {
	int64_t lower, upper;
};

/*
 * Returns the generation in which a client claims first; `quarter` in the same
 * unit.
 */
static inline int64_t
turn_first(struct turn_time before, int64_t quarter)
{
	return before.lower / quarter;
}

/*
 * Must a claim that was answered "new" in this generation go on in the next
 * one?
 */
static inline int
turn_goes_on(struct turn_time after, int64_t quarter, int64_t generation)
{
	return after.upper / quarter > generation;
}

#endif
