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
	const struct run *run; /* NULL: none */
	uint64_t total;        /* bytes of input, 0 if unknown */
	uint64_t started;      /* clock_now */
	struct figures_start before; /* the filter when the run began */
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

	report.run = run;
	report.total = report.options->progress ? input_total(&inputs) : 0;
	report.started = clock_now();
	figures_start(run->filter, &report.before);
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
	    filter_table(f)->count > report.before.table.count &&
	    run->plan->filter != NULL) {
		error_printf("%s: passed the %s lines that it was planned for"
		    " and grew to %s", filter_name(f),
		    number_format_count(a, h->capacity),
		    number_format_bytes(b, filter_bytes(f)));
	}
}

void
report_inherited_recipe(const char *filter, const char *stored)
{
	char text[FORMAT_RECIPE_MAX + 1];

	if (!isatty(STDERR_FILENO))
		return;
	strcpy(text, stored);
	for (char *p = text; *p != '\0'; p++) {
		if (*p == '\n')
			*p = p[1] == '\0' ? '\0' : ' ';
	}
	error_printf("%s: made with key options, which this run uses: %s",
	    filter, text);
}

static double
seconds_so_far(void)
{
	return (double)(clock_now() - report.started) / 1e9;
}

/* One line of figures, for SIGUSR1. */
static void
print_figures(void)
{
	const struct run *run = report.run;
	double seconds = seconds_so_far();
	char a[NUMBER_TEXT], b[NUMBER_TEXT], c[NUMBER_TEXT], text[300];

	snprintf(text, sizeof text, "%s lines read, %s new, %.1f s, %s lines/s,"
	    " filter %.0f %% full", number_format_count(a, run->lines_read),
	    number_format_count(b, run->lines_new), seconds,
	    number_format_count(c, number_whole((double)run->lines_read /
	    (seconds + 1e-9))), 100 * figures_fullness(run->filter));
	report_notice(text);
}

static void
draw_progress(void)
{
	const struct run *run = report.run;
	struct progress_figures figures = { .unit = "lines",
		.count = run->lines_read,
		.share_new = run->lines_read == 0 ? -1 :
		(double)run->lines_new / (double)run->lines_read,
		.fill = figures_fullness(run->filter),
		.done = report.total == 0 ? -1 :
		(double)run->position / (double)report.total };

	progress_draw(&report.progress, &figures);
}

static const char *
dropped_text(char text[NUMBER_TEXT], double dropped)
{
	if (dropped < 0)
		return "unknown";
	snprintf(text, NUMBER_TEXT, "%.3g", dropped);
	return text;
}

/* The traffic of a filter on a server. */
static void
print_traffic(const struct filter_traffic *t)
{
	char a[NUMBER_TEXT], b[NUMBER_TEXT];

	fprintf(stderr, "%-20s%18s\n", "round trips",
	    number_format_count(a, t->round_trips));
	fprintf(stderr, "%-20s%18s%10s\n", "bytes to server",
	    number_format_count(a, t->sent), number_format_bytes(b, t->sent));
	fprintf(stderr, "%-20s%18s%10s\n", "bytes from server",
	    number_format_count(a, t->received),
	    number_format_bytes(b, t->received));
}

static void
print_traffic_json(struct json_print *json, const struct filter_traffic *t)
{
	json_print_count(json, "round_trips", t->round_trips);
	json_print_count(json, "bytes_to_server", t->sent);
	json_print_count(json, "bytes_from_server", t->received);
}

/* Figures that are computed for --stats. */
struct results {
	struct filter_traffic traffic;
	int on_server;
	double seconds, error_rate;
	double dropped;        /* negative: unknown */
	uint64_t repeated, not_json;
};

