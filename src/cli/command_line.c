/*
 * Not getopt_long, because each command has its own options here: two commands
 * may use the same letter differently, an abbreviation is ambiguous only among
 * the options of its command, and messages can suggest what was meant.
 */
#include "cli/command_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/option_table.h"
#include "cli/text.h"

#define ANY_COMMAND (~0u)

struct parser {
	struct options *options;
	char **next; /* the word after the one being parsed */
	unsigned char given[OPTION_TABLE_MAX];
};

/* "bloomdedup" or "bloomdedup create" */
static const char *
full_name(const struct options *o, char text[40])
{
	const char *name = command_get(o->command)->name;

	snprintf(text, 40, "bloomdedup%s%s", *name == '\0' ? "" : " ", name);
	return text;
}

/* A usage error that points to the command's help. */
static int __attribute__((format(printf, 3, 4)))
refuse(const struct options *o, struct error *error, const char *format, ...)
{
	char text[sizeof error->text], name[40];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return error_set(error, STATUS_USAGE, "%s; see %s --help", text,
	    full_name(o, name));
}

static const struct option_row *
find_letter(unsigned commands, char letter)
{
	for (size_t i = 0; i < option_table_count; i++) {
		if (option_table[i].letter == letter &&
		    (option_table[i].commands & commands))
			return &option_table[i];
	}
	return NULL;
}

/*
 * Find the option whose name is the first n bytes of `name`, or the only one
 * that begins with them. NULL if there is none or there are several; *several
 * is their number.
 */
static const struct option_row *
find_long(unsigned commands, const char *name, size_t n, size_t *several)
{
	const struct option_row *found = NULL;

	*several = 0;
	for (size_t i = 0; n > 0 && i < option_table_count; i++) {
		const struct option_row *row = &option_table[i];

		if (!(row->commands & commands) ||
		    strncmp(row->name, name, n) != 0)
			continue;
		if (row->name[n] == '\0') {
			*several = 1;
			return row;
		}
		found = row;
		(*several)++;
	}
	return *several == 1 ? found : NULL;
}

/* "-" alone is an operand. */
static int
is_option(const char *word)
{
	return word[0] == '-' && word[1] != '\0';
}

/* Is the next word an argument of this option? The command is unknown yet. */
static int
takes_next(const char *word)
{
	const struct option_row *row;
	size_t several;

	if (word[1] == '-') {
		row = strchr(word, '=') != NULL ? NULL : find_long(ANY_COMMAND,
		    word + 2, strlen(word + 2), &several);
		return row != NULL && option_table_needs_argument(row);
	}
	/* The first letter with an argument ends the group. */
	for (word++; *word != '\0'; word++) {
		row = find_letter(ANY_COMMAND, *word);
		if (row != NULL && option_table_needs_argument(row))
			return word[1] == '\0';
	}
	return 0;
}

/*
 * The first operand is the command if it is the name of one and not after "--".
 * Returns its position, or NULL.
 */
static char **
find_command(struct options *o, char **words)
{
	for (char **word = words; *word != NULL; word++) {
		if (strcmp(*word, "--") == 0)
			break;
		if (!is_option(*word)) {
			enum command_id id = command_find(*word);

			if (id == COMMAND_COUNT)
				break;
			o->command = id;
			return word;
		}
		if (takes_next(*word) && word[1] != NULL)
			word++;
	}
	return NULL;
}

/* Does the command have this option? */
static int
is_own(const struct options *o, const struct option_row *row)
{
	return row->commands >> o->command & 1;
}

/* List the options that begin with these n bytes. */
static int
refuse_ambiguous(const struct options *o, const char *name, size_t n,
    struct error *error)
{
	char list[1000] = "";
	size_t used = 0;

	for (size_t i = 0; i < option_table_count && used < sizeof list; i++) {
		const struct option_row *row = &option_table[i];

		if (is_own(o, row) && strncmp(row->name, name, n) == 0)
			used += (size_t)snprintf(list + used,
			    sizeof list - used, "%s --%s",
			    used == 0 ? "" : ",", row->name);
	}
	return refuse(o, error, "option --%.*s could be%s", (int)n, name,
	    list);
}

/* The option belongs to other commands: say which ones, or why. */
static int
refuse_foreign(const struct options *o, const struct option_row *row,
    struct error *error)
{
	char letter[] = { '-', row->letter, ',', ' ', '\0' }, name[40];
	char owners[200] = "";
	size_t used = 0;

