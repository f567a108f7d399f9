/* The commands that lines stream through: filter, add and check. */
#include <string.h>

#include "command.h"
#include "filter_options.h"
#include "report.h"
#include "run.h"

/* Who doesn't know that the filter has key options sees odd results. */
static void
tell_inherited(const struct run *run)
{
	struct key_recipe recipe = run->options->recipe;
	char given[KEY_RECIPE_TEXT];

	/* What fails is but a part: the rest is inherited. */
	given[0] = '\0';
	if (key_recipe_complete(&recipe, &(struct error){ 0 }) == 0)
		key_recipe_format(&recipe, given);
	if (strcmp(given, run->filter.header.recipe) != 0 &&
	    run->options->filter != NULL)
		report_inherited_recipe(run->options->filter,
		    run->filter.header.recipe);
}

static int
run_remember(const struct options *o, enum pipeline_print print,
    struct error *error)
{
	struct run run = { .options = o, .recipe = o->recipe,
		.pipeline = { .print = print, .remember = 1 } };
	struct input_plan inputs = run_inputs(o, &run.recipe);
	int status;

	if (run_check_outputs(o, &inputs, print, error) < 0 ||
	    filter_options_open(&run.filter, o, &run.recipe, &inputs,
	    error) < 0)
		return -1;
	tell_inherited(&run);
	status = run_lines(&run, error);
	if (status == STATUS_OK && o->quiet && run.pipeline.lines_new == 0)
		status = STATUS_NO;
	return status;
}

static int
need_filter(const struct options *o, struct error *error)
{
	if (o->filter != NULL)
		return 0;
	return error_set(error, STATUS_USAGE, "%s needs a filter: bloomdedup"
	    " %s -f FILTER", options_command_names[o->command],
	    options_command_names[o->command]);
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
	if (status == 0 && filter_options_check(o, &run.filter, &run.recipe,
	    error) < 0) {
		filter_close(&run.filter, &(struct error){ 0 });
		status = -1;
	}
	if (status < 0)
		return -1;
	tell_inherited(&run);
	status = run_lines(&run, error);
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
"      --to-command=CMD    feed the lines to this shell command; remember them\n"
"                          only when it has read them all and exits with 0\n"
"      --atomic            all or nothing: remember lines only when the run\n"
"                          ended well; with -o, FILE is replaced only then\n"
"      --sync              what is remembered survives a power cut, too; needs an\n"
"                          output that is a file\n"
"      --stats[=json]      figures at the end, on standard error\n"
"      --progress          a live line of figures, on a terminal\n"
"\n"
"What of a line is compared (it is printed whole); kept in FILTER:\n"
"  -z, --zero-terminated   lines end in NUL, not in newline\n"
"  -k, --key=LIST          these fields, such as 2 or 1,3 or 2-4 or 2-\n"
"  -t, --field-separator=C what separates fields [runs of spaces and tabs]\n"
"      --csv               fields may be quoted, also over several lines\n"
"      --strip-cr          without a CR at the end\n"
"      --trim              without blanks at both ends\n"
"  -s, --skip-chars=N      without the first N bytes\n"
"  -w, --check-chars=N     at most N bytes\n"
"  -i, --ignore-case       without regard to case (A to Z)\n"
"\n"
"The filter:\n"
"  -n, --capacity=N        how many lines to plan for, such as 1e8; more make\n"
"                          the filter grow [1000000, or as the input needs]\n"
"  -p, --error-rate=P      share of new lines that may be dropped by mistake\n"
"                          [1e-6]\n"
"      --on-full=WHAT      beyond N: grow, warn or fail [grow]\n"
"      --max-size=SIZE     how large the filter may become, such as 2G\n"
"      --lock-timeout=SEC  how long to wait for another run that uses FILTER\n"
"                          [60]\n"
"      --shared            work beside other runs with --shared: none waits, but\n"
"                          a line that two of them read at once may go out twice\n"
"  -j, --threads=N         how many threads work [as many as processors, up to 8]\n"
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
"  -q, --quiet             exit with 1 if no line was new, and not with 0\n"
"  -z, -k, -t, --csv, --strip-cr, --trim, -s, -w, -i\n"
"                          what of a line is compared: see bloomdedup --help\n"
"      --atomic            all or nothing: remember lines only when the run\n"
"                          ended well\n"
"      --sync              what is remembered survives a power cut, too\n"
"      --stats[=json]      figures at the end, on standard error\n"
"      --progress          a live line of figures, on a terminal\n"
"  -n, --capacity=N        how many lines to plan for\n"
"  -p, --error-rate=P      share of new lines that may be dropped by mistake\n"
"      --on-full=WHAT      beyond N: grow, warn or fail [grow]\n"
"      --max-size=SIZE     how large the filter may become, such as 2G\n"
"      --lock-timeout=SEC  how long to wait for another run [60]\n"
"      --shared            work beside other runs with --shared\n"
"  -j, --threads=N         how many threads work [as many as processors, up to 8]\n"
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
"  -j, --threads=N         how many threads work [as many as processors, up to 8]\n"
"      --no-gunzip         read compressed files as they are\n"
"  -h, --help              this help\n"
"\n"
"Exit status: 0 if there was such a line, 1 if there was none.\n"
};
