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
 * Where they are in vain, since the machine has much else to do or there are
 * more threads than processors, they are not tried the next time; after the
 * second time in vain not for 3 times, and so on up to 2^6 - 1. To yield in
 * place of it took 50 times as long beside two busy programs.
 */
#define FAILURES_MAX 6

enum { OWNER, THREAD };

/* Of one side, which alone uses it. */
struct patience {
	unsigned failures; /* so often looking was in vain */
	unsigned skip;     /* so often it is not tried */
};

struct worker {
	atomic_int turn;     /* OWNER or THREAD */
	atomic_int sleepers;
	void (*work)(void *context); /* NULL is the end of the thread */
	void *context;
	unsigned looks;
	struct patience patience[2]; /* of OWNER and THREAD */
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

static int
is_turn(const struct worker *w, int who)
{
	return atomic_load_explicit(&w->turn, memory_order_acquire) == who;
}

/* Look again and again, if that is of use. */
static int
comes_soon(struct worker *w, int who)
{
	struct patience *patience = &w->patience[who];

	if (patience->skip > 0) {
		patience->skip--;
		return 0;
	}
	for (unsigned i = 0; i < w->looks; i++) {
		if (is_turn(w, who)) {
			patience->failures = 0;
			return 1;
		}
		pause_briefly();
	}
	if (patience->failures < FAILURES_MAX)
		patience->failures++;
	patience->skip = (1u << patience->failures) - 1;
	return 0;
}

static void
wait_for_turn(struct worker *w, int who)
{
	if (is_turn(w, who) || comes_soon(w, who))
		return;
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
	/* A store would do, but emulators (qemu 7) let the load overtake it. */
	(void)atomic_exchange(&w->turn, who);
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
