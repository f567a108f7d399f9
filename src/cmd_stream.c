/* The commands that lines stream through: filter, add and check. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "num.h"
#include "pipeline.h"
#include "progress.h"
#include "signals.h"
#include "sizing.h"

/* Two runs can make the same file; who comes second opens the first one's. */
#define CREATE_TRIES 5

/* So many pages of a layer say its fill well enough for people. */
#define SAMPLE_PAGES 1000

static void run_notice(const char *text);
static void run_interrupted(void *context);

static struct input_plan
plan_input(const struct options *o, const struct key_recipe *recipe)
{
	static char dash[] = "-", *standard_input[] = { dash };
	struct input_plan plan = { .paths = standard_input, .count = 1,
		.terminator = recipe->zero_terminated ? '\0' : '\n',
		.csv = recipe->csv, .separator = (uint8_t)recipe->separator,
		.gunzip = o->gunzip, .report = run_notice,
		.interrupted = run_interrupted };

	if (o->operand_count > 0) {
		plan.paths = o->operands;
		plan.count = o->operand_count;
	}
	return plan;
}

/* Two significant digits, upwards: plans are made in round numbers. */
static uint64_t
round_up(uint64_t lines)
{
	uint64_t unit = 1;

	while (lines / unit >= 100)
		unit *= 10;
	return (lines + unit - 1) / unit * unit;
}

/* What to make if there is no filter yet. */
static int
plan_filter(const struct options *o, const struct key_recipe *recipe,
    struct filter_plan *plan, struct error *error)
{
	int growth = o->growth < 0 ? GROWTH_GROW : o->growth;
	struct sizing sizing = { .capacity = o->capacity,
		.error_rate = o->error_rate > 0 ? o->error_rate :
		SIZING_RATE_DEFAULT, .fixed = growth != GROWTH_GROW };
	char text[NUM_TEXT], limit[NUM_TEXT];

	if (o->capacity == 0) {
		struct input_plan inputs = plan_input(o, recipe);
		uint64_t lines = input_estimate(&inputs);

		/* The sample's mean is not quite the whole's. */
		sizing.capacity = round_up(lines + lines / 32);
		if (sizing.capacity < SIZING_CAPACITY_DEFAULT)
			sizing.capacity = SIZING_CAPACITY_DEFAULT;
	}
	if (sizing_solve(&sizing, error) < 0)
		return -1;
	if (sizing.bytes > o->max_bytes && o->capacity == 0) {
		/* Nobody asked for so many: as many as are allowed. */
		sizing.capacity = 0;
		sizing.bytes = o->max_bytes;
		sizing.k = 0;
		if (sizing_solve(&sizing, error) < 0)
			return -1;
	} else if (sizing.bytes > o->max_bytes) {
		return error_set(error, STATUS_USAGE, "--capacity=%s needs %s,"
		    " which is more than --max-size allows (%s)",
		    num_format_count(text, o->capacity),
		    num_format_binary((char[NUM_TEXT]){ 0 }, sizing.bytes),
		    num_format_binary(limit, o->max_bytes));
	}
	*plan = (struct filter_plan){ .capacity = sizing.capacity,
		.error_rate = sizing.error_rate, .geometry = sizing.geometry,
		.growth = (enum growth)growth };
	key_recipe_format(recipe, plan->recipe);
	return 0;
}

/* The filter's recipe is this run's, and what was given of it must agree. */
static int
inherit_recipe(struct key_recipe *recipe, const struct filter *filter,
    struct error *error)
{
	struct key_recipe stored;
	const char *path = filter->store.path;

	if (key_recipe_parse(&stored, filter->header.recipe) < 0) {
		return error_set(error, STATUS_FAILED, "%s: its key options"
		    " are unknown to this version of bloomdedup", path);
	}
	if (key_recipe_inherit(recipe, &stored, error) < 0) {
		return error_set(error, error->status, "%s: %s", path,
		    error->text);
	}
	return 0;
}

