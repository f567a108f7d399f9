/*
 * Goal: what is handed to a worker is done, once and before worker_wait
 * returns, whoever was asleep; an idle worker sleeps; and signals stay with
 * the owner.
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "no_memory.h"
#include "tap.h"
#include "worker.h"

#define ROUNDS 20000

/* Plain numbers: that they are right shows that they were handed over. */
struct count {
	uint64_t done, seen;
	long pause; /* nanoseconds */
	pid_t thread;
};

static void
nap(long nanoseconds)
{
	struct timespec pause = { 0, nanoseconds };

	if (nanoseconds > 0)
		nanosleep(&pause, NULL);
}

static void
count(void *context)
{
	struct count *c = context;

	nap(c->pause);
	c->seen = ++c->done;
}

/* Does every round do its work once? Naps let one side or the other sleep. */
static int
rounds_add_up(struct worker *w, unsigned rounds, long owner_nap,
    long thread_nap)
{
	struct count c = { 0 };

	for (unsigned i = 1; i <= rounds; i++) {
		c.pause = thread_nap * (i % 3);
		c.seen = 0;
		worker_start(w, count, &c);
		if (i % 2 == 0)
			nap(owner_nap);
		worker_wait(w);
		if (c.done != i || c.seen != i)
			return 0;
		if (i % 5 == 0)
			nap(owner_nap);
	}
	worker_wait(w);
	return c.done == rounds;
}

static void
test_rounds(struct worker *w)
{
	tap_ok(rounds_add_up(w, ROUNDS, 0, 0), "every round, with no pause");
	tap_ok(rounds_add_up(w, ROUNDS / 20, 1, 0), "the owner pauses");
	tap_ok(rounds_add_up(w, ROUNDS / 20, 0, 1), "the thread pauses");
	tap_ok(rounds_add_up(w, ROUNDS / 20, 20000, 30000),
	    "pauses about as long as one looks before it sleeps");
	tap_ok(rounds_add_up(w, 20, 2000000, 2000000),
	    "pauses in which both fall asleep");
}

/* Several workers don't know of each other. */
static void
test_several(void)
{
	struct worker *w[4];
	struct count c[4] = { 0 };
	int right = 1;

	for (int i = 0; i < 4; i++)
		w[i] = worker_new();
	for (unsigned round = 1; round <= ROUNDS / 20; round++) {
		for (int i = 0; i < 4; i++)
			worker_start(w[i], count, &c[i]);
		for (int i = 3; i >= 0; i--) {
			worker_wait(w[i]);
			right &= c[i].done == round;
		}
	}
	for (int i = 0; i < 4; i++)
		worker_free(w[i]);
	tap_ok(right, "four workers at once");
}

static void
test_ends(void)
{
	struct count c = { .pause = 50000000 };
	struct worker *w = worker_new();

	worker_start(w, count, &c);
	worker_free(w);
	tap_ok(c.done == 1, "worker_free waits for what was begun");
	for (int i = 0; i < 200; i++) {
		w = worker_new();
		if (w == NULL)
			break;
		if (i % 2 == 0)
			worker_wait(w);
		worker_free(w);
	}
	tap_ok(w != NULL, "workers that do nothing come and go");
	worker_free(NULL);
	tap_ok(1, "worker_free of none");
}

static void
who(void *context)
{
	struct count *c = context;

	c->thread = (pid_t)syscall(SYS_gettid);
}

/* S: sleeps; R: runs, or waits for a processor. */
static char
thread_state(pid_t thread)
{
	char path[64], state = '?';
	FILE *file;

	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
	file = fopen(path, "r");
	if (file == NULL)
		return '?';
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	fclose(file);
	return state;
}

static void
test_idle(struct worker *w)
{
	struct count c = { 0 };
	char state = '?';

	worker_start(w, who, &c);
	worker_wait(w);
	tap_ok(c.thread != (pid_t)syscall(SYS_gettid), "it is another thread");
	for (int i = 0; i < 6000 && state != 'S'; i++) {
		nap(10000000);
		state = thread_state(c.thread);
	}
	tap_ok(state == 'S', "it sleeps when there is nothing to do (%c)",
	    state);
}

static volatile sig_atomic_t came, came_to_owner;
static pthread_t owner;

static void
on_signal(int number)
{
	(void)number;
	came++;
	came_to_owner += pthread_equal(pthread_self(), owner) != 0;
}

static void
kill_process(void *context)
{
	(void)context;
	kill(getpid(), SIGUSR1);
	nap(1000000);
}

/* A signal that the owner won't take now waits for it. */
static void
test_signals(struct worker *w)
{
	const int sent = 20;
	int early = 0;
	sigset_t set;

	owner = pthread_self();
	signal(SIGUSR1, on_signal);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	for (int i = 0; i < sent; i++) {
		pthread_sigmask(SIG_BLOCK, &set, NULL);
		worker_start(w, kill_process, NULL);
		worker_wait(w);
		early += came != i;
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	}
	tap_ok(came == sent && came_to_owner == sent && early == 0,
	    "signals arrive at the owner (%d of %d, %d early)",
	    (int)came_to_owner, (int)came, early);
	pthread_sigmask(SIG_BLOCK, NULL, &set);
	tap_ok(!sigismember(&set, SIGTERM) && !sigismember(&set, SIGUSR1),
	    "and aren't blocked there after a worker was made");
}

static void
on_bus(int number)
{
	(void)number;
	_exit(42);
}

static void
store_beyond(void *context)
{
	*(volatile char *)context = 1;
}

/* In a process of its own, as it ends. */
static void
test_bus(void)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		FILE *file = tmpfile();
		void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_SHARED, fileno(file), 0);
		struct worker *w = worker_new();

		signal(SIGBUS, on_bus);
		worker_start(w, store_beyond, map);
		worker_wait(w);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 42,
	    "a store beyond the end of a file comes to its handler");
}

static int
no_worker(void *context)
{
	(void)context;
	return worker_new() == NULL;
}

static void
test_one_processor(void)
{
	struct worker *w;
	cpu_set_t set, one;
	size_t first = 0;

	if (sched_getaffinity(0, sizeof set, &set) < 0) {
		tap_ok(1, "one processor # skip no sched_getaffinity");
		tap_ok(1, "rounds on one processor # skip");
		return;
	}
	tap_ok(worker_processors() == (unsigned)CPU_COUNT(&set),
	    "the processors that are ours (%u)", worker_processors());
	while (!CPU_ISSET(first, &set))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	sched_setaffinity(0, sizeof one, &one);
	w = worker_new();
	tap_ok(worker_processors() == 1 && rounds_add_up(w, 2000, 1, 0),
	    "rounds on one processor");
	worker_free(w);
	sched_setaffinity(0, sizeof set, &set);
}

int
main(void)
{
	struct worker *w;

	/* What waits for ever is a failure and not a long test. */
	alarm(300);
	test_bus();
	without_memory(no_worker, NULL, "NULL where no thread can be had");
	w = worker_new();
	if (!tap_ok(w != NULL, "a worker"))
		return tap_end();
	test_rounds(w);
	test_idle(w);
	test_signals(w);
	test_rounds(w);
	worker_free(w);
	test_several();
	test_ends();
	test_one_processor();
	return tap_end();
}
