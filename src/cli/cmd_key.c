/* key: the keys of lines, as they are compared. */
#include "base/number.h"
#include "cli/command.h"
#include "cli/filter_options.h"
#include "cli/options.h"
#include "cli/report.h"
#include "stream/keys.h"
#include "stream/run.h"

/* The recipe of the filter that was named, or that of the options alone. */
static int
find_recipe(const struct options *o, const struct run_plan *plan,
    struct key_recipe *recipe, struct error *error)
{
	struct inputs inputs = run_inputs(plan, recipe);
	struct filter *filter;
	int is_new;

	if (plan->filter != NULL) {
		if (filter_options_open(&filter, &is_new, o, plan, recipe,
		    &inputs, error) < 0)
			return -1;
		return filter_close(filter, error);
	}
	if (key_recipe_complete(recipe, error) < 0)
		return -1;
	return filter_options_check_keys(o, recipe, error);
}

/* A reader of the output must know that it has more lines than keys. */
static void
tell_several(const struct key_recipe *recipe,
    const struct keys_figures *figures)
{
	const struct key_position *first = &figures->first;
	const char *unit = recipe->csv ? "record" : "line";
	char count[NUMBER_TEXT], number[NUMBER_TEXT];

	number_format_count(count, figures->several);
	number_format_count(number, first->number);
	if (figures->several == 1)
		error_printf("%s: the key of %s %s contains the end of a line,"
		    " and is printed on several lines", first->file, unit,
		    number);
	else if (figures->several > 1)
		error_printf("%s keys contain the end of a line, and are"
		    " printed on several lines; the first is that of %s %s of"
		    " %s", count, unit, number, first->file);
}

static int
run_key(const struct options *o, struct error *error)
{
	struct key_recipe recipe = o->recipe;
	struct run_plan plan = o->run;
	struct keys_figures figures;
	int status;

	plan.notice = report_notice;
	plan.use = (struct filter_use)FILTER_READ;
	if (find_recipe(o, &plan, &recipe, error) < 0)
		return -1;
	status = keys_print(&plan, &recipe, &figures, error);
	report_keys(&recipe, &figures.keys, figures.lines);
	tell_several(&recipe, &figures);
	return status;
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
