/* key: the keys of lines, as they are compared. */
#include "base/number.h"
#include "cli/command.h"
#include "cli/filter_options.h"
#include "cli/options.h"
#include "cli/report.h"
#include "stream/run.h"

/* A reader of the output must know that it has more lines than keys. */
static void
tell_several(const struct run *run)
{
	const struct key_position *first = &run->first_several;
	const char *unit = run->recipe.csv ? "record" : "line";
	char count[NUMBER_TEXT], number[NUMBER_TEXT];

	number_format_count(count, run->several);
	number_format_count(number, first->number);
	if (run->several == 1)
		error_printf("%s: the key of %s %s contains the end of a line,"
		    " and is printed on several lines", first->file, unit,
		    number);
	else if (run->several > 1)
		error_printf("%s keys contain the end of a line, and are"
		    " printed on several lines; the first is that of %s %s of"
		    " %s", count, unit, number, first->file);
}

static void
report(const struct run *run, enum run_moment moment)
{
	if (moment != MOMENT_ENDS)
		return;
	report_keys(&run->recipe, &run->keys, run->lines_read);
	tell_several(run);
}

static int
run_key(const struct options *o, struct error *error)
{
	/* These two are too large for a small stack. */
	static struct key_recipe recipe;
	static struct run run;
	struct run_plan plan = o->run;
	struct inputs inputs;
	struct filter *filter;
	int is_new;

	recipe = o->recipe;
	inputs = run_inputs(&plan, &recipe);
	plan.print = PRINT_KEYS;
	plan.notice = report_notice;
	plan.report = report;
	plan.use = (struct filter_use)FILTER_READ;
	if (run_check_outputs(&plan, &inputs, error) < 0 ||
	    filter_options_open(&filter, &is_new, o, &plan, &recipe, &inputs,
	    error) < 0)
		return -1;
	return run_lines(&run, &plan, filter, &recipe, error);
}

const struct command command_key = {
	.name = "key", .run = run_key,
	.summary = "print the keys of lines, as they are compared",
	.usage = "key [-f FILTER] [OPTION]... [FILE]...",
	.intro = "Print the key of each line of each FILE, or of standard"
	    " input: the part that is compared. Two lines are the same if their"
	    " keys are. With -f, keys are made as in FILTER. Nothing is"
	    " remembered.",
	.operands_max = COMMAND_OPERANDS_ANY, .reads_operands = 1,
};
