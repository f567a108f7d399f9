/* The commands that lines stream through: filter, add and check. */
#include <math.h>
#include <string.h>

#include "command.h"
#include "num.h"
#include "pipeline.h"
#include "signals.h"
#include "sizing.h"

/* As the line is stored in a filter's recipe; see format.h. */
#define RECIPE_ZERO_TERMINATED "zero-terminated\n"

/* Two runs can make the same file; who comes second opens the first one's. */
#define CREATE_TRIES 5

static const char *
recipe(const struct options *o)
{
	return o->zero_terminated ? RECIPE_ZERO_TERMINATED : "";
}

static struct input_plan
plan_input(const struct options *o, int zero_terminated)
{
	static char dash[] = "-", *standard_input[] = { dash };
	struct input_plan plan = { .paths = standard_input, .count = 1,
		.terminator = zero_terminated ? '\0' : '\n',
		.gunzip = o->gunzip, .report = error_print };

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
plan_filter(const struct options *o, struct filter_plan *plan,
    struct error *error)
{
	int growth = o->growth < 0 ? GROWTH_GROW : o->growth;
	struct sizing sizing = { .capacity = o->capacity,
		.error_rate = o->error_rate > 0 ? o->error_rate :
		SIZING_RATE_DEFAULT, .fixed = growth != GROWTH_GROW };
	char text[NUM_TEXT], limit[NUM_TEXT];

	if (o->capacity == 0) {
		struct input_plan inputs = plan_input(o, o->zero_terminated);
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
		.growth = (enum growth)growth, .recipe = recipe(o) };
	return 0;
}

/* Options that describe the filter must say what the file says. */
static int
check_contradictions(const struct options *o, const struct filter *filter,
    struct error *error)
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
	if (strcmp(h->recipe, "") != 0 &&
	    strcmp(h->recipe, RECIPE_ZERO_TERMINATED) != 0) {
		return error_set(error, STATUS_FAILED, "%s: made by a newer"
		    " version of bloomdedup: its key options are unknown",
		    path);
	}
	if (o->zero_terminated && strcmp(h->recipe, "") == 0) {
		return error_set(error, STATUS_USAGE, "%s: made for lines that"
		    " end in a newline, which contradicts --zero-terminated",
		    path);
	}
	return 0;
}

/* Open the filter that the options name, or make it. */
static int
get_filter(struct filter *filter, const struct options *o,
    struct error *error)
{
	const struct store_wait wait = { o->lock_timeout, error_print };
	struct filter_plan plan;
	int result = 1;

	for (int i = 0; result == 1 && i < CREATE_TRIES; i++) {
		if (o->filter != NULL)
			result = filter_open(filter, o->filter, 1, &wait,
			    error);
		if (result == 0 &&
		    check_contradictions(o, filter, error) < 0) {
			struct error second;
			filter_close(filter, &second);
			return -1;
		}
		if (result == 1) {
			if (plan_filter(o, &plan, error) < 0)
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

static void
warn_overfilled(const struct filter *filter)
{
	double rate = 0;
	unsigned last = filter->table.count - 1;

	if (filter->overfilled == 0)
		return;
	for (unsigned i = 0; i <= last; i++)
		rate += filter_layer_fill(filter, i, 1000).error_rate;
	error_printf("%s: more lines than it was made for (%llu); new ones are"
	    " now dropped by mistake at a rate of about %.2g, not %g",
	    filter->store.path != NULL ? filter->store.path : "in memory",
	    (unsigned long long)filter->header.capacity, rate,
	    filter->header.error_rate);
}

/*
 * Run the pipeline and close everything, in the order in which it is safe:
 * output before filter. The first error is returned, another one is printed.
 */
static int
run_pipeline(struct pipeline *p, const struct options *o,
    const struct input_plan *inputs, struct error *error)
{
	struct output output = { .fd = -1 };
	struct error second;
	int result = 0, failed = 0;

	p->output = &output;
	p->terminator = inputs->terminator;
	if (o->quiet)
		p->print = PRINT_NOTHING;
	if (p->print != PRINT_NOTHING)
		result = output_open(&output, o->output, inputs, o->filter,
		    error);
	if (result == 0 && p->print != PRINT_NOTHING && o->filter != NULL &&
	    p->remember)
		result = output_mend(&output, p->terminator, error_print,
		    error);
	if (result == 0) {
		p->input = input_new(inputs);
		result = pipeline_run(p, error);
		failed = input_failed(p->input);
		input_free(p->input);
	}
	if (output_close(&output, &second) < 0) {
		if (result < 0)
			error_print(error->text);
		*error = second;
		result = -1;
	}
	if (!signals_stop && p->filter->writable)
		warn_overfilled(p->filter);
	if (filter_close(p->filter, &second) < 0) {
		if (result < 0)
			error_print(error->text);
		*error = second;
		result = -1;
	}
	return result < 0 ? -1 : failed ? STATUS_FAILED : STATUS_OK;
}

static int
run_remember(const struct options *o, enum pipeline_print print,
    struct error *error)
{
	struct filter filter;
	struct pipeline p = { .filter = &filter, .print = print,
		.remember = 1 };
	struct input_plan inputs;
	int status;

	if (get_filter(&filter, o, error) < 0)
		return -1;
	inputs = plan_input(o, filter.header.recipe[0] != '\0');
	status = run_pipeline(&p, o, &inputs, error);
	if (status == STATUS_OK && o->quiet && p.lines_new == 0)
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
	return run_remember(o, PRINT_NEW, error);
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
	struct filter filter;
	struct pipeline p = { .filter = &filter,
		.print = o->invert ? PRINT_NEW : PRINT_SEEN };
	struct input_plan inputs;
	uint64_t matches;
	int status;

	if (need_filter(o, error) < 0)
		return -1;
	status = filter_open(&filter, o->filter, 0, NULL, error);
	if (status > 0) {
		return error_set(error, STATUS_FAILED, "%s: there is no such"
		    " file", o->filter);
	}
	if (status == 0 && check_contradictions(o, &filter, error) < 0) {
		struct error second;
		filter_close(&filter, &second);
		status = -1;
	}
	if (status < 0)
		return -1;
	inputs = plan_input(o, filter.header.recipe[0] != '\0');
	status = run_pipeline(&p, o, &inputs, error);
	matches = o->invert ? p.lines_new : p.lines_read - p.lines_new;
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
"  -q, --quiet             print no lines; exit with 1 if none was new\n"
"  -z, --zero-terminated   lines end in NUL, not in newline\n"
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
"  -z, --zero-terminated   lines end in NUL, not in newline\n"
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
"  -z, --zero-terminated   lines end in NUL, not in newline\n"
"      --no-gunzip         read compressed files as they are\n"
"  -h, --help              this help\n"
"\n"
"Exit status: 0 if there was such a line, 1 if there was none.\n"
};