/* Options that describe the filter must say what the file says. */
static int
check_contradictions(const struct options *o, const struct filter *filter,
    struct key_recipe *recipe, struct error *error)
{
	const struct header *h = &filter->header;
	const char *path = filter->store.path;
	char text[NUM_TEXT], other[NUM_TEXT];

	if (o->capacity != 0 && o->capacity != h->capacity) {
		return error_set(error, STATUS_USAGE, "%s: made for"
		    " --capacity=%s, which contradicts --capacity=%s", path,
		    num_format_count(text, h->capacity),
		    num_format_count(other, o->capacity));
	}
	/* 0.1% and 1/1000 may differ in the last digit */
	if (o->error_rate > 0 &&
	    fabs(o->error_rate - h->error_rate) > 1e-9 * h->error_rate) {
		return error_set(error, STATUS_USAGE, "%s: made for"
		    " --error-rate=%g, which contradicts --error-rate=%g",
		    path, h->error_rate, o->error_rate);
	}
	if (o->growth == GROWTH_GROW && h->growth != GROWTH_GROW) {
		return error_set(error, STATUS_USAGE, "%s: made with"
		    " --on-full=%s, which contradicts --on-full=grow", path,
		    format_growth_name(h->growth));
	}
	return inherit_recipe(recipe, filter, error);
}

/* Open the filter that the options name, or make it. */
static int
get_filter(struct filter *filter, const struct options *o,
    struct key_recipe *recipe, struct error *error)
{
	const struct store_wait wait = { o->lock_timeout, run_notice };
	struct filter_plan plan;
	int result = 1;

	for (int i = 0; result == 1 && i < CREATE_TRIES; i++) {
		if (o->filter != NULL)
			result = filter_open(filter, o->filter, 1, &wait,
			    error);
		if (result == 0 &&
		    check_contradictions(o, filter, recipe, error) < 0) {
			struct error second;
			filter_close(filter, &second);
			return -1;
		}
		if (result == 1) {
			if (key_recipe_complete(recipe, error) < 0 ||
			    plan_filter(o, recipe, &plan, error) < 0)
				return -1;
			result = filter_create(filter, o->filter, 0, &plan,
			    error);
		}
	}
	if (result == 1) {
		return error_set(error, STATUS_FAILED, "%s: a link to a file"
		    " that doesn't exist, or a file that comes and goes",
		    o->filter);
	}
	if (result < 0)
		return -1;
	if (o->growth >= 0)
		filter->growth = (enum growth)o->growth;
	filter->max_bytes = o->max_bytes;
	return 0;
}

/* One run of the pipeline, with all that is closed at its end. */
struct run {
	const struct options *options;
	struct filter filter;
	struct key_recipe recipe;
	struct pipeline pipeline;
	struct output output, duplicates;
	uint64_t started;     /* progress_now */
	uint64_t input_total; /* bytes, 0 if unknown */
	uint64_t before[FORMAT_LAYERS_MAX]; /* lines in the layers */
	unsigned layers_before;
};

static void
count_lines(struct run *run)
{
	const struct table *table = &run->filter.table;

	run->layers_before = table->count;
	for (unsigned i = 0; i < table->count; i++)
		run->before[i] = table->layers[i].lines;
}

static const char *
filter_name(const struct run *run)
{
	return run->options->filter != NULL ? run->options->filter :
	    "the filter in memory";
}

/* What people should know about the filter after the run, once. */
static void
warn_about_filter(const struct run *run)
{
	const struct filter *f = &run->filter;
	const struct header *h = &f->header;
	char a[NUM_TEXT], b[NUM_TEXT];

	if (f->overfilled > 0) {
		error_printf("%s: more lines than it was made for (%s): new"
		    " ones are now lost at a rate of about %.2g, not %g",
		    filter_name(run), num_format_count(a, h->capacity),
		    filter_error_rate(f, SAMPLE_PAGES), h->error_rate);
	}
	/* In memory nobody planned anything, and nothing is left of it. */
	if (f->table.count > run->layers_before &&
	    run->options->filter != NULL) {
		error_printf("%s: passed the %s lines that it was planned for"
		    " and grew to %s", filter_name(run),
		    num_format_count(a, h->capacity),
		    num_format_bytes(b, filter_bytes(f)));
	}
}

