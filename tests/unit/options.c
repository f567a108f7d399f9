/*
 * The rows of the options and of the commands fit together: what a row names
 * exists, and no command takes two options of one name.
 */
#include <stdio.h>
#include <string.h>

#include "cli/command_line.h"
#include "cli/option_table.h"
#include "cli/text.h"
#include "tap.h"

static const struct option_row *
find(const char *name, size_t n, unsigned commands)
{
	for (size_t i = 0; i < option_table_count; i++) {
		const struct option_row *row = &option_table[i];

		if ((row->commands & commands) && strlen(row->name) == n &&
		    memcmp(row->name, name, n) == 0)
			return row;
	}
	return NULL;
}

/* Is each of the words an option of one of these commands? */
static int
all_exist(const char *names, unsigned commands)
{
	while (*names != '\0') {
		size_t n = strcspn(names, " ");

		if (find(names, n, commands) == NULL)
			return 0;
		names += n + (names[n] == ' ');
	}
	return 1;
}

/* What the row names are options that can be given with it. */
static int
names_exist(const struct option_row *row)
{
	size_t count = sizeof row->conflicts / sizeof *row->conflicts;

	if (row->needs != NULL && !all_exist(row->needs, row->commands))
		return 0;
	for (size_t i = 0; i < count && row->conflicts[i].names != NULL; i++) {
		if (row->conflicts[i].because == NULL ||
		    !all_exist(row->conflicts[i].names, row->commands) ||
		    text_has_word(row->conflicts[i].names, row->name))
			return 0;
	}
	return 1;
}

/* A help text is a phrase: it fits behind the option, without a full stop. */
static int
is_phrase(const char *text)
{
	size_t n = strlen(text);

	return n > 0 && text[0] != ' ' && text[n - 1] != '.' &&
	    text[n - 1] != ' ' && strchr(text, '\n') == NULL;
}

static int
helps_are_used(const struct option_row *row)
{
	unsigned said = 0;

	for (size_t i = 0; i < sizeof row->helps / sizeof *row->helps &&
	    row->helps[i].help != NULL; i++) {
		unsigned commands = row->helps[i].commands;

		if ((commands & ~row->commands) || (commands & said) ||
		    !is_phrase(row->helps[i].help))
			return 0;
		said |= commands;
	}
	return 1;
}

static int
is_alone(const struct option_row *row)
{
	for (size_t i = 0; i < option_table_count; i++) {
		const struct option_row *other = &option_table[i];

		if (other != row && (other->commands & row->commands) &&
		    (strcmp(other->name, row->name) == 0 ||
		    (row->letter != '\0' && other->letter == row->letter)))
			return 0;
	}
	return 1;
}

/* A group of letters could not tell where its argument begins. */
static int
has_optional_letter(const struct option_row *row)
{
	return row->letter != '\0' && option_table_argument(row) == 2;
}

static void
test_row(const struct option_row *row)
{
	tap_ok(row->commands != 0 && row->set != NULL &&
	    row->group < GROUP_COUNT && !has_optional_letter(row),
	    "--%s can be given and set", row->name);
	tap_ok(is_phrase(row->help) && helps_are_used(row),
	    "--%s has its help", row->name);
	tap_ok(is_alone(row), "--%s is the only one of its name and letter",
	    row->name);
	tap_ok(names_exist(row), "--%s knows the options it names", row->name);
}

static void
test_command(enum command_id id)
{
	const struct command *command = command_table[id];
	unsigned bit = 1u << id;

	tap_ok(command->run != NULL && command->usage != NULL &&
	    command->intro != NULL &&
	    (id == COMMAND_FILTER || command->summary != NULL),
	    "'%s' has its texts", command->name);
	tap_ok((command->needs == NULL || all_exist(command->needs, bit)) &&
	    (command->operands_are[0] == NULL ||
	    (all_exist(command->operands_are[0], ~0u) &&
	    all_exist(command->operands_are[1], ~0u))) &&
	    (command->takes != NULL || (command->needs == NULL &&
	    command->operands_min == 0 &&
	    command->operands_max == COMMAND_OPERANDS_ANY)),
	    "'%s' says what it takes", command->name);
	tap_ok(id == COMMAND_FILTER || command_find(command->name) == id,
	    "'%s' is found by its name", command->name);
	tap_ok(find("help", 4, bit) != NULL && find("version", 7, bit) != NULL,
	    "'%s' has --help and --version", command->name);
}

static void
test_slips(void)
{
	static const struct {
		const char *typed, *word;
		int near;
	} rows[] = {
		{ "chek", "check", 1 }, { "chekc", "check", 1 },
		{ "inof", "info", 1 }, { "mrege", "merge", 1 },
		{ "merg", "merge", 1 }, { "ceratee", "create", 1 },
		{ "infos", "info", 1 }, { "check", "check", 1 },
		{ "ofni", "info", 0 }, { "merchant", "merge", 0 },
		{ "a", "add", 0 }, { "", "add", 0 }, { "ab", "add", 0 },
		{ "information-of-the-filter-and-all-of-it", "info", 0 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		tap_ok(text_is_near(rows[i].typed, rows[i].word) ==
		    rows[i].near, "'%s' is %sa slip of '%s'", rows[i].typed,
		    rows[i].near ? "" : "not ", rows[i].word);
}

/*
 * Does a command take the option of this name? The name of another command's
 * option is no abbreviation of a longer one.
 */
static int
is_known(const char *name, enum command_id id)
{
	for (size_t i = 0; i < option_table_count; i++) {
		if ((option_table[i].commands >> id & 1) &&
		    strcmp(option_table[i].name, name) == 0)
			return 1;
	}
	return 0;
}

/* What a command says to an option of others, in place of naming them. */
static const char *
caution_of(enum command_id id)
{
	const char *caution = command_table[id]->caution;

	return caution == NULL ? "is not an option" : caution;
}

/* The commands that take it know it, and no others do. */
static void
test_parsed(const struct option_row *row)
{
	char word[80];

	for (int id = 0; id < COMMAND_COUNT; id++) {
		char name[20], *argv[] = { word, name, word, NULL };
		struct options options;
		struct error error = { .text = "" };

		snprintf(name, sizeof name, "%s", command_table[id]->name);
		snprintf(word, sizeof word, "--%s%s", row->name,
		    option_table_argument(row) == 1 ? "=?" : "");
		command_line_parse(&options, id == COMMAND_FILTER ? 2 : 3,
		    id == COMMAND_FILTER ? argv + 1 : argv, &error);
		tap_ok((strstr(error.text, "is not an option") == NULL &&
		    strstr(error.text, caution_of((enum command_id)id)) ==
		    NULL && strstr(error.text, "unknown") == NULL) ==
		    is_known(row->name, (enum command_id)id),
		    "%s: --%s (%s)", name, row->name, error.text);
		command_line_free(&options);
	}
}

int
main(void)
{
	for (size_t i = 0; i < option_table_count; i++) {
		test_row(&option_table[i]);
		test_parsed(&option_table[i]);
	}
	for (int id = 0; id < COMMAND_COUNT; id++)
		test_command((enum command_id)id);
	test_slips();
	return tap_end();
}
