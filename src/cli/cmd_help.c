/* help and version: what --help and --version print, as commands. */
#include "cli/command.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/version.h"

static int
run_help(const struct options *o, struct error *error)
{
	const char *name, *near;
	enum command_id id = COMMAND_FILTER;

	if (o->operands.count > 0) {
		name = o->operands.items[0];
		id = command_find(name);
		near = command_near(name);
		if (id == COMMAND_COUNT && near != NULL) {
			return error_set(error, STATUS_USAGE, "%s: there is no"
			    " such command (did you mean '%s'?); see"
			    " bloomdedup --help", name, near);
		}
		if (id == COMMAND_COUNT) {
			return error_set(error, STATUS_USAGE, "%s: there is no"
			    " such command; see bloomdedup --help", name);
		}
	}
	help_print(id, 0);
	return STATUS_OK;
}

static int
run_version(const struct options *o, struct error *error)
{
	(void)o;
	(void)error;
	version_print();
	return STATUS_OK;
}

const struct command command_help = {
	.name = "help", .run = run_help,
	.summary = "print this help, or that of a command",
	.usage = "help [COMMAND]",
	.intro = "Print the help of COMMAND, as 'bloomdedup COMMAND --help'"
	    " does, or an overview.",
	.operands_max = 1,
	.takes = "help takes the name of one command: bloomdedup help create",
};

const struct command command_version = {
	.name = "version", .run = run_version,
	.summary = "print the version",
	.usage = "version",
	.intro = "Print the version, and which of the inner loops are in use.",
	.takes = "version takes no operand",
};
