#include "base/thread.h"

#include <signal.h>
#include <stddef.h>

/* A new thread inherits the signal mask of its creator. */
int
thread_start(pthread_t *thread, void *(*run)(void *context), void *context)
{
	static const int own[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP,
		SIGPIPE };
	sigset_t blocked, before;
	int result;

	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		sigdelset(&blocked, own[i]);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	result = pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return result == 0 ? 0 : -1;
}
