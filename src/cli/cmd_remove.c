/* remove: delete filters with all that belongs to them. */
#include "cli/command.h"
#include "cli/options.h"
#include "filter/filter.h"

static int
run_remove(const struct options *o, struct error *error)
{
	int status = STATUS_OK;

	for (size_t i = 0; i < o->operands.count; i++) {
		const char *location = o->operands.items[i];
		int result = filter_remove(location, &o->run.use.wait, error);

		if (result > 0)
			result = filter_missing(location, error);
		if (result < 0) {
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
	    " run uses it, or a filter on a Redis server with all of its keys.",
	.operands_min = 1, .operands_max = COMMAND_OPERANDS_ANY,
	.takes = "remove takes the names of filters: bloomdedup remove"
	    " FILTER",
};
