#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fill.h"
#include "num.h"
#include "progress.h"
#include "signals.h"

/* So many pages of a layer say its fill well enough for people. */
#define SAMPLE_PAGES 1000

static struct {
	const struct options *options; /* NULL: no run */
	const struct pipeline *pipeline;
	uint64_t total;        /* bytes of input, 0 if unknown */
	uint64_t started;      /* progress_now */
	unsigned layers_before;
	uint64_t lines_before[FORMAT_LAYERS_MAX];
	struct progress progress;
} report;

void
report_begin(const struct options *options, const struct pipeline *pipeline,
    uint64_t total)
{
	const struct table *table = &pipeline->filter->table;

	report.options = options;
	report.pipeline = pipeline;
	report.total = total;
	report.started = progress_now();
	report.layers_before = table->count;
	for (unsigned i = 0; i < FORMAT_LAYERS_MAX; i++)
		report.lines_before[i] = i < table->count ?
		    table->layers[i].lines : 0;
	progress_start(&report.progress, options->progress);
}

void
report_end(void)
{
	progress_clear(&report.progress);
	report.progress.on = 0;
	report.options = NULL;
}

void
report_notice(const char *text)
{
	progress_clear(&report.progress);
	error_print(text);
}

static const char *
filter_name(void)
{
	return report.options->filter != NULL ? report.options->filter :
	    "the filter in memory";
}

/* What people should know about the filter after the run, once. */
void
report_filter_warnings(void)
{
	struct filter *f = report.pipeline->filter;
	const struct header *h = &f->header;
	char a[NUM_TEXT], b[NUM_TEXT];

	if (f->overfilled > 0) {
		error_printf("%s: more lines than it was made for (%s): new"
		    " ones are now dropped by mistake at a rate of about %.2g,"
		    " not %g",
		    filter_name(), num_format_count(a, h->capacity),
		    fill_error_rate(f, SAMPLE_PAGES), h->error_rate);
	}
	/* In memory nobody planned anything, and nothing is left of it. */
	if (f->table.count > report.layers_before &&
	    report.options->filter != NULL) {
		error_printf("%s: passed the %s lines that it was planned for"
		    " and grew to %s", filter_name(),
		    num_format_count(a, h->capacity),
		    num_format_bytes(b, filter_bytes(f)));
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
	error_printf("%s: it was made with key options, which are in use: %s",
	    filter, text);
}

/* The share of its capacity that is used. */
static double
filter_fullness(const struct filter *f)
{
	double lines = 0, capacity = 0;

	for (unsigned i = 0; i < f->table.count; i++) {
		lines += (double)f->table.layers[i].lines;
		capacity += (double)f->table.layers[i].capacity;
	}
	return lines / capacity;
}

static double
seconds_so_far(void)
{
	return (double)(progress_now() - report.started) / 1e9;
}

/* One line of figures, when SIGUSR1 asks. */
static void
print_figures(void)
{
	const struct pipeline *p = report.pipeline;
	double seconds = seconds_so_far();
	char a[NUM_TEXT], b[NUM_TEXT], c[NUM_TEXT], text[300];

	snprintf(text, sizeof text, "%s lines read, %s new, %.1f s, %s lines/s,"
	    " filter %.0f %% full", num_format_count(a, p->lines_read),
	    num_format_count(b, p->lines_new), seconds,
	    num_format_count(c, (uint64_t)((double)p->lines_read /
	    (seconds + 1e-9))), 100 * filter_fullness(p->filter));
	report_notice(text);
}

void
report_interrupted(void *context)
{
	(void)context;
	if (signals_figures && report.options != NULL) {
		signals_figures = 0;
		print_figures();
	}
}

static void
draw_progress(void)
{
	const struct pipeline *p = report.pipeline;
	struct progress_figures figures = { .unit = "lines",
		.count = p->lines_read,
		.share_new = p->lines_read == 0 ? -1 :
		(double)p->lines_new / (double)p->lines_read,
		.fill = filter_fullness(p->filter),
		.done = report.total == 0 ? -1 :
		(double)input_position(p->input) / (double)report.total };

	progress_draw(&report.progress, &figures);
}

void
report_watch(struct pipeline *p, enum pipeline_moment moment)
{
	(void)p;
	/* Lines and the live line may share a terminal. */
	if (moment == MOMENT_BEFORE_PRINT) {
		if (report.progress.shown && isatty(STDOUT_FILENO))
			progress_clear(&report.progress);
		return;
	}
	report_interrupted(NULL);
	if (progress_due(&report.progress))
		draw_progress();
}

static void
print_stats(void)
{
	const struct pipeline *p = report.pipeline;
	struct filter *f = p->filter;
	double seconds = seconds_so_far();
	double rate = fill_error_rate(f, SAMPLE_PAGES);
	double dropped = fill_expected_dropped(f, report.lines_before);
	double lines = p->lines_read == 0 ? 1 : (double)p->lines_read;
	uint64_t repeated = p->lines_read - p->lines_new;
	uint64_t in = input_bytes(p->input), out = p->output->nbytes;
	uint64_t private = filter_private_bytes(f);
	char a[NUM_TEXT], b[NUM_TEXT];

	if (report.options->stats == STATS_JSON) {
		fprintf(stderr, "{\"read\": %" PRIu64 ", \"new\": %" PRIu64
		    ", \"repeated\": %" PRIu64 ", \"bytes_in\": %" PRIu64
		    ", \"bytes_out\": %" PRIu64 ", \"seconds\": %.6f,"
		    " \"error_rate_now\": %.6g, \"expected_dropped\": %.6g,"
		    " \"layer_count\": %u, \"private_bytes\": %" PRIu64
		    "}\n", p->lines_read, p->lines_new, repeated, in, out,
		    seconds, rate, dropped, f->table.count, private);
		return;
	}
	fprintf(stderr, "%-20s%18s\n", "lines read",
	    num_format_count(a, p->lines_read));
	fprintf(stderr, "%-20s%18s%8.1f %%\n", "new",
	    num_format_count(a, p->lines_new),
	    100 * (double)p->lines_new / lines);
	fprintf(stderr, "%-20s%18s%8.1f %%\n", "repeated",
	    num_format_count(a, repeated), 100 * (double)repeated / lines);
	fprintf(stderr, "%-20s%18s%10s\n", "bytes read",
	    num_format_count(a, in), num_format_bytes(b, in));
	fprintf(stderr, "%-20s%18s%10s\n", "bytes written",
	    num_format_count(a, out), num_format_bytes(b, out));
	fprintf(stderr, "%-20s%18.2f\n", "seconds", seconds);
	fprintf(stderr, "%-20s%18s\n", "lines a second", num_format_count(a,
	    (uint64_t)((double)p->lines_read / (seconds + 1e-9))));
	fprintf(stderr, "%-20s%16.1f %%%10s\n", "filter full",
	    100 * filter_fullness(f), f->table.count == 1 ? "1 layer" :
	    (snprintf(a, sizeof a, "%u layers", f->table.count), a));
	fprintf(stderr, "%-20s%18.3g\n", "error rate now", rate);
	fprintf(stderr, "%-20s%18.3g\n", "dropped by mistake", dropped);
	if (private > 0)
		fprintf(stderr, "%-20s%18s%10s\n", "private memory",
		    num_format_count(a, private),
		    num_format_bytes(b, private));
}

void
report_stats(void)
{
	if (report.options->stats == STATS_NONE)
		return;
	progress_clear(&report.progress);
	print_stats();
}
