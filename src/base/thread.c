#include "base/thread.h"

#include <signal.h>

/*
 * A turn often comes within microseconds, and to sleep and be woken takes
 * longer, on a virtual machine 100: look this often before, for 50 to 100.
 * Where turns take longer, or the thread whose turn it is has no processor,
 * that only takes time from others: after some waits in vain, it is tried again
 * only now and then.
 */
#define LOOKS 2000
#define WAITS_IN_VAIN 4
#define WAITS_WITHOUT 8
/*
 * The stack of a thread. By default, musl gives it 128 KiB, and glibc what
 * `ulimit -s` says. A function that needs more, such as one that reads pieces
 * of a filter, then writes below the stack, beyond the page that guards it.
 * Only what is touched takes memory; the thread sanitizer takes over a MiB.
 */
#define STACK_BYTES (4 * 1024 * 1024)

static int
create_thread(pthread_t *thread, void *(*run)(void *context), void *context)
{
	pthread_attr_t attributes;
	int result = pthread_attr_init(&attributes);

	if (result != 0)
		return result;
	result = pthread_attr_setstacksize(&attributes, STACK_BYTES);
	if (result == 0)
		result = pthread_create(thread, &attributes, run, context);
	pthread_attr_destroy(&attributes);
	return result;
}

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
	result = create_thread(thread, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (result != 0)
		return -1;
	return 0;
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

/* Look for the turn of this piece, if that is worth it. Has it come? */
static int
look_for(struct turns *t, uint64_t number)
{
	const unsigned before = t->in_vain;

	t->in_vain = before + 1;
	if (before >= WAITS_IN_VAIN && before % WAITS_WITHOUT != 0)
		return 0;
	for (unsigned i = 0; i < LOOKS; i++) {
		if (t->turn == number) {
			t->in_vain = 0;
			return 1;
		}
		/*
		 * The instruction leaves more of the core to its other
		 * hyper-thread.
		 */
#if defined __x86_64__ || defined __i386__
		__builtin_ia32_pause();
#elif defined __aarch64__
		__asm__ volatile("yield");
#endif
	}
	return 0;
}

void
turns_wait(struct turns *t, uint64_t number)
{
	/* A thread that isn't even next would take a processor from others. */
	sleep_until(t, number > 0 ? number - 1 : 0);
	if (!look_for(t, number))
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
