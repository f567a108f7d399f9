/*
 * Signals. The handlers only set flags; every blocking call of this program
 * returns on a signal (no SA_RESTART), and who called it looks here.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <signal.h>
#include <stddef.h>

/* 0, or the signal (SIGINT, SIGTERM, SIGHUP) that asks the run to stop. */
extern volatile sig_atomic_t signals_stop;

/*
 * SIGPIPE came, which is otherwise fatal: the write fails, what was begun is
 * cleaned up, and at the end the program dies of it.
 */
extern volatile sig_atomic_t signals_pipe;

/* Set by SIGUSR1 (SIGINFO): figures are wanted. Who gives them clears it. */
extern volatile sig_atomic_t signals_figures;

/*
 * Install the handlers. A first SIGINT, SIGTERM or SIGHUP sets signals_stop
 * (a SIGHUP that is ignored, as under nohup, stays ignored), a second one
 * kills at once. SIGXFSZ is ignored, so that the write fails instead; a
 * store into a file that was cut beneath us (SIGBUS) ends with a message.
 */
void signals_install(void);

/*
 * What SIGBUS says and the address range it says it for: the mapped filter at
 * [base, base + nbytes) of the file `name` (not copied), until it is forgotten.
 * Ranges beyond the first 128 go without.
 */
void signals_bus_range(const void *base, size_t nbytes, const char *name);
void signals_bus_forget(const void *base);

/* Die of signal `number`, as if there had been no handler. */
_Noreturn void signals_die(int number);

/* From here on the run has ended well, whatever asks it to stop. */
void signals_too_late(void);

#endif
