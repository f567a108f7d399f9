/*
 * try: the short form of size. With --measure, the error rate and the speed of
 * a real filter, which is made in memory, filled, and asked for other lines.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/os.h"
#include "base/signals.h"
#include "bits/loops.h"
#include "cli/command.h"
#include "cli/filter_options.h"
#include "cli/json_print.h"
#include "cli/report.h"

#define BATCH 1024
/* Aim for this many false positives: enough to know the rate to a few %. */
#define WANTED_FALSE 1000
#define LOOKUPS_MAX 100000000u

struct measured {
	uint64_t all, done;     /* additions and lookups */
	uint64_t lookups, found;
	double fill_seconds, lookup_seconds; /* the filter's own time */
};

/*
 * Mark lines number [first, first + count), or look them up. They are short
 * decimal numbers, as keys often are.
 */
static int
mark_or_probe(struct filter *f, uint64_t first, uint64_t count, int mark,
    struct measured *m, struct error *error)
{
	double *seconds = mark ? &m->fill_seconds : &m->lookup_seconds;
	static char text[BATCH][24];
	static struct key keys[BATCH];
	static struct digest digests[BATCH];
	static uint8_t found[BATCH];
	size_t n;

	for (uint64_t at = 0; at < count && !signals_stop; at += n) {
		uint64_t start;
		int result;

		n = count - at < BATCH ? (size_t)(count - at) : BATCH;
		for (size_t i = 0; i < n; i++) {
			keys[i].data = (const uint8_t *)text[i];
			keys[i].nbytes = (size_t)snprintf(text[i],
			    sizeof text[i], "%" PRIu64, first + at + i);
		}
		loops()->digest(&filter_header(f)->hash, keys, n, digests);
		start = clock_now();
		filter_prefetch(f, digests, n);
		if (mark)
			result = filter_mark(f, digests, n, error);
		else
			result = filter_probe(f, digests, n, found, error);
		if (result < 0)
			return -1;
		*seconds += (double)(clock_now() - start) / 1e9;
		if (!mark) {
			for (size_t i = 0; i < n; i++)
				m->found += found[i];
			m->lookups += n;
		}
		m->done += n;
		report_work(mark ? "lines added" : "lines looked up", at + n,
		    (double)m->done / (double)m->all);
	}
	return 0;
}

static void
print(const struct sizing *sizing, const struct measured *m, int json)
{
	const struct figure figures[] = {
		{ "capacity", .count = sizing->capacity },
		{ "error_rate", "%.10g", .real = sizing->error_rate },
		{ "bytes", .count = sizing->bytes },
		{ "lookups", .count = m->lookups },
		{ "found", .count = m->found },
		{ "error_rate_measured", "%.6g",
		    .real = (double)m->found / (double)m->lookups },
		{ "error_rate_predicted", "%.6g", .real =
		    geometry_rate(&sizing->geometry, sizing->capacity) },
		{ "adds_per_second", .count =
		    report_per_second(sizing->capacity, m->fill_seconds) },
		{ "lookups_per_second", .count =
		    report_per_second(m->lookups, m->lookup_seconds) }
	};

	const size_t count = sizeof figures / sizeof *figures;

	if (json)
		json_print_object(stdout, figures, count);
	else
		json_print_table(stdout, figures, count);
}

static int
measure(const struct options *o, const struct sizing *sizing,
    struct error *error)
{
	struct filter_design design = filter_options_design(o, sizing,
	    &(struct key_recipe)KEY_RECIPE_NONE);
	struct measured measured = { 0 };
	const struct filter_use use = FILTER_WRITE;
	struct filter *filter;
	uint64_t lookups, available = os_memory_available();
	char a[NUMBER_TEXT], b[NUMBER_TEXT];
	int result;

	if (sizing->bytes > available) {
		return error_set(error, STATUS_FAILED, "--measure makes the"
		    " filter in memory: it needs %s, only %s is available",
		    number_format_binary(a, sizing->bytes),
		    number_format_binary(b, available));
	}
	if (filter_create(&filter, NULL, 0, &design, &use, error) < 0)
		return -1;
	lookups = (uint64_t)fmin(LOOKUPS_MAX,
	    fmax(1000000, WANTED_FALSE / sizing->error_rate));
	measured.all = sizing->capacity + lookups;
	report_work_begins(isatty(STDERR_FILENO));
	result = mark_or_probe(filter, 0, sizing->capacity, 1, &measured,
	    error);
	if (result == 0)
		result = mark_or_probe(filter, sizing->capacity, lookups, 0,
		    &measured, error);
	report_work_ends();
	if (result < 0) {
		filter_release(filter);
		return -1;
	}
	/* After a signal, print nothing: main ends the program. */
	if (!signals_stop)
		print(sizing, &measured, o->json);
	return filter_close(filter, error);
}

static int
run_try(const struct options *o, struct error *error)
{
	struct sizing sizing;
	char text[NUMBER_TEXT];
	const char *shown;
	double rate;
	int status;

	if (o->measure) {
		if (filter_options_solve(&sizing, o, error) < 0)
			return -1;
		return measure(o, &sizing, error);
	}
	status = command_size.run(o, error);
	if (status != STATUS_OK || o->json)
		return status;
	/* A rate with more digits, such as 1/3, is shown as it was given. */
	number_format_rate(text, o->error_rate);
	number_rate(text, &rate);
	shown = text;
	if (rate < o->error_rate || rate > o->error_rate)
		shown = o->operands.items[1];
	printf("\nMake it: bloomdedup create -n %" PRIu64 " -p %s",
	    o->capacity, shown);
	if (o->hashes != 0)
		printf(" --hashes=%u", o->hashes);
	if (o->run.use.growth > GROWTH_GROW)
		printf(" --on-full=%s",
		    growth_name((enum growth)o->run.use.growth));
	puts(" FILTER");
	return STATUS_OK;
}

const struct command command_try = {
	.name = "try", .run = run_try,
	.summary = "compute the same, in short: bloomdedup try 1e8 0.00001",
	.usage = "try N P [OPTION]...",
	.intro = "Print how much memory N lines at an error rate of P need, and"
	    " how many hash functions: bloomdedup try 1e8 0.00001",
	.operands_min = 2, .operands_max = 2,
	.operands_are = { "capacity", "error-rate" },
	.takes = "try takes a number of lines and an error rate: bloomdedup"
	    " try 1e8 0.00001",
};
