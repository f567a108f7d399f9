/*
 * A signal can arrive between the look at signals_stop and the system call
 * that then blocks. Masking signals around every call would cost a second
 * call each time; instead the handler starts a repeating alarm, whose only
 * effect is to interrupt a call that blocks, so the flag is seen at most a
 * second late.
 */
#include "signals.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "temporary.h"

volatile sig_atomic_t signals_stop;
volatile sig_atomic_t signals_pipe;
volatile sig_atomic_t signals_figures;

static struct {
	const char *base;
	size_t nbytes;
	const char *name;
} bus_ranges[128];
static atomic_flag bus_told = ATOMIC_FLAG_INIT;
#define BUS_RANGES (sizeof bus_ranges / sizeof *bus_ranges)

static const int stop_signals[] = { SIGINT, SIGTERM, SIGHUP };
#define STOP_SIGNALS (sizeof stop_signals / sizeof *stop_signals)

static void
set_handler(int number, void (*handler)(int), int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof action);
	action.sa_handler = handler;
	action.sa_flags = flags;
	sigemptyset(&action.sa_mask);
	sigaction(number, &action, NULL);
}

static void
on_alarm(int number)
{
	(void)number;
	if (signals_stop)
		alarm(1);
}

static void
on_stop(int number)
{
	for (size_t i = 0; i < STOP_SIGNALS; i++)
		set_handler(stop_signals[i], SIG_DFL, 0);
	signals_stop = number;
	alarm(1);
}

static void
on_pipe(int number)
{
	(void)number;
	signals_pipe = 1;
}

static void
on_figures(int number)
{
	(void)number;
	signals_figures = 1;
	alarm(1);
}

static void
on_bus(int number, siginfo_t *info, void *context)
{
	const char *address = info->si_addr;

	(void)context;
	for (size_t i = 0; i < BUS_RANGES; i++) {
		if (bus_ranges[i].base == NULL ||
		    address < bus_ranges[i].base ||
		    address >= bus_ranges[i].base + bus_ranges[i].nbytes)
			continue;
		/* Of several threads that meet it, one tells. */
		while (atomic_flag_test_and_set(&bus_told))
			pause();
		temporary_remove();
		static const char head[] = "bloomdedup: ";
		static const char tail[] = ": the file was cut short, or its"
		    " disk failed, while it was in use\n";
		const char *name = bus_ranges[i].name;
		if (write(STDERR_FILENO, head, sizeof head - 1) < 0 ||
		    write(STDERR_FILENO, name, strlen(name)) < 0 ||
		    write(STDERR_FILENO, tail, sizeof tail - 1) < 0)
			_exit(STATUS_FAILED);
		_exit(STATUS_FAILED);
	}
	/* Not our map: a bug, which must look like one. */
	temporary_remove();
	signals_die(number);
}

void
signals_install(void)
{
	struct sigaction action;

	for (size_t i = 0; i < STOP_SIGNALS; i++) {
		sigaction(stop_signals[i], NULL, &action);
		if (action.sa_handler != SIG_IGN)
			set_handler(stop_signals[i], on_stop, 0);
	}
	sigaction(SIGPIPE, NULL, &action);
	if (action.sa_handler != SIG_IGN)
		set_handler(SIGPIPE, on_pipe, 0);
	set_handler(SIGALRM, on_alarm, 0);
	set_handler(SIGUSR1, on_figures, 0);
#ifdef SIGINFO
	set_handler(SIGINFO, on_figures, 0);
#endif
	set_handler(SIGXFSZ, SIG_IGN, 0);

	memset(&action, 0, sizeof action);
	action.sa_sigaction = on_bus;
	action.sa_flags = SA_SIGINFO;
	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

void
signals_bus_range(const void *base, size_t nbytes, const char *name)
{
	for (size_t i = 0; i < BUS_RANGES; i++) {
		if (bus_ranges[i].base != NULL)
			continue;
		bus_ranges[i].nbytes = nbytes;
		bus_ranges[i].name = name;
		bus_ranges[i].base = base;
		return;
	}
}

void
signals_bus_forget(const void *base)
{
	for (size_t i = 0; i < BUS_RANGES; i++) {
		if (bus_ranges[i].base == base)
			bus_ranges[i].base = NULL;
	}
}

void
signals_too_late(void)
{
	for (size_t i = 0; i < STOP_SIGNALS; i++)
		set_handler(stop_signals[i], SIG_IGN, 0);
	set_handler(SIGPIPE, SIG_IGN, 0);
	signals_stop = signals_pipe = 0;
}

void
signals_die(int number)
{
	sigset_t set;

	set_handler(number, SIG_DFL, 0);
	sigemptyset(&set);
	sigaddset(&set, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	_exit(128 + number);
}
