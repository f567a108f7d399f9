/*
 * Threads that leave signals to the thread that starts them, and turns for
 * those that share one place for results: of numbered pieces of work, done in
 * parallel, each has its turn, in the order of the numbers from 0 on.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>

/*
 * Create a thread, like pthread_create, that receives only signals that it
 * causes itself (SIGSEGV, SIGBUS, ..., SIGPIPE). It has a stack of 4 MiB,
 * whatever the C library and the limits are. Returns 0, or -1 on failure.
 */
int thread_start(pthread_t *thread, void *(*run)(void *context),
    void *context);

struct turns {
	pthread_mutex_t lock;
	pthread_cond_t passed;
	_Atomic uint64_t turn; /* number of the piece whose turn it is */
	_Atomic unsigned in_vain; /* waits since one looked for its turn and saw
				   * it come */
};
#define TURNS_BEGIN { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, \
	0 }

/*
 * Wait for the turn of piece `number`, which lasts until its thread calls
 * turns_pass: then it is the next number's.
 */
void turns_wait(struct turns *turns, uint64_t number);
void turns_pass(struct turns *turns);

#endif