	for (int id = 0; id < COMMAND_COUNT && used < sizeof owners; id++) {
		const char *owner = command_get((enum command_id)id)->name;

		if (row->commands >> id & 1)
			used += (size_t)snprintf(owners + used,
			    sizeof owners - used, "%s%s",
			    used == 0 ? ", but of " : ", ",
			    *owner == '\0' ? "bloomdedup" : owner);
	}
	return refuse(o, error, "%s--%s is not an option of %s%s%s",
	    row->letter == '\0' ? "" : letter, row->name, full_name(o, name),
	    row->missing == NULL ? owners : ": ",
	    row->missing == NULL ? "" : row->missing);
}

static int
refuse_unknown(const struct options *o, const char *name, size_t n,
    struct error *error)
{
	char typed[40];

	snprintf(typed, sizeof typed, "%.*s", (int)n, name);
	for (size_t i = 0; i < option_table_count; i++) {
		const struct option_row *row = &option_table[i];

		if (is_own(o, row) && text_is_near(typed, row->name)) {
			return refuse(o, error, "unknown option --%.*s (did"
			    " you mean --%s?)", (int)n, name, row->name);
		}
	}
	return refuse(o, error, "unknown option --%.*s", (int)n, name);
}

static int
take(struct parser *p, const struct option_row *row, const char *value,
    struct error *error)
{
	char name[80];

	snprintf(name, sizeof name, "--%s", row->name);
	if (parts_need(row->part, name, error) < 0)
		return -1;
	p->given[row - option_table] = 1;
	return row->set(p->options, row, value, error);
}

/* The option's argument is the next word. */
static int
take_next(struct parser *p, const struct option_row *row, struct error *error)
{
	char letter[] = { '-', row->letter, ',', ' ', '\0' };

	if (*p->next == NULL) {
		return refuse(p->options, error, "%s--%s: its argument %s is"
		    " missing", row->letter == '\0' ? "" : letter, row->name,
		    row->argument);
	}
	return take(p, row, *p->next++, error);
}

static int
parse_long(struct parser *p, const char *name, struct error *error)
{
	const struct options *o = p->options;
	size_t several, n = strcspn(name, "=");
	const char *value = name[n] == '=' ? name + n + 1 : NULL;
	const struct option_row *row = find_long(1u << o->command, name, n,
	    &several);

	if (several > 1)
		return refuse_ambiguous(o, name, n, error);
	if (row == NULL) {
		row = find_long(ANY_COMMAND, name, n, &several);
		return row != NULL ? refuse_foreign(o, row, error) :
		    refuse_unknown(o, name, n, error);
	}
	if (value != NULL && row->argument == NULL) {
		return refuse(o, error, "--%s does not take an argument: '%s'",
		    row->name, value);
	}
	if (value == NULL && option_table_needs_argument(row))
		return take_next(p, row, error);
	return take(p, row, value, error);
}

/* A group of letters; an argument is the rest of it or the next word. */
static int
parse_letters(struct parser *p, const char *letter, struct error *error)
{
	const struct options *o = p->options;

	for (; *letter != '\0'; letter++) {
		const struct option_row *row = find_letter(1u << o->command,
		    *letter);

		if (row == NULL) {
			row = find_letter(ANY_COMMAND, *letter);
			return row != NULL ? refuse_foreign(o, row, error) :
			    refuse(o, error, "unknown option -%c", *letter);
		}
		if (option_table_needs_argument(row)) {
			return letter[1] == '\0' ? take_next(p, row, error) :
			    take(p, row, letter + 1, error);
		}
		if (take(p, row, NULL, error) < 0)
			return -1;
	}
	return 0;
}

/*
 * If the first operand is not a file but nearly the name of a command, assume a
 * typing error and stop: the rest of the line may name a filter, which must not
 * be changed by mistake.
 */
static int
check_first_operand(const struct options *o, const char *operand,
    struct error *error)
{
	const char *near;

	if (o->command != COMMAND_FILTER || o->operand_count > 0)
		return 0;
	near = command_near(operand);
	if (near == NULL || access(operand, F_OK) == 0)
		return 0;
	return refuse(o, error, "%s: neither a command nor a file (did you"
	    " mean '%s'?)", operand, near);
}

/* Parse all words except the command. */
static int
parse_words(struct parser *p, char **words, char **command,
    struct error *error)
{
	struct options *o = p->options;
	int options_end = 0;

