#include "cli/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/signals.h"
#include "cli/json_print.h"
#include "filter/filter.h"
#include "model/estimate.h"

/* A sample that is large enough for figures that people read. */
#define SAMPLE_PAGES 1000

/* Between two drawings of the live line; a run shorter than that needs none. */
#define INTERVAL (CLOCK_SECOND / 5)
/* Between two lines of progress where standard error is not a terminal. */
#define LOG_INTERVAL (60 * CLOCK_SECOND)

static struct {
	const struct options *options; /* the next run's */
	uint64_t total;        /* bytes of input, 0 if unknown */
	uint64_t started;      /* clock_now */
	struct table before;   /* the filter's, when the run began */
	int shown;             /* the live line is on the terminal */
	int is_logged;         /* progress is whole lines: no terminal */
	uint64_t due;          /* time to draw it again; UINT64_MAX: never */
	char *stats;           /* the statistics that are printed last; NULL:
				* none */
} report;

void
report_options(const struct options *options)
{
	report.options = options;
}

/* Write to standard error at once; an error cannot be reported anywhere. */
static void
put(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

/* Take the live line away, before anything else goes to the terminal. */
static void
clear_progress(void)
{
	if (report.shown)
		put("\r\033[K");
	report.shown = 0;
}

void
report_notice(const char *text)
{
	clear_progress();
	error_print(text);
}

/* Has a layer more lines than it was made for, as with --on-full=warn? */
static int
is_overfilled(const struct table *table)
{
	for (unsigned i = 0; i < table->count; i++) {
		if (table->layers[i].lines > table->layers[i].capacity)
			return 1;
	}
	return 0;
}

/* Warnings about the filter at the end of a run. */
static void
warn(const struct run *run)
{
	struct filter *f = run->filter;
	const struct header *h = filter_header(f);
	const struct table *table = filter_table(f);
	char a[NUMBER_TEXT], b[NUMBER_TEXT];
	double rate = h->error_rate;

	if (is_overfilled(table))
		rate = estimate_error_rate(f, SAMPLE_PAGES);
	if (rate > h->error_rate)
		error_printf("%s: holds more than the %s lines that it was"
		    " made for; its error rate is now about %.2g instead of"
		    " %g: that share of new lines is dropped",
		    filter_name(f), number_format_count(a, h->capacity),
		    rate, h->error_rate);
	/* No warning for a filter in memory: it ends with the run. */
	if (h->window.kind == WINDOW_NONE &&
	    table->count > report.before.count && run->plan->filter != NULL) {
		error_printf("%s: passed the %s lines that it was planned for"
		    " and grew to %s", filter_name(f),
		    number_format_count(a, h->capacity),
		    number_format_bytes(b, filter_bytes(f)));
	}
}

static double
seconds_so_far(void)
{
	return (double)(clock_now() - report.started) / 1e9;
}

uint64_t
report_per_second(uint64_t count, double seconds)
{
	return number_whole((double)count / (seconds + 1e-9));
}

/* Print one line of figures, for SIGUSR1. */
static void
print_figures(const struct run *run)
{
	double seconds = seconds_so_far();
	char a[NUMBER_TEXT], b[NUMBER_TEXT], c[NUMBER_TEXT];

	clear_progress();
	error_printf("%s lines read, %s new, %.1f s, %s lines/s, filter %.0f"
	    " %% full", number_format_count(a, run->lines_read),
	    number_format_count(b, run->lines_new), seconds,
	    number_format_count(c,
	    report_per_second(run->lines_read, seconds)),
	    100 * estimate_fullness(filter_table(run->filter)));
}

static uint64_t
interval(void)
{
	return report.is_logged ? LOG_INTERVAL : INTERVAL;
}

/*
 * A line of progress: a count, the share of the work that is done if it is
 * known, and `rest`. The most important comes first: a narrow terminal cuts it.
 */
#define PROGRESS_TEXT 256
static void
progress_text(char text[PROGRESS_TEXT], const char *unit, uint64_t count,
    double done, const char *rest)
{
	char a[NUMBER_TEXT], b[NUMBER_TEXT], left[NUMBER_TEXT] = "";
	double seconds = seconds_so_far();

	if (done > 0) {
		unsigned long s = (unsigned long)fmin(1e9,
		    ceil(seconds * (1 - done) / done));

		snprintf(left, sizeof left, "  %.0f %%  %lu:%02lu:%02lu left",
		    floor(100 * done), s / 3600, s / 60 % 60, s % 60);
	}
	snprintf(text, PROGRESS_TEXT, "%s %s%s  %s/s%s",
	    number_format_count(a, count), unit, left,
	    number_format_count(b, report_per_second(count, seconds)), rest);
}

/* Cut to the width of the terminal: some wrap after the last column. */
static void
draw(const char *text)
{
	char line[PROGRESS_TEXT + 8];
	struct winsize size;
	int width = 80;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		width = size.ws_col;
	snprintf(line, sizeof line, "\r%.*s\033[K", width - 1, text);
	put(line);
	report.shown = 1;
}

/* On a terminal, the live line, which overwrites itself; else a whole line. */
static void
show_progress(const char *unit, uint64_t count, double done, const char *rest)
{
	char text[PROGRESS_TEXT];

	report.due = clock_now() + interval();
	progress_text(text, unit, count, done, rest);
	if (report.is_logged)
		error_print(text);
	else
		draw(text);
}

static int
is_due(void)
{
	return report.due != UINT64_MAX && clock_now() >= report.due;
}

static void
draw_progress(const struct run *run)
{
	double lines = run->lines_read == 0 ? 1 : (double)run->lines_read;
	double done = 0;
	char rest[80];

	snprintf(rest, sizeof rest, "  %.1f %% new  filter %.0f %% full",
	    100 * (double)run->lines_new / lines,
	    floor(100 * estimate_fullness(filter_table(run->filter))));
	if (report.total > 0)
		done = fmin((double)run->position / (double)report.total, 1);
	show_progress("lines", run->lines_read, done, rest);
}

void
report_work_begins(int wants_progress)
{
	report.started = clock_now();
	report.is_logged = !isatty(STDERR_FILENO);
	report.due = UINT64_MAX;
	if (wants_progress)
		report.due = report.started + interval();
}

void
report_work(const char *unit, uint64_t count, double done)
{
	if (is_due())
		show_progress(unit, count, done, "");
}

void
report_work_ends(void)
{
	clear_progress();
	report.due = UINT64_MAX;
}

/* Which run it was comes first: its filter, or null, and its inputs. */
static void
print_stats_json(FILE *file, const struct run *run,
    const struct figure *figures, size_t count)
{
	const struct inputs inputs = run_inputs(run->plan, &run->recipe);
	struct json_print json = { file, 0 };

	json_print_open(&json, NULL, '{');
	/* The filter's name for messages has no password in it. */
	json_print_text(&json, "filter", run->plan->filter == NULL ? NULL :
	    filter_name(run->filter));
	json_print_open(&json, "inputs", '[');
	for (size_t i = 0; i < inputs.count; i++)
		json_print_text(&json, NULL, inputs.paths[i]);
	json_print_close(&json, ']');
	json_print_members(&json, figures, count);
	json_print_close(&json, '}');
	putc('\n', file);
}

static void
print_stats(FILE *file, const struct run *run)
{
	struct filter *f = run->filter;
	const struct key_figures *keys = &run->keys;
	double seconds = seconds_so_far();
	const struct table *table = filter_table(f);
	double dropped = estimate_dropped(table, &report.before);
	const struct figure figures[] = {
		{ "read", .count = run->lines_read },
		{ "new", .count = run->lines_new },
		{ "repeated", .count = run->lines_read - run->lines_new },
		{ "bytes_in", .count = run->bytes_read },
		{ "bytes_out", .count = run->output.nbytes },
		{ "seconds", "%.6f", .real = seconds },
		{ "lines_per_second",
		    .count = report_per_second(run->lines_read, seconds) },
		{ "filter_full", "%.3g", .real = estimate_fullness(table) },
		{ "error_rate_now", "%.6g",
		    .real = estimate_error_rate(f, SAMPLE_PAGES) },
		{ "expected_dropped", "%.3g",
		    .real = dropped < 0 ? (double)NAN : dropped },
		{ "layer_count", .count = table->count },
		{ "private_bytes", .count = filter_costs(f).private_bytes },
		{ "threads", .count = run->threads },
		{ "not_json", .count = keys->of[KEY_NOT_JSON].lines +
		    keys->of[KEY_TOO_DEEP].lines, .rare = 1 },
		{ "missing", .count = keys->of[KEY_MISSING].lines +
		    keys->of[KEY_NULL].lines +
		    keys->of[KEY_NO_FIELD].lines, .rare = 1 },
		{ "not_urls", .count = keys->of[KEY_NOT_URL].lines, .rare = 1 },
		{ "stray_quotes", .count = keys->of[KEY_STRAY].lines,
		    .rare = 1 },
		{ "other_parts", .count = run->lines_passed, .rare = 1 }
	};

	const size_t count = sizeof figures / sizeof *figures;

	if (report.options->stats == STATS_JSON)
		print_stats_json(file, run, figures, count);
	else
		json_print_table(file, figures, count);
}

/* The figures need the filter; they are printed after it has been closed. */
static void
keep_stats(const struct run *run)
{
	size_t nbytes;
	FILE *file = memory_or_die(open_memstream(&report.stats, &nbytes));

	print_stats(file, run);
	if (fclose(file) != 0)
		memory_or_die(NULL);
}

int
report_ends(int status, struct error *error)
{
	if (report.stats == NULL)
		return status;
	if (status < 0 && !signals_stop && !signals_pipe) {
		error_print(error->text);
		status = error->status;
	}
	fputs(report.stats, stderr);
	free(report.stats);
	report.stats = NULL;
	return status;
}

void
report_keys(const struct key_recipe *recipe, const struct key_figures *keys,
    uint64_t lines)
{
	const int none = key_figures_lack_all(keys, recipe, lines);
	struct error error;

	for (int i = 0; i < KEY_TROUBLES; i++) {
		/* If no line has them, that is why the run fails. */
		if (none && (i == KEY_NO_FIELD || i == KEY_MISSING ||
		    i == KEY_NULL) &&
		    !signals_stop)
			continue;
		if (key_figures_tell(keys, recipe, (enum key_trouble)i, &error))
			error_print(error.text);
	}
	if (signals_stop || lines == 0 || none)
		return;
	for (unsigned i = 0; i < recipe->json_count; i++) {
		if (!(keys->found >> i & 1))
			error_printf("--json=%s: no line has a value at this"
			    " pointer", recipe->json + recipe->json_at[i]);
	}
}

/* Do the lines go to a terminal, perhaps that of the live line? */
static int
prints_on_terminal(const struct run *run)
{
	const struct run_plan *plan = run->plan;

	if (plan->duplicates != NULL && isatty(run->duplicates.fd))
		return 1;
	if (plan->tee != NULL && isatty(run->tee.fd))
		return 1;
	return plan->print != PRINT_NOTHING && isatty(plan->to_command != NULL ?
	    STDOUT_FILENO : run->output.fd);
}

void
report_run(const struct run *run, enum run_moment moment)
{
	const struct options *o = report.options;
	struct inputs inputs;

	switch (moment) {
	case MOMENT_BEGINS:
		inputs = run_inputs(run->plan, &run->recipe);
		report.total = o->progress ? input_total(&inputs) : 0;
		report.before = *filter_table(run->filter);
		report_work_begins(o->progress);
		break;
	case MOMENT_BEFORE_PRINT:
		if (report.shown && prints_on_terminal(run))
			clear_progress();
		break;
	case MOMENT_AFTER_BATCH:
	case MOMENT_INTERRUPTED:
		if (is_due())
			draw_progress(run);
		if (signals_take_figures())
			print_figures(run);
		break;
	case MOMENT_ENDS:
		report_work_ends();
		if (!signals_stop)
			warn(run);
		report_keys(&run->recipe, &run->keys, run->lines_read);
		if (o->stats != STATS_NONE)
			keep_stats(run);
		break;
	}
}
