#include "stream/contents.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/number.h"
#include "filter/filter.h"

int
contents_exist(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
}

int
contents_may_go(const struct run_plan *plan)
{
	return plan->overwrite || !plan->remember;
}

/* Would the run replace its output, if that has contents? */
static int
would_replace(const struct run_plan *plan)
{
	return plan->output != NULL && plan->print != PRINT_NOTHING &&
	    !plan->append && !contents_may_go(plan);
}

/* No filter is used, but the one in memory, which ends with the run. */
static int
refuse_without_filter(const char *output, struct error *error)
{
	return error_set(error, STATUS_USAGE, "%s is not empty: --append adds"
	    " the lines to it, --overwrite replaces it at once, and --atomic"
	    " replaces it when the run has succeeded", output);
}

/* The filter would print the lines again that the output has. */
static int
refuse_new_lines(const char *output, const char *filter, const char *is,
    struct error *error)
{
	return error_set(error, STATUS_USAGE, "%s is not empty, and %s %s:"
	    " --append adds all lines of this run, even those that are there,"
	    " and --overwrite replaces it", output, filter, is);
}

/* What the filter remembers would be in no output any more. */
static int
refuse_known_lines(const char *output, const char *filter, uint64_t lines,
    int is_input, struct error *error)
{
	const char *plural = lines == 1 ? "" : "s";
	char text[NUMBER_TEXT];

	number_format_count(text, lines);
	if (is_input)
		return error_set(error, STATUS_USAGE, "%s is not empty, and %s"
		    " remembers about %s line%s: --overwrite replaces it by"
		    " its lines that are not among them", output, filter,
		    text, plural);
	return error_set(error, STATUS_USAGE, "%s is not empty, and %s"
	    " remembers about %s line%s: --append adds the new ones, and"
	    " --overwrite replaces it by them", output, filter, text, plural);
}

/* With --atomic, --tee adds to all outputs of the run. */
static int
refuse_to_add(const char *output, struct error *error)
{
	return error_set(error, STATUS_USAGE, "%s is not empty, and --atomic"
	    " with --tee adds to all outputs: --append adds the new lines to"
	    " it", output);
}

int
contents_check(const struct run_plan *plan, const struct inputs *inputs,
    const struct filter *filter, struct error *error)
{
	uint64_t lines = 0;
	struct stat st;
	int is_input;

	if (!would_replace(plan))
		return 0;
	/* What can't be looked at may have contents. */
	if (stat(plan->output, &st) < 0)
		return errno == ENOENT ? 0 : error_system(error, errno,
		    plan->output);
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return 0;
	if (plan->filter == NULL && plan->atomic)
		return 0;
	if (plan->filter == NULL)
		return refuse_without_filter(plan->output, error);
	if (filter != NULL && filter_finished_output(filter, &st))
		return 0;
	if (plan->atomic && plan->tee != NULL)
		return refuse_to_add(plan->output, error);
	if (filter != NULL)
		lines = table_lines(filter_table(filter));
	is_input = input_same_file(inputs, &st) != NULL;
	if (lines > 0)
		return refuse_known_lines(plan->output, plan->filter, lines,
		    is_input, error);
	if (plan->atomic && is_input)
		return 0;
	return refuse_new_lines(plan->output, plan->filter,
	    filter == NULL ? "does not exist yet" : "remembers nothing",
	    error);
}
