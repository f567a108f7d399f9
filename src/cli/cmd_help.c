/* help and version, as commands and as options: composed from the rows. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/components.h"
#include "bits/loops.h"
#include "cli/option_table.h"
#include "cli/options.h"
#include "cli/version.h"

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

/* Which options a page shows, and how. */
struct page {
	enum command_id command;
	int brief; /* asked for with -h */
};

static int
is_shown(const struct page *page, const struct option_row *row)
{
	if (page->brief && row->rare && row->brief == NULL)
		return 0;
	return row->commands >> page->command & 1;
}

/* "  -o, --output=FILE"; returns its length. */
static int
option_text(const struct page *page, const struct option_row *row,
    char text[80])
{
	const char *argument = row->argument, *sign = "";
	char name[OPTION_NAME];

	if (argument == NULL || (page->brief && row->rare))
		argument = "";
	else if (option_table_argument(row) == required_argument)
		sign = "=";
	return snprintf(text, 80, "%s%s%s%s", row->letter == '\0' ?
	    "      " : "  ", option_table_name(row, name), sign, argument);
}

static void
print_option(const struct page *page, const struct option_row *row,
    int column)
{
	const char *help = row->help;
	char text[80];
	int n = option_text(page, row, text);

	if (page->brief && row->rare)
		help = row->brief;
	for (size_t i = 0; i < sizeof row->helps / sizeof *row->helps; i++) {
		if (row->helps[i].commands >> page->command & 1)
			help = row->helps[i].help;
	}
	if (n < column)
		printf("%-*s", column, text);
	else
		printf("%s\n%*s", text, column, "");
	put_wrapped(help, column);
}

static void
print_options(const struct page *page)
{
	static const char *const headings[GROUP_COUNT] = {
		[GROUP_MAIN] = "Options:",
		[GROUP_FILTER] = "The filter:",
		[GROUP_KEY] = ("Key options (the whole line is always"
		    " printed); the filter keeps them:"),
		[GROUP_OTHER] = "Other options:",
	};
	/* The headings of key options where no filter keeps a recipe. */
	static const char *const key_headings[COMMAND_COUNT] = {
		[COMMAND_KEY] = "Key options:",
		[COMMAND_PARTITION] = "Key options (the whole line is always"
		    " printed):",
	};
	int count = 0, column = 0;
	const struct option_row *end = option_table + option_table_count;
	char text[80];

	for (const struct option_row *row = option_table; row < end; row++) {
		int n = option_text(page, row, text) + 2;

		if (!is_shown(page, row))
			continue;
		count++;
		if (n > column && n <= COLUMN_MAX)
			column = n;
	}
	if (count <= FLAT_MAX)
		puts("\nOptions:");
	for (int group = 0; group < GROUP_COUNT; group++) {
		int first = count > FLAT_MAX;

		for (const struct option_row *row = option_table; row < end;
		    row++) {
			if (!is_shown(page, row) ||
			    row->group != (enum option_group)group)
				continue;
			if (first && group == GROUP_KEY &&
			    key_headings[page->command] != NULL)
				printf("\n%s\n", key_headings[page->command]);
			else if (first)
				printf("\n%s\n", headings[group]);
			first = 0;
			print_option(page, row, column);
		}
	}
}

/* Does -h of a command leave out what its --help has? */
static int
has_rare(enum command_id command)
{
	for (size_t i = 0; i < option_table_count; i++) {
		if (option_table[i].rare &&
		    (option_table[i].commands >> command & 1))
			return 1;
	}
	return 0;
}

/* Print a screen of 24 lines, for people who see the program for the first
 * time. */
static void
print_brief(void)
{
	const struct page page = { .command = COMMAND_FILTER, .brief = 1 };
	char names[200] = "Commands:", text[80];

	puts("Usage: bloomdedup [COMMAND] [-f FILTER] [OPTION]... [FILE]...\n"
	    "Print the lines never seen before: with -f, in this or any"
	    " earlier run.\n\n"
	    "  bloomdedup -f seen.bloom urls.txt >>new.txt    the new URLs of"
	    " each run\n"
	    "  bloomdedup check -f seen.bloom -v more.txt     what is not in"
	    " the filter\n"
	    "  bloomdedup --csv --header -k mail people.csv   one row for each"
	    " address\n"
	    "  bloomdedup try 1e8 0.00001                     how large that"
	    " would be\n");
	for (size_t i = 0; i < option_table_count; i++) {
		const struct option_row *row = &option_table[i];

		if (row->brief == NULL || !is_shown(&page, row))
			continue;
		option_text(&page, row, text);
		printf("%-*s%s\n", COLUMN_MAX, text, row->brief);
	}
	for (int id = COMMAND_FILTER + 1; id < COMMAND_COUNT; id++) {
		strcat(names, " ");
		strcat(names, command_table[id]->name);
	}
	putchar('\n');
	put_wrapped(names, 0);
	puts("All options: bloomdedup --help, or COMMAND --help; the manual:"
	    " man bloomdedup");
}

void
command_print_help(enum command_id id, int brief)
{
	const struct command *command = command_table[id];
	const struct page page = { .command = id, .brief = brief };
	const char *before = "Usage:";

	if (brief && id == COMMAND_FILTER) {
		print_brief();
		return;
	}
	for (const char *form = command->usage; *form != '\0';) {
		int n = (int)strcspn(form, "\n");

		printf("%s bloomdedup %.*s\n", before, n, form);
		before = "   or:";
		form += n + (form[n] == '\n');
	}
	putchar('\n');
	put_wrapped(command->intro, 0);
	print_options(&page);
	if (id == COMMAND_FILTER) {
		puts("\nCommands:");
		for (int i = COMMAND_FILTER + 1; i < COMMAND_COUNT; i++) {
			printf("  %-11s", command_table[i]->name);
			put_wrapped(command_table[i]->summary, 13);
		}
	}
	if (command->outro != NULL) {
		putchar('\n');
		put_wrapped(command->outro, 0);
	}
	if (brief && has_rare(id))
		printf("\nAll options: bloomdedup %s --help\n", command->name);
	printf("\nThe manual: man %s\n",
	    command->manual != NULL ? command->manual : "bloomdedup");
}

static int
run_help(const struct options *o, struct error *error)
{
	const char *name = o->operands.count > 0 ? o->operands.items[0] : "";
	const char *near = command_near(name);
	enum command_id id = COMMAND_FILTER;

	if (*name != '\0')
		id = command_find(name);
	if (id == COMMAND_COUNT && near == NULL) {
		return error_set(error, STATUS_USAGE, "%s: there is no such"
		    " command; see bloomdedup --help", name);
	}
	if (id == COMMAND_COUNT) {
		return error_set(error, STATUS_USAGE, "%s: there is no such"
		    " command (did you mean '%s'?); see bloomdedup --help",
		    name, near);
	}
	command_print_help(id, 0);
	return STATUS_OK;
}

/* "bloomdedup 0.2.0 (avx2, serve, redis)": the hot loops, and components. */
static int
run_version(const struct options *o, struct error *error)
{
	(void)o;
	(void)error;
	printf("bloomdedup " VERSION " (%s", loops()->name);
	for (enum component i = 0; i < COMPONENT_COUNT; i++) {
		if (component_name(i) != NULL)
			printf(", %s", component_name(i));
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
	.intro = "Print the version, the instruction set in use, and the"
	    " optional components that are built in.",
	.takes = "version takes no operand",
};
