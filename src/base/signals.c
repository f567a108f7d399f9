/*
 * A signal can arrive after a check of signals_stop but before the system call
 * that blocks, or in a thread other than the one that blocks. So the handlers
 * write a byte into a pipe, and every wait polls that pipe, too.
 */
#include "base/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/os.h"

volatile sig_atomic_t signals_stop;
volatile sig_atomic_t signals_pipe;
_Thread_local volatile sig_atomic_t signals_in_socket;
static volatile sig_atomic_t signals_figures;

/* A byte in it means: check the flags. -1: no pipe, only EINTR ends a wait. */
static int wake_pipe[2] = { -1, -1 };

/*
 * The ranges for SIGBUS: a list, which the handler may read at any moment. A
 * forgotten entry (its base is NULL) stays in the list, to be reused.
 */
struct bus_range {
	const char *_Atomic base;
	size_t nbytes;
	const char *name;
	volatile sig_atomic_t hit;
	struct bus_range *next;
};
static struct bus_range *_Atomic bus_ranges;
static volatile sig_atomic_t bus_hit;
static _Atomic size_t bus_page; /* size of a page if it is survived, or 0 */
static atomic_flag bus_told = ATOMIC_FLAG_INIT;

static const int stop_signals[] = { SIGINT, SIGTERM, SIGHUP };
#define STOP_SIGNALS (sizeof stop_signals / sizeof *stop_signals)

static void
set_handler(int number, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };

	sigemptyset(&action.sa_mask);
	sigaction(number, &action, NULL);
}

/* Wakes all waiters; a full pipe has woken them already. */
void
signals_wake(void)
{
	int errnum = errno;

	if (write(wake_pipe[1], "", 1) < 0)
		errno = errnum;
}

/* Empty the pipe; a signal that came meanwhile still wakes all waiters. */
static void
drain(void)
{
	char bytes[64];

	while (read(wake_pipe[0], bytes, sizeof bytes) > 0)
		continue;
	if (signals_stop || signals_figures)
		signals_wake();
}

int
signals_stopped(const char *name, struct error *error)
{
	if (name == NULL) {
		return error_set(error, 128 + signals_stop,
		    "stopped by a signal");
	}
	return error_set(error, 128 + signals_stop, "%s: stopped by a signal",
	    name);
}

static void
on_stop(int number)
{
	for (size_t i = 0; i < STOP_SIGNALS; i++)
		set_handler(stop_signals[i], SIG_DFL);
	signals_stop = number;
	signals_wake();
}

static void
on_pipe(int number)
{
	(void)number;
	if (!signals_in_socket)
		signals_pipe = 1;
}

static void
on_figures(int number)
{
	(void)number;
	signals_figures = 1;
	signals_wake();
}

_Noreturn static void
die_of_bus(const char *name)
{
	static const char head[] = "bloomdedup: ";
	static const char tail[] = ": the file was cut short, or its disk"
	    " failed, while it was in use\n";

	/* If several threads get here, only one of them prints the message. */
	while (atomic_flag_test_and_set(&bus_told))
		pause();
	if (write(STDERR_FILENO, head, sizeof head - 1) < 0 ||
	    write(STDERR_FILENO, name, strlen(name)) < 0 ||
	    write(STDERR_FILENO, tail, sizeof tail - 1) < 0)
		_exit(STATUS_FAILED);
	_exit(STATUS_FAILED);
}

static void
on_bus(int number, siginfo_t *info, void *context)
{
	struct bus_range *r = bus_ranges;
	char *address = info->si_addr;
	int saved = errno;

	(void)context;
	for (; r != NULL; r = r->next) {
		const char *base = r->base;

		if (base != NULL && address >= base &&
		    address < base + r->nbytes)
			break;
	}
	/* Not our mapping: a bug, which must look like one. */
	if (r == NULL)
		signals_die(number);
	/*
	 * Zeros over the missing page only: pages that the file still has stay
	 * mapped and are written as before.
	 */
	if (bus_page == 0 || mmap(address - (uintptr_t)address % bus_page,
	    bus_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
	    MAP_FIXED, -1, 0) == MAP_FAILED)
		die_of_bus(r->name);
	r->hit = 1;
	bus_hit = 1;
	errno = saved;
}

void
signals_install(void)
{
	struct sigaction on_fault = { .sa_sigaction = on_bus,
		.sa_flags = SA_SIGINFO };
	struct sigaction action;

	if (os_pipe(wake_pipe, O_NONBLOCK) < 0)
		wake_pipe[0] = wake_pipe[1] = -1;
	for (size_t i = 0; i < STOP_SIGNALS; i++) {
		sigaction(stop_signals[i], NULL, &action);
		if (action.sa_handler != SIG_IGN)
			set_handler(stop_signals[i], on_stop);
	}
	sigaction(SIGPIPE, NULL, &action);
	if (action.sa_handler != SIG_IGN)
		set_handler(SIGPIPE, on_pipe);
	set_handler(SIGUSR1, on_figures);
	set_handler(SIGXFSZ, SIG_IGN);
	sigemptyset(&on_fault.sa_mask);
	sigaction(SIGBUS, &on_fault, NULL);
}

int
signals_wait(int fd, short events, int milliseconds)
{
	struct pollfd fds[] = { { fd, events, 0 },
		{ wake_pipe[0], POLLIN, 0 } };
	int n;

	if (signals_stop || signals_figures)
		return -1;
	n = poll(fds, 2, milliseconds);
	if (n >= 0 && fds[1].revents == 0)
		return n > 0;
	/* Another thread took the byte's flag, or signals_wake wrote it. */
	if (n > 0 && !signals_stop && !signals_figures)
		drain();
	return -1;
}

int
signals_wake_fd(void)
{
	return wake_pipe[0];
}

int
signals_take_figures(void)
{
	if (!signals_figures)
		return 0;
	signals_figures = 0;
	drain();
	return 1;
}

void
signals_bus_range(const void *base, size_t nbytes, const char *name)
{
	struct bus_range *r = bus_ranges;

	while (r != NULL && r->base != NULL)
		r = r->next;
	if (r == NULL) {
		r = memory_or_die(calloc(1, sizeof *r));
		r->next = bus_ranges;
		bus_ranges = r;
	}
	r->nbytes = nbytes;
	r->name = name;
	r->hit = 0;
	r->base = base;
}

void
signals_bus_forget(const void *base)
{
	for (struct bus_range *r = bus_ranges; r != NULL; r = r->next) {
		if (r->base == base)
			r->base = NULL;
	}
}

void
signals_bus_survive(void)
{
	bus_page = (size_t)sysconf(_SC_PAGESIZE);
}

int
signals_bus_hit(const char *name)
{
	/* In the usual case, this one test is all that it costs. */
	if (!bus_hit)
		return 0;
	for (struct bus_range *r = bus_ranges; r != NULL; r = r->next) {
		if (r->base != NULL && r->hit && strcmp(r->name, name) == 0)
			return 1;
	}
	return 0;
}

void
signals_too_late(void)
{
	for (size_t i = 0; i < STOP_SIGNALS; i++)
		set_handler(stop_signals[i], SIG_IGN);
	set_handler(SIGPIPE, SIG_IGN);
	signals_stop = signals_pipe = 0;
}

void
signals_die(int number)
{
	sigset_t set;

	set_handler(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	_exit(128 + number);
}
