/* The commands that lines stream through: filter, add and check. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "base/path.h"
#include "base/signals.h"
#include "cli/command.h"
#include "cli/filter_options.h"
#include "cli/options.h"
#include "cli/report.h"
#include "filter/filter.h"
#include "stream/contents.h"
#include "stream/run.h"

/* Progress is drawn as often while input pauses: milliseconds. */
#define PROGRESS_TICK 200

static enum run_print
what_to_print(const struct options *o)
{
	if (o->quiet || o->command == COMMAND_ADD)
		return PRINT_NOTHING;
	if (o->mark)
		return PRINT_MARKED;
	if (o->repeated || (o->command == COMMAND_CHECK && !o->invert))
		return PRINT_SEEN;
	return PRINT_NEW;
}

/* Make the plan of a run: that of the options, and what the command adds. */
static struct run_plan
make_plan(const struct options *o)
{
	int check = o->command == COMMAND_CHECK;
	struct run_plan plan = o->run;

	plan.input.tick = o->progress ? PROGRESS_TICK : 0;
	if (plan.output != NULL && strcmp(plan.output, "-") == 0)
		plan.output = NULL;
	plan.print = what_to_print(o);
	plan.remember = !check;
	if (check) {
		plan.use = (struct filter_use)FILTER_READ;
		plan.use.wait = o->run.use.wait;
	}
	plan.atomic |= plan.to_command != NULL;
	plan.notice = report_notice;
	plan.report = report_run;
	if (plan.dry_run) {
		/* No file is opened for writing, and nothing is promised. */
		plan.output = plan.duplicates = plan.tee = NULL;
		plan.to_command = NULL;
		plan.append = plan.overwrite = plan.atomic = 0;
		plan.use.writable = plan.use.sync = plan.use.claim = 0;
	}
	return plan;
}

/* On a terminal, warn: a filter's inherited key options can surprise. */
static void
tell_inherited(const struct options *o, const struct filter *filter)
{
	struct key_recipe recipe = o->recipe;
	const char *stored = filter_header(filter)->recipe;
	char text[KEY_RECIPE_TEXT] = "", options[KEY_OPTIONS];

	if (o->run.filter == NULL || !isatty(STDERR_FILENO))
		return;
	/* A failure means that only a part was given: the rest is inherited. */
	if (key_recipe_complete(&recipe, error_ignored()) == 0)
		key_recipe_format(&recipe, text);
	if (strcmp(text, stored) == 0)
		return;
	error_printf("%s: made with key options, which this run uses: %s",
	    o->run.filter, key_recipe_options(stored, options));
}

/* How a run that stopped goes on, without replacing what it printed. */
static const char *
how_to_go_on(const struct run_plan *plan)
{
	/* The shell has opened this file, also with -o /dev/stdout. */
	const int is_standard = plan->output == NULL ||
	    output_is_same(plan->output, NULL);
	struct stat status;
	int is_file;

	/* What was new is remembered now, and no longer new. */
	if (plan->print == PRINT_MARKED)
		return "the same command would mark these as seen; with"
		    " --atomic, a run that stops remembers nothing";
	if (plan->print == PRINT_SEEN)
		return "the same command would print these as repeated; with"
		    " --atomic, a run that stops remembers nothing";
	if (plan->duplicates != NULL)
		return "the same command would take these for duplicates; with"
		    " --atomic, a run that stops remembers nothing";
	if (plan->print == PRINT_NOTHING)
		return "the same command goes on from there";
	/* What is not there yet will be a regular file. */
	is_file = path_stat(plan->output, STDOUT_FILENO, &status) < 0 ||
	    S_ISREG(status.st_mode);
	/* What its reader does with the rest, such as >out.gz, nobody knows. */
	if (!is_file || plan->to_command != NULL)
		return "the same command leaves these lines out";
	if (is_standard && !(fcntl(STDOUT_FILENO, F_GETFL) & O_APPEND))
		return "to go on from there, repeat the command with >>";
	if (!is_standard && !plan->append)
		return "to go on from there, repeat the command with --append";
	return "the same command goes on from there";
}

/* After Ctrl-C, on a terminal: what is there, and what to do. */
static void
tell_stopped(const struct run_plan *plan, const struct run *run,
    const char *go_on)
{
	char read[NUMBER_TEXT], new_ones[NUMBER_TEXT];
	const char *done = "remembered";

	if (signals_stop != SIGINT || !isatty(STDERR_FILENO) ||
	    plan->filter == NULL || !plan->remember || plan->dry_run)
		return;
	number_format_count(read, run->lines_read);
	number_format_count(new_ones, run->lines_new);
	if (plan->print == PRINT_NEW || plan->print == PRINT_MARKED)
		done = "printed and remembered";
	if (plan->atomic)
		error_printf("stopped after %s lines: none of them is"
		    " remembered", read);
	else
		error_printf("stopped after %s lines: %s new ones are %s; %s",
		    read, new_ones, done, go_on);
}

