#include "cli/help.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/option_table.h"

#define WIDTH 79
/* "  -t, --field-separator=C  " */
#define COLUMN_MAX 27
/* Lists up to this length are not divided into groups. */
#define FLAT_MAX 10

/*
 * Print text, wrapped; the cursor is at `column`, and further lines are
 * indented to it. "\n" starts a new line.
 */
static void
put_wrapped(const char *text, int column)
{
	int at = column;

	while (*text != '\0') {
		int n = (int)strcspn(text, " \n");

		if (at > column && at + 1 + n > WIDTH) {
			printf("\n%*s", column, "");
			at = column;
		}
		at += printf("%s%.*s", at > column ? " " : "", n, text);
		text += n;
		if (*text == '\n') {
			printf("\n%*s", text[1] == '\n' ? 0 : column, "");
			at = column;
		}
		text += *text != '\0';
	}
	putchar('\n');
}

/* "  -o, --output=FILE"; returns its length. */
static int
option_text(const struct option_row *row, char text[80])
{
	char name[OPTION_NAME];

	return snprintf(text, 80, "%s%s%s%s", row->letter == '\0' ?
	    "      " : "  ", option_table_name(row, name),
	    option_table_argument(row) == required_argument ? "=" : "",
	    row->argument == NULL ? "" : row->argument);
}

static void
print_option(const struct option_row *row, enum command_id command,
    int column)
{
	char text[80];
	int n = option_text(row, text);

	if (n < column)
		printf("%-*s", column, text);
	else
		printf("%s\n%*s", text, column, "");
	put_wrapped(option_table_help(row, command), column);
}

static int
is_shown(const struct option_row *row, enum command_id command, int brief)
{
	return (row->commands >> command & 1) && (row->common || !brief);
}

static void
print_options(enum command_id command, int brief)
{
	int count = 0, column = 0;
	const struct option_row *end = option_table + option_table_count;
	char text[80];

	for (const struct option_row *row = option_table; row < end; row++) {
		int n = option_text(row, text) + 2;

		if (!is_shown(row, command, brief))
			continue;
		count++;
		if (n > column && n <= COLUMN_MAX)
			column = n;
	}
	if (count <= FLAT_MAX)
		puts("\nOptions:");
	for (int group = 0; group < OPTION_GROUP_COUNT; group++) {
		int first = count > FLAT_MAX;

		for (const struct option_row *row = option_table; row < end;
		    row++) {
			if (!is_shown(row, command, brief) ||
			    row->group != (enum option_group)group)
				continue;
			if (first)
				printf("\n%s\n", option_table_groups[group]);
			first = 0;
			print_option(row, command, column);
		}
	}
}

static void
print_commands(void)
{
	puts("\nCommands:");
	for (int id = COMMAND_FILTER + 1; id < COMMAND_COUNT; id++) {
		const struct command *command = command_get(
		    (enum command_id)id);

		printf("  %-11s", command->name);
		put_wrapped(command->summary, 13);
	}
}

static void
print_usage(const char *usage)
{
	const char *before = "Usage:";

	while (*usage != '\0') {
		int n = (int)strcspn(usage, "\n");

		printf("%s bloomdedup %.*s\n", before, n, usage);
		before = "   or:";
		usage += n + (usage[n] == '\n');
	}
}

/* A screen of 24 lines, for those who see the program for the first time. */
static void
print_brief(void)
{
	char names[200] = "Commands:";

	print_usage(command_get(COMMAND_FILTER)->usage);
	puts("Print the lines never seen before: with -f, in this or any"
	    " earlier run.");
	print_options(COMMAND_FILTER, 1);
	for (int id = COMMAND_FILTER + 1; id < COMMAND_COUNT; id++) {
		strcat(names, " ");
		strcat(names, command_get((enum command_id)id)->name);
	}
	putchar('\n');
	put_wrapped(names, 0);
	puts("All options: bloomdedup --help, or COMMAND --help; the manual:"
	    " man bloomdedup");
}

void
help_print(enum command_id id, int brief)
{
	const struct command *command = command_get(id);

	if (brief && id == COMMAND_FILTER) {
		print_brief();
		return;
	}
	print_usage(command->usage);
	putchar('\n');
	put_wrapped(command->intro, 0);
	print_options(id, 0);
	if (id == COMMAND_FILTER)
		print_commands();
	if (command->outro != NULL) {
		putchar('\n');
		put_wrapped(command->outro, 0);
	}
	puts("\nThe manual: man bloomdedup");
}
