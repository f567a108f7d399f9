/*
 * A worker: one thread that runs one function at a time for its owner.
 *
 * Who owns what: between worker_start and worker_wait everything that
 * `context` leads to is the thread's; the owner doesn't even look at it. Before
 * and after, it is the owner's. This handing over and back is all there is:
 * what one side wrote before it, the other one reads after it, without any
 * lock. What both sides only read, such as a table, they may read at any time.
 *
 * What runs in the thread works from memory to memory, and reads or syncs
 * files at most: it waits for nobody, prints nothing, doesn't exit, and takes
 * little of the stack (128 KiB are all, in some C libraries). What goes wrong
 * there is a value that the owner looks at after worker_wait. No signal that is
 * sent to the process arrives in the thread; only what the thread itself does,
 * such as a store beyond the end of a mapped file (SIGBUS), is a signal there.
 *
 * A handing over costs less than a microsecond while both are at work: who
 * waits looks for a short while again and again, and only then sleeps. With
 * one processor, and where looking was in vain before, it sleeps at once.
 */
#ifndef WORKER_H
#define WORKER_H

struct worker;

/* NULL where no thread can be had: the caller then works alone. */
struct worker *worker_new(void);

/* Waits until the work is done; NULL is none. */
void worker_free(struct worker *worker);

/* Let the thread run work(context). What was started before was waited for. */
void worker_start(struct worker *worker, void (*work)(void *context),
    void *context);

/* Wait until it is done; at once if nothing was started. */
void worker_wait(struct worker *worker);

/* How many processors this process may use, at least 1. */
unsigned worker_processors(void);

#endif
