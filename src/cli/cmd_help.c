/* help and version: what --help and --version print, as commands. */
#include <stdio.h>

#include "base/parts.h"
#include "bits/loops.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/version.h"

static int
run_help(const struct options *o, struct error *error)
{
	const char *name = o->operands.count > 0 ? o->operands.items[0] : "";
	const char *near = command_near(name);
	enum command_id id = *name == '\0' ? COMMAND_FILTER :
	    command_find(name);

	if (id == COMMAND_COUNT) {
		return error_set(error, STATUS_USAGE, near == NULL ?
		    "%s: there is no such command; see bloomdedup --help" :
		    "%s: there is no such command (did you mean '%s'?); see"
		    " bloomdedup --help", name, near);
	}
	help_print(id, 0);
	return STATUS_OK;
}

/* "bloomdedup 0.2.0 (avx2, serve, redis)": the hot loops, optional parts. */
static int
run_version(const struct options *o, struct error *error)
{
	(void)o;
	(void)error;
	printf("bloomdedup " VERSION " (%s", loops()->name);
	for (enum part i = 0; i < PART_COUNT; i++) {
		if (parts_name(i) != NULL)
			printf(", %s", parts_name(i));
	}
	puts(")");
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
