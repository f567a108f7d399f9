/*
 * The rows of commands and options as text, tabs between the columns, for
 * completions/generate and for tests. Not installed.
 *
 *   command NAME SUMMARY OPERANDS     files, values, command or none
 *   option COMMANDS NAME LETTER KIND ARGUMENT VALUES HELP
 *
 * COMMANDS has blanks between them, and "filter" for the one without a name.
 * KIND is none, optional or required; what there is not is "-".
 */
#include <stdio.h>

#include "cli/option_table.h"

static void
print_command(int id)
{
	const struct command *command = command_table[id];

	printf("command\t%s\t%s\t",
	    *command->name == '\0' ? "filter" : command->name,
	    command->summary == NULL ? "-" : command->summary);
	puts(id == COMMAND_HELP ? "command" : command->operands_max == 0 ?
	    "none" : command->operands_are[0] != NULL ? "values" : "files");
}

static void
print_option(const struct option_row *row)
{
	const char *blank = "";

	fputs("option\t", stdout);
	for (int id = 0; id < COMMAND_COUNT; id++) {
		const char *name = command_table[id]->name;

		if (!(row->commands >> id & 1))
			continue;
		printf("%s%s", blank, *name == '\0' ? "filter" : name);
		blank = " ";
	}
	printf("\t%s\t%c\t%s\t%s\t%s\t%s\n", row->name,
	    row->letter == '\0' ? '-' : row->letter,
	    ((const char *[]){ "none", "required", "optional" })
	    [option_table_argument(row)],
	    row->argument == NULL ? "-" : row->argument,
	    row->values == NULL ? "-" : row->values, row->help);
}

int
main(void)
{
	for (int id = 0; id < COMMAND_COUNT; id++)
		print_command(id);
	for (size_t i = 0; i < option_table_count; i++)
		print_option(&option_table[i]);
	return fflush(stdout) != 0;
}
