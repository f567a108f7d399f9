#include "cli/report.h"

#include <math.h>
#include <stdio.h>
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

static struct {
	const struct options *options; /* of the next run */
	uint64_t total;        /* bytes of input, 0 if unknown */
	uint64_t started;      /* clock_now */
	struct table before;   /* the filter's, when the run began */
	int shown;             /* the live line is on the terminal */
	uint64_t due;          /* when to draw it again; UINT64_MAX: never */
} report;

void
report_options(const struct options *options)
{
	report.options = options;
}

/* Unbuffered; there is nowhere to report an error. */
static void
put(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

/* Before anything else is printed to the terminal. */
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

/* Warnings about the filter at the end of a run. */
static void
warn(const struct run *run)
{
	struct filter *f = run->filter;
	const struct header *h = filter_header(f);
	const struct table *table = filter_table(f);
	char a[NUMBER_TEXT], b[NUMBER_TEXT];
	unsigned i = 0;

	/* a layer with more lines than it was made for (--on-full=warn) */
	while (i < table->count &&
	    table->layers[i].lines <= table->layers[i].capacity)
		i++;
	if (i < table->count) {
		error_printf("%s: more lines than it was made for (%s): new"
		    " ones are now dropped by mistake at a rate of about %.2g,"
		    " not %g",
		    filter_name(f), number_format_count(a, h->capacity),
		    estimate_error_rate(f, SAMPLE_PAGES), h->error_rate);
	}
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

/* One line of figures, for SIGUSR1. */
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

/* The live line overwrites itself: a count, the work done, and `rest`. */
static void
draw_line(const char *unit, uint64_t count, double done, const char *rest)
{
	char line[256], a[NUMBER_TEXT], b[NUMBER_TEXT];
	double seconds = seconds_so_far();
	struct winsize size;
	size_t n, width = 80;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		width = size.ws_col;
	report.due = clock_now() + INTERVAL;
	n = (size_t)snprintf(line, sizeof line, "\r%s %s",
	    number_format_count(a, count), unit);
	/* The most important first: a narrow terminal cuts the rest. */
	if (done > 0) {
		unsigned long left = (unsigned long)fmin(1e9,
		    ceil(seconds * (1 - done) / done));

		n += (size_t)snprintf(line + n, sizeof line - n,
		    "  %.0f %%  %lu:%02lu:%02lu left", floor(100 * done),
		    left / 3600, left / 60 % 60, left % 60);
	}
	n += (size_t)snprintf(line + n, sizeof line - n, "  %s/s%s",
	    number_format_count(b, report_per_second(count, seconds)), rest);
	/* the \r takes no column; some terminals wrap after the last one */
	if (n > width)
		line[width] = '\0';
	put(line);
	put("\033[K");
	report.shown = 1;
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
	char rest[80];

	snprintf(rest, sizeof rest, "  %.1f %% new  filter %.0f %% full",
	    100 * (double)run->lines_new / lines,
	    floor(100 * estimate_fullness(filter_table(run->filter))));
	draw_line("lines", run->lines_read, report.total == 0 ? 0 :
	    fmin((double)run->position / (double)report.total, 1), rest);
}

void
report_work_begins(int wants_progress)
{
	report.started = clock_now();
	report.due = wants_progress && isatty(STDERR_FILENO) ?
	    report.started + INTERVAL : UINT64_MAX;
}

void
report_work(const char *unit, uint64_t count, double done)
{
	if (is_due())
		draw_line(unit, count, done, "");
}

void
report_work_ends(void)
{
	clear_progress();
	report.due = UINT64_MAX;
}

static void
print_stats(const struct run *run)
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
		{ "not_json", .count = keys->of[KEY_NOT_JSON].lines +
		    keys->of[KEY_TOO_DEEP].lines, .rare = 1 },
		{ "missing", .count = keys->of[KEY_MISSING].lines +
		    keys->of[KEY_NO_FIELD].lines, .rare = 1 },
		{ "not_urls", .count = keys->of[KEY_NOT_URL].lines, .rare = 1 },
		{ "other_parts", .count = run->lines_passed, .rare = 1 }
	};

	json_print_figures(stderr, report.options->stats == STATS_JSON, figures,
	    sizeof figures / sizeof *figures);
}

void
report_keys(const struct key_recipe *r, const struct key_figures *keys,
    uint64_t lines)
{
	const int none = key_figures_lack_all(keys, r, lines);
	struct error error;

	for (int i = 0; i < KEY_TROUBLES; i++) {
		/* If no line has the fields, that is why the run fails. */
		if (none && i == KEY_NO_FIELD && !signals_stop)
			continue;
		if (key_figures_tell(keys, r, (enum key_trouble)i, &error))
			error_print(error.text);
	}
	if (signals_stop || lines == 0 || none)
		return;
	for (unsigned i = 0; i < r->json_count; i++) {
		if (!(keys->found >> i & 1))
			error_printf("--json=%s: no line has such a value",
			    r->json + r->json_at[i]);
	}
}

/* Lines and the live line may share a terminal. */
static int
prints_on_terminal(const struct run *run)
{
	const struct run_plan *plan = run->plan;

	if (plan->duplicates != NULL && isatty(run->duplicates.fd))
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
			print_stats(run);
		break;
	}
}
