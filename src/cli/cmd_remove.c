/* remove: delete filters with all that belongs to them. */
#include "cli/command.h"
#include "cli/options.h"
#include "filter/filter.h"

/* Returns -1 unless all can be removed. */
static int
check_all(const struct options *o, struct error *error)
{
	for (size_t i = 0; i < o->operands.count; i++) {
		const char *location = o->operands.items[i];
		int result = filter_check_removal(location, &o->run.use.wait,
		    error);

		if (result > 0)
			result = filter_missing(location, error);
		if (result < 0)
			return -1;
	}
	return 0;
}

static int
run_remove(const struct options *o, struct error *error)
{
	int status = STATUS_OK;

	/* An operand that was meant as a line must not cost a filter. */
	if (check_all(o, error) < 0)
		return -1;
	for (size_t i = 0; i < o->operands.count; i++) {
		const char *location = o->operands.items[i];
		int result = filter_remove(location, &o->run.use.wait, error);

		if (result > 0)
			result = filter_missing(location, error);
		if (result == 0) {
			error_printf("%s: removed", location);
		} else {
			error_print(error->text);
			status = error->status;
		}
	}
	return status;
}

const struct command command_remove = {
	.name = "remove", .run = run_remove,
	.summary = "remove filters",
	.usage = "remove [OPTION]... FILTER...",
	.intro = "Remove filters: a file with its journal, as soon as no other"
	    " run uses it, or a filter on a Redis server with all of its keys."
	    " If one of them is missing or is no filter, none is removed.",
	.refuses = "filter",
	.caution = "remove deletes whole filters; a single line cannot be"
	    " forgotten",
	.operands_min = 1, .operands_max = COMMAND_OPERANDS_ANY,
	.takes = "remove takes the names of filters: bloomdedup remove"
	    " FILTER",
};