static void
warn_about_recipe(const struct run *run, const struct key_recipe *given)
{
	char stored[KEY_RECIPE_TEXT], asked[KEY_RECIPE_TEXT];

	if (!isatty(STDERR_FILENO))
		return;
	key_recipe_format(&run->recipe, stored);
	key_recipe_format(given, asked);
	if (strcmp(stored, asked) == 0)
		return;
	for (char *p = stored; *p != '\0'; p++) {
		if (*p == '\n')
			*p = p[1] == '\0' ? '\0' : ' ';
	}
	error_printf("%s: it was made with key options, which are in use: %s",
	    filter_name(run), stored);
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

/*
 * What the callbacks of the run's parts work on: one run a process, and they
 * come without a context from where it is not known.
 */
static struct run *current;
static struct progress progress;

static void
run_notice(const char *text)
{
	progress_clear(&progress);
	error_print(text);
}

static double
run_seconds(const struct run *run)
{
	return (double)(progress_now() - run->started) / 1e9;
}

/* One line of figures, when SIGUSR1 asks. */
static void
print_figures(const struct run *run)
{
	const struct pipeline *p = &run->pipeline;
	double seconds = run_seconds(run);
	char a[NUM_TEXT], b[NUM_TEXT], c[NUM_TEXT], text[300];

	snprintf(text, sizeof text, "%s lines read, %s new, %.1f s, %s lines/s,"
	    " filter %.0f %% full", num_format_count(a, p->lines_read),
	    num_format_count(b, p->lines_new), seconds,
	    num_format_count(c, (uint64_t)((double)p->lines_read /
	    (seconds + 1e-9))), 100 * filter_fullness(&run->filter));
	run_notice(text);
}

static void
run_interrupted(void *context)
{
	(void)context;
	if (signals_figures && current != NULL) {
		signals_figures = 0;
		print_figures(current);
	}
}

static void
draw_progress(const struct run *run)
{
	const struct pipeline *p = &run->pipeline;
	struct progress_figures figures = { .unit = "lines",
		.count = p->lines_read,
		.share_new = p->lines_read == 0 ? -1 :
		(double)p->lines_new / (double)p->lines_read,
		.fill = filter_fullness(&run->filter),
		.done = run->input_total == 0 ? -1 :
		(double)input_position(p->input) / (double)run->input_total };

	progress_draw(&progress, &figures);
}

static void
run_watch(struct pipeline *p, enum pipeline_moment moment)
{
	(void)p;
	/* Lines and the live line may share a terminal. */
	if (moment == MOMENT_BEFORE_PRINT) {
		if (progress.shown && isatty(STDOUT_FILENO))
			progress_clear(&progress);
		return;
	}
	run_interrupted(NULL);
	if (progress_due(&progress))
		draw_progress(current);
}

static void
print_stats(const struct run *run)
{
	const struct pipeline *p = &run->pipeline;
	const struct filter *f = &run->filter;
	double seconds = run_seconds(run);
	double rate = filter_error_rate(f, SAMPLE_PAGES);
	double dropped = filter_expected_dropped(f, run->before);
	double lines = p->lines_read == 0 ? 1 : (double)p->lines_read;
	uint64_t repeated = p->lines_read - p->lines_new;
	uint64_t in = input_bytes(p->input), out = run->output.nbytes;
	char a[NUM_TEXT], b[NUM_TEXT];

	if (run->options->stats == STATS_JSON) {
		fprintf(stderr, "{\"read\": %" PRIu64 ", \"new\": %" PRIu64
		    ", \"repeated\": %" PRIu64 ", \"bytes_in\": %" PRIu64
		    ", \"bytes_out\": %" PRIu64 ", \"seconds\": %.6f,"
		    " \"error_rate_now\": %.6g, \"expected_dropped\": %.6g,"
		    " \"layer_count\": %u}\n", p->lines_read, p->lines_new,
		    repeated, in, out, seconds, rate, dropped,
		    f->table.count);
		return;
	}
	fprintf(stderr, "%-18s%18s\n", "lines read",
	    num_format_count(a, p->lines_read));
	fprintf(stderr, "%-18s%18s%8.1f %%\n", "new",
	    num_format_count(a, p->lines_new),
	    100 * (double)p->lines_new / lines);
	fprintf(stderr, "%-18s%18s%8.1f %%\n", "repeated",
	    num_format_count(a, repeated), 100 * (double)repeated / lines);
	fprintf(stderr, "%-18s%18s%10s\n", "bytes read",
	    num_format_count(a, in), num_format_bytes(b, in));
	fprintf(stderr, "%-18s%18s%10s\n", "bytes written",
	    num_format_count(a, out), num_format_bytes(b, out));
	fprintf(stderr, "%-18s%18.2f\n", "seconds", seconds);
	fprintf(stderr, "%-18s%18s\n", "lines a second", num_format_count(a,
	    (uint64_t)((double)p->lines_read / (seconds + 1e-9))));
	fprintf(stderr, "%-18s%16.1f %%%10s\n", "filter full",
	    100 * filter_fullness(f), f->table.count == 1 ? "1 layer" :
	    (snprintf(a, sizeof a, "%u layers", f->table.count), a));
	fprintf(stderr, "%-18s%18.3g\n", "error rate now", rate);
	fprintf(stderr, "%-18s%18.3g\n", "lost by mistake", dropped);
}

/* Open what is written to; outputs are cut off only when all is well. */
static int
open_outputs(struct run *run, const struct input_plan *inputs,
    struct error *error)
{
	const struct options *o = run->options;
	struct pipeline *p = &run->pipeline;

	if (p->print != PRINT_NOTHING) {
		if (output_open(&run->output, o->output, inputs, o->filter,
		    error) < 0)
			return -1;
		if (o->filter != NULL && p->remember &&
		    output_mend(&run->output, inputs->terminator, run_notice,
		    error) < 0)
			return -1;
	}
	if (o->duplicates != NULL) {
		if (output_open(&run->duplicates, o->duplicates, inputs,
		    o->filter, error) < 0)
			return -1;
		p->duplicates = &run->duplicates;
	}
	return 0;
}

/* Keep the first error in `error`, print a later one. */
static void
join_errors(int *result, int later, struct error *error,
    const struct error *second)
{
	if (later >= 0)
		return;
	if (*result < 0)
		run_notice(second->text);
	else
		*error = *second;
	*result = -1;
}

/*
 * Run the pipeline on an open filter and close everything, in the order in
 * which it is safe: outputs before the filter.
 */
static int
run_pipeline(struct run *run, struct error *error)
{
	const struct options *o = run->options;
	struct input_plan inputs = plan_input(o, &run->recipe);
	struct pipeline *p = &run->pipeline;
	struct error second;
	int result, failed = 0;

	run->output.fd = run->duplicates.fd = -1;
	run->started = progress_now();
	p->filter = &run->filter;
	p->recipe = &run->recipe;
	p->output = &run->output;
	p->watch = run_watch;
	if (o->quiet)
		p->print = PRINT_NOTHING;
	current = run;
	count_lines(run);
	warn_about_recipe(run, &o->recipe);
	result = open_outputs(run, &inputs, error);
	if (result == 0) {
		if (o->progress)
			run->input_total = input_total(&inputs);
		progress_start(&progress, o->progress);
		p->input = input_new(&inputs);
		result = pipeline_run(p, error);
		failed = input_failed(p->input);
		progress_clear(&progress);
	}
	join_errors(&result, output_close(&run->output, &second), error,
	    &second);
	join_errors(&result, output_close(&run->duplicates, &second), error,
	    &second);
	if (!signals_stop && run->filter.writable)
		warn_about_filter(run);
	if (o->stats != STATS_NONE && p->input != NULL)
		print_stats(run);
	join_errors(&result, filter_close(&run->filter, &second), error,
	    &second);
	input_free(p->input);
	current = NULL;
	return result < 0 ? -1 : failed ? STATUS_FAILED : STATUS_OK;
}

static int
run_remember(const struct options *o, enum pipeline_print print,
    struct error *error)
{
	struct run run = { .options = o, .recipe = o->recipe,
		.pipeline = { .print = print, .remember = 1 } };
	int status;

	if (get_filter(&run.filter, o, &run.recipe, error) < 0)
		return -1;
	status = run_pipeline(&run, error);
	if (status == STATUS_OK && o->quiet && run.pipeline.lines_new == 0)
		status = STATUS_NO;
	return status;
}

static int
need_filter(const struct options *o, struct error *error)
{
	if (o->filter != NULL)
		return 0;
	return error_set(error, STATUS_USAGE, "bloomdedup %s needs a filter:"
	    " -f FILTER", options_command_names[o->command]);
}

static int
run_filter(const struct options *o, struct error *error)
{
	return run_remember(o, o->repeated ? PRINT_SEEN : PRINT_NEW, error);
}

static int
run_add(const struct options *o, struct error *error)
{
	if (need_filter(o, error) < 0)
		return -1;
	return run_remember(o, PRINT_NOTHING, error);
}

static int
run_check(const struct options *o, struct error *error)
{
	struct run run = { .options = o, .recipe = o->recipe,
		.pipeline = { .print = o->invert ? PRINT_NEW : PRINT_SEEN } };
	const struct pipeline *p = &run.pipeline;
	uint64_t matches;
	int status;

	if (need_filter(o, error) < 0)
		return -1;
	status = filter_open(&run.filter, o->filter, 0, NULL, error);
	if (status > 0) {
		return error_set(error, STATUS_FAILED, "%s: there is no such"
		    " file", o->filter);
	}
	if (status == 0 && check_contradictions(o, &run.filter, &run.recipe,
	    error) < 0) {
		struct error second;
		filter_close(&run.filter, &second);
		status = -1;
	}
	if (status < 0)
		return -1;
	status = run_pipeline(&run, error);
	matches = o->invert ? p->lines_new : p->lines_read - p->lines_new;
	if (status == STATUS_OK && matches == 0)
		status = STATUS_NO;
	return status;
}

const struct command_entry command_filter = { .run = run_filter, .help =
"Usage: bloomdedup [-f FILTER] [OPTION]... [FILE]...\n"
"   or: bloomdedup COMMAND [OPTION]... [OPERAND]...\n"
"\n"
"Print the lines that were never seen before, at once and in their order.\n"
"With -f they are kept in the file FILTER, and the next run goes on from\n"
"there. Without FILE, or where FILE is -, read standard input. Files that\n"
"are compressed with gzip are inflated.\n"
"\n"
"  -f, --filter=FILTER     remember lines in this file; made on first use\n"
"  -o, --output=FILE       print to FILE instead of standard output\n"
"  -d, --repeated          print the lines that were seen before instead\n"
"      --duplicates=FILE   also write the lines that were seen before to FILE\n"
"  -q, --quiet             print no lines; exit with 1 if none was new\n"
"      --stats[=json]      figures at the end, on standard error\n"
"      --progress          a live line of figures, on a terminal\n"
"\n"
"What of a line is compared (it is printed whole); FILTER keeps it in mind:\n"
"  -z, --zero-terminated   lines end in NUL, not in newline\n"
"  -k, --key=LIST          these fields, such as 2 or 1,3 or 2-4 or 2-\n"
"  -t, --field-separator=C what separates fields [runs of blanks]\n"
"      --csv               fields may be quoted, also over several lines\n"
"      --strip-cr          not a CR at the end\n"
"      --trim              not blanks at both ends\n"
"  -s, --skip-chars=N      not the first N bytes\n"
"  -w, --check-chars=N     not more than N bytes\n"
"  -i, --ignore-case       not whether letters (A to Z) are large or small\n"
"\n"
"The filter:\n"
"  -n, --capacity=N        how many lines to plan for, such as 1e8; more make\n"
"                          the filter grow [1000000, or as the input needs]\n"
"  -p, --error-rate=P      share of new lines that may be lost by mistake\n"
"                          [1e-6]\n"
"      --on-full=WHAT      beyond N: grow, warn or fail [grow]\n"
"      --max-size=SIZE     how large the filter may become, such as 2G\n"
"      --lock-timeout=SEC  how long to wait for another run that uses FILTER\n"
"                          [60]\n"
"      --no-gunzip         read compressed files as they are\n"
"  -h, --help              this help; with COMMAND, its own\n"
"  -V, --version           the version\n"
"\n"
"Commands:\n"
"  add      remember lines, print nothing\n"
"  check    print the lines that are in a filter, remember nothing\n"
"  create   make an empty filter\n"
"  info     what is in a filter, how full it is\n"
"  merge    make one filter of several\n"
"  size     how much memory so many lines need\n"
"  try      the same in short: bloomdedup try 1e8 0.00001\n"
"\n"
"Exit status: 0 done, 1 nothing new (with -q), 2 wrong usage, 3 a file failed,\n"
"4 the filter is full, 75 another run uses the filter.\n"
};

const struct command_entry command_add = { .run = run_add, .help =
"Usage: bloomdedup add -f FILTER [OPTION]... [FILE]...\n"
"\n"
"Remember the lines of FILEs (or standard input) and print nothing.\n"
"\n"
"  -f, --filter=FILTER     remember lines in this file; made on first use\n"
"  -q, --quiet             exit with 1 if no line was new\n"
"  -z, -k, -t, --csv, --strip-cr, --trim, -s, -w, -i\n"
"                          what of a line is compared: see bloomdedup --help\n"
"      --stats[=json]      figures at the end, on standard error\n"
"      --progress          a live line of figures, on a terminal\n"
"  -n, --capacity=N        how many lines to plan for\n"
"  -p, --error-rate=P      share of new lines that may be lost by mistake\n"
"      --on-full=WHAT      beyond N: grow, warn or fail [grow]\n"
"      --max-size=SIZE     how large the filter may become, such as 2G\n"
"      --lock-timeout=SEC  how long to wait for another run [60]\n"
"      --no-gunzip         read compressed files as they are\n"
"  -h, --help              this help\n"
};

const struct command_entry command_check = { .run = run_check, .help =
"Usage: bloomdedup check -f FILTER [OPTION]... [FILE]...\n"
"\n"
"Print the lines of FILEs (or standard input) that are in FILTER. Nothing is\n"
"remembered, and FILTER may be read-only.\n"
"\n"
"  -f, --filter=FILTER     the filter to look into\n"
"  -v, --invert            print the lines that are not in it\n"
"  -q, --quiet             print nothing; the exit status tells\n"
"  -o, --output=FILE       print to FILE instead of standard output\n"
"  -z, -k, -t, --csv, --strip-cr, --trim, -s, -w, -i\n"
"                          what of a line is compared: see bloomdedup --help\n"
"      --stats[=json]      figures at the end, on standard error\n"
"      --progress          a live line of figures, on a terminal\n"
"      --no-gunzip         read compressed files as they are\n"
"  -h, --help              this help\n"
"\n"
"Exit status: 0 if there was such a line, 1 if there was none.\n"
};
