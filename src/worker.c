/*
 * Whose turn it is, is one atomic number, and each side waits for its own
 * turn in the same way. Nobody takes the lock as long as nobody sleeps.
 *
 * No wake-up is lost: a sleeper counts itself before it looks at the turn for
 * the last time, the other side changes the turn before it looks at that
 * count, and as these are sequentially consistent, one of them sees what the
 * other one did. The lock holds the call back until the sleeper sleeps.
 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "worker.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* So many looks before a sleep, with a pause of some 10 to 50 ns each. */
#define LOOKS 4000
/*
 * After so many, others may run: on a machine that has much to do, whom we
 * wait for may have been put on this very processor.
 */
#define LOOKS_AT_A_TIME 100

enum { OWNER, THREAD };

struct worker {
	atomic_int turn;     /* OWNER or THREAD */
	atomic_int sleepers;
	void (*work)(void *context); /* NULL is the end of the thread */
	void *context;
	unsigned looks;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t turned;
};

static inline void
pause_briefly(void)
{
#if defined __x86_64__ || defined __i386__
	__builtin_ia32_pause();
#elif defined __aarch64__
	__asm__ volatile("isb");
#endif
}

static void
wait_for_turn(struct worker *w, int who)
{
	for (unsigned i = 1; i <= w->looks; i++) {
		if (atomic_load_explicit(&w->turn, memory_order_acquire) ==
		    who)
			return;
		if (i % LOOKS_AT_A_TIME == 0)
			sched_yield();
		else
			pause_briefly();
	}
	pthread_mutex_lock(&w->lock);
	atomic_fetch_add(&w->sleepers, 1);
	while (atomic_load(&w->turn) != who)
		pthread_cond_wait(&w->turned, &w->lock);
	atomic_fetch_sub(&w->sleepers, 1);
	pthread_mutex_unlock(&w->lock);
}

static void
hand_over(struct worker *w, int who)
{
	atomic_store(&w->turn, who);
	if (atomic_load(&w->sleepers) == 0)
		return;
	pthread_mutex_lock(&w->lock);
	pthread_cond_broadcast(&w->turned);
	pthread_mutex_unlock(&w->lock);
}

static void *
run(void *context)
{
	struct worker *w = context;

	for (;;) {
		wait_for_turn(w, THREAD);
		if (w->work == NULL)
			return NULL;
		w->work(w->context);
		hand_over(w, OWNER);
	}
}

/* A thread begins with the signals blocked that its maker has blocked. */
static int
start_thread(struct worker *w)
{
	static const int own[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP };
	sigset_t blocked, before;
	int result;

	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		sigdelset(&blocked, own[i]);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	result = pthread_create(&w->thread, NULL, run, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return result;
}

static void
destroy(struct worker *w)
{
	pthread_cond_destroy(&w->turned);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

struct worker *
worker_new(void)
{
	struct worker *w = calloc(1, sizeof *w);

	if (w == NULL)
		return NULL;
	atomic_init(&w->turn, OWNER);
	atomic_init(&w->sleepers, 0);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->turned, NULL);
	w->looks = worker_processors() > 1 ? LOOKS : 0;
	if (start_thread(w) != 0) {
		destroy(w);
		return NULL;
	}
	return w;
}

void
worker_free(struct worker *w)
{
	if (w == NULL)
		return;
	worker_wait(w);
	worker_start(w, NULL, NULL);
	pthread_join(w->thread, NULL);
	destroy(w);
}

void
worker_start(struct worker *w, void (*work)(void *context), void *context)
{
	w->work = work;
	w->context = context;
	hand_over(w, THREAD);
}

void
worker_wait(struct worker *w)
{
	wait_for_turn(w, OWNER);
}

unsigned
worker_processors(void)
{
	long n;
#ifdef __linux__
	cpu_set_t set;

	/* Those of the machine that taskset(1) and containers leave to us. */
	if (sched_getaffinity(0, sizeof set, &set) == 0)
		return (unsigned)CPU_COUNT(&set);
#endif
	n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 1 ? (unsigned)n : 1;
}