static void
gather(const struct run *run, struct results *r)
{
	r->on_server = filter_traffic(run->filter, &r->traffic);
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
	json_print_count(&json, "private_bytes",
	    filter_private_bytes(run->filter));
	json_print_count(&json, "not_json", r->not_json);
	json_print_count(&json, "missing", run->keys.of[KEY_MISSING].lines +
	    run->keys.of[KEY_NO_FIELD].lines);
	json_print_count(&json, "not_urls", run->keys.of[KEY_NOT_URL].lines);
	json_print_count(&json, "other_parts", run->lines_passed);
	if (r->on_server)
		print_traffic_json(&json, &r->traffic);
	json_print_close(&json, '}');
	putc('\n', stderr);
}

static void
print_stats(const struct run *run, const struct results *r)
{
	double lines = run->lines_read == 0 ? 1 : (double)run->lines_read;
	uint64_t in = run->bytes_read, out = run->output.nbytes;
	uint64_t private = filter_private_bytes(run->filter);
	unsigned layers = filter_table(run->filter)->count;
	char a[NUMBER_TEXT], b[NUMBER_TEXT];

	fprintf(stderr, "%-20s%18s\n", "lines read",
	    number_format_count(a, run->lines_read));
	fprintf(stderr, "%-20s%18s%8.1f %%\n", "new",
	    number_format_count(a, run->lines_new),
	    100 * (double)run->lines_new / lines);
	fprintf(stderr, "%-20s%18s%8.1f %%\n", "repeated",
	    number_format_count(a, r->repeated),
	    100 * (double)r->repeated / lines);
	if (run->recipe.json_count > 0) {
		fprintf(stderr, "%-20s%18s\n", "not JSON",
		    number_format_count(a, r->not_json));
		fprintf(stderr, "%-20s%18s\n", "without the value",
		    number_format_count(a, run->keys.of[KEY_MISSING].lines));
	}
	if (run->recipe.range_count > 0 || run->recipe.column_count > 0)
		fprintf(stderr, "%-20s%18s\n", "without the field",
		    number_format_count(a, run->keys.of[KEY_NO_FIELD].lines));
	if (run->recipe.url)
		fprintf(stderr, "%-20s%18s\n", "not a URL",
		    number_format_count(a, run->keys.of[KEY_NOT_URL].lines));
	if (run->recipe.parts > 0)
		fprintf(stderr, "%-20s%18s\n", "of other parts",
		    number_format_count(a, run->lines_passed));
	fprintf(stderr, "%-20s%18s%10s\n", "bytes read",
	    number_format_count(a, in), number_format_bytes(b, in));
	fprintf(stderr, "%-20s%18s%10s\n", "bytes written",
	    number_format_count(a, out), number_format_bytes(b, out));
	fprintf(stderr, "%-20s%18.2f\n", "seconds", r->seconds);
	fprintf(stderr, "%-20s%18s\n", "lines a second", number_format_count(a,
	    number_whole((double)run->lines_read / (r->seconds + 1e-9))));
	fprintf(stderr, "%-20s%16.1f %%%10s\n", "filter full",
	    100 * figures_fullness(run->filter), layers == 1 ? "1 layer" :
	    (snprintf(a, sizeof a, "%u layers", layers), a));
	fprintf(stderr, "%-20s%18.3g\n", "error rate now", r->error_rate);
	fprintf(stderr, "%-20s%18s\n", "dropped by mistake",
	    dropped_text(a, r->dropped));
	if (private > 0)
		fprintf(stderr, "%-20s%18s%10s\n", "private memory",
		    number_format_count(a, private),
		    number_format_bytes(b, private));
	if (r->on_server)
		print_traffic(&r->traffic);
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
	report.run = NULL;
}

void
report_run(const struct run *run, enum run_moment moment)
{
	switch (moment) {
	case MOMENT_BEGINS:
		begin(run);
		break;
	case MOMENT_BEFORE_PRINT:
		/* Lines and the live line may share a terminal. */
		if (report.progress.shown && isatty(STDOUT_FILENO))
			progress_clear(&report.progress);
		break;
	case MOMENT_AFTER_BATCH:
	case MOMENT_INTERRUPTED:
		if (progress_due(&report.progress))
			draw_progress();
		if (signals_take_figures())
			print_figures();
		break;
	case MOMENT_ENDS:
		end(run);
		break;
	}
}
