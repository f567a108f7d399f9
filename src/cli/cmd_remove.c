/* remove: delete filters with all that belongs to them. */
#include <errno.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/replace.h"
#include "redis/address.h"
#include "filter/filter.h"

/*
 * Remove a file, and the symbolic link to it, once no run uses it. To open it
 * has ended its journal.
 */
static int
remove_file(const char *path, const struct filter_use *use,
    struct error *error)
{
	struct replace old;
	int result = replace_lock(&old, path, use, error);

	if (result == 0 && !replace_found(&old))
		result = error_system(error, ENOENT, path);
	else if (result == 0 && old.filter == NULL)
		result = error_set(error, STATUS_FAILED, "%s: not a"
		    " bloomdedup filter, or a damaged one; remove the file"
		    " with rm", path);
	else if (result == 0 && (unlink(filter_path(old.filter)) < 0 ||
	    (unlink(path) < 0 && errno != ENOENT)))
		result = error_system(error, errno, path);
	replace_unlock(&old);
	return result;
}

static int
remove_from_server(const char *location, const struct filter_use *use,
    struct error *error)
{
	int result = filter_remove(location, &use->wait, error);

	return result > 0 ? error_set(error, STATUS_FAILED, "%s: there is no"
	    " such filter", location) : result;
}

static int
run_remove(const struct options *o, struct error *error)
{
	int status = STATUS_OK;

	for (size_t i = 0; i < o->operand_count; i++) {
		const char *location = o->operands[i];

		if ((address_is_server(location) ? remove_from_server :
		    remove_file)(location, &o->run.use, error) < 0) {
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
