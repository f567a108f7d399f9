/*
 * Threads that leave signals to the thread that starts them, and turns for
 * those that share one source of work and one place for results: each takes a
 * piece from the source (one thread at a time), works on it in parallel, and
 * gets its turn in the order in which the pieces were taken.
 */
#ifndef THREAD_H
#define THREAD_H

#include <pthread.h>
#include <stdint.h>

/*
 * Like pthread_create, but the thread receives only signals that it causes
 * itself (SIGSEGV, SIGBUS, ..., SIGPIPE). Returns 0, or -1 on failure.
 */
int thread_start(pthread_t *thread, void *(*run)(void *context),
    void *context);

struct turns;

struct turns *turns_new(void);
void turns_free(struct turns *turns);

/* Enter and leave the source; only one thread is inside. */
void turns_enter(struct turns *turns);
void turns_leave(struct turns *turns);

/* Inside: count a piece as taken; returns its number. */
uint64_t turns_take(struct turns *turns);

/* Wait for the turn of piece `number`; it lasts until turns_pass. */
void turns_wait(struct turns *turns, uint64_t number);
void turns_pass(struct turns *turns);

/* Inside: wait until all pieces that were taken have had their turn. */
void turns_wait_all(struct turns *turns);

/*
 * Run work(contexts[i]) in up to `count` threads, the first of them the
 * caller's, and wait until all have returned; in fewer if the system allows no
 * more. Signals go to the caller's thread, except those that a thread causes
 * itself. What `work` returns is ignored.
 */
void turns_run(void *(*work)(void *context), void *const *contexts,
    unsigned count);

#endif