/*
 * Has the run failed before it read any key? Then a filter that it made has
 * options that may be the mistake, and would keep them.
 */
static int
read_no_key(const struct run *run, int status)
{
	if (status == STATUS_OK && !signals_stop)
		return 0;
	return run->lines_read == 0 ||
	    key_figures_lack_all(&run->keys, &run->recipe, run->lines_read);
}

/*
 * Has the run left something in the list of --tee, but printed nothing? Then
 * the next run needs the filter, though it is empty: filling it from the list
 * would remember lines that were not printed.
 */
static int
left_in_list(const struct run_plan *plan, const struct run *run)
{
	return run->lines_read == 0 && plan->tee != NULL &&
	    contents_exist(plan->tee);
}

static int
run_filter(const struct options *o, struct error *error)
{
	struct run_plan plan = make_plan(o);
	/* These two are too large for a small stack. */
	static struct key_recipe recipe;
	static struct run run;
	const char *go_on = how_to_go_on(&plan); /* a run closes its output */
	struct inputs inputs;
	struct filter *filter;
	uint8_t id[FILTER_ID_BYTES];
	int status, is_new;
	uint64_t found;

	recipe = o->recipe;
	inputs = run_inputs(&plan, &recipe);
	if (run_check_outputs(&plan, &inputs, error) < 0 ||
	    filter_options_open(&filter, &is_new, o, &plan, &recipe, &inputs,
	    error) < 0)
		return -1;
	plan.enlarges = is_new && filter_options_enlarges(o, &plan, &inputs);
	memcpy(id, filter_header(filter)->id, sizeof id);
	tell_inherited(o, filter);
	report_options(o);
	status = run_lines(&run, &plan, filter, &recipe, error);
	tell_stopped(&plan, &run, go_on);
	if (is_new && plan.filter != NULL && read_no_key(&run, status) &&
	    !left_in_list(&plan, &run))
		filter_discard(plan.filter, id, run.lines_new);
	status = report_ends(status, error);
	if (plan.remember && !o->quiet)
		return status;
	/* The status says whether there were lines that the command prints. */
	found = run.lines_new;
	if (!plan.remember && !o->invert)
		found = run.lines_read - run.lines_new;
	if (status == STATUS_OK && found == 0)
		return STATUS_NO;
	return status;
}

const struct command command_filter = {
	.name = "", .run = run_filter,
	.usage = "[-f FILTER] [OPTION]... [FILE]...\n"
	    "COMMAND [OPTION]... [OPERAND]...",
	.intro = "Print the lines that were never seen before, in order and as"
	    " soon as they are read. With -f they are remembered in the file"
	    " FILTER, and the next run continues from there. Without FILE, or"
	    " if FILE is -, read standard input. Input that was compressed"
	    " with gzip or zstd is decompressed.",
	.outro = "Exit status: 0 done, 1 nothing new (with -q), 2 wrong usage,"
	    " 3 a file failed,\n4 the filter is full, 75 another run still"
	    " holds its lock.",
	.operands_max = COMMAND_OPERANDS_ANY, .reads_operands = 1,
};

const struct command command_add = {
	.name = "add", .run = run_filter,
	.summary = "remember lines, and print nothing",
	.usage = "add -f FILTER [OPTION]... [FILE]...",
	.intro = "Remember the lines of each FILE, or of standard input, and"
	    " print nothing.",
	.operands_max = COMMAND_OPERANDS_ANY, .reads_operands = 1,
	.needs = "filter",
	.takes = "add needs a filter: bloomdedup add -f FILTER",
};

const struct command command_check = {
	.name = "check", .run = run_filter,
	.summary = "print the lines that are in a filter",
	.usage = "check -f FILTER [OPTION]... [FILE]...",
	.intro = "Print the lines of each FILE, or of standard input, that are"
	    " in FILTER. Nothing is remembered, and FILTER may be read-only.",
	.outro = "Exit status: 0 if there was such a line, 1 if there was"
	    " none.",
	.operands_max = COMMAND_OPERANDS_ANY, .reads_operands = 1,
	.needs = "filter",
	.takes = "check needs a filter: bloomdedup check -f FILTER",
};
