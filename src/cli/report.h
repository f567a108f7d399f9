/*
 * What a run reports on standard error: the live line, figures on request and
 * at the end, and warnings.
 *
 * A process has one run, and code that reports a message has no pointer to it.
 * So there is one global report, which begins and ends with the run.
 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "cli/options.h"
#include "stream/run.h"

/* Prepare the reports of the next run; `options` must live until it ends. */
void report_options(const struct options *options);

/*
 * The functions that struct run_plan calls: for figures, the live line, and
 * warnings at the end.
 */
void report_run(const struct run *run, enum run_moment moment);

/*
 * Print the run's statistics, if they are wanted, as the last message. Call it
 * after everything else, with the result of the command: if that is an error,
 * it is printed before them, and its status is returned.
 */
int report_ends(int status, struct error *error);

/*
 * Report the progress of other work, if that is wanted: how many of what, and
 * the share of all the work that is done. On a terminal it is the live line,
 * drawn only if it is due; elsewhere, a line once a minute.
 */
void report_work_begins(int wants_progress);
void report_work(const char *unit, uint64_t count, double done);
void report_work_ends(void);

/* Returns a speed, finite even if no time has passed. */
uint64_t report_per_second(uint64_t count, double seconds);

/* Print a message, clearing the live line first. May be called at any time. */
void report_notice(const char *text);

/* Warn about lines without the key that was asked for. */
void report_keys(const struct key_recipe *recipe,
    const struct key_figures *keys, uint64_t lines);

#endif
