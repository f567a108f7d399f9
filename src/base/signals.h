/*
 * Signals. The handlers set flags, which the program checks between its steps;
 * to wait for something, it calls signals_wait.
 */
#ifndef BASE_SIGNALS_H
#define BASE_SIGNALS_H

#include <signal.h>
#include <stddef.h>

#include "base/error.h"

/* 0, or the signal (SIGINT, SIGTERM, SIGHUP) that asks the run to stop. */
extern volatile sig_atomic_t signals_stop;

/*
 * Fills `error`: a signal (signals_stop) stopped what was done with the file
 * `name`, or with nothing that has a name (NULL). Returns -1.
 */
int signals_stopped(const char *name, struct error *error);

/*
 * Set by SIGPIPE, instead of dying at once: the write fails, unfinished work is
 * cleaned up, and at the end the program dies of the signal.
 */
extern volatile sig_atomic_t signals_pipe;

/*
 * Set by a thread while a library may write to a socket for it: the SIGPIPE of
 * that, which the thread gets itself, does not say that the output is gone.
 */
extern _Thread_local volatile sig_atomic_t signals_in_socket;

/* Has SIGUSR1 asked for figures since the last call? */
int signals_take_figures(void);

/*
 * Wait like poll(2) on one descriptor (-1: none). Returns 1 if it is ready, 0
 * after the timeout, -1 if a signal asked to stop or for figures or another
 * thread called signals_wake, sometimes spuriously. No thread misses a signal.
 */
int signals_wait(int fd, short events, int milliseconds);

/* Make another thread's wait, or the next one, return -1. */
void signals_wake(void);

/*
 * Returns the pipe that signals_wait also polls, which is readable once a
 * signal came; -1 if there is none.
 */
int signals_wake_fd(void);

/*
 * Install the handlers. A first SIGINT, SIGTERM or SIGHUP sets signals_stop (a
 * SIGHUP that is ignored, as under nohup, stays ignored), a second one kills at
 * once. SIGXFSZ is ignored, so that the write fails instead; access to a mapped
 * file that was truncated meanwhile (SIGBUS) ends the program with a message.
 */
void signals_install(void);

/*
 * Register a mapped filter at [base, base + nbytes), until it is forgotten: the
 * message of a SIGBUS in it names the file, `name` (not copied).
 */
void signals_bus_range(const void *base, size_t nbytes, const char *name);
void signals_bus_forget(const void *base);

/*
 * Let the program survive SIGBUS in a registered range from now on: zeros are
 * mapped there. signals_bus_hit returns whether that happened in any range with
 * this name.
 */
void signals_bus_survive(void);
int signals_bus_hit(const char *name);

/* Die of signal `number`, as if there had been no handler. */
_Noreturn void signals_die(int number);

/*
 * Ignore signals that ask to stop from now on, because the run has succeeded.
 */
void signals_too_late(void);

#endif
