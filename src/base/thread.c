#include "base/thread.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"

/*
 * A turn often comes within microseconds, and to sleep and be woken takes
 * longer, on a virtual machine 100: look this often before, for 50 to 100.
 */
#define LOOKS 2000

struct turns {
	pthread_mutex_t source;
	uint64_t taken;       /* pieces so far; inside the source */
	pthread_mutex_t lock;
	pthread_cond_t passed;
	_Atomic uint64_t turn; /* number of the piece whose turn it is */
};

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

struct turns *
turns_new(void)
{
	struct turns *t = memory_or_die(calloc(1, sizeof *t));

	pthread_mutex_init(&t->source, NULL);
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->passed, NULL);
	return t;
}

void
turns_free(struct turns *t)
{
	pthread_cond_destroy(&t->passed);
	pthread_mutex_destroy(&t->lock);
	pthread_mutex_destroy(&t->source);
	free(t);
}

void
turns_enter(struct turns *t)
{
	pthread_mutex_lock(&t->source);
}

void
turns_leave(struct turns *t)
{
	pthread_mutex_unlock(&t->source);
}

uint64_t
turns_take(struct turns *t)
{
	return t->taken++;
}

/* Lets a sibling of this processor run faster meanwhile. */
static inline void
pause_a_moment(void)
{
#if defined __x86_64__ || defined __i386__
	__builtin_ia32_pause();
#elif defined __aarch64__
	__asm__ volatile("yield");
#endif
}

/* Sleep until the turn of piece `number` begins, if it hasn't begun yet. */
static void
sleep_until(struct turns *t, uint64_t number)
{
	if (t->turn >= number)
		return;
	pthread_mutex_lock(&t->lock);
	while (t->turn < number)
		pthread_cond_wait(&t->passed, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

void
turns_wait(struct turns *t, uint64_t number)
{
	/* Who isn't even the next would keep a processor from the others. */
	sleep_until(t, number > 0 ? number - 1 : 0);
	for (unsigned i = 0; i < LOOKS; i++) {
		if (t->turn == number)
			return;
		pause_a_moment();
	}
	sleep_until(t, number);
}

void
turns_pass(struct turns *t)
{
	pthread_mutex_lock(&t->lock);
	t->turn++;
	pthread_cond_broadcast(&t->passed);
	pthread_mutex_unlock(&t->lock);
}

void
turns_wait_all(struct turns *t)
{
	turns_wait(t, t->taken);
}

void
turns_run(void *(*work)(void *context), void *const *contexts, unsigned count)
{
	pthread_t *threads = memory_or_die(calloc(count, sizeof *threads));
	unsigned started = 1;

	while (started < count && thread_start(&threads[started], work,
	    contexts[started]) == 0)
		started++;
	work(contexts[0]);
	while (started-- > 1)
		pthread_join(threads[started], NULL);
	free(threads);
}
