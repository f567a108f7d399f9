/*
 * A team: several threads, the caller's own among them, that do one piece of
 * work in parts at the same time.
 *
 * The parts don't touch what another one writes, so none waits for another.
 * Who owns what is as worker.h has it: everything that `context` leads to is
 * the team's until team_run returns. What is shared out belongs to whoever has
 * the same part again the next time, so that it is in that processor's cache.
 */
#ifndef TEAM_H
#define TEAM_H

#include <stddef.h>

/* As many are of use for a batch of lines. */
#define TEAM_THREADS_MAX 16

struct team;

/* The threads are started when there is work for them. */
struct team *team_new(unsigned threads);

/* NULL is none. */
void team_free(struct team *team);

/* So many threads are busy elsewhere: leave their processors to them. */
void team_spare(struct team *team, unsigned threads);

/*
 * In how many parts `n` items are best done: 1 if they are few, and while the
 * team is at work for who called team_start.
 */
unsigned team_parts(const struct team *team, size_t n);

/*
 * Call work(context, part, parts) for each part, the first one in the caller's
 * thread; returns when all is done. With one part it is but a call, and the
 * team may be NULL.
 */
void team_run(struct team *team, unsigned parts,
    void (*work)(void *context, unsigned part, unsigned parts),
    void *context);

/*
 * As team_run, but the caller has no part in it and does other things until
 * team_wait. There must be one thread more than parts. Meanwhile team_run may
 * be called with one part, and team_start must not be.
 */
void team_start(struct team *team, unsigned parts,
    void (*work)(void *context, unsigned part, unsigned parts),
    void *context);
void team_wait(struct team *team);

/* Where a part of n items begins; the next one begins where it ends. */
size_t team_begin(size_t n, unsigned part, unsigned parts);

#endif
