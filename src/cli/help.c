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

static void
print_options(enum command_id command)
{
	int count = 0, column = 0;
	const struct option_row *end = option_table + option_table_count;
	char text[80];

	for (const struct option_row *row = option_table; row < end; row++) {
		int n = option_text(row, text) + 2;

		if (!(row->commands >> command & 1))
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
			if (!(row->commands >> command & 1) ||
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
	static const char *const first[] = {
	"Usage: bloomdedup [COMMAND] [-f FILTER] [OPTION]... [FILE]...",
	"Print the lines never seen before: with -f, in this or any earlier"
	" run.",
	"",
	"  bloomdedup -f seen.bloom urls.txt >>new.txt    the new URLs of each"
	" run",
	"  bloomdedup check -f seen.bloom -v more.txt     what is not in the"
	" filter",
	"  bloomdedup --csv --header -k mail people.csv   one row for each"
	" address",
	"  bloomdedup try 1e8 0.00001                     how large that would"
	" be",
	"" };
	char names[200] = "Commands:", text[80];

	for (size_t i = 0; i < sizeof first / sizeof *first; i++)
		puts(first[i]);
	for (size_t i = 0; i < option_table_count; i++) {
		const struct option_row *row = &option_table[i];

		if (row->brief == NULL)
			continue;
		option_text(row, text);
		printf("%-*s%s\n", COLUMN_MAX, text, row->brief);
	}
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
	print_options(id);
	if (id == COMMAND_FILTER)
		print_commands();
	if (command->outro != NULL) {
		putchar('\n');
		put_wrapped(command->outro, 0);
	}
	puts("\nThe manual: man bloomdedup");
}