	for (p->next = words; *p->next != NULL;) {
		char **word = p->next++;
		int result = 0;

		if (word == command)
			continue;
		if (!options_end && strcmp(*word, "--") == 0) {
			options_end = 1;
		} else if (options_end || !is_option(*word)) {
			if (!options_end)
				result = check_first_operand(o, *word, error);
			o->operands[o->operand_count++] = *word;
		} else {
			result = (*word)[1] == '-' ?
			    parse_long(p, *word + 2, error) :
			    parse_letters(p, *word + 1, error);
		}
		if (result < 0)
			return -1;
	}
	return 0;
}

/* The row of this option if it was given. */
static const struct option_row *
find_given(const struct parser *p, const char *name)
{
	for (size_t i = 0; i < option_table_count; i++) {
		if (p->given[i] && strcmp(option_table[i].name, name) == 0)
			return &option_table[i];
	}
	return NULL;
}

/* Refuse an option that conflicts with another one or lacks one it needs. */
static int
check_row(const struct parser *p, const struct option_row *row,
    struct error *error)
{
	const struct option_conflict *end = row->conflicts +
	    sizeof row->conflicts / sizeof *row->conflicts;

	if (row->needs != NULL && find_given(p, row->needs) == NULL) {
		return refuse(p->options, error, "--%s needs --%s", row->name,
		    row->needs);
	}
	for (const struct option_conflict *conflict = row->conflicts;
	    conflict < end && conflict->names != NULL; conflict++) {
		for (size_t i = 0; i < option_table_count; i++) {
			if (!p->given[i] || !text_has_word(conflict->names,
			    option_table[i].name))
				continue;
			return error_set(error, STATUS_USAGE, "--%s cannot be"
			    " combined with --%s%s", row->name,
			    option_table[i].name, conflict->because);
		}
	}
	return 0;
}

/* Check what the command itself requires. */
static int
check_command(const struct parser *p, const struct command *command,
    struct error *error)
{
	const struct options *o = p->options;

	if (parts_need(command->part, command->name, error) < 0)
		return -1;
	if (o->operand_count > command->operands_max) {
		return error_set(error, STATUS_USAGE, "unexpected operand"
		    " '%s': %s", o->operands[command->operands_max],
		    command->takes);
	}
	if (o->operand_count < command->operands_min ||
	    (command->needs != NULL && find_given(p, command->needs) == NULL))
		return error_set(error, STATUS_USAGE, "%s", command->takes);
	return 0;
}

/* Assign operands to the options whose values they are. */
static int
take_operands(struct parser *p, const char *names, struct error *error)
{
	const struct options *o = p->options;

	for (size_t i = 0; i < o->operand_count; i++) {
		size_t several, n = strcspn(names, " ");
		const struct option_row *row = find_long(ANY_COMMAND, names, n,
		    &several);

		if (take(p, row, o->operands[i], error) < 0)
			return -1;
		names += n + (names[n] == ' ');
	}
	return 0;
}

int
command_line_parse(struct options *o, char **argv, struct error *error)
{
	struct parser p = { .options = o };
	const struct command *command;
	/* execve allows an argv without even a name. */
	char **words = argv[0] == NULL ? argv : argv + 1;
	size_t count = 0;

	*o = (struct options){ .recipe = KEY_RECIPE_UNSET, .growth = -1,
		.max_bytes = UINT64_MAX, .lock_timeout = 60000, .gunzip = 1,
		.max_record = RECORD_MAX_BYTES,
		.serve.idle_time = 3600000 };
	while (words[count] != NULL)
		count++;
	o->operands = memory_or_die(calloc(count + 1, sizeof(char *)));
	if (parse_words(&p, words, find_command(o, words), error) < 0)
		return -1;
	if (o->help || o->version)
		return 0;
	for (size_t i = 0; i < option_table_count; i++) {
		if (p.given[i] && check_row(&p, &option_table[i], error) < 0)
			return -1;
	}
	command = command_get(o->command);
	if (check_command(&p, command, error) < 0)
		return -1;
	return command->operands_are == NULL ? 0 :
	    take_operands(&p, command->operands_are, error);
}

void
command_line_free(struct options *o)
{
	free(o->operands);
	o->operands = NULL;
	free(o->serve.listen.items);
	o->serve.listen.items = NULL;
}
