/* Threads that leave signals to the thread that starts them. */
#ifndef THREAD_H
#define THREAD_H

#include <pthread.h>

/*
 * Like pthread_create, but the thread receives only signals that it causes
 * itself (SIGSEGV, SIGBUS, ..., SIGPIPE). Returns 0, or -1 on failure.
 */
int thread_start(pthread_t *thread, void *(*run)(void *context),
    void *context);

#endif
