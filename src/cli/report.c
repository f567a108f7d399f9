#include "cli/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/signals.h"
#include "cli/json_print.h"
#include "cli/progress.h"
#include "filter/figures.h"
#include "filter/filter.h"

/* A sample that is large enough for figures that people read. */
#define SAMPLE_PAGES 1000

static struct {
	const struct options *options; /* of the next run */
	uint64_t total;        /* bytes of input, 0 if unknown */
	uint64_t started;      /* clock_now */
	struct table before;   /* the filter's, when the run began */
	struct progress progress;
} report;

void
report_options(const struct options *options)
{
	report.options = options;
}

static void
begin(const struct run *run)
{
	struct inputs inputs = run_inputs(run->plan, &run->recipe);

	report.total = report.options->progress ? input_total(&inputs) : 0;
	report.started = clock_now();
	report.before = *filter_table(run->filter);
	progress_start(&report.progress, report.options->progress);
}

void
report_notice(const char *text)
{
	progress_clear(&report.progress);
	error_print(text);
}

/* Has a layer more lines than it was made for (--on-full=warn)? */
static int
is_overfilled(const struct filter *f)
{
	const struct table *table = filter_table(f);

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
	char a[NUMBER_TEXT], b[NUMBER_TEXT];

	if (is_overfilled(f)) {
		error_printf("%s: more lines than it was made for (%s): new"
		    " ones are now dropped by mistake at a rate of about %.2g,"
		    " not %g",
		    filter_name(f), number_format_count(a, h->capacity),
		    figures_error_rate(f, SAMPLE_PAGES), h->error_rate);
	}
	/* No warning for a filter in memory: it ends with the run. */
	if (h->window.kind == WINDOW_NONE &&
	    filter_table(f)->count > report.before.count &&
	    run->plan->filter != NULL) {
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

static uint64_t
lines_a_second(const struct run *run, double seconds)
{
	return number_whole((double)run->lines_read / (seconds + 1e-9));
}

/* One line of figures, for SIGUSR1. */
static void
print_figures(const struct run *run)
{
	double seconds = seconds_so_far();
	char a[NUMBER_TEXT], b[NUMBER_TEXT], c[NUMBER_TEXT];

	progress_clear(&report.progress);
	error_printf("%s lines read, %s new, %.1f s, %s lines/s, filter %.0f"
	    " %% full", number_format_count(a, run->lines_read),
	    number_format_count(b, run->lines_new), seconds,
	    number_format_count(c, lines_a_second(run, seconds)),
	    100 * figures_fullness(run->filter));
}

static void
draw_progress(const struct run *run)
{
	struct progress_figures figures = { .unit = "lines",
		.count = run->lines_read,
		.share_new = run->lines_read == 0 ? -1 :
		(double)run->lines_new / (double)run->lines_read,
		.fill = figures_fullness(run->filter),
		.done = report.total == 0 ? -1 :
		(double)run->position / (double)report.total };

	progress_draw(&report.progress, &figures);
}

/* The figures of --stats: a name, a number, and another unit of it or "". */
static void
print_row(const char *name, const char *number, const char *unit)
{
	fprintf(stderr, *unit == '\0' ? "%-20s%18s\n" : "%-20s%18s%10s\n",
	    name, number, unit);
}

static void
print_count(const char *name, uint64_t count)
{
	char text[NUMBER_TEXT];

	print_row(name, number_format_count(text, count), "");
}

static void
print_bytes(const char *name, uint64_t nbytes)
{
	char a[NUMBER_TEXT], b[NUMBER_TEXT];

	print_row(name, number_format_count(a, nbytes),
	    number_format_bytes(b, nbytes));
}

/* A number of lines, and its share of all that were read. */
static void
print_share(const char *name, uint64_t count, const struct run *run)
{
	double lines = run->lines_read == 0 ? 1 : (double)run->lines_read;
	char a[NUMBER_TEXT], b[NUMBER_TEXT];

	snprintf(b, sizeof b, "%.1f %%", 100 * (double)count / lines);
	print_row(name, number_format_count(a, count), b);
}

/* Figures that are computed for --stats. */
struct results {
	struct filter_costs costs;
	double seconds, error_rate;
	double dropped;        /* negative: unknown */
	uint64_t repeated, not_json;
};

static void
gather(const struct run *run, struct results *r)
{
	r->costs = filter_costs(run->filter);
	r->seconds = seconds_so_far();
	r->error_rate = figures_error_rate(run->filter, SAMPLE_PAGES);
	r->dropped = figures_expected_dropped(run->filter, &report.before);
	r->repeated = run->lines_read - run->lines_new;
	r->not_json = run->keys.of[KEY_NOT_JSON].lines +
	    run->keys.of[KEY_TOO_DEEP].lines;
}

static void
print_stats_json(const struct run *run, const struct results *r)
{
	struct json_print json = { stderr, 0 };

	json_print_open(&json, NULL, '{');
	json_print_count(&json, "read", run->lines_read);
	json_print_count(&json, "new", run->lines_new);
	json_print_count(&json, "repeated", r->repeated);
	json_print_count(&json, "bytes_in", run->bytes_read);
	json_print_count(&json, "bytes_out", run->output.nbytes);
	json_print_real(&json, "seconds", "%.6f", r->seconds);
	json_print_real(&json, "error_rate_now", "%.6g", r->error_rate);
	json_print_real(&json, "expected_dropped", "%.3g",
	    r->dropped < 0 ? (double)NAN : r->dropped);
	json_print_count(&json, "layer_count",
	    filter_table(run->filter)->count);
	json_print_count(&json, "private_bytes", r->costs.private_bytes);
	json_print_count(&json, "not_json", r->not_json);
	json_print_count(&json, "missing", run->keys.of[KEY_MISSING].lines +
	    run->keys.of[KEY_NO_FIELD].lines);
	json_print_count(&json, "not_urls", run->keys.of[KEY_NOT_URL].lines);
	json_print_count(&json, "other_parts", run->lines_passed);
	json_print_close(&json, '}');
	putc('\n', stderr);
}

static void
print_stats(const struct run *run, const struct results *r)
{
	const struct key_recipe *recipe = &run->recipe;
	uint64_t private = r->costs.private_bytes;
	unsigned layers = filter_table(run->filter)->count;
	char a[NUMBER_TEXT], b[NUMBER_TEXT];

	print_count("lines read", run->lines_read);
	print_share("new", run->lines_new, run);
	print_share("repeated", r->repeated, run);
	if (recipe->json_count > 0) {
		print_count("not JSON", r->not_json);
		print_count("without the value",
		    run->keys.of[KEY_MISSING].lines);
	}
	if (recipe->range_count > 0 || recipe->column_count > 0)
		print_count("without the field",
		    run->keys.of[KEY_NO_FIELD].lines);
	if (recipe->url)
		print_count("not a URL", run->keys.of[KEY_NOT_URL].lines);
	if (recipe->parts > 0)
		print_count("of other parts", run->lines_passed);
	print_bytes("bytes read", run->bytes_read);
	print_bytes("bytes written", run->output.nbytes);
	snprintf(a, sizeof a, "%.2f", r->seconds);
	print_row("seconds", a, "");
	print_count("lines a second", lines_a_second(run, r->seconds));
	snprintf(a, sizeof a, "%.1f %%", 100 * figures_fullness(run->filter));
	snprintf(b, sizeof b, "%u layer%s", layers, layers == 1 ? "" : "s");
	print_row("filter full", a, b);
	snprintf(a, sizeof a, "%.3g", r->error_rate);
	print_row("error rate now", a, "");
	snprintf(a, sizeof a, "%.3g", r->dropped);
	print_row("dropped by mistake", r->dropped < 0 ? "unknown" : a, "");
	if (private > 0)
		print_bytes("private memory", private);
}

void
report_keys(const struct key_recipe *r, const struct key_figures *keys,
    uint64_t lines)
{
	struct error error;

	for (int i = 0; i < KEY_TROUBLES; i++) {
		if (key_figures_tell(keys, r, (enum key_trouble)i, &error))
			error_print(error.text);
	}
	if (signals_stop || lines == 0)
		return;
	for (unsigned i = 0; i < r->json_count; i++) {
		if (!(keys->found >> i & 1))
			error_printf("--json=%s: no line has such a value",
			    r->json + r->json_at[i]);
	}
}

static void
end(const struct run *run)
{
	struct results results;

	progress_clear(&report.progress);
	report.progress.on = 0;
	if (!signals_stop)
		warn(run);
	report_keys(&run->recipe, &run->keys, run->lines_read);
	if (report.options->stats != STATS_NONE) {
		gather(run, &results);
		(report.options->stats == STATS_JSON ? print_stats_json :
		    print_stats)(run, &results);
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
	switch (moment) {
	case MOMENT_BEGINS:
		begin(run);
		break;
	case MOMENT_BEFORE_PRINT:
		if (report.progress.shown && prints_on_terminal(run))
			progress_clear(&report.progress);
		break;
	case MOMENT_AFTER_BATCH:
	case MOMENT_INTERRUPTED:
		if (progress_due(&report.progress))
			draw_progress(run);
		if (signals_take_figures())
			print_figures(run);
		break;
	case MOMENT_ENDS:
		end(run);
		break;
	}
}
